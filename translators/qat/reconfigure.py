"""The step that gives a running device another configuration file and has the driver read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Disturbance, StepError
from translators.files import compared, replace
from translators.qat import conf, dev_cfg, tool
from translators.qat.devices import split_target
from translators.qat.render import GENERAL, SERVICES_KEY, words_in
from translators.qat.services import services_in
from translators.qat.state import DEV_CFG, Observer
from translators.sources import SourceError, decoded

if TYPE_CHECKING:
    from translators.base import Step
    from translators.host import Host

# What the driver reports of a section as the file has it.
_REPORTED: Final = frozenset({"NumberCyInstances", "NumberDcInstances", "NumProcesses", "LimitDevAccess"})


@dataclass(frozen=True, slots=True)
class ReconfigureDevice:
    """Replace a device's configuration file and restart the device.

    It is one step, as undoing two in reverse order would restart the device before its file is restored.
    """

    kind: ClassVar[str] = "qat-reconfigure"

    device: str
    path: str
    content: bytes
    before: bytes
    refresh: str

    @property
    def disturbs(self) -> Disturbance | None:
        # The device goes down for a moment: what uses it must let go of it first.
        return Disturbance("ipsec", self.refresh, enabling=False)

    def describe(self) -> str:
        return f"write {self.path} and restart {tool.listed((self.device,))} ({tool.command('restart')})"

    def perform(self, host: Host) -> None:
        replaced = replace(host, self.path, self.content, before=self.before)
        before = Observer(host)
        if not replaced and before.is_up(self.device) and in_force(before, self.device, self.content):
            return
        name = tool.device_names(host, (self.device,)).get(self.device)
        # Without a name the script restarts all devices.
        runs = [tool.run(host, "restart", *(() if name is None else (name,)))]
        if not tool.settled(host, runs, lambda now: now.is_up(self.device)):
            raise tool.failure(f"{tool.listed((self.device,))} did not come up again", runs)
        if not in_force(Observer(host), self.device, self.content):
            text = f"{tool.listed((self.device,))} is up and does not have the settings of {self.path}"
            raise tool.failure(text, runs)

    def inverse(self) -> Step:
        return ReconfigureDevice(self.device, self.path, self.before, self.content, self.refresh)

    def observe(self, host: Host) -> str:
        content = compared(host, self.path, self.content, before=self.before)
        return f"{self.path} {content}, {tool.observed(host, (self.device,))}"


def in_force(observer: Observer, device: str, content: bytes) -> bool:
    """Return whether the driver reports a file's services and instances, or nothing that speaks against it.

    Raises StepError where what it reports can't be read.
    """
    try:
        data = observer.file(device, DEV_CFG)
        entries = dev_cfg.parse(decoded(data, observer.path(device, DEV_CFG)), observer.path(device, DEV_CFG))
    except FileNotFoundError:
        return True
    except (OSError, SourceError) as error:
        address = split_target(device)[1]
        raise StepError(f"what settings {address} has can't be told: {error}") from error
    wanted, words = services_in(words_in(content)), dev_cfg.value(entries, GENERAL, SERVICES_KEY)
    if words is not None and wanted is not None and services_in(words) != wanted:
        return False
    reported = [entry for entry in entries if entry.key in _REPORTED]
    return all(conf.value_of(content, entry.section, entry.key) in {None, entry.value} for entry in reported)
