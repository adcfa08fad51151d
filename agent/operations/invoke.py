"""Operations and actions that modules define: what is asked for has to fit the model (RFC 7950 7.14, 7.15, 8.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import errors
from agent.operations.request import local_name
from agent.tree import Node, instance_path

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.model.load import Model
    from agent.model.schema import SchemaNode
    from agent.operations.request import Request
    from agent.tree import Key


def check_input(model: Model, operation: SchemaNode, element: Element, path: str) -> None:
    """Check the input of an rpc or action at ``path``.

    Raises NetconfError: unknown-element, unknown-namespace, bad-element, missing-element, invalid-value.
    """
    defined = operation.children.get(f"{{{operation.module.namespace}}}input")
    if defined is not None:
        _check(model, defined, element, path)
    elif len(element):
        raise errors.unknown_element(local_name(element[0]), type="application", path=path)


def action(request: Request) -> bytes:
    """Find the action that is asked for (7.15.2). No served module has one that is carried out: always raises."""
    model, node = request.services.model, request.services.datastores.running
    schema, element, path = model.root, request.element, ""
    there: Node | None = node
    missing = None
    while schema.kind != "action":
        element = _only(schema, element, path)
        schema = _child(model, schema, element, path)
        if schema.is_leaf or schema.kind in {"rpc", "notification"}:
            raise errors.bad_element(
                schema.name, f"<{schema.name}> has no action", type="application", path=path or None
            )
        key = _key(schema, element, path)
        path = instance_path(path, schema, key)
        there = _instance(there, schema, key)
        if missing is None and there is None and schema.config and (schema.is_entry or schema.presence):
            missing = path
    if missing is not None:
        raise errors.data_missing(missing)
    check_input(model, schema, element, path)
    raise errors.operation_not_supported(f"the action {schema.name} is not supported", type="application", path=path)


def _only(schema: SchemaNode, element: Element, path: str) -> Element:
    """Return the one child that leads on to the action; a list entry has its keys besides."""
    keys = {leaf.tag for leaf in schema.keys}
    found = [child for child in element if child.tag not in keys]
    if len(found) != 1:
        name = local_name(found[1] if found else element)
        raise errors.bad_element(name, "there has to be exactly one action", type="application", path=path or None)
    return found[0]


def _key(schema: SchemaNode, element: Element, path: str) -> Key:
    values = []
    for leaf in schema.keys:
        found = element.find(leaf.tag)
        if found is None:
            raise errors.missing_element(leaf.name, type="application", path=instance_path(path, schema))
        values.append(_canonical(leaf, found, instance_path(instance_path(path, schema), leaf)))
    return tuple(values)


def _instance(parent: Node | None, schema: SchemaNode, key: Key) -> Node | None:
    if parent is None:
        return None
    return parent.entries(schema).get(key) if schema.is_entry else parent.one(schema)


def _check(model: Model, within: SchemaNode, element: Element, path: str) -> None:
    seen: set[SchemaNode] = set()
    for child in element:
        schema = _child(model, within, child, path)
        below = instance_path(path, schema)
        if schema in seen and not schema.is_entry:
            message = f"<{schema.name}> is there twice"
            raise errors.bad_element(schema.name, message, type="application", path=below)
        seen.add(schema)
        if not schema.is_leaf:
            _check(model, schema, child, below)
        elif schema.type is not None:
            _canonical(schema, child, below)
    for schema in within.children.values():
        if schema not in seen and (schema in within.keys or (schema.mandatory and not schema.cases)):
            raise errors.missing_element(schema.name, type="application", path=instance_path(path, schema))


def _child(model: Model, within: SchemaNode, element: Element, path: str) -> SchemaNode:
    schema = within.children.get(str(element.tag))
    if schema is not None:
        return schema
    name, namespace = local_name(element), str(element.tag).rpartition("}")[0].lstrip("{")
    if namespace not in model.by_namespace:
        raise errors.unknown_namespace(name, namespace, type="application", path=path or None)
    raise errors.unknown_element(name, type="application", path=path or None)


def _canonical(leaf: SchemaNode, element: Element, path: str) -> str:
    if len(element):
        raise errors.unknown_element(local_name(element[0]), type="application", path=path)
    try:
        return leaf.canonical(element.text or "", element)
    except ValueError as error:
        raise errors.invalid_value(f"{leaf.name}: {error}", type="application", path=path) from None
