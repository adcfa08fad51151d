"""Configuration files, states, services, errors, activity, the log and the IOMMU: each verdict of each check."""

import errno
from collections.abc import Callable

import pytest

from tests.translators.doctoring import FOLDER, PCI, PF, QAT_SERVICE, findings, in_tree, only, started
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN
from translators.qat.kernel_log import BOOT_ID, KMSG
from translators.qat.kernel_log_rules import rule_of
from translators.record import RecordedHost

MakeGateway = Callable[..., RecordedHost]
OTHER = "c6xx@0000:3d:00.0"
VF = "c3xxxvf@0000:01:01.0"
GEN4 = "4xxx@0000:01:00.0"
SWITCH = f"{PCI}/0000:01:00.0/qat"
EFAULT = OSError(errno.EFAULT, "Bad address")


def table(*rows: tuple[int, int]) -> bytes:
    lines = ["AE          Requests        Responses", *(f" {n}: {a} {b}" for n, (a, b) in enumerate(rows)), ""]
    return "\n".join(lines).encode()


class Working(RecordedHost):
    """A machine whose device has worked when an interval is over."""

    then: bytes | OSError | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.then is not None:
            self.files[f"{FOLDER}/fw_counters"] = self.then
        self.files["/proc/interrupts"] = self.files["/proc/interrupts"].replace(b"  5  ", b" 25  ")  # type: ignore[union-attr]


def working(host: RecordedHost, first: bytes, then: bytes | OSError) -> RecordedHost:
    made = Working(host.files, host.links, host.folders, host.programs, complete=True)
    made.files[f"{FOLDER}/fw_counters"] = first
    made.then = then
    return made


# ── configuration files and states ───────────────────────────────────────────────────────────────


def test_configuration_files(gateway: MakeGateway) -> None:
    host = gateway(PF, OTHER)
    assert only(host, "configuration-file").text == "there: /etc/c3xxx_dev0.conf, /etc/c6xx_dev0.conf"
    del host.files["/etc/c6xx_dev0.conf"]
    missing, there = findings(host, "configuration-file")
    assert (missing.verdict, there.verdict) == (PROBLEM, OK)
    assert missing.text.startswith("/etc/c6xx_dev0.conf is not there")


def test_a_configuration_file_of_another_version(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files["/etc/c3xxx_dev0.conf"] = b"[GENERAL]\nConfigVersion = 1\n"
    found = only(host, "configuration-file")
    assert (found.verdict, "ConfigVersion = 1" in found.text) == (PROBLEM, True)


def test_the_kernels_driver_has_no_configuration_files(gateway: MakeGateway) -> None:
    assert only(in_tree(gateway(PF)), "configuration-file").verdict == NOT_APPLICABLE
    assert only(gateway(), "configuration-file").verdict == NOT_APPLICABLE


def test_states(gateway: MakeGateway) -> None:
    host = started(gateway(PF, OTHER))
    assert only(host, "device-state").text == "up: 0000:01:00.0, 0000:3d:00.0"
    host.run((QAT_SERVICE, "stop", "qat_dev1"), timeout=1)
    good, bad = findings(host, "device-state")
    assert (good.verdict, bad.verdict) == (OK, PROBLEM)
    assert "0000:3d:00.0" in bad.text
    assert f"{QAT_SERVICE} start" in (bad.action or "")
    assert only(gateway(), "device-state").verdict == NOT_APPLICABLE
    assert only(gateway(PF, bound=False), "device-state").verdict == NOT_APPLICABLE


def test_a_device_whose_firmware_does_not_answer(gateway: MakeGateway) -> None:
    host = started(gateway(PF))
    host.files[f"{FOLDER}/fw_counters"] = EFAULT
    found = findings(host, "device-state")[-1]
    assert (found.verdict, "switch the machine off" in (found.action or "")) == (PROBLEM, True)


def test_how_the_kernels_driver_is_started(gateway: MakeGateway) -> None:
    host = in_tree(gateway(GEN4))
    assert "take qat_4xxx out and load it" in (only(host, "device-state").action or "")
    host.files[f"{SWITCH}/state"] = b"down\n"
    assert f"echo up > {SWITCH}/state" in (only(host, "device-state").action or "")


def test_where_an_agent_serves_it_starts_the_devices(gateway: MakeGateway) -> None:
    host = in_tree(gateway(GEN4))
    host.files[f"{SWITCH}/state"] = b"down\n"
    for machine, past in ((gateway(PF), QAT_SERVICE), (host, "echo")):
        action = only(machine, "device-state", agent=True).action or ""
        assert action.startswith("Start it: accel-agent set qat enabled true, then accel-agent commit.")
        assert past not in action
        assert past in (only(machine, "device-state").action or "")


def test_only_the_device_that_is_disabled_may_be_down(gateway: MakeGateway) -> None:
    host = gateway(PF, "c3xxx@0000:02:00.0")
    disabled, other = findings(host, "device-state", agent=True, disabled=lambda: frozenset({"0000:01:00.0"}))
    assert (disabled.verdict, disabled.action) == (OK, None)
    assert disabled.text.startswith("0000:01:00.0 ")
    assert disabled.text.endswith(" is down: it is disabled in the running configuration")
    assert (other.verdict, "0000:02:00.0" in other.text) == (PROBLEM, True)


def test_a_state_that_cannot_be_told(gateway: MakeGateway) -> None:
    host = gateway(PF)
    del host.files["/proc/interrupts"]
    assert only(host, "device-state").verdict == UNKNOWN
    assert only(host, "interrupts").verdict == UNKNOWN


# ── services ─────────────────────────────────────────────────────────────────────────────────────


def test_services_with_sym(gateway: MakeGateway) -> None:
    assert only(started(gateway(PF)), "services").verdict == OK
    assert only(gateway(PF), "services").verdict == OK
    assert only(gateway(), "services").verdict == NOT_APPLICABLE


@pytest.mark.parametrize(("words", "told"), [("dc", "compression only"), ("asym;dc", "only asym dc")])
def test_services_without_sym(gateway: MakeGateway, words: str, told: str) -> None:
    host = gateway(PF)
    host.files["/etc/c3xxx_dev0.conf"] = f"[GENERAL]\nServicesEnabled = {words}\n".encode()
    for machine in (host, started(host)):
        found = only(machine, "services")
        assert (found.verdict, told in found.text) == (PROBLEM, True)
        assert "ServicesEnabled = cy" in (found.action or "")
        assert "/etc/c3xxx_dev0.conf" in (found.action or "")
        by_agent = "accel-agent set qat device 0000:01:00.0 services 'asym sym', then accel-agent commit"
        assert (
            only(machine, "services", agent=True).action
            == f"Give it the sym service: {by_agent}. IPsec needs no other."
        )


def test_one_device_for_compression_beside_one_for_ipsec_is_no_problem(gateway: MakeGateway) -> None:
    host = gateway(PF, OTHER)
    host.files["/etc/c6xx_dev0.conf"] = b"[GENERAL]\nServicesEnabled = dc\n"
    assert [found.verdict for found in findings(host, "services")] == [OK, OK]


def test_services_of_the_kernels_driver(gateway: MakeGateway) -> None:
    host = in_tree(gateway(GEN4))
    host.files.update({f"{SWITCH}/state": b"down\n", f"{SWITCH}/cfg_services": b"dc\n"})
    found = only(host, "services")
    assert (found.verdict, f"{SWITCH}/cfg_services" in (found.action or "")) == (PROBLEM, True)
    assert SWITCH not in (only(host, "services", agent=True).action or SWITCH)


def test_services_of_a_device_without_a_switch_are_nobodys_to_change(gateway: MakeGateway) -> None:
    host = in_tree(started(gateway(PF)))
    host.files[f"{FOLDER}/dev_cfg"] = b"[GENERAL]\nServicesEnabled = dc\n"
    for agent in (False, True):
        assert "no switch" in (only(host, "services", agent=agent).action or "")


def test_services_that_are_not_told(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files["/etc/c3xxx_dev0.conf"] = b"[GENERAL]\nServicesEnabled = teleport\n"
    assert only(host, "services").verdict == UNKNOWN
    assert only(in_tree(gateway(PF)), "services").verdict == UNKNOWN
    assert only(in_tree(gateway(VF)), "services").verdict == NOT_APPLICABLE


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def test_counted_errors(gateway: MakeGateway) -> None:
    host = gateway(PF)
    folder = f"{PCI}/0000:01:00.0"
    assert only(host, "device-errors").verdict == NOT_APPLICABLE
    assert only(gateway(), "device-errors").verdict == NOT_APPLICABLE
    for name in ("ras_correctable", "ras_uncorrectable", "ras_fatal"):
        host.files[f"{folder}/{name}"] = b"0\n"
    assert only(host, "device-errors").verdict == OK
    host.files[f"{folder}/ras_correctable"] = b"3\n"
    assert only(host, "device-errors").text.endswith("3 that were corrected")
    host.files[f"{folder}/ras_fatal"] = b"1\n"
    host.files[f"{folder}/aer_dev_nonfatal"] = b"Undefined 2\nTOTAL_ERR_NONFATAL 2\n"
    own, link = findings(host, "device-errors")
    assert (own.verdict, link.verdict) == (PROBLEM, PROBLEM)
    assert "slot" in (link.action or "")


# ── activity ─────────────────────────────────────────────────────────────────────────────────────


def test_interrupts(gateway: MakeGateway) -> None:
    host = working(started(gateway(PF)), table((1, 1)), table((1, 1)))
    found = only(host, "interrupts")
    assert (found.verdict, found.text) == (OK, "0000:01:00.0: 20 in 1 s, 25 in all")
    assert "that is normal" in only(started(gateway(PF)), "interrupts").text
    assert only(gateway(PF), "interrupts").verdict == NOT_APPLICABLE


def test_a_device_without_interrupts(gateway: MakeGateway) -> None:
    host = started(gateway(PF))
    host.files["/proc/interrupts"] = b"   CPU0\n"
    assert only(host, "interrupts").verdict == UNKNOWN


@pytest.mark.parametrize(
    ("first", "then", "verdict", "text"),
    [
        (table((10, 10)), table((25, 24)), OK, "15 requests in 1 s, 25 since it started"),
        (table((0, 0), (0, 0)), table((0, 0), (0, 0)), OK, "no request since the device started"),
        (table((10, 8)), table((10, 10)), OK, "0 requests in 1 s"),
        (table((10, 8)), table((11, 10)), OK, "1 requests in 1 s"),
        (table((10, 8)), table((10, 8)), PROBLEM, "2 requests wait"),
        (table((10, 8), (5, 5)), table((30, 8), (9, 9)), PROBLEM, "22 requests wait"),
        (table((10, 10)), table((2, 2)), UNKNOWN, "began anew"),
        (table((10, 10)), table((10, 10), (0, 0)), UNKNOWN, "began anew"),
        (table((10, 10)), EFAULT, UNKNOWN, "the device went down"),
        (table((10, 10)), b"nonsense\n", UNKNOWN, "fw_counters"),
    ],
)
def test_requests(gateway: MakeGateway, first: bytes, then: bytes | OSError, verdict: str, text: str) -> None:
    found = only(working(started(gateway(PF)), first, then), "counters")
    assert (found.verdict, text in found.text) == (verdict, True)


def test_an_engine_that_does_not_answer(gateway: MakeGateway) -> None:
    host = started(gateway(PF))
    rows = (b"| Firmware Requests [AE  0]: No Response |", b"| Firmware Responses[AE  0]: No Response |")
    host.files[f"{FOLDER}/fw_counters"] = b"\n".join([b"| FW Statistics for Qat Device |", *rows, b""])
    assert only(host, "counters").verdict == PROBLEM


def test_a_driver_that_does_not_count(gateway: MakeGateway) -> None:
    assert only(started(gateway(VF)), "counters").verdict == NOT_APPLICABLE
    assert only(gateway(PF), "counters").verdict == NOT_APPLICABLE


@pytest.mark.parametrize(("status", "verdict"), [(b"0\n\0", OK), (b"-1\n\0", PROBLEM), (None, NOT_APPLICABLE)])
def test_heartbeats(gateway: MakeGateway, status: bytes | None, verdict: str) -> None:
    host = started(gateway(PF))
    if status is not None:
        host.files[f"{FOLDER}/heartbeat"] = status
    assert only(host, "heartbeat").verdict == NOT_APPLICABLE
    assert host.elapsed == 0
    assert only(host, "heartbeat", heartbeat=True).verdict == verdict
    assert host.elapsed >= 1.5
    assert host.read_paths.count(f"{FOLDER}/heartbeat") == 1
    assert only(gateway(PF), "heartbeat", heartbeat=True).verdict == NOT_APPLICABLE


# ── the log and the IOMMU ────────────────────────────────────────────────────────────────────────


def logged(host: RecordedHost, *texts: str, level: int = 3) -> RecordedHost:
    host.files[BOOT_ID] = b"00000000-0000-4000-8000-000000000001\n"
    host.folders.add(KMSG)
    host.devices[KMSG] = [
        f"{level},{number},{number * 1000},-;c3xxx 0000:01:00.0: {text}\n".encode() for number, text in enumerate(texts)
    ]
    return host


def test_the_log(gateway: MakeGateway) -> None:
    assert only(gateway(PF), "kernel-log").verdict == UNKNOWN
    assert only(logged(gateway(PF), "qat_dev0 started 6 acceleration engines"), "kernel-log").verdict == OK
    busy, firmware = findings(logged(gateway(PF), "Device qat_dev0 is busy", "AE0 is inactive!!"), "kernel-log")
    assert (firmware.verdict, busy.verdict) == (PROBLEM, OK)
    assert "AE0 is inactive!!" in firmware.text
    assert (firmware.action or "").startswith("The firmware does not answer")


def test_a_line_that_repeats_is_told_once_and_the_last_ones_are_told(gateway: MakeGateway) -> None:
    lines = [f"AE{number} is inactive!!" for number in range(9) for _ in range(3)]
    more, *told = findings(logged(gateway(PF), *lines), "kernel-log")
    assert [f"AE{number} " in finding.text for number, finding in zip((4, 5, 6, 7, 8), told, strict=True)] == [True] * 5
    assert (more.verdict, more.text) == (PROBLEM, "4 more before the following")


def test_a_log_that_may_not_be_read(gateway: MakeGateway) -> None:
    host = logged(gateway(PF))
    del host.devices[KMSG]
    host.folders.discard(KMSG)
    host.files[KMSG] = PermissionError(errno.EPERM, "Operation not permitted")
    found = only(host, "kernel-log")
    assert (found.verdict, KMSG in found.text) == (UNKNOWN, True)


def test_the_iommu(gateway: MakeGateway) -> None:
    group = f"{PCI}/0000:01:00.0/iommu_group"
    host = gateway(PF)
    assert only(host, "iommu").verdict == OK
    host.links[group] = "../../kernel/iommu_groups/7"
    assert only(host, "iommu").verdict == UNKNOWN
    assert only(logged(host), "iommu").verdict == OK
    found = only(logged(host, "Cannot use PF with IOMMU enabled"), "iommu")
    assert (found.verdict, "0000:01:00.0" in found.text) == (PROBLEM, True)
    rule = rule_of("Cannot use PF with IOMMU enabled")
    assert rule is not None
    assert (found.action or "").lower().startswith(rule.advice.lower())
    assert "virtual functions, or boot with iommu=pt" in rule.advice
    assert only(host, "kernel-log").verdict == OK
    assert only(in_tree(gateway(PF)), "iommu").verdict == NOT_APPLICABLE
    assert only(gateway(VF), "iommu").verdict == NOT_APPLICABLE
