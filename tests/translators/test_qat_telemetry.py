"""What devices measure and count of themselves: telemetry, errors, heartbeats, rates."""

import errno
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.qat import heartbeat, ras, telemetry
from translators.qat.counters import Engine
from translators.qat.devices import PCI_DEVICES
from translators.qat.heartbeat import Heartbeat
from translators.qat.ras import Accumulator, Counts
from translators.qat.rates import Meter
from translators.qat.telemetry import Telemetry
from translators.record import RecordedHost
from translators.sources import SourceError

ADDRESS = "0001:6b:00.0"
SYSFS = f"{PCI_DEVICES}/{ADDRESS}"
DEBUGFS = f"/sys/kernel/debug/qat_4xxx_{ADDRESS}"
NOW = datetime(2026, 2, 3, tzinfo=UTC)

IN_TREE = """\
sample_cnt                                81
pci_trans_cnt                              5                   4                   6                   5
gp_lat_acc_avg                          1480                1400                1500                1450
bw_in                                    731                 700                 760                 730
bw_out                                   812                 800                 820                 810
util_cph0                                 10                   9                  11                  10
exec_cph0                             123456                   1                   2                   3
util_cph1                                 31                  30                  32                  31
util_pke0                                  0                   0                   0                   0
cmdq_wait_cnv0                             4                   4                   4                   4
"""
OUT_OF_TREE = "sample_cnt 9\nmax_lat 99\nlat_acc_avg 640\nbw_in 12\nbw_out 13\nutil_ucs0 4\nutil_ucs1 5\nutil_ath12 7\n"


def machine(**files: object) -> RecordedHost:
    """Make a machine: ``debugfs__telemetry__control`` is a file below the device's directory in debugfs."""
    host = RecordedHost(complete=True)
    for key, content in files.items():
        place, _, name = key.partition("__")
        path = f"{DEBUGFS if place == 'debugfs' else SYSFS}/{name.replace('__', '/')}"
        host.files[path] = content.encode() if isinstance(content, str) else content  # type: ignore[assignment]
    return host


# ── telemetry ────────────────────────────────────────────────────────────────────────────────────


def test_telemetry_of_the_kernels_driver() -> None:
    host = machine(debugfs__telemetry__control="3\n", debugfs__telemetry__device_data=IN_TREE)
    found = telemetry.read(host, ADDRESS, DEBUGFS)
    assert found == Telemetry(True, 731, 812, 1480, (("cph0", 10), ("cph1", 31), ("pke0", 0)))
    assert found.kinds() == {"cph": 20, "pke": 0}


def test_telemetry_of_the_out_of_tree_driver() -> None:
    host = machine(sysfs__telemetry__control="on\n", sysfs__telemetry__device_data=OUT_OF_TREE)
    found = telemetry.read(host, ADDRESS, DEBUGFS)
    assert found == Telemetry(True, 12, 13, 640, (("ucs0", 4), ("ucs1", 5), ("ath12", 7)))
    assert found.kinds() == {"ucs": 4, "ath": 7}
    assert telemetry.read(host, ADDRESS, None) == found


@pytest.mark.parametrize(
    "host",
    [
        machine(debugfs__telemetry__control="0\n"),
        machine(sysfs__telemetry__control="off\n"),
        machine(sysfs__telemetry__control="on\n", sysfs__telemetry__device_data="Telemetry is turned off!\n"),
        machine(
            debugfs__telemetry__control="1\n",
            debugfs__telemetry__device_data=PermissionError(errno.EPERM, "Operation not permitted"),
        ),
    ],
)
def test_telemetry_that_is_off_has_no_values(host: RecordedHost) -> None:
    assert telemetry.read(host, ADDRESS, DEBUGFS) == Telemetry(on=False)


def test_before_the_first_sample_nothing_is_measured() -> None:
    assert telemetry.parse("sample_cnt 0\nbw_in 0\nutil_cph0 0\n", "f") == Telemetry(on=True)


def test_a_driver_without_telemetry_has_none() -> None:
    assert telemetry.read(RecordedHost(complete=True), ADDRESS, DEBUGFS) is None
    assert telemetry.read(machine(debugfs__telemetry__control="1\n"), ADDRESS, DEBUGFS) is None
    assert telemetry.parse("sample_cnt 4\nbw_in 7\n", "f") == Telemetry(True, throughput_in=7)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty or cut off"),
        (IN_TREE[:-3], "cut off"),
        (IN_TREE[:-60] + "\n", "rows of different lengths"),
        ("sample_cnt 1\nbw_in 1 2\n", "rows of different lengths"),
        ("sample_cnt 1\nbw_in\n", "no row of telemetry"),
        ("sample_cnt 1\nbw_in -1\n", "no row of telemetry"),
        ("sample_cnt 1\nbw_in 1\nbw_in 1\n", "comes twice"),
        ("sample_cnt 1\nutil_cph0 101\n", "no percentage"),
        ("sample_cnt 1\nbw_in 18446744073709551616\n", "does not fit"),
        ("x" * 99_999 + "\n", "no row of telemetry"),
    ],
)
def test_other_texts_are_no_telemetry(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=f"/d/device_data: .*{reason}") as caught:
        telemetry.parse(text, "/d/device_data")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"\xff\n", "not UTF-8"), (b"bw_in 1\0\n", "has the character"), (OSError(errno.EIO, "I/O error"), "I/O error"),
     (b"9" * 70_000, "larger than")],
)  # fmt: skip
def test_telemetry_that_can_t_be_read_is_a_fault(data: object, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        telemetry.read(machine(sysfs__telemetry__control="on\n", sysfs__telemetry__device_data=data), ADDRESS, None)
    with pytest.raises(SourceError, match="control: '7' is neither on nor off"):
        telemetry.read(machine(debugfs__telemetry__control="7\n"), ADDRESS, DEBUGFS)


def test_lines_may_end_as_elsewhere() -> None:
    assert telemetry.parse(OUT_OF_TREE.replace("\n", "\r\n"), "f") == telemetry.parse(OUT_OF_TREE, "f")


@given(st.text(max_size=200))
def test_no_text_breaks_telemetry(text: str) -> None:
    for head in ("", "sample_cnt 1\n"):
        with suppress(SourceError):
            telemetry.parse(f"{head}{text}\n", "f").kinds()


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def test_errors_of_both_drivers() -> None:
    in_tree = machine(sysfs__qat_ras__errors_correctable="7\n", sysfs__qat_ras__errors_nonfatal="0\n",
                      sysfs__qat_ras__errors_fatal="-2147483648\n")  # fmt: skip
    assert ras.read(in_tree, ADDRESS) == Counts(7, 0, 2**31)
    assert ras.read(machine(sysfs__ras_correctable="1\n", sysfs__ras_fatal="2\n"), ADDRESS) == Counts(1, None, 2)
    assert ras.read(RecordedHost(complete=True), ADDRESS) is None


def test_errors_of_the_link_are_others() -> None:
    table = "RxErr 3\nBad TLP 0\nTOTAL_ERR_COR 3\n"
    host = machine(sysfs__aer_dev_correctable=table, sysfs__aer_dev_fatal="Undefined 0\nTOTAL_ERR_FATAL 0\n")
    assert ras.read_link(host, ADDRESS) == Counts(3, None, 0)
    assert ras.read(host, ADDRESS) is None
    assert ras.read_link(RecordedHost(complete=True), ADDRESS) is None


@pytest.mark.parametrize("text", ["", "x\n", "1 2\n", "99999999999999999999\n", "-9999999999\n", "1" * 70_000, b"\xff"])
def test_what_is_no_count_is_a_fault(text: object) -> None:
    with pytest.raises(SourceError, match="errors_nonfatal"):
        ras.read(machine(sysfs__qat_ras__errors_nonfatal=text), ADDRESS)


@pytest.mark.parametrize(
    "text", ["", "RxErr 3\n", "TOTAL_ERR_COR x\n", "RxErr\nTOTAL_ERR_COR 3\n", "TOTAL_ERR_COR 3\nRxE"]
)
def test_a_table_of_the_link_that_is_cut_off_is_a_fault(text: str) -> None:
    with pytest.raises(SourceError, match="aer_dev_correctable"):
        ras.read_link(machine(sysfs__aer_dev_correctable=text), ADDRESS)


def test_errors_add_up_over_the_devices_resets() -> None:
    total = Accumulator(NOW)
    assert total.counts == Counts(None, None, None)
    for counts, expected in (
        (Counts(5, 1, 0), Counts(5, 1, 0)),
        (Counts(8, 1, 0), Counts(8, 1, 0)),
        (None, Counts(8, 1, 0)),
        (Counts(9, 0, 0), Counts(17, 1, 0)),  # down and up: 9 are new, though 9 is more than 8
        (Counts(2, 0, 1), Counts(19, 1, 1)),  # begun anew between two looks
        (Counts(2, None, 1), Counts(19, 1, 1)),
    ):
        total = total.after(counts)
        assert total.counts == expected
    assert total.after(Counts(2, 0, 1), anew=True).counts == Counts(21, 1, 2)
    assert total.since == NOW


def test_an_error_that_is_not_counted_is_not_zero() -> None:
    assert Accumulator(NOW).after(Counts(1, None, 0)).counts == Counts(1, None, 0)


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**64 - 1)), max_size=20))
def test_accumulated_errors_are_counters(looks: list[int | None]) -> None:
    total = Accumulator(NOW)
    for look in looks:
        total = total.after(None if look is None else Counts(look, look, look))
        assert total.counts.fatal is None or 0 <= total.counts.fatal < 2**64


# ── heartbeat ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("status", "word"), [("0", "healthy"), ("-1", "failed")])
def test_heartbeats_of_both_drivers(status: str, word: str) -> None:
    in_tree = machine(debugfs__heartbeat__status=f"{status}\n\0", debugfs__heartbeat__queries_sent="33\n\0",
                      debugfs__heartbeat__queries_failed="2\n\0")  # fmt: skip
    assert heartbeat.read(in_tree, DEBUGFS) == Heartbeat(word, 33, 2)
    out_of_tree = machine(debugfs__heartbeat=status, debugfs__heartbeat_sent="4\n", debugfs__heartbeat_failed="0\n")
    assert heartbeat.read(out_of_tree, DEBUGFS) == Heartbeat(word, 4, 0)
    assert heartbeat.read(machine(debugfs__heartbeat=f"{status}\r\n"), DEBUGFS) == Heartbeat(word, None, None)


def test_the_device_is_asked_once_and_before_it_is_counted() -> None:
    host = machine(debugfs__heartbeat__status="0\n\0", debugfs__heartbeat__queries_sent="1\n\0")
    heartbeat.read(host, DEBUGFS)
    assert host.read_paths[0] == f"{DEBUGFS}/heartbeat/status"
    assert host.read_paths.count(f"{DEBUGFS}/heartbeat/status") == 1


def test_a_driver_without_heartbeat_has_none() -> None:
    assert heartbeat.read(RecordedHost(complete=True), DEBUGFS) is None


@pytest.mark.parametrize("text", ["", "1\n", "0 0\n", "alive\n", "0\0\n1", b"\xff\n", "0" * 70_000])
def test_other_texts_are_no_heartbeat(text: object) -> None:
    with pytest.raises(SourceError, match="heartbeat/status: "):
        heartbeat.read(machine(debugfs__heartbeat__status=text), DEBUGFS)
    with pytest.raises(SourceError, match="queries_sent: "):
        heartbeat.read(machine(debugfs__heartbeat__status="0\n", debugfs__heartbeat__queries_sent="-1\n"), DEBUGFS)


def test_it_is_never_due_sooner_than_after_1500_milliseconds() -> None:
    assert heartbeat.due(None, 100.0)
    assert not heartbeat.due(100.0, 100.0)
    assert not heartbeat.due(100.0, 101.499)
    assert heartbeat.due(100.0, 101.5)


# ── rates ────────────────────────────────────────────────────────────────────────────────────────


def engines(*counts: int | None) -> tuple[Engine, ...]:
    return tuple(Engine(n, count, count, no_response=count is None) for n, count in enumerate(counts))


def after(meter: Meter, counts: tuple[Engine, ...] | None, seconds: float) -> Meter:
    return meter.after(counts, seconds=seconds, now=NOW + timedelta(seconds=seconds))


def test_a_rate_needs_two_looks_and_is_over_the_time_between_them() -> None:
    meter = after(Meter(), engines(1000, 0), 50.0)
    assert (meter.rate, meter.discontinuity) == (None, None)
    meter = after(meter, engines(1500, 125), 52.5)
    assert (meter.rate, meter.discontinuity) == (250, None)
    assert after(meter, engines(1500, 125), 60.0).rate == 0


def test_two_looks_at_one_moment_are_one() -> None:
    meter = after(after(Meter(), engines(10), 1.0), engines(30), 2.0)
    assert after(meter, engines(99), 2.0) == meter
    assert after(meter, engines(99), 1.5) == meter


@pytest.mark.parametrize("counts", [engines(3, 200), engines(0, 0), engines(500), engines(500, 500, 1)])
def test_counters_that_began_anew_have_no_rate_and_a_time(counts: tuple[Engine, ...]) -> None:
    meter = after(after(Meter(), engines(400, 200), 1.0), counts, 11.0)
    assert (meter.rate, meter.discontinuity) == (None, NOW + timedelta(seconds=11))
    again = after(meter, tuple(Engine(e.number, (e.requests or 0) + 20, 0) for e in counts), 12.0)
    assert (again.rate, again.discontinuity) == (20 * len(counts), NOW + timedelta(seconds=11))


def test_a_device_that_was_down_began_anew_whatever_its_counters_say() -> None:
    meter = after(after(after(Meter(), engines(5), 1.0), None, 2.0), engines(900), 3.0)
    assert (meter.rate, meter.discontinuity) == (None, NOW + timedelta(seconds=3))
    assert after(Meter(), None, 1.0).discontinuity is None


def test_a_counter_comes_around_at_64_bits_and_not_at_32() -> None:
    meter = after(Meter(), engines(2**64 - 10), 1.0)
    assert after(meter, engines(10), 2.0).rate == 20
    meter = after(after(Meter(), engines(2**32 - 10), 1.0), engines(10), 2.0)
    assert (meter.rate, meter.discontinuity) == (None, NOW + timedelta(seconds=2))


def test_an_engine_that_does_not_answer_leaves_the_rate_out_for_once() -> None:
    meter = after(after(Meter(), engines(100, 100), 1.0), engines(120, None), 2.0)
    assert (meter.rate, meter.discontinuity) == (None, None)
    assert after(meter, engines(140, 140), 5.0).rate == 20
