"""yang.ncdiff on yang.connector: models fetched by <get-schema>, edits computed as the difference of configurations."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import steps
from ncclient.operations import RPCError
from pyats.topology import loader
from yang.ncdiff import Config

MODEL = "hardware-acceleration"


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._folder = Path(gateway.folder, "models")
        connection = {
            "class": "yang.ncdiff.ModelDevice",
            "ip": gateway.host,
            "port": gateway.port,
            "hostkey_verify": True,
            "credentials": {"netconf": {"username": gateway.user, "password": gateway.password}},
        }
        device = {"os": "linux", "type": "gateway", "connections": {"nc": connection}}
        testbed = loader.load({"devices": {"gateway": device}})
        self._device = testbed.devices["gateway"]

    def open(self) -> dict[str, Any]:
        self._device.connect(alias="nc", via="nc", log_stdout=False, logdir=str(self._folder.parent))
        self._session = self._device.nc
        self._session.scan_models(folder=str(self._folder))
        self._session.load_model(MODEL)
        return {"session_id": self._session.session_id, "capabilities": list(self._session.server_capabilities)}

    def get(self, content: str) -> str:
        return str(self._session.get(filter=("subtree", content)).data_xml)

    def get_config(self, content: str) -> str:
        return str(self._session.get_config(filter=("subtree", content)).data_xml)

    def lock(self) -> None:
        assert self._session.lock("candidate").ok

    def edit(self, content: str) -> None:
        """Send what running lacks of a configuration, as the library computes it."""
        running = self._session.extract_config(self._session.get_config(models=MODEL))
        wanted = running + Config(self._session, f'<nc:config xmlns:nc="{steps.NETCONF}">{content}</nc:config>')
        difference = wanted - running
        assert difference
        assert self._session.edit_config(difference.nc, target="candidate").ok

    def refused(self, content: str) -> dict[str, Any]:
        try:
            self.edit(content)
        except RPCError as error:
            return {"seen": "RPCError", "tag": error.tag, "path": error.path, "message": error.message}
        return {}

    def validate(self) -> None:
        assert self._session.validate("candidate").ok

    def commit(self) -> None:
        assert self._session.commit().ok

    def unlock(self) -> None:
        assert self._session.unlock("candidate").ok

    def close(self) -> None:
        self._session.close_session()


logging.disable(logging.INFO)
steps.run(Client(steps.gateway()))
