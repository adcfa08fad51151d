"""Whether the devices are configured and up, and whether they count errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.doctor.finding import BY_AGENT, NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, addresses, no_device
from translators.qat import conf, intree, ras
from translators.qat.backend_out_of_tree import CONFIGURATION_LIMIT, configuration_file
from translators.qat.drivers import OUT_OF_TREE
from translators.qat.render import GENERAL
from translators.qat.tool import QAT_SERVICE
from translators.sources import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.doctor.look import Look
    from translators.qat.devices import Device

_VERSION_KEY: Final = "ConfigVersion"
_VERSION: Final = "2"
_AGAIN: Final = (
    "If it does not stay up: the checks of the firmware and the kernel log say why, and a chip that is too hot goes "
    "down too (see the sensors)."
)


def has_files(look: Look) -> bool:
    """Return whether the driver of this machine wants a configuration file for each device: the out-of-tree one."""
    return look.driver_kind == OUT_OF_TREE or (look.driver_kind is None and look.host.executable(QAT_SERVICE))


def path_of(look: Look, device: Device) -> str:
    """Return the path of a device's configuration file."""
    return configuration_file(device, look.inventory.devices)


def configuration(look: Look) -> Iterator[Finding]:
    """Return whether each device has its configuration file, and one that the driver takes."""
    if not look.devices:
        yield no_device()
        return
    if not has_files(look):
        yield Finding(NOT_APPLICABLE, "the kernel's own driver has no configuration files")
        return
    good = []
    for device in look.devices:
        path = path_of(look, device)
        data = read_bytes(look.host, path, limit=CONFIGURATION_LIMIT)
        if data is None:
            yield Finding(
                PROBLEM,
                f"{path} is not there: {device.label} stays down without it",
                "Copy the file for this type of device from the driver's package, and start the device.",
            )
            continue
        version = conf.value_of(data, GENERAL, _VERSION_KEY)
        if version not in {None, _VERSION}:
            yield Finding(
                PROBLEM,
                f"{path} has {_VERSION_KEY} = {version}, and the driver takes {_VERSION} only",
                f"Set {_VERSION_KEY} = {_VERSION} in its section [{GENERAL}], and start the device.",
            )
            continue
        good.append(path)
    if good:
        yield Finding(OK, f"there: {', '.join(good)}")


def state(look: Look) -> Iterator[Finding]:
    """Return whether the devices are up."""
    if not look.devices:
        yield no_device()
        return
    if look.up:
        yield Finding(OK, f"up: {addresses(look.up)}")
    for device in look.devices:
        found = look.states[device.address]
        text = f"{device.label} is {found.status}: {found.reason}"
        if found.status == "down" and device.address in look.disabled():
            yield Finding(OK, f"{device.label} is down: it is disabled in the running configuration")
        elif found.status == "down":
            yield Finding(PROBLEM, text, f"{_start(look, device)} {_AGAIN}")
        elif found.status == "failed":
            action = "Restart the device; if that fails, switch the machine off and on again: a warm boot may not do."
            yield Finding(PROBLEM, text, action)
        elif found.status == "unbound":
            yield Finding(NOT_APPLICABLE, f"{device.address} has no driver, which comes first")
        elif found.status == "unknown" and device not in look.up:
            yield Finding(UNKNOWN, text)


def errors(look: Look) -> Iterator[Finding]:
    """Return whether the devices have counted errors of their own, or of their PCI Express link."""
    if not look.devices:
        yield no_device()
        return
    counted = told = False
    for device in look.devices:
        own, link = ras.read(look.host, device.address), ras.read_link(look.host, device.address)
        for counts, what, action in (
            (own, "of the device", "Restart the device; if errors come again, switch the machine off and on."),
            (link, "of its PCI Express link", "Check the device's slot, riser and the link."),
        ):
            if counts is None:
                continue
            counted = True
            found = _counted(f"{device.address}: errors {what}", counts, action)
            if found is not None:
                told = True
                yield found
    if not counted:
        yield Finding(NOT_APPLICABLE, "neither driver nor kernel counts errors of these devices")
    elif not told:
        yield Finding(OK, "no errors were counted")


def _counted(what: str, counts: ras.Counts, action: str) -> Finding | None:
    if counts.fatal or counts.nonfatal:
        text = f"{what}: {counts.fatal or 0} fatal and {counts.nonfatal or 0} other uncorrectable ones"
        return Finding(PROBLEM, text, action)
    if counts.correctable:
        return Finding(OK, f"{what}: {counts.correctable} that were corrected", "Watch whether the count grows.")
    return None


def _start(look: Look, device: Device) -> str:
    switch = intree.read(look.host, device.address)
    if not has_files(look) and switch is None:
        return f"It has no switch: take {device.id.module} out and load it again, with nobody using it."
    if look.agent:
        return f"Start it: {BY_AGENT}."
    if has_files(look):
        warning = " (it restarts those that are up, too)" if look.up else ""
        return f"Start it: {BY_AGENT}; or, without an agent, {QAT_SERVICE} start{warning}."
    return f"Start it: {BY_AGENT}; or, without an agent, echo up > {intree.folder(device.address)}/{intree.STATE} ."
