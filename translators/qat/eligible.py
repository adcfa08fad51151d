"""Which devices qat_service can start and stop on this machine, and why it can't where it can't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import TranslatorError
from translators.qat.drivers import IN_TREE, OUT_OF_TREE, QATLIB, both_installed, loaded_kind, module_is_missing
from translators.qat.model import ENABLED
from translators.qat.tool import QAT_SERVICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import QatConfig

NO_DRIVER: Final = "no-qat-driver"
MISMATCH: Final = "driver-mismatch"
# Devices of these packages are of generation 1 to 3: not known to the stack for generation 4 and later.
_EARLY_STACKS: Final = frozenset({"1.7", "1.8"})


def usable_devices(found: Sequence[Device], config: QatConfig) -> tuple[list[Device], list[str]]:
    """Return the devices that qat_service is to look after, and remarks on those that are left alone.

    Left alone are devices that are handed over, virtual functions that wait for that (no driver, and their parent is
    here), and types that the out-of-tree driver does not know. Raises TranslatorError for settings of such a device.
    """
    usable: list[Device] = []
    notes: list[str] = []
    for device in found:
        why = _left_alone(device)
        if why is None:
            usable.append(device)
            continue
        entry = config.device(device.address)
        if entry.in_file:
            text = f"{device.label} {why}: its services and sections can't be set here"
            raise TranslatorError(text, path=entry.path, app_tag=MISMATCH)
        if entry in config.devices:
            notes.append(f"{device.label} {why}: it is left alone")
    return usable, notes


def check_drivers(host: Host, found: Sequence[Device], usable: Sequence[Device]) -> None:
    """Raise TranslatorError unless the machine has the driver and the tool for the devices. Raises SourceError."""
    if not usable:
        texts = "; ".join(f"{device.label} {_left_alone(device)}" for device in found)
        known = any(device.assigned or device.id.stack for device in found)
        tag = NO_DRIVER if known else MISMATCH
        raise TranslatorError(f"no QAT device can be started by {QAT_SERVICE}: {texts}", path=ENABLED, app_tag=tag)
    kind = loaded_kind(host)
    if not host.executable(QAT_SERVICE):
        _refuse_without_tool(host, usable, kind)
    if kind == IN_TREE:
        raise TranslatorError(
            f"{QAT_SERVICE} is of the out-of-tree QAT driver, and the loaded module intel_qat is the kernel's own: "
            "unload and remove one of the two",
            path=ENABLED,
            app_tag=MISMATCH,
        )
    if kind != OUT_OF_TREE and both_installed(host):
        raise TranslatorError(
            "both QAT drivers are installed for this kernel, the kernel's own and the out-of-tree one, and neither is "
            "loaded yet: remove one of the two, as they have the same module names",
            path=ENABLED,
            app_tag=MISMATCH,
        )
    for device in usable:
        if device.driver is None and module_is_missing(host, device.id.module):
            raise TranslatorError(
                f"{device.label} needs the kernel module {device.id.module}, which this kernel does not have: "
                f"install the out-of-tree QAT driver {device.id.stack} for it",
                path=ENABLED,
                app_tag=NO_DRIVER,
            )


def _left_alone(device: Device) -> str | None:
    if device.assigned:
        return f"is handed over to {device.driver}"
    if device.id.stack is None:
        return f"is driven by the kernel's own {device.id.module} only, not by the out-of-tree driver"
    if device.id.virtual and device.physical is not None and device.driver is None:
        return f"has no driver and waits to be handed over by {device.physical}"
    return None


def _refuse_without_tool(host: Host, usable: Sequence[Device], kind: str | None) -> None:
    early = [device for device in usable if device.id.stack in _EARLY_STACKS]
    library = next((path for path in QATLIB if host.exists(path)), None)
    if early and library is not None:
        raise TranslatorError(
            f"{library} serves devices of generation 4 and later, and {early[0].label} is older: it needs the "
            f"out-of-tree QAT driver {early[0].id.stack} with {QAT_SERVICE}",
            path=ENABLED,
            app_tag=MISMATCH,
        )
    needs = "; ".join(
        f"{device.label} needs {device.id.module} of the out-of-tree QAT driver {device.id.stack}" for device in usable
    )
    have = "the kernel's own driver is loaded, and " if kind == IN_TREE else ""
    state = "can't be executed" if host.exists(QAT_SERVICE) else "is not installed"
    raise TranslatorError(f"{needs}; {have}{QAT_SERVICE} {state}", path=ENABLED, app_tag=NO_DRIVER)
