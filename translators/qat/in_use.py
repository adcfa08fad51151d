"""The configuration that is in use (RFC 8342 5.3): what running says as far as the machine does it, and a little more.

- ``enabled`` is whether a device is up and was not given up for software; a device's own is whether that one is up.
- A device's services and sections are in use while it is up: as the driver reports them, and as they are configured
  where it does not report them (polling and affinities of instances, and all of them without dev_cfg).
- Of a configured device that is not on the machine only the key is left, for its state to stand in.
- What can't be told is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from translators.qat import dev_cfg
from translators.qat.device_source import configuration, services_of, state_of
from translators.qat.services import bits_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.base import Tree
    from translators.qat.device_source import Source

# What only this agent follows, so that it is in use as it is configured.
_OURS: Final = ("ipsec-refresh", "health")


def of_all(running: Tree, *, active: bool | None, fallback: bool) -> Tree:
    """Return what is in use besides devices; ``active`` is None where it can't be told whether one is up."""
    tree: Tree = {name: running[name] for name in _OURS if name in running}
    enabled = False if fallback else active
    return tree if enabled is None else {**tree, "enabled": enabled}


def of_device(source: Source, running: Tree) -> Tree:
    """Return what is in use of a device whose configured list entry is ``running``. Raises SourceError, OSError."""
    status = state_of(source).status
    if status == "unknown":
        return {}
    if status != "up":
        return {"enabled": False}
    reported = configuration(source)
    tree: Tree = {"enabled": True}
    services = services_of(source)
    if services is not None:
        tree["services"] = bits_text(services)
    elif "services" in running:
        tree["services"] = running["services"]
    if "section" in running:
        tree["section"] = [section | _reported(section["name"], reported) for section in running["section"]]
    return tree


def _reported(section: str, entries: tuple[dev_cfg.Entry, ...]) -> Tree:
    found: Tree = {}
    for leaf, (key, convert) in _SECTION.items():
        text = dev_cfg.value(entries, section, key)
        if text is not None and text.isascii() and text.isdigit():
            found[leaf] = convert(text)
    return found


_SECTION: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "cy-instances": ("NumberCyInstances", int),
    "dc-instances": ("NumberDcInstances", int),
    "processes": ("NumProcesses", int),
    "limit-device-access": ("LimitDevAccess", lambda text: text == "1"),
}
