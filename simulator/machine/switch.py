"""``qat`` and ``qat_ras`` in a device's sysfs directory.

Linux: adf_sysfs.c, adf_cfg_services.c, adf_sysfs_ras_counters.c; which release has what, Documentation/ABI/testing/
sysfs-driver-qat and -qat_ras. Bringing a device up or down is in ``intree_switch``: it changes more than settings.
"""

import errno
from typing import TYPE_CHECKING

from simulator.machine.attributes import Attribute, View, number, refused, word

if TYPE_CHECKING:
    from simulator.machine.settings import Settings

_FIRST = ("sym;asym", "dc")
_SECOND = (*_FIRST, "asym;sym", "sym", "asym", "dc;asym", "asym;dc", "dc;sym", "sym;dc")
_THIRD = (*_SECOND, "dcc")
_SINCE_SECOND = (6, 5)
_SINCE_THIRD = (6, 7)
_SINCE_ANY_ORDER = (6, 16)
_BITS = ("asym", "sym", "dc", "decomp")
_MOST_SERVICES_WITH_DECOMPRESSION = 3
_ALONE = "dcc"
_TRUE = ("y", "Y", "t", "T", "1", "on", "oN", "On", "ON")
_FALSE = ("n", "N", "f", "F", "0", "of", "oF", "Of", "OF")
# A ring pair serves by its place among four (adf_gen4_hw_data.c): with both halves of crypto, every other one.
_PAIRS = 4


def services(view: View, text: str) -> str:
    """Return the services that a written text means on this kernel, in its spelling. Raises OSError."""
    wanted, release = word(text), view.machine.kernel
    if release < _SINCE_ANY_ORDER:
        known = _FIRST if release < _SINCE_SECOND else _SECOND if release < _SINCE_THIRD else _THIRD
        if wanted not in known:
            raise refused(errno.EINVAL)
        return wanted
    words = wanted.split(";")
    most = view.device.family.services
    bits = _BITS if most >= _MOST_SERVICES_WITH_DECOMPRESSION else _BITS[:-1]
    if wanted == _ALONE:
        return wanted
    if len(words) > most or len(set(words)) < len(words) or not set(words) <= set(bits):
        raise refused(errno.EINVAL)
    return ";".join(bit for bit in bits if bit in words)


def service_of(view: View, ring: int) -> str:
    """Return what a ring pair serves. Raises OSError."""
    words = view.settings.services.split(";")
    if words == [_ALONE]:
        return "dc"
    return words[ring % _PAIRS % len(words)]


def _must_be_down(view: View) -> None:
    if view.activity is not None:
        raise refused(errno.EINVAL)


def _flag(text: str) -> bool:
    # kstrtobool looks at the first character, and at the second after an o.
    begin = word(text)[:2] if word(text)[:1] in {"o", "O"} else word(text)[:1]
    if begin not in {*_TRUE, *_FALSE}:
        raise refused(errno.EINVAL)
    return begin in _TRUE


def _store_services(view: View, text: str) -> "Settings":
    wanted = services(view, text)
    _must_be_down(view)
    return view.settings._replace(services=wanted)


def _store_idle(view: View, text: str) -> "Settings":
    wanted = _flag(text)
    _must_be_down(view)
    return view.settings._replace(pm_idle_enabled="1" if wanted else "0")


def _store_reset(view: View, text: str) -> "Settings":
    return view.settings._replace(auto_reset="on" if _flag(text) else "off")


def _store_ring(view: View, text: str) -> "Settings":
    ring = number(text)
    if ring >= view.device.family.banks:
        raise refused(errno.EINVAL)
    return view.settings._replace(ring=ring)


def _show_ring(view: View) -> str:
    if view.settings.ring < 0:
        raise refused(errno.EINVAL)
    return service_of(view, view.settings.ring)


def _clear_errors(view: View, text: str) -> "Settings":
    if text[:1] != "1" or len(text) != len("1\n"):
        raise refused(errno.EINVAL)
    return view.settings._replace(errors=(0, 0, 0))


STATE = Attribute("qat/state", (6, 0), 0o644, lambda view: "up\n" if view.activity else "down\n", while_up=False)

ATTRIBUTES = (
    STATE,
    Attribute("qat/cfg_services", (6, 0), 0o644, lambda view: view.settings.services, _store_services, while_up=False),
    Attribute(
        "qat/pm_idle_enabled", (6, 5), 0o644, lambda view: view.settings.pm_idle_enabled, _store_idle, while_up=False
    ),
    Attribute("qat/auto_reset", (6, 9), 0o644, lambda view: view.settings.auto_reset, _store_reset, while_up=False),
    Attribute("qat/rp2srv", (6, 7), 0o644, _show_ring, _store_ring, while_up=False),
    Attribute("qat/num_rps", (6, 7), 0o444, lambda view: str(view.device.family.banks), while_up=False),
    Attribute("qat_ras/errors_correctable", (6, 7), 0o444, lambda view: str(view.settings.errors[0])),
    Attribute("qat_ras/errors_nonfatal", (6, 7), 0o444, lambda view: str(view.settings.errors[1])),
    Attribute("qat_ras/errors_fatal", (6, 7), 0o444, lambda view: str(view.settings.errors[2])),
    Attribute("qat_ras/reset_error_counters", (6, 7), 0o200, store=_clear_errors),
)
