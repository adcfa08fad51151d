"""/proc/cpuinfo: Linux, Documentation/arch/x86/cpuinfo.rst. All CPUs of a machine are taken to be like the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, read_text, shown

if TYPE_CHECKING:
    from translators.host import Host

CPUINFO: Final = "/proc/cpuinfo"

# Identities of hardware-acceleration-types by the kernel's flags.
FEATURES: Final = {
    "aes": "aes-ni",
    "vaes": "vaes",
    "pclmulqdq": "pclmulqdq",
    "vpclmulqdq": "vpclmulqdq",
    "sha_ni": "sha-ni",
    "gfni": "gfni",
    "ssse3": "ssse3",
    "avx": "avx",
    "avx2": "avx2",
    "avx512f": "avx512",
    "avx512ifma": "avx512-ifma",
    "adx": "adx",
    "bmi2": "bmi2",
    "rdrand": "rdrand",
    "rdseed": "rdseed",
}


@dataclass(frozen=True, slots=True)
class Cpu:
    """What the kernel says of a CPU; ``flags`` is None where it names none, as on other architectures than x86."""

    model: str | None
    vendor: str | None
    flags: frozenset[str] | None

    @property
    def architecture(self) -> str | None:
        """The architecture, where the flags tell it: long mode is x86_64."""
        return "x86_64" if self.flags is not None and "lm" in self.flags else None


def read(host: Host) -> Cpu | None:
    """Return the first CPU, None where the machine does not say. Raises SourceError."""
    text = read_text(host, CPUINFO)
    return None if text is None else parse(text)


def parse(text: str) -> Cpu:
    """Return the first CPU of the file. Raises SourceError for a text without one."""
    first, _, _ = text.strip().partition("\n\n")
    values: dict[str, str] = {}
    for line in first.splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            raise SourceError(CPUINFO, f"{shown(line)} is no property of a CPU")
        values.setdefault(name.strip(), value.strip())
    if "processor" not in values:
        raise SourceError(CPUINFO, "does not begin with a processor")
    flags = values.get("flags")
    return Cpu(
        model=values.get("model name") or None,
        vendor=values.get("vendor_id") or None,
        flags=None if flags is None else frozenset(flags.split()),
    )
