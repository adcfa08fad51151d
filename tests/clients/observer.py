"""What a client's step must have done to the gateway, seen from another session, and on the machine itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.clients.gateway import DEVICE
from tests.system.client import until

if TYPE_CHECKING:
    from tests.system.gateway import Gateway

MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"
STARTED = ["ipsec stop", "qat_service start", "ipsec start"]
STOPPED = ["ipsec stop", "qat_service stop", "ipsec start"]
PATH = "/ha:acceleration/ha:qat/ha:health/ha:interval"


class Observer:
    """A session of its own. ``look`` is called after each step of the client, and raises AssertionError."""

    def __init__(self, gateway: Gateway, user: str) -> None:
        self._gateway = gateway
        self._user = user
        self._session = gateway.connect()
        self._candidate = ""
        self._dropped = self._count("dropped-sessions")
        self._errors = 0
        self._client = 0

    def look(self, said: dict[str, Any]) -> None:
        """Look at the gateway after what a client said that it did."""
        getattr(self, f"_{said['step'].replace('-', '_')}")(said)
        # Nothing else was refused: not the client's guesses when it connects, not a release of what it has not.
        assert self._count("out-rpc-errors") == self._errors

    def _hello(self, said: dict[str, Any]) -> None:
        [(self._client, user)] = self._others()
        assert user == self._user
        assert said.get("session_id") in {None, self._client, str(self._client)}
        if "capabilities" in said:
            assert set(said["capabilities"]) == set(self._session.manager.server_capabilities)

    def _get(self, said: dict[str, Any]) -> None:
        assert _state(said["text"]) == "down"

    def _get_config(self, said: dict[str, Any]) -> None:
        assert re.findall(r"interval\W+(\d+)", said["text"]) == ["17"]
        assert "on-failure" not in said["text"]

    def _lock(self, _said: dict[str, Any]) -> None:
        refusal = self._session.refused(self._session.manager.lock, "candidate")
        assert refusal.tag == "lock-denied"
        assert refusal.info == {"session-id": str(self._client)}
        self._errors += 1

    def _edit_config(self, _said: dict[str, Any]) -> None:
        self._candidate = self._session.config_text("candidate")
        assert "<enabled>true</enabled>" in self._candidate
        assert "enabled" not in self._session.config_text()

    def _error(self, said: dict[str, Any]) -> None:
        """Only the message is shown by every client."""
        assert said["seen"]
        assert said["message"] == 'interval: "soon" is not an integer'
        assert said.get("tag") in {None, "invalid-value"}
        assert said.get("path") in {None, PATH}
        assert self._session.config_text("candidate") == self._candidate
        self._errors += 1

    def _validate(self, _said: dict[str, Any]) -> None:
        assert self._gateway.commands() == []
        assert self._session.config_text("candidate") == self._candidate

    def _commit(self, _said: dict[str, Any]) -> None:
        assert self._gateway.commands() == STARTED
        assert self._gateway.up() == {DEVICE}
        assert self._session.config_text() == self._candidate

    def _unlock(self, _said: dict[str, Any]) -> None:
        self._session.manager.lock("candidate")
        self._session.manager.unlock("candidate")

    def _up(self, said: dict[str, Any]) -> None:
        assert _state(said["text"]) == "up"

    def _off(self, _said: dict[str, Any]) -> None:
        assert self._gateway.commands() == [*STARTED, *STOPPED]
        assert self._gateway.up() == set()
        assert "<enabled>false</enabled>" in self._session.config_text()

    def _down(self, said: dict[str, Any]) -> None:
        assert _state(said["text"]) == "down"

    def _close(self, _said: dict[str, Any]) -> None:
        until(lambda: not self._others(), "the session ends")
        assert self._count("dropped-sessions") == self._dropped

    def _others(self) -> list[tuple[int, str]]:
        """Return the sessions that are not this one, with their users."""
        content = f'<netconf-state xmlns="{MONITORING}"><sessions/></netconf-state>'
        found = self._session.get(content).iter(f"{{{MONITORING}}}session")
        pairs = [(int(one[0].text or ""), one.findtext(f"{{{MONITORING}}}username") or "") for one in found]
        return [pair for pair in pairs if pair[0] != self._session.id]

    def _count(self, name: str) -> int:
        content = f'<netconf-state xmlns="{MONITORING}"><statistics><{name}/></statistics></netconf-state>'
        return int(self._session.get(content).findtext(f".//{{{MONITORING}}}{name}") or "")


def _state(text: str) -> str:
    [state] = re.findall(r"oper[-_]status\W+(up|down)", text)
    return str(state)
