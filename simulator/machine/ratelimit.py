"""``qat_rl`` in a device's sysfs directory: rate limits, set by way of scratch registers.

Linux: adf_sysfs_rl.c, adf_rl.c. Each service has a root and a cluster with the first numbers; who asks for those is
refused.
"""

import errno
from typing import TYPE_CHECKING

from simulator.machine.attributes import Attribute, View, number, refused, word
from simulator.machine.settings import Limit
from simulator.machine.switch import service_of

if TYPE_CHECKING:
    from simulator.machine.settings import Settings

_SINCE = (6, 7)
_SERVICES = ("asym", "sym", "dc")
_CAPACITY = 1000
_MOST_RING_PAIRS = 4
_MOST_IDS = 4 + 16 + 64


def _store_register(view: View, **changes: "int | str") -> "Settings":
    return view.settings._replace(limit=Limit(**{**view.settings.limit._asdict(), **changes}))


def _service(text: str) -> str:
    if word(text) not in _SERVICES:
        raise refused(errno.EINVAL)
    return word(text)


def _store_service(view: View, text: str) -> "Settings":
    if _service(text) not in view.served:
        raise refused(errno.EINVAL)
    return _store_register(view, srv=word(text))


def _known(name: str) -> str:
    if not name:
        raise refused(errno.EINVAL)
    return name


def _remaining(view: View) -> str:
    return str(_free(view, _known(view.settings.capacity_of)))


def _free(view: View, service: str, but: int = -1) -> int:
    return _CAPACITY - sum(each.cir for key, each in view.settings.limits if each.srv == service and key != but)


def _free_id(view: View) -> int:
    """Return the lowest number that is free. Raises OSError."""
    taken = {key for key, _limit in view.settings.limits}
    own = 2 * len(view.served & set(_SERVICES))
    free = next((key for key in range(own, _MOST_IDS) if key not in taken), None)
    if free is None:
        raise refused(errno.ENOSPC)
    return free


def _checked(view: View, limit: Limit, own: int = -1) -> Limit:
    others = [each for key, each in view.settings.limits if key != own]
    if (
        not limit.srv
        or not 0 < limit.rp < 1 << view.device.family.banks
        or limit.rp.bit_count() > _MOST_RING_PAIRS
        or not 0 < limit.cir <= limit.pir <= _CAPACITY
        or limit.cir > _free(view, limit.srv, own)
        or any(each.rp & limit.rp for each in others)
        or any(limit.rp >> ring & 1 and service_of(view, ring) != limit.srv for ring in range(limit.rp.bit_length()))
    ):
        raise refused(errno.EINVAL)
    return limit


def _operate(view: View, text: str) -> "Settings":
    settings, verb = view.settings, word(text)
    limits = dict(settings.limits)
    if verb == "add":
        limits[chosen := _free_id(view)] = _checked(view, settings.limit)
        return settings._replace(limits=tuple(limits.items()), limit_id=chosen)
    if verb == "rm_all":
        return settings._replace(limits=())
    known = limits.get(settings.limit_id)
    if verb not in {"update", "rm", "get"} or known is None:
        raise refused(errno.EINVAL)
    if verb == "get":
        return settings._replace(limit=known)
    if verb == "update":
        # Which service and ring pairs it is for stays (adf_rl_update_sla).
        changed = known._replace(cir=settings.limit.cir, pir=settings.limit.pir)
        limits[settings.limit_id] = _checked(view, changed, settings.limit_id)
    else:
        del limits[settings.limit_id]
    return settings._replace(limits=tuple(limits.items()))


ATTRIBUTES = (
    Attribute(
        "qat_rl/rp",
        _SINCE,
        0o644,
        lambda view: f"{view.settings.limit.rp:#x}" if view.settings.limit.rp else "0",
        lambda view, text: _store_register(view, rp=number(word(text).removeprefix("0x"), 16)),
    ),
    Attribute(
        "qat_rl/id",
        _SINCE,
        0o644,
        lambda view: str(view.settings.limit_id),
        lambda view, text: view.settings._replace(limit_id=number(text)),
    ),
    Attribute(
        "qat_rl/cir",
        _SINCE,
        0o644,
        lambda view: str(view.settings.limit.cir),
        lambda view, text: _store_register(view, cir=number(text)),
    ),
    Attribute(
        "qat_rl/pir",
        _SINCE,
        0o644,
        lambda view: str(view.settings.limit.pir),
        lambda view, text: _store_register(view, pir=number(text)),
    ),
    Attribute("qat_rl/srv", _SINCE, 0o644, lambda view: _known(view.settings.limit.srv), _store_service),
    Attribute(
        "qat_rl/cap_rem",
        _SINCE,
        0o644,
        _remaining,
        lambda view, text: view.settings._replace(capacity_of=_service(text)),
    ),
    Attribute("qat_rl/sla_op", _SINCE, 0o200, store=_operate),
)
