"""What an operation's filter selects of a datastore (the groupings of filters in RFC 8526 3.1.1 and RFC 9144 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import filter as subtree
from agent import nmda
from agent.depth import shortened
from agent.operations.retrieve import completed
from agent.xpath import as_filter

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.filter import Filter
    from agent.operations.request import Request
    from agent.tree import Node


async def selected(
    request: Request, name: str, namespace: str, *, mode: str = "explicit", depth: int | None = None
) -> Node:
    """Return what a datastore has of what ``subtree-filter`` or ``xpath-filter`` selects, as the user may read it.

    ``mode`` is the with-defaults mode of a conventional datastore; operational has the values in use.
    """
    services = request.services
    wanted, expression = _filters(request, namespace)
    if expression is None and name == nmda.OPERATIONAL:
        return await nmda.view(services, request.access, name, wanted, depth=depth)
    if name == nmda.OPERATIONAL:
        tree = await nmda.view(services, request.access, name)
    else:
        tree = completed(request, nmda.configuration(services.datastores, name), mode)
        tree = request.access.readable(tree)
    if expression is None:
        return nmda.selected(tree, wanted, depth)
    user = request.session.peer.username
    found = await services.xpath.select(tree, (expression.text or "").strip(), dict(expression.nsmap), (user,))
    return found if depth is None else shortened(found, tree, depth)


def _filters(request: Request, namespace: str) -> tuple[list[Filter] | None, Element | None]:
    """Return the subtree filter, None for all; or the element with an XPath expression that none can stand for."""
    model = request.services.model
    element = request.element.find(f"{{{namespace}}}subtree-filter")
    if element is not None:
        return subtree.compile_subtree(element, model.root), None
    element = request.element.find(f"{{{namespace}}}xpath-filter")
    if element is None:
        return None, None
    simple = as_filter(model, (element.text or "").strip(), dict(element.nsmap))
    return (None, element) if simple is None else (simple, None)
