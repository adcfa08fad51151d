"""pyNetX: native code on libssh2, base:1.0 only, and every message has the id 101."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import steps
from pyNetX import NetconfClient

if TYPE_CHECKING:
    from collections.abc import Callable

CLOSE = f'<rpc xmlns="{steps.NETCONF}" message-id="101"><close-session/></rpc>'


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._runner = asyncio.Runner()
        # It takes any host key.
        self._client = NetconfClient(
            hostname=gateway.host, port=gateway.port, username=gateway.user, password=gateway.password, read_timeout=30
        )

    def open(self) -> dict[str, Any]:
        assert self._do(self._client.connect_async)
        return {}

    def get(self, content: str) -> str:
        return self._ask(self._client.get_async, content)

    def get_config(self, content: str) -> str:
        return self._ask(self._client.get_config_async, "running", content)

    def lock(self) -> None:
        self._ask(self._client.lock_async, "candidate")

    def edit(self, content: str) -> None:
        self._ask(self._client.edit_config_async, "candidate", content)

    def refused(self, content: str) -> dict[str, Any]:
        """Return what the text of the reply says: that is all that the client gives, and it raises nothing."""
        reply = str(self._do(self._client.edit_config_async, "candidate", content))
        error = steps.parse(reply.removesuffix("]]>]]>")).find("{*}rpc-error")
        return {"seen": "the reply's text", **steps.fields(error)}

    def validate(self) -> None:
        self._ask(self._client.validate_async, "candidate")

    def commit(self) -> None:
        self._ask(self._client.commit_async)

    def unlock(self) -> None:
        self._ask(self._client.unlock_async, "candidate")

    def close(self) -> None:
        self._ask(self._client.send_rpc_async, CLOSE)
        self._do(self._client.disconnect_async)

    def _ask(self, operation: Callable[..., Any], *arguments: str) -> str:
        reply = str(self._do(operation, *arguments))
        assert "<rpc-error>" not in reply, reply
        return reply

    def _do(self, operation: Callable[..., Any], *arguments: str) -> Any:
        async def do() -> Any:
            return await operation(*arguments)

        return self._runner.run(do())


steps.run(Client(steps.gateway()), by_rpc=("close",))
