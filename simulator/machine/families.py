"""The accelerators that a simulated machine can have.

PCI ids: table of DPDK's doc/guides/cryptodevs/qat.rst. Engines, accelerators, banks: the out-of-tree driver's
``adf_<type>_hw_data.h``. The driver registers with the PCI bus under the type's name, not the module's.
"""

from typing import NamedTuple


class Family(NamedTuple):
    """One type of PCI function, as the driver names it.

    ``banks`` is the number of ring banks, each with an interrupt of its own; ``functions`` the number of
    virtual functions that a physical one can have, 0 for a virtual one; ``parent`` the physical type of a
    virtual one.
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


def _pair(physical: Family, virtual_id: int) -> tuple[Family, Family]:
    virtual = Family(
        f"{physical.name}vf",
        virtual_id,
        f"{physical.module}vf",
        physical.revision,
        accelerators=1,
        engines=1,
        banks=1,
        parent=physical.name,
    )
    return physical, virtual


_PAIRS = (
    _pair(Family("c3xxx", 0x19E2, "qat_c3xxx", 0x11, 3, 6, 16, 16), 0x19E3),
    _pair(Family("c6xx", 0x37C8, "qat_c62x", 0x04, 5, 10, 16, 16), 0x37C9),
    _pair(Family("dh895xcc", 0x0435, "qat_dh895xcc", 0x00, 6, 12, 32, 32), 0x0443),
    _pair(Family("d15xx", 0x6F54, "qat_d15xx", 0x02, 5, 10, 16, 16), 0x6F55),
    _pair(Family("200xx", 0x18EE, "qat_200xx", 0x20, 3, 6, 16, 16), 0x18EF),
)

FAMILIES = {family.name: family for pair in _PAIRS for family in pair}
