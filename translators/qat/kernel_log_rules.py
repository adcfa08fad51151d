"""Which lines of the kernel's log tell of a QAT device's error: one table, the first rule that matches counts.

The lines are the drivers': Linux, drivers/crypto/intel/qat/qat_common (adf_init.c, adf_accel_engine.c, adf_isr.c,
adf_sysfs.c, adf_gen4_ras.c, adf_heartbeat.c …), their out-of-tree counterparts, and what the kernel itself says of
these devices. None was provoked on hardware for this table. "started N acceleration engines" is no error and no
proof of a device that is up: it is printed before the firmware has answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of line. ``kind`` and ``severity`` are those of hardware-acceleration-types; no kind: no error."""

    pattern: re.Pattern[str]
    kind: str | None
    severity: str
    advice: str


def _rule(pattern: str, kind: str | None = None, severity: str = "", advice: str = "") -> Rule:
    return Rule(re.compile(pattern), kind, severity, advice)


_FILE: Final = "put the file that belongs to this driver below /lib/firmware, also of the initramfs, and load it again"
_OTHER_FIRMWARE: Final = (
    "the firmware file is that of the other driver (in-tree and out-of-tree files have the same names): install the "
    "one that belongs to the loaded driver; starting again changes nothing"
)
_COLD_BOOT: Final = "the firmware does not answer: switch the machine off and on again, a warm boot may not do"
_SEE_ABOVE: Final = "the lines before this one in the kernel log say why"
_CONFIGURATION: Final = "check the device's configuration file and its ServicesEnabled"
_RESET: Final = "the device needs a reset: restart it; if that fails, switch the machine off and on again"
_VECTORS: Final = "give the device more interrupt vectors: fewer devices or virtual functions, or no pci=nomsi"
_MISMATCH: Final = (
    "modules of two drivers, or of another kernel, are mixed: remove one driver, build the other for this kernel"
)
IOMMU: Final = (
    "the device is up and can't be used from its physical function: use virtual functions, or boot with iommu=pt"
)
_TOOL: Final = "the out-of-tree driver's tool is used with the kernel's own driver: use the tool that goes with it"
_CONSUMER: Final = "the fault lies with the user of the device: find it and let it end its requests first"
_QUIET: Final = "watch whether the count grows"
_LINK: Final = "check the device's slot, riser and the PCI Express link"
_FULL: Final = "more requests come than the device takes: spread them, or use the CPU for some"

RULES: Final = (
    # What the drivers say when all is well, or what merely goes with an error that has its own line.
    _rule(r"qat_dev\d+ (started|stopped) \d+ acceleration engines"),
    _rule(r"(Starting|Stopping|Restarting|Resetting) device qat_dev\d+"),
    _rule(r"Secondary bus reset|Function level reset|Device qat_dev\d+ already (configured|down|up)"),
    # Firmware.
    _rule(r"Direct firmware load for \S+ failed with error -2\b", "firmware", "critical", f"it is missing: {_FILE}"),
    _rule(r"Direct firmware load for \S+ failed", "firmware", "critical", f"it can't be read: {_FILE}"),
    _rule(r"Failed to load (MMP|UOF|mmp|uof|SUOF|MOF) firmware", "firmware", "critical", _FILE),
    _rule(r"[Ii]nvalid header|[Ff]ailed to map (FW|SUOF)|map (SUOF|MOF|UOF) failed", "firmware", "critical",
          _OTHER_FIRMWARE),
    _rule(r"[Ff]ailed to load acceleration FW|Failed to load (FW|firmware)", "firmware", "critical", _SEE_ABOVE),
    _rule(r"firmware: failed to load qat_\S+", "firmware", "critical", _FILE),
    _rule(r"[Aa]uthenticat\w+ (error|fail)|FW [Aa]uth\w* fail|fw signature", "firmware", "critical",
          "the device refused the firmware: install the file that belongs to the driver; on a PF that was passed "
          "through, pass virtual functions through instead and boot the machine cold"),
    _rule(r"Failed to send (init|admin|sync) message|Failed to send admin msg", "firmware", "critical", _COLD_BOOT),
    _rule(r"AE ?\d+ is inactive", "firmware", "critical", _COLD_BOOT),
    _rule(r"[Ff]ailed to initiali[sz]e Acceleration Engine|AE [Ss]tart [Ff]ailed|[Ff]ailed to start AE", "firmware",
          "critical", _COLD_BOOT),
    # Heartbeat.
    _rule(r"(?i)heartbeat.*(fail|error|not respond|lost)|QAT is not responding", "heartbeat", "critical", _RESET),
    # Errors that the device counts (the words overlap: uncorrectable comes before correctable).
    _rule(r"Fatal error, reset required", "fatal", "critical", _RESET),
    _rule(r"PCIe Bus Error: severity=Corrected", "bus", "warning", _LINK),
    _rule(r"PCIe Bus Error|AER: ", "bus", "major", _LINK),
    _rule(r"(?i)\b(correctable|corrected) error", "correctable", "warning", _QUIET),
    _rule(r"(?i)\bfatal\b.*\berror|\berror\b.*\bfatal\b", "fatal", "critical", _RESET),
    _rule(r"(?i)uncorrectable|parity (error|detected)|non-?fatal", "uncorrectable", "major", _RESET),
    _rule(r"(?i)acceleration driver hardware error|can't recover from device error", "fatal", "critical", _RESET),
    _rule(r"(?i)push.*error|pull.*error|\bSSM\b.*error|slice.*(hang|error)", "uncorrectable", "major", _RESET),
    # Memory.
    _rule(r"(?i)out of memory|(fail\w*|can't|unable) to (alloc\w*|map)\b(?!.*(MSI|vector|interrupt|irq))", "memory",
          "major", "the driver found no memory for the device: free some, or reserve more for it"),
    # Rings and requests.
    _rule(r"(?i)ring\b.*(full|overflow)|queue (is )?full|rings? .*congest", "ring-overflow", "major", _FULL),
    _rule(r"There are \d+ requests? pending", "other", "minor", _CONSUMER),
    _rule(r"RIP: [0-9a-f]+:(adf|qat)_\w+", "other", "critical",
          "a CPU hangs or faulted in the driver: switch QAT off (acceleration/qat/enabled false) and boot the machine"),
    # Configuration.
    _rule(r"Device not configured|Failed to configure|QAT Error", "configuration", "critical", _CONFIGURATION),
    _rule(r"Only version 2 config file supported", "configuration", "critical", "set ConfigVersion = 2"),
    _rule(r"Invalid NUMA configuration", "configuration", "critical",
          "the machine's NUMA configuration does not let the driver use the device: change it in the firmware setup"),
    _rule(r"No acceleration units? found", "configuration", "critical",
          "all of the device's units are fused off or disabled"),
    _rule(r"Wireless mode is not supported", "configuration", "critical",
          "the device is fused for wireless mode, which this driver does not take"),
    _rule(r"must be down to", "configuration", "minor", "bring the device down, change the setting, bring it up"),
    _rule(r"Device qat_dev\d+ is busy|[Dd]evice busy", "configuration", "minor",
          "the device is in use or in reset: end what uses it, virtual functions included, and try again"),
    _rule(r"[Qq]at Device not started|QAT Device not started", "configuration", "minor",
          "a file of a stopped device was read"),
    # Driver.
    _rule(r"Failed to register crypto algs", "driver", "major",
          "IPsec can't use the device: see /proc/crypto, and whether another driver has the same algorithms"),
    _rule(r"QAT: Invalid ioctl|Ioctl failed|Get real id failed", "driver", "major", _TOOL),
    _rule(r"Unknown symbol|disagrees about version of symbol", "driver", "critical", _MISMATCH),
    _rule(r"probe (of \S+|with driver \S+) failed with error -14\b", "firmware", "critical",
          f"{_SEE_ABOVE}; where none of them names a file, {_COLD_BOOT}"),
    _rule(r"probe (of \S+|with driver \S+) failed with error", "driver", "critical", _SEE_ABOVE),
    _rule(r"[Ff]ailed to start device qat_dev\d+|Failed to (re)?start device|Failed to restart", "driver", "critical",
          _SEE_ABOVE),
    _rule(r"[Ff]ailed to stop device|Failed to shutdown", "driver", "major",
          "the device is still in use: end what uses it and try again"),
    _rule(r"sysfs group 'qat_\w+' not found", "driver", "minor",
          "the driver cleaned up a device that had not started: the lines before say why it had not"),
    _rule(r"removing non-empty directory 'irq/\d+'.*'qat\d+-", "driver", "minor",
          "the driver left an interrupt behind when it gave the device up: it is gone after a boot"),
    # Bus.
    _rule(r"Cannot use PF with IOMMU enabled", "bus", "critical", IOMMU),
    _rule(r"(?i)failed to (allocate|enable|request) .*(MSI|vectors?|interrupts?|irq)", "bus", "critical", _VECTORS),
    _rule(r"Too many ints from VF\d+", "bus", "major",
          "the virtual function raised more interrupts than are let through: see what its user does"),
    _rule(r"(?i)DMAR:|IO_PAGE_FAULT|(can'?t|cannot|failed to) (enable|change power state|map BAR)", "bus", "major",
          _LINK),
)  # fmt: skip

# KERN_ERR: a driver's line at this level or a graver one is an error, also where no rule knows it.
ERROR_LEVEL: Final = 3
UNKNOWN_ADVICE: Final = "see the lines around it in the kernel log"


def rule_of(text: str) -> Rule | None:
    """Return the rule for a line of QAT's, None where none is known."""
    return next((rule for rule in RULES if rule.pattern.search(text)), None)
