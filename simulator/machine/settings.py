"""What the kernel's driver keeps of a device besides whether it is up: its settings, and what it has counted.

Going down loses all of it but the services (adf_dev_shutdown_cache_cfg in adf_init.c).
"""

import json
from typing import NamedTuple

from simulator.machine import sysroot
from simulator.machine.inventory import Device, Machine
from simulator.machine.sysroot import MachineError


class Limit(NamedTuple):
    """A rate limit (SLA): ring pairs as a mask, guaranteed and highest rate in thousandths, service."""

    rp: int = 0
    cir: int = 0
    pir: int = 0
    srv: str = ""


class Settings(NamedTuple):
    """One device's settings.

    ``ring`` was chosen in qat/rp2srv, ``rings`` in telemetry/rp_*_data, -1 for none. ``telemetry`` is its control,
    on since ``telemetry_since`` (seconds of time.time()). ``heartbeats`` counts questions. ``errors`` are RAS
    counters: correctable, nonfatal, fatal. ``limit`` and ``limit_id`` are what qat_rl's files hold, ``limits`` the
    limits in force.
    """

    services: str
    pm_idle_enabled: str = "1"
    auto_reset: str = "off"
    ring: int = -1
    rings: tuple[int, ...] = (-1, -1, -1, -1)
    telemetry: int = 0
    telemetry_since: float = 0.0
    heartbeats: int = 0
    errors: tuple[int, ...] = (0, 0, 0)
    limit: Limit = Limit()
    limit_id: int = 0
    limits: tuple[tuple[int, Limit], ...] = ()
    capacity_of: str = ""

    def after_down(self) -> "Settings":
        """Return what is left when the device goes down."""
        return Settings(self.services)


def current(machine: Machine, device: Device) -> Settings:
    """Return a device's settings. Raises MachineError, OSError."""
    name = _file(device)
    data = sysroot.read(machine.root, name)
    if data is None:
        # Crypto for every other device, compression for the rest (adf_gen4_config.c); earlier ones serve all.
        return Settings("asym;sym;dc" if not device.family.later else "dc" if device.number % 2 else "sym;asym")
    try:
        fields = json.loads(data)
        return Settings(
            **{
                **fields,
                "rings": tuple(fields["rings"]),
                "errors": tuple(fields["errors"]),
                "limit": Limit(*fields["limit"]),
                "limits": tuple((number, Limit(*limit)) for number, limit in fields["limits"]),
            }
        )
    except (ValueError, TypeError, KeyError) as error:
        raise MachineError(f"{machine.root}/{name} does not hold a device's settings: {error!r}") from error


def record(machine: Machine, device: Device, settings: Settings) -> None:
    """Write a device's settings down. The caller holds the lock. Raises OSError."""
    sysroot.publish(machine.root, _file(device), json.dumps(settings._asdict()).encode())


def _file(device: Device) -> str:
    return f"{sysroot.STATE}/settings/{device.address}"
