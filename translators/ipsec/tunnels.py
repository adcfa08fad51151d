"""IKE SAs and child SAs as charon lists them, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from translators.ipsec.vici import sections, texts

if TYPE_CHECKING:
    from translators.ipsec.vici import Charon

INSTALLED: Final = "INSTALLED"
INITIATOR: Final = "initiator"
RESPONDER: Final = "responder"
# Its text ends in errors and plans: which SA it is, not everybody may know.
_UNREADABLE: Final = "charon lists an SA that can't be read (see swanctl --list-sas)"
_SELECTORS_LIMIT: Final = 256
_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class IkeSa:
    """An IKE SA; ``established`` is seconds ago, ``role`` initiator or responder. None is what charon did not say."""

    connection: str
    identity: int
    version: int | None
    state: str
    role: str
    local_address: str | None
    remote_address: str | None
    remote_identity: str | None
    encryption: str | None
    integrity: str | None
    prf: str | None
    dh_group: str | None
    established: int | None


@dataclass(frozen=True, slots=True)
class ChildSa:
    """A child SA. Algorithms are in charon's words (``AES_CBC-256``), SPIs hexadecimal, ``installed`` is seconds ago.

    A successor has the same ``reqid`` and a higher ``identity``.
    None is what charon did not say: bytes of an SA whose kernel can't be asked, integrity of an AEAD.
    """

    ike: IkeSa
    name: str
    identity: int
    reqid: int | None
    state: str
    mode: str | None
    protocol: str | None
    spi_in: str | None
    spi_out: str | None
    encryption: str | None
    integrity: str | None
    dh_group: str | None
    esn: bool | None
    bytes_in: int | None
    bytes_out: int | None
    packets_in: int | None
    packets_out: int | None
    installed: int | None
    local_selectors: tuple[str, ...]
    remote_selectors: tuple[str, ...]

    @property
    def tunnel(self) -> tuple[str, str]:
        """The tunnel that it is an SA of: the names of connection and child."""
        return self.ike.connection, self.name


def child_sas(charon: Charon, **wanted: str) -> list[ChildSa]:
    """Return the child SAs, those of one connection (``ike``) or of one number (``child_id``).

    Raises ViciError, ValueError, which names no SA, for a listing that lacks what every SA has.
    """
    found, complaints = readable_child_sas(charon, **wanted)
    if complaints:
        raise ValueError(_UNREADABLE)
    return found


def readable_child_sas(charon: Charon, **wanted: str) -> tuple[list[ChildSa], list[str]]:
    """Return the child SAs that can be read, and of the others what is wrong with them. Raises ViciError."""
    found: list[ChildSa] = []
    complaints: list[str] = []
    for connection, listed in charon.sas(**wanted):
        try:
            ike = ike_sa(connection, listed)
        except ValueError as error:
            complaints.append(str(error))
            continue
        for key, section in sections(listed, "child-sas"):
            try:
                found.append(child_sa(ike, key, section))
            except ValueError as error:
                complaints.append(str(error))
    return found, complaints


def ike_sas(charon: Charon) -> list[IkeSa]:
    """Return the IKE SAs. Raises as child_sas."""
    listed = list(charon.sas())
    try:
        return [ike_sa(*one) for one in listed]
    except ValueError as error:
        raise ValueError(_UNREADABLE) from error


def up(children: list[ChildSa]) -> dict[tuple[str, str], ChildSa]:
    """Return the youngest SA that carries traffic of each tunnel."""
    installed = (child for child in children if child.state == INSTALLED)
    return {child.tunnel: child for child in sorted(installed, key=lambda child: child.identity)}


def ike_sa(connection: str, listed: dict[str, Any]) -> IkeSa:
    """Return an IKE SA of charon's. Raises ValueError for one that lacks what every SA has."""
    said = texts(listed)
    return IkeSa(
        connection,
        _required(said, "uniqueid", connection),
        _number(said, "version", connection),
        said.get("state", ""),
        INITIATOR if said.get("initiator") == "yes" else RESPONDER,
        said.get("local-host"),
        said.get("remote-host"),
        said.get("remote-eap-id") or said.get("remote-id"),
        _with_size(said, "encr"),
        _with_size(said, "integ"),
        said.get("prf-alg"),
        said.get("dh-group"),
        _number(said, "established", connection),
    )


def child_sa(ike: IkeSa, key: str, section: dict[str, Any]) -> ChildSa:
    """Return a child SA of charon's. Raises as ike_sa."""
    said = texts(section)
    where = f"{ike.connection}/{key}"
    has_algorithms = "encr-alg" in said or "integ-alg" in said
    return ChildSa(
        ike,
        said.get("name", key),
        _required(said, "uniqueid", where),
        _number(said, "reqid", where),
        said.get("state", ""),
        said.get("mode"),
        said.get("protocol"),
        said.get("spi-in"),
        said.get("spi-out"),
        _with_size(said, "encr"),
        _with_size(said, "integ"),
        said.get("dh-group"),
        # Said only where it is so; an SA that has no keys yet has no sequence numbers either.
        said.get("esn") == "1" if has_algorithms else None,
        _number(said, "bytes-in", where),
        _number(said, "bytes-out", where),
        _number(said, "packets-in", where),
        _number(said, "packets-out", where),
        _number(said, "install-time", where),
        _selectors(section, "local-ts"),
        _selectors(section, "remote-ts"),
    )


def _with_size(said: dict[str, str], kind: str) -> str | None:
    algorithm, size = said.get(f"{kind}-alg"), said.get(f"{kind}-keysize")
    return algorithm if not algorithm or not size else f"{algorithm}-{size}"


def _selectors(section: dict[str, Any], name: str) -> tuple[str, ...]:
    found = section.get(name)
    return tuple(found[:_SELECTORS_LIMIT]) if isinstance(found, list) else ()


def _required(said: dict[str, str], name: str, where: str) -> int:
    number = _number(said, name, where)
    if number is None:
        raise ValueError(f"charon lists {where} without {name}")
    return number


def _number(said: dict[str, str], name: str, where: str) -> int | None:
    text = said.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) < 2**64):
        raise ValueError(f"charon lists {where} with {text[:40]!r} for {name}, which is no number of 64 bits")
    return int(text)
