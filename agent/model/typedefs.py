"""Typedefs with a canonical form of their own (RFC 6991), by module and name; libyang has the same ones."""

from __future__ import annotations

import re
import time
from calendar import timegm
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_CYCLE: Final = 400
"""Years after which the calendar repeats itself."""
_SECONDS: Final = 146097 * 86400
"""How long that is."""


def _ipv6_address(text: str) -> str:
    """In lower case, shortened (RFC 5952); the zone stays as it is."""
    address, percent, zone = text.partition("%")
    return inet_ntop(AF_INET6, _packed(AF_INET6, address, text)) + percent + zone


def _prefix(family: int) -> Callable[[str], str]:
    def canonical(text: str) -> str:
        """All bits that are not part of the prefix are zero."""
        address, _slash, length = text.partition("/")
        packed = _packed(family, address, text)
        bits = 8 * len(packed)
        if not re.fullmatch("[0-9]{1,3}", length) or int(length) > bits:
            raise ValueError(f'"{text}" is not an address and the length of its prefix')
        kept = int.from_bytes(packed, "big") >> (bits - int(length)) << (bits - int(length))
        return f"{inet_ntop(family, kept.to_bytes(len(packed), 'big'))}/{int(length)}"

    return canonical


def _packed(family: int, address: str, text: str) -> bytes:
    try:
        return inet_pton(family, address)
    except (OSError, ValueError):
        raise ValueError(f'"{text}" is not an address') from None


def _date_and_time(text: str) -> str:
    """In the machine's time zone, by the offset that it has at that time; in UTC, with a Z, where it is unknown."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a date and time with its zone')
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if not 1 <= month <= 12:  # noqa: PLR2004 - months
        raise ValueError(f'"{text}" has no such month')
    later = int(year < _CYCLE)  # timegm knows no year 0
    at = timegm((year + later * _CYCLE, month, 1, hour, minute, second)) - later * _SECONDS + (day - 1) * 86400
    fraction, sign = match[7] or "", match[8]
    offset = (int(match[9]) * 60 + int(match[10])) * 60 if sign else 0
    if not sign or (sign == "-" and not offset):
        return f"{_clock(time.gmtime(at))}{fraction}Z"
    local = time.localtime(at - offset if sign == "+" else at + offset)
    minutes = abs(local.tm_gmtoff) // 60
    zone = f"{'-' if local.tm_gmtoff < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{_clock(local)}{fraction}{zone}"


def _clock(at: time.struct_time) -> str:
    return f"{at.tm_year:04}-{at.tm_mon:02}-{at.tm_mday:02}T{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"


CANONICAL: Final[dict[tuple[str, str], Callable[[str], str]]] = {
    ("ietf-inet-types", "ipv6-address"): _ipv6_address,
    ("ietf-inet-types", "ipv6-address-no-zone"): _ipv6_address,
    ("ietf-inet-types", "ipv4-prefix"): _prefix(AF_INET),
    ("ietf-inet-types", "ipv6-prefix"): _prefix(AF_INET6),
    ("ietf-yang-types", "date-and-time"): _date_and_time,
    ("ietf-yang-types", "phys-address"): str.lower,
    ("ietf-yang-types", "mac-address"): str.lower,
    ("ietf-yang-types", "hex-string"): str.lower,
    ("ietf-yang-types", "uuid"): str.lower,
}
XPATH: Final = ("ietf-yang-types", "xpath1.0")
NODE_INSTANCE: Final = ("ietf-netconf-acm", "node-instance-identifier")
HOLD_PREFIXES: Final = {XPATH, NODE_INSTANCE}
"""Those whose values hold prefixes."""
