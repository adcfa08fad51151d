"""What one user may do, compiled against the schema (RFC 8341 section 3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from agent.model.schema import SchemaNode
    from agent.tree import Node


class Access:
    """The rules that concern one user. ``key`` is equal for users who see the same."""

    key: Hashable = None
    unrestricted = True

    def may_execute(self, operation: SchemaNode) -> bool:
        """Return whether the user may call an rpc (3.4.4)."""
        return True

    def may_receive(self, notification: SchemaNode) -> bool:
        """Return whether the user may get a kind of notification (3.4.6)."""
        return True

    def readable(self, tree: Node) -> Node:
        """Return what of a tree the user may read; the same object where that is all of it (3.4.5)."""
        return tree

    def check_write(self, before: Node, after: Node) -> None:
        """Raise access-denied with the path of the first change from one tree to another that the user may not make."""
