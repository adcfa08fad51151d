"""Whether an SA's packets are encrypted by QAT, as far as the kernel's table of algorithms can tell.

The table is per algorithm, not per SA: of two SAs with one algorithm, made before and after a change of drivers, it
can't tell which uses what. What holds here was read in the kernel's source and was not measured on QAT hardware:

- An SA's algorithm is an instance with the SA's own name, ``echainiv(authenc(…))``, whose driver names what it is
  made of. The kernel takes down such an instance when something better is registered for a part of it
  (``crypto_alg_finish_registration``), so where it is in the table it is what a new SA gets.
- Without one, the best that is registered under the inner name is taken, whatever its priority: the template is only
  made where nothing is (``crypto_larval_lookup``). Its priority would be ten times the cipher's and the hash's added
  (``crypto_authenc_create``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from translators.crypto import advice
from translators.crypto.proc_crypto import PROC_CRYPTO, Algorithm, Table
from translators.crypto.providers import QAT, QAT_AEADS, UNKNOWN, claims_qat, drivers, is_qat, provider
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.crypto.esp import EspAlgorithms, KernelNames

State: TypeAlias = Literal["offloaded", "partial", "registered-not-selected", "not-offloadable", "software", "unknown"]

_AEAD: Final = "aead"
_CIPHER: Final = "skcipher"
_TEMPLATE_FACTOR: Final = 10
_UNUSED: Final = 1


class DataPlane(Enum):
    """What encrypts the packets of an SA: by the plugin of charon that installs it."""

    KERNEL = "kernel-netlink"
    USER_SPACE = "kernel-libipsec"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The leafs of the model's ``offload``, where None leaves one out: state, provider, and so on.

    ``algorithm`` is the kernel's name that was looked up; ``basis`` a value of hat:offload-basis.
    """

    state: State
    provider: str | None
    algorithm: str | None
    basis: str | None
    reason: str
    advice: str | None


def verdict(
    esp: EspAlgorithms,
    table: Table | SourceError | None,
    features: frozenset[str] | None,
    data_plane: DataPlane = DataPlane.KERNEL,
) -> Verdict:
    """Return the verdict on an SA.

    ``table`` is the kernel's, what kept it from being read, or None where the machine has none. ``features`` are the
    CPU's, by the identities of hat:crypto-feature; None where they are not known.
    """
    if data_plane is not DataPlane.KERNEL:
        reason = f"charon encrypts the packets itself ({data_plane.value}): the kernel's algorithms say nothing of it"
        return Verdict("unknown", None, None, "by-data-plane", reason, advice.user_space())
    names = esp.kernel_names()
    if names is None:
        return _unknown(None, f"it is not known what the kernel calls {esp}")
    if table is None:
        return _unknown(names.asked, f"this machine has no {PROC_CRYPTO}: the kernel's algorithms are not known")
    if isinstance(table, SourceError):
        return _unknown(names.asked, f"the kernel's algorithms can't be read: {table}")
    return _Case(esp, names, table, features).verdict()


@dataclass(frozen=True, slots=True)
class _Case:
    """An SA whose traffic the kernel carries, and a table that was read."""

    esp: EspAlgorithms
    names: KernelNames
    table: Table
    features: frozenset[str] | None

    def verdict(self) -> Verdict:
        instance = self.table.selected(self.names.asked, _AEAD)
        found = instance or self.table.selected(self.names.aead, _AEAD)
        if found is None:
            return self._predicted()
        parts = drivers(found.driver)
        if any(map(claims_qat, parts)):
            return self._invented(found)
        if any(part in QAT_AEADS.values() for part in parts):
            better = None if instance else self._better_template(found)
            return self._offloaded(found) if better is None else self._passed_over(found, better)
        if any(map(is_qat, parts)):
            return self._partial(found)
        qat = self._registered()
        if qat is not None:
            return self._not_selected(qat, found)
        return self._elsewhere(found)

    def _predicted(self) -> Verdict:
        """Return the verdict where the table has no instance, by what the kernel would make one of."""
        cipher = None
        for name in _makings(self.names):
            cipher = cipher or self.table.selected(name, _CIPHER) or self.table.selected(name, _AEAD)
        if cipher is None and self.names.aead in QAT_AEADS:
            return _unknown(self.names.aead, f"{PROC_CRYPTO} has neither {self.names.aead} nor what it is made of")
        parts = () if cipher is None else drivers(cipher.driver)
        if cipher is not None and any(map(claims_qat, parts)):
            return self._invented(cipher)
        if cipher is not None and any(map(is_qat, parts)) and self.names.aead in QAT_AEADS:
            return self._partial(cipher)
        return self._elsewhere(cipher)

    def _offloaded(self, found: Algorithm) -> Verdict:
        reason = f"{_chosen(found)} (priority {found.priority})"
        return self._made("offloaded", QAT, found, reason, advice.offloaded(found.references, self.features))

    def _partial(self, found: Algorithm) -> Verdict:
        reason = f"{_chosen(found)} (priority {found.priority}): QAT does the cipher and the CPU the integrity"
        return self._made("partial", QAT, found, reason, advice.partial(self.esp))

    def _not_selected(self, qat: Algorithm, found: Algorithm) -> Verdict:
        reason = (
            f"{_chosen(found)}, which has priority {found.priority}; {qat.driver} is registered and has priority "
            f"{qat.priority}"
        )
        text = advice.not_selected(qat.priority, found.priority, self.features)
        return self._made("registered-not-selected", provider(found.driver, found.module), found, reason, text)

    def _passed_over(self, qat: Algorithm, cipher: Algorithm) -> Verdict:
        reason = (
            f"{qat.driver} is registered and has priority {qat.priority} and no user that is known of; a template over "
            f"{cipher.driver} (priority {cipher.priority}) has priority {_template(cipher)} at least"
        )
        text = advice.not_selected(qat.priority, _template(cipher), self.features)
        return self._made("registered-not-selected", provider(cipher.driver, cipher.module), qat, reason, text)

    def _elsewhere(self, found: Algorithm | None) -> Verdict:
        """Return the verdict where QAT has no part in it."""
        carried = None if found is None else provider(found.driver, found.module)
        # A cipher of QAT's is none until a template is seen to be made over it.
        carried = None if carried == QAT else carried
        by = f"; {_chosen(found)} (priority {found.priority})" if found is not None else ""
        if self.names.aead not in QAT_AEADS:
            reason = f"no QAT driver of the kernel has {self.names.aead}{by}"
            text = advice.not_offloadable(self.esp, self.features)
            return self._made("not-offloadable", carried, found, reason, text)
        failed = any(part in QAT_AEADS.values() for entry in self._entries() for part in drivers(entry.driver))
        why = "QAT's did not pass its self-test" if failed else f"no QAT driver has registered {self.names.aead}"
        return self._made("software", carried, found, f"{why}{by}", advice.software(failed=failed))

    def _invented(self, found: Algorithm) -> Verdict:
        reason = f"{_chosen(found)}, and no QAT driver known has an algorithm of that name"
        return self._made("unknown", UNKNOWN, found, reason, None)

    def _registered(self) -> Algorithm | None:
        """Return QAT's own registration of the SA's algorithm as a whole."""
        usable = (entry for entry in self._entries() if entry.usable and entry.driver in QAT_AEADS.values())
        return next(usable, None)

    def _entries(self) -> tuple[Algorithm, ...]:
        return self.table.implementations(self.names.aead)

    def _better_template(self, qat: Algorithm) -> Algorithm | None:
        """Return the cipher over which a template would have a higher priority than QAT's unused algorithm.

        Kernels since 2025 register QAT with a low priority. The SA may be older than QAT's registration, or than
        another that took its instance down: an algorithm without users is not what it uses.
        """
        if (qat.references or _UNUSED) > _UNUSED or self.names.cipher is None:
            return None
        others = (
            entry
            for entry in self.table.implementations(self.names.cipher)
            if entry.usable and entry.kind == _CIPHER and not any(map(is_qat, drivers(entry.driver)))
        )
        best = max(others, key=lambda entry: entry.priority, default=None)
        return best if best is not None and _template(best) > qat.priority else None

    def _made(self, state: State, by: str | None, found: Algorithm | None, reason: str, text: str | None) -> Verdict:
        name = self.names.aead if found is None else found.name
        # A part of the algorithm that was looked up is not the algorithm.
        algorithm = name if name in {self.names.asked, self.names.aead} else self.names.aead
        return Verdict(state, by, algorithm, "by-algorithm", reason, text)


def _makings(names: KernelNames) -> tuple[str, ...]:
    """Return what the kernel makes an algorithm of, its cipher: rfc3686(ctr(aes)) is made of ctr(aes)."""
    whole = names.aead if names.cipher is None else names.cipher
    inner = whole.partition("(")[2].removesuffix(")")
    return (whole, inner) if whole.startswith("rfc") else (whole,)


def _template(cipher: Algorithm) -> int:
    """Return what a template over a cipher has for priority, the hash's not counted."""
    return _TEMPLATE_FACTOR * cipher.priority


def _chosen(found: Algorithm) -> str:
    return f"{found.name} is by {found.driver}"


def _unknown(algorithm: str | None, reason: str) -> Verdict:
    return Verdict("unknown", None, algorithm, None, reason, None)
