"""What may not be read leaves no trace in the outcome of an edit (RFC 6241 4.3, RFC 8341 3.2.5).

An edit of a node that the user may not read is refused for want of a right whether or not the node is there, and
whatever its value is: it must not say "exists", "is missing" or, where nothing would change, "ok" to one who guesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.nacm.prune import pruned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.edit import Edit
    from agent.nacm.writes import Place
    from agent.tree import Node


def check_edits(before: Node | None, edits: Iterable[Edit], place: Place) -> None:
    """Raise access-denied for the first edit of something hidden that takes a right which the user does not have.

    ``before`` is the node that the edits are of, None where it is not there. To create a container that is there only
    by what the user may not read becomes to merge it: its being there tells nothing.
    """
    for edit in edits:
        if edit.place is not None and edit.place[1]:
            anchor = place.enter(edit.schema, edit.place[1])
            if anchor.hidden:
                raise anchor.denied()
        below = place.enter(edit.schema, edit.key)
        if below.rights.read.whole and not place.hidden:
            continue
        found = _instance(before, edit)
        if below.hidden and not _permitted(edit, found, below):
            raise below.denied()
        if edit.operation == "create" and found is not None and pruned(found, below.rights.read) is None:
            edit.operation = "merge"
        check_edits(found, _inner(edit), below)


def _permitted(edit: Edit, found: Node | None, place: Place) -> bool:
    """Return whether the user has the right that an edit of a hidden node takes, were it there or not."""
    _read, create, update, delete = (right.permitted for right in place.rights)
    operation, last = edit.operation, edit.schema.is_leaf or not _inner(edit)
    if operation in {"delete", "remove"}:
        return delete
    if operation == "create":
        return create
    if operation == "none":
        return create or update or delete or not (last or found is None)
    if edit.schema.kind == "leaf" or edit.schema.kind in {"anydata", "anyxml"}:
        return update if found is not None else create
    if operation == "replace" and not edit.schema.is_leaf:
        return create and delete
    return create or not last or (edit.schema.kind == "container" and not edit.schema.presence)


def _inner(edit: Edit) -> list[Edit]:
    """Return the edits of what is in a node, but for the keys that only name it."""
    return [child for child in edit.children if child.schema not in edit.schema.keys]


def _instance(parent: Node | None, edit: Edit) -> Node | None:
    if parent is None:
        return None
    return parent.entries(edit.schema).get(edit.key) if edit.schema.is_entry else parent.one(edit.schema)
