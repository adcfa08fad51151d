"""Simulated machines for tests, each of which is taken down again with nothing left running."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import simulator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 10.0


@dataclass(frozen=True)
class Gateway:
    """A machine and what a test looks at."""

    root: Path

    def run(self, program: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / program, *arguments], capture_output=True, text=True, check=False, timeout=30, **options
        )

    def qat_service(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("etc/init.d/qat_service", *arguments)

    def ipsec(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("usr/sbin/ipsec", *arguments)

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def write(self, name: str, text: str) -> None:
        """Write in one call, as a shell does: Python's files try again when they are closed."""
        descriptor = os.open(self.root / name, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def names(self, name: str) -> set[str]:
        return {path.name for path in (self.root / name).iterdir()}

    def debugfs(self, device: str) -> set[str]:
        folder = self.root / f"sys/kernel/debug/qat_{device}"
        # What goes meanwhile is no error to os.walk.
        found = ((Path(at), name) for at, _folders, names in os.walk(folder) for name in names)
        return {(at / name).relative_to(folder).as_posix() for at, name in found}

    def states(self) -> dict[str, str]:
        """Return up or down for each address, as `qat_service status` says."""
        lines = [line for line in self.qat_service("status").stdout.splitlines() if "bsf: " in line]
        return {line.split("bsf: ")[1].split(",")[0]: line.rpartition(" ")[2] for line in lines}

    def counters(self, device: str) -> list[tuple[int, int]]:
        """Return requests and responses of each engine."""
        lines = self.text(f"sys/kernel/debug/qat_{device}/fw_counters").splitlines()
        values = [int(line.strip("| ").rpartition(":")[2]) for line in lines if "[AE" in line]
        return list(zip(values[::2], values[1::2], strict=True))

    def interrupts(self) -> dict[str, list[int]]:
        """Return the counts by CPU of each interrupt that has a name."""
        head, *lines = self.text("proc/interrupts").splitlines()
        cpus = len(head.split())
        return {
            words[-1]: [int(word) for word in words[1 : cpus + 1]]
            for words in (line.split() for line in lines)
            if words[0][:-1].isdigit()
        }

    def algorithms(self) -> dict[str, int]:
        """Return the priority of each driver in /proc/crypto."""
        entries = self.text("proc/crypto").strip().split("\n\n")
        fields = [dict(_field(line) for line in entry.splitlines()) for entry in entries]
        return {entry["driver"]: int(entry["priority"]) for entry in fields}

    def references(self) -> dict[str, int]:
        """Return the reference count of each driver in /proc/crypto that has users."""
        entries = self.text("proc/crypto").strip().split("\n\n")
        fields = [dict(_field(line) for line in entry.splitlines()) for entry in entries]
        return {entry["driver"]: int(entry["refcnt"]) for entry in fields if entry["refcnt"] != "1"}

    def processes(self) -> list[int]:
        """Return the process ids of everything that runs for this machine."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                arguments = path.read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if str(self.root).encode() in arguments:
                found.append(int(path.parent.name))
        return found


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
    """Build a machine from device texts (``c6xx@5e:00.0``) and ``simulator.build``'s options."""
    made: list[Gateway] = []

    def build(*devices: str, **options: Any) -> Gateway:
        gateway = Gateway(tmp_path.resolve() / f"machine{len(made)}")
        simulator.build(gateway.root, [simulator.parse_device(text) for text in devices], **options)
        made.append(gateway)
        return gateway

    yield build
    for gateway in made:
        simulator.stop(gateway.root)
    assert [gateway.processes() for gateway in made] == [[] for _ in made]


@pytest.fixture
def serve(make: Callable[..., Gateway], require: Callable[..., None]) -> Iterator[Callable[..., Gateway]]:
    """Build a machine like ``make``, and have its devices behave."""
    with ExitStack() as stack:

        def build(*devices: str, **options: Any) -> Gateway:
            gateway = make(*devices, **options)
            plain = stack.enter_context(simulator.serving(gateway.root))
            if plain:
                require(f"a file system in user space: {plain.splitlines()[0]}")
            return gateway

        yield build


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait until something holds."""

    def wait(condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not within {DEADLINE:g} s")
            time.sleep(0.01)

    return wait


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()
