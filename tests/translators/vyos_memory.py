"""A VyOS in memory: what a machine that exists only in a test is asked by its HTTP API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.translators.commits import IPSEC, QAT_SERVICE
from translators.vyos import VyosRefusedError, VyosUnansweredError, VyosUnreachableError

if TYPE_CHECKING:
    from translators.record import RecordedHost

QAT_NODE = "system acceleration qat"
IPSEC_NODE = "vpn ipsec"
URL = "https://192.0.2.1"


@dataclass
class VyosMemory:
    """VyOS by way of RecordedHost's ``router``.

    ``commits`` are the words of the commits that were asked for, ``saves`` is what was saved. ``down``: it can't be
    asked. ``refuses`` is what it answers to a commit. ``unanswered``: it answers no commit, and has made it when it was
    asked so many times whether it has. ``lies``: it says that it committed and did not. With ``driver`` false its
    script starts and stops nothing.
    """

    config: set[str] = field(default_factory=set)
    down: str | None = None
    refuses: str | None = None
    unanswered: int | None = None
    lies: bool = False
    driver: bool = True
    commits: list[str] = field(default_factory=list)
    saves: list[set[str]] = field(default_factory=list)

    def __call__(self, host: RecordedHost, endpoint: str, message: dict[str, Any]) -> object:
        if self.down is not None:
            raise VyosUnreachableError(URL, self.down)
        match endpoint, message.get("op"):
            case "/retrieve", "exists":
                return self._exists(host, " ".join(message["path"]))
            case "/configure", None:
                (command,) = message["commands"]
                self._commit(host, command["op"], " ".join(command["path"]))
                return None
            case "/config-file", "save":
                if self.refuses is not None:
                    raise VyosRefusedError(URL, self.refuses)
                self.saves.append(set(self.config))
                return "Done\n"
        raise AssertionError(endpoint)

    def _exists(self, host: RecordedHost, path: str) -> bool:
        if self.unanswered is not None and path == QAT_NODE and self.commits:
            self.unanswered -= 1
            if self.unanswered == 0:
                self.change(host, self.commits[-1])
        return path in self.config

    def _commit(self, host: RecordedHost, verb: str, path: str) -> None:
        assert path == QAT_NODE
        self.commits.append(verb)
        if self.unanswered is not None:
            raise VyosUnansweredError(URL, "no answer to /configure within 120 s")
        if self.refuses is not None:
            raise VyosRefusedError(URL, self.refuses)
        if not self.lies:
            self.change(host, verb)

    def change(self, host: RecordedHost, verb: str) -> None:
        """Make a commit, as somebody may on its command line."""
        (self.config.add if verb == "set" else self.config.discard)(QAT_NODE)
        ipsec = IPSEC_NODE in self.config
        if ipsec:
            host.run((IPSEC, "stop"), timeout=1)
        if self.driver:
            host.run((QAT_SERVICE, "start" if verb == "set" else "stop"), timeout=1)
        if ipsec:
            host.run((IPSEC, "start"), timeout=1)
