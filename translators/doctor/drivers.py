"""Whether the devices have their driver, the right one, and its firmware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.doctor.finding import BY_AGENT, NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, no_device
from translators.doctor.look import waits
from translators.qat.drivers import (
    IN_TREE,
    OUT_OF_TREE,
    QATLIB,
    both_installed,
    module_is_missing,
    module_version,
)
from translators.qat.tool import QAT_SERVICE
from translators.sources import read_names, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.doctor.look import Look
    from translators.qat.devices import Device

_MODPROBE_FOLDERS: Final = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
# Of the devices' types, those that Linux itself has no driver for (drivers/crypto/intel/qat).
_OUT_OF_TREE_ONLY: Final = frozenset({"200xx", "d15xx", "c4xxx"})
_EARLY: Final = frozenset({"1.7", "1.8"})
_KINDS: Final = {IN_TREE: "the kernel's own", OUT_OF_TREE: "the out-of-tree one"}


def bound(look: Look) -> Iterator[Finding]:
    """Return whether the module of each device is loaded and its driver bound to it."""
    found = look.inventory.devices
    good = [f"{device.address} by {device.driver}" for device in look.devices if device.driver is not None]
    if good:
        version = module_version(look.host, "intel_qat")
        kind = f" (QAT driver: {_KINDS[look.driver_kind]}" if look.driver_kind else " (QAT driver"
        kind = f"{kind}, version {version})" if version else f"{kind})"
        yield Finding(OK, f"driven: {', '.join(good)}{kind}")
    for device in look.devices:
        if device.driver is None:
            yield _unbound(look, device)
    away = [f"{device.address} to {device.driver}" for device in found if device.assigned]
    if away:
        text = f"handed over: {', '.join(away)}: a virtual machine or a process in user space has them"
        yield Finding(NOT_APPLICABLE, text)
    waiting = [device.address for device in found if waits(device)]
    if waiting:
        yield Finding(NOT_APPLICABLE, f"virtual functions that wait to be handed over: {', '.join(waiting)}")
    if not found:
        yield no_device()


def both(look: Look) -> Iterator[Finding]:
    """Return whether the kernel's own driver and the out-of-tree one are both installed."""
    if both_installed(look.host):
        yield Finding(
            PROBLEM,
            "the modules of both QAT drivers are installed, the kernel's own and the out-of-tree one, by the same "
            f"names{f'; {_KINDS[look.driver_kind]} is loaded' if look.driver_kind else ''}",
            "Remove one of the two: which one is loaded at the next boot is chance, and changing from one to the other "
            "while the system runs has made kernels panic.",
        )
    elif look.release is None or read_names(look.host, f"/lib/modules/{look.release}") is None:
        where = f"/lib/modules/{look.release}" if look.release else "the kernel's version"
        yield Finding(UNKNOWN, f"which modules are installed can't be told: {where} is not there")
    else:
        yield Finding(OK, "the modules of both QAT drivers are not installed at once")


def stack(look: Look) -> Iterator[Finding]:
    """Return whether devices, driver and tools are of one generation."""
    if not look.devices:
        yield no_device()
        return
    kind, tool = look.driver_kind, look.host.executable(QAT_SERVICE)
    library = next((path for path in QATLIB if look.host.exists(path)), None)
    problems = [*_tool_problems(kind, tool=tool), *_device_problems(look.devices, kind, library, tool=tool)]
    yield from problems
    if not problems and kind is None:
        yield Finding(NOT_APPLICABLE, "no QAT driver is loaded")
    elif not problems and kind is not None:
        tools = QAT_SERVICE if tool else library or "without tools"
        yield Finding(OK, f"devices and driver go together: {_KINDS[kind]}, {tools}")


def _tool_problems(kind: str | None, *, tool: bool) -> Iterator[Finding]:
    if kind == IN_TREE and tool:
        yield Finding(
            PROBLEM,
            f"{QAT_SERVICE} is of the out-of-tree driver, and the loaded one is the kernel's own: "
            "the tool can't control it ('Invalid ioctl')",
            "Unload and remove one of the two.",
        )
    if kind == OUT_OF_TREE and not tool:
        yield Finding(
            PROBLEM,
            f"the out-of-tree driver is loaded, and {QAT_SERVICE} is not there, which starts its devices",
            "Install the tools of the same QAT package as the driver.",
        )


def _device_problems(
    devices: tuple[Device, ...], kind: str | None, library: str | None, *, tool: bool
) -> Iterator[Finding]:
    for device in devices:
        base = device.id.type.removesuffix("vf")
        if kind == IN_TREE and base in _OUT_OF_TREE_ONLY:
            yield Finding(
                PROBLEM,
                f"Linux itself has no driver for {device.label}, and its own QAT modules are loaded",
                f"Install the out-of-tree QAT driver {device.id.stack} in place of the kernel's modules.",
            )
        elif kind == OUT_OF_TREE and device.id.stack is None:
            yield Finding(
                PROBLEM,
                f"the out-of-tree driver is loaded, and does not know {device.label}",
                f"Remove it and use the kernel's own {device.id.module}.",
            )
        elif device.id.stack in _EARLY and library is not None and not tool:
            yield Finding(
                PROBLEM,
                f"{library} serves devices of generation 4 and later, and {device.label} is older",
                f"For programs in user space install the out-of-tree QAT driver {device.id.stack} with {QAT_SERVICE}; "
                "for IPsec alone the kernel's own driver does, and the service of qatlib can be disabled.",
            )


def _unbound(look: Look, device: Device) -> Finding:
    module = device.id.module
    text = f"{device.label} has no driver"
    if module_is_missing(look.host, module):
        package = f"the out-of-tree QAT driver {device.id.stack}" if device.id.stack else "a newer kernel"
        return Finding(PROBLEM, f"{text}, and this kernel has no module {module}", f"Install {package} for it.")
    if read_names(look.host, f"/sys/module/{module}") is not None:
        return Finding(
            PROBLEM,
            f"{text}, though its module {module} is loaded: it tried and gave up",
            "See the kernel log for why: often the firmware file, or a firmware that does not answer.",
        )
    by = _blacklisting(look, module)
    tool = look.host.executable(QAT_SERVICE)
    start = BY_AGENT if tool and look.agent else f"{QAT_SERVICE} start" if tool else f"modprobe {module}"
    action = f"Load it: {start}."
    if by is not None:
        return Finding(PROBLEM, f"{text}: {module} is not loaded, and {by} keeps it from being by itself", action)
    return Finding(PROBLEM, f"{text}: its module {module} is not loaded", action)


def _blacklisting(look: Look, module: str) -> str | None:
    """Return the file that keeps a module, or the one below it, from being loaded when a device is found."""
    for folder in _MODPROBE_FOLDERS:
        for name in read_names(look.host, folder) or ():
            lines = (read_text(look.host, f"{folder}/{name}") or "").splitlines() if name.endswith(".conf") else ()
            if any(line.split() in (["blacklist", module], ["blacklist", "intel_qat"]) for line in lines):
                return f"{folder}/{name}"
    return None
