"""ncclient, the Python client of most controllers and tools."""

from __future__ import annotations

from typing import Any

import steps
from ncclient import manager
from ncclient.operations import RPCError


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._gateway = gateway

    def open(self) -> dict[str, Any]:
        gateway = self._gateway
        self._session = manager.connect(
            host=gateway.host,
            port=gateway.port,
            username=gateway.user,
            password=gateway.password,
            hostkey_b64=gateway.hostkeys["ed25519"],
            allow_agent=False,
            look_for_keys=False,
        )
        return {"session_id": self._session.session_id, "capabilities": list(self._session.server_capabilities)}

    def get(self, content: str) -> str:
        return str(self._session.get(filter=("subtree", content)).data_xml)

    def get_config(self, content: str) -> str:
        return str(self._session.get_config("running", filter=("subtree", content)).data_xml)

    def lock(self) -> None:
        self._session.lock("candidate")

    def edit(self, content: str) -> None:
        config = f'<config xmlns="{steps.NETCONF}">{content}</config>'
        self._session.edit_config(config, target="candidate", error_option="rollback-on-error")

    def refused(self, content: str) -> dict[str, Any]:
        try:
            self.edit(content)
        except RPCError as error:
            return {"seen": "RPCError", "tag": error.tag, "path": error.path, "message": error.message}
        return {}

    def validate(self) -> None:
        self._session.validate("candidate")

    def commit(self) -> None:
        self._session.commit()

    def unlock(self) -> None:
        self._session.unlock("candidate")

    def close(self) -> None:
        self._session.close_session()


steps.run(Client(steps.gateway()))
