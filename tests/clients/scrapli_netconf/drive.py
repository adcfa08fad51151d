"""scrapli-netconf over paramiko, or over asyncssh, which sends hello and the first request in one packet."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import steps
from scrapli.exceptions import ScrapliCommandFailure
from scrapli_netconf.driver import AsyncNetconfDriver, NetconfDriver

if TYPE_CHECKING:
    from scrapli_netconf.response import NetconfResponse

TRANSPORT = sys.argv[1]


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        # The library looks for the host without its port, and takes the last key of it.
        known_hosts = Path(gateway.folder, "hosts")
        kind, key = {"paramiko": ("ssh-ed25519", "ed25519"), "asyncssh": ("ssh-rsa", "rsa")}[TRANSPORT]
        known_hosts.write_text(f"{gateway.host} {kind} {gateway.hostkeys[key]}\n")
        options = {
            "host": gateway.host,
            "port": gateway.port,
            "auth_username": gateway.user,
            "auth_password": gateway.password,
            "auth_strict_key": True,
            "ssh_known_hosts_file": str(known_hosts),
            "transport": TRANSPORT,
            "timeout_ops": 30,
        }
        self._runner = asyncio.Runner() if TRANSPORT == "asyncssh" else None
        self._driver = (AsyncNetconfDriver if self._runner else NetconfDriver)(**options)

    def open(self) -> dict[str, Any]:
        self._wait(self._driver.open())
        return {"capabilities": self._driver.server_capabilities}

    def get(self, content: str) -> str:
        return self._done(self._driver.get(filter_=content))

    def get_config(self, content: str) -> str:
        return self._done(self._driver.get_config(source="running", filter_=content))

    def lock(self) -> None:
        self._done(self._driver.lock(target="candidate"))

    def edit(self, content: str) -> None:
        self._done(self._driver.edit_config(config=f"<config>{content}</config>", target="candidate"))

    def refused(self, content: str) -> dict[str, Any]:
        response = self._wait(self._driver.edit_config(config=f"<config>{content}</config>", target="candidate"))
        found: dict[str, Any] = steps.fields(response.xml_result.find("{*}rpc-error"))
        try:
            response.raise_for_status()
        except ScrapliCommandFailure:
            found["seen"] = "ScrapliCommandFailure"
        return found

    def validate(self) -> None:
        self._done(self._driver.validate(source="candidate"))

    def commit(self) -> None:
        self._done(self._driver.commit())

    def unlock(self) -> None:
        self._done(self._driver.unlock(target="candidate"))

    def close(self) -> None:
        # After the reply it sends a line feed, for which the session is closed already.
        with contextlib.suppress(OSError):
            self._done(self._driver.rpc(filter_="<close-session/>"))
        self._wait(self._driver.close())

    def _done(self, operation: Any) -> str:
        response: NetconfResponse = self._wait(operation)
        response.raise_for_status()
        return str(response.result)

    def _wait(self, operation: Any) -> Any:
        return self._runner.run(operation) if self._runner else operation


# The driver's own close only hangs up.
steps.run(Client(steps.gateway()), by_rpc=("close",))
