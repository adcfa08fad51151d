"""with-defaults (RFC 6243): default values in what is returned, by mode. The basic mode is explicit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent import errors
from agent.tree import Children, Key, Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.schema import SchemaNode

NAMESPACE: Final = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults"
MODES: Final = ("explicit", "report-all", "report-all-tagged", "trim")
_DATA: Final = {"container", "list", "leaf", "leaf-list", "anydata", "anyxml"}

_Make: TypeAlias = "Callable[..., Node]"


def with_defaults(root: Node, mode: str, effective: dict[str, Any] | None) -> Node:
    """Return a configuration as a mode shows it.

    ``effective`` is the same configuration as libyang completes it, None where it is not valid: it says whether a
    node that depends on a ``when`` has its default. Raises invalid-value for an unknown mode.
    """
    if mode not in MODES:
        raise errors.invalid_value(f"with-defaults is {mode!r}, which is none of {', '.join(MODES)}")
    if mode == "explicit":
        return root
    if mode == "trim":
        return _trimmed(root)
    return _filled(root, effective, partial(Node, tagged=mode == "report-all-tagged"))


def in_use(root: Node, effective: dict[str, Any] | None) -> Node:
    """Return a configuration as it is in use: with its default values, which have the origin ``default``."""
    return _filled(root, effective, partial(Node, origin="default"))


def _trimmed(node: Node) -> Node:
    children: Children = {}
    for schema, child in node.children.items():
        if schema.is_leaf:
            if not _is_default(schema, child):
                children[schema] = child
        elif isinstance(child, Node):
            trimmed = _trimmed(child)
            if trimmed.children or schema.presence:
                children[schema] = trimmed
        else:
            children[schema] = {key: _trimmed(entry) for key, entry in child.items()}
    return node.with_children(children)


def _is_default(schema: SchemaNode, child: Node | dict[Key, Node]) -> bool:
    """Whether a leaf, or a leaf-list as a whole, says what its default says (RFC 7950 7.7.2)."""
    if isinstance(child, Node):
        return (child.value,) == schema.defaults
    values = tuple(value for (value,) in child)
    return values == schema.defaults if schema.user_ordered else sorted(values) == sorted(schema.defaults)


def _filled(node: Node, effective: Any, make: _Make) -> Node:  # noqa: ANN401 - RFC 7951 data
    children: Children = {}
    for schema in node.schema.children.values():
        if schema.kind not in _DATA:
            continue
        child = node.children.get(schema)
        below = effective.get(schema.qualified) if isinstance(effective, dict) else None
        if isinstance(child, Node):
            children[schema] = child if schema.is_leaf else _filled(child, below, make)
        elif child is not None:
            children[schema] = child if schema.is_leaf else _entries(schema, child, below, make)
        elif schema.config and _applies(node, schema, effective):
            _add_default(children, schema, below, make)
    return node.with_children(children)


def _entries(schema: SchemaNode, entries: dict[Key, Node], effective: Any, make: _Make) -> dict[Key, Node]:  # noqa: ANN401
    found = {_json_key(schema, entry): entry for entry in effective} if isinstance(effective, list) else {}
    return {key: _filled(entry, found.get(key), make) for key, entry in entries.items()}


def _json_key(schema: SchemaNode, entry: dict[str, Any]) -> Key:
    values = (entry.get(leaf.name, "") for leaf in schema.keys)
    return tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


def _add_default(children: Children, schema: SchemaNode, effective: Any, make: _Make) -> None:  # noqa: ANN401
    if schema.kind == "leaf" and schema.defaults:
        children[schema] = make(schema, schema.defaults[0])
    elif schema.kind == "leaf-list" and schema.defaults:
        children[schema] = {(value,): make(schema, value) for value in schema.defaults}
    elif schema.kind == "container" and not schema.presence:
        filled = _filled(make(schema), effective, make)
        if filled.children:
            children[schema] = filled


def _applies(node: Node, schema: SchemaNode, effective: Any) -> bool:  # noqa: ANN401 - RFC 7951 data
    """Whether an absent node has its default: its case is chosen, or is the default of a choice not made (7.9.3)."""
    if schema.conditional and not (isinstance(effective, dict) and schema.qualified in effective):
        return False
    chosen = {choice: case for child in node.children for choice, case in child.cases}
    return all(chosen.get(choice, node.schema.default_cases.get(choice)) == case for choice, case in schema.cases)
