"""The verdict on an SA: what an ESP algorithm gets on kernels of any age."""

from collections.abc import Iterable
from typing import TypeAlias

import pytest

from translators.crypto.esp import EspAlgorithms, asked_by_esp
from translators.crypto.offload import DataPlane, Verdict, verdict
from translators.crypto.proc_crypto import PROC_CRYPTO, Algorithm, Table
from translators.crypto.providers import QAT_AEADS
from translators.sources import SourceError

AES_NI = frozenset({"aes-ni", "avx2"})
VAES = AES_NI | {"vaes", "vpclmulqdq"}

CBC = "cbc(aes)"
SHA256 = "authenc(hmac(sha256),cbc(aes))"
SHA384 = "authenc(hmac(sha384),cbc(aes))"
ESN = "authencesn(hmac(sha256),cbc(aes))"
GCM = "rfc4106(gcm(aes))"


def algorithm(name: str, driver: str, priority: int, kind: str = "aead", references: int | None = 1) -> Algorithm:
    return Algorithm(name, driver, "mod", priority, kind, references, self_test=True, internal=False)


def chained(inner: Algorithm, references: int = 3) -> Algorithm:
    generator = "echainiv" if "cbc" in inner.name else "seqiv"
    return algorithm(
        f"{generator}({inner.name})", f"{generator}({inner.driver})", inner.priority, references=references
    )


def qat(priority: int) -> list[Algorithm]:
    return [
        *(algorithm(name, driver, priority) for name, driver in QAT_AEADS.items()),
        algorithm(CBC, "qat_aes_cbc", priority, "skcipher"),
        algorithm("ctr(aes)", "qat_aes_ctr", priority, "skcipher"),
    ]


CPU = [
    algorithm(CBC, "cbc-aes-aesni", 400, "skcipher"),
    algorithm("ctr(aes)", "ctr-aes-aesni", 400, "skcipher"),
    algorithm("cbc(des3_ede)", "cbc-des3_ede-asm", 200, "skcipher"),
    algorithm("ecb(cipher_null)", "ecb-cipher_null", 100, "skcipher"),
    algorithm(GCM, "rfc4106-gcm-aesni", 400),
    algorithm("rfc7539esp(chacha20,poly1305)", "rfc7539esp(chacha20-simd,poly1305-simd)", 300),
]


def over_aesni(name: str, digest: str, priority: int) -> Algorithm:
    template = name.partition("(")[0]
    return algorithm(name, f"{template}(hmac({digest}),cbc-aes-aesni)", priority)


TEMPLATES = [over_aesni(name, f"sha{name[12:].partition(')')[0][3:]}-avx2", 4170) for name in QAT_AEADS]

# Before 2025; 5.18, or a driver without kernel crypto; since 2025, with and without SAs of before QAT came up; and
# there with QAT in use as nothing else was there when the first SA was made.
KERNELS = {
    "4001": qat(4001) + CPU,
    "none": CPU,
    "100": qat(100) + CPU + TEMPLATES + [chained(entry) for entry in TEMPLATES],
    "100, unused": qat(100) + CPU,
    "100, in use": qat(100) + CPU + [chained(entry) for entry in qat(100)[:3]],
    "no AES": qat(4001),
}
WHOLE: dict[str, tuple[str, str | None]] = {
    "4001": ("offloaded", "qat"),
    "none": ("software", "aes-ni"),
    "100": ("registered-not-selected", "aes-ni"),
    "100, unused": ("registered-not-selected", "aes-ni"),
    "100, in use": ("offloaded", "qat"),
    "no AES": ("offloaded", "qat"),
}


def never(provider: str | None, *, cipher: bool = False) -> dict[str, tuple[str, str | None]]:
    """Return the verdict on what QAT does not have, on each kernel.

    ``cipher``: QAT has the cipher, which may be taken for a template: the provider can't be told before it is seen.
    """
    return {
        kernel: ("not-offloadable", None if kernel == "no AES" or (cipher and kernel == "4001") else provider)
        for kernel in KERNELS
    }


Row: TypeAlias = tuple[str, int | None, str | None]
Expected: TypeAlias = dict[str, tuple[str, str | None]]

# (encryption, bits, integrity) to the verdicts without and with ESN, by kernel.
ROWS: dict[Row, tuple[Expected, Expected]] = {
    ("AES_CBC", 128, "HMAC_SHA1_96"): (WHOLE, never("aes-ni", cipher=True)),
    ("AES_CBC", 192, "HMAC_SHA2_256_128"): (WHOLE, never("aes-ni", cipher=True)),
    ("AES_CBC", 256, "HMAC_SHA2_256_96"): (WHOLE, never("aes-ni", cipher=True)),
    ("AES_CBC", 256, "HMAC_SHA2_512_256"): (WHOLE, never("aes-ni", cipher=True)),
    ("AES_CBC", 256, "HMAC_SHA2_384_192"): (never("aes-ni", cipher=True),) * 2,
    ("AES_CBC", 128, "HMAC_MD5_96"): (never("aes-ni", cipher=True),) * 2,
    ("AES_CBC", 128, "AES_XCBC_96"): (never("aes-ni", cipher=True),) * 2,
    ("AES_CBC", 128, "AES_CMAC_96"): (never("aes-ni", cipher=True),) * 2,
    ("AES_CBC", 128, None): (never("aes-ni", cipher=True),) * 2,
    ("AES_CTR", 256, "HMAC_SHA2_256_128"): (never("aes-ni", cipher=True),) * 2,
    ("AES_GCM_16", 256, None): (never("aes-ni"),) * 2,
    ("AES_GCM_8", 128, None): (never("aes-ni"),) * 2,
    ("AES_CCM_16", 256, None): (never(None),) * 2,
    ("NULL_AES_GMAC", 256, None): (never(None),) * 2,
    ("CHACHA20_POLY1305", 256, None): (never("simd"),) * 2,
    ("3DES_CBC", None, "HMAC_SHA1_96"): (never("generic"),) * 2,
    ("CAMELLIA_CBC", 256, "HMAC_SHA2_256_128"): (never(None),) * 2,
    ("NULL", None, "HMAC_SHA1_96"): (never("generic"),) * 2,
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("esn", [False, True], ids=["", "esn"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row)))
def test_each_algorithm_on_each_kernel(row: Row, esn: bool, kernel: str) -> None:
    encryption, bits, integrity = row
    made = verdict(EspAlgorithms(encryption, bits, integrity, esn), Table(tuple(KERNELS[kernel])), AES_NI)
    state, provider = ROWS[row][esn][kernel]
    assert (made.state, made.provider) == (state, provider), made.reason
    assert made.basis == "by-algorithm"
    assert made.algorithm is not None
    assert made.reason


def of(table: Iterable[Algorithm], *esp: object, features: frozenset[str] | None = AES_NI) -> Verdict:
    return verdict(EspAlgorithms(*esp), Table(tuple(table)), features)  # type: ignore[arg-type]


CBC_SHA256 = ("AES_CBC", 256, "HMAC_SHA2_256_128")


def test_an_instance_over_qats_cipher_is_partial() -> None:
    inner = algorithm(SHA384, "authenc(hmac(sha384-avx2),qat_aes_cbc)", 40160)
    made = of([chained(inner), *KERNELS["4001"]], "AES_CBC", 256, "HMAC_SHA2_384_192")
    assert (made.state, made.provider) == ("partial", "qat")
    assert made.algorithm == f"echainiv({SHA384})"
    assert "authenc(hmac(sha384-avx2),qat_aes_cbc)" in made.reason
    assert "HMAC_SHA2_256_128" in (made.advice or "")
    assert of([inner, *KERNELS["4001"]], "AES_CBC", 256, "HMAC_SHA2_384_192").state == "partial"


def test_esn_over_qats_cipher_is_partial_and_the_advice_is_to_do_without() -> None:
    inner = algorithm(ESN, "authencesn(hmac(sha256-ni),qat_aes_cbc)", 40180)
    made = of([chained(inner), *KERNELS["4001"]], *CBC_SHA256, True)
    assert made.state == "partial"
    assert made.advice is not None
    assert made.advice.startswith("For all of it on QAT, switch ESN off, which QAT does not have; measure")


def test_gcm_over_qats_counter_mode_is_partial() -> None:
    inner = algorithm(GCM, "rfc4106(gcm_base(qat_aes_ctr,ghash-generic))", 4001)
    assert of([chained(inner)], "AES_GCM_16", 256).state == "partial"


def test_qats_cipher_in_the_template_where_qat_has_no_whole_algorithm_is_partial() -> None:
    assert of([algorithm(CBC, "qat_aes_cbc", 4001, "skcipher")], *CBC_SHA256).state == "partial"


@pytest.mark.parametrize(("kernel", "numbers"), [("100", ("100", "4170")), ("100, unused", ("100", "400", "4000"))])
def test_both_priorities_are_told_where_qat_is_not_selected(kernel: str, numbers: tuple[str, ...]) -> None:
    made = of(KERNELS[kernel], *CBC_SHA256)
    assert all(f"priority {number}" in made.reason for number in numbers)
    assert "qat_aes_cbc_hmac_sha256" in made.reason
    assert "cbc-aes-aesni" in made.reason
    assert made.advice is not None
    assert "low priority on purpose" in made.advice
    assert "measure both" in made.advice


def test_the_only_registration_is_taken_whatever_its_priority_when_it_is_in_use() -> None:
    used = [algorithm(SHA256, "qat_aes_cbc_hmac_sha256", 100, references=5), *CPU]
    assert of(used, *CBC_SHA256).state == "offloaded"
    unknown = [algorithm(SHA256, "qat_aes_cbc_hmac_sha256", 100, references=None), *CPU]
    assert of(unknown, *CBC_SHA256).state == "registered-not-selected"


def test_an_instance_is_evidence_whatever_its_priority_and_its_users() -> None:
    assert of([chained(qat(100)[1], references=1), *CPU], *CBC_SHA256).state == "offloaded"


def test_a_template_has_ten_times_its_ciphers_priority() -> None:
    one = algorithm(SHA256, "qat_aes_cbc_hmac_sha256", 3999)
    made = of([one, *CPU], *CBC_SHA256)
    assert made.state == "registered-not-selected"
    assert "priority 4000 at least" in made.reason
    assert "goes before QAT as long as it is loaded" in (made.advice or "")


def test_a_cipher_that_nobody_gets_makes_no_template() -> None:
    untested = Algorithm(CBC, "cbc-aes-aesni", "mod", 400, "skcipher", self_test=False)
    assert of([*qat(100), untested], *CBC_SHA256).state == "offloaded"


def test_a_registration_that_nobody_gets_is_none() -> None:
    failed = Algorithm(SHA256, "qat_aes_cbc_hmac_sha256", "intel_qat", 4001, "aead", 1, self_test=False)
    made = of([failed, *TEMPLATES, *CPU], *CBC_SHA256)
    assert (made.state, made.provider) == ("software", "aes-ni")


@pytest.mark.parametrize("priority", [1100, 4001])
def test_an_older_instance_of_no_higher_priority_is_left_by_a_rekey(priority: int) -> None:
    made = of([*qat(4001), chained(over_aesni(SHA256, "sha256-generic", priority)), *CPU], *CBC_SHA256)
    assert made.state == "registered-not-selected"
    assert made.advice is not None
    assert made.advice.startswith("Rekey the SA")


def test_another_engine_goes_before_qat() -> None:
    made = of([*qat(4001), algorithm(SHA256, "authenc-hmac-sha256-cbc-aes-other", 5000), *CPU], *CBC_SHA256)
    assert (made.state, made.provider) == ("registered-not-selected", "mod")
    assert made.advice is not None
    assert "goes before QAT as long as it is loaded" in made.advice
    assert "priority 5000" in made.reason
    assert "priority 4001" in made.reason


def test_an_instance_tells_more_than_what_it_would_be_made_of_now() -> None:
    mine = chained(algorithm(SHA256, "qat_aes_cbc_hmac_sha256", 4001))
    made = of([mine, *TEMPLATES, *CPU], *CBC_SHA256)
    assert (made.state, made.algorithm) == ("offloaded", f"echainiv({SHA256})")


def test_an_algorithm_that_nothing_uses_yet_is_told() -> None:
    fresh, used = (of([algorithm(SHA256, "qat_aes_cbc_hmac_sha256", 4001, "aead", n)], *CBC_SHA256) for n in (1, 3))
    assert fresh.state == used.state == "offloaded"
    assert "rekey" in (fresh.advice or "")
    assert used.advice is None


def test_an_algorithm_that_failed_its_test_is_not_qats_work() -> None:
    failed = Algorithm(SHA256, "qat_aes_cbc_hmac_sha256", "intel_qat", 4001, "aead", 1, self_test=False)
    made = of([failed, *CPU], *CBC_SHA256)
    assert (made.state, made.provider) == ("software", "aes-ni")
    assert made.reason.startswith("QAT's did not pass its self-test")
    assert "kernel log" in (made.advice or "")


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_driver_that_no_qat_driver_has_is_no_offload(wrapped: bool) -> None:
    invented = algorithm(GCM, "qat_aes_gcm", 9001)
    made = of([chained(invented) if wrapped else invented, *CPU], "AES_GCM_16", 256)
    assert (made.state, made.provider) == ("unknown", "unknown")
    assert "qat_aes_gcm" in made.reason


def test_an_invented_cipher_is_no_offload() -> None:
    assert of([algorithm(CBC, "qat_aes_cbc2", 9001, "skcipher")], *CBC_SHA256).state == "unknown"


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (VAES, "usually faster"),
        (AES_NI, "fast core can be faster than QAT"),
        (frozenset(), "probably faster than the CPU"),
        (None, "is not known"),
    ],
)
def test_what_can_not_be_offloaded_has_the_best_that_can_and_a_word_on_the_cpu(
    features: frozenset[str] | None, words: str
) -> None:
    made = of(KERNELS["4001"], "AES_GCM_16", 256, features=features)
    assert made.advice is not None
    assert "AES_CBC with HMAC_SHA2_256_128" in made.advice
    assert words in made.advice
    assert "measure both" in made.advice


def test_offloaded_work_that_the_cpu_might_do_faster_is_told() -> None:
    assert "VAES" in (of(KERNELS["4001"], *CBC_SHA256, features=VAES).advice or "")


def test_without_esn_the_same_algorithm_can_be_offloaded() -> None:
    made = of(KERNELS["4001"], *CBC_SHA256, True)
    assert (made.advice or "").startswith("QAT has this algorithm without ESN only.")


def test_where_qat_registers_nothing_the_advice_is_what_to_look_at() -> None:
    made = of(KERNELS["none"], *CBC_SHA256)
    assert "no QAT driver has registered" in made.reason
    assert "cbc-aes-aesni" in made.reason
    assert "--enable-qat-lkcf" in (made.advice or "")
    assert "Linux 5.18 never" in (made.advice or "")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (None, "has no /proc/crypto"),
        (SourceError(PROC_CRYPTO, "Permission denied"), "/proc/crypto: Permission denied"),
        (Table(()), "has neither authenc(hmac(sha256),cbc(aes)) nor what it is made of"),
    ],
)
def test_without_evidence_the_verdict_is_unknown(table: Table | SourceError | None, words: str) -> None:
    made = verdict(EspAlgorithms(*CBC_SHA256), table, VAES)
    assert (made.state, made.provider, made.basis) == ("unknown", None, None)
    assert words in made.reason


def test_an_algorithm_that_the_kernel_has_no_name_for_is_unknown() -> None:
    made = of(KERNELS["4001"], "KUZNYECHIK_MGM_KTREE", 256)
    assert (made.state, made.algorithm) == ("unknown", None)
    assert "what the kernel calls KUZNYECHIK_MGM_KTREE-256" in made.reason
    assert of(KERNELS["4001"], "AES_CBC", 128, "HMAC_STREEBOG").state == "unknown"


def test_a_data_plane_in_user_space_is_not_judged_by_the_kernels_table() -> None:
    table = Table(tuple(KERNELS["4001"]))
    made = verdict(EspAlgorithms(*CBC_SHA256), table, AES_NI, DataPlane.USER_SPACE)
    assert (made.state, made.basis, made.algorithm) == ("unknown", "by-data-plane", None)
    assert "kernel-libipsec" in made.reason
    assert "kernel-netlink" in (made.advice or "")


@pytest.mark.parametrize(
    ("esp", "asked"),
    [
        (("AES_CBC", 128, "HMAC_SHA1_96"), "echainiv(authenc(hmac(sha1),cbc(aes)))"),
        (("AES_CBC", 128, "HMAC_SHA1_96", True), "echainiv(authencesn(hmac(sha1),cbc(aes)))"),
        (("AES_CBC", 128), "echainiv(authenc(digest_null,cbc(aes)))"),
        (("AES_CTR", 128, "AES_XCBC_96"), "seqiv(authenc(xcbc(aes),rfc3686(ctr(aes))))"),
        (("NULL", None, "HMAC_SHA2_384_192"), "authenc(hmac(sha384),ecb(cipher_null))"),
        (("AES_GCM_12", 256, None, True), "seqiv(rfc4106(gcm(aes)))"),
        (("AES_CCM_8", 256), "seqiv(rfc4309(ccm(aes)))"),
        (("NULL_AES_GMAC", 256), "seqiv(rfc4543(gcm(aes)))"),
        (("CHACHA20_POLY1305", 256), "seqiv(rfc7539esp(chacha20,poly1305))"),
    ],
)
def test_the_kernel_is_asked_by_its_own_names(esp: tuple[object, ...], asked: str) -> None:
    names = EspAlgorithms(*esp).kernel_names()  # type: ignore[arg-type]
    assert names is not None
    assert names.asked == asked
    assert asked_by_esp(names.asked)
    assert asked_by_esp(names.aead)


def test_an_sa_is_named_as_strongswan_does() -> None:
    assert str(EspAlgorithms(*CBC_SHA256, True)) == "AES_CBC-256 with HMAC_SHA2_256_128 and ESN"
    assert str(EspAlgorithms("CHACHA20_POLY1305")) == "CHACHA20_POLY1305"


def test_what_ipsec_does_not_ask_for_is_told_apart() -> None:
    assert not any(map(asked_by_esp, ("crc32c", "xts(aes)", "rsa", "lzo", "sha256")))
