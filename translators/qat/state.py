"""Whether a device is up, from files alone.

Evidence, in this order:

- The switch of the kernel's driver (``qat/state``, generation 4 and later) says it.
- ``fw_counters`` of a physical function can be read: up. The kernel's driver removes the file when the device goes
  down (adf_dbgfs.c), the out-of-tree one answers EFAULT (adf_fw_counters.c).
- Drivers without that file, and virtual functions: the device has interrupts. The driver takes them when it starts
  the device and gives them back when it stops it (adf_init.c).

A program that would say so (adf_ctl) is not asked: it interrupts nobody, but its exit status means nothing, and a
state is asked for often. None of this was seen on hardware; it is read in the drivers' sources.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.qat import intree
from translators.qat.devices import split_target
from translators.qat.ids import LATER_TYPES
from translators.qat.interrupts import PROC_INTERRUPTS, read_vectors
from translators.sources import SourceError, read_attribute, read_names

if TYPE_CHECKING:
    from translators.host import Host
    from translators.qat.interrupts import Vector

DEBUGFS: Final = "/sys/kernel/debug"
COUNTERS: Final = "fw_counters"
DEV_CFG: Final = "dev_cfg"
FILE_LIMIT: Final = 1024 * 1024
_MOUNTS: Final = "/proc/mounts"


@dataclass(frozen=True, slots=True)
class State:
    """``status`` is one of hardware-acceleration-types:oper-status, ``reason`` why it is not up."""

    status: str
    reason: str | None = None


class Observer:
    """One look at the devices: what it has read once, it does not read again. Make a new one for a new look."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._vectors: list[tuple[Vector, ...] | SourceError | None] = []
        self._folders: dict[str, str | None] = {}
        self._switches: dict[str, bool | SourceError | None] = {}
        self._files: dict[tuple[str, str], bytes | OSError] = {}

    def vectors(self) -> tuple[Vector, ...] | None:
        """Return the interrupts of all QAT devices, None where the file is absent. Raises SourceError."""
        if not self._vectors:
            try:
                self._vectors.append(read_vectors(self._host))
            except SourceError as error:
                self._vectors.append(error)
        found = self._vectors[0]
        if isinstance(found, SourceError):
            raise found
        return found

    def folder(self, target: str) -> str | None:
        """Return the device's directory in debugfs, None where there is none. Raises OSError."""
        if target not in self._folders:
            names = _folder_names(*split_target(target))
            self._folders[target] = next((name for name in names if self._host.exists(name)), None)
        return self._folders[target]

    def path(self, target: str, name: str) -> str:
        """Return the path of a file in the device's directory, which must be there."""
        return f"{self._folders.get(target)}/{name}"

    def file(self, target: str, name: str) -> bytes:
        """Return the bytes of a file in the device's directory in debugfs. Raises FileNotFoundError, OSError."""
        if (target, name) not in self._files:
            try:
                folder = self.folder(target)
                if folder is None:
                    raise FileNotFoundError(errno.ENOENT, "has no directory of the device", DEBUGFS)
                self._files[target, name] = self._host.read(f"{folder}/{name}", limit=FILE_LIMIT)
            except OSError as error:
                self._files[target, name] = error
        found = self._files[target, name]
        if isinstance(found, OSError):
            raise found
        return found

    def switch(self, target: str) -> bool | None:
        """Return whether a device's switch is up, None where its driver has no switch. Raises SourceError."""
        kind, address = split_target(target)
        if target not in self._switches:
            try:
                self._switches[target] = intree.is_up(self._host, address) if kind in LATER_TYPES else None
            except SourceError as error:
                self._switches[target] = error
        found = self._switches[target]
        if isinstance(found, SourceError):
            raise found
        return found

    def state(self, target: str) -> State:
        """Return whether a device is ``up``, ``down``, ``failed`` or in an ``unknown`` state."""
        try:
            switch = self.switch(target)
        except SourceError as error:
            return State("unknown", f"the device's state can't be told: {error}")
        if switch is not None:
            return State("up") if switch else State("down", "the device is stopped")
        if split_target(target)[0].endswith("vf"):
            return self._by_interrupts(target)
        try:
            self.file(target, COUNTERS)
        except (FileNotFoundError, NotADirectoryError):
            return self._without_counters(target)
        except OSError as error:
            if error.errno != errno.EFAULT:
                text = error.strerror or str(error)
                return State("unknown", f"fw_counters in {DEBUGFS} can't be read ({text}), is the kernel locked down?")
            if self._by_interrupts(target).status == "up":
                return State("failed", "the device is started and its firmware does not answer: see the kernel log")
            return State("down", "the device is stopped")
        return State("up")

    def is_up(self, target: str) -> bool:
        """Return whether a device takes requests: where debugfs can't tell, interrupts may."""
        return self._evident(target) == "up"

    def is_down(self, target: str) -> bool:
        """Return whether a device is stopped. Without any evidence it is neither up nor down."""
        return self._evident(target) == "down"

    def _evident(self, target: str) -> str:
        status = self.state(target).status
        return self._by_interrupts(target).status if status == "unknown" else status

    def _without_counters(self, target: str) -> State:
        try:
            there = _debugfs_is_there(self._host)
        except SourceError as error:
            return State("unknown", f"the device's state can't be told: {error}")
        if not there:
            return State("unknown", f"the device's state can't be told: {DEBUGFS} is not mounted")
        return self._by_interrupts(target)

    def _by_interrupts(self, target: str) -> State:
        try:
            vectors = self.vectors()
        except SourceError as error:
            return State("unknown", f"the device's state can't be told: {error}")
        if vectors is None:
            return State("unknown", f"the device's state can't be told: there is no {PROC_INTERRUPTS}")
        address = split_target(target)[1]
        if any(vector.belongs_to(address) for vector in vectors):
            return State("up")
        return State("down", "the device is stopped")


def _folder_names(kind: str, address: str) -> tuple[str, ...]:
    """Return the names that a device's directory can have.

    The kernel's driver takes the address; QAT 1.7 (adf_drv.c) writes the slot in decimal instead: 0000:00:0b.0 has
    the directory ..._0000:00:11.0.
    """
    bus, _, function = address.rpartition(":")
    slot, _, number = function.partition(".")
    decimal = f"{bus}:{int(slot, 16):02d}.{number}"
    return tuple(f"{DEBUGFS}/qat_{kind}_{name}" for name in dict.fromkeys((address, decimal)))


def _debugfs_is_there(host: Host) -> bool:
    """Return whether debugfs is mounted and may be looked into. Raises SourceError."""
    names = read_names(host, DEBUGFS)
    if names is None:
        return False
    mounts = read_attribute(host, _MOUNTS)
    if names or mounts is None:
        return True
    return any(line.split()[1:2] == [DEBUGFS] for line in mounts.splitlines())
