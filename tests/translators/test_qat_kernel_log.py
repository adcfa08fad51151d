"""The kernel's log: which lines are errors of QAT devices, and that each is told once."""

import errno
import json
import random
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.qat import kernel_log
from translators.qat.kernel_log import BOOT_ID, KMSG, Errors, KernelLog
from translators.qat.kernel_log_lines import DeviceError, Line, error_of, errors_in, record_line, text_lines
from translators.record import RecordedHost
from translators.sources import SourceError

PF = "0000:3d:00.0"
LOG = "/var/log/kern.log"


def error(text: str, level: int | None = None) -> tuple[str | None, str, str] | None:
    found = error_of(Line(text, level))
    return None if found is None else (found.address, found.kind, found.severity)


# ── which lines are errors ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "kind", "severity"),
    [
        ("Direct firmware load for qat_c62x_mmp.bin failed with error -2", "firmware", "critical"),
        ("firmware: failed to load qat_c62x.bin (-2)", "firmware", "critical"),
        ("Failed to load MMP firmware qat_c62x_mmp.bin", "firmware", "critical"),
        ("Failed to load UOF firmware qat_c62x.bin", "firmware", "critical"),
        ("Failed to load acceleration FW", "firmware", "critical"),
        ("Failed to map FW", "firmware", "critical"),
        ("Failed to initialise Acceleration Engine", "firmware", "critical"),
        ("AE Start Failed", "firmware", "critical"),
        ("AE4 is inactive!!", "firmware", "critical"),
        ("Failed to send init message", "firmware", "critical"),
        ("FW authentication error", "firmware", "critical"),
        ("probe with driver c6xx failed with error -14", "firmware", "critical"),
        ("probe with driver c6xx failed with error -12", "driver", "critical"),
        ("Heartbeat ERROR: QAT is not responding.", "heartbeat", "critical"),
        ("Device not configured", "configuration", "critical"),
        ("Invalid NUMA configuration.", "configuration", "critical"),
        ("No acceleration units found.", "configuration", "critical"),
        ("Wireless mode is not supported.", "configuration", "critical"),
        ("Only version 2 config file supported", "configuration", "critical"),
        ("Device qat_dev11 is busy", "configuration", "minor"),
        ("Device qat_dev0 must be down to reconfigure the service.", "configuration", "minor"),
        ("Failed to register crypto algs", "driver", "major"),
        ("Failed to start device qat_dev0", "driver", "critical"),
        ("Cannot use PF with IOMMU enabled", "bus", "critical"),
        ("Failed to allocate 17 MSI-X vectors", "bus", "critical"),
        ("Too many ints from VF7", "bus", "major"),
        ("PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer", "bus", "major"),
        ("PCIe Bus Error: severity=Corrected, type=Physical Layer", "bus", "warning"),
        ("Fatal error, reset required", "fatal", "critical"),
        ("Fatal push command error: 0x1", "fatal", "critical"),
        ("Uncorrectable error detected in AE: 0x2", "uncorrectable", "major"),
        ("Correctable error detected in AE: 0x2", "correctable", "warning"),
        ("RI memory parity detected: 0x8", "uncorrectable", "major"),
        ("Failed to allocate memory for telemetry.", "memory", "major"),
        ("ring 3 is full", "ring-overflow", "major"),
    ],
)
def test_what_a_driver_says_has_a_kind_and_advice(said: str, kind: str, severity: str) -> None:
    assert error(f"c6xx {PF}: {said}") == (PF, kind, severity)
    found = error_of(Line(f"c6xx {PF}: {said}"))
    assert found is not None
    assert found.message == f"c6xx {PF}: {said}"
    assert found.advice


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (f"c6xx {PF}: Cannot use PF with IOMMU enabled", "use virtual functions, or boot with iommu=pt"),
        ("QAT: Invalid ioctl", "the out-of-tree driver's tool is used with the kernel's own driver"),
        ("QAT: Invalid header 0x7f45", "starting again changes nothing"),
        (f"c6xx {PF}: Failed to map FW", "starting again changes nothing"),
        ("qat_api: disagrees about version of symbol adf_dev_get", "modules of two drivers"),
        (f"c6xx {PF}: Failed to send init message", "switch the machine off and on again"),
        (f"c6xx {PF}: AE4 is inactive!!", "switch the machine off and on again"),
        (f"c6xx {PF}: Failed to load MMP firmware qat_c62x_mmp.bin", "below /lib/firmware, also of the initramfs"),
        (f"c6xx {PF}: Device not configured", "configuration file"),
        (f"c6xx {PF}: FW authentication error", "pass virtual functions through instead"),
        ("RIP: 0010:adf_send_message+0x1a/0x120 [intel_qat]", "acceleration/qat/enabled false"),
        ("cpaCySymRemoveSession() - : There are 12 requests pending", "the user of the device: find it"),
    ],
)
def test_the_advice_says_what_to_do(text: str, advice: str) -> None:
    found = error_of(Line(text))
    assert found is not None
    assert advice in found.advice


@pytest.mark.parametrize(
    ("text", "address", "kind"),
    [
        (f"c6xx: probe of {PF} failed with error -14", PF, "firmware"),
        ("QAT: Invalid ioctl", None, "driver"),
        ("QAT: Invalid header 0x7f45", None, "firmware"),
        ("qat_api: disagrees about version of symbol adf_dev_get", None, "driver"),
        ("usdm_drv: Unknown symbol qdm_attach_device (err -2)", None, "driver"),
        ("cpaCySymRemoveSession() - : There are 12 requests pending", None, "other"),
        ("sysfs group 'qat_rl' not found for kobject '0000:3d:00.0'", PF, "driver"),
        ("remove_proc_entry: removing non-empty directory 'irq/77', leaking at least 'qat3-bundle0'", None, "driver"),
        ("RIP: 0010:adf_send_message+0x1a/0x120 [intel_qat]", None, "other"),
    ],
)  # fmt: skip
def test_what_others_say_of_qat(text: str, address: str | None, kind: str) -> None:
    found = error(text)
    assert found is not None
    assert found[:2] == (address, kind)


@pytest.mark.parametrize(
    "text",
    [
        f"c6xx {PF}: qat_dev0 started 10 acceleration engines",
        f"c6xx {PF}: qat_dev0 stopped 10 acceleration engines",
        f"4xxx {PF}: Starting device qat_dev0",
        f"4xxx {PF}: Resetting device qat_dev0",
        f"4xxx {PF}: something new that nobody knows",
        f"pciehp {PF}:pcie204: Slot(0-1): Link Down",
        f"igb {PF}: Fatal error, reset required",
        f"xc6xx {PF}: Fatal error, reset required",
        f"c6xx {PF}0: Fatal error, reset required",
        "c6xx: Fatal error, reset required",
        f"Invalid user c6xx {PF}: Fatal error, reset required",
        "watchdog: BUG: soft lockup - CPU#1 stuck for 22s!",
        "",
    ],
)
def test_other_lines_are_nothing(text: str) -> None:
    assert error(text) is None


def test_an_unknown_line_counts_at_the_level_of_an_error() -> None:
    text = f"6xxx {PF}: something new that nobody knows"
    assert error(text, 3) == (PF, "other", "minor")
    assert error(text, 2) == (PF, "other", "critical")
    assert error(text, 4) is None
    assert error("igb 0000:01:00.0: something new", 0) is None


def test_a_virtual_function_is_named_by_its_own_address() -> None:
    assert error("4xxxvf 0001:f3:01.7: Failed to send init message") == ("0001:f3:01.7", "firmware", "critical")


# ── forms ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[    1.002003] ",
        "[12345.002003][  T412] ",
        "[Mon Feb  2 09:08:07 2026] ",
        "<3>[    1.002003] ",
        "kern  :err   : [    1.002003] ",
        "kernel: [    1.002003] ",
        "Feb  2 09:08:07 gateway kernel: [    1.002003] ",
        "2026-02-02T09:08:07.123456+01:00 gateway kernel: ",
        "    ",
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_lines_of_dmesg_and_syslog(prefix: str, ending: str) -> None:
    text = f"{prefix}200xx {PF}: Failed to send init message{ending}"
    (found,) = errors_in(text_lines(text.encode()))
    assert (found.address, found.message) == (PF, f"200xx {PF}: Failed to send init message")


@pytest.mark.parametrize("tag", ["sshd[7]:", "kernel", "su:"])
def test_what_a_program_logs_is_not_the_kernels(tag: str) -> None:
    text = f"Feb  2 09:08:07 gateway {tag} c6xx {PF}: Fatal error, reset required\n"
    assert errors_in(text_lines(text.encode())) == ()


def test_a_record_has_a_sequence_a_level_and_the_device_that_it_belongs_to() -> None:
    record = b"3,812,80173462,-,caller=T1;QAT: Invalid header\\x09 0x6f\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3d:00.0\n"
    line = record_line(record)
    assert line == Line("QAT: Invalid header\ufffd 0x6f", 3, PF, 812)
    assert next(iter(text_lines(record))) == line


def test_a_record_from_user_space_is_no_word_of_the_kernel() -> None:
    text = b"c6xx 0000:3d:00.0: Fatal error, reset required"
    assert errors_in(text_lines(b"11,5,9,-;" + text + b"\n")) == ()
    assert errors_in(text_lines(b"<11>" + text + b"\n")) == ()
    assert len(errors_in(text_lines(b"3,5,9,-;" + text + b"\n"))) == 1


@pytest.mark.parametrize("record", [b"", b";", b"3,1,2;x", b"3,1;x", b"-1,1,2,-;x", b"3,99999999999999999999999,2,-;x"])
def test_other_records_are_none(record: bytes) -> None:
    assert record_line(record) is None


def test_an_endless_line_is_passed_over_and_the_next_one_is_read() -> None:
    good = f"c6xx {PF}: AE Start Failed\n".encode()
    assert len(errors_in(text_lines(b"c6xx 0000:3d:00.0: Fatal error" * 100_000 + b"\n" + good))) == 1


def test_a_line_that_is_no_utf8_is_still_a_line() -> None:
    (found,) = errors_in(text_lines(f"c6xx {PF}: AE Start Failed ".encode() + b"\xff\0\x1b[31m\n"))
    assert found.message == f"c6xx {PF}: AE Start Failed \ufffd\ufffd\ufffd[31m"


def test_lines_cut_into_one_another_make_no_error_up() -> None:
    text = f"[1.0] c6xx {PF}: Failed to se[1.0] usb 1-1: new device\n[1.1] nd init message\nc6xx {PF}: Fat"
    assert errors_in(text_lines(text.encode())) == ()


@given(st.binary(max_size=200))
def test_no_log_breaks_the_reader(data: bytes) -> None:
    for head in (b"", b"3,1,2,-;c6xx 0000:3d:00.0: ", b"[1.0] QAT: ", b"Feb  2 09:08:07 h kernel: "):
        assert len(errors_in(text_lines(head + data))) <= data.count(b"\n") + 1
        record_line(head + data)


# ── /dev/kmsg ────────────────────────────────────────────────────────────────────────────────────


def record(sequence: int, text: str, level: int = 3) -> bytes:
    return f"{level},{sequence},{sequence * 100},-;{text}\n".encode()


def failed(sequence: int) -> bytes:
    return record(sequence, f"c6xx {PF}: failure {sequence}")


def kernel(*records: bytes, boot: str = "b1") -> RecordedHost:
    return RecordedHost(complete=True, devices={KMSG: list(records)}, files={BOOT_ID: f"{boot}\n".encode()})


def messages(errors: Errors) -> list[str]:
    return [one.message.removeprefix(f"c6xx {PF}: ") for one in errors]


def test_each_record_is_told_once_also_after_a_restart_of_the_agent() -> None:
    host = kernel(failed(7), record(8, "usb 1-1: new device", 6), failed(9))
    errors, position = KernelLog(host).read(None)
    assert messages(errors) == ["failure 7", "failure 9"]
    stored = json.loads(json.dumps(position))
    assert KernelLog(host).read(stored) == ((), stored)
    host.devices[KMSG].append(failed(10))
    errors, position = KernelLog(host).read(stored)
    assert (messages(errors), position) == (["failure 10"], {"boot": "b1", "sequence": 10})


def test_another_boot_begins_anew() -> None:
    _, position = KernelLog(kernel(failed(7), failed(8))).read(None)
    errors, position = KernelLog(kernel(failed(0), failed(7), boot="b2")).read(position)
    assert messages(errors)[-1] == "failure 7"
    assert position == {"boot": "b2", "sequence": 7}


def test_records_that_were_overwritten_are_told_of() -> None:
    _, position = KernelLog(kernel(failed(7))).read(None)
    errors, position = KernelLog(kernel(failed(20), failed(21), failed(25))).read(position)
    assert [one.message for one in errors if one.address is None] == [
        "12 lines of the kernel log were overwritten before they were read",
        "3 lines of the kernel log were overwritten before they were read",
    ]
    assert position == {"boot": "b1", "sequence": 25}
    assert KernelLog(kernel(failed(20), failed(21))).read(None)[0][0].address == PF


def test_a_flood_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "ERRORS_LIMIT", 2)
    host = kernel(*map(failed, range(5)))
    told, position = [], None
    for _ in range(3):
        errors, position = KernelLog(host).read(position)
        told += messages(errors)
    assert told == [f"failure {n}" for n in range(5)]


def test_a_source_without_an_end_is_left_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "RECORDS_LIMIT", 10)

    class Endless(RecordedHost):
        def messages(self, path: str) -> Generator[bytes, None, None]:
            while True:
                yield b"\0" * 100

    host = Endless(complete=True, files={BOOT_ID: b"b\n"})
    assert KernelLog(host).read(None) == ((), None)


def test_no_log_is_no_error_and_a_closed_one_is() -> None:
    position: kernel_log.Position = {"boot": "b1", "sequence": 4}
    assert KernelLog(RecordedHost(complete=True)).read(position) == ((), position)

    class Closed(RecordedHost):
        def messages(self, path: str) -> Generator[bytes, None, None]:
            yield from self._refused(path)

        def _refused(self, path: str) -> tuple[bytes, ...]:
            raise PermissionError(errno.EPERM, "Operation not permitted", path)

    with pytest.raises(SourceError, match="/dev/kmsg: Operation not permitted"):
        KernelLog(Closed(complete=True)).read(None)


def test_without_the_boots_id_there_is_no_position() -> None:
    host = kernel(failed(1))
    del host.files[BOOT_ID]
    with pytest.raises(SourceError, match="boot_id: is not there"):
        KernelLog(host).read(None)


@pytest.mark.parametrize("position", [{}, {"boot": 1}, {"boot": "b1"}, {"boot": "b1", "sequence": "x"}, {"offset": 9}])
def test_a_position_that_is_none_begins_at_the_beginning(position: kernel_log.Position) -> None:
    assert messages(KernelLog(kernel(failed(1))).read(position)[0])[-1] == "failure 1"


# ── a file ───────────────────────────────────────────────────────────────────────────────────────


def line(number: int) -> bytes:
    return f"Feb  2 09:08:{number:02d} gateway kernel: c6xx {PF}: AE Start Failed {number}\n".encode()


def told(host: RecordedHost, position: kernel_log.Position | None) -> tuple[list[str], kernel_log.Position | None]:
    errors, position = KernelLog(host, LOG).read(position)
    return [one.message.removeprefix(f"c6xx {PF}: AE Start Failed ") for one in errors], position


def test_each_line_of_a_file_is_told_once_and_only_when_it_is_complete() -> None:
    host = RecordedHost(complete=True, files={LOG: b""})
    errors, position = told(host, None)
    assert errors == []
    host.files[LOG] = line(1) + line(2)[:-20]
    errors, position = told(host, position)
    assert errors == ["1"]
    host.files[LOG] = line(1) + line(2) + line(3)
    assert told(host, position)[0] == ["2", "3"]
    stored = json.loads(json.dumps(told(host, position)[1]))
    assert told(host, stored) == ([], stored)


@pytest.mark.parametrize("how", ["renamed", "truncated", "written anew"])
def test_a_file_that_was_rotated_begins_anew_and_that_is_told(how: str) -> None:
    host = RecordedHost(complete=True, files={LOG: line(1) + line(2)}, inodes={LOG: 5})
    _, position = told(host, None)
    host.inodes[LOG] = 6 if how == "renamed" else 5
    host.files[LOG] = line(1) if how == "truncated" else line(3) + line(4) + line(5)
    errors, position = told(host, position)
    assert "another file now" in errors[0]
    assert errors[1:] == (["1"] if how == "truncated" else ["3", "4", "5"])
    assert told(host, position)[0] == []


def test_a_large_file_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "PIECE_LIMIT", 200)
    host = RecordedHost(complete=True, files={LOG: b"".join(map(line, range(9))) + b"x" * 450 + b"\n" + line(9)})
    every, position = [], None
    for _ in range(12):
        errors, position = told(host, position)
        every += errors
    assert every == [str(n) for n in range(10)]


@pytest.mark.parametrize("records", [False, True])
def test_a_file_with_very_many_errors_is_told_by_and_by(records: bool) -> None:
    more = b" DEVICE=+pci:0000:3d:00.0\n " + b"x" * 300 + b"\n"
    text = b"Feb  2 09:08:01 gateway kernel: c6xx 0000:3d:00.0: AE Start Failed %d\n"
    data = b"".join(failed(n) + more if records else text % n for n in range(3000))
    host = RecordedHost(complete=True, files={LOG: data})
    every: list[DeviceError] = []
    position, most = None, 0
    while True:
        errors, after = KernelLog(host, LOG).read(position)
        if after == position:
            break
        every, position, most = [*every, *errors], after, max(most, len(errors))
    assert [error.message.rpartition(" ")[2] for error in every] == [str(n) for n in range(3000)]
    assert most < 2 * kernel_log.ERRORS_LIMIT
    assert {error.address for error in every} == {"0000:3d:00.0"}


def test_a_file_of_records_is_read_like_the_device() -> None:
    host = RecordedHost(
        complete=True, files={KMSG: failed(1) + b" DEVICE=+pci:0000:3d:00.0\n" + record(2, "usb: x", 6)}
    )
    errors, position = KernelLog(host).read(None)
    assert messages(errors) == ["failure 1"]
    assert KernelLog(host).read(position)[0] == ()


def test_an_absent_file_is_nothing_and_an_unreadable_one_a_fault() -> None:
    assert KernelLog(RecordedHost(complete=True), LOG).read(None) == ((), None)
    host = RecordedHost(complete=True, files={LOG: OSError(errno.EIO, "Input/output error")})
    with pytest.raises(SourceError, match=r"kern\.log: Input/output error"):
        KernelLog(host, LOG).read(None)


def test_a_file_larger_than_any_limit_is_read_to_its_end() -> None:
    noise = random.Random(3).randbytes(1 << 20)  # noqa: S311 - any bytes do, the same each time
    host = RecordedHost(complete=True, files={LOG: noise * 32 + b"\n" + line(5)})
    every, position = [], None
    for _ in range(9):
        errors, position = told(host, position)
        every += errors
    assert every == ["5"]
