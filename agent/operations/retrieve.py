"""get, get-config and get-schema (RFC 6241 7.1 and 7.7, RFC 6243, RFC 6022 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent import errors
from agent import filter as subtree
from agent.defaults import with_defaults
from agent.errors import NETCONF, NetconfError
from agent.messages import data
from agent.monitoring import schema_path
from agent.operations.request import text
from agent.tree import escape
from agent.xpath import as_filter

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from lxml.etree import _Element as Element

    from agent.filter import Filter
    from agent.operations.request import Request
    from agent.tree import Node

MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"


@dataclass(frozen=True, slots=True)
class Expression:
    """An XPath filter that no subtree filter can stand for."""

    select: str
    prefixes: dict[str | None, str]


def get_config(request: Request) -> bytes | Awaitable[bytes]:
    """Return a configuration datastore, narrowed to the filter."""
    found = request.parameters("source", "filter", "with-defaults")
    if "source" not in found:
        raise errors.missing_element("source")
    tree = request.services.datastores.get(request.datastore(found["source"]))
    tree = request.access.readable(completed(request, tree, text(found.get("with-defaults"), "explicit")))
    selected = wanted(request, found.get("filter"))
    if isinstance(selected, Expression):
        return _selected(request, tree, selected)
    return data((tree if selected is None else subtree.apply(tree, selected)).xml())


async def get(request: Request) -> bytes:
    """Return running and live state, narrowed to the filter."""
    found = request.parameters("filter", "with-defaults")
    selected = wanted(request, found.get("filter"))
    mode = text(found.get("with-defaults"), "explicit")
    running = completed(request, request.services.datastores.running, mode)
    filters = None if isinstance(selected, Expression) else selected
    tree = await request.services.operational.get(running, filters, request.access)
    if mode == "trim":
        tree = completed(request, tree, mode)  # state that has its default is left out as well (RFC 6243 3.2)
    if isinstance(selected, Expression):
        return await _selected(request, tree, selected)
    return data(tree.xml())


def get_schema(request: Request) -> bytes:
    """Return a module's text as it was loaded. Raises invalid-value, and data-not-unique where several match."""
    found = request.parameters("identifier", "version", "format")
    if "identifier" not in found:
        raise errors.missing_element("identifier")
    name = text(found["identifier"], "")
    version = text(found.get("version"), "")
    _check_format(found.get("format"))
    # What can't be seen in the list of schemas does not exist.
    matching = [
        module
        for module in request.services.model.served
        if module.name == name and version in {"", module.revision} and request.access.may_see(schema_path(module))
    ]
    if not matching:
        what = f"{name}@{version}" if version else name
        raise errors.invalid_value(f"no schema {what} is served", type="application")
    if len(matching) > 1:
        revisions = ", ".join(module.revision for module in matching)
        message = f"{name} is served in the revisions {revisions}: say which by <version>"
        raise errors.operation_failed(message, app_tag="data-not-unique")
    return f'<data xmlns="{MONITORING}">{escape(matching[0].text)}</data>'.encode()


def completed(request: Request, tree: Node, mode: str) -> Node:
    """Return a configuration with the defaults that a with-defaults mode shows."""
    effective = None
    if mode in {"report-all", "report-all-tagged"}:
        try:
            effective = request.services.datastores.effective(tree)
        except NetconfError:
            effective = None  # candidate may be invalid; only nodes with a when then go without their default
    return with_defaults(tree, mode, effective)


async def _selected(request: Request, tree: Node, expression: Expression) -> bytes:
    users = (request.session.peer.username,)
    return data((await request.services.xpath.select(tree, expression.select, expression.prefixes, users)).xml())


def _check_format(element: Element | None) -> None:
    value = text(element, "yang")
    prefix, _colon, name = value.rpartition(":")
    namespace = MONITORING if element is None else element.nsmap.get(prefix or None)
    if name != "yang" or (prefix and namespace != MONITORING):
        raise errors.invalid_value(f"schemas are served as yang only, not as {value!r}", type="application")


def wanted(request: Request, element: Element | None) -> list[Filter] | Expression | None:
    """Return what a ``<filter>`` asks for, None where there is none."""
    if element is None:
        return None
    kind = element.get("type") or element.get(f"{{{NETCONF}}}type") or "subtree"
    if kind == "xpath":
        return _expression(request, element)
    if kind != "subtree":
        message = f'filter type="{kind}" is not supported; subtree and xpath are'
        raise errors.bad_attribute("type", "filter", message)
    return subtree.compile_subtree(element, request.services.model.root)


def _expression(request: Request, element: Element) -> list[Filter] | Expression:
    select = element.get("select", element.get(f"{{{NETCONF}}}select"))
    if select is None:
        raise errors.missing_attribute("select", "filter")
    if len(element) or (element.text or "").strip():
        raise errors.bad_element("filter", "a filter of type xpath has a select attribute and no content")
    prefixes = dict(element.nsmap)
    simple = as_filter(request.services.model, select.strip(), prefixes)
    return simple if simple is not None else Expression(select.strip(), prefixes)
