"""What the kernel's log says of the devices, and whether the IOMMU keeps them from being used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, addresses, no_device
from translators.qat.devices import PCI_DEVICES
from translators.qat.drivers import OUT_OF_TREE
from translators.qat.kernel_log import KMSG
from translators.qat.kernel_log_rules import IOMMU
from translators.sources import read_link_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.doctor.finding import Verdict
    from translators.doctor.look import Look

# The last ones that differ: a device that fails says the same again and again.
SHOWN: Final = 5
_GRAVE: Final = frozenset({"critical", "major"})
_IOMMU: Final = re.compile("Cannot use PF with IOMMU enabled")


def kernel(look: Look) -> Iterator[Finding]:
    """Return the last errors that the kernel's log has of QAT devices since the boot, each with advice."""
    if look.log is None:
        yield Finding(UNKNOWN, f"there is no {KMSG}")
        return
    # The check of the IOMMU has that line.
    errors = [error for error in look.log if not _IOMMU.search(error.message)]
    distinct = tuple(dict.fromkeys(reversed(errors)))[::-1]
    earlier = distinct[:-SHOWN]
    if earlier:
        grave = any(error.severity in _GRAVE for error in earlier)
        text = f"{len(earlier)} more before the following"
        yield Finding(PROBLEM if grave else OK, text, "See them all: dmesg | grep -i qat")
    for error in distinct[-SHOWN:]:
        verdict: Verdict = PROBLEM if error.severity in _GRAVE else OK
        where = f"{error.address}: " if error.address and error.address not in error.message else ""
        yield Finding(verdict, f"{where}{error.message} ({error.kind}, {error.severity})", _sentence(error.advice))
    if not distinct:
        yield Finding(OK, "no errors of QAT devices since the boot")


def iommu(look: Look) -> Iterator[Finding]:
    """Return whether the out-of-tree driver kept user space from using a physical function, as the IOMMU is on."""
    physical = [device for device in look.devices if not device.id.virtual]
    if not physical:
        yield no_device()
        return
    grouped = [
        device for device in physical if read_link_name(look.host, f"{PCI_DEVICES}/{device.address}/iommu_group")
    ]
    if look.driver_kind != OUT_OF_TREE:
        yield Finding(NOT_APPLICABLE, "only the out-of-tree driver does not go with an IOMMU")
        return
    if look.log is None:
        if grouped:
            yield Finding(UNKNOWN, f"the IOMMU is on for {addresses(grouped)}, and there is no {KMSG} to say more")
        else:
            yield Finding(OK, "the IOMMU is off for the devices")
        return
    refused = [
        device
        for device in physical
        if any(_IOMMU.search(error.message) and error.address == device.address for error in look.log)
    ]
    if refused:
        yield Finding(
            PROBLEM,
            f"'Cannot use PF with IOMMU enabled': {addresses(refused)} may be up, but not for programs in user space",
            f"{_sentence(IOMMU)} IPsec in the kernel is not concerned.",
        )
    else:
        yield Finding(OK, f"the driver does not complain of the IOMMU, which is {'on' if grouped else 'off'}")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
