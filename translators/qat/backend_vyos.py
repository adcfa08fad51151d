"""The backend of a router whose configuration VyOS owns: acceleration is a commit there, and VyOS runs the driver.

VyOS has one switch for all devices, and nothing else about them can be configured.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Plan, TranslatorError
from translators.qat.backend import MISMATCH, NO_DRIVER, UNSUPPORTED, Wanted, divided
from translators.qat.eligible import left_alone
from translators.qat.model import ENABLED, QatConfig
from translators.qat.state import Observer
from translators.qat.vyos import IPSEC, QAT, UNREACHABLE, Router, words
from translators.qat.vyos_commit import CommitVyos
from translators.vyos import VyosError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from translators.base import Step
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import DeviceConfig

VYOS: Final = "vyos"

_ONE_SWITCH: Final = f"VyOS has one switch for all devices ({words(QAT)})"


class Vyos:
    """Devices that VyOS brings up and down."""

    kind: ClassVar[str] = VYOS

    def __init__(self, router: Router) -> None:
        self._router = router

    def usable(self, found: Sequence[Device], config: QatConfig) -> tuple[list[Device], list[str]]:
        return divided(found, config, left_alone)

    def check(self, host: Host, found: Sequence[Device], usable: Sequence[Device]) -> None:  # noqa: ARG002 - VyOS looks
        if not usable:
            texts = "; ".join(f"{device.label} {left_alone(device)}" for device in found)
            text = f"there is no QAT device that VyOS could start: {texts}"
            raise TranslatorError(text, path=ENABLED, app_tag=NO_DRIVER)

    def check_settings(self, config: DeviceConfig, device: Device) -> None:
        if config.services is not None:
            leaf, tag = "services", UNSUPPORTED
        elif config.sections:
            leaf, tag = f"section[name='{config.sections[0].name}']", MISMATCH
        elif not config.enabled:
            leaf, tag = "enabled", MISMATCH
        else:
            return
        text = f"{device.label} can't be configured by itself: {_ONE_SWITCH}, and nothing else of them is its matter"
        raise TranslatorError(text, path=f"{config.path}/{leaf}", app_tag=tag)

    def enable(self, host: Host, wanted: Wanted) -> Plan:
        usable, notes = self.usable(wanted.found, wanted.after)
        observer, targets = Observer(host), _targets(usable)
        down = tuple(target for target in targets if observer.is_down(target))
        refresh = wanted.after.ipsec_refresh
        if not self._has(host, QAT):
            make, remarks = self._making(host, refresh)
            return Plan((make(present=True, devices=targets, before=down),), (*notes, *remarks))
        if not down:
            return Plan(notes=tuple(notes))
        notes.append(
            f"VyOS has {words(QAT)}, and {len(down)} of {len(targets)} devices are down: it is deleted and set again, "
            "as VyOS starts devices only when that changes"
        )
        make, remarks = self._making(host, refresh)
        return Plan(_off_and_on(make, observer, targets), (*notes, *remarks))

    def disable(self, host: Host, wanted: Wanted) -> Plan:
        usable, notes = self.usable(wanted.found, QatConfig())
        observer, targets = Observer(host), _targets(usable)
        up = tuple(target for target in targets if observer.is_up(target))
        if self._has(host, QAT):
            make, remarks = self._making(host, wanted.after.ipsec_refresh)
            return Plan((make(present=False, devices=targets, before=up),), (*notes, *remarks))
        if up:
            notes.append(f"VyOS does not have {words(QAT)}: what is up was brought up by something else, and stays so")
        return Plan(notes=tuple(notes))

    def restart(self, host: Host, device: Device, others: Sequence[Device], refresh: str) -> tuple[Step, ...]:
        observer = Observer(host)
        up = [other.label for other in others if not observer.is_down(other.target)]
        if up or not self._has(host, QAT):
            why = f"{_ONE_SWITCH}, and {', '.join(up)} would go down with it" if up else f"VyOS has no {words(QAT)} set"
            raise TranslatorError(f"{device.label} can't be restarted: {why}", path=ENABLED, app_tag=MISMATCH)
        return _off_and_on(self._making(host, refresh)[0], observer, (device.target,))

    def _has(self, host: Host, path: tuple[str, ...]) -> bool:
        try:
            return self._router.has(host, path)
        except VyosError as error:
            raise TranslatorError(f"VyOS can't be asked: {error}", path=ENABLED, app_tag=UNREACHABLE) from error

    def _making(self, host: Host, refresh: str) -> tuple[Callable[..., CommitVyos], tuple[str, ...]]:
        """Return what makes the steps, and remarks on what VyOS does about IPsec. Raises TranslatorError."""
        restarts = self._has(host, IPSEC)
        make = partial(
            CommitVyos,
            refresh=refresh,
            restarts_ipsec=restarts,
            timeout=self._router.timeout,
            save=self._router.save,
        )
        if not restarts:
            return make, ()
        if refresh == "restart":
            return make, ("VyOS stops and starts IPsec itself with this commit: the agent does not",)
        text = f"ipsec-refresh is {refresh}, and VyOS stops and starts IPsec itself with each change of {words(QAT)}"
        return make, (f"{text}: tunnels are interrupted all the same",)


def _off_and_on(make: Callable[..., CommitVyos], observer: Observer, targets: tuple[str, ...]) -> tuple[Step, ...]:
    """Return the steps after which devices are up, whatever they were, where VyOS has acceleration configured."""
    up = tuple(target for target in targets if observer.is_up(target))
    return make(present=False, devices=targets, before=up), make(present=True, devices=targets, before=targets)


def _targets(devices: Iterable[Device]) -> tuple[str, ...]:
    return tuple(device.target for device in devices)
