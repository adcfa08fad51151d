"""What tests of the troubleshooting list share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from translators.doctor.examination import CHECKS, examine
from translators.doctor.look import Look

if TYPE_CHECKING:
    from translators.doctor.finding import Finding
    from translators.record import RecordedHost

QAT_SERVICE = "/etc/init.d/qat_service"
PF = "c3xxx@0000:01:00.0"
DEBUGFS = "/sys/kernel/debug"
PCI = "/sys/bus/pci/devices"
FOLDER = f"{DEBUGFS}/qat_c3xxx_0000:01:00.0"
RELEASE = "6.6.1"


def findings(host: RecordedHost, name: str, **options: Any) -> list[Finding]:
    """Return what one check finds on a machine; the options are those of ``Look``."""
    check = next(check for check in CHECKS if check.name == name)
    return [finding for _, finding in examine(Look(host, **options), root=True, checks=[check])]


def only(host: RecordedHost, name: str, **options: Any) -> Finding:
    """Return the one thing that a check finds."""
    (finding,) = findings(host, name, **options)
    return finding


def started(host: RecordedHost) -> RecordedHost:
    """Return a machine with its devices up."""
    host.run((QAT_SERVICE, "start"), timeout=1)
    return host


def in_tree(host: RecordedHost) -> RecordedHost:
    """Return a machine as if its driver were the kernel's own."""
    host.files["/sys/module/intel_qat/taint"] = b"\n"
    host.programs.pop(QAT_SERVICE, None)
    return host
