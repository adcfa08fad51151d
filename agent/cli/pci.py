"""PCI addresses as people write them."""

from __future__ import annotations

import re
from typing import Final

_ADDRESS: Final = re.compile(
    r"(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{1,2}):(?P<slot>[01]?[0-9a-f])\.(?P<function>[0-7])"
)


def canonical(text: str) -> str | None:
    """Return an address as the model has it (``1:0.0`` is ``0000:01:00.0``), None for what is no address."""
    found = _ADDRESS.fullmatch(text.lower())
    if found is None:
        return None
    domain, bus, slot = (int(found[name] or "0", 16) for name in ("domain", "bus", "slot"))
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{found['function']}"


def short(address: str) -> str:
    """Return an address without the domain that most machines have only."""
    return address.removeprefix("0000:")
