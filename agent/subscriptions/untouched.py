"""Tells quickly that a change of a configuration is none of what filters select."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.tree import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.filter import Filter


def untouched(before: Node, after: Node, filters: Sequence[Filter] | None) -> bool:
    """Return whether all that filters look at is the very same in two trees: what is not changed is shared by both.

    ``filters`` are as in ``Criteria``. Where that can't be told quickly, it is not.
    """
    if before is after:
        return True
    return filters is not None and all(_is_shared(before, after, one) for one in filters)


def _is_shared(before: Node, after: Node, one: Filter) -> bool:
    old, new = before.children.get(one.schema), after.children.get(one.schema)
    if old is new:
        return True
    if not isinstance(old, Node) or not isinstance(new, Node) or not one.children or not one.narrow:
        return False
    return untouched(old, new, one.children)
