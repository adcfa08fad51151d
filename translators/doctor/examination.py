"""The list in its order, and how it is gone through: no check can stop the others, nor take for ever."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from translators.doctor import activity, devices, drivers, firmware, hardware, ipsec, log, services
from translators.doctor.finding import UNKNOWN, Check, Finding
from translators.host import ProgramTimeoutError
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from translators.doctor.look import Look

# What comes first explains what comes later: begin with the first problem.
CHECKS: Final = (
    Check("hardware", "QAT hardware", hardware.hardware),
    Check("firmware-setup", "BIOS or UEFI setup", hardware.firmware_setup),
    Check("passthrough", "Virtual machine", hardware.passthrough),
    Check("driver", "Driver", drivers.bound),
    Check("both-drivers", "Only one driver installed", drivers.both),
    Check("stack", "Generation and stack", drivers.stack),
    Check("firmware-file", "Firmware file", firmware.files),
    Check("configuration-file", "Configuration file", devices.configuration, root=True),
    Check("device-state", "Device up", devices.state, root=True),
    Check("services", "Services for IPsec", services.services, root=True),
    Check("kernel-algorithms", "Kernel algorithms", ipsec.algorithms, root=True),
    Check("ipsec", "IPsec", ipsec.tunnels, root=True),
    Check("interrupts", "Interrupts", activity.interrupts, root=True),
    Check("counters", "Requests", activity.counters, root=True),
    Check("heartbeat", "Heartbeat", activity.beats, root=True),
    Check("device-errors", "Errors counted", devices.errors),
    Check("aes-instructions", "AES instructions", hardware.aes),
    Check("kernel-log", "Kernel log", log.kernel, root=True),
    Check("iommu", "IOMMU", log.iommu, root=True),
)
SECONDS: Final = 10.0
_AS_ROOT: Final = "Run this as root: only root may read what it looks at."


def examine(
    look: Look, *, root: bool, checks: Sequence[Check] = CHECKS, seconds: float = SECONDS
) -> Iterator[tuple[Check, Finding]]:
    """Yield the findings of each check, at least one of each.

    A check that takes longer than ``seconds``, its own waiting not counted, is given up. ``root``: this is root, who
    may read all; where not, and the machine kept something back, findings that lack something say so.
    """
    for check in checks:
        for finding in _ended(check, look, seconds):
            lacking = finding.verdict == UNKNOWN and check.root and not root and look.denied
            yield check, replace(finding, action=_AS_ROOT) if lacking else finding


def _ended(check: Check, look: Look, seconds: float) -> list[Finding]:
    """Return the findings of a check; what it was still about to find after its time is left out."""
    found: list[Finding] = []
    # A read of a device that hangs can't be broken off. The thread does not keep the program from ending.
    thread = threading.Thread(target=_carry_out, args=(check, look, found), daemon=True)
    thread.start()
    limit = seconds + look.interval
    thread.join(limit)
    told = list(found)
    if thread.is_alive():
        text = f"it did not end within {limit:g} s: a device, or the system, does not answer"
        told.append(Finding(UNKNOWN, text, "See the kernel log, and whether a CPU hangs."))
    return told


def _carry_out(check: Check, look: Look, found: list[Finding]) -> None:
    try:
        found.extend(check.examine(look))
    except (SourceError, ProgramTimeoutError) as error:
        found.append(Finding(UNKNOWN, str(error)))
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        found.append(Finding(UNKNOWN, text))
    except Exception as error:  # noqa: BLE001 - a fault in one check must not hide what the others find
        found.append(Finding(UNKNOWN, f"a fault of this program ({type(error).__name__}: {error})", "Report it."))
