"""Operations and actions that modules define: what is asked for has to fit the model (RFC 7950 7.14, 7.15, 8.3.1)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agent import errors, nmda
from agent.filter import Filter
from agent.messages import OK
from agent.operations.request import local_name
from agent.tree import Node, instance_path
from translators.base import Invocation

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.model.load import Model
    from agent.model.schema import SchemaNode
    from agent.operations.request import Request
    from agent.tree import Key

log = logging.getLogger(__name__)


def check_input(model: Model, operation: SchemaNode, element: Element, path: str) -> None:
    """Check the input of an rpc or action at ``path``.

    Raises NetconfError: unknown-element, unknown-namespace, bad-element, missing-element, invalid-value.
    """
    defined = operation.children.get(f"{{{operation.module.namespace}}}input")
    if defined is not None:
        _check(model, defined, element, path)
    elif len(element):
        raise errors.unknown_element(local_name(element[0]), type="application", path=path)


async def action(request: Request) -> bytes:
    """Carry out the action that is asked for, on the instance that it is asked of (7.15.2)."""
    services = request.services
    schema, chain, element, path = _found(services.model, request.element)
    if not request.access.may_invoke(schema, chain):
        services.nacm.note_denied_operation()
        raise errors.access_denied(f"the action {schema.name} may not be invoked", type="application", path=path)
    await _check_instance(request, chain)
    check_input(services.model, schema, element, path)
    found = services.engine.actor(schema.path)
    if found is None:
        raise errors.operation_not_supported(
            f"the action {schema.name} is not supported", type="application", path=path
        )
    actor, below = found
    keys = tuple(value for node in chain if node.schema.is_entry for value in node.key())
    await services.engine.invoke(actor, Invocation(below, keys), request.session)
    log.info("%s was invoked by %s (session %d)", path, request.session.peer.username, request.session.id)
    return OK


def _found(model: Model, element: Element) -> tuple[SchemaNode, list[Node], Element, str]:
    """Return an action with its element and path, and the nodes that it is asked of, as far as they are named."""
    schema, path = model.root, ""
    chain: list[Node] = []
    while True:
        element = _only(schema, element, path)
        schema = _child(model, schema, element, path)
        if schema.kind == "action":
            return schema, chain, element, instance_path(path, schema)
        if schema.is_leaf or schema.kind in {"rpc", "notification"}:
            raise errors.bad_element(
                schema.name, f"<{schema.name}> has no action", type="application", path=path or None
            )
        key = _key(schema, element, path)
        path = instance_path(path, schema, key)
        chain.append(
            Node(schema, None, {leaf: Node(leaf, value) for leaf, value in zip(schema.keys, key, strict=True)})
        )


async def _check_instance(request: Request, chain: list[Node]) -> None:
    """Raise data-missing unless what the action is asked of is in the operational datastore (7.15)."""
    last = max((n for n, node in enumerate(chain, 1) if node.schema.is_entry or node.schema.presence), default=0)
    if not last:
        return
    wanted = _selecting(chain[:last])
    there: Node | None = await nmda.view(request.services, request.access, nmda.OPERATIONAL, [wanted])
    path = ""
    for node in chain[:last]:
        key = node.key() if node.schema.is_entry else ()
        path = instance_path(path, node.schema, key)
        there = _instance(there, node.schema, key)
        if there is None and (node.schema.is_entry or node.schema.presence):
            raise errors.data_missing(path)


def _selecting(chain: list[Node]) -> Filter:
    """Return the filter that selects the last of some nodes, of a list entry no more than its keys."""
    node = chain[-1]
    below = [Filter(leaf, whole=True) for leaf in node.schema.keys]
    for node in reversed(chain):
        keys = {
            leaf: value for leaf in node.schema.keys if (key := node.one(leaf)) and (value := key.value) is not None
        }
        matches = [Filter(leaf, match=value) for leaf, value in keys.items()]
        one = Filter(node.schema, children=[*matches, *below], required=keys, whole=not matches and not below)
        below = [one]
    return one


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
    chosen: dict[str, str] = {}
    for child in element:
        schema = _child(model, within, child, path)
        below = instance_path(path, schema)
        if schema in seen and not schema.is_entry:
            message = f"<{schema.name}> is there twice"
            raise errors.bad_element(schema.name, message, type="application", path=below)
        seen.add(schema)
        for choice, case in schema.cases:
            if chosen.setdefault(choice, case) != case:
                message = f"<{schema.name}> excludes what is there already"
                raise errors.bad_element(schema.name, message, type="application", path=below)
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
