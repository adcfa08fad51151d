"""The data tree: immutable, schema-aware, shared between datastores.

An edit makes new nodes along the path to what it changes and keeps all others, so a snapshot of a datastore is a
reference, two equal subtrees are mostly the same object, and the XML of a subtree that did not change is never
written again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent.paths import step
from translators.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent.model.schema import SchemaNode

Key: TypeAlias = tuple[str, ...]
Children: TypeAlias = "dict[SchemaNode, Node | dict[Key, Node]]"

_NONE: Final[Children] = {}
_TAGGED: Final = b' xmlns:wd="urn:ietf:params:xml:ns:netconf:default:1.0" wd:default="true"'
_REFERENCES: Final = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;"))
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Node:
    """One data node. Leafs have a ``value`` (canonical, module-name form); all others have ``children``.

    Children are by schema node: one node, or for lists and leaf-lists a dict from key to entry, in order. A leaf-list
    entry's key is its value; entries of a state list without keys are numbered. ``tagged``: written with the attribute
    that says that the value is the schema's default (RFC 6243 6). ``origin`` is where a configuration node of the
    operational datastore comes from (an identity of ietf-origin, without its module), None for where its parent does.
    Never change a node: make another.
    """

    __slots__ = ("_xml", "children", "origin", "schema", "tagged", "value")

    def __init__(
        self,
        schema: SchemaNode,
        value: str | None = None,
        children: Children | None = None,
        *,
        tagged: bool = False,
        origin: str | None = None,
    ) -> None:
        self.schema = schema
        self.value = value
        self.tagged = tagged
        self.origin = origin
        self.children: Children = _NONE if children is None else children
        self._xml: bytes | None = None

    def one(self, schema: SchemaNode) -> Node | None:
        """Return the child that is neither a list nor a leaf-list."""
        found = self.children.get(schema)
        return found if isinstance(found, Node) else None

    def entries(self, schema: SchemaNode) -> Mapping[Key, Node]:
        """Return a list's or leaf-list's entries by key."""
        found = self.children.get(schema)
        return found if isinstance(found, dict) else {}

    def key(self) -> Key:
        """Return a list entry's keys, or a leaf-list entry's value."""
        if self.schema.kind == "leaf-list":
            return (self.value or "",)
        return tuple((leaf.value or "") if (leaf := self.one(key)) else "" for key in self.schema.keys)

    def all(self) -> Iterator[Node]:
        """Yield every child: keys first, then in schema order, entries in their order."""
        for schema in sorted(self.children, key=_index):
            child = self.children[schema]
            if isinstance(child, Node):
                yield child
            else:
                yield from child.values()

    def find(self, *names: str) -> Node | None:
        """Return a descendant by member names, through containers only."""
        node = self
        for name in names:
            schema = node.schema.member(name)
            child = node.one(schema) if schema is not None else None
            if child is None:
                return None
            node = child
        return node

    def with_children(self, children: Children) -> Node:
        """Return a node like this one with other children."""
        return Node(self.schema, None, children, origin=self.origin)

    def xml(self) -> bytes:
        """Return the node as XML; for a root, its children one after the other. The result is kept."""
        if self._xml is None:
            schema = self.schema
            if schema.is_leaf:
                self._xml = _leaf_xml(schema, self.value or "", _TAGGED if self.tagged else b"")
            elif schema.kind == "root":
                self._xml = b"".join(self._content())
            else:
                self._xml = b"".join([schema.open_tag, *self._content(), schema.close_tag])
        return self._xml

    def _content(self) -> list[bytes]:
        content: list[bytes] = []
        for schema in sorted(self.children, key=_index):
            content += _written(self.children[schema])
        return content


class _Counting(Node):
    """A node with lists of counters: they become nodes when somebody looks at its children, not for its XML.

    ``children`` is the slot that every node has; it is empty until then.
    """

    __slots__ = ("_counts", "_others")

    def __init__(self, schema: SchemaNode, others: Children, counts: dict[SchemaNode, Counts]) -> None:
        super().__init__(schema)
        self._others = others
        self._counts = {
            child: (each, _pattern(child, each.key, each.keys, each.value)) for child, each in counts.items()
        }
        del self.children

    def __getattr__(self, name: str) -> Children:
        if name != "children":
            raise AttributeError(name)
        self.children = {
            **self._others,
            **{schema: _entries(schema, counts) for schema, (counts, _pattern) in self._counts.items()},
        }
        return self.children

    def one(self, schema: SchemaNode) -> Node | None:
        """Return the child that is neither a list nor a leaf-list."""
        found = self._others.get(schema)
        return found if isinstance(found, Node) else None

    def _content(self) -> list[bytes]:
        written = {schema: _written(child) for schema, child in self._others.items()}
        written |= {schema: [pattern % counts.digits] for schema, (counts, pattern) in self._counts.items()}
        return [part for schema in sorted(written, key=_index) for part in written[schema]]


def instance_path(parent: str, schema: SchemaNode, key: Key = ()) -> str:
    """Return a child's instance path in module-name form, given its parent's ("" for the root)."""
    names = (".",) if schema.kind == "leaf-list" and key else tuple(leaf.name for leaf in schema.keys)
    return parent + step(schema.qualified, zip(names, key, strict=False))


def from_json(schema: SchemaNode, data: Any) -> Node:  # noqa: ANN401 - RFC 7951 data
    """Return a container, list entry or leaf made of RFC 7951 data; the data comes from this program and is trusted.

    Raises KeyError for a member that the schema lacks. Characters that XML can't hold become U+FFFD.
    """
    if schema.is_leaf:
        return Node(schema, _value(data))
    children: Children = {}
    counts: dict[SchemaNode, Counts] = {}
    for name, value in data.items():
        child = _member(schema, name)
        if not child.is_entry:
            children[child] = from_json(child, value)
        elif isinstance(value, Counts):
            counts[child] = value
        else:
            children[child] = _entries(child, value)
    return _Counting(schema, children, counts) if counts else Node(schema, None, children)


def merge(first: Node, second: Node, *, origin: str | None = None) -> Node:
    """Return both in one; where both have a leaf, the second's counts. System-ordered lists come out sorted by key.

    ``origin`` is that of the configuration nodes which only the second has.
    """
    if first is second or first.schema.is_leaf:
        return second
    children: Children = dict(first.children)
    for schema, child in second.children.items():
        mine = children.get(schema)
        if mine is None:
            children[schema] = _came(child, origin)
        elif isinstance(child, Node) and isinstance(mine, Node):
            children[schema] = merge(mine, child, origin=origin)
        elif isinstance(child, dict) and isinstance(mine, dict):
            children[schema] = _merge_entries(schema, mine, child, origin)
    return first.with_children(children)


def with_origin(node: Node, origin: str | None) -> Node:
    """Return a configuration node with this origin; state has none (RFC 8342 5.3.4)."""
    if origin is None or not node.schema.config:
        return node
    return Node(node.schema, node.value, node.children, origin=origin)


def alone(schema: SchemaNode, xml: bytes) -> bytes:
    """Return a node's XML with its namespace declared, so that it can stand anywhere."""
    if b" xmlns=" in schema.open_tag:
        return xml
    at = len(schema.name) + 1  # names are ASCII (RFC 7950 6.2)
    return b'%b xmlns="%b"%b' % (xml[:at], escape(schema.module.namespace).encode(), xml[at:])


def escape(text: str) -> str:
    """Return character data as XML; carriage returns survive the reader's line-end handling (XML 2.11)."""
    for character, reference in _REFERENCES:
        if character in text:
            text = text.replace(character, reference)
    return text


def cleaned(text: str) -> str:
    """Return text in which what XML 1.0 can't hold is replaced by U+FFFD (XML 2.2)."""
    return _NOT_XML.sub("\ufffd", text)


def _member(schema: SchemaNode, name: str) -> SchemaNode:
    child = schema.member(name)
    if child is None:
        raise KeyError(f"{schema.path}/{name}")
    return child


def _entries(schema: SchemaNode, items: Sequence[Any]) -> dict[Key, Node]:
    """Return the entries of a list or leaf-list made of RFC 7951 data."""
    nodes = [from_json(schema, item) for item in items]
    if schema.keys or schema.kind == "leaf-list":
        return {node.key(): node for node in nodes}
    return {(str(number),): node for number, node in enumerate(nodes)}


def _merge_entries(
    schema: SchemaNode, first: dict[Key, Node], second: dict[Key, Node], origin: str | None
) -> dict[Key, Node]:
    merged = dict(first)
    for key, entry in second.items():
        merged[key] = merge(first[key], entry, origin=origin) if key in first else with_origin(entry, origin)
    return merged if schema.user_ordered else dict(sorted(merged.items()))


def _came(child: Node | dict[Key, Node], origin: str | None) -> Node | dict[Key, Node]:
    if isinstance(child, Node):
        return with_origin(child, origin)
    return child if origin is None else {key: with_origin(entry, origin) for key, entry in child.items()}


def _index(schema: SchemaNode) -> int:
    return schema.index


def _value(data: Any) -> str:  # noqa: ANN401 - RFC 7951 data
    if data is True:
        return "true"
    if data is False:
        return "false"
    if isinstance(data, list):
        return ""
    return cleaned(str(data))


def _written(child: Node | dict[Key, Node]) -> list[bytes]:
    """Return the XML of a child, or of each of a list's entries."""
    if isinstance(child, Node):
        return [child.xml()]
    return [entry._xml or entry.xml() for entry in child.values()]  # noqa: SLF001 - of this module


@lru_cache(maxsize=8)
def _pattern(schema: SchemaNode, key: str, keys: tuple[int, ...], value: str) -> bytes:
    """Return the XML of a list of counters, with ``%b`` in the place of each.

    Each interrupt of a machine has the same.
    """
    name, count = _member(schema, key), _member(schema, value)
    tags = (schema.open_tag + name.open_tag, name.close_tag + count.open_tag, count.close_tag + schema.close_tag)
    before, between, after = (tag.replace(b"%", b"%%") for tag in tags)
    return b"".join(b"%b%d%b%%b%b" % (before, number, between, after) for number in keys)


def _leaf_xml(schema: SchemaNode, value: str, attribute: bytes) -> bytes:
    if not value:
        return b"".join([schema.open_tag[:-1], attribute, b"/>"])
    if schema.kind in {"anydata", "anyxml"}:
        return b"".join([schema.open_tag, value.encode(), schema.close_tag])
    kind = schema.type
    if attribute or (kind is not None and kind.has_prefixes):
        spaces, value = kind.prefixed(value) if kind is not None else ({}, value)
        declarations = "".join(f' xmlns:{prefix}="{escape(space)}"' for prefix, space in spaces.items())
        start = b"".join([schema.open_tag[:-1], declarations.encode(), attribute, b">"])
        return b"".join([start, escape(value).encode(), schema.close_tag])
    return b"".join([schema.open_tag, escape(value).encode(), schema.close_tag])
