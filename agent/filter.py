"""Subtree filters (RFC 6241 section 6): compiled against the schema, applied to a tree, pushed down to readers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agent import errors
from agent.errors import NETCONF
from agent.tree import Children, Key, Node
from translators.base import ALL, Branch, Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.etree import _Element as Element

    from agent.model.schema import SchemaNode

_DATA: Final = {"container", "list", "leaf", "leaf-list", "anydata", "anyxml", "notification"}
_NEVER: Final = "\0"
"""What no value of any leaf is equal to."""
# Comparing an entry with an alternative takes a microsecond or two, and holds up all sessions.
MOST_COMPARISONS: Final = 200_000


@dataclass(slots=True)
class Filter:
    """One element of a filter, and a schema node that it fits.

    A content match node has the canonical value ``match``; a selection node is ``whole``; any other is a containment
    node and has ``children``: those that the schema knows. ``narrow``: not all of the element's children are content
    match nodes, so that what matches is not taken whole. ``number`` is the element's among its siblings: filters of
    one element, which without a namespace can fit several schema nodes, are alternatives. ``required`` is what leafs
    must be for anything to be selected; alternatives are left out.
    """

    schema: SchemaNode
    number: int = 0
    match: str | None = None
    children: list[Filter] = field(default_factory=list)
    whole: bool = False
    narrow: bool = True
    required: dict[SchemaNode, str] = field(default_factory=dict)


def compile_subtree(element: Element, root: SchemaNode) -> list[Filter]:
    """Return the filters in a ``<filter>`` element. What the schema does not know selects nothing (RFC 6241 6.2.1)."""
    return _compile_children(element, root)


def apply(root: Node, filters: Sequence[Filter]) -> Node:
    """Return the part of a tree that the filters select: the union of what each selects, keys included."""
    return root.with_children(_select_children(root, [list(filters)]))


def selection(filters: Iterable[Filter], schema: SchemaNode) -> Selection | None:
    """Return what filters on the top level ask for at and below a schema node, for its reader; None for nothing."""
    chain = []
    node: SchemaNode | None = schema
    while node is not None and node.kind != "root":
        chain.append(node)
        node = node.parent
    current = list(filters)
    for step in reversed(chain):
        current = [f for f in current if f.schema is step and (f.whole or f.children)]
        if not current:
            return None
        if any(f.whole or not f.narrow for f in current):
            return ALL
        current = [child for f in current for child in f.children]
    return _selection(current)


def _selection(filters: Sequence[Filter]) -> Selection:
    return Selection(everything=False, branches=tuple(_branch(f) for f in filters))


def _branch(one: Filter) -> Branch:
    if one.whole or one.match is not None:
        return Branch(one.schema.name, (), ALL)
    matches = tuple((leaf.name, match) for leaf, match in one.required.items())
    return Branch(one.schema.name, matches, _selection(one.children) if one.narrow else ALL)


def _compile_children(element: Element, parent: SchemaNode) -> list[Filter]:
    return [_compile(child, schema, number) for number, child in enumerate(element) for schema in _named(child, parent)]


def _named(element: Element, parent: SchemaNode) -> list[SchemaNode]:
    """Return the schema nodes that a filter element can stand for; without namespace it fits any (6.2.1)."""
    tag = str(element.tag)
    if not tag.startswith("{"):
        return [child for child in parent.children.values() if child.name == tag and child.kind in _DATA]
    schema = parent.children.get(tag)
    return [schema] if schema is not None and schema.kind in _DATA else []


def _compile(element: Element, schema: SchemaNode, number: int) -> Filter:
    # No data carries attributes, so nothing has the one that is asked for (6.2.3).
    attributed = any(not str(name).startswith(f"{{{NETCONF}}}") for name in element.keys())  # noqa: SIM118 - no dict
    if _is_match(element) and schema.is_leaf:
        return Filter(schema, number, match=_NEVER if attributed else _match(schema, element))
    if attributed or _is_match(element):
        return Filter(schema, number)
    if not len(element):
        return Filter(schema, number, whole=True)
    children = _compile_children(element, schema)
    matches = {n for n, child in enumerate(element) if _is_match(child)}
    if matches - {child.number for child in children if child.match is not None}:
        return Filter(schema, number)  # what the schema does not know as a leaf has no value that is equal
    fits = Counter(child.number for child in children)
    required = {c.schema: c.match for c in children if c.match is not None and fits[c.number] == 1}
    return Filter(schema, number, children=children, narrow=len(matches) < len(element), required=required)


def _is_match(element: Element) -> bool:
    """Whether an element is a content match node."""
    return not len(element) and bool((element.text or "").strip())


def _match(schema: SchemaNode, element: Element) -> str:
    try:
        return schema.canonical((element.text or "").strip(), element)
    except ValueError:
        return _NEVER


def _select(node: Node, filters: Sequence[Filter]) -> Node | None:
    """Return what of a node the filters that name it select."""
    if any(f.whole for f in filters):
        return node
    if node.schema.is_leaf:
        return node if any(f.match == node.value for f in filters) else None
    passing = [f for f in filters if f.children and _matches(node, f.children)]
    if not all(f.narrow for f in passing):
        return node
    children = _select_children(node, [f.children for f in passing])
    if not children:
        return None
    for key in node.schema.keys:
        if (leaf := node.one(key)) is not None:
            children[key] = leaf
    return node.with_children(children)


def _matches(node: Node, siblings: Sequence[Filter]) -> bool:
    """Whether a sibling set's content match nodes all hold (RFC 6241 6.2.5)."""
    hold: dict[int, bool] = {}
    for f in siblings:
        if f.match is not None:
            hold[f.number] = hold.get(f.number, False) or _holds(node, f.schema, f.match)
    return all(hold.values())


def _holds(node: Node, schema: SchemaNode, match: str) -> bool:
    if schema.kind == "leaf-list":
        return (match,) in node.entries(schema)
    leaf = node.one(schema)
    return leaf is not None and leaf.value == match


def _select_children(node: Node, sets: Sequence[Sequence[Filter]]) -> Children:
    """Return the children that the sibling sets select, of which every content match holds."""
    by_schema: dict[SchemaNode, list[Filter]] = {}
    for siblings in sets:
        for f in siblings:
            by_schema.setdefault(f.schema, []).append(f)
    children: Children = {}
    for schema, filters in by_schema.items():
        found = node.children.get(schema)
        if isinstance(found, Node):
            if (selected := _select(found, filters)) is not None:
                children[schema] = selected
        elif found:
            entries = {
                key: entry
                for key, whole, concerned in _candidates(found, filters)
                if (entry := _select(whole, concerned)) is not None
            }
            if entries:
                children[schema] = entries
    return children


def _candidates(entries: dict[Key, Node], filters: Sequence[Filter]) -> Iterable[tuple[Key, Node, Sequence[Filter]]]:
    """Yield the entries worth looking at, with the filters that concern them: those that give all keys, by key."""
    keyed: dict[Key, list[Filter]] = {}
    others: list[Filter] = []
    for f in filters:
        key = _key(f)
        (others if key is None else keyed.setdefault(key, [])).append(f)
    if len(others) > 1 and len(others) * len(entries) > MOST_COMPARISONS:
        message = f"the filter has {len(others)} alternatives without keys for a list of {len(entries)} entries"
        raise errors.resource_denied(f"{message}: that would take too long; give the keys, or ask for less at a time")
    if others or len(keyed) > 1:
        for key, entry in entries.items():
            if concerned := [*keyed.get(key, ()), *others]:
                yield key, entry, concerned
    else:
        for key, concerned in keyed.items():
            if key in entries:
                yield key, entries[key], concerned


def _key(one: Filter) -> Key | None:
    """Return the key of the only entry that a filter can select; None where it gives not all of it."""
    if one.schema.kind == "leaf-list":
        return None if one.match is None else (one.match,)
    key = tuple(match for leaf in one.schema.keys if (match := one.required.get(leaf)) is not None)
    return key if key and len(key) == len(one.schema.keys) else None
