"""What carries out an algorithm, told by the driver's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.crypto.providers import QAT_AEADS, QAT_DRIVERS, claims_qat, drivers, is_qat, provider


@pytest.mark.parametrize(
    ("driver", "word"),
    [
        *((driver, "qat") for driver in sorted(QAT_DRIVERS)),
        ("echainiv(qat_aes_cbc_hmac_sha256)", "qat"),
        ("echainiv(authencesn(hmac(sha384-avx2),qat_aes_cbc))", "qat"),
        ("seqiv(authenc(hmac(sha256-ni),rfc3686(qat_aes_ctr)))", "qat"),
        ("pcrypt(echainiv(qat_aes_cbc_hmac_sha1))", "qat"),
        ("qat_aes_gcm", "unknown"),
        ("seqiv(rfc4106(qat_aes_gcm))", "unknown"),
        ("qat_aes_cbc_hmac_sha384", "unknown"),
        ("aqat_aes_cbc", "mod"),
        ("echainiv(authenc(hmac(sha256-ssse3),cbc-aes-aesni))", "aes-ni"),
        ("authenc(hmac(sha1-avx2),cbc(aes-aesni))", "aes-ni"),
        ("authencesn(hmac(sha256-ni),cbc(aes-generic))", "generic"),
        ("cryptd(__cbc-aes-aesni)", "aes-ni"),
        ("__driver-gcm-aes-aesni", "aes-ni"),
        ("seqiv(rfc4106-gcm-aesni-avx10_512)", "aes-ni"),
        ("seqiv(rfc4106-gcm-vaes-avx10_512)", "vaes"),
        ("rfc4106-gcm-vaes-avx2", "vaes"),
        ("pcrypt(rfc4106-gcm-aesni)", "aes-ni"),
        ("rfc4106(gcm_base(ctr-aes-aesni,ghash-generic))", "aes-ni"),
        ("ghash-clmulni", "pclmulqdq"),
        ("ghash-pclmulqdqni", "pclmulqdq"),
        ("sha256-ni", "sha-ni"),
        ("hmac(sha1-ni)", "sha-ni"),
        ("sha512-avx2", "avx2"),
        ("sha1-avx", "avx"),
        ("chacha20-avx512vl", "avx512"),
        ("sha256-ssse3", "ssse3"),
        ("rfc7539esp(chacha20-simd,poly1305-simd)", "simd"),
        ("hmac-sha256-lib", "library"),
        ("cbc(ecb(aes-fixed-time))", "generic"),
        ("ecb-cipher_null", "generic"),
        ("cbc-aes-asm", "generic"),
        ("cbc-aes-ccp", "mod"),
        ("cbc(aes-ce)", "unknown"),
        ("", "unknown"),
        ("((((,,))", "unknown"),
    ],
)
def test_the_name_tells_the_provider(driver: str, word: str) -> None:
    assert provider(driver, "mod") == word


def test_the_module_of_what_is_built_in_is_no_provider() -> None:
    assert provider("jitterentropy_rng") == provider("jitterentropy_rng", "kernel") == "unknown"


def test_a_name_is_taken_apart() -> None:
    assert drivers("echainiv(authenc(hmac(sha1-ni),cbc(aes-aesni)))") == ("sha1-ni", "aes-aesni")
    assert drivers("__plain") == ("plain",)
    assert drivers("a(b, c)") == ("b", "c")


def test_qat_registers_no_gcm_and_nothing_else_is_taken_for_it() -> None:
    assert set(QAT_AEADS.values()) <= QAT_DRIVERS
    assert not any("gcm" in driver for driver in QAT_DRIVERS)
    assert is_qat("qat-rsa")
    assert [claims_qat(name) for name in ("qat_aes_gcm", "qat-ecdh", "qat_aes_cbc", "qatar", "cbc")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@given(st.text(alphabet="ab_(),- ", max_size=60))
def test_any_name_has_a_provider(driver: str) -> None:
    assert provider(driver)


def test_a_name_without_end_is_taken_apart_in_one_pass() -> None:
    assert provider("(" * 500_000 + "a" * 500_000 + "(" + "b," * 500_000) == "unknown"
