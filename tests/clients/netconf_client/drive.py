"""netconf-client: ncclient's interface on a library of its own."""

from __future__ import annotations

from typing import Any

import steps
from netconf_client.connect import connect_ssh
from netconf_client.error import RpcError
from netconf_client.ncclient import Manager


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._gateway = gateway

    def open(self) -> dict[str, Any]:
        gateway = self._gateway
        session = connect_ssh(
            host=gateway.host,
            port=gateway.port,
            username=gateway.user,
            password=gateway.password,
            hostkey_b64=gateway.hostkeys["ed25519"],
        )
        self._manager = Manager(session, timeout=30)
        return {"session_id": self._manager.session_id, "capabilities": session.server_capabilities}

    def get(self, content: str) -> str:
        return str(self._manager.get(filter=("subtree", content)).data_xml.decode())

    def get_config(self, content: str) -> str:
        return str(self._manager.get_config(source="running", filter=("subtree", content)).data_xml.decode())

    def lock(self) -> None:
        self._manager.lock("candidate")

    def edit(self, content: str) -> None:
        self._manager.edit_config(f"<config>{content}</config>", target="candidate")

    def refused(self, content: str) -> dict[str, Any]:
        try:
            self.edit(content)
        except RpcError as error:
            return {"seen": "RpcError", "tag": error.tag, "message": error.message}
        return {}

    def validate(self) -> None:
        self._manager.validate("candidate")

    def commit(self) -> None:
        self._manager.commit()

    def unlock(self) -> None:
        self._manager.unlock("candidate")

    def close(self) -> None:
        self._manager.close_session()


steps.run(Client(steps.gateway()))
