"""The state of the NETCONF server itself: ietf-netconf-monitoring's netconf-state (RFC 6022)."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from agent.paths import step

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from agent.datastore import Datastores
    from agent.model.schema import Module
    from agent.nacm import Access, Nacm
    from agent.partial import PartialLock
    from agent.session import Counters, Sessions
    from translators.base import Selection

_YANG: Final = "ietf-netconf-monitoring:yang"


def netconf_state(
    wanted: Selection,
    access: Access,
    *,
    capabilities: tuple[str, ...],
    modules: list[Module],
    datastores: Datastores,
    sessions: Sessions,
    nacm: Nacm,
) -> dict[str, Any]:
    """Return what is wanted of netconf-state as RFC 7951 data, for a user.

    Of a partial lock it names the nodes that the user may read. Its expressions may hold values of others: they are
    shown to users with the same rights as the lock's owner, and to those who may do everything.
    """

    def partial_lock(lock: PartialLock) -> dict[str, Any]:
        shown = access.unrestricted or nacm.access(lock.session.peer).key == access.key
        return {
            "lock-id": lock.id,
            "locked-by-session": lock.session.id,
            "locked-time": timestamp(lock.since),
            "select": list(dict.fromkeys(lock.select)) if shown else [],
            "locked-node": [path for path in lock.paths() if access.may_see(path)],
        }

    state: dict[str, Any] = {}
    if wanted.wants("capabilities"):
        state["capabilities"] = {"capability": list(capabilities)}
    if wanted.wants("datastores"):
        state["datastores"] = {
            "datastore": [_datastore(name, datastores, partial_lock) for name in sorted(datastores.names)]
        }
    if wanted.wants("schemas"):
        state["schemas"] = {"schema": [_schema(module) for module in modules]}
    if wanted.wants("sessions"):
        state["sessions"] = {
            "session": [
                {
                    "session-id": session.id,
                    "transport": session.peer.transport,
                    "username": session.peer.username,
                    **({"source-host": session.peer.source_host} if session.peer.source_host else {}),
                    "login-time": timestamp(session.login_time),
                    **_counters(session.counters),
                }
                for session in sessions
            ]
        }
    if wanted.wants("statistics"):
        state["statistics"] = {
            "netconf-start-time": timestamp(sessions.started),
            "in-bad-hellos": sessions.in_bad_hellos,
            "in-sessions": sessions.in_sessions,
            "dropped-sessions": sessions.dropped_sessions,
            **_counters(sessions.totals),
        }
    return {"ietf-netconf-monitoring:netconf-state": state}


def schema_path(module: Module) -> str:
    """Return the path of a module's entry among the schemas."""
    keys = (("identifier", module.name), ("version", module.revision), ("format", _YANG))
    return "/ietf-netconf-monitoring:netconf-state/schemas" + step("schema", keys)


def timestamp(moment: datetime) -> str:
    """Return a yang:date-and-time, in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _datastore(
    name: str, datastores: Datastores, partial_lock: Callable[[PartialLock], dict[str, Any]]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name}
    lock = datastores.locks.get(name)
    if lock is not None:
        held = {"locked-by-session": lock.session.id, "locked-time": timestamp(lock.since)}
        entry["locks"] = {"global-lock": held}
    elif name == "running" and (parts := list(datastores.partial)):
        entry["locks"] = {"partial-lock": [partial_lock(part) for part in parts]}
    return entry


def _schema(module: Module) -> dict[str, Any]:
    return {
        "identifier": module.name,
        "version": module.revision,
        "format": _YANG,
        "namespace": module.namespace,
        "location": ["NETCONF"],
    }


def _counters(counters: Counters) -> dict[str, int]:
    return {
        "in-rpcs": counters.in_rpcs,
        "in-bad-rpcs": counters.in_bad_rpcs,
        "out-rpc-errors": counters.out_rpc_errors,
        "out-notifications": counters.out_notifications,
    }
