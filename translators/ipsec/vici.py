"""What is asked of charon, by VICI's names (strongSwan: src/libcharon/plugins/vici/README.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from translators.vici import ViciBrokenError, ViciError, ViciTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from translators.host import Host
    from translators.vici import Message

SOCKET: Final = "/run/charon.vici"
# A busy charon answers late; one that hangs never does.
ANSWER_SECONDS: Final = 10.0
# Who looks waits for less: a whole answer may take as long, but between its parts, and before the first, no more.
LOOK_SECONDS: Final = 2.0
# A charon that hung a moment ago mostly still does: each edit and each get would wait for it anew.
AGAIN_SECONDS: Final = 0.2
REMEMBERED_SECONDS: Final = 10.0
# Asked again and again until it answers.
PROBE_SECONDS: Final = 1.0
# As long an agent that ends waits for the one who listens.
EVENT_SECONDS: Final = 0.25
LISTING_LIMIT: Final = 20_000


class Patience:
    """How long a charon that is looked at may say nothing; remembers for a while that it did. Threads share it."""

    def __init__(self) -> None:
        self._gave_up: float | None = None

    def ask(self, host: Host, socket: str, command: str, message: dict[str, str], stream: str | None) -> list[Message]:
        """Return charon's answer. Raises ViciError."""
        gave_up = self._gave_up
        again = gave_up is not None and host.monotonic() - gave_up < REMEMBERED_SECONDS
        silence = AGAIN_SECONDS if again else LOOK_SECONDS
        try:
            answer = host.vici(socket, command, message, stream=stream, timeout=ANSWER_SECONDS, silence=silence)
        except ViciTimeoutError as error:
            if again:
                said = f"charon did not answer within {LOOK_SECONDS:g} s a moment ago, and still does not ({command})"
                raise ViciTimeoutError(socket, said) from error
            self._gave_up = host.monotonic()
            raise
        self._gave_up = None
        return answer


@dataclass(frozen=True, slots=True)
class Charon:
    """The daemon at a socket. Every method raises ViciError.

    Without ``patience`` it is waited for as long as a step of a plan does.
    """

    host: Host
    socket: str = SOCKET
    patience: Patience | None = None

    def version(self) -> dict[str, str]:
        """Return what it is: daemon, version, sysname, release, machine."""
        return texts(self._asked("version", {})[-1])

    def answers(self) -> bool:
        """Return whether it answers now. Raises nothing."""
        try:
            return bool(self.host.vici(self.socket, "version", {}, timeout=PROBE_SECONDS))
        except ViciError:
            return False

    def stats(self) -> dict[str, Any]:
        """Return its statistics: uptime, workers, plugins and so on."""
        return self._asked("stats", {})[-1]

    def sas(self, **wanted: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the IKE SAs with their child SAs, by the connection's name.

        ``wanted`` is what all of them have: ``ike`` and ``child`` are names, ``child_id`` is a child SA's number.
        """
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
        self._asked("rekey", {"child-id": str(identity)})

    def events(self, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]] | None]:
        """Yield events of these names as they come, and None where none came for a moment."""
        yield from self.host.vici_events(self.socket, names, pause=EVENT_SECONDS)

    def _listed(self, command: str, stream: str, wanted: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
        message = {name.replace("_", "-"): value for name, value in wanted.items()}
        found = self._asked(command, message, stream)
        if len(found) > LISTING_LIMIT:
            raise ViciBrokenError(self.socket, f"{command} lists more than {LISTING_LIMIT}")
        for event in found:
            for name, entry in event.items():
                if isinstance(entry, dict):
                    yield name, entry

    def _asked(self, command: str, message: dict[str, str], stream: str | None = None) -> list[Message]:
        if self.patience is not None:
            return self.patience.ask(self.host, self.socket, command, message, stream)
        return self.host.vici(self.socket, command, message, stream=stream, timeout=ANSWER_SECONDS)


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
