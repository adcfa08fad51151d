"""validate, commit, discard-changes (RFC 6241 8.3 and 8.6) and the model's plan."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agent import errors, nmda
from agent.confirmed import DEFAULT_TIMEOUT, LONGEST_TIMEOUT
from agent.messages import OK
from agent.operations.configure import inline_config
from agent.operations.request import local_name, text
from agent.plan import Asker, Prepared
from agent.tree import from_json

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.operations.request import Request
    from agent.tree import Node
    from translators.base import Tree


log = logging.getLogger(__name__)


async def validate(request: Request) -> bytes:
    """Check a configuration by YANG and by the machine; change nothing."""
    source = request.require("source")
    if len(source) == 1 and local_name(source[0]) == "config":
        root = inline_config(request, source[0])
    else:
        stores = request.services.datastores
        root = nmda.configuration(stores, request.datastore(source, (*stores.names, nmda.INTENDED)))
    await request.services.engine.check(root)
    return OK


async def commit(request: Request) -> bytes:
    """Make candidate running, for good or to be confirmed (8.3.4.1, 8.4)."""
    found = request.parameters("confirmed", "confirm-timeout", "persist", "persist-id")
    confirmed = request.services.confirmed
    timeout = _timeout(found.get("confirm-timeout"))
    persist = text(found["persist"], "") if "persist" in found else None
    persist_id = text(found["persist-id"], "") if "persist-id" in found else None
    if "confirmed" not in found and ("persist" in found or "confirm-timeout" in found):
        raise errors.missing_element("confirmed", message="persist and confirm-timeout belong to a confirmed commit")
    if persist is not None and persist_id is not None:
        raise errors.invalid_value("persist and persist-id exclude each other")
    stores = request.services.datastores
    stores.check_access("running", request.session)
    stores.check_access("candidate", request.session)
    before = stores.running

    def wanted() -> Node:
        request.access.check_write(stores.running, stores.candidate)
        return stores.candidate

    if "confirmed" in found:
        await confirmed.begin(wanted, request.session, persist_id, timeout=timeout, persist=persist)
    else:
        await confirmed.confirm(wanted, request.session, persist_id)
    if stores.running is not before:
        log.info("running was changed by %s (session %d)", request.session.peer.username, request.session.id)
    return OK


async def cancel_commit(request: Request) -> bytes:
    """Restore what a confirmed commit that is pending has changed (8.4.4.1)."""
    found = request.parameters("persist-id")
    persist_id = text(found["persist-id"], "") if "persist-id" in found else None
    request.services.datastores.check_access("running", request.session)
    await request.services.confirmed.cancel(request.session, persist_id)
    return OK


def discard_changes(request: Request) -> bytes:
    """Make candidate what running is."""
    request.parameters()
    stores = request.services.datastores
    stores.check_access("candidate", request.session)
    stores.candidate = stores.running
    return OK


async def plan(request: Request) -> bytes:
    """Return what committing a datastore would do to the machine, as far as the user may read it; touch nothing."""
    source = text(request.parameters("source").get("source"), "candidate", "candidate", "running")
    engine = request.services.engine
    peer = request.session.peer
    ends = (peer.local_host, peer.source_host) if peer.local_host and peer.source_host else None
    access = request.access
    readable = frozenset(filter(access.may_see, engine.tunnels))
    found = await engine.plan(request.services.datastores.get(source), Asker(ends, readable))
    if not all(access.may_see_configuration(path) for path in engine.managed):
        # A step does not say which nodes of its subtree it is for, a note and a tunnel not even which subtree.
        found = Prepared(tuple(planned for planned in found.steps if access.may_see_configuration(planned.owner)), ())
    output = request.services.model.node("/hardware-acceleration:plan/hardware-acceleration:output")
    return b"".join(child.xml() for child in from_json(output, _described(found)).all())


def _described(found: Prepared) -> Tree:
    return {
        "changes-machine": bool(found.steps),
        "step": [
            {
                "number": number,
                "description": planned.step.describe(),
                "disruptive": planned.interrupts is not None,
                **({"disturbs": [planned.interrupts]} if planned.interrupts else {}),
            }
            for number, planned in enumerate(found.steps, 1)
        ],
        "tunnel": list(dict.fromkeys(found.tunnels)),
        "note": list(found.notes),
    }


def _timeout(element: Element | None) -> int:
    value = text(element, str(DEFAULT_TIMEOUT))
    if not (value.isascii() and value.isdigit() and 0 < int(value) <= LONGEST_TIMEOUT):
        raise errors.invalid_value(f"confirm-timeout is {value!r}, which is not in 1 to {LONGEST_TIMEOUT} seconds")
    return int(value)
