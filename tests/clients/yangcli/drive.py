"""Yuma's yangcli: an interactive program, which learns the model from the agent by <get-schema>."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from pathlib import Path
from typing import Any

import steps

PATHS = {
    steps.STATE: "/acceleration/qat/device/oper-status",
    steps.INTERVAL: "/acceleration/qat/health/interval",
}
EDITS = {
    steps.ON: "/acceleration/qat/enabled value=true",
    steps.OFF: "/acceleration/qat/enabled value=false",
}
PROMPT = re.compile(rb"(?:^|\n)yangcli[^\r\n]*> $")
ERROR = re.compile(r"error-(tag|path|message) +'?([^'\r\n]*)")


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._gateway = gateway

    def open(self) -> dict[str, Any]:
        gateway = self._gateway
        pid, self._terminal = pty.fork()
        if pid == 0:
            os.execlp("yangcli", "yangcli", "--autocomp=false")  # noqa: S606 - in a terminal of its own
        # What is typed is echoed, and must not be broken into lines.
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 1000, 0, 0))
        self._read()
        # It takes any host key.
        at = f"server={gateway.host} ncport={gateway.port}"
        greeting = self._do(f'connect {at} user={gateway.user} password="{gateway.password}"')
        found = re.search(r"Server Session Id: (\d+)", greeting)
        assert found is not None, greeting
        return {"session_id": found[1]}

    def get(self, content: str) -> str:
        return self._do(f"sget {PATHS[content]}")

    def get_config(self, content: str) -> str:
        return self._do(f"sget-config source=running {PATHS[content]}")

    def lock(self) -> None:
        self._ok("lock target=candidate")

    def edit(self, content: str) -> None:
        self._ok(f"merge {EDITS[content]}")

    def refused(self, content: str) -> dict[str, Any]:
        file = Path(self._gateway.folder, "edit.xml")
        file.write_text(content)
        # The one way past the program's own check of values.
        said = self._do(f"edit-config target=candidate config=@{file}")
        return {"seen": "RPC Error Reply" if "RPC Error Reply" in said else said, **dict(ERROR.findall(said))}

    def validate(self) -> None:
        self._ok("validate source=candidate")

    def commit(self) -> None:
        self._ok("commit")

    def unlock(self) -> None:
        self._ok("unlock target=candidate")

    def close(self) -> None:
        self._do("close-session")

    def _ok(self, line: str) -> None:
        said = self._do(line)
        assert "RPC OK Reply" in said, said

    def _do(self, line: str) -> str:
        os.write(self._terminal, line.encode() + b"\n")
        return self._read()

    def _read(self) -> str:
        """Return what the program prints up to its next prompt."""
        printed = b""
        while not PROMPT.search(printed):
            printed += os.read(self._terminal, 65536)
        return printed.decode()


steps.run(Client(steps.gateway()))
