"""Whether the devices have the service that IPsec needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.doctor.devices import has_files, path_of
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, no_device
from translators.qat import conf, dev_cfg, intree
from translators.qat.backend_out_of_tree import CONFIGURATION_LIMIT
from translators.qat.render import GENERAL, SERVICES_KEY
from translators.qat.services import bits_text, services_in
from translators.qat.state import DEV_CFG
from translators.sources import decoded, read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.doctor.look import Look
    from translators.qat.devices import Device
    from translators.qat.services import Services

_COMPRESSION: Final = frozenset({"dc", "dcc", "decomp"})


def services(look: Look) -> Iterator[Finding]:
    """Return whether a device has the sym service: without it IPsec can't use QAT, however well it is."""
    concerned = look.up or look.devices
    if not concerned:
        yield no_device()
        return
    known: dict[str, Services] = {}
    for device in concerned:
        words = words_of(look, device)
        found = None if words is None else services_in(words)
        if words is None and device.id.virtual:
            yield Finding(NOT_APPLICABLE, f"{device.address} is a virtual function and has what its parent has")
        elif words is None:
            yield Finding(UNKNOWN, f"{device.address} does not tell its services")
        elif found is None:
            yield Finding(UNKNOWN, f"{device.address} has the services {shown(words)}, which are not known here")
        else:
            known[device.address] = found
    able = [address for address, found in known.items() if "sym" in found]
    if able:
        yield Finding(OK, f"with the sym service: {', '.join(able)}")
    for address, found in known.items():
        if address not in able:
            has = "compression only" if found <= _COMPRESSION else f"only {bits_text(found)}"
            if able:
                yield Finding(OK, f"{address} has {has}: the others serve IPsec")
            else:
                yield Finding(PROBLEM, f"{address} has {has}: IPsec can't use it", _giving(look, address))


def words_of(look: Look, device: Device) -> str | None:
    """Return the driver's words for a device's services, None where nothing tells them."""
    switch = intree.read(look.host, device.address)
    if switch is not None and switch.services is not None:
        return switch.services
    if device in look.up:
        try:
            data = look.observer.file(device.target, DEV_CFG).removesuffix(b"\0")
        except FileNotFoundError:
            data = b""
        path = look.observer.path(device.target, DEV_CFG)
        words = dev_cfg.value(dev_cfg.parse(decoded(data, path), path), GENERAL, SERVICES_KEY)
        if words is not None:
            return words
    file = read_bytes(look.host, path_of(look, device), limit=CONFIGURATION_LIMIT) if has_files(look) else None
    return None if file is None else conf.value_of(file, GENERAL, SERVICES_KEY)


def _giving(look: Look, address: str) -> str:
    """Return how a device gets the service that IPsec needs: by the agent where one serves, which else undoes it."""
    device = next(device for device in look.devices if device.address == address)
    if not has_files(look) and intree.read(look.host, address) is None:
        return "Its driver has no switch by which it could get the sym service: take another device for IPsec."
    if look.agent:
        how = f"accel-agent set qat device {address} services 'asym sym', then accel-agent commit"
    elif has_files(look):
        word = "sym" if device.id.stack == "2.0" else "cy, or sym where the driver takes it"
        how = f"{SERVICES_KEY} = {word} in {path_of(look, device)}, and restart it"
    else:
        folder = intree.folder(address)
        how = f"echo down > {folder}/{intree.STATE}, echo 'sym;asym' > {folder}/{intree.SERVICES}, and up again"
    return f"Give it the sym service: {how}. IPsec needs no other."
