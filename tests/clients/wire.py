"""OpenSSH's ssh -s: bytes to the agent and bytes back, with nothing between that knows NETCONF."""

from __future__ import annotations

import os
import re
import select
import subprocess
from typing import TYPE_CHECKING

from tests.system.client import NETCONF

if TYPE_CHECKING:
    from collections.abc import Mapping

DEADLINE = 30.0
END = b"]]>]]>"
END_OF_CHUNKS = b"\n##\n"


def hello(*versions: str, before: str = "") -> bytes:
    """Return a client's hello that offers versions of the base protocol."""
    offered = "".join(f"<capability>urn:ietf:params:netconf:base:{version}</capability>" for version in versions)
    return f'{before}<hello xmlns="{NETCONF}"><capabilities>{offered}</capabilities></hello>'.encode() + END


def rpc(content: str, identifier: str = "101") -> bytes:
    """Return a request without its framing."""
    return f'<rpc xmlns="{NETCONF}" message-id="{identifier}">{content}</rpc>'.encode()


def chunk(message: bytes) -> bytes:
    """Return a message in base:1.1 framing, as one chunk."""
    return b"\n#%d\n%b\n##\n" % (len(message), message)


class Wire:
    """One NETCONF session. ``greeting`` is the agent's hello, which comes first."""

    def __init__(self, login: Mapping[str, str]) -> None:
        options = (f"UserKnownHostsFile={login['known_hosts']}", "StrictHostKeyChecking=yes", "BatchMode=yes")
        flags = [flag for option in options for flag in ("-o", option)]
        where = ("-p", str(login["port"]), "-s", f"{login['user']}@{login['host']}", "netconf")
        self._ssh = subprocess.Popen(
            ["ssh", "-F", "none", "-i", login["key"], *flags, *where], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._received = b""
        self.greeting = self.until(END)

    def send(self, *packets: bytes) -> None:
        """Send bytes, each piece in a packet of its own."""
        assert self._ssh.stdin is not None
        for packet in packets:
            self._ssh.stdin.write(packet)
            self._ssh.stdin.flush()

    def until(self, end: bytes) -> bytes:
        """Return what comes up to some bytes, without them."""
        while end not in self._received:
            assert self._more(), self._received
        found, _end, self._received = self._received.partition(end)
        return found

    def ask(self, content: str, identifier: str = "101", *, chunked: bool = False) -> bytes:
        """Send a request; return the message that is the reply, its framing checked and taken off."""
        message = rpc(content, identifier)
        self.send(chunk(message) if chunked else message + END)
        return self.chunks() if chunked else self.until(END)

    def chunks(self) -> bytes:
        """Return the next message in base:1.1 framing. Each chunk of it is whole characters."""
        message = b""
        while (header := self.take(2) + self.until(b"\n") + b"\n") != END_OF_CHUNKS:
            assert re.fullmatch(rb"\n#[1-9][0-9]*\n", header), header
            found = self.take(int(header[2:]))
            found.decode()
            message += found
        return message

    def take(self, count: int) -> bytes:
        """Return as many bytes."""
        while len(self._received) < count:
            assert self._more(), self._received
        found, self._received = self._received[:count], self._received[count:]
        return found

    def rest(self) -> bytes:
        """Return what comes until the agent closes the session."""
        while self._more():
            pass
        return self._received

    def close(self) -> None:
        """Hang up."""
        for pipe in (self._ssh.stdin, self._ssh.stdout):
            assert pipe is not None
            pipe.close()
        self._ssh.wait(DEADLINE)

    def _more(self) -> bool:
        assert self._ssh.stdout is not None
        assert select.select([self._ssh.stdout], [], [], DEADLINE)[0], f"nothing more comes: {self._received!r}"
        data = os.read(self._ssh.stdout.fileno(), 65536)
        self._received += data
        return bool(data)
