"""What ``qat_service status`` prints: adf_ctl's list of devices.

Form: ` qat_dev0 - type: c3xxx,  inst_id: 0,  node_id: 0,  bsf: 0000:01:00.0,  #accel: 3 #engines: 6 state: up`
(adf_ctl.cpp, print_dev_info). Older tools write `=` for `:`, bdf for bsf, no domain, `00:0b:0` for `00:0b.0`, no
node_id, icp_dev for qat_dev. The exit status is 0 whatever happened, so only the text counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_DEVICE: Final = re.compile(
    r"(?P<name>(?:qat|icp)_dev(?P<number>[0-9]{1,9})) +- +"
    r"type[:=] *(?P<type>[\w-]+), *"
    r"inst_id[:=] *(?P<instance>[0-9]{1,9}), *"
    r"(?:node_id[:=] *-?[0-9]+, *)?"
    r"b[sd]f[:=] *(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<slot>[0-9a-f]{2})[.:](?P<function>[0-7]), *"
    r"#accel[:=] *[0-9]+,? *#engines[:=] *[0-9]+,? *state[:=] *(?P<state>up|down)\b"
)


@dataclass(frozen=True, slots=True)
class StatusRow:
    """A device as the tool lists it. ``instance`` is its number within its type, which its file is named after."""

    name: str
    type: str
    instance: int
    address: str
    up: bool


def parse(text: str) -> tuple[StatusRow, ...]:
    """Return the devices in the text, in its order; what surrounds them is left aside."""
    return tuple(
        StatusRow(
            name=match["name"],
            type=match["type"],
            instance=int(match["instance"]),
            address=f"{match['domain'] or '0000'}:{match['bus']}:{match['slot']}.{match['function']}",
            up=match["state"] == "up",
        )
        for match in _DEVICE.finditer(text)
    )


def name_of(rows: tuple[StatusRow, ...], address: str) -> str | None:
    """Return the tool's name of the device at an address; None where the list does not have exactly one."""
    names = {row.name for row in rows if row.address == address}
    return names.pop() if len(names) == 1 else None
