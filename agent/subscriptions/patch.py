"""What differs between two trees, as the edits of a YANG patch (RFC 8072 2.5, RFC 8641 3.7)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from agent.tree import Node, escape

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from agent.model.schema import SchemaNode
    from agent.tree import Key


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit. ``target`` and ``point`` are RESTCONF paths (RFC 8040 3.5.3).

    ``value`` is the new node. Of ``insert`` and ``move``, ``point`` is the entry before; None makes it the first.
    """

    operation: str
    target: str
    value: Node | None = None
    point: str | None = None


def edits(old: Node, new: Node) -> list[Edit]:
    """Return what makes one tree the other, in an order in which it can be carried out."""
    return list(_inside(old, new, ""))


def xml(changes: Sequence[Edit], *, excluded: Container[str] = ()) -> bytes:
    """Return edits as the content of a yang-patch; those of excluded operations are left out."""
    wanted = [change for change in changes if change.operation not in excluded]
    return b"".join(_edit_xml(number, change) for number, change in enumerate(wanted, 1))


def _inside(old: Node, new: Node, path: str) -> Iterator[Edit]:
    if old is new:
        return
    schemas = {**dict.fromkeys(old.children), **dict.fromkeys(new.children)}
    for schema in sorted(schemas, key=lambda schema: schema.index):
        before, after = old.children.get(schema), new.children.get(schema)
        target = f"{path}/{schema.qualified}"
        if before is after:
            continue
        if isinstance(before, Node) and isinstance(after, Node):
            yield from _both(before, after, target)
        elif isinstance(before, dict) or isinstance(after, dict):
            yield from _entries(schema, old.entries(schema), new.entries(schema), target)
        elif isinstance(after, Node):
            yield from _inside(_empty(after), after, target) if _only_holds(after) else [Edit("create", target, after)]
        elif isinstance(before, Node):
            yield from _inside(before, _empty(before), target) if _only_holds(before) else [Edit("delete", target)]


def _only_holds(node: Node) -> bool:
    """Return whether a node says nothing itself: a container without presence is there for what is in it."""
    if node.schema.kind != "container" or node.schema.presence:
        return False
    return all(schema.kind != "list" or schema.keys for schema in node.children)


def _empty(node: Node) -> Node:
    return node.with_children({})


def _both(old: Node, new: Node, target: str) -> Iterator[Edit]:
    """Yield the edits of a node that was there and is."""
    if new.schema.is_leaf:
        if old.value != new.value:
            yield Edit("replace", target, new)
    elif _keyless_differ(old, new):
        yield Edit("replace", target, new)
    else:
        yield from _inside(old, new, target)


def _keyless_differ(old: Node, new: Node) -> bool:
    """Return whether entries changed that nothing names: they can only be replaced with what holds them."""
    schemas = {**dict.fromkeys(old.children), **dict.fromkeys(new.children)}
    return any(
        schema.kind == "list"
        and not schema.keys
        and [entry.xml() for entry in old.entries(schema).values()]
        != [entry.xml() for entry in new.entries(schema).values()]
        for schema in schemas
    )


def _entries(schema: SchemaNode, old: Mapping[Key, Node], new: Mapping[Key, Node], path: str) -> Iterator[Edit]:
    def target(key: Key) -> str:
        return f"{path}={','.join(quote(value, safe='') for value in key)}"

    for key in old:
        if key not in new:
            yield Edit("delete", target(key))
    if schema.user_ordered:
        yield from _ordered(old, new, target_of={key: target(key) for key in new})
    else:
        for key, entry in new.items():
            if key not in old:
                yield Edit("create", target(key), entry)
    if schema.kind == "list":
        for key, entry in new.items():
            if key in old:
                yield from _both(old[key], entry, target(key))


def _ordered(old: Mapping[Key, Node], new: Mapping[Key, Node], target_of: Mapping[Key, str]) -> Iterator[Edit]:
    """Yield what puts the entries of a user-ordered list into their new order, with the fewest moves."""
    position = {key: number for number, key in enumerate(old)}
    stay = _longest_rising([position[key] for key in new if key in old])
    for previous, key in pairwise([None, *new]):
        if key is None:
            continue
        point = None if previous is None else target_of[previous]
        if key not in old:
            yield Edit("insert", target_of[key], new[key], point)
        elif position[key] not in stay:
            yield Edit("move", target_of[key], None, point)


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """Return a longest rising subsequence of different numbers."""
    tails: list[int] = []  # the smallest last number of a rising sequence of each length
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(tails, number)
        before[number] = tails[at - 1] if at else None
        tails[at : at + 1] = [number]
    found: set[int] = set()
    last = tails[-1] if tails else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def _edit_xml(number: int, edit: Edit) -> bytes:
    parts = [f"<edit><edit-id>edit{number}</edit-id><operation>{edit.operation}</operation>"]
    parts.append(f"<target>{escape(edit.target)}</target>")
    if edit.operation in {"insert", "move"}:
        if edit.point is None:
            parts.append("<where>first</where>")
        else:
            parts.append(f"<point>{escape(edit.point)}</point><where>after</where>")
    value = b"" if edit.value is None else b"<value>" + _alone(edit.value) + b"</value>"
    return "".join(parts).encode() + value + b"</edit>"


def _alone(node: Node) -> bytes:
    """Return a node's XML with its namespace declared, wherever it is written."""
    xml, start = node.xml(), b"<" + node.schema.name.encode()
    declaration = f' xmlns="{node.schema.module.namespace}"'.encode()
    return xml if xml.startswith(start + declaration) else start + declaration + xml[len(start) :]
