"""The kernel's algorithms and IPsec's use of them: each verdict."""

from collections.abc import Callable

import pytest

from tests.translators.doctoring import PF, QAT_SERVICE, findings, in_tree, only, started
from translators.crypto.providers import QAT_AEADS
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN
from translators.record import RecordedHost

MakeGateway = Callable[..., RecordedHost]
IPSEC = "/usr/sbin/ipsec"
GCM = "rfc4106(gcm(aes))"
SHA256 = "authenc(hmac(sha256),cbc(aes))"


def entry(name: str, driver: str, priority: int, kind: str = "aead", users: int = 1, passed: str = "passed") -> str:
    return (
        f"name         : {name}\ndriver       : {driver}\nmodule       : mod\npriority     : {priority}\n"
        f"refcnt       : {users}\nselftest     : {passed}\ninternal     : no\ntype         : {kind}\n\n"
    )


CPU = entry("cbc(aes)", "cbc-aes-aesni", 400, "skcipher") + entry(GCM, "rfc4106-gcm-aesni", 400)


def qat(priority: int, passed: str = "passed") -> str:
    return "".join(entry(name, driver, priority, passed=passed) for name, driver in QAT_AEADS.items())


def machine(host: RecordedHost, *tables: str) -> RecordedHost:
    host.files["/proc/crypto"] = "".join([*tables, CPU]).encode()
    return host


def test_the_kernel_takes_qat(gateway: MakeGateway) -> None:
    found = only(machine(started(gateway(PF)), qat(4001)), "kernel-algorithms")
    assert found.verdict == OK
    assert "HMAC_SHA2_256_128" in found.text


def test_the_kernel_passes_qat_over_and_both_priorities_are_told(gateway: MakeGateway) -> None:
    found = only(machine(started(gateway(PF)), qat(100)), "kernel-algorithms")
    assert found.verdict == PROBLEM
    assert "priority 100" in found.text
    assert "priority 4000 at least" in found.text
    assert "low priority on purpose" in (found.action or "")


def test_algorithms_that_failed_their_self_test(gateway: MakeGateway) -> None:
    found = only(machine(started(gateway(PF)), qat(4001, passed="unknown")), "kernel-algorithms")
    assert (found.verdict, "self-test" in found.text) == (PROBLEM, True)


def test_no_algorithm_as_the_driver_was_built_without(gateway: MakeGateway) -> None:
    found = only(machine(started(gateway(PF))), "kernel-algorithms")
    assert (found.verdict, "--enable-qat-lkcf" in found.text) == (PROBLEM, True)


def test_no_algorithm_as_the_file_has_no_instance_for_the_kernel(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files["/etc/c3xxx_dev0.conf"] = b"[GENERAL]\nServicesEnabled = cy\n[KERNEL]\nNumberCyInstances = 0\n"
    found = only(machine(started(host)), "kernel-algorithms")
    assert "no instance for the kernel in /etc/c3xxx_dev0.conf" in found.text
    assert "NumberCyInstances = 8 in the section [KERNEL] of /etc/c3xxx_dev0.conf" in (found.action or "")
    by_agent = only(machine(started(host)), "kernel-algorithms", agent=True).action or ""
    assert "accel-agent set qat device 0000:01:00.0 section KERNEL cy-instances 8" in by_agent
    assert "/etc" not in by_agent


def test_no_algorithm_as_no_device_has_the_service(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files["/etc/c3xxx_dev0.conf"] = b"[GENERAL]\nServicesEnabled = dc\n"
    found = only(machine(started(host)), "kernel-algorithms")
    assert "no running device has the sym service" in found.text
    assert found.action == "Give a device that service: see the check of the services."


def test_no_algorithm_on_a_kernel_that_has_them_switched_off(gateway: MakeGateway) -> None:
    host = machine(in_tree(started(gateway(PF))))
    host.files["/proc/sys/kernel/osrelease"] = b"5.18.3\n"
    found = only(host, "kernel-algorithms")
    assert (found.verdict, "this one is 5.18.3" in found.text) == (PROBLEM, True)
    assert "another kernel" in (found.action or "")


def test_algorithms_without_a_device_that_is_up_or_without_a_table(gateway: MakeGateway) -> None:
    assert only(machine(gateway(PF)), "kernel-algorithms").verdict == NOT_APPLICABLE
    assert only(started(gateway(PF)), "kernel-algorithms").verdict == UNKNOWN
    assert only(started(gateway(PF)), "ipsec").verdict == UNKNOWN


def test_charon_does_not_run(gateway: MakeGateway) -> None:
    host = started(gateway(PF))
    host.run((IPSEC, "stop"), timeout=1)
    found = only(host, "ipsec")
    assert (found.verdict, found.action) == (PROBLEM, f"Start it: {IPSEC} start.")
    del host.programs[IPSEC]
    assert only(host, "ipsec").verdict == NOT_APPLICABLE
    host.files["/usr/sbin/swanctl"] = b""
    assert "systemctl start" in (only(host, "ipsec").action or "")


def test_tunnels_by_their_algorithm(gateway: MakeGateway) -> None:
    chained = entry(f"echainiv({SHA256})", f"echainiv({QAT_AEADS[SHA256]})", 4001, users=3)
    gcm = entry(f"seqiv({GCM})", "seqiv(rfc4106-gcm-aesni)", 400, users=2)
    unused = entry("seqiv(rfc7539esp(chacha20,poly1305))", "seqiv(x)", 400, users=1)
    software, hardware = findings(machine(started(gateway(PF)), qat(4001), chained, gcm, unused), "ipsec")
    assert (hardware.verdict, "AES_CBC with HMAC_SHA2_256_128 use QAT" in hardware.text) == (OK, True)
    assert (software.verdict, "AES_GCM_16: not-offloadable" in software.text) == (PROBLEM, True)
    assert "The best that QAT has" in (software.action or "")


@pytest.mark.parametrize("up", [True, False])
def test_without_a_tunnel_or_a_device_nothing_is_judged(gateway: MakeGateway, up: bool) -> None:
    host = machine(gateway(PF), qat(4001))
    if up:
        host.run((QAT_SERVICE, "start"), timeout=1)
    found = only(host, "ipsec")
    assert (found.verdict, ("no tunnel" in found.text) is up) == (NOT_APPLICABLE, True)
