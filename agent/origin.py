"""Where configuration in the operational datastore comes from (RFC 8342 5.3.4), and its XML (RFC 7952, RFC 8526 3.1).

A node without an origin has its parent's; at the top level that is ``intended``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.tree import Children, Node, with_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.model.schema import SchemaNode
    from agent.tree import Key

NAMESPACE: Final = "urn:ietf:params:xml:ns:yang:ietf-origin"
INTENDED: Final = "intended"
SYSTEM: Final = "system"


def attributed(found: Node, meant: Node | None) -> Node:
    """Return what is in use, configuration and state, with its origins.

    ``meant`` is the intended configuration with its defaults. What is as meant has the origin that it has there;
    anything else is the system's doing: what it made by itself, and what differs from what was asked for.
    """
    children: Children = {}
    for schema, child in found.children.items():
        if not schema.config:
            children[schema] = child
        elif isinstance(child, Node):
            children[schema] = _attributed(child, meant.one(schema) if meant is not None else None)
        else:
            entries = meant.entries(schema) if meant is not None else {}
            children[schema] = {key: _attributed(entry, entries.get(key)) for key, entry in child.items()}
    return Node(found.schema, None, children, origin=SYSTEM if meant is None else meant.origin)


def replaced(root: Node, names: Sequence[str], node: Node) -> Node:
    """Return a tree in which the container at a path of names, which leads through containers, is another."""
    if not names:
        return node
    schema = root.schema.member(names[0])
    if schema is None:
        raise KeyError(names[0])
    below = root.one(schema) or Node(schema)
    return root.with_children({**root.children, schema: replaced(below, names[1:], node)})


def inherited(root: Node, path: Sequence[tuple[SchemaNode, Key]], top: str | None) -> str | None:
    """Return the origin that a node at the end of a path has of those above it; ``top`` is that of the top level.

    What the tree does not have on the way has none.
    """
    node = root
    for schema, key in path[:-1]:
        found = node.entries(schema).get(key) if schema.is_entry else node.one(schema)
        if found is None:
            break
        node, top = found, found.origin or top
    return top


def xml(node: Node, above: str | None = None) -> bytes:
    """Return a node as XML with origins; the prefix ``or`` has to be declared around it.

    ``above`` is the origin of its parent, None at the top level, where the origin is always written.
    """
    schema = node.schema
    if schema.kind == "root":
        return b"".join(xml(child) for child in node.all())
    if not schema.config:
        return node.xml()
    origin = node.origin or above or INTENDED
    attribute = b"" if origin == above else f' or:origin="or:{origin}"'.encode()
    start = schema.open_tag[:-1]
    if schema.is_leaf:
        return b"".join([start, attribute, node.xml()[len(start) :]])
    return b"".join([start, attribute, b">", *(xml(child, origin) for child in node.all()), schema.close_tag])


def narrowed(node: Node, wanted: Callable[[str | None], bool], above: str = INTENDED) -> Node | None:
    """Return a node with what is wanted by its origin, which is None for state; None where that is nothing.

    Ancestors and list keys stay with what they are around.
    """
    schema = node.schema
    if not schema.config and schema.kind != "root":
        return node if wanted(None) else None
    origin = node.origin or above
    if schema.is_leaf:
        return node if wanted(origin) else None
    children: Children = {}
    for below, child in node.children.items():
        if isinstance(child, Node):
            if (kept := narrowed(child, wanted, origin)) is not None:
                children[below] = kept
        elif entries := {k: kept for k, e in child.items() if (kept := narrowed(e, wanted, origin)) is not None}:
            children[below] = entries
    itself = (schema.presence or schema.is_entry or not node.children) and wanted(origin)
    if not children and not itself and schema.kind != "root":
        return None
    for key in schema.keys:
        if (leaf := node.one(key)) is not None:
            children[key] = leaf
    return node.with_children(children)


def _attributed(found: Node, meant: Node | None) -> Node:
    if not found.schema.is_leaf:
        return attributed(found, meant)
    return meant if meant is not None and meant.value == found.value else with_origin(found, SYSTEM)
