"""What a device's nodes are read from, and what several of them rest on: its state, configuration and services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from translators.qat import dev_cfg, intree
from translators.qat.render import GENERAL, SERVICES_KEY
from translators.qat.services import services_in
from translators.qat.state import DEV_CFG, Observer, State
from translators.sources import SourceError, decoded, read_attribute, shown

if TYPE_CHECKING:
    from translators.base import Tree
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.measures import Measures
    from translators.qat.model import QatConfig
    from translators.qat.services import Services


@dataclass(frozen=True, slots=True)
class Source:
    """What a device's nodes are read from.

    ``config`` is the intent that its state is compared with, ``measures`` what was measured from look to look.
    """

    host: Host
    observer: Observer
    device: Device
    config: QatConfig
    measures: Measures
    heart_failed: bool = False


def machine_state(observer: Observer, device: Device) -> State:
    """Return a device's state, without regard to what it is meant to be."""
    if device.assigned:
        return State("assigned", f"the device is handed over to {device.driver}")
    if device.driver is None and observer.state(device.target).status != "up":
        return State("unbound", f"the device has no driver: it needs {device.id.wanted_driver}")
    return observer.state(device.target)


def overseen(state: State, *, heart_failed: bool) -> State:
    """Return a device's state with what its heartbeats said, which are not read for it."""
    if state.status != "up" or not heart_failed:
        return state
    return State("failed", "the device is started and its firmware's heartbeat fails: see the kernel log")


def state_of(source: Source) -> State:
    """Return a device's state as it is told."""
    return overseen(machine_state(source.observer, source.device), heart_failed=source.heart_failed)


def configuration(source: Source) -> tuple[dev_cfg.Entry, ...]:
    """Return the configuration that a device's driver reports, empty where it reports none.

    Raises SourceError, OSError.
    """
    text = text_of(source, DEV_CFG)
    return () if text is None else dev_cfg.parse(text, source.observer.path(source.device.target, DEV_CFG))


def services_of(source: Source) -> Services | None:
    """Return the services that a device's driver reports, None where it reports none. Raises SourceError, OSError."""
    if source.observer.switch(source.device.target) is not None:
        path = f"{intree.folder(source.device.address)}/{intree.SERVICES}"
        words = read_attribute(source.host, path)
    else:
        words = dev_cfg.value(configuration(source), GENERAL, SERVICES_KEY)
        path = source.observer.path(source.device.target, DEV_CFG)
    services = None if words is None else services_in(words)
    if words is not None and services is None:
        raise SourceError(path, f"the services {shown(words)} are not known")
    return services


def text_of(source: Source, name: str) -> str | None:
    """Return the text of a file in the device's debugfs directory, None where there is none. Raises OSError."""
    try:
        data = source.observer.file(source.device.target, name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    # Some of the driver's read functions count the NUL at the end in (adf_ver_dbg.c).
    return decoded(data.removesuffix(b"\0"), source.observer.path(source.device.target, name))


def without_none(tree: Tree) -> Tree:
    """Return a tree without the nodes that have no value."""
    return {name: value for name, value in tree.items() if value is not None}
