"""What is asked of charon, by VICI's names (strongSwan: src/libcharon/plugins/vici/README.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from translators.vici import ViciBrokenError, ViciError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from translators.host import Host

SOCKET: Final = "/run/charon.vici"
# A busy charon answers late; one that hangs never does.
ANSWER_SECONDS: Final = 10.0
# Asked again and again until it answers.
PROBE_SECONDS: Final = 1.0
# As long an agent that ends waits for the one who listens.
EVENT_SECONDS: Final = 0.25
LISTING_LIMIT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Charon:
    """The daemon at a socket. Every method raises ViciError."""

    host: Host
    socket: str = SOCKET

    def version(self, *, timeout: float = ANSWER_SECONDS) -> dict[str, str]:
        """Return what it is: daemon, version, sysname, release, machine."""
        return texts(self.host.vici(self.socket, "version", {}, timeout=timeout)[-1])

    def answers(self) -> bool:
        """Return whether it answers now. Raises nothing."""
        try:
            return bool(self.version(timeout=PROBE_SECONDS))
        except ViciError:
            return False

    def stats(self) -> dict[str, Any]:
        """Return its statistics: uptime, workers, plugins and so on."""
        return self.host.vici(self.socket, "stats", {}, timeout=ANSWER_SECONDS)[-1]

    def sas(self, **wanted: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the IKE SAs with their child SAs, by the connection's name; ``wanted`` is ike, child or child-id."""
        return self._listed("list-sas", "list-sa", wanted)

    def connections(self) -> dict[str, dict[str, Any]]:
        """Return the connections that are loaded, by name."""
        return dict(self._listed("list-conns", "list-conn", {}))

    def traps(self) -> set[tuple[str, str]]:
        """Return (connection, child) of the tunnels that the first packet brings up."""
        listed = self._listed("list-policies", "list-policy", {"trap": "yes"})
        return {(str(policy.get("ike", "")), str(policy.get("child", ""))) for _name, policy in listed}

    def rekey(self, identity: int) -> None:
        """Ask for a child SA's successor; that charon begins to make it is all that the answer says."""
        self.host.vici(self.socket, "rekey", {"child-id": str(identity)}, timeout=ANSWER_SECONDS)

    def events(self, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]] | None]:
        """Yield events of these names as they come, and None where none came for a moment."""
        yield from self.host.vici_events(self.socket, names, pause=EVENT_SECONDS)

    def _listed(self, command: str, stream: str, wanted: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
        message = {name.replace("_", "-"): value for name, value in wanted.items()}
        found = self.host.vici(self.socket, command, message, stream=stream, timeout=ANSWER_SECONDS)
        if len(found) > LISTING_LIMIT:
            raise ViciBrokenError(self.socket, f"{command} lists more than {LISTING_LIMIT}")
        for event in found:
            for name, entry in event.items():
                if isinstance(entry, dict):
                    yield name, entry


def texts(message: dict[str, Any]) -> dict[str, str]:
    """Return the values of a section that are texts."""
    return {name: value for name, value in message.items() if isinstance(value, str)}


def sections(message: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sections in a section of a section, by name."""
    within = message.get(name)
    if isinstance(within, dict):
        for key, value in within.items():
            if isinstance(value, dict):
                yield key, value
