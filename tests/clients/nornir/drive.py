"""nornir-netconf: ncclient's operations as tasks on an inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import steps
from ncclient.operations import RPCError
from nornir.core import Nornir
from nornir.core.inventory import ConnectionOptions, Defaults, Groups, Host, Hosts, Inventory
from nornir.core.plugins.connections import ConnectionPluginRegister
from nornir.plugins.runners import SerialRunner
from nornir_netconf.plugins.tasks import (
    netconf_capabilities,
    netconf_commit,
    netconf_edit_config,
    netconf_get,
    netconf_get_config,
    netconf_lock,
    netconf_validate,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        ConnectionPluginRegister.auto_register()
        extras = {"hostkey_b64": gateway.hostkeys["ed25519"], "allow_agent": False, "look_for_keys": False}
        host = Host(
            name="gateway",
            hostname=gateway.host,
            port=gateway.port,
            username=gateway.user,
            password=gateway.password,
            connection_options={"netconf": ConnectionOptions(extras=extras)},
        )
        self._nornir = Nornir(inventory=Inventory(Hosts(gateway=host), Groups(), Defaults()), runner=SerialRunner())

    def open(self) -> dict[str, Any]:
        found = self._run(netconf_capabilities)
        return {"session_id": found.manager.session_id, "capabilities": list(found.rpc)}

    def get(self, content: str) -> str:
        return str(self._run(netconf_get, path=content, filter_type="subtree").rpc.data_xml)

    def get_config(self, content: str) -> str:
        return str(self._run(netconf_get_config, source="running", path=content, filter_type="subtree").rpc.data_xml)

    def lock(self) -> None:
        assert self._run(netconf_lock, datastore="candidate").rpc.ok

    def edit(self, content: str) -> None:
        assert self._run(netconf_edit_config, target="candidate", config=_config(content)).rpc.ok

    def refused(self, content: str) -> dict[str, Any]:
        results = self._nornir.run(netconf_edit_config, target="candidate", config=_config(content))
        error = results["gateway"].exception
        self._nornir.data.reset_failed_hosts()
        assert results.failed
        assert isinstance(error, RPCError)
        return {"seen": "failed task", "tag": error.tag, "path": error.path, "message": error.message}

    def validate(self) -> None:
        assert self._run(netconf_validate, source="candidate").rpc.ok

    def commit(self) -> None:
        assert self._run(netconf_commit).rpc.ok

    def unlock(self) -> None:
        assert self._run(netconf_lock, datastore="candidate", operation="unlock").rpc.ok

    def close(self) -> None:
        self._nornir.close_connections()

    def _run(self, task: Callable[..., Any], **arguments: str) -> Any:
        results = self._nornir.run(task, **arguments)
        results.raise_on_error()
        return results["gateway"][0].result


def _config(content: str) -> str:
    return f"<config>{content}</config>"


steps.run(Client(steps.gateway()))
