"""What carries out an algorithm, by the name of its driver (the model's ``crypto-provider``).

A driver's name is that of one implementation (``cbc-aes-aesni``), or a template's with the names of what it is made
of in brackets: ``echainiv(authenc(hmac(sha256-avx2),cbc-aes-aesni))``. Other templates only run what they wrap in
another way: ``cryptd(…)``, ``pcrypt(…)``. Two underscores in front mark what only a wrapper uses.
"""

from __future__ import annotations

import re
from typing import Final

QAT: Final = "qat"
AES_NI: Final = "aes-ni"
VAES: Final = "vaes"
GENERIC: Final = "generic"
UNKNOWN: Final = "unknown"

# All that a QAT driver registers as one, by the kernel's name, in the kernel's tree and in every out-of-tree release
# read (qat_algs.c): no GCM, no ESN, no other hash.
QAT_AEADS: Final = {
    "authenc(hmac(sha1),cbc(aes))": "qat_aes_cbc_hmac_sha1",
    "authenc(hmac(sha256),cbc(aes))": "qat_aes_cbc_hmac_sha256",
    "authenc(hmac(sha512),cbc(aes))": "qat_aes_cbc_hmac_sha512",
}
# Its other drivers: qat_algs.c, qat_asym_algs.c, qat_comp_algs.c.
QAT_DRIVERS: Final = frozenset(
    {
        *QAT_AEADS.values(),
        *("qat_aes_cbc", "qat_aes_ctr", "qat_aes_xts", "qat-rsa", "qat-dh", "qat_deflate", "qat_zlib_deflate"),
    }
)

_QAT_NAME: Final = re.compile("qat[-_]")
# Linux, arch/x86/crypto and crypto/: what a part of the name says. The first that fits counts.
_PARTS: Final = (
    (re.compile("vaes"), VAES),
    (re.compile("aesni"), AES_NI),
    (re.compile("(^|-)ni($|-)"), "sha-ni"),
    (re.compile("pclmul|clmulni"), "pclmulqdq"),
    (re.compile("avx512|avx10"), "avx512"),
    (re.compile("avx2"), "avx2"),
    (re.compile("avx"), "avx"),
    (re.compile("ssse3"), "ssse3"),
    (re.compile("simd"), "simd"),
    (re.compile("(^|-)lib$"), "library"),
    (re.compile("-generic$|-fixed-time$|-asm$|_null$"), GENERIC),
)
_PIECE: Final = re.compile(r"[^(),]+|[(),]")
_AUTHENC: Final = re.compile(r"\bauthenc(esn)?\(")
# Linux names a module like this where the driver is built in.
_BUILT_IN: Final = "kernel"


def drivers(driver: str) -> tuple[str, ...]:
    """Return the implementations that a driver's name is made of: itself, or those inside its templates."""
    pieces = _PIECE.findall(driver)
    return tuple(
        piece.strip().lstrip("_")
        for piece, after in zip(pieces, [*pieces[1:], ""], strict=False)
        if piece not in {"(", ")", ","} and after != "("
    )


def is_qat(implementation: str) -> bool:
    """Return whether this is one of QAT's drivers."""
    return implementation in QAT_DRIVERS


def claims_qat(implementation: str) -> bool:
    """Return whether a driver has the name of QAT's and is none that a QAT driver registers."""
    return bool(_QAT_NAME.match(implementation)) and not is_qat(implementation)


def provider(driver: str, module: str = _BUILT_IN) -> str:
    """Return what carries out an algorithm, by its driver's name and its kernel module's.

    Of several parts a QAT driver counts, or else the cipher.
    """
    parts = drivers(driver)
    if any(map(is_qat, parts)):
        return QAT
    if not parts or any(map(claims_qat, parts)):
        return UNKNOWN
    cipher = parts[-1 if _AUTHENC.search(driver) else 0]
    for pattern, word in _PARTS:
        if pattern.search(cipher):
            return word
    # A template's module says nothing of what it is made of.
    return module if cipher == driver and module != _BUILT_IN else UNKNOWN
