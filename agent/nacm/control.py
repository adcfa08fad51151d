"""The access control in force: compiled anew when running's rules have changed (RFC 8341 3.2.1)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from agent.nacm.access import Access, Restricted
from agent.nacm.prune import Pruner
from agent.nacm.rules import ALL, Policy, policy

if TYPE_CHECKING:
    from agent.datastore import Datastores
    from agent.link import Peer
    from agent.model.load import Model
    from agent.nacm.rules import Rule
    from agent.tree import Node

_MOST_USERS: Final = 64
_EVERYTHING: Final = Access()


class Nacm:
    """Gives each user's access, which is good for one operation; counts what was denied."""

    def __init__(self, model: Model, datastores: Datastores) -> None:
        self._root = model.root
        self._datastores = datastores
        self._denied = {"operations": 0, "data-writes": 0, "notifications": 0}
        self._known: OrderedDict[tuple[str, tuple[str, ...]], Access] = OrderedDict()
        self._use(self._configured())

    def access(self, peer: Peer) -> Access:
        """Return what a user may do now."""
        nacm = self._configured()
        if nacm is not self._nacm:
            self._use(nacm)
        if peer.recovery or not self._policy.enabled:
            return _EVERYTHING
        key = (peer.username, peer.groups)
        access = self._known.get(key)
        if access is None:
            access = self._known[key] = self._compiled(peer)
            if len(self._known) > _MOST_USERS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return access

    def note_denied_operation(self) -> None:
        """Count an operation that was denied."""
        self._denied["operations"] += 1

    def note_denied_write(self) -> None:
        """Count a change of a datastore that was denied."""
        self._denied["data-writes"] += 1

    def note_denied_notification(self) -> None:
        """Count a notification that was dropped for a subscription."""
        self._denied["notifications"] += 1

    def state(self) -> dict[str, Any]:
        """Return the counters as RFC 7951 data."""
        return {"ietf-netconf-acm:nacm": {f"denied-{name}": count for name, count in self._denied.items()}}

    def _configured(self) -> Node | None:
        return self._datastores.running.find("ietf-netconf-acm:nacm")

    def _use(self, nacm: Node | None) -> None:
        self._nacm = nacm
        self._policy: Policy = policy(nacm)
        self._pruner = Pruner()
        self._known.clear()

    def _compiled(self, peer: Peer) -> Access:
        """Return the access of a user; it is the same object for users to whom the same rules say the same."""
        rules = self._policy.rules_of(peer.username, peer.groups)
        if rules and _permits_everything(rules[0]):
            return _EVERYTHING
        user = peer.username if any("$USER" in rule.target for rule in rules) else ""
        for access in self._known.values():
            if isinstance(access, Restricted) and access.rests_on(rules, user):
                return access
        return Restricted(
            self._root,
            self._policy,
            rules,
            user,
            pruner=self._pruner,
            on_denied_write=self.note_denied_write,
        )


def _permits_everything(rule: Rule) -> bool:
    return rule.permit and rule.kind == "any" and rule.module == ALL and rule.operations is None
