"""partial-lock and partial-unlock (RFC 5717)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import errors
from agent.messages import OK
from agent.operations.request import text
from agent.partial import MOST_NODES, place_of, too_many_nodes
from agent.tree import from_json
from agent.xpath import instance, without_prefixes

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.operations.request import Request
    from agent.partial import Place
    from agent.tree import Node

PARTIAL_LOCK: Final = "urn:ietf:params:xml:ns:netconf:partial-lock:1.0"
_MODULE: Final = "ietf-netconf-partial-lock"
_MOST_SELECTS: Final = 100


async def lock(request: Request) -> bytes:
    """Lock the nodes of running that expressions select now, and all that is below them (2.4.1)."""
    selects = list(request.element)
    if not selects:
        raise errors.missing_element("select")
    if len(selects) > _MOST_SELECTS:
        raise errors.resource_denied(f"a request has {_MOST_SELECTS} <select> at most")
    stores = request.services.datastores
    while True:
        running = stores.running
        places = await _selected(request, request.access.readable(running), selects)
        _check_free(request)
        if stores.running is running:
            break
        # another session changed running meanwhile: what is selected now is to be locked
    if request.session.ended:
        raise errors.operation_failed("the session has ended", type="protocol")
    expressions = [without_prefixes(text(select, ""), dict(select.nsmap)) for select in selects]
    granted = stores.lock_nodes(request.session, request.services.now(), expressions, places)
    output = request.services.model.node(f"/{_MODULE}:partial-lock/{_MODULE}:output")
    data = {"lock-id": granted.id, "locked-node": granted.paths()}
    return b"".join(child.xml() for child in from_json(output, data).all())


def unlock(request: Request) -> bytes:
    """Give a partial lock of this session back (2.4.2)."""
    element = request.require("lock-id")
    leaf = request.services.model.node(f"/{_MODULE}:partial-unlock/{_MODULE}:input/lock-id")
    number = int(leaf.canonical(element.text or "", element))  # the model's check of the request has taken it
    request.services.datastores.partial.release(number, request.session)
    return OK


def _check_free(request: Request) -> None:
    """Raise NetconfError while running is about to be changed, or may have to be (2.6.2)."""
    if request.services.confirmed.owner is not None:
        message = "a confirmed commit is pending, which may have to be undone: try again when it is confirmed"
        raise errors.in_use(message, app_tag=errors.OUTSTANDING)
    committing = request.services.engine.committing
    if committing is not None:
        raise errors.lock_denied(committing.id, f"session {committing.id} is committing: try again")


async def _selected(request: Request, running: Node, selects: list[Element]) -> list[Place]:
    xpath, paths = request.services.xpath, dict[str, None]()
    users = (request.session.peer.username,)
    for select in selects:
        expression, prefixes = text(select, ""), dict(select.nsmap)
        found = await xpath.paths(running, expression, prefixes, users, no_node_set="not-a-node-set")
        paths.update(dict.fromkeys(found))
        if len(paths) > MOST_NODES:
            raise too_many_nodes()
    if not paths:
        raise errors.operation_failed(
            "no <select> selects a node that is in running", type="protocol", app_tag="no-matches"
        )
    return [_place(running, path) for path in paths]


def _place(running: Node, path: str) -> Place:
    chain = instance(running, path)
    if not chain:
        # a key with both kinds of quotes has no literal, and so its entry no instance-identifier (RFC 7950 9.13)
        message = f"{path} has no instance-identifier and can't be locked: select what is above it"
        raise errors.operation_failed(message, type="protocol")
    return place_of(chain)
