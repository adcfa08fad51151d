"""The driver's configuration file, as adf_ctl of the out-of-tree driver reads it and the driver checks it.

Sources: adf_ctl's ini_config.cpp and dev_config.cpp, the driver's adf_cfg_device.c and adf_cfg_section.c
(QAT 1.7).
"""

from typing import NamedTuple

from simulator.machine import sysroot
from simulator.machine.inventory import Device, Machine

SERVICES = ("cy", "dc", "sym", "asym", "cy;dc", "dc;cy", "sym;dc", "dc;sym", "asym;dc", "dc;asym")
DRIVER_VERSION = "4.17.0"
FIRMWARE_VERSION = "4.17.2"
MMP_VERSION = "5.4.1"

_LONGEST = 64
_INSTANCES_PER_BANK = 2

Sections = dict[str, dict[str, str]]


class ConfigurationError(Exception):
    """adf_ctl refuses the file; the text is adf_ctl's."""


class DriverRefusedError(ConfigurationError):
    """The file reads well, but the driver does not take what it says; adf_ctl can't tell why."""

    def __init__(self) -> None:
        super().__init__("Failed to load config data to device")


class Configuration(NamedTuple):
    """What the driver needs to know to bring a device up; ``text`` is its dev_cfg."""

    services: str
    kernel_instances: int
    text: str


def file_name(device: Device) -> str:
    """Return the path of a device's configuration file below the sysroot."""
    return f"etc/{device.family.name}_dev{device.instance}.conf"


def read(machine: Machine, device: Device) -> Configuration:
    """Read and check a device's file. Raises ConfigurationError."""
    path = file_name(device)
    try:
        data = sysroot.read(machine.root, path)
    except OSError:
        data = None
    if data is None:
        raise ConfigurationError(f"Filename /{path} cannot be read")
    sections = parse(data.decode(errors="replace"))
    _check_form(sections)
    return _configure(device, sections)


def parse(text: str) -> Sections:
    """Return the keys of each section, of a key that comes twice the first; quotes around values go."""
    sections: Sections = {}
    keys: dict[str, str] | None = None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            keys = sections.setdefault(line[1:].partition("]")[0].strip(), {})
            continue
        key, _, value = (part.strip() for part in line.partition("="))
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        if keys is not None and key and value:
            keys.setdefault(key, value)
    return sections


def _check_form(sections: Sections) -> None:
    general = sections.get("GENERAL")
    if general is None:
        raise ConfigurationError("No GENERAL section found")
    if "ConfigVersion" not in general:
        raise ConfigurationError("Key ConfigVersion missing in GENERAL section")
    if general["ConfigVersion"] != "2":
        raise ConfigurationError("Only version 2 config file supported")
    for name, keys in sections.items():
        for text in (name, *keys, *keys.values()):
            if len(text) >= _LONGEST:
                raise ConfigurationError(
                    f"{text}: entry too long. Maximum allowed: {_LONGEST}, current value: {len(text)}"
                )


def _configure(device: Device, sections: Sections) -> Configuration:
    services = sections["GENERAL"].get("ServicesEnabled", "")
    if services not in SERVICES:
        raise DriverRefusedError
    limit = _INSTANCES_PER_BANK * device.family.banks
    total = {"Cy": 0, "Dc": 0}
    for name, keys in sections.items():
        if _processes(name, keys) > limit:
            raise DriverRefusedError
        for kind in total:
            total[kind] += _number(keys, f"Number{kind}Instances") * _processes(name, keys)
    if max(total.values()) > limit:
        raise DriverRefusedError
    kernel = _number(sections.get("KERNEL", {}), "NumberCyInstances")
    return Configuration(services, kernel, _render(device, sections, kernel))


def _processes(section: str, keys: dict[str, str]) -> int:
    return 1 if section.startswith("KERNEL") else _number(keys, "NumProcesses", 1)


def _number(keys: dict[str, str], key: str, default: int = 0) -> int:
    text = keys.get(key, str(default))
    if not (text.isascii() and text.isdigit()):
        raise DriverRefusedError
    return int(text)


def _render(device: Device, sections: Sections, kernel: int) -> str:
    general = {
        **sections["GENERAL"],
        "FirstUserBundle": str(min(kernel, device.family.banks)),
        "Device_Max_Banks": str(device.family.banks),
        "Device_NodeId": "0",
        "HW_RevId": str(device.family.revision),
        "Firmware_UofVer": FIRMWARE_VERSION,
        "Firmware_MmpVer": MMP_VERSION,
    }
    shown: Sections = {"GENERAL": general}
    for name in sorted(sections.keys() - {"GENERAL"}):
        keys = sections[name]
        for process in range(_processes(name, keys)):
            shown[_shown_name(device, name, keys, process)] = _instances(device, keys, general)
    shown[f"Accelerator{device.number}"] = {
        f"Bank{bank}InterruptCoalescingEnabled": "1" for bank in range(device.family.banks)
    }
    return "".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for name, keys in shown.items()
    )


def _shown_name(device: Device, section: str, keys: dict[str, str], process: int) -> str:
    if section.startswith("KERNEL"):
        return section
    limited = f"_DEV{device.number}" if keys.get("LimitDevAccess") == "1" else ""
    return f"{section}{limited}_INT_{process}"


def _instances(device: Device, keys: dict[str, str], general: dict[str, str]) -> dict[str, str]:
    # The driver keeps the names, polling and affinities that it was given, and adds where the rings are.
    shown = {key: value for key, value in keys.items() if key not in ("NumProcesses", "LimitDevAccess")}
    for instance in range(_number(keys, "NumberCyInstances")):
        bank = str(instance % device.family.banks)
        for kind, tx, rx in (("Asym", 0, 8), ("Sym", 2, 10)):
            shown[f"Cy{instance}BankNumber{kind}"] = bank
            shown[f"Cy{instance}Ring{kind}Tx"] = str(tx)
            shown[f"Cy{instance}Ring{kind}Rx"] = str(rx)
            size = f"NumConcurrent{kind}Requests"
            shown[f"Cy{instance}{size}"] = general.get(f"Cy{size}", "512")
    for instance in range(_number(keys, "NumberDcInstances")):
        shown[f"Dc{instance}BankNumber"] = str(instance % device.family.banks)
        shown[f"Dc{instance}RingTx"] = "6"
        shown[f"Dc{instance}RingRx"] = "14"
        shown[f"Dc{instance}NumConcurrentRequests"] = general.get("DcNumConcurrentRequests", "512")
    return shown
