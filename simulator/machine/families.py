"""The accelerators that a simulated machine can have.

PCI ids: table of DPDK's doc/guides/cryptodevs/qat.rst. Engines, accelerators, banks: the drivers'
``adf_<type>_hw_data.h``. A driver registers with the PCI bus under its word for the type, not its module's name.
Generations 1 and 2 have the out-of-tree driver or the kernel's own, later ones the kernel's.
"""

from typing import NamedTuple

Release = tuple[int, int]


class Family(NamedTuple):
    """One type of PCI function.

    ``engines`` are those that count requests; ``banks`` is the number of ring banks, each with an interrupt of its
    own; ``functions`` the number of virtual functions that a physical one can have, 0 for a virtual one; ``parent``
    the physical type of a virtual one. ``module`` is empty where no driver is for it. ``since``: the first Linux
    whose own driver drives it, None where none does; ``later``: it is of generation 4 or later, which that driver has a
    switch for. ``word`` is the driver's for the type, if another; ``firmware`` the name in that of its file.
    ``services`` is how many it serves at a time, of those that can be chosen.
    """

    name: str
    device_id: int
    module: str
    revision: int
    accelerators: int
    engines: int
    banks: int
    functions: int = 0
    parent: str = ""
    since: Release | None = None
    word: str = ""
    services: int = 2
    later: bool = False
    firmware: str = ""

    @property
    def kind(self) -> str:
        """What the driver calls the type."""
        return self.word or self.name


def _pair(physical: Family, virtual_id: int) -> tuple[Family, Family]:
    virtual = Family(
        f"{physical.name}vf",
        virtual_id,
        # Of generation 4 and later, the kernel has a driver for the physical ones only.
        "" if physical.later else f"{physical.module}vf",
        physical.revision,
        accelerators=1,
        engines=1,
        banks=1,
        parent=physical.name,
        since=physical.since,
        word=f"{physical.word}vf" if physical.word else "",
        later=physical.later,
    )
    return physical, virtual


def _new(name: str, device_id: int, since: Release, module: str, engines: int, word: str = "") -> tuple[Family, Family]:
    sixth = name == "6xxx"
    physical = Family(
        name,
        device_id,
        module,
        revision=0x40,
        accelerators=1,
        engines=engines,
        banks=64,
        functions=0 if sixth else 16,
        since=since,
        word=word,
        services=3 if sixth else 2,
        later=True,
        firmware="4xxx" if name == "401xx" else name,
    )
    return _pair(physical, device_id + 1)


_PAIRS = (
    _pair(Family("c3xxx", 0x19E2, "qat_c3xxx", 0x11, 3, 6, 16, 16, since=(4, 5), firmware="c3xxx"), 0x19E3),
    _pair(Family("c6xx", 0x37C8, "qat_c62x", 0x04, 5, 10, 16, 16, since=(4, 5), firmware="c62x"), 0x37C9),
    _pair(Family("dh895xcc", 0x0435, "qat_dh895xcc", 0x00, 6, 12, 32, 32, since=(4, 4), firmware="895xcc"), 0x0443),
    _pair(Family("d15xx", 0x6F54, "qat_d15xx", 0x02, 5, 10, 16, 16), 0x6F55),
    _pair(Family("200xx", 0x18EE, "qat_200xx", 0x20, 3, 6, 16, 16), 0x18EF),
    _new("4xxx", 0x4940, (5, 11), "qat_4xxx", 8),
    _new("401xx", 0x4942, (5, 19), "qat_4xxx", 8, word="4xxx"),
    _new("402xx", 0x4944, (6, 4), "qat_4xxx", 8, word="4xxx"),
    _new("420xx", 0x4946, (6, 8), "qat_420xx", 16),
    _new("6xxx", 0x4948, (6, 16), "qat_6xxx", 8),
)

FAMILIES = {family.name: family for pair in _PAIRS for family in pair}
