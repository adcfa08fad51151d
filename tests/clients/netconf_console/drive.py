"""netconf-console2: its interactive mode, which is one session, fed line by line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import steps

# It takes a path, of which it makes a subtree filter; one for all commands of a run.
PATHS = {
    steps.STATE: "/ha:acceleration/qat/device/oper-status",
    steps.INTERVAL: "/ha:acceleration/qat/health/interval",
}
DEADLINE = 30.0


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        self._file = Path(gateway.folder, "edit.xml")
        program = Path(sys.executable).with_name("netconf-console2")
        where = ("--host", gateway.host, "--port", str(gateway.port), "--hostkey-verify")
        login = ("--user", gateway.user, "--password", gateway.password)
        self._command = [sys.executable, "-u", str(program), *where, *login, "--ns", f"ha={steps.HA}", "--filter"]

    def open(self) -> dict[str, Any]:
        command = [*self._command, PATHS[steps.STATE], "--interactive"]
        self._console = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        found = steps.parse(self._do("hello")).iter(f"{{{steps.NETCONF}}}capability")
        return {"capabilities": [capability.text for capability in found]}

    def get(self, content: str) -> str:
        assert content == steps.STATE
        return self._do("get")

    def get_config(self, content: str) -> str:
        """Retrieve in a run, and so in a session, of its own: there is no other filter in the same run."""
        command = [*self._command, PATHS[content], "--get-config"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE).stdout

    def lock(self) -> None:
        self._ok("lock --db candidate")

    def edit(self, content: str) -> None:
        self._file.write_text(content)
        self._ok(f"edit-config --db candidate {self._file}")

    def refused(self, content: str) -> dict[str, Any]:
        self._file.write_text(content)
        error = steps.parse(self._do(f"edit-config --db candidate {self._file}"))
        return {"seen": error.tag.rpartition("}")[2], **steps.fields(error)}

    def validate(self) -> None:
        self._ok("validate candidate")

    def commit(self) -> None:
        self._ok("commit")

    def unlock(self) -> None:
        self._ok("unlock --db candidate")

    def close(self) -> None:
        """End the input: the console then closes the session."""
        assert self._console.stdin is not None
        self._console.stdin.close()
        assert self._console.wait(DEADLINE) == 0

    def _ok(self, line: str) -> None:
        reply = self._do(line)
        assert steps.parse(reply).tag == f"{{{steps.NETCONF}}}ok", reply

    def _do(self, line: str) -> str:
        """Give the console a line; return the XML that it prints."""
        assert self._console.stdin is not None
        assert self._console.stdout is not None
        self._console.stdin.write(line + "\n")
        self._console.stdin.flush()
        printed = ""
        while more := self._console.stdout.readline():
            printed += more
            try:
                steps.parse(printed)
            except SyntaxError:  # it is not whole yet
                continue
            return printed
        raise RuntimeError(f"the console ended: {printed}")


steps.run(Client(steps.gateway()))
