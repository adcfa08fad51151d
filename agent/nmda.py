"""The datastores of NMDA as a user may read them (RFC 8342 5), for get-data, compare, and subscriptions to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agent import filter as subtree
from agent.depth import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.datastore import Datastores
    from agent.filter import Filter
    from agent.nacm import Access
    from agent.operational import Operational
    from agent.tree import Node

OPERATIONAL = "operational"
INTENDED = "intended"


class Stores(Protocol):
    """Where the datastores' contents come from."""

    @property
    def datastores(self) -> Datastores:
        """The conventional datastores."""

    @property
    def operational(self) -> Operational:
        """State, and configuration in use."""


def names(datastores: Datastores) -> tuple[str, ...]:
    """Return the datastores that there are, without their identities' module (ietf-datastores)."""
    return (*datastores.names, INTENDED, OPERATIONAL)


async def view(
    services: Stores,
    access: Access,
    datastore: str,
    wanted: Sequence[Filter] | None = None,
    *,
    depth: int | None = None,
) -> Node:
    """Return what a datastore (one of ``names``) holds, as the user may read it, narrowed to the filters.

    ``wanted`` is a compiled subtree filter, None for all; no source that it does not ask for is read. ``depth`` is how
    many levels of each selected node are returned, None for all. In operational, configuration nodes have an
    ``origin`` where it is not their parent's. Raises operation-failed when all that is asked for comes from sources
    that can't be used.
    """
    if datastore == OPERATIONAL:
        return await services.operational.in_use(wanted, access, depth)
    return selected(access.readable(configuration(services.datastores, datastore)), wanted, depth)


def selected(tree: Node, wanted: Sequence[Filter] | None, depth: int | None) -> Node:
    """Return what filters select of a tree, to a depth."""
    found = tree if wanted is None else subtree.apply(tree, wanted)
    return found if depth is None else shortened(found, tree, depth)


def configuration(datastores: Datastores, name: str) -> Node:
    """Return the tree of a conventional datastore. Nothing in running is inactive, so intended is the same."""
    return datastores.get("running" if name == INTENDED else name)
