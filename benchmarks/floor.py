"""The floor: a server that answers every request with the same bytes, on the agent's SSH library and algorithms.

No server on that library can be faster, as this one parses nothing, keeps nothing and knows no session. Run with one
argument, a JSON object: ``reply`` is the file with a framed reply; ``key``, ``authorized_keys``, and the options of
``asyncssh.SSHServerConnectionOptions``. Prints one line of JSON when it accepts sessions.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Final, cast

import asyncssh

_END_OF_HELLO: Final = b"]]>]]>"
_END_OF_MESSAGE: Final = b"\n##\n"
_HELLO: Final = (
    b'<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities>'
    b"<capability>urn:ietf:params:netconf:base:1.0</capability>"
    b"<capability>urn:ietf:params:netconf:base:1.1</capability>"
    b"</capabilities><session-id>1</session-id></hello>]]>]]>"
)


class _Session(asyncssh.SSHServerSession[bytes]):
    """Counts the ends of messages, and answers each."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._greeted = False
        self._rest = b""

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def subsystem_requested(self, subsystem: str) -> bool:
        return subsystem == "netconf"

    def session_started(self) -> None:
        self._channel.write(_HELLO)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:  # noqa: ARG002
        data = self._rest + data
        if not self._greeted:
            _hello, self._greeted, data = _cut(data)
        if self._greeted and (count := data.count(_END_OF_MESSAGE)):
            self._channel.write(self._reply * count)
        # What is kept is shorter than an end, so none is counted twice.
        self._rest = data[-(len(_END_OF_MESSAGE) - 1) :] if self._greeted else data

    def eof_received(self) -> bool:
        self._channel.exit(0)
        return True


class _Connection(asyncssh.SSHServerConnection):
    """Acknowledges at once while a client logs in.

    OpenSSH's client then sends small packets one by one, each when the one before is acknowledged (RFC 896), and the
    kernel may take 40 ms for that (RFC 1122 4.2.3.2).
    """

    logging_in = True

    async def reload_config(self) -> None:
        """Read no configuration file for the user."""

    def data_received(self, data: bytes, datatype: asyncssh.DataType = None) -> None:
        super().data_received(data, datatype)
        if self.logging_in:
            self.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


class _Server(asyncssh.SSHServer):
    def __init__(self, reply: bytes) -> None:
        self._reply = reply

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = cast("_Connection", conn)

    def auth_completed(self) -> None:
        self._connection.logging_in = False

    def session_requested(self) -> _Session:
        return _Session(self._reply)


async def _serve(reply: bytes, options: dict[str, Any]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    constructed = await asyncssh.SSHServerConnectionOptions.construct(
        server_factory=lambda: _Server(reply),
        server_host_keys=[options.pop("key")],
        authorized_client_keys=options.pop("authorized_keys"),
        encoding=None,
        line_editor=False,
        x509_trusted_certs=None,
        gss_host=None,
        host_based_auth=False,
        kbdint_auth=False,
        password_auth=False,
        agent_forwarding=False,
        allow_pty=False,
        login_timeout=0,
        **options,
    )
    server = await loop.create_server(lambda: _Connection(loop, constructed), "127.0.0.1", 0)
    gc.collect()
    gc.freeze()
    print(json.dumps({"netconf": {"port": server.sockets[0].getsockname()[1]}}), flush=True)
    await stop.wait()
    server.close()


def _cut(data: bytes) -> tuple[bytes, bool, bytes]:
    """Return the hello, whether it is whole, and what follows it (all of it, while it is not)."""
    hello, end, rest = data.partition(_END_OF_HELLO)
    return (hello, True, rest) if end else (b"", False, data)


_OPTIONS = json.loads(sys.argv[1])
asyncio.run(_serve(Path(_OPTIONS.pop("reply")).read_bytes(), _OPTIONS))
