"""One client at work: what its script says, step by step."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.clients.environments import HERE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# A play of Ansible's takes seconds for a task on a machine that has other work.
DEADLINE = 60.0


class Conversation:
    """The script of a client, which waits after each step. ``folder`` is its home, and where it may write."""

    def __init__(
        self, command: Sequence[str], gateway: Mapping[str, Any], folder: Path, more: Mapping[str, str]
    ) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        environment = {**kept, "LANG": "C.UTF-8", "HOME": str(folder), "PYTHONPATH": str(HERE / "driver"), **more}
        self._errors = folder / "client.log"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                cwd=folder,
                # Not a session: scrapli's native code then could not make a terminal for OpenSSH's program.
                process_group=0,
            )
        self._received = b""
        self.gateway = dict(gateway)
        self._send(json.dumps(self.gateway))

    def listen(self) -> dict[str, Any]:
        """Return the next step that was done, once it is."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + DEADLINE
        while b"\n" not in self._received:
            left = max(0.0, deadline - time.monotonic())
            ready = select.select([self._process.stdout], [], [], left)[0]
            assert ready, f"it says no more: {self._errors.read_text()}"
            more = os.read(self._process.stdout.fileno(), 65536)
            assert more, f"it ended: {self._errors.read_text()}"
            self._received += more
        line, _newline, self._received = self._received.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def go_on(self) -> None:
        """Let the script do its next step."""
        self._send("")

    def end(self) -> None:
        """Wait until the script has ended, which it does well."""
        assert self._process.wait(DEADLINE) == 0, self._errors.read_text()

    def abandon(self) -> None:
        """End what is left of the script, and all that it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(DEADLINE)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
