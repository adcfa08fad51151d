"""The order of user-ordered lists and leaf-lists: yang:insert, yang:key, yang:value (RFC 7950 7.7.9, 7.8.6)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from agent import errors
from agent.errors import YANG
from agent.paths import predicates

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.edit.request import Edit, Insert, Place
    from agent.model.schema import SchemaNode
    from agent.tree import Key, Node

_NAMES: Final = ("insert", "key", "value")
ATTRIBUTES: Final = frozenset(f"{{{YANG}}}{name}" for name in _NAMES)
_INSERTS: Final[dict[str, Insert]] = {"first": "first", "last": "last", "before": "before", "after": "after"}


def read_place(element: Element, edit: Edit) -> Place | None:
    """Return where an element's attributes put the entry; None where they say nothing. Raises NetconfError."""
    anchor = _anchor_attribute(edit.schema)
    present = {name: str(text) for name in _NAMES if (text := element.get(f"{{{YANG}}}{name}")) is not None}
    if not present:
        return None
    allowed = {"insert", anchor} if edit.schema.user_ordered else set()
    for name in present:
        if name not in allowed:
            raise errors.unknown_attribute(name, edit.schema.name, type="application", path=edit.path)
    insert, given = present.get("insert"), present.get(anchor)
    if insert is None:
        raise _bad(anchor, edit, f"the attribute {anchor} needs the attribute insert beside it")
    if insert not in _INSERTS:
        raise _bad("insert", edit, f'insert="{insert}" is none of {", ".join(_INSERTS)}')
    if insert in {"first", "last"}:
        return _INSERTS[insert], ()
    if given is None:
        raise _bad(anchor, edit, f'insert="{insert}" needs the attribute {anchor} beside it')
    return _INSERTS[insert], _anchor(element, edit, given)


class Entries:
    """A list's entries while they are edited. Putting one in any place takes as long however many there are."""

    def __init__(self, found: dict[Key, Node]) -> None:
        self._found = found
        self._nodes = dict(found)
        self._changed = False
        self._after: dict[Key | None, Key | None] = {}
        self._before: dict[Key | None, Key | None] = {}

    def get(self, key: Key) -> Node | None:
        """Return an entry."""
        return self._nodes.get(key)

    def remove(self, key: Key) -> None:
        """Take an entry out."""
        if self._nodes.pop(key, None) is not None:
            self._changed = True
            if self._after:
                self._unlink(key)

    def put(self, edit: Edit, node: Node) -> None:
        """Put an entry in: where the edit says, else where it was, else last. Raises bad-attribute."""
        key, place = edit.key, None if edit.operation == "none" else edit.place
        if place is None and self._nodes.get(key) is node:
            return
        if place is not None and place[0] in {"before", "after"} and place[1] not in self._nodes:
            message = f"the entry to insert {place[0]} does not exist: {', '.join(place[1])}"
            raise _bad(_anchor_attribute(edit.schema), edit, message, app_tag="missing-instance")
        new = key not in self._nodes
        self._changed = True
        if place is not None and not self._after:
            self._link()
        self._nodes[key] = node
        if self._after and (new or place is not None) and (place is None or place[1] != key):
            if not new:
                self._unlink(key)
            self._insert(key, *(place or ("last", ())))

    def result(self) -> dict[Key, Node]:
        """Return the entries in their order; the dict that was there before where nothing changed."""
        if not self._changed:
            return self._found
        if not self._after:
            return self._nodes
        ordered: dict[Key, Node] = {}
        key = self._after[None]
        while key is not None:
            ordered[key] = self._nodes[key]
            key = self._after[key]
        same = list(ordered) == list(self._found) and all(ordered[key] is self._found[key] for key in ordered)
        return self._found if same else ordered

    def _link(self) -> None:
        """Begin to keep the order as links, from each entry to the next and back; None is both ends."""
        self._after = dict(pairwise([None, *self._nodes, None]))
        self._before = {after: before for before, after in self._after.items()}

    def _insert(self, key: Key, insert: Insert, anchor: Key) -> None:
        if insert in {"first", "after"}:
            before = anchor if insert == "after" else None
            after = self._after[before]
        else:
            after = anchor if insert == "before" else None
            before = self._before[after]
        self._after[before] = self._before[after] = key
        self._before[key], self._after[key] = before, after

    def _unlink(self, key: Key) -> None:
        before, after = self._before.pop(key), self._after.pop(key)
        self._after[before], self._before[after] = after, before


def _anchor_attribute(schema: SchemaNode) -> str:
    return "value" if schema.kind == "leaf-list" else "key"


def _anchor(element: Element, edit: Edit, given: str) -> Key:
    """Return the key that yang:value or yang:key names, whose prefixes are the element's."""
    schema = edit.schema
    if schema.kind == "leaf-list":
        return (_anchor_value(schema, given, element, edit),)
    found = {}
    for prefix, name, value in predicates(given) or ():
        namespace = element.nsmap.get(prefix, "") if prefix else schema.module.namespace
        leaf = schema.children.get(f"{{{namespace}}}{name}")
        if leaf is not None:
            found[leaf] = _anchor_value(leaf, value, element, edit)
    if set(found) != set(schema.keys):
        names = ", ".join(leaf.name for leaf in schema.keys)
        raise _bad("key", edit, f'key="{given}" does not name {names} of an entry')
    return tuple(found[leaf] for leaf in schema.keys)


def _anchor_value(schema: SchemaNode, text: str, element: Element, edit: Edit) -> str:
    try:
        return schema.canonical(text, element)
    except ValueError as error:
        raise _bad(_anchor_attribute(edit.schema), edit, str(error)) from None


def _bad(attribute: str, edit: Edit, message: str, *, app_tag: str | None = None) -> errors.NetconfError:
    return errors.bad_attribute(
        attribute, edit.schema.name, message, type="application", path=edit.path, app_tag=app_tag
    )
