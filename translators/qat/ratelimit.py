"""Rate limits of a device of the kernel's driver: ``qat_rl`` in its sysfs directory, there while the device is up.

Source: Linux, Documentation/ABI/testing/sysfs-driver-qat_rl, adf_sysfs_rl.c and adf_rl.c. Nothing lists the limits: a
number is written to ``id`` and ``get`` to ``sla_op``, and the other files then say what that limit is. They are
registers that all their users share, so that reading takes writing. It changes no limit, and puts back what the
registers held; where nobody has used them there is no limit, and nothing is written. Of each number that is none the
kernel's log has a notice. None of this was seen on hardware.
"""

from __future__ import annotations

import errno
import re
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from translators.base import StepError
from translators.qat.devices import PCI_DEVICES
from translators.sources import SourceError, decoded, read_attribute, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.host import Host

# RL_NODES_CNT_MAX: roots, clusters and leafs have their numbers in common. Only leafs are limits of a user's.
IDS: Final = range(4 + 16 + 64)
_NUMBERS: Final = ("rp", "cir", "pir", "id")
_SERVICES: Final = frozenset({"asym", "sym", "dc"})
_DIGITS: Final = re.compile(r"0x[0-9a-f]{1,16}|-?[0-9]{1,10}")
_TEXT: Final = re.compile(r"(?P<srv>[a-z]+) (?P<rp>0x[0-9a-f]{1,16}) (?P<cir>[0-9]{1,10}) (?P<pir>[0-9]{1,10})")
_lock: Final = Lock()


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: ``ring_pairs`` is a mask; the rate that is guaranteed and the highest one, in thousandths."""

    service: str
    ring_pairs: int
    guaranteed: int
    highest: int

    def __str__(self) -> str:
        return f"{self.service} {self.ring_pairs:#x} {self.guaranteed} {self.highest}"


def parse(text: str) -> Limit:
    """Return the limit that ``str`` made a text of. Raises ValueError."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no rate limit")
    return Limit(match["srv"], int(match["rp"], 16), int(match["cir"]), int(match["pir"]))


def read(host: Host, address: str) -> tuple[Limit, ...]:
    """Return the limits in force, by number; none where the driver has none, or the device is down.

    Raises SourceError.
    """
    with _lock:
        return _read(host, address)


def bring_back(host: Host, address: str, limits: Iterable[Limit]) -> None:
    """Set those limits that are not in force. They may have other numbers than before. Raises StepError."""
    with _lock:
        try:
            there = _read(host, address)
            missing = [limit for limit in limits if limit not in there]
            for limit in missing:
                _add(host, address, limit)
            lost = set(missing) - set(_read(host, address)) if missing else set()
        except SourceError as error:
            raise StepError(str(error)) from error
    if lost:
        raise StepError(f"QAT {address} does not have the rate limit {min(map(str, lost))} after it was set")


def _read(host: Host, address: str) -> tuple[Limit, ...]:
    if not host.exists(_folder(address)):
        return ()
    service = _service(host, address)
    numbers = {name: _number(host, address, name) for name in _NUMBERS}
    if service is None and numbers["rp"] == numbers["id"] == 0:
        return ()
    try:
        found = [_limit(host, address, number) for number in IDS]
    finally:
        _put_back(host, address, service, numbers)
    return tuple(limit for limit in found if limit is not None)


def _limit(host: Host, address: str, number: int) -> Limit | None:
    """Return the limit with a number, None where there is none."""
    try:
        _assign(host, address, "id", str(number))
        _assign(host, address, "sla_op", "get")
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise SourceError(f"{_folder(address)}/sla_op", error.strerror or str(error)) from error
    service = _service(host, address)
    if service is None:
        raise SourceError(f"{_folder(address)}/srv", f"names no service of rate limit {number}")
    return Limit(service, *(_number(host, address, name) for name in ("rp", "cir", "pir")))


def _service(host: Host, address: str) -> str | None:
    """Return the register for a service, None where it was never used."""
    path = f"{_folder(address)}/srv"
    try:
        text = decoded(host.read(path), path).strip()
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise SourceError(path, error.strerror or str(error)) from error
    if text and text not in _SERVICES:
        raise SourceError(path, f"{shown(text)} is no service")
    return text or None


def _number(host: Host, address: str, name: str) -> int:
    path = f"{_folder(address)}/{name}"
    digits = read_attribute(host, path)
    if digits is None or _DIGITS.fullmatch(digits) is None:
        raise SourceError(path, "is not there" if digits is None else f"{shown(digits)} is no number")
    return int(digits, 16 if digits.startswith("0x") else 10)


def _add(host: Host, address: str, limit: Limit) -> None:
    try:
        for name, value in (
            ("srv", limit.service),
            ("rp", f"{limit.ring_pairs:#x}"),
            ("cir", str(limit.guaranteed)),
            ("pir", str(limit.highest)),
            ("sla_op", "add"),
        ):
            _assign(host, address, name, value)
    except OSError as error:
        text = f"the rate limit {limit} of QAT {address} can't be set: {error.strerror or error}"
        raise StepError(f"{text}; its ring pairs or its rate are taken, or have another service") from error


def _put_back(host: Host, address: str, service: str | None, numbers: dict[str, int]) -> None:
    values = {**({"srv": service} if service else {}), **numbers, "rp": f"{numbers['rp']:#x}"}
    for name, value in values.items():
        with suppress(OSError):
            _assign(host, address, name, str(value))


def _assign(host: Host, address: str, name: str, value: str) -> None:
    host.assign(f"{_folder(address)}/{name}", f"{value}\n".encode())


def _folder(address: str) -> str:
    return f"{PCI_DEVICES}/{address}/qat_rl"
