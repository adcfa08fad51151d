"""Whether the kernel has QAT's algorithms and takes them, and whether IPsec asks for any of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from translators.crypto.esp import EspAlgorithms
from translators.crypto.offload import verdict
from translators.crypto.proc_crypto import PROC_CRYPTO
from translators.crypto.providers import QAT_AEADS, drivers
from translators.doctor.devices import path_of
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, none_up
from translators.doctor.services import words_of
from translators.ipsec.control import charon_runs, find_starter
from translators.qat import conf
from translators.qat.backend_out_of_tree import CONFIGURATION_LIMIT
from translators.qat.drivers import OUT_OF_TREE
from translators.qat.services import services_in
from translators.sources import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.crypto.offload import Verdict
    from translators.crypto.proc_crypto import Table
    from translators.doctor.finding import Verdict as Judgement
    from translators.doctor.look import Look

_OF_QAT: Final = tuple(
    EspAlgorithms("AES_CBC", None, integrity)
    for integrity in ("HMAC_SHA1_96", "HMAC_SHA2_256_128", "HMAC_SHA2_512_256")
)
_AEADS: Final = ("AES_GCM_16", "AES_CCM_16", "NULL_AES_GMAC", "CHACHA20_POLY1305")
_CIPHERS: Final = ("AES_CBC", "AES_CTR", "3DES_CBC", "CAMELLIA_CBC", "NULL")
_HASHES: Final = (
    "HMAC_SHA2_256_128",
    "HMAC_SHA1_96",
    "HMAC_SHA2_384_192",
    "HMAC_SHA2_512_256",
    "HMAC_MD5_96",
    "AES_XCBC_96",
    "AES_CMAC_96",
)
_ESP: Final = (
    *(EspAlgorithms(name) for name in _AEADS),
    *(EspAlgorithms(name, None, digest, esn) for name, digest, esn in product(_CIPHERS, _HASHES, (False, True))),
)
_DAEMONS: Final = (
    "/usr/sbin/charon-systemd",
    "/usr/sbin/swanctl",
    "/usr/lib/ipsec/charon",
    "/usr/libexec/ipsec/charon",
)
_UNUSED: Final = 1
_NO_TABLE: Final = f"this machine has no {PROC_CRYPTO}: the kernel's algorithms are not known"


def algorithms(look: Look) -> Iterator[Finding]:
    """Return whether the running devices have registered their algorithms, and whether the kernel takes them."""
    table = look.algorithms
    if not look.up:
        yield none_up(look)
        return
    if table is None:
        yield Finding(UNKNOWN, _NO_TABLE)
        return
    parts = (part for entry in table.algorithms for part in drivers(entry.driver))
    if not any(part in QAT_AEADS.values() for part in parts):
        text = "a device is up, and no QAT driver has registered an algorithm that IPsec could use"
        yield Finding(PROBLEM, f"{text}: {'; '.join(_reasons(look))}", _registering(look))
        return
    features = None if look.cpu is None else look.cpu.features
    by_state: dict[str, list[tuple[EspAlgorithms, Verdict]]] = {}
    for esp in _OF_QAT:
        found = verdict(esp, table, features)
        by_state.setdefault(found.state, []).append((esp, found))
    for state, group in by_state.items():
        told = ", ".join(str(esp) for esp, _ in group)
        _, first = group[0]
        if state == "offloaded":
            yield Finding(OK, f"the kernel takes QAT for {told}")
        else:
            yield Finding(PROBLEM, f"the kernel does not take QAT for {told}: {first.reason}", first.advice)


def tunnels(look: Look) -> Iterator[Finding]:
    """Return whether the IKE daemon runs, and whether what its tunnels use is done by QAT."""
    if not charon_runs(look.host):
        starter = find_starter(look.host)
        if starter is None and not any(look.host.exists(path) for path in _DAEMONS):
            yield Finding(NOT_APPLICABLE, "strongSwan is not installed")
        else:
            start = f"{starter.program} start" if starter is not None else "systemctl start strongswan"
            yield Finding(PROBLEM, "strongSwan is installed, and charon does not run", f"Start it: {start}.")
        return
    if not look.up:
        without = none_up(look)
        yield Finding(without.verdict, f"charon runs, and {without.text}")
        return
    table = look.algorithms
    if table is None:
        yield Finding(UNKNOWN, _NO_TABLE)
        return
    used = tuple(_used(table))
    if not used:
        yield Finding(NOT_APPLICABLE, "charon runs, and the kernel encrypts for no tunnel now", "Look while one is up.")
    features = None if look.cpu is None else look.cpu.features
    for esp in used:
        found = verdict(esp, table, features)
        if found.state == "offloaded":
            yield Finding(OK, f"tunnels with {esp} use QAT: {found.reason}", found.advice)
        else:
            judged: Judgement = UNKNOWN if found.state == "unknown" else PROBLEM
            yield Finding(judged, f"tunnels with {esp}: {found.state}: {found.reason}", found.advice)


def _used(table: Table) -> Iterator[EspAlgorithms]:
    """Yield the algorithms of tunnels that are up: each is an instance in the kernel's table, with its users."""
    asked = {entry.name for entry in table.algorithms if entry.references is None or entry.references > _UNUSED}
    for esp in _ESP:
        names = esp.kernel_names()
        if names is not None and names.asked in asked:
            yield esp


def _reasons(look: Look) -> Iterator[str]:
    """Yield what may be the cause where a running device has registered nothing."""
    if not _has_service(look):
        yield "no running device has the sym service"
        return
    if look.driver_kind != OUT_OF_TREE:
        yield (
            "kernels from 5.18 to before 5.19, and the stable kernels 5.17.1, 5.15.32, 5.4.188, 4.14.274 and later "
            f"ones of these, register none{f'; this one is {look.release}' if look.release else ''}"
        )
        return
    empty = [path for device in look.up if (path := path_of(look, device)) and _has_no_instance(look, path)]
    if empty:
        yield f"there is no instance for the kernel in {', '.join(empty)}"
    else:
        yield "the out-of-tree driver does so only if it was built with --enable-qat-lkcf"


def _registering(look: Look) -> str:
    if not _has_service(look):
        return "Give a device that service: see the check of the services."
    if look.driver_kind != OUT_OF_TREE:
        return "Take another kernel. 'Failed to register crypto algs' in its log has another cause."
    address = look.up[0].address
    if look.agent:
        instances = f"accel-agent set qat device {address} section KERNEL cy-instances 8, then accel-agent commit"
    else:
        instances = (
            f"NumberCyInstances = 8 in the section [KERNEL] of {path_of(look, look.up[0])}, and restart {address}"
        )
    built = "where it has instances, take a driver that was built with --enable-qat-lkcf"
    return f"Give the kernel instances: {instances}; {built}."


def _has_service(look: Look) -> bool:
    words = [words_of(look, device) for device in look.up]
    return any(word is not None and "sym" in (services_in(word) or ()) for word in words)


def _has_no_instance(look: Look, path: str) -> bool:
    data = read_bytes(look.host, path, limit=CONFIGURATION_LIMIT)
    return data is not None and conf.value_of(data, "KERNEL", "NumberCyInstances") in {None, "0"}
