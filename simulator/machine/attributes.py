"""What a file of the kernel's driver is: when it is there, what reading it gives, what writing it does."""

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulator.machine.activity import Activity
    from simulator.machine.families import Release
    from simulator.machine.inventory import Device, Machine
    from simulator.machine.settings import Settings


class View(NamedTuple):
    """A device as it is: ``activity`` is None while it is down, ``used`` whether IPsec goes through it."""

    machine: "Machine"
    device: "Device"
    settings: "Settings"
    activity: "Activity | None"
    used: bool

    @property
    def served(self) -> set[str]:
        """The services that are set."""
        return set(self.settings.services.split(";"))


class Attribute(NamedTuple):
    """A file: its path in the device's directory, from which Linux on it is there, its mode.

    ``show`` returns its text; ``store`` takes what is written and returns the settings after it, ``shown`` those after
    it was read. ``show`` and ``store`` raise OSError as the kernel's functions do.
    """

    path: str
    since: "Release"
    mode: int
    show: "Callable[[View], str] | None" = None
    store: "Callable[[View, str], Settings] | None" = None
    shown: "Callable[[View], Settings] | None" = None
    while_up: bool = True

    def there(self, kernel: "Release", *, up: bool) -> bool:
        """Return whether a device has the file."""
        return kernel >= self.since and (up or not self.while_up)


def refused(number: int) -> OSError:
    """Return the error that a function of the kernel gives."""
    return OSError(number, os.strerror(number))


def word(text: str) -> str:
    """Return what was written without the newline at its end (sysfs_streq)."""
    return text.removesuffix("\n")


def number(text: str, base: int = 10) -> int:
    """Return a written number (kstrtouint). Raises OSError."""
    digits = word(text)
    try:
        # int() takes blanks and underscores, which the kernel does not.
        value = int(digits, base) if digits.isalnum() else -1
    except ValueError:
        value = -1
    if value < 0:
        raise refused(errno.EINVAL)
    return value
