"""The backend of the kernel's own driver: the switch in sysfs that devices of generation 4 and later have.

Devices of generation 2 have no switch. They are up as long as their driver is bound, so that enabling finds them up,
and there is nothing to configure; the agent binds and unbinds nothing. What going down loses is brought back where the
same change brings the device up again; where it does not, that is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from translators.base import Plan, TranslatorError
from translators.qat import intree, kept
from translators.qat.backend import MISMATCH, NO_DRIVER, UNSUPPORTED, Wanted, both_drivers, divided
from translators.qat.drivers import IN_TREE, OUT_OF_TREE, QATLIB, bound_kinds, loaded_kind, module_is_missing
from translators.qat.ids import EARLY_STACKS
from translators.qat.intree_steps import BringDown, BringUp, SetAttribute
from translators.qat.model import ENABLED, QatConfig
from translators.qat.services import services_in
from translators.qat.state import Observer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from translators.base import Step
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import DeviceConfig


class InTree:
    """Devices under the kernel's own driver."""

    kind: ClassVar[str] = IN_TREE

    def usable(self, found: Sequence[Device], config: QatConfig) -> tuple[list[Device], list[str]]:
        return divided(found, config, _left_alone, lacks_driver=_is_unbound)

    def check(self, host: Host, found: Sequence[Device], usable: Sequence[Device]) -> None:
        kinds = bound_kinds(host, found)
        strangers = [device.label for device in found if kinds.get(device.address) == OUT_OF_TREE]
        if strangers or loaded_kind(host) == OUT_OF_TREE:
            whose = f"the module of {strangers[0]}" if strangers else "the loaded module intel_qat"
            raise TranslatorError(
                f"{whose} is of the out-of-tree QAT driver, and the devices are to be driven by the kernel's own: "
                "remove the out-of-tree driver, or set [qat] driver to out-of-tree in the settings",
                path=ENABLED,
                app_tag=MISMATCH,
            )
        if not usable:
            texts = "; ".join(f"{device.label} {_wants(host, device)}" for device in found)
            text = f"no QAT device can be brought up by the kernel's own driver: {texts}"
            raise TranslatorError(text, path=ENABLED, app_tag=NO_DRIVER)
        library = next((path for path in QATLIB if host.exists(path)), None)
        if library is not None and all(device.id.stack in EARLY_STACKS for device in usable):
            raise TranslatorError(
                f"{library} serves devices of generation 4 and later, and {usable[0].label} is older: "
                f"it needs the out-of-tree QAT driver {usable[0].id.stack} to be configured and used from user space",
                path=ENABLED,
                app_tag=MISMATCH,
            )

    def check_settings(self, config: DeviceConfig, device: Device) -> None:
        if config.sections:
            raise TranslatorError(
                f"{device.label} is driven by the kernel's own driver, which has no configuration file and so no "
                "sections: take them away; the out-of-tree driver has them",
                path=f"{config.path}/section[name='{config.sections[0].name}']",
                app_tag=MISMATCH,
            )
        reason = None if config.services is None else intree.refusal(config.services, device.id)
        if reason is not None:
            text = f"{device.label} does not take these services: {reason}"
            raise TranslatorError(text, path=f"{config.path}/services", app_tag=UNSUPPORTED)

    def enable(self, host: Host, wanted: Wanted) -> Plan:
        usable, notes = self.usable(wanted.found, wanted.after)
        steps: list[Step] = []
        observer = Observer(host)
        stuck = 0
        for device in usable:
            config = wanted.after.device(device.address)
            switch = intree.read(host, device.address)
            if switch is None:
                down = observer.is_down(device.target)
                notes += _without_switch(config, device, down=down)
                stuck += down and config.enabled
                if stuck == len(usable):
                    raise TranslatorError(_stuck(device), path=ENABLED, app_tag=MISMATCH)
            elif not config.enabled:
                steps += _down(host, device, switch, wanted.after, notes)
            else:
                steps += _up(host, device, switch, wanted.after, notes)
                notes += _without_sym(device, switch, config)
        notes += [f"{device.label} {_wants(host, device)}" for device in wanted.found if _is_unbound(device)]
        return Plan(tuple(steps), (*notes, *both_drivers(host)))

    def disable(self, host: Host, wanted: Wanted) -> Plan:
        usable, notes = self.usable(wanted.found, QatConfig())
        steps: list[Step] = []
        for device in usable:
            switch = intree.read(host, device.address)
            if switch is None:
                notes.append(f"{device.label} stays as it is: {intree.no_switch(device.address)}")
            else:
                steps += _down(host, device, switch, wanted.after, notes)
        return Plan(tuple(steps), tuple(notes))

    def restart(self, host: Host, device: Device, others: Sequence[Device], refresh: str) -> tuple[Step, ...]:  # noqa: ARG002 - one device's switch is its own
        switch = intree.read(host, device.address)
        if switch is None:
            text = f"{device.label} can't be restarted: {intree.no_switch(device.address)}"
            raise TranslatorError(text, path=ENABLED, app_tag=MISMATCH)
        settings = kept.read(host, device, switch).settings
        return BringDown(device.address, settings, refresh), BringUp(device.address, settings, refresh)


def _up(host: Host, device: Device, switch: intree.Switch, after: QatConfig, notes: list[str]) -> list[Step]:
    """Return the steps that bring a device up with its services, or give those to one that is up."""
    address, config, refresh = device.address, after.device(device.address), after.ipsec_refresh
    services, found = config.services, switch.services
    steps: list[Step] = []
    if services is not None and (found is None or services_in(found) != services):
        if found is None:
            raise TranslatorError(
                f"the services of {device.label} can't be set: this kernel's driver has no "
                f"{intree.folder(address)}/{intree.SERVICES}",
                path=f"{config.path}/services",
                app_tag=UNSUPPORTED,
            )
        steps.append(SetAttribute(address, intree.SERVICES, intree.spellings(services)[0], found))
    if not switch.up:
        return [*steps, BringUp(address, (), refresh)]
    if not steps:
        return []
    has = kept.read(host, device, switch)
    if has.limits:
        notes.append(
            f"{device.label} loses {', '.join(has.limits)} by getting other services: its ring pairs have others then"
        )
    notes += _unread(device, has)
    return [BringDown(address, has.settings, refresh), *steps, BringUp(address, has.without_limits, refresh)]


def _without_sym(device: Device, switch: intree.Switch, config: DeviceConfig) -> list[str]:
    """Return a remark on a device that comes up with what the kernel chose for it, and that is nothing for IPsec."""
    if config.services is not None or switch.services is None or "sym" in (services_in(switch.services) or ()):
        return []
    return [f"{device.label} serves {switch.services}, which is nothing for IPsec: configure its services to have sym"]


def _down(host: Host, device: Device, switch: intree.Switch, after: QatConfig, notes: list[str]) -> list[Step]:
    if not switch.up:
        return []
    has = kept.read(host, device, switch)
    if has.own:
        notes.append(f"{device.label} loses {', '.join(has.own)} by going down, as the kernel keeps the services only")
    notes += _unread(device, has)
    return [BringDown(device.address, has.settings, after.ipsec_refresh)]


def _unread(device: Device, has: kept.Kept) -> list[str]:
    return [f"{device.label} may lose by going down what can't be read of it: {what}" for what in has.unread]


def _without_switch(config: DeviceConfig, device: Device, *, down: bool) -> list[str]:
    """Return a remark on a device without a switch. Raises TranslatorError for what it would take one for."""
    why = intree.no_switch(device.address)
    if config.services is not None or not (config.enabled or down):
        leaf, done = ("services", "set") if config.services is not None else ("enabled", "brought down")
        text = f"{device.label} can't be {done}: {why}"
        raise TranslatorError(text, path=f"{config.path}/{leaf}", app_tag=MISMATCH)
    if down:
        return [_stuck(device)] if config.enabled else []
    return [f"{device.label} is left as it is: {why}. It is up as long as its driver is bound to it"]


def _stuck(device: Device) -> str:
    return (
        f"{device.label} is down and can't be brought up: {intree.no_switch(device.address)}. The kernel log says why "
        f"it is down; unload its module {device.id.module} and load it again"
    )


def _left_alone(device: Device) -> str | None:
    if device.assigned:
        return f"is handed over to {device.driver}"
    if device.driver is not None:
        return None
    if device.id.virtual and device.physical is not None:
        return f"has no driver and waits to be handed over by {device.physical}"
    return f"has no driver: it needs {device.id.wanted_driver}"


def _is_unbound(device: Device) -> bool:
    return device.driver is None and device.physical is None


def _wants(host: Host, device: Device) -> str:
    """Return what a device lacks that can't be used, in words. Raises SourceError."""
    if not _is_unbound(device):
        return _left_alone(device) or "is bound"
    module = device.id.module
    if module_is_missing(host, module):
        return f"needs the kernel module {module}, which this kernel does not have"
    return f"has no driver: load the kernel module {module}; the kernel log says why where it does not bind then"
