"""get, get-config and get-schema (RFC 6241 7.1 and 7.7, RFC 6022 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import errors
from agent import filter as subtree
from agent.errors import NETCONF
from agent.messages import data
from agent.operations.request import datastore, text
from agent.tree import escape

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.filter import Filter
    from agent.operations.request import Request

MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"


def get_config(request: Request) -> bytes:
    """Return a configuration datastore, narrowed to the filter."""
    found = request.parameters("source", "filter")
    if "source" not in found:
        raise errors.missing_element("source")
    tree = request.services.datastores.get(datastore(found["source"]))
    filters = _filters(request, found.get("filter"))
    return data((tree if filters is None else subtree.apply(tree, filters)).xml())


async def get(request: Request) -> bytes:
    """Return running and live state, narrowed to the filter."""
    filters = _filters(request, request.parameters("filter").get("filter"))
    return data((await request.services.operational.get(filters)).xml())


def get_schema(request: Request) -> bytes:
    """Return a module's text as it was loaded."""
    found = request.parameters("identifier", "version", "format")
    if "identifier" not in found:
        raise errors.missing_element("identifier")
    name = text(found["identifier"], "")
    version = text(found.get("version"), "")
    _check_format(found.get("format"))
    module = request.services.model.modules.get(name)
    if module is None or (version and version != module.revision):
        wanted = f"{name}@{version}" if version else name
        raise errors.invalid_value(f"no schema {wanted} is served", type="application")
    return f'<data xmlns="{MONITORING}">{escape(module.text)}</data>'.encode()


def _check_format(element: Element | None) -> None:
    value = text(element, "yang")
    prefix, _colon, name = value.rpartition(":")
    namespace = MONITORING if element is None else element.nsmap.get(prefix or None)
    if name != "yang" or (prefix and namespace != MONITORING):
        raise errors.invalid_value(f"schemas are served as yang only, not as {value!r}", type="application")


def _filters(request: Request, element: Element | None) -> list[Filter] | None:
    if element is None:
        return None
    kind = element.get("type") or element.get(f"{{{NETCONF}}}type") or "subtree"
    if kind != "subtree":
        message = f'filter type="{kind}" is not supported; type="subtree" is'
        raise errors.bad_attribute("type", "filter", message)
    return subtree.compile_subtree(element, request.services.model.root)
