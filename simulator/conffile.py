"""The driver's configuration files as a distribution would ship them: crypto, for the kernel's IPsec."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.families import Family

_KERNEL_INSTANCES = 8

_HEAD = """\
# {title}
# The driver reads this file when the device is brought up: qat_service restart {device}

[GENERAL]
# The format of this file. There is no other.
ConfigVersion = 2

# cy: crypto, symmetric and public key; dc: compression; sym, asym: only one half of crypto
ServicesEnabled = cy

# How many requests an instance can have under way
CyNumConcurrentSymRequests = 1024
CyNumConcurrentAsymRequests = 128

# Milliseconds between two looks at the firmware, and whether a device that does not answer is reset
HeartbeatTimer = 1500
AutoResetOnError = 1

# Instances of the kernel: these carry IPsec
[KERNEL]
NumberCyInstances = {kernel}
NumberDcInstances = 0
"""

_USER = """
# Instances of programs in user space
[SSL]
NumberCyInstances = {user}
NumberDcInstances = 0
NumProcesses = 1
LimitDevAccess = 0
"""

_INSTANCE = """
Cy{index}Name = "{name}{index}"
Cy{index}IsPolled = {polled}
Cy{index}CoreAffinity = {core}
"""


def render(family: Family, instance: int, cpus: int) -> str:
    """Return the text of ``/etc/<type>_dev<instance>.conf`` on a machine with this many CPUs."""
    kernel, user = min(_KERNEL_INSTANCES, family.banks), min(2, family.banks)
    kind = "virtual function" if family.parent else "device"
    return (
        _HEAD.format(title=f"QuickAssist {family.name} {kind} {instance}", device="qat_dev<N>", kernel=kernel)
        + _instances(kernel, "IPsec", polled=0, cpus=cpus)
        + _USER.format(user=user)
        + _instances(user, "SSL", polled=1, cpus=cpus)
    )


def _instances(count: int, name: str, *, polled: int, cpus: int) -> str:
    return "".join(_INSTANCE.format(index=index, name=name, polled=polled, core=index % cpus) for index in range(count))
