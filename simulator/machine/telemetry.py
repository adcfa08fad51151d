"""``telemetry`` in a device's directory in debugfs (Linux: adf_tl_debugfs.c, adf_gen4_tl.c).

A device measures once a second from when it is switched on. How many slices of a kind there are differs on hardware;
these are numbers of Intel's scripts.
"""

import errno
import time
from functools import partial
from typing import TYPE_CHECKING

from simulator.machine.attributes import Attribute, View, number, refused
from simulator.machine.switch import service_of

if TYPE_CHECKING:
    from simulator.machine.settings import Settings

_SINCE = (6, 8)
_NAME_WIDTH = 23
_VALUE_WIDTH = 20
_MOST_HISTORY = 4
_SLOTS = "ABCD"
_SLICES = {"cpr": 1, "xlt": 1, "dcpr": 3, "pke": 6, "wat": 1, "wcp": 1, "ucs": 2, "cph": 4, "ath": 4}
# What of them IPsec keeps busy, in percent.
_USED = {"ucs": 6, "cph": 31, "ath": 24}
_DEVICE = {
    # name, value while nothing goes through, while IPsec does
    "pci_trans_cnt": (0, 52_310),
    "max_rd_lat": (0, 2_431),
    "rd_lat_acc_avg": (0, 902),
    "max_gp_lat": (0, 11_870),
    "gp_lat_acc_avg": (0, 7_264),
    "bw_in": (0, 3_812),
    "bw_out": (0, 3_975),
    "at_page_req_lat_avg": (0, 0),
    "at_trans_lat_avg": (0, 0),
    "at_max_tlb_used": (0, 0),
}
_RING = ("pci_trans_cnt", "gp_lat_acc_avg", "bw_in", "bw_out")
_RING_TRANSLATION = (
    "at_glob_devtlb_hit",
    "at_glob_devtlb_miss",
    "tl_at_payld_devtlb_hit",
    "tl_at_payld_devtlb_miss",
)


def _control(view: View, text: str) -> "Settings":
    wanted = number(text)
    if wanted > _MOST_HISTORY:
        raise refused(errno.EINVAL)
    return view.settings._replace(telemetry=wanted, telemetry_since=time.time())


def _samples(view: View) -> int:
    return int(time.time() - view.settings.telemetry_since)


def _row(view: View, name: str, value: int) -> str:
    """Return a row; what is measured moves by some percent from one second to the next."""
    samples = _samples(view)
    history = [
        value * (100 + (sample * 7 + len(name)) % 9 - 4) // 100
        for sample in range(max(1, samples - view.settings.telemetry + 1), samples + 1)
    ] or [0]
    columns = [history[-1]]
    if view.settings.telemetry > 1:
        columns += [min(history), max(history), sum(history) // len(history)]
    return f"{name:{_NAME_WIDTH}}" + "".join(f"{column:{_VALUE_WIDTH}}" for column in columns) + "\n"


def _label(name: str, value: "int | str") -> str:
    return f"{name:{_NAME_WIDTH}}{value:>{_VALUE_WIDTH}}\n"


def _device_data(view: View) -> str:
    if not view.settings.telemetry:
        raise refused(errno.EPERM)
    lines = [_label("sample_cnt", _samples(view))]
    lines += [_row(view, name, values[view.used]) for name, values in _DEVICE.items()]
    for kind, count in _SLICES.items():
        busy = _USED.get(kind, 0) if view.used else 0
        for index in range(count):
            lines += [_row(view, f"util_{kind}{index}", busy), _row(view, f"exec_{kind}{index}", busy * 211)]
    return "".join(lines)


def _ring_data(slot: int, view: View) -> str:
    ring = view.settings.rings[slot]
    if not view.settings.telemetry or ring < 0:
        raise refused(errno.EPERM)
    values = {name: _DEVICE[name][view.used and service_of(view, ring) == "sym"] for name in _RING}
    rows = [_row(view, name, value) for name, value in {**values, **dict.fromkeys(_RING_TRANSLATION, 0)}.items()]
    head = [
        _label("sample_cnt", _samples(view)),
        _label("rp_num", ring),
        _label("service_type", service_of(view, ring)),
    ]
    return "".join([*head, *rows])


def _choose_ring(slot: int, view: View, text: str) -> "Settings":
    ring, rings = number(text), list(view.settings.rings)
    if ring >= view.device.family.banks:
        raise refused(errno.EINVAL)
    if ring not in rings:
        rings[slot] = ring
    # Measuring begins anew.
    return view.settings._replace(rings=tuple(rings), telemetry_since=time.time())


ATTRIBUTES = (
    Attribute("telemetry/control", _SINCE, 0o644, lambda view: f"{view.settings.telemetry}\n", _control),
    Attribute("telemetry/device_data", _SINCE, 0o444, _device_data),
    *(
        Attribute(f"telemetry/rp_{letter}_data", _SINCE, 0o644, partial(_ring_data, slot), partial(_choose_ring, slot))
        for slot, letter in enumerate(_SLOTS)
    ),
)
