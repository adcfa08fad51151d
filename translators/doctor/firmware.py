"""Whether the firmware that a driver asks for is there.

Names: adf_<type>_hw_data.h of Linux and of the out-of-tree drivers (1.7, 1.8). Places: Linux,
Documentation/driver-api/firmware/fw_search_path.rst; the compressed forms: drivers/base/firmware_loader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, no_device
from translators.sources import read_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.doctor.look import Look
    from translators.qat.ids import DeviceId

FOLDER: Final = "/lib/firmware"
_FORMS: Final = ("", ".zst", ".xz")
_PATH_PARAMETER: Final = "/sys/module/firmware_class/parameters/path"
# Where a device's type is not in the name.
_BY_TYPE: Final = {"dh895xcc": "895xcc", "c6xx": "c62x"}
_BY_ID: Final = {"4944": "402xx"}


def names(device: DeviceId) -> tuple[str, str]:
    """Return the names of the files that a physical function's driver asks for, in that order."""
    stem = _BY_ID.get(device.device_id) or _BY_TYPE.get(device.type, device.type)
    return f"qat_{stem}_mmp.bin", f"qat_{stem}.bin"


def files(look: Look) -> Iterator[Finding]:
    """Return whether the firmware of each device is there."""
    physical = [device for device in look.devices if not device.id.virtual]
    if not physical:
        yield (
            Finding(NOT_APPLICABLE, "virtual functions have no firmware of their own") if look.devices else no_device()
        )
        return
    folders = _folders(look)
    if not any(look.host.exists(folder) for folder in folders):
        yield Finding(UNKNOWN, f"there is no {FOLDER}", "Look for the firmware where this system keeps it.")
        return
    there: dict[str, None] = {}
    for device in physical:
        missing = []
        for name in names(device.id):
            path = _found(look, folders, name)
            if path is None:
                missing.append(name)
            else:
                there[path] = None
        if missing and device in look.up:
            text = f"{device.address} is up, and {' and '.join(missing)} is not below {FOLDER}: it has been loaded from"
            yield Finding(OK, f"{text} the initramfs", "Put it there, so that the device can be started again.")
        elif missing:
            yield Finding(
                PROBLEM,
                f"{device.label} asks for {' and '.join(missing)}, not found below {', '.join(folders)}",
                "Install the file that belongs to the loaded driver (the other driver's has the same name), update "
                "the initramfs, and load the driver again.",
            )
    if there:
        yield Finding(OK, f"found: {', '.join(there)}")


def _folders(look: Look) -> tuple[str, ...]:
    custom = read_attribute(look.host, _PATH_PARAMETER) or ""
    places = [f"{FOLDER}/updates", FOLDER]
    if look.release:
        places = [f"{FOLDER}/updates/{look.release}", f"{FOLDER}/updates", f"{FOLDER}/{look.release}", FOLDER]
    return (custom, *places) if custom.startswith("/") else tuple(places)


def _found(look: Look, folders: tuple[str, ...], name: str) -> str | None:
    paths = (f"{folder}/{name}{form}" for folder in folders for form in _FORMS)
    return next((path for path in paths if look.host.exists(path)), None)
