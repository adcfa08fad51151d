"""The container ``offload`` of an SA: what is read for it, and what it says with evidence on each kind of machine."""

from typing import Any

import pytest

from tests.translators.test_ipsec_state import child, ike, machine
from translators.base import ALL
from translators.ipsec.translator import IpsecTranslator
from translators.record import RecordedHost
from translators.vici import Message

VAES = "aes ssse3 vaes vpclmulqdq"
QAT = "qat_aes_cbc_hmac_sha256"


def entry(name: str, driver: str, priority: int, *, kind: str = "aead", references: int = 1) -> str:
    return (
        f"name         : {name}\ndriver       : {driver}\nmodule       : kernel\npriority     : {priority}\n"
        f"refcnt       : {references}\nselftest     : passed\ninternal     : no\ntype         : {kind}\n\n"
    )


CIPHER = entry("cbc(aes)", "cbc-aes-aesni", 400, kind="skcipher")
GCM = entry("rfc4106(gcm(aes))", "rfc4106-gcm-vaes-avx512", 800)


def offload(host: RecordedHost, *, table: str | None, flags: str = VAES) -> list[dict[str, Any]]:
    """Return the containers of all SAs on a machine."""
    if table is not None:
        host.files["/proc/crypto"] = table.encode()
    host.files["/proc/cpuinfo"] = f"processor\t: 0\nflags\t\t: {flags}\n\n".encode()
    reading = IpsecTranslator().operational(host, ALL, {})
    assert reading.faults == ()
    return [entry["offload"] for entry in reading.tree["security-association"]]


def gcm() -> Message:
    said = child(5, **{"encr-alg": "AES_GCM_16", "encr-keysize": "256"})
    del said["net-5"]["integ-alg"]
    return ike("site", said)


def test_cbc_that_qat_has_is_offloaded_and_the_cpu_is_named_as_the_other_way() -> None:
    qat = entry("authenc(hmac(sha256),cbc(aes))", QAT, 4001, references=3)
    (found,) = offload(machine(ike("site", child(4))), table=qat + CIPHER)
    assert (found["state"], found["provider"], found["basis"]) == ("offloaded", "qat", "by-algorithm")
    assert found["algorithm"] == "authenc(hmac(sha256),cbc(aes))"
    assert f"is by {QAT} (priority 4001)" in found["reason"]
    assert "AES-GCM on it is usually faster" in found["advice"]
    assert "measure both" in found["advice"]


def test_gcm_is_never_offloaded_and_both_ways_are_named() -> None:
    qat = entry("authenc(hmac(sha256),cbc(aes))", QAT, 4001)
    (found,) = offload(machine(gcm()), table=qat + GCM)
    assert (found["state"], found["provider"]) == ("not-offloadable", "vaes")
    assert found["reason"].startswith("no QAT driver of the kernel has rfc4106(gcm(aes))")
    assert "AES_CBC with HMAC_SHA2_256_128" in found["advice"]
    assert "AES-GCM on it is usually faster than QAT" in found["advice"]
    (slow,) = offload(machine(gcm()), table=qat + GCM, flags="ssse3")
    assert "QAT is probably faster than the CPU; measure both" in slow["advice"]


def test_under_kernel_libipsec_nothing_is_claimed_of_the_kernel() -> None:
    host = machine(ike("site", child(4)), plugins=("kernel-libipsec", "kernel-netlink"))
    (found,) = offload(host, table=CIPHER)
    assert (found["state"], found["basis"]) == ("unknown", "by-data-plane")
    assert "charon encrypts the packets itself (kernel-libipsec)" in found["reason"]
    assert "provider" not in found


@pytest.mark.parametrize("plugin", ["kernel-netlink", "kernel-pfkey"])
def test_a_machine_without_the_table_says_so(plugin: str) -> None:
    (found,) = offload(machine(ike("site", child(4)), plugins=(plugin,)), table=None)
    assert found["state"] == "unknown"
    assert "this machine has no /proc/crypto" in found["reason"]


def test_a_table_that_can_t_be_read_is_the_reason() -> None:
    (found,) = offload(machine(ike("site", child(4))), table="name : x")
    assert found["state"] == "unknown"
    assert "the kernel's algorithms can't be read: /proc/crypto" in found["reason"]


def test_a_charon_whose_plugins_are_none_that_are_known_is_unknown() -> None:
    (found,) = offload(machine(ike("site", child(4)), plugins=("aes",)), table=CIPHER)
    assert found == {
        "state": "unknown",
        "reason": "what encrypts the packets can't be told: charon has loaded no plugin that is known to install SAs",
    }


def test_sources_are_read_once_for_many_associations() -> None:
    host = machine(ike("site", *(child(number) for number in range(1, 40))))
    found = offload(host, table=CIPHER)
    assert len(found) == 39
    assert [command for command, _message in host.asked].count("stats") == 2  # once for the leaf-list plugin


def test_ah_has_no_verdict() -> None:
    said = child(4, protocol="AH")
    for leaf in ("encr-alg", "encr-keysize"):
        del said["net-4"][leaf]
    reading = IpsecTranslator().operational(machine(ike("site", said)), ALL, {})
    assert "offload" not in reading.tree["security-association"][0]
