"""What is asked of whoever brings devices up and down, a driver's backend or VyOS's, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from translators.base import TranslatorError
from translators.qat.drivers import both_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from translators.base import Plan, Step
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import DeviceConfig, QatConfig

NO_DRIVER = "no-qat-driver"
MISMATCH = "driver-mismatch"
UNSUPPORTED = "unsupported-services"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change on this machine: the configuration after it and before it (None at start-up), and all devices."""

    after: QatConfig
    before: QatConfig | None
    found: Sequence[Device]

    def was_wanted(self, address: str) -> bool:
        """Return whether a device was to be up before."""
        return self.before is not None and self.before.enabled and self.before.device(address).enabled


class Backend(Protocol):
    """One of the two drivers, or VyOS: which devices are its, and which steps they take. Preparing touches nothing.

    All but ``usable`` raise SourceError, StepError and OSError where the machine can't be looked at.
    """

    kind: ClassVar[str]

    def usable(self, found: Sequence[Device], config: QatConfig) -> tuple[list[Device], list[str]]:
        """Return the devices that it looks after, and remarks on configured ones that are left alone.

        Raises TranslatorError for settings of such a device.
        """

    def check(self, host: Host, found: Sequence[Device], usable: Sequence[Device]) -> None:
        """Raise TranslatorError unless the machine has what it takes to bring these devices up and down."""

    def check_settings(self, config: DeviceConfig, device: Device) -> None:
        """Raise TranslatorError for settings that no driver of this kind takes on this device."""

    def enable(self, host: Host, wanted: Wanted) -> Plan:
        """Return the steps after which each device is as it is wanted, where ``check`` found nothing.

        Raises TranslatorError.
        """

    def disable(self, host: Host, wanted: Wanted) -> Plan:
        """Return the steps after which no device is up. Raises TranslatorError."""

    def restart(self, host: Host, device: Device, others: Sequence[Device], refresh: str) -> tuple[Step, ...]:
        """Return the steps that take a device down and up again. Raises TranslatorError."""


def divided(
    found: Sequence[Device],
    config: QatConfig,
    left_alone: Callable[[Device], str | None],
    *,
    lacks_driver: Callable[[Device], bool] = lambda _device: False,
) -> tuple[list[Device], list[str]]:
    """Return the devices that nothing speaks against, and remarks on configured ones that are left alone.

    Raises TranslatorError for settings of such a device.
    """
    usable: list[Device] = []
    notes: list[str] = []
    for device in found:
        why = left_alone(device)
        if why is None:
            usable.append(device)
            continue
        entry = config.device(device.address)
        if entry.has_settings:
            text = f"{device.label} {why}: its services and sections can't be set here"
            raise TranslatorError(text, path=entry.path, app_tag=NO_DRIVER if lacks_driver(device) else MISMATCH)
        if entry in config.devices:
            notes.append(f"{device.label} {why}: it is left alone")
    return usable, notes


def both_drivers(host: Host) -> tuple[str, ...]:
    """Return a warning where the kernel has the modules of both drivers. Raises SourceError."""
    if not both_installed(host):
        return ()
    text = (
        "both QAT drivers are installed for this kernel: remove one of the two, as the other one can be loaded at the "
        "next boot, and kernels before 6.17 can panic with both (Intel, QAT20-40475)"
    )
    return (text,)
