"""What an operator can do about the offload of an SA, in words. No speed is promised: both ways are to be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from translators.crypto.esp import EspAlgorithms

# The best that QAT's kernel driver has.
_BEST: Final = "AES_CBC with HMAC_SHA2_256_128 or HMAC_SHA2_512_256, without ESN"
# Linux, commit 8024774190a5 of 2025; it was 4001 before.
_LOWERED: Final = 100
_MEASURE: Final = "measure both with your own traffic"
_VAES: Final = frozenset({"vaes", "vpclmulqdq"})


def user_space() -> str:
    """Return what to do where charon encrypts packets itself."""
    return "For QAT by the kernel, have charon load kernel-netlink in place of kernel-libipsec."


def offloaded(references: int | None, features: frozenset[str] | None) -> str | None:
    """Return what could be better though QAT does the work; ``references`` of its algorithm."""
    parts = []
    if references == 1:
        parts.append("Nothing uses the algorithm yet: an SA that is older than the driver moves to it by a rekey.")
    if features is not None and features >= _VAES:
        parts.append(_cpu(features))
    return " ".join(parts) or None


def partial(esp: EspAlgorithms) -> str:
    """Return what takes the hash to QAT too."""
    changes = [] if esp.esn and _whole_but_for_esn(esp) else [f"propose {_BEST}"]
    if esp.esn:
        changes.insert(0, "switch ESN off, which QAT does not have")
    return f"For all of it on QAT, {' and '.join(changes)}; {_MEASURE}."


def not_selected(qat: int, other: int, features: frozenset[str] | None) -> str:
    """Return what to do where QAT has the algorithm and the SA another driver, by the priorities of both."""
    if qat >= other:
        return "Rekey the SA: a new one is given what has the higher priority."
    if qat > _LOWERED:
        return f"The other driver goes before QAT as long as it is loaded. {_cpu(features)}"
    return (
        "Kernels since 2025 give QAT a low priority on purpose, as the CPU does small requests faster. "
        f"{_cpu(features)}"
    )


def not_offloadable(esp: EspAlgorithms, features: frozenset[str] | None) -> str:
    """Return the best that QAT has in place of an algorithm that it does not have, and whether the CPU is faster."""
    if esp.esn and _whole_but_for_esn(esp):
        return f"QAT has this algorithm without ESN only. {_cpu(features)}"
    return f"The best that QAT has in the kernel is {_BEST}. {_cpu(features)}"


def software(*, failed: bool) -> str:
    """Return what to look at where QAT could do the work; ``failed``: its algorithm is there and unusable."""
    if failed:
        return "Look at the kernel log for what the self-test of QAT's driver says."
    return (
        "If this machine is to use QAT: is a device up, does it have the sym service, does the kernel's driver "
        "register algorithms (an out-of-tree one only if built with --enable-qat-lkcf, Linux 5.18 never)?"
    )


def _cpu(features: frozenset[str] | None) -> str:
    if features is None:
        return f"What the CPU can do is not known: {_MEASURE}."
    if features >= _VAES:
        return (
            f"This CPU has vector AES (VAES): AES-GCM on it is usually faster than QAT through the kernel; {_MEASURE}."
        )
    if "aes-ni" in features:
        return (
            "This CPU has AES instructions: with them AES-GCM on a fast core can be faster than QAT, and QAT faster "
            f"than a slow core; {_MEASURE}."
        )
    return f"This CPU has no AES instructions, so QAT is probably faster than the CPU; {_MEASURE}."


def _whole_but_for_esn(esp: EspAlgorithms) -> bool:
    return esp.encryption == "AES_CBC" and esp.integrity in {
        "HMAC_SHA1_96",
        "HMAC_SHA2_256_96",
        "HMAC_SHA2_256_128",
        "HMAC_SHA2_512_256",
    }
