"""The algorithms of an ESP SA: strongSwan's names, and what the kernel is asked for.

Names: strongSwan's ``encryption_algorithm_names`` and ``integrity_algorithm_names``, which VICI sends; the kernel's
as in kernel_netlink_ipsec.c, net/xfrm/xfrm_algo.c and ``esp_init_aead``, ``esp_init_authenc`` in net/ipv4/esp4.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The IV generator, a template around what ESP asks for.
_CHAIN: Final = "echainiv"
_SEQUENCE: Final = "seqiv"

_GCM: Final = "rfc4106(gcm(aes))"
_CCM: Final = "rfc4309(ccm(aes))"
_AEADS: Final = {
    "AES_GCM_8": _GCM,
    "AES_GCM_12": _GCM,
    "AES_GCM_16": _GCM,
    "AES_CCM_8": _CCM,
    "AES_CCM_12": _CCM,
    "AES_CCM_16": _CCM,
    "NULL_AES_GMAC": "rfc4543(gcm(aes))",
    "CHACHA20_POLY1305": "rfc7539esp(chacha20,poly1305)",
}
_CIPHERS: Final = {
    "AES_CBC": ("cbc(aes)", _CHAIN),
    "AES_CTR": ("rfc3686(ctr(aes))", _SEQUENCE),
    "3DES_CBC": ("cbc(des3_ede)", _CHAIN),
    "DES_CBC": ("cbc(des)", _CHAIN),
    "CAMELLIA_CBC": ("cbc(camellia)", _CHAIN),
    "BLOWFISH_CBC": ("cbc(blowfish)", _CHAIN),
    "CAST_CBC": ("cbc(cast5)", _CHAIN),
    "SERPENT_CBC": ("cbc(serpent)", _CHAIN),
    "TWOFISH_CBC": ("cbc(twofish)", _CHAIN),
    "NULL": ("ecb(cipher_null)", ""),
}
_HASHES: Final = {
    "HMAC_MD5_96": "hmac(md5)",
    "HMAC_SHA1_96": "hmac(sha1)",
    "HMAC_SHA2_256_96": "hmac(sha256)",
    "HMAC_SHA2_256_128": "hmac(sha256)",
    "HMAC_SHA2_384_192": "hmac(sha384)",
    "HMAC_SHA2_512_256": "hmac(sha512)",
    "AES_XCBC_96": "xcbc(aes)",
    "AES_CMAC_96": "cmac(aes)",
}
# ESP without integrity.
_NO_HASH: Final = "digest_null"
# What the kernel makes the others of.
_INNER: Final = {"gcm(aes)", "ccm(aes)", "ctr(aes)", "rfc7539(chacha20,poly1305)"}
_NAMES: Final = frozenset({*_AEADS.values(), *_HASHES.values(), *(name for name, _ in _CIPHERS.values()), *_INNER})
_TEMPLATES: Final = ("authenc(", "authencesn(", f"{_CHAIN}(", f"{_SEQUENCE}(")


@dataclass(frozen=True, slots=True)
class KernelNames:
    """What the kernel is asked for: ``asked`` whole, ``aead`` without the IV generator, and the ``cipher`` in that.

    ``cipher`` is None for an AEAD that is no template over a cipher and a hash.
    """

    asked: str
    aead: str
    cipher: str | None


@dataclass(frozen=True, slots=True)
class EspAlgorithms:
    """The algorithms of an ESP SA, by strongSwan's names: AES_CBC, 256 (bits), HMAC_SHA2_256_128.

    ``key_size`` is None where the cipher has one size only, ``integrity`` None with an AEAD.
    """

    encryption: str
    key_size: int | None = None
    integrity: str | None = None
    esn: bool = False

    @property
    def aead(self) -> bool:
        """Whether encryption and integrity are one algorithm."""
        return self.encryption in _AEADS

    def __str__(self) -> str:
        key = f"-{self.key_size}" if self.key_size else ""
        integrity = f" with {self.integrity}" if self.integrity else ""
        return f"{self.encryption}{key}{integrity}{' and ESN' if self.esn else ''}"

    def kernel_names(self) -> KernelNames | None:
        """Return the kernel's names, None for an algorithm that the kernel's ESP does not have."""
        if self.aead:
            name = _AEADS[self.encryption]
            return KernelNames(f"{_SEQUENCE}({name})", name, None)
        if self.encryption not in _CIPHERS or self.integrity not in {None, *_HASHES}:
            return None
        cipher, generator = _CIPHERS[self.encryption]
        digest = _NO_HASH if self.integrity is None else _HASHES[self.integrity]
        name = f"{'authencesn' if self.esn else 'authenc'}({digest},{cipher})"
        return KernelNames(f"{generator}({name})" if generator else name, name, cipher)


def asked_by_esp(name: str) -> bool:
    """Return whether an algorithm of the kernel is one that ESP asks for, or that one of those is made of."""
    return name in _NAMES or name.startswith(_TEMPLATES)
