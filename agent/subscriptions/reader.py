"""Reads what a subscription to a datastore selects, as its user may see it now (RFC 8641 3.6, 3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent import nmda
from agent.errors import NetconfError
from agent.operational import faults
from agent.subscriptions.reasons import filter_unsupported
from agent.tree import Node

if TYPE_CHECKING:
    from collections.abc import Callable
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
    """The parts of the agent that subscriptions work on. ``now`` is the time of day."""

    model: Model
    datastores: Datastores
    operational: Operational
    nacm: Nacm
    streams: Streams
    xpath: XPath
    now: Callable[[], datetime]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What is selected. Not ``complete``: a source of some of it is broken; ``failed``: of all of it."""

    tree: Node
    complete: bool = True
    failed: bool = False

    @property
    def too_big(self) -> bool:
        """Whether that is more than is sent at a time."""
        return len(self.tree.xml()) > MOST_BYTES


async def read(parts: Parts, datastore: str, criteria: Criteria, access: Access) -> Reading:
    """Return what a filter selects in a datastore. Raises Refused when the filter can't be evaluated."""
    with faults() as found:
        try:
            tree = await nmda.view(parts, access, datastore, criteria.filters)
        except NetconfError as error:
            if error.tag == "resource-denied":
                raise filter_unsupported(error.message) from error
            return Reading(Node(parts.model.root), complete=False, failed=True)
    if criteria.select is not None and criteria.filters is None:
        try:
            tree = await parts.xpath.select(tree, criteria.select, criteria.prefixes or {})
        except NetconfError as error:
            raise filter_unsupported(error.message.removeprefix("select: ")) from error
    return Reading(tree, complete=not found)
