"""Which hypervisor a virtual machine runs on, and what to do there for the CPU's AES instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.sources import read_attribute

if TYPE_CHECKING:
    from translators.host import Host

VENDOR: Final = "/sys/class/dmi/id/sys_vendor"
PRODUCT: Final = "/sys/class/dmi/id/product_name"
TYPE: Final = "/sys/hypervisor/type"

UNKNOWN: Final = "unknown"
# What a virtual machine's firmware says it is (SMBIOS type 1), in lower case. The product is looked at first:
# Microsoft sells computers too.
_PRODUCTS: Final = {
    "virtualbox": "virtualbox",
    "vmware": "vmware",
    "kvm": "kvm",
    "openstack": "kvm",
    "standard pc": "kvm",
    "virtual machine": "hyper-v",
    "hvm domu": "xen",
}
_VENDORS: Final = {"qemu": "kvm", "vmware": "vmware", "xen": "xen", "innotek": "virtualbox"}
_HINT: Final = "Have the hypervisor give the guest the host's CPU flags; in a cloud, take another type of machine"
# What to change at the hypervisor, so that the guest sees the CPU as it is.
_HINTS: Final = {
    "kvm": "KVM and QEMU: give the guest the CPU type host-passthrough (host in Proxmox VE, -cpu host), or add +aes",
    "vmware": (
        "VMware: take a newer virtual hardware version, and a higher EVC mode where the cluster has one; "
        "its CPUID mask must not hide AES"
    ),
    "hyper-v": "Hyper-V: switch processor compatibility for migration off (CompatibilityForMigrationEnabled)",
    "xen": "Xen: take the CPUID mask off the guest",
    "virtualbox": "VirtualBox: take the CPU profile host (VBoxManage modifyvm --cpu-profile host)",
}


def read(host: Host) -> str | None:
    """Return the hypervisor below a machine that is known to be virtual; None where its firmware does not say.

    Raises SourceError.
    """
    for path, words in ((PRODUCT, _PRODUCTS), (VENDOR, _VENDORS)):
        text = (read_attribute(host, path) or "").lower()
        for word, hypervisor in words.items():
            if word in text:
                return hypervisor
    return read_attribute(host, TYPE) or None


def advice(hypervisor: str | None) -> str:
    """Return what to do on a machine whose CPU has no AES instructions; None: it is not known to be virtual."""
    if hypervisor is None:
        return "The CPU has no AES instructions, or the firmware's setup has them switched off."
    hint = _HINTS.get(hypervisor, _HINT)
    return f"The hypervisor shows no AES instructions to this virtual machine, or its own CPU has none. {hint}."
