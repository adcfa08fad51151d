"""A machine made of namespaces: own processes, mounts and network, and all of it gone with the test's process.

Nothing has a name that others could meet: the namespaces live by one process, their init, and that is killed by the
kernel when the one that made it ends, however it ends. The file system is this machine's, with an own /run and an own
layer over /etc.
"""

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, ClassVar, Self

from translators.host import Completed
from translators.real_host import RealHost
from translators.systemd import BUS, Manager, Systemd

DEADLINE = 20.0
INTERVAL = 0.01
_PR_SET_PDEATHSIG = 1
# It takes in processes whose parents have ended, as an init does.
_INIT = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nprint(flush=True)\nwhile True: signal.pause()"
_MOUNTS = """
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lab/etc /run/lab/work
mount -t overlay -o lowerdir=/etc,upperdir=/run/lab/etc,workdir=/run/lab/work overlay /etc
ip link set lo up
"""
_LIBC = ctypes.CDLL(None, use_errno=True)


def until(holds: Callable[[], object], what: str, *, seconds: float = DEADLINE) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(INTERVAL)


def end_with_parent() -> None:
    """Make the kernel kill this process when its parent ends: for preexec_fn."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Namespace:
    """The namespaces; ``pid`` is their init as seen from here."""

    # It stays as the init's parent, and passes its own end on.
    unshare: ClassVar[tuple[str, ...]] = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child")

    def __init__(self) -> None:
        self._spawned: list[subprocess.Popen[bytes]] = []
        self._unshare = subprocess.Popen(
            self.making(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - no threads run yet
        )
        try:
            assert self._unshare.stdout is not None
            assert self._unshare.stdout.readline() == b"\n", "the namespaces did not come up"
            children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children").read_text()
            self.pid = int(children)
            self.root = Path(f"/proc/{self.pid}/root")
            self.settle()
        except BaseException:
            self.close()
            raise

    def making(self) -> list[str]:
        """Return the command line that makes the namespaces and their init, which prints an empty line."""
        return [*self.unshare, "--mount-proc", sys.executable, "-SIc", _INIT]

    def settle(self) -> None:
        """Finish them from inside."""
        self.run("sh", "-ec", _MOUNTS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process in it, and with them the namespaces."""
        self._unshare.kill()
        self._unshare.wait()
        for process in self._spawned:
            process.wait(timeout=DEADLINE)
        assert self._unshare.stdout is not None
        self._unshare.stdout.close()

    def entering(self, *argv: str) -> list[str]:
        """Return the command line that runs a program in it."""
        return ["nsenter", "--target", str(self.pid), "--mount", "--net", "--pid", "--", *argv]

    def spawn(self, *argv: str, output: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Run a program in it that goes on; it ends with the namespaces at the latest."""
        process = subprocess.Popen(
            self.entering(*argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - no threads run here
        )
        self._spawned.append(process)
        return process

    def run(self, *argv: str, check: bool = True) -> str:
        """Run a program in it and return what it prints."""
        done = subprocess.run(
            self.entering(*argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{' '.join(argv)}: {done.stdout}"
        return done.stdout

    def write(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Write a file in it: below /etc or /run, which are its own."""
        assert path.startswith(("/etc/", "/run/"))
        target = self.root / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def read(self, path: str) -> str:
        """Return a file's text."""
        return (self.root / path[1:]).read_text()

    def processes(self, *names: str) -> list[int]:
        """Return the numbers, within it, of the processes that have one of these names."""
        found = []
        for entry in (self.root / "proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "comm").read_text().strip() in names:
                    found.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to its processes of that name, and wait for their end."""
        pids = self.processes(name)
        assert pids, f"no {name} runs"
        self.run("kill", f"-{int(number)}", *map(str, pids))
        until(lambda: not set(pids) & set(self.processes(name)), f"{name} ends")


class NamespaceHost(RealHost):
    """The door to a machine of namespaces, for code that runs outside of it."""

    def __init__(self, machine: Namespace) -> None:
        super().__init__()
        # Not resolved: it is a link that only the kernel can follow.
        self._root = str(machine.root)
        self._machine = machine

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        """See Host."""
        if not self.exists(argv[0]):
            raise FileNotFoundError(argv[0])
        completed = RealHost().run(["/usr/bin/nsenter", *self._machine.entering(*argv)[1:]], timeout=timeout)
        return Completed(tuple(argv), completed.returncode, completed.output)

    def systemd(self) -> Systemd | None:
        """See Host."""
        return Manager(f"unix:path={self._root}{BUS}") if self.exists(BUS) else None
