"""/proc/cpuinfo: what the CPUs of a machine have in common (Linux, Documentation/arch/x86/cpuinfo.rst)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, read_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """What the kernel says of a machine's CPUs.

    ``models`` are the different ones, the first CPU's first. ``flags`` are those that all CPUs have, ``uneven`` those
    that only some have; None where the kernel names none, as on other architectures than x86. ``sockets`` is None
    where the kernel does not number them.
    """

    models: tuple[str, ...]
    vendor: str | None
    flags: frozenset[str] | None
    uneven: frozenset[str] = frozenset()
    sockets: int | None = None

    @property
    def architecture(self) -> str | None:
        """The architecture, where the flags tell it: long mode is x86_64."""
        return "x86_64" if self.flags is not None and "lm" in self.flags else None

    @property
    def features(self) -> frozenset[str] | None:
        """The instructions for cryptography that all CPUs have, by identity; None where that can't be told."""
        if self.flags is None:
            return None
        return frozenset(identity for flag, identity in FEATURES.items() if flag in self.flags)


def read(host: Host) -> Cpu | None:
    """Return what the CPUs have in common, None where the machine does not say. Raises SourceError."""
    text = read_text(host, CPUINFO)
    return None if text is None else parse(text)


def parse(text: str) -> Cpu:
    """Return what the CPUs of the file have in common. Raises SourceError for a text without one."""
    if text and not text.endswith("\n"):
        raise SourceError(CPUINFO, "is cut off: its last line has no end")
    # Some architectures have a part of another kind at the end, for the machine as a whole.
    parts = list(_parts(text))
    if not parts or "processor" not in parts[0]:
        raise SourceError(CPUINFO, "does not begin with a processor")
    cpus = [values for values in parts if "processor" in values]
    # CPUs of one kind have one text: a machine with 500 has it split once.
    flags = [frozenset(text.split()) for text in {values["flags"] for values in cpus if "flags" in values}]
    common = frozenset.intersection(*flags) if flags and all("flags" in values for values in cpus) else None
    sockets = {values["physical id"] for values in cpus if "physical id" in values}
    return Cpu(
        models=tuple(dict.fromkeys(name for values in cpus if (name := values.get("model name")))),
        vendor=cpus[0].get("vendor_id") or None,
        flags=common,
        uneven=frozenset() if common is None else frozenset.union(*flags) - common,
        sockets=len(sockets) or None,
    )


def _parts(text: str) -> Iterator[dict[str, str]]:
    values: dict[str, str] = {}
    for whole in text.split("\n"):
        line = whole.strip()
        if not line:
            if values:
                yield values
            values = {}
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise SourceError(CPUINFO, f"{shown(line)} is no property of a CPU")
        values.setdefault(name.strip(), value.strip())
