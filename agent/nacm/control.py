"""The access control in force: compiled anew when running's rules have changed (RFC 8341 3.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.nacm.access import Access

if TYPE_CHECKING:
    from agent.datastore import Datastores
    from agent.link import Peer
    from agent.model.load import Model


class Nacm:
    """Gives each user's access; what it gave is good for one operation."""

    def __init__(self, model: Model, datastores: Datastores) -> None:
        self._model = model
        self._datastores = datastores

    def access(self, peer: Peer) -> Access:
        """Return what a user may do now."""
        return Access()
