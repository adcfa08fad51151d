"""scrapli's own Netconf: native code, with the SSH in it (ssh2) or with OpenSSH's program in a terminal (bin)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import steps
from scrapli import AuthOptions, Netconf, TransportBinOptions, TransportSsh2Options
from scrapli.netconf import DatastoreType

if TYPE_CHECKING:
    from scrapli.netconf_result import Result

TRANSPORT = {"ssh2": TransportSsh2Options, "bin": TransportBinOptions}[sys.argv[1]]


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._session = Netconf(
            host=gateway.host,
            port=gateway.port,
            auth_options=AuthOptions(username=gateway.user, password=gateway.password),
            transport_options=TRANSPORT(known_hosts_path=gateway.known_hosts),
        )

    def open(self) -> dict[str, Any]:
        self._session.open()
        return {"session_id": self._session.session_id, "capabilities": self._session.get_capabilities()}

    def get(self, content: str) -> str:
        return _done(self._session.get(filter_=content))

    def get_config(self, content: str) -> str:
        return _done(self._session.get_config(source=DatastoreType.RUNNING, filter_=content))

    def lock(self) -> None:
        _done(self._session.lock(target=DatastoreType.CANDIDATE))

    def edit(self, content: str) -> None:
        _done(self._session.edit_config(config=content, target=DatastoreType.CANDIDATE))

    def refused(self, content: str) -> dict[str, Any]:
        result = self._session.edit_config(config=content, target=DatastoreType.CANDIDATE)
        return {"seen": "failed" if result.failed else None, **steps.fields(steps.parse(result.rpc_errors))}

    def validate(self) -> None:
        _done(self._session.validate(source=DatastoreType.CANDIDATE))

    def commit(self) -> None:
        _done(self._session.commit())

    def unlock(self) -> None:
        _done(self._session.unlock(target=DatastoreType.CANDIDATE))

    def close(self) -> None:
        self._session.close()


def _done(result: Result) -> str:
    if result.failed:
        raise RuntimeError(result.rpc_errors)
    return str(result.result)


steps.run(Client(steps.gateway()))
