"""One look at the machine: what several checks need is read once."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from translators.crypto import cpuinfo, proc_crypto
from translators.doctor.door import Door
from translators.qat import counters
from translators.qat.device_source import machine_state
from translators.qat.devices import inventory
from translators.qat.drivers import is_virtual_machine, loaded_kind
from translators.qat.kernel_log import KMSG, KernelLog
from translators.qat.state import COUNTERS, Observer
from translators.sources import SourceError, decoded, read_attribute

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.host import Host
    from translators.qat.counters import Engine
    from translators.qat.devices import Device, Inventory
    from translators.qat.kernel_log import Position
    from translators.qat.kernel_log_lines import DeviceError
    from translators.qat.state import State

# A machine that logs without end must not keep the list waiting: as many readings of the log are made.
_LOG_READINGS = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What devices have counted at one moment, by address.

    ``engines`` has None for a device without counters and the error where they can't be read; ``interrupts`` has no
    entry for a device without interrupts.
    """

    engines: dict[str, tuple[Engine, ...] | SourceError | None]
    interrupts: dict[str, int]


class Look:
    """The machine as the checks see it. What it offers raises SourceError or OSError where a source is broken.

    ``interval`` is the seconds between two samples of what counts; ``heartbeat``: the devices' firmware may be asked;
    ``agent``: an agent manages the machine, so that what is advised is what it can do. ``disabled`` returns the
    addresses of the devices that its running configuration disables.
    """

    def __init__(
        self,
        host: Host,
        *,
        interval: float = 1.0,
        heartbeat: bool = False,
        agent: bool = False,
        disabled: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._door = Door(host)
        self.host = self._door.host
        self.interval = interval
        self.heartbeat = heartbeat
        self.agent = agent
        self.disabled = disabled

    @property
    def denied(self) -> bool:
        """Whether the machine has kept something from this user up to now."""
        return self._door.denied

    @cached_property
    def inventory(self) -> Inventory:
        """All QAT functions on the PCI bus."""
        return inventory(self.host)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Those that this system is to drive: neither handed over, nor virtual functions that wait for that."""
        return tuple(device for device in self.inventory.devices if not device.assigned and not waits(device))

    @cached_property
    def observer(self) -> Observer:
        """The devices' files, each read once."""
        return Observer(self.host)

    @cached_property
    def states(self) -> dict[str, State]:
        """The devices' states, by address."""
        return {device.address: machine_state(self.observer, device) for device in self.devices}

    @cached_property
    def up(self) -> tuple[Device, ...]:
        """The devices that are up: also by their interrupts, which everybody may see."""
        return tuple(
            device
            for device in self.devices
            if self.states[device.address].status == "up" or self.observer.is_up(device.target)
        )

    @cached_property
    def driver_kind(self) -> str | None:
        """Which driver is loaded: the kernel's own, the out-of-tree one, or none."""
        return loaded_kind(self.host)

    @cached_property
    def virtual_machine(self) -> bool:
        """Whether a hypervisor runs this system."""
        return is_virtual_machine(self.host)

    @cached_property
    def release(self) -> str | None:
        """The version of the kernel that runs, None where the machine does not tell."""
        text = read_attribute(self.host, "/proc/sys/kernel/osrelease")
        return text if text and "/" not in text else None

    @cached_property
    def cpu(self) -> cpuinfo.Cpu | None:
        """What the CPUs have in common."""
        return cpuinfo.read(self.host)

    @cached_property
    def algorithms(self) -> proc_crypto.Table | None:
        """The kernel's algorithms, None where the machine has no table of them."""
        return proc_crypto.read(self.host)

    @cached_property
    def log(self) -> tuple[DeviceError, ...] | None:
        """The errors of devices in the kernel's log since the boot, None where there is no log."""
        if not self.host.exists(KMSG):
            return None
        reader = KernelLog(self.host)
        found: list[DeviceError] = []
        position: Position | None = None
        for _ in range(_LOG_READINGS):
            errors, after = reader.read(position)
            if after == position:
                break
            found += errors
            position = after
        return tuple(found)

    @cached_property
    def samples(self) -> tuple[Sample, Sample]:
        """Two samples of the devices that are up, an interval apart."""
        first = self._sample()
        self.host.sleep(self.interval)
        return first, self._sample()

    def _sample(self) -> Sample:
        observer = Observer(self.host)
        engines = {device.address: _engines(observer, device) for device in self.up}
        interrupts: dict[str, int] = {}
        for vector in observer.vectors() or ():
            for device in self.up:
                if vector.belongs_to(device.address):
                    interrupts[device.address] = interrupts.get(device.address, 0) + vector.counts().total
        return Sample(engines, interrupts)


def waits(device: Device) -> bool:
    """Return whether a device is a virtual function that waits to be handed over."""
    return device.id.virtual and device.physical is not None and device.driver is None


def _engines(observer: Observer, device: Device) -> tuple[Engine, ...] | SourceError | None:
    try:
        data = observer.file(device.target, COUNTERS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        text = "the device went down" if error.errno == errno.EFAULT else error.strerror or str(error)
        return SourceError(observer.path(device.target, COUNTERS), text)
    path = observer.path(device.target, COUNTERS)
    try:
        return counters.parse(decoded(data, path), path)
    except SourceError as error:
        return error
