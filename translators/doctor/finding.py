"""What a check finds, and what a check is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from translators.doctor.look import Look
    from translators.qat.devices import Device

Verdict: TypeAlias = Literal["ok", "problem", "not-applicable", "unknown"]

OK: Final = "ok"
PROBLEM: Final = "problem"
NOT_APPLICABLE: Final = "not-applicable"
# The machine does not tell, or not to this user: neither good nor bad.
UNKNOWN: Final = "unknown"
# How an agent is told to have the devices up; what is done past it, it may undo.
BY_AGENT: Final = "accel-agent set qat enabled true, then accel-agent commit"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the list: what was seen, and what to do about it, in words."""

    verdict: Verdict
    text: str
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """``name`` is for programs and stays as it is, ``title`` for people.

    ``examine`` returns one finding for all that is well, and one for each thing that is not; it may raise anything.
    ``root``: what it reads is readable for root only.
    """

    name: str
    title: str
    examine: Callable[[Look], Iterable[Finding]]
    root: bool = False


def no_device() -> Finding:
    """Return the finding of a check that is about devices, where there is none."""
    return Finding(NOT_APPLICABLE, "there is no QAT device that this system drives")


def none_up(look: Look) -> Finding:
    """Return the finding of a check that is about running devices, where none is known to run."""
    if any(state.status == "unknown" for state in look.states.values()):
        return Finding(UNKNOWN, "whether a QAT device is up can't be told")
    return Finding(NOT_APPLICABLE, "no QAT device is up")


def addresses(devices: Iterable[Device]) -> str:
    """Return devices as a list for a sentence."""
    return ", ".join(device.address for device in devices)
