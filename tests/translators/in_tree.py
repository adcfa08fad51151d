"""A machine with the kernel's own QAT driver: a model of adf_sysfs.c that refuses as the kernel does."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import Any

from translators.qat.devices import PCI_DEVICES
from translators.qat.ids import DEVICE_IDS
from translators.qat.state import DEBUGFS
from translators.record import RecordedHost

OLDER = ("sym;asym", "asym;sym", "sym", "asym", "dc", "dc;asym", "asym;dc", "dc;sym", "sym;dc")
COUNTERS = b"AE          Requests        Responses\n 0: 507 501\n 1: 11 11\n"
FOURTH = "4xxx@0000:6b:00.0"
OTHER = "4xxx@0000:70:00.0"
SECOND = "c6xx@0000:3d:00.0"


@dataclass(slots=True)
class Kernel(RecordedHost):
    """Devices with their switches: ``takes`` are the words of this kernel, ``busy`` that something uses the devices."""

    takes: tuple[str, ...] = OLDER
    busy: bool = False
    starts: bool = True
    keeps: bool = True
    written: list[str] = field(default_factory=list)

    def assign(self, path: str, data: bytes) -> None:
        RecordedHost.read(self, path)
        folder, _, name = path.rpartition("/")
        value = data.decode().removesuffix("\n")
        self.written.append(f"{name}={value}")
        up = self.files[f"{folder}/state"] == b"up\n"
        if name == "state":
            self._switch(path, value, up=up)
        elif (name == "cfg_services" and value not in self.takes) or (
            name in {"cfg_services", "pm_idle_enabled"} and up
        ):
            raise OSError(errno.EINVAL, "Invalid argument", path)
        if self.keeps:
            self.files[path] = f"{value}\n".encode()

    def _switch(self, path: str, value: str, *, up: bool) -> None:
        folder = path.rpartition("/")[0]
        if self.busy:
            raise OSError(errno.EBUSY, "Device or resource busy", path)
        if value == "up" and not self.starts:
            raise OSError(errno.EFAULT, "Bad address", path)
        if value == "down" and up:
            for name, default in (("pm_idle_enabled", b"1\n"), ("auto_reset", b"off\n")):
                if f"{folder}/{name}" in self.files:
                    self.files[f"{folder}/{name}"] = default


def gateway(*targets: str, state: str = "down", bound: bool = True, **leafs: str) -> Kernel:
    """Make a machine with devices under the kernel's driver; ``leafs`` are what their switches say."""
    host = Kernel(complete=True, folders={DEBUGFS, "/proc", PCI_DEVICES})
    host.files["/sys/module/intel_qat/taint"] = b"\n"
    host.files["/proc/interrupts"] = b"           CPU0\n NMI:  1   Non-maskable interrupts\n"
    for target in targets:
        kind, _, address = target.partition("@")
        device = next(entry for entry in DEVICE_IDS if entry.type == kind)
        folder = f"{PCI_DEVICES}/{address}"
        host.files |= {f"{folder}/vendor": b"0x8086\n", f"{folder}/device": f"0x{device.device_id}\n".encode()}
        host.folders.add(f"{DEBUGFS}/qat_{kind}_{address}")
        if not bound:
            continue
        host.links[f"{folder}/driver"] = f"../../../bus/pci/drivers/{kind}"
        host.links[f"/sys/bus/pci/drivers/{kind}/module"] = f"../../../../module/{device.module}"
        host.files[f"/sys/module/{device.module}/taint"] = b"\n"
        if device.later:
            says = {
                "state": state,
                "cfg_services": "sym;asym",
                "pm_idle_enabled": "1",
                "auto_reset": "off",
                "num_rps": "64",
                **leafs,
            }
            host.files |= {f"{folder}/qat/{name}": f"{value}\n".encode() for name, value in says.items()}
        else:
            host.files[f"{DEBUGFS}/qat_{kind}_{address}/fw_counters"] = COUNTERS
    return host


def says(host: Kernel, target: str, *names: str) -> list[str]:
    """Return what files of a device's switch say."""
    folder = f"{PCI_DEVICES}/{target.partition('@')[2]}/qat"
    return [host.read(f"{folder}/{name}").decode().strip() for name in names]


def on(*devices: tuple[str, dict[str, Any]], refresh: str = "restart") -> dict[str, Any]:
    """Return a configuration with acceleration enabled and these devices configured."""
    entries = [{"address": target.partition("@")[2], "enabled": True, **leafs} for target, leafs in devices]
    return {"enabled": True, "ipsec-refresh": refresh, "device": entries}
