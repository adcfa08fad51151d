"""/proc/crypto: what the kernel can compute, and by which driver (``c_show`` in crypto/proc.c, Linux 6.1).

The accelerator's driver registers exactly these six symmetric algorithms and two public-key ones, no GCM
(qat_algs.c, qat_asym_algs.c).
"""

Field = tuple[str, str | int]


def render(*, aes: bool, symmetric: int | None, asymmetric: bool) -> bytes:
    """Return the table; ``aes``: the CPU's AES instructions; the rest: what devices that are up compute.

    ``symmetric`` is the priority of their symmetric algorithms, None where there are none.
    """
    entries = [*_SOFTWARE]
    if aes:
        entries += _AESNI
    if symmetric is not None:
        entries += _qat_symmetric(symmetric)
    if asymmetric:
        entries += _QAT_ASYMMETRIC
    # What was registered last comes first.
    return "".join(f"{entry}\n" for entry in reversed(entries)).encode()


def _entry(name: str, driver: str, module: str, priority: int, kind: str, *fields: Field) -> str:
    common: tuple[Field, ...] = (
        ("name", name),
        ("driver", driver),
        ("module", module),
        ("priority", priority),
        ("refcnt", 1),
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


def _aead(name: str, driver: str, module: str, priority: int, *, block: int, iv: int, tag: int) -> str:
    return _entry(
        name,
        driver,
        module,
        priority,
        "aead",
        ("async", "yes" if module == "intel_qat" else "no"),
        ("blocksize", block),
        ("ivsize", iv),
        ("maxauthsize", tag),
        ("geniv", "<none>"),
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
    _cipher("cbc(aes)", "cbc(aes-generic)", "cbc", 100, block=16),
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
    _cipher("cbc(aes)", "cbc-aes-aesni", "aesni_intel", 400, block=16),
    _cipher("ctr(aes)", "ctr-aes-aesni", "aesni_intel", 400, block=1),
    _cipher("xts(aes)", "xts-aes-aesni", "aesni_intel", 401, block=16, xts=True),
    _aead("rfc4106(gcm(aes))", "rfc4106-gcm-aesni", "aesni_intel", 400, block=1, iv=8, tag=16),
)

_QAT_ASYMMETRIC = (
    _entry("rsa", "qat-rsa", "intel_qat", 1000, "akcipher"),
    _entry("dh", "qat-dh", "intel_qat", 1000, "kpp"),
)
