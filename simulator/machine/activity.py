"""Which devices are up, and what they have done since: one small file for each device that is up."""

import json
from typing import NamedTuple

from simulator.machine import sysroot
from simulator.machine.inventory import Device, Machine
from simulator.machine.sysroot import MachineError

_TURNS = f"{sysroot.STATE}/turns"
_TICKS = f"{sysroot.STATE}/ticks"


class Activity(NamedTuple):
    """A device that is up.

    ``services`` is the value of ServicesEnabled, ``kernel_instances`` how many crypto instances the kernel
    has (each on a bank of its own), ``configuration`` what the driver shows as dev_cfg. ``requests`` and
    ``responses`` count by engine, ``interrupts`` by vector, all since the device came up.
    """

    services: str
    kernel_instances: int
    configuration: str
    requests: list[int]
    responses: list[int]
    interrupts: list[int]

    @property
    def symmetric(self) -> bool:
        """Whether the kernel has symmetric crypto of it: it serves that, and the kernel has an instance."""
        return self.kernel_instances > 0 and not {"cy", "sym"}.isdisjoint(self.services.split(";"))

    @property
    def asymmetric(self) -> bool:
        """The same for public-key crypto."""
        return self.kernel_instances > 0 and not {"cy", "asym"}.isdisjoint(self.services.split(";"))


def current(machine: Machine, device: Device) -> Activity | None:
    """Return a device's activity, None while it is down. Raises MachineError, OSError."""
    name = _file(device)
    data = sysroot.read(machine.root, name)
    if data is None:
        return None
    try:
        return Activity(**json.loads(data))
    except (ValueError, TypeError) as error:
        raise MachineError(f"{machine.root}/{name} is not a device's state: {error!r}") from error


def is_up(machine: Machine, device: Device) -> bool:
    """Return whether a device is up, without a look at what it does."""
    return sysroot.exists(machine.root, _file(device))


def everything(machine: Machine) -> dict[Device, Activity]:
    """Return the activity of every device that is up. Raises MachineError, OSError."""
    found = ((device, current(machine, device)) for device in machine.devices)
    return {device: activity for device, activity in found if activity}


def begin(machine: Machine, device: Device, *, services: str, kernel_instances: int, configuration: str) -> None:
    """Bring a device up, with all counters at zero."""
    engines = 0 if device.family.parent else device.family.engines
    zero = Activity(services, kernel_instances, configuration, [0] * engines, [0] * engines, [0] * device.vectors)
    record(machine, device, zero)


def record(machine: Machine, device: Device, activity: Activity) -> None:
    """Write down what a device has done."""
    sysroot.publish(machine.root, _file(device), json.dumps(activity._asdict()).encode())


def end(machine: Machine, device: Device) -> None:
    """Bring a device down."""
    sysroot.discard(machine.root, _file(device))


def turns(machine: Machine) -> int:
    """Return how many turns of the hardware this machine has seen. Raises MachineError, OSError."""
    return _counted(machine, _TURNS)


def ticks(machine: Machine) -> int:
    """Return in how many of them there was traffic. Raises MachineError, OSError."""
    return _counted(machine, _TICKS)


def count_turn(machine: Machine, *, traffic: bool) -> None:
    """Count one turn."""
    sysroot.publish(machine.root, _TURNS, b"%d\n" % (turns(machine) + 1))
    if traffic:
        sysroot.publish(machine.root, _TICKS, b"%d\n" % (ticks(machine) + 1))


def _counted(machine: Machine, name: str) -> int:
    data = sysroot.read(machine.root, name)
    try:
        return int(data or b"0")
    except ValueError as error:
        raise MachineError(f"{machine.root}/{name} is not a number: {data!r}") from error


def _file(device: Device) -> str:
    return f"{sysroot.STATE}/devices/{device.address}"
