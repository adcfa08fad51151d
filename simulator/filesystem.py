"""The file system of devices that the kernel's own driver drives, on run/simulator/kernel; links in sys lead to it.

Why it is one: a file of sysfs refuses what is written to it with an error of its own, and others come and go by that; a
file on disk does neither.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simulator.machine import intree, intree_switch, inventory
from simulator.machine.sysroot import MachineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulator.machine.attributes import Attribute
    from simulator.machine.inventory import Device, Machine

# What sysfs says of every file's size.
_SIZE = 4096
_FOLDER = stat.S_IFDIR | 0o755


class _Still(NamedTuple):
    """A file that never changes, or a link: mode and content."""

    mode: int
    data: bytes


class Filesystem:
    """The operations that mfusepy calls. All paths begin with a slash; errors are OSErrors.

    ``ready`` is called when it is mounted.
    """

    use_ns = True

    def __init__(self, machine: Machine, ready: Callable[[], None]) -> None:
        self._ready = ready
        self._machine = machine
        self._still = dict(_stills(machine))
        self._attributes: dict[str, tuple[Device, Attribute]] = {}
        self._folders = {"/", "/pci", "/debug"}
        for device in machine.devices:
            for folder, table in intree.folders(device).items():
                self._folders.add(f"/{folder}")
                self._attributes.update({f"/{folder}/{path}": (device, each) for path, each in table.items()})
        self._numbers = itertools.count(1)
        self._opened: dict[int, bytes] = {}

    def init(self, _path: str) -> None:
        """Begin."""
        self._ready()

    def getattr(self, path: str, _handle: int | None = None) -> dict[str, int]:
        """Return a file's status."""
        if path in self._still:
            return {"st_mode": self._still[path].mode, "st_nlink": 1, "st_size": len(self._still[path].data)}
        if path in self._attributes and self._there(path):
            return {"st_mode": stat.S_IFREG | self._attributes[path][1].mode, "st_nlink": 1, "st_size": _SIZE}
        if path in self._folders or next(self._below(path), None) is not None:
            return {"st_mode": _FOLDER, "st_nlink": 2}
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def readdir(self, path: str, _handle: int) -> list[str]:
        """Return the names in a directory."""
        start = len(path.rstrip("/")) + 1
        return [".", "..", *dict.fromkeys(name[start:].partition("/")[0] for name in self._below(path))]

    def readlink(self, path: str) -> str:
        """Return a link's target."""
        if path not in self._still:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return os.fsdecode(self._still[path].data)

    def open(self, path: str, flags: int) -> int:
        """Open a file. What it says is found out now, once for all reads; its driver may refuse."""
        number = next(self._numbers)
        if flags & os.O_ACCMODE != os.O_WRONLY:
            self._opened[number] = self._content(path)
        return number

    def read(self, _path: str, size: int, offset: int, handle: int) -> bytes:
        """Return a part of what an open file says."""
        return self._opened[handle][offset : offset + size]

    def release(self, _path: str, handle: int) -> int:
        """Close a file."""
        self._opened.pop(handle, None)
        return 0

    def truncate(self, _path: str, _length: int) -> int:
        """Do nothing: a shell's ``>`` asks for it before it writes."""
        return 0

    def write(self, path: str, data: bytes, _offset: int, _handle: int) -> int:
        """Hand what is written to the driver."""
        device, attribute = self._attribute(path)
        try:
            intree_switch.store(self._machine, device, attribute, data)
        except MachineError as error:
            raise _broken(error) from error
        return len(data)

    def _content(self, path: str) -> bytes:
        if path in self._still:
            return self._still[path].data
        device, attribute = self._attribute(path)
        try:
            return intree_switch.read(self._machine, device, attribute)
        except MachineError as error:
            raise _broken(error) from error

    def _attribute(self, path: str) -> tuple[Device, Attribute]:
        if path not in self._attributes:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)
        return self._attributes[path]

    def _there(self, path: str) -> bool:
        device, attribute = self._attributes[path]
        return intree.there(self._machine, device, attribute)

    def _below(self, path: str) -> Iterator[str]:
        """Give the path of everything that is below a directory now."""
        start = f"{path.rstrip('/')}/"
        for name in (*self._folders, *self._still):
            if name.startswith(start) and name != start:
                yield name
        for name in self._attributes:
            if name.startswith(start) and self._there(name):
                yield name


def _stills(machine: Machine) -> Iterator[tuple[str, _Still]]:
    """Give what a device's directory in sysfs has besides the driver's files."""
    base = Path(machine.root) / inventory.KERNEL
    for device in machine.devices:
        folder = base / intree.sysfs(device)
        for path in sorted(folder.iterdir()):
            name = f"/{path.relative_to(base)}"
            if path.is_symlink():
                yield name, _Still(stat.S_IFLNK | 0o777, os.fsencode(path.readlink()))
            elif path.is_file():
                yield name, _Still(path.stat().st_mode, path.read_bytes())


def _broken(error: MachineError) -> OSError:
    sys.stderr.write(f"{error}\n")
    return OSError(errno.EIO, os.strerror(errno.EIO))
