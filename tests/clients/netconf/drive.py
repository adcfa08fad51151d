"""The netconf package's client: qualified attributes, message ids from 0."""

from __future__ import annotations

from typing import Any

import steps
from lxml import etree
from netconf.client import NetconfSSHSession
from netconf.error import NetconfError


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._gateway = gateway

    def open(self) -> dict[str, Any]:
        gateway = self._gateway
        # It takes any host key.
        self._session = NetconfSSHSession(gateway.host, gateway.port, gateway.user, gateway.password)
        return {"session_id": self._session.session_id, "capabilities": list(self._session.capabilities)}

    def get(self, content: str) -> str:
        return _text(self._session.get(content))

    def get_config(self, content: str) -> str:
        return _text(self._session.get_config("running", content))

    def lock(self) -> None:
        self._session.lock("candidate")

    def edit(self, content: str) -> None:
        self._session.edit_config("candidate", newconf=f"<nc:config>{content}</nc:config>")

    def refused(self, content: str) -> dict[str, Any]:
        try:
            self.edit(content)
        except NetconfError as error:
            return {"seen": "NetconfError", **steps.fields(error.error)}
        return {}

    def validate(self) -> None:
        self._session.send_rpc("<nc:validate><nc:source><nc:candidate/></nc:source></nc:validate>")

    def commit(self) -> None:
        self._session.send_rpc("<nc:commit/>")

    def unlock(self) -> None:
        self._session.unlock("candidate")

    def close(self) -> None:
        self._session.close()


def _text(element: Any) -> str:
    return str(etree.tostring(element, encoding="unicode"))


steps.run(Client(steps.gateway()), by_rpc=("validate", "commit"))
