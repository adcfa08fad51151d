"""A charon and a systemd in memory, for machines that exist only in a test."""

from dataclasses import dataclass, field, replace
from typing import Any

from translators.ipsec.vici import SOCKET
from translators.record import RecordedHost
from translators.systemd import SystemdError, Unit
from translators.vici import Message, ViciCommandError


@dataclass
class Sa:
    """A child SA: ``deaf`` is a peer that does not answer."""

    connection: str
    child: str
    identity: int
    reqid: int
    state: str = "INSTALLED"
    initiator: bool = True
    deaf: bool = False
    refusing: bool = False


@dataclass
class FakeCharon:
    """Answers as charon does; a rekeying takes two looks."""

    sas: list[Sa] = field(default_factory=list)
    connections: dict[str, Any] = field(default_factory=dict)
    traps: list[tuple[str, str]] = field(default_factory=list)
    most_at_a_time: int = 0

    def tunnel(self, connection: str, child: str = "net", **options: Any) -> None:
        number = len(self.sas) + 1
        self.sas.append(Sa(connection, child, number, number, **options))
        children = self.connections.setdefault(connection, {"remote_addrs": ["198.51.100.9"], "children": {}})
        children["children"][child] = {"close_action": "none", "dpd_action": "restart"}

    def __call__(self, host: RecordedHost, command: str, message: dict[str, Any]) -> list[Message]:
        match command:
            case "version":
                return [{"daemon": "charon-systemd", "version": "5.9.8"}]
            case "rekey":
                return [self._rekey(int(message["child-id"]))]
            case "list-sas":
                listed = [self._listed(sa) for sa in self.sas]
                self._go_on()
                return [*listed, {}]
            case "list-conns":
                return [{name: connection} for name, connection in self.connections.items()]
            case "list-policies":
                return [{f"{ike}/{child}": {"ike": ike, "child": child}} for ike, child in self.traps]
        raise AssertionError(command)

    def _rekey(self, identity: int) -> Message:
        for sa in self.sas:
            if sa.identity == identity and sa.state == "INSTALLED":
                sa.state = "REKEYING"
                self.most_at_a_time = max(self.most_at_a_time, sum(sa.state == "REKEYING" for sa in self.sas))
                return {"success": "yes", "matches": "1"}
        raise ViciCommandError(SOCKET, "rekey: no matching SAs to rekey found")

    def _go_on(self) -> None:
        for sa in tuple(self.sas):
            if sa.state == "REKEYING" and not sa.deaf:
                sa.state = "DELETED"
                if not sa.refusing:
                    number = max(sa.identity for sa in self.sas) + 1
                    self.sas.append(replace(sa, identity=number, state="INSTALLED"))

    def _listed(self, sa: Sa) -> Message:
        child = {"name": sa.child, "uniqueid": str(sa.identity), "reqid": str(sa.reqid), "state": sa.state}
        child |= {
            "encr-alg": "AES_CBC",
            "encr-keysize": "128",
            "install-time": "0" if sa.identity > sa.reqid else "900",
        }
        return {
            sa.connection: {
                "uniqueid": "1",
                "state": "ESTABLISHED",
                "remote-host": "198.51.100.9",
                "initiator": "yes" if sa.initiator else "no",
                "child-sas": {f"{sa.child}-{sa.identity}": child},
            }
        }


@dataclass
class FakeSystemd:
    """Units, and which processes they have; a start gives ``host`` the unit's process, a stop takes it."""

    host: RecordedHost
    units: dict[str, Unit] = field(default_factory=dict)
    processes: dict[int, str] = field(default_factory=dict)
    result: str = "done"
    jobs: list[tuple[str, str]] = field(default_factory=list)

    def unit_of(self, pid: int) -> str | None:
        return self.processes.get(pid)

    def unit(self, name: str) -> Unit | None:
        return self.units.get(name)

    def job(self, name: str, verb: str, *, timeout: float) -> str:
        if name not in self.units:
            raise SystemdError(f"there is no unit {name}")
        self.jobs.append((verb, name))
        if self.result == "done":
            state = "active" if verb == "start" else "inactive"
            self.units[name] = replace(self.units[name], active_state=state)
            if verb == "start":
                self.host.files["/proc/700/comm"] = b"charon-systemd\n"
            else:
                self.host.files.pop("/proc/700/comm", None)
        return self.result


def gateway(charon: FakeCharon, kind: type[RecordedHost] = RecordedHost) -> tuple[RecordedHost, FakeSystemd]:
    """Make a machine whose charon (process 700) runs by strongswan.service."""
    host = kind(complete=True, folders={"/proc"}, daemons={SOCKET: charon})
    host.files["/proc/700/comm"] = b"charon-systemd\n"
    unit = Unit("strongswan.service", "loaded", "active", "running", main_pid=700)
    host.manager = systemd = FakeSystemd(host, {unit.name: unit}, {700: unit.name})
    return host, systemd
