"""Which devices qat_service can start and stop on this machine, and why it can't where it can't."""

from __future__ import annotations

from typing import TYPE_CHECKING

from translators.base import TranslatorError
from translators.qat.backend import MISMATCH, NO_DRIVER
from translators.qat.drivers import (
    IN_TREE,
    OUT_OF_TREE,
    QATLIB,
    both_installed,
    bound_kinds,
    loaded_kind,
    module_is_missing,
)
from translators.qat.ids import EARLY_STACKS
from translators.qat.model import ENABLED
from translators.qat.tool import QAT_SERVICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from translators.host import Host
    from translators.qat.devices import Device


def check_drivers(host: Host, found: Sequence[Device], usable: Sequence[Device]) -> None:
    """Raise TranslatorError unless the machine has the driver and the tool for the devices. Raises SourceError."""
    if not usable:
        texts = "; ".join(f"{device.label} {left_alone(device)}" for device in found)
        known = any(device.assigned or device.id.stack for device in found)
        tag = NO_DRIVER if known else MISMATCH
        raise TranslatorError(f"no QAT device can be started by {QAT_SERVICE}: {texts}", path=ENABLED, app_tag=tag)
    kind = loaded_kind(host)
    if not host.executable(QAT_SERVICE):
        _refuse_without_tool(host, usable, kind)
    kinds = bound_kinds(host, found)
    stranger = next((device for device in found if kinds.get(device.address) == IN_TREE), None)
    if kind == IN_TREE or stranger is not None:
        whose = "the loaded module intel_qat" if stranger is None else f"the module of {stranger.label}"
        raise TranslatorError(
            f"{QAT_SERVICE} is of the out-of-tree QAT driver, and {whose} is the kernel's own: unload and remove one "
            "of the two, or set [qat] driver to in-tree in the settings where the script is only left over",
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


def left_alone(device: Device) -> str | None:
    """Return why qat_service is not to look after a device; None where it is."""
    if device.assigned:
        return f"is handed over to {device.driver}"
    if device.id.stack is None:
        return f"is driven by the kernel's own {device.id.module} only, not by the out-of-tree driver"
    if device.id.virtual and device.physical is not None and device.driver is None:
        return f"has no driver and waits to be handed over by {device.physical}"
    return None


def _refuse_without_tool(host: Host, usable: Sequence[Device], kind: str | None) -> None:
    early = [device for device in usable if device.id.stack in EARLY_STACKS]
    library = next((path for path in QATLIB if host.exists(path)), None)
    if early and library is not None:
        raise TranslatorError(
            f"{library} serves devices of generation 4 and later, and {early[0].label} is older: it needs the "
            f"out-of-tree QAT driver {early[0].id.stack} with {QAT_SERVICE}",
            path=ENABLED,
            app_tag=MISMATCH,
        )
    needs = "; ".join(f"{device.label} needs {_needed(device)}" for device in usable)
    have = "the kernel's own driver is loaded, and " if kind == IN_TREE else ""
    state = "can't be executed" if host.exists(QAT_SERVICE) else "is not installed"
    raise TranslatorError(f"{needs}; {have}{QAT_SERVICE} {state}", path=ENABLED, app_tag=NO_DRIVER)


def _needed(device: Device) -> str:
    own = " or the kernel's own" if device.id.later else ""
    return f"{device.id.module} of the out-of-tree QAT driver {device.id.stack}{own}"
