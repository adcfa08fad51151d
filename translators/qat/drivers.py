"""Which QAT driver this machine has: the kernel's own, the out-of-tree one, both, or none.

Both use the same module names (intel_qat, qat_c3xxx …). The out-of-tree one taints its module with O and makes
/dev/qat_dev_processes; the tools go with one of them only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.sources import read_attribute, read_link_name, read_names, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.host import Host
    from translators.qat.devices import Device

IN_TREE: Final = "in-tree"
OUT_OF_TREE: Final = "out-of-tree"

_CORE_MODULE: Final = "/sys/module/intel_qat"
_OUT_OF_TREE_NODE: Final = "/dev/qat_dev_processes"
# The stack in user space for the kernel's driver of generation 4 and later (qatlib).
QATLIB: Final = ("/usr/sbin/qatmgr", "/usr/local/sbin/qatmgr", "/usr/sbin/qat_init.sh", "/usr/local/sbin/qat_init.sh")

_IN_TREE_FOLDERS: Final = (
    "kernel/drivers/crypto/intel/qat/qat_common",
    "kernel/drivers/crypto/qat/qat_common",
)
_OUT_OF_TREE_FOLDERS: Final = (
    "updates/drivers/crypto/qat/qat_common",
    "updates/drivers/crypto/qat",
    "updates/dkms",
    "updates",
    "extra",
)


def loaded_kind(host: Host) -> str | None:
    """Return which driver is loaded, None where none is or the machine does not tell. Raises SourceError, OSError."""
    taint = read_attribute(host, f"{_CORE_MODULE}/taint")
    if "O" in (taint or "") or host.exists(_OUT_OF_TREE_NODE):
        return OUT_OF_TREE
    return None if taint is None else IN_TREE


def bound_kinds(host: Host, devices: Iterable[Device]) -> dict[str, str]:
    """Return which driver is bound to each device (by address) whose module tells it. Raises SourceError."""
    kinds: dict[str, str] = {}
    for device in devices:
        module = None if device.assigned else module_of(host, device)
        taint = None if module is None else read_attribute(host, f"/sys/module/{module}/taint")
        if taint is not None:
            kinds[device.address] = OUT_OF_TREE if "O" in taint else IN_TREE
    return kinds


def module_of(host: Host, device: Device) -> str | None:
    """Return the module of the driver that is bound to a device, None where none is. Raises SourceError."""
    if device.driver is None:
        return None
    module = read_link_name(host, f"/sys/bus/pci/drivers/{device.driver}/module")
    return module or (device.id.module if device.driver == device.id.type else None)


def module_version(host: Host, module: str) -> str | None:
    """Return the version that a module states, None where it states none. Raises SourceError."""
    return read_attribute(host, f"/sys/module/{module}/version") or None


def module_is_missing(host: Host, module: str) -> bool:
    """Return whether the machine lists the modules of its kernel and has no such one. Raises SourceError."""
    if read_names(host, f"/sys/module/{module}") is not None:
        return False
    folder = _modules_folder(host)
    lists = [text for name in ("modules.dep", "modules.builtin") if (text := _list(host, folder, name)) is not None]
    names = {
        line.partition(":")[0].rpartition("/")[2].partition(".")[0] for text in lists for line in text.splitlines()
    }
    return bool(lists) and module.replace("-", "_") not in {name.replace("-", "_") for name in names}


def both_installed(host: Host) -> bool:
    """Return whether the running kernel has the modules of both drivers. Raises SourceError."""
    return installed_kinds(host) == {IN_TREE, OUT_OF_TREE}


def installed_kinds(host: Host) -> set[str]:
    """Return the drivers whose modules the running kernel has. Raises SourceError."""
    folder = _modules_folder(host)
    if folder is None:
        return set()
    places = {IN_TREE: _IN_TREE_FOLDERS, OUT_OF_TREE: _OUT_OF_TREE_FOLDERS}
    return {kind for kind, names in places.items() if any(_has_core_module(host, f"{folder}/{name}") for name in names)}


def is_virtual_machine(host: Host) -> bool:
    """Return whether the CPU says that a hypervisor runs it. Raises SourceError."""
    for line in (read_text(host, "/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return "hypervisor" in value.split()
    return False


def _modules_folder(host: Host) -> str | None:
    release = read_attribute(host, "/proc/sys/kernel/osrelease")
    return f"/lib/modules/{release}" if release and "/" not in release else None


def _list(host: Host, folder: str | None, name: str) -> str | None:
    return None if folder is None else read_text(host, f"{folder}/{name}")


def _has_core_module(host: Host, folder: str) -> bool:
    return any(name.startswith("intel_qat.ko") for name in read_names(host, folder) or ())
