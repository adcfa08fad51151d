"""Live state of the subtree ``ipsec``: the service, and its security associations."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.base import Fault, Reading
from translators.host import ProgramTimeoutError
from translators.ipsec import control
from translators.ipsec.owner import OwnerError, daemons, find_owner, installed_owner, state_of, uptime
from translators.ipsec.tunnels import readable_child_sas
from translators.sources import SourceError
from translators.systemd import SystemdError
from translators.vici import ViciAbsentError, ViciError, ViciStaleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.base import Selection, Tree
    from translators.host import Host
    from translators.ipsec.owner import Daemons, Owner
    from translators.ipsec.tunnels import ChildSa
    from translators.ipsec.vici import Charon

# Which plugins of charon install SAs; of several the one that was loaded first does.
ESP_PLUGINS: Final = ("kernel-libipsec", "kernel-netlink", "kernel-pfkey")

# What each of the list's keys is called in list-sas.
_FILTERS: Final = {"connection": "ike", "child": "child", "id": "child_id"}
# A listing of all costs less than more of them.
_MOST_QUESTIONS: Final = 16

# What asking who runs charon may raise.
UNREADABLE: Final = (SourceError, OwnerError, SystemdError, ProgramTimeoutError, OSError)


@dataclass(slots=True)
class _Found:
    """What was read, and what was broken."""

    path: str
    tree: Tree
    faults: list[Fault]

    def add(self, name: str, read: Callable[[], object | None]) -> None:
        """Add a leaf; one that is not there is left out, one that is broken is a fault."""
        try:
            value = read()
        except (*UNREADABLE, ViciError) as error:
            self.faults.append(Fault(f"{self.path}/{name}", str(error)))
            return
        if value is not None:
            self.tree[name] = value


def service(charon: Charon, path: str, wanted: Selection, configured: Owner | None) -> Reading:
    """Return what is wanted of the container at ``path``; ``configured`` is the owner that the settings name."""
    host = charon.host
    found = _Found(path, {}, [])
    try:
        running = daemons(host)
    except UNREADABLE as error:
        return Reading({}, (Fault(f"{path}/state", str(error)),))
    readers: dict[str, Callable[[], object | None]] = {
        "name": lambda: _name(host, running, configured),
        "state": lambda: state(charon, running, configured),
        "version": lambda: _unless_absent(lambda: charon.version().get("version")),
        "uptime": lambda: uptime(host, running.charons[0]),
        "plugin": lambda: _unless_absent(lambda: plugins(charon) or None),
    }
    for name, read in readers.items():
        if wanted.wants(name) and (running.charons or name in {"name", "state"}):
            found.add(name, read)
    return Reading(found.tree, tuple(found.faults))


def associations(
    charon: Charon, path: str, wanted: Selection, verdict: Callable[[ChildSa], Tree] | None = None
) -> Reading:
    """Return the list ``security-association``, whose path is ``path``: as far as ``wanted``, of its parent.

    ``verdict`` makes an SA's container ``offload``. Where all that is wanted has some keys, charon lists only that.
    """
    if not wanted.wants("security-association"):
        return Reading({})
    entries: dict[tuple[str, ...], Tree] = {}
    complaints: dict[str, None] = {}
    try:
        for asked in _questions(wanted):
            children, broken = readable_child_sas(charon, **asked)
            complaints |= dict.fromkeys(broken)
            for child in children:
                keys = {"connection": child.ike.connection, "child": child.name, "id": str(child.identity)}
                selected = wanted.entry("security-association", keys)
                if selected is not None:
                    entries[tuple(keys.values())] = _entry(child, selected, verdict)
    except ViciAbsentError:
        return Reading({})
    except ViciStaleError as error:
        # It was left behind: without a charon there are no SAs.
        return Reading({}, (Fault(path, str(error)),) if control.charon_runs(charon.host) else ())
    except ViciError as error:
        return Reading({}, (Fault(path, str(error)),))
    faults = tuple(Fault(path, complaint) for complaint in complaints)
    return Reading({"security-association": list(entries.values())} if entries else {}, faults)


def plugins(charon: Charon) -> list[str]:
    """Return the plugins that charon has loaded. Raises ViciError."""
    listed = charon.stats().get("plugins")
    return list(dict.fromkeys(listed)) if isinstance(listed, list) else []


def esp_plugin(charon: Charon) -> str | None:
    """Return the plugin that installs SAs: with kernel-libipsec no packet passes the kernel's crypto.

    Raises ViciError.
    """
    loaded = plugins(charon)
    return next((plugin for plugin in loaded if plugin in ESP_PLUGINS), None)


def _entry(child: ChildSa, wanted: Selection, verdict: Callable[[ChildSa], Tree] | None) -> Tree:
    values: dict[str, object | None] = {
        "state": child.state or None,
        "remote-address": _address(child.ike.remote_address),
        "encryption": child.encryption,
        "integrity": child.integrity,
        "dh-group": child.dh_group,
        "esn": child.esn,
        "bytes-in": child.bytes_in,
        "bytes-out": child.bytes_out,
        "packets-in": child.packets_in,
        "packets-out": child.packets_out,
    }
    tree: Tree = {"connection": child.ike.connection, "child": child.name, "id": child.identity}
    tree |= {name: value for name, value in values.items() if value is not None and wanted.wants(name)}
    if verdict is not None and wanted.wants("offload") and child.encryption is not None:
        tree["offload"] = verdict(child)
    return tree


def _questions(wanted: Selection) -> list[dict[str, str]]:
    """Return what charon is to be asked for: for each entry or group of entries that is wanted, its keys for VICI."""
    if wanted.everything:
        return [{}]
    found: list[dict[str, str]] = []
    for branch in wanted.branches:
        if branch.name != "security-association":
            continue
        asked = {_FILTERS[leaf]: value for leaf, value in branch.matches if leaf in _FILTERS}
        if not asked:
            return [{}]
        if asked not in found:
            found.append(asked)
    return found if len(found) <= _MOST_QUESTIONS else [{}]


def _name(host: Host, running: Daemons, configured: Owner | None) -> str | None:
    if configured is not None and configured.kind != control.STARTER:
        return configured.label
    owner = find_owner(host) if running.charons else installed_owner(host, configured)
    return None if owner is None else owner.label


def state(charon: Charon, running: Daemons, configured: Owner | None) -> str:
    """Return the service's state, in the model's words. Raises SourceError, SystemdError and others of UNREADABLE."""
    if configured is not None and configured.kind != control.STARTER:
        return state_of(configured, charon.host)
    if not running.charons:
        if running.starters:
            return control.PARTLY
        return control.STOPPED if installed_owner(charon.host, configured) is not None else "not-installed"
    try:
        charon.version()
    # Without the plugin vici it runs as well.
    except ViciAbsentError:
        return control.RUNNING
    except ViciError:
        return control.PARTLY
    return control.RUNNING


def _unless_absent(read: Callable[[], object | None]) -> object | None:
    try:
        return read()
    except ViciAbsentError:
        return None


def _address(text: str | None) -> str | None:
    """Return an address, None for a peer that has none yet (%any)."""
    try:
        return None if text is None else str(ipaddress.ip_address(text))
    except ValueError:
        return None
