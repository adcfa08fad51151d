"""validate, commit, discard-changes (RFC 6241 8.3 and 8.6) and the model's plan."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agent import errors
from agent.messages import OK
from agent.operations.configure import inline_config
from agent.operations.request import datastore, local_name, text
from agent.tree import from_json

if TYPE_CHECKING:
    from agent.operations.request import Request
    from agent.plan import Prepared
    from translators.base import Tree


log = logging.getLogger(__name__)


async def validate(request: Request) -> bytes:
    """Check a configuration by YANG and by the machine; change nothing."""
    source = request.require("source")
    if len(source) == 1 and local_name(source[0]) == "config":
        root = inline_config(request, source[0])
    else:
        root = request.services.datastores.get(datastore(source))
    await request.services.engine.check(root)
    return OK


async def commit(request: Request) -> bytes:
    """Make candidate running."""
    for name in request.parameters("confirmed", "confirm-timeout", "persist", "persist-id"):
        message = f"<{name}> is not supported: the capability :confirmed-commit is not offered"
        raise errors.operation_not_supported(message)
    stores = request.services.datastores
    stores.check_access("running", request.session)
    stores.check_access("candidate", request.session)
    await request.services.engine.commit(stores.candidate)
    log.info("running was changed by %s (session %d)", request.session.peer.username, request.session.id)
    return OK


def discard_changes(request: Request) -> bytes:
    """Make candidate what running is."""
    request.parameters()
    stores = request.services.datastores
    stores.check_access("candidate", request.session)
    stores.candidate = stores.running
    return OK


async def plan(request: Request) -> bytes:
    """Return what committing a datastore would do to the machine; touch nothing."""
    source = text(request.parameters("source").get("source"), "candidate", "candidate", "running")
    found = await request.services.engine.plan(request.services.datastores.get(source))
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
        "note": list(found.notes),
    }
