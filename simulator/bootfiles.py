"""Files that a machine has from its boot on and that no program of it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.families import FAMILIES
from simulator.specification import HOST_BRIDGE, NETWORK_CARDS, virtual_functions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simulator.machine.families import Family, Release
    from simulator.specification import DeviceSpec

_INTEL = 0x8086
_DRIVERS = "kernel/drivers/crypto/intel/qat"
_CPU_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 "
    "ht syscall nx pdpe1gb rdtscp lm constant_tsc arch_perfmon rep_good nopl xtopology nonstop_tsc "
    "cpuid aperfmperf pni pclmulqdq monitor ssse3 cx16 sse4_1 sse4_2 x2apic movbe popcnt rdrand lahf_lm "
    "3dnowprefetch ibrs ibpb stibp fsgsbase smep erms mpx rdseed smap clflushopt sha_ni xsaveopt xsavec "
    "xgetbv1 arat md_clear arch_capabilities"
)

_CPU = """\
processor\t: {cpu}
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 95
model name\t: Intel(R) Atom(TM) CPU C3000 @ 2.10GHz
stepping\t: 1
microcode\t: 0x3a
cpu MHz\t\t: {mhz}
cache size\t: 2048 KB
physical id\t: 0
siblings\t: {cpus}
core id\t\t: {cpu}
cpu cores\t: {cpus}
apicid\t\t: {apic}
fpu\t\t: yes
fpu_exception\t: yes
cpuid level\t: 21
wp\t\t: yes
flags\t\t: {flags}
bugs\t\t: spectre_v1 spectre_v2
bogomips\t: 4200.00
clflush size\t: 64
cache_alignment\t: 64
address sizes\t: 39 bits physical, 48 bits virtual
power management:

"""

_OS_RELEASE = """\
PRETTY_NAME="VyOS 1.4 (simulated gateway)"
NAME="VyOS"
VERSION_ID="1.4"
VERSION="1.4 (simulated gateway)"
ID=vyos
ID_LIKE=debian
"""

_IPSEC_CONF = """\
# A site-to-site tunnel. Its algorithms are ones that an accelerator can take over from the kernel.
config setup

conn branch
    keyexchange=ikev2
    ike=aes256-sha256-modp3072
    esp=aes256-sha256-modp3072
    left=192.0.2.17
    leftid=gateway.example
    leftsubnet=10.17.0.0/16
    right=198.51.100.29
    rightid=branch.example
    rightsubnet=10.29.0.0/16
    authby=secret
    dpdaction=restart
    closeaction=restart
    auto=start
"""


def render(*, cpus: int, aes: bool, virtual: bool) -> Iterator[tuple[str, str]]:
    """Return (path, text) of what does not depend on the devices."""
    yield "etc/os-release", _OS_RELEASE
    yield "proc/cpuinfo", _cpuinfo(cpus, aes=aes, virtual=virtual)
    yield "sys/class/dmi/id/sys_vendor", "QEMU\n" if virtual else "Example Networks\n"
    yield "sys/class/dmi/id/product_name", "Standard PC (Q35)\n" if virtual else "Gateway 3000\n"


def ipsec() -> Iterator[tuple[str, str]]:
    """Return (path, text) of strongSwan's configuration."""
    yield "etc/ipsec.conf", _IPSEC_CONF


def driver_files(families: Sequence[Family], kernel: Release) -> Iterator[tuple[str, str]]:
    """Return (path, text) of the kernel's own driver: its modules and their firmware, as far as anybody looks at them.

    Firmware: Intel's release notes of the in-tree driver; a 401xx takes that of a 4xxx.
    """
    release = f"{kernel[0]}.{kernel[1]}.0-amd64"
    modules = {
        "intel_qat": f"{_DRIVERS}/qat_common/intel_qat.ko",
        **{family.module: f"{_DRIVERS}/{family.module}/{family.module}.ko" for family in families if family.module},
    }
    yield "proc/sys/kernel/osrelease", f"{release}\n"
    yield f"lib/modules/{release}/modules.dep", "".join(f"{path}:\n" for path in modules.values())
    for path in modules.values():
        yield f"lib/modules/{release}/{path}", ""
    for family in families:
        if family.firmware:
            yield f"lib/firmware/qat_{family.firmware}.bin", ""
            yield f"lib/firmware/qat_{family.firmware}_mmp.bin", ""


def pci_files(devices: Sequence[DeviceSpec]) -> Iterator[tuple[str, str]]:
    """Return (path, text) of the PCI functions' files in sysfs."""
    yield from _function(HOST_BRIDGE, device=0x1980, revision=0x11, kind=0x060000)
    for address in NETWORK_CARDS:
        yield from _function(address, device=0x1521, revision=0x01, kind=0x020000)
    for device in devices:
        family = FAMILIES[device.type]
        address = str(device.address)
        yield from _function(address, device=family.device_id, revision=family.revision, kind=0x0B4000)
        if family.functions:
            folder = _folder(address)
            yield f"{folder}/sriov_totalvfs", f"{family.functions}\n"
            yield f"{folder}/sriov_numvfs", f"{len(virtual_functions(device, devices))}\n"


def pci_links(devices: Sequence[DeviceSpec]) -> Iterator[tuple[str, str]]:
    """Return (path, target) of the PCI functions' links in sysfs, except to the accelerators' drivers."""
    for address in NETWORK_CARDS:
        yield f"{_folder(address)}/driver", "../../../../bus/pci/drivers/igb"
        yield f"sys/bus/pci/drivers/igb/{address}", f"../../devices/{address}"
    for physical in devices:
        for index, virtual in enumerate(virtual_functions(physical, devices)):
            yield f"{_folder(str(physical.address))}/virtfn{index}", f"../{virtual.address}"
            yield f"{_folder(str(virtual.address))}/physfn", f"../{physical.address}"


def _function(address: str, *, device: int, revision: int, kind: int) -> Iterator[tuple[str, str]]:
    for name, text in (
        ("vendor", f"0x{_INTEL:04x}"),
        ("device", f"0x{device:04x}"),
        ("subsystem_vendor", f"0x{_INTEL:04x}"),
        ("subsystem_device", "0x0000"),
        ("revision", f"0x{revision:02x}"),
        ("class", f"0x{kind:06x}"),
        ("numa_node", "0"),
    ):
        yield f"{_folder(address)}/{name}", f"{text}\n"


def _folder(address: str) -> str:
    return f"sys/bus/pci/devices/{address}"


def _cpuinfo(cpus: int, *, aes: bool, virtual: bool) -> str:
    flags = _CPU_FLAGS + (" aes" if aes else "") + (" hypervisor" if virtual else "")
    return "".join(
        _CPU.format(cpu=cpu, cpus=cpus, apic=cpu * 2, mhz=f"{2100 + cpu % 7 * 13:.3f}", flags=flags)
        for cpu in range(cpus)
    )
