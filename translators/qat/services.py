"""Services of a device, and the words that the out-of-tree driver has for them (``ServicesEnabled``).

QAT 1.7 and 1.8: cy stands for asym and sym together, at most two words (adf_cfg_device.c; Programmer's Guide,
Configuration Files, General Section). QAT 2.0: asym, sym and dc, at most two, no cy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from translators.qat.ids import DeviceId

Services: TypeAlias = frozenset[str]

# The bits of hardware-acceleration-types:services, by position.
BITS: Final = ("asym", "sym", "dc", "dcc", "decomp")

_FIRST_WORDS: Final = {
    frozenset({"asym", "sym", "dc"}): "cy;dc",
    frozenset({"asym", "sym"}): "cy",
    frozenset({"asym", "dc"}): "asym;dc",
    frozenset({"sym", "dc"}): "sym;dc",
    frozenset({"asym"}): "asym",
    frozenset({"sym"}): "sym",
    frozenset({"dc"}): "dc",
}
_SECOND_WORDS: Final = {
    frozenset({"asym", "sym"}): "asym;sym",
    frozenset({"asym", "dc"}): "asym;dc",
    frozenset({"sym", "dc"}): "sym;dc",
    frozenset({"asym"}): "asym",
    frozenset({"sym"}): "sym",
    frozenset({"dc"}): "dc",
}
_MEANINGS: Final = {"cy": ("asym", "sym")}


def words_for(services: Services, device: DeviceId) -> str | None:
    """Return the driver's words for services, None where it does not take them on this device."""
    return _words(device).get(services)


def combinations(device: DeviceId) -> str:
    """Return in words what the driver takes on this device."""
    return ", ".join(f"'{bits_text(services)}'" for services in _words(device))


def services_in(words: str) -> Services | None:
    """Return the services that the driver's words mean, None where one of them is not known."""
    services = frozenset(bit for word in words.replace(" ", "").split(";") for bit in _MEANINGS.get(word, (word,)))
    return services if services <= frozenset(BITS) else None


def bits_text(services: Services) -> str:
    """Return services in the form of a YANG bits value (RFC 7950 9.7.2)."""
    return " ".join(bit for bit in BITS if bit in services)


def _words(device: DeviceId) -> dict[Services, str]:
    return _SECOND_WORDS if device.stack == "2.0" else _FIRST_WORDS
