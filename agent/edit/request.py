"""What an edit-config asks for, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent.tree import instance_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.schema import SchemaNode
    from agent.tree import Key, Node

Operation: TypeAlias = Literal["merge", "replace", "create", "delete", "remove", "none"]
Insert: TypeAlias = Literal["first", "last", "before", "after"]
Place: TypeAlias = "tuple[Insert, Key]"
"""Where an entry goes, and the key of the entry that it goes before or after (RFC 7950 7.7.9, 7.8.6)."""


@dataclass(slots=True)
class Edit:
    """What to do with one instance; ``parent`` is None on the top level.

    ``key`` is a list entry's keys or a leaf-list entry's value, ``leaf`` the node that a leaf or a leaf-list entry is
    to be, ``children`` the edits below any other node, a list entry's keys first.
    """

    schema: SchemaNode
    operation: Operation
    parent: Edit | None
    key: Key = ()
    leaf: Node | None = None
    place: Place | None = None
    children: Sequence[Edit] = ()

    @property
    def path(self) -> str:
        """The instance path; made only when it's asked for, as a long key is in the path of all that is below it."""
        return instance_path("" if self.parent is None else self.parent.path, self.schema, self.key)
