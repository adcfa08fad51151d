"""Reads what a subscription to a datastore selects, as its user may see it now (RFC 8641 3.6, 3.8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agent import nmda
from agent.errors import NetconfError
from agent.operational import faults
from agent.subscriptions.reasons import filter_unsupported
from agent.tree import Node
from agent.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from agent.datastore import Datastores
    from agent.model.load import Model
    from agent.nacm import Access, Nacm
    from agent.operational import Operational
    from agent.streams import Streams
    from agent.subscriptions.terms import Criteria
    from agent.xpath import XPath

MOST_BYTES: Final = 16 * 1024 * 1024
"""An update with more contents is not sent."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the agent that subscriptions work on.

    ``now`` is the time of day, ``turns`` are of what may take long in this process: filtering, comparing and writing.
    """

    model: Model
    datastores: Datastores
    operational: Operational
    nacm: Nacm
    streams: Streams
    xpath: XPath
    now: Callable[[], datetime]
    turns: Turns = field(default_factory=lambda: Turns(rests=True))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What is selected; ``source`` is all of it that may be read (see ``source``).

    Not ``complete``: a source of some of it is broken; ``failed``: of all of it.
    """

    tree: Node
    source: Node | None = None
    complete: bool = True
    failed: bool = False

    @property
    def too_big(self) -> bool:
        """Whether that is more than is sent at a time."""
        return len(self.tree.xml()) > MOST_BYTES


def rules(parts: Parts) -> Node | None:
    """Return the access control rules in force: the very same object for as long as they are the same."""
    return parts.datastores.running.find("ietf-netconf-acm:nacm")


def source(parts: Parts, datastore: str, access: Access) -> Node | None:
    """Return all that may be read of a configuration; None for operational, which is read in parts."""
    if datastore == nmda.OPERATIONAL:
        return None
    return access.readable(nmda.configuration(parts.datastores, datastore))


async def read(parts: Parts, datastore: str, criteria: Criteria, access: Access, users: Collection[str]) -> Reading:
    """Return what a filter selects in a datastore, for some users who may read the same.

    Raises Refused when the filter can't be evaluated.
    """
    whole = None
    with faults() as found:
        try:
            if datastore == nmda.OPERATIONAL:
                tree = await nmda.view(parts, access, datastore, criteria.filters)
            else:
                async with parts.turns.turn(users):
                    whole = access.readable(nmda.configuration(parts.datastores, datastore))
                    tree = nmda.selected(whole, criteria.filters, None)
        except NetconfError as error:
            if error.tag == "resource-denied":
                raise filter_unsupported(error.message) from error
            return Reading(Node(parts.model.root), complete=False, failed=True)
    if criteria.select is not None and criteria.filters is None:
        try:
            tree = await parts.xpath.select(tree, criteria.select, criteria.prefixes or {}, users)
        except NetconfError as error:
            raise filter_unsupported(error.message.removeprefix("select: ")) from error
    return Reading(tree, whole, complete=not found)
