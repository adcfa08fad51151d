"""/proc/crypto: what the kernel can compute, and by which driver (``c_show`` in crypto/proc.c, Linux 6.1).

The accelerator's driver registers exactly these six symmetric algorithms and two public-key ones, no GCM
(qat_algs.c, qat_asym_algs.c). The tunnel's two SAs have an instance with their own name (net/ipv4/esp4.c), which holds
what it is made of; so do they. An entry's reference count is 1 and one for each of its users (crypto/algapi.c).
"""

from typing import NamedTuple

Field = tuple[str, str | int]

_SAS = 2
# The instance itself, and the SAs.
_USED = 1 + _SAS
# What it is made of is held by it, too.
_PART = _USED + 1
_GENERIC_PRIORITY = 100
_AESNI_PRIORITY = 400
_TUNNEL = "authenc(hmac(sha256),cbc(aes))"


class Table(NamedTuple):
    """What the table depends on.

    ``aes``: the CPU's AES instructions; ``symmetric``: the priority of the symmetric algorithms of devices that are up,
    None where there are none; ``asymmetric``: they have public-key ones; ``tunnel``: IPsec runs; ``offloaded``: the
    kernel takes the devices' algorithm for it.
    """

    aes: bool
    symmetric: int | None
    asymmetric: bool
    tunnel: bool
    offloaded: bool


def render(table: Table) -> bytes:
    """Return the table."""
    entries = [*_SOFTWARE]
    if table.aes:
        entries += _AESNI
    if table.symmetric is not None:
        entries += _qat_symmetric(table.symmetric)
    if table.asymmetric:
        entries += _QAT_ASYMMETRIC
    if table.tunnel:
        entries = _with_tunnel(entries, table)
    # What was registered last comes first.
    return "".join(f"{entry}\n" for entry in reversed(entries)).encode()


def _with_tunnel(entries: "list[str]", table: Table) -> "list[str]":
    if table.offloaded and table.symmetric is not None:
        driver, priority, parts, made = "qat_aes_cbc_hmac_sha256", table.symmetric, {"qat_aes_cbc_hmac_sha256"}, []
    else:
        cipher, rank = ("cbc-aes-aesni", _AESNI_PRIORITY) if table.aes else ("cbc(aes-generic)", _GENERIC_PRIORITY)
        driver, priority = f"authenc(hmac(sha256-generic),{cipher})", 10 * rank + _GENERIC_PRIORITY
        parts = {cipher, "sha256-generic"}
        made = [_aead(_TUNNEL, driver, "authenc", priority, block=16, iv=16, tag=32, references=_PART)]
    instance = _aead(
        f"echainiv({_TUNNEL})", f"echainiv({driver})", "echainiv", priority, block=16, iv=16, tag=32, references=_USED
    )
    return [*(_held(entry) if _driver(entry) in parts else entry for entry in entries), *made, instance]


def _driver(entry: str) -> str:
    return next(line for line in entry.splitlines() if line.startswith("driver")).partition(": ")[2]


def _held(entry: str) -> str:
    return entry.replace(f"{'refcnt':13s}: 1\n", f"{'refcnt':13s}: {_PART}\n")


def _entry(name: str, driver: str, module: str, priority: int, kind: str, *fields: Field, references: int = 1) -> str:
    common: tuple[Field, ...] = (
        ("name", name),
        ("driver", driver),
        ("module", module),
        ("priority", priority),
        ("refcnt", references),
        ("selftest", "passed"),
        ("internal", "no"),
        ("type", kind),
    )
    return "".join(f"{label:13s}: {value}\n" for label, value in (*common, *fields))


def _cipher(
    name: str,
    driver: str,
    module: str,
    priority: int,
    *,
    block: int,
    hardware: bool = False,
    xts: bool = False,
) -> str:
    shortest, longest = (32, 64) if xts else (16, 32)
    return _entry(
        name,
        driver,
        module,
        priority,
        "skcipher",
        ("async", "yes" if hardware else "no"),
        ("blocksize", block),
        ("min keysize", shortest),
        ("max keysize", longest),
        ("ivsize", 16),
        ("chunksize", 16),
        ("walksize", 16),
    )


def _aead(  # noqa: PLR0913 - an entry has that many fields
    name: str, driver: str, module: str, priority: int, *, block: int, iv: int, tag: int, references: int = 1
) -> str:
    return _entry(
        name,
        driver,
        module,
        priority,
        "aead",
        ("async", "yes" if "qat_" in driver else "no"),
        ("blocksize", block),
        ("ivsize", iv),
        ("maxauthsize", tag),
        ("geniv", "<none>"),
        references=references,
    )


def _hash(name: str, driver: str, module: str, priority: int, *, digest: int, block: int = 64) -> str:
    return _entry(name, driver, module, priority, "shash", ("blocksize", block), ("digestsize", digest))


def _qat_symmetric(priority: int) -> tuple[str, ...]:
    return (
        _cipher("cbc(aes)", "qat_aes_cbc", "intel_qat", priority, block=16, hardware=True),
        _cipher("ctr(aes)", "qat_aes_ctr", "intel_qat", priority, block=1, hardware=True),
        _cipher("xts(aes)", "qat_aes_xts", "intel_qat", priority, block=16, hardware=True, xts=True),
        *(
            _aead(
                f"authenc(hmac({digest}),cbc(aes))",
                f"qat_aes_cbc_hmac_{digest}",
                "intel_qat",
                priority,
                block=16,
                iv=16,
                tag=tag,
            )
            for digest, tag in (("sha1", 20), ("sha256", 32), ("sha512", 64))
        ),
    )


_SOFTWARE = (
    _entry(
        "aes",
        "aes-generic",
        "kernel",
        100,
        "cipher",
        ("blocksize", 16),
        ("min keysize", 16),
        ("max keysize", 32),
    ),
    _hash("sha1", "sha1-generic", "kernel", 100, digest=20),
    _hash("sha256", "sha256-generic", "kernel", 100, digest=32),
    _hash("sha512", "sha512-generic", "kernel", 100, digest=64, block=128),
    _entry("rsa", "rsa-generic", "kernel", 100, "akcipher"),
    _entry("dh", "dh-generic", "dh_generic", 100, "kpp"),
    _cipher("cbc(aes)", "cbc(aes-generic)", "cbc", _GENERIC_PRIORITY, block=16),
    _cipher("ctr(aes)", "ctr(aes-generic)", "ctr", 100, block=1),
    _aead(
        "rfc7539esp(chacha20,poly1305)",
        "rfc7539esp(chacha20-simd,poly1305-simd)",
        "chacha20poly1305",
        300,
        block=1,
        iv=8,
        tag=16,
    ),
)

_AESNI = (
    _cipher("cbc(aes)", "cbc-aes-aesni", "aesni_intel", _AESNI_PRIORITY, block=16),
    _cipher("ctr(aes)", "ctr-aes-aesni", "aesni_intel", 400, block=1),
    _cipher("xts(aes)", "xts-aes-aesni", "aesni_intel", 401, block=16, xts=True),
    _aead("rfc4106(gcm(aes))", "rfc4106-gcm-aesni", "aesni_intel", 400, block=1, iv=8, tag=16),
)

_QAT_ASYMMETRIC = (
    _entry("rsa", "qat-rsa", "intel_qat", 1000, "akcipher"),
    _entry("dh", "qat-dh", "intel_qat", 1000, "kpp"),
)
