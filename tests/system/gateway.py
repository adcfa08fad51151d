"""A simulated machine, and the real command that serves it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simulator
from tests.system.client import DEADLINE, PASSWORD, USER, connect_ssh, connect_unix, until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.system.client import Client

SCRIPT = Path(sys.executable).with_name("accel-agent")
# A module with a little of everything that YANG can say; nothing is done with it but to store it.
T_MODULE = Path(__file__).parents[1] / "agent/modules/t.yang"
COMMAND = (str(SCRIPT),) if SCRIPT.exists() else (sys.executable, "-m", "agent")


class Gateway:
    """One machine and its agent; ``folder`` holds all of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "machine"
        self.state = folder / "state"
        self.socket = folder / "n.sock"
        self.log = folder / "agent.log"
        self.settings = folder / "agent.toml"
        self.ready: dict[str, Any] = {}
        self._process: subprocess.Popen[str] | None = None
        self.clients: list[Client] = []
        folder.mkdir(exist_ok=True)
        (folder / "password").write_text(PASSWORD + "\n")

    # The machine.

    def build(self, *devices: str, **options: Any) -> Gateway:
        """Make the machine, of devices such as ``c6xx@3d:00.0``."""
        simulator.build(self.root, [simulator.parse_device(text) for text in devices], **options)
        return self

    def run(self, program: str, *words: str) -> None:
        """Run a program of the machine by hand; commands.log does not keep it."""
        before = self.commands()
        subprocess.run([self.root / program, *words], capture_output=True, check=True, timeout=DEADLINE)
        text = "".join(f"{line}\n" for line in before)
        (self.root / "run/simulator/commands.log").write_text(text)

    def start_driver(self) -> None:
        self.run("etc/init.d/qat_service", "start")

    def commands(self) -> list[str]:
        """Return the programs that were run."""
        return list(simulator.commands(self.root))

    def confs(self) -> dict[str, bytes]:
        """Return the driver's configuration files."""
        return {path.name: path.read_bytes() for path in sorted((self.root / "etc").glob("*_dev*.conf"))}

    def conf(self, name: str) -> list[str]:
        return (self.root / "etc" / name).read_text().splitlines()

    def up(self) -> set[str]:
        """Return the addresses of the devices that are up: those whose firmware has counters."""
        found = (self.root / "sys/kernel/debug").glob("qat_*/fw_counters")
        return {path.parent.name.rpartition("_")[2] for path in found}

    def ipsec_runs(self) -> bool:
        """Return whether starter and charon run."""
        names = []
        for file in ("run/starter.charon.pid", "run/charon.pid"):
            try:
                pid = (self.root / file).read_text().strip()
                names.append((self.root / f"proc/{pid}/comm").read_text().strip())
            except FileNotFoundError:
                return False
        return names == ["starter", "charon"]

    def condition(self) -> tuple[dict[str, bytes], set[str], bool]:
        """Return what a commit that is undone has to leave as it was: files, devices, IPsec."""
        return self.confs(), self.up(), self.ipsec_runs()

    # The agent.

    @property
    def pid(self) -> int:
        return int(self.ready["pid"])

    @property
    def port(self) -> int:
        return int(self.ready["netconf"]["port"])

    @property
    def stored(self) -> bytes:
        """What running is on disk; nothing where it was never stored."""
        path = self.state / "running.xml"
        return path.read_bytes() if path.exists() else b""

    def arguments(self, *flags: str) -> list[str]:
        """Return the command that serves the machine."""
        config = ("--config", str(self.settings)) if self.settings.exists() else ()
        where = ("--sysroot", str(self.root), "--state-dir", str(self.state), "--unix-socket", str(self.socket))
        login = ("--user", USER, "--password-file", str(self.folder / "password"))
        return [*COMMAND, "serve", "--json", "--listen", "127.0.0.1:0", *config, *where, *login, *flags]

    def start(self, *flags: str, under: Sequence[str] = ()) -> Gateway:
        """Start the agent and wait until it is ready; ``under`` is a program that runs it."""
        output = self.launch(*flags, under=under).stdout
        assert output is not None
        assert select.select([output], [], [], DEADLINE)[0], f"not ready in time: {self.log.read_text()}"
        line = output.readline()
        assert line, f"it did not start: {self.log.read_text()}"
        self.ready = json.loads(line)
        return self

    def launch(self, *flags: str, under: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start the agent and wait for nothing."""
        assert self._process is None
        self.ready = {}
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [*under, *self.arguments(*flags)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment(self.folder),
                cwd=self.folder,
            )
        return self._process

    def connect(self, transport: str = "unix") -> Client:
        """Open a session."""
        if transport == "unix":
            client = connect_unix(self.socket)
        else:
            client = connect_ssh(self.port, username=USER, password=PASSWORD)
        self.clients.append(client)
        return client

    def disconnect(self) -> None:
        """End all sessions."""
        while self.clients:
            self.clients.pop().close()

    def kill(self) -> None:
        """End the agent as a crash does."""
        assert self._process is not None
        os.kill(self.pid if self.ready else self._process.pid, signal.SIGKILL)
        self.gone()

    def gone(self) -> int:
        """Wait until the agent has ended and return its status."""
        assert self._process is not None
        status = self._process.wait(DEADLINE)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return status

    def stop(self) -> None:
        """End the agent as an operator does."""
        self.disconnect()
        if self._process is not None:
            os.kill(self.pid if self.ready else self._process.pid, signal.SIGTERM)
            assert self.gone() == 0, self.log.read_text()

    def close(self) -> None:
        """End all that belongs to this gateway, and look whether all is well."""
        try:
            self.stop()
        finally:
            if self._process is not None:
                self._process.kill()
                self.gone()
            simulator.stop(self.root)
        until(lambda: not processes(self.folder), "all processes end")
        log = self.log.read_text() if self.log.exists() else ""
        assert "Traceback" not in log, log

    def programs_are_running(self) -> bool:
        """Return whether a program of the machine that an agent started is still at work."""
        return any(
            b"simulator/machine/__main__.py" in line and b"hardware" not in line for line in processes(self.root)
        )


def environment(home: Path) -> dict[str, str]:
    """Return what a command needs of the environment, and no more."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(home)}


def processes(folder: Path) -> list[bytes]:
    """Return the command lines of all processes that have something to do with a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            line = path.read_bytes()
            if os.fsencode(folder) + b"/" in line:
                found.append(line)
    return found
