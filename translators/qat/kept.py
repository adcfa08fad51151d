"""What a device of the kernel's driver has and loses by going down: read before, and brought back after it.

The kernel keeps the services and nothing else (adf_init.c, adf_dev_shutdown_cache_cfg). Settings are words, so that a
step can keep them: ``auto_reset=on`` is a file of the switch, and set before the device comes up; ``PATH=2`` is another
file, the switch of telemetry, and ``rate-limit=sym 0x5 500 750`` a limit, which are there while the device is up only.
Which ring pairs telemetry was to look at is not brought back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.base import StepError
from translators.qat import intree, ratelimit
from translators.qat.state import Observer
from translators.sources import SourceError, read_attribute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.host import Host
    from translators.qat.devices import Device

_LIMIT: Final = "rate-limit"
_OFF: Final = "0"
# What every kernel with a switch does for itself: only other values are lost by going down.
_DEFAULTS: Final = frozenset({f"{intree.POWER}=1", f"{intree.RESET}=off"})


@dataclass(frozen=True, slots=True)
class Kept:
    """``settings`` of a device, and what of them can't be read, with the reasons."""

    settings: tuple[str, ...]
    unread: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[str, ...]:
        """The settings that are not the kernel's defaults."""
        return tuple(setting for setting in self.settings if setting not in _DEFAULTS)

    @property
    def limits(self) -> tuple[str, ...]:
        """Those that are rate limits."""
        return tuple(setting for setting in self.settings if setting.startswith(f"{_LIMIT}="))

    @property
    def without_limits(self) -> tuple[str, ...]:
        """The others."""
        return tuple(setting for setting in self.settings if setting not in self.limits)


def read(host: Host, device: Device, switch: intree.Switch) -> Kept:
    """Return what a device has. A source that is broken keeps nobody from bringing it down."""
    settings, unread = list(switch.settings()), []
    try:
        settings += [f"{_LIMIT}={limit}" for limit in ratelimit.read(host, device.address)]
    except (SourceError, OSError) as error:
        unread.append(f"its rate limits ({error})")
    try:
        folder = Observer(host).folder(device.target)
        path = f"{folder}/telemetry/control"
        value = None if folder is None else read_attribute(host, path)
        settings += [f"{path}={value}"] if value not in {None, _OFF} else []
    except (SourceError, OSError) as error:
        unread.append(f"whether telemetry is on ({error})")
    return Kept(tuple(settings), tuple(unread))


def of_switch(settings: Iterable[str]) -> list[tuple[str, str]]:
    """Return those settings that are files of the switch: name and value."""
    pairs = [setting.partition("=")[::2] for setting in settings]
    return [(name, value) for name, value in pairs if name != _LIMIT and not name.startswith("/")]


def bring_back(host: Host, address: str, settings: Iterable[str]) -> None:
    """Give a device that is up those settings which it can have only then. Raises StepError."""
    pairs = [setting.partition("=")[::2] for setting in settings]
    limits = [ratelimit.parse(value) for name, value in pairs if name == _LIMIT]
    if limits:
        ratelimit.bring_back(host, address, limits)
    for path, value in pairs:
        if path.startswith("/"):
            _assign(host, path, value)


def _assign(host: Host, path: str, value: str) -> None:
    try:
        if read_attribute(host, path) == value:
            return
        host.assign(path, f"{value}\n".encode())
        found = read_attribute(host, path)
    except SourceError as error:
        raise StepError(str(error)) from error
    except OSError as error:
        raise StepError(f"{path} does not take {value!r}: {error.strerror or error}") from error
    if found != value:
        raise StepError(f"{path} says {found!r} after {value!r} was written")
