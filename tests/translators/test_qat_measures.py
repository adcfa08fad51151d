"""State that takes more than one look, or that only some devices have: rates, errors, telemetry."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.translators.in_tree import FOURTH, SECOND, Kernel, gateway
from translators.base import ALL, Branch, Selection
from translators.qat.devices import PCI_DEVICES
from translators.qat.state import DEBUGFS
from translators.qat.translator import QatTranslator

ADDRESS = FOURTH.partition("@")[2]
FOLDER = f"{DEBUGFS}/qat_4xxx_{ADDRESS}"
RAS = f"{PCI_DEVICES}/{ADDRESS}/qat_ras/errors_"
AER = f"{PCI_DEVICES}/{ADDRESS}/aer_dev_"
ON = {"enabled": True}
START = "2026-01-01T00:00:00Z"


def machine(*, requests: int = 0, correctable: int = 3) -> Kernel:
    host = gateway(FOURTH, state="up")
    count(host, requests)
    for name, value in (("correctable", correctable), ("nonfatal", 0), ("fatal", 0)):
        host.files[RAS + name] = f"{value}\n".encode()
    host.files[f"{AER}correctable"] = b"RxErr 1\nBadTLP 1\nTOTAL_ERR_COR 2\n"
    host.files[f"{FOLDER}/telemetry/control"] = b"1\n"
    host.files[f"{FOLDER}/telemetry/device_data"] = (
        b"sample_cnt 7\nbw_in 900\nbw_out 700\ngp_lat_acc_avg 4200\nutil_cph0 10\nutil_cph1 20\nutil_pke0 1\n"
    )
    return host


def count(host: Kernel, requests: int) -> None:
    host.files[f"{FOLDER}/fw_counters"] = f"AE          Requests        Responses\n 0: {requests} {requests}\n".encode()


def device(translator: QatTranslator, host: Kernel, wanted: Selection = ALL) -> dict[str, Any]:
    reading = translator.operational(host, wanted, ON)
    assert reading.faults == ()
    (entry,) = reading.tree["device"]
    assert isinstance(entry, dict)
    return entry


def of(node: str, *leafs: str) -> Selection:
    below = Selection(everything=False, branches=tuple(Branch(leaf, (), ALL) for leaf in leafs)) if leafs else ALL
    inner = Selection(everything=False, branches=(Branch(node, (), below),))
    return Selection(everything=False, branches=(Branch("device", (), inner),))


# ── rates ────────────────────────────────────────────────────────────────────────────────────────


def test_a_rate_is_of_the_interval_between_two_looks_whoever_reads_it() -> None:
    host, translator = machine(requests=100), QatTranslator()
    translator.look(host, ON)
    assert "request-rate" not in device(translator, host)["flows"]
    host.elapsed = 10.0
    count(host, 5100)
    translator.look(host, ON)
    for passed in (0.001, 3.0):
        host.elapsed += passed
        count(host, 9_999_999)
        flows = device(translator, host)["flows"]
        assert (flows["request-rate"], flows["requests"]) == (500, 9_999_999)
        assert "discontinuity-time" not in flows


def test_counters_that_begin_anew_have_a_discontinuity_and_no_rate() -> None:
    host, translator = machine(requests=100), QatTranslator()
    translator.look(host, ON)
    host.elapsed = 60.0
    count(host, 7)
    translator.changed(host, ON, "restart")
    assert device(translator, host, of("flows", "request-rate", "discontinuity-time"))["flows"] == {
        "discontinuity-time": "2026-01-01T00:01:00Z"
    }


def test_a_rate_alone_reads_no_file_of_the_device() -> None:
    host, translator = machine(), QatTranslator()
    host.read_paths.clear()
    device(translator, host, of("flows", "request-rate"))
    assert {path.rpartition("/")[2] for path in host.read_paths} == {"vendor", "device"}


def test_counters_that_can_not_be_read_are_no_look() -> None:
    host, translator = machine(requests=100), QatTranslator()
    translator.look(host, ON)
    host.elapsed = 5.0
    host.files[f"{FOLDER}/fw_counters"] = OSError(errno.EIO, "Input/output error")
    translator.look(host, ON)
    host.elapsed = 10.0
    count(host, 1100)
    translator.look(host, ON)
    assert device(translator, host)["flows"]["request-rate"] == 100


# ── telemetry ────────────────────────────────────────────────────────────────────────────────────


def test_what_a_device_measures_is_beside_its_counters() -> None:
    flows = device(QatTranslator(), machine(requests=8))["flows"]
    assert flows["requests"] == 8
    assert (flows["throughput-in"], flows["throughput-out"], flows["latency"]) == (900, 700, 4200)
    assert flows["utilization"] == [{"slice": "cph", "percent": 15}, {"slice": "pke", "percent": 1}]


def test_telemetry_alone_asks_no_engine() -> None:
    host = machine()
    host.read_paths.clear()
    assert device(QatTranslator(), host, of("flows", "latency"))["flows"]["latency"] == 4200
    assert f"{FOLDER}/fw_counters" not in host.read_paths


def test_counters_alone_read_no_telemetry() -> None:
    host = machine()
    host.read_paths.clear()
    assert "latency" not in device(QatTranslator(), host, of("flows", "engine"))["flows"]
    assert not any("telemetry" in path for path in host.read_paths)


def test_telemetry_that_is_off_or_broken_leaves_the_counters() -> None:
    host = machine()
    host.files[f"{FOLDER}/telemetry/control"] = b"0\n"
    assert device(QatTranslator(), host)["flows"].keys() == {"engine", "requests", "responses", "in-flight"}
    host.files[f"{FOLDER}/telemetry/control"] = b"perhaps\n"
    reading = QatTranslator().operational(host, ALL, ON)
    assert reading.tree["device"][0]["flows"].keys() == {"engine", "requests", "responses", "in-flight"}
    assert [fault.path.rpartition("/")[2] for fault in reading.faults] == ["flows"]


def test_a_device_of_generation_2_is_not_asked_for_telemetry() -> None:
    host = gateway(SECOND)
    device(QatTranslator(), host)
    assert not any("telemetry" in path for path in host.read_paths)


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def test_errors_add_up_over_the_devices_resets_and_stay_while_it_is_down() -> None:
    host, translator = machine(correctable=3), QatTranslator()
    translator.look(host, ON)
    host.files[f"{RAS}correctable"] = b"5\n"
    expected = {"correctable": 5, "nonfatal": 0, "fatal": 0, "discontinuity-time": START}
    assert device(translator, host)["errors"] == expected
    for name in ("correctable", "nonfatal", "fatal"):
        del host.files[RAS + name]
    host.elapsed += 60
    # What a reader was told stays true, though no look has seen it.
    assert device(translator, host)["errors"] == expected
    host.files[f"{RAS}correctable"] = b"1\n"
    translator.look(host, ON)
    assert device(translator, host)["errors"]["correctable"] == 6


def test_errors_of_the_link_are_others_and_what_is_not_counted_is_left_out() -> None:
    entry = device(QatTranslator(), machine())
    assert entry["link-errors"] == {"correctable": 2, "discontinuity-time": START}
    assert device(QatTranslator(), gateway(SECOND)).keys().isdisjoint({"errors", "link-errors"})


def test_errors_are_read_only_where_they_are_wanted() -> None:
    host = machine()
    host.read_paths.clear()
    device(QatTranslator(), host, of("oper-status"))
    assert not any("qat_ras" in path or "aer_dev" in path for path in host.read_paths)


def test_errors_read_by_many_at_once_are_counted_once() -> None:
    host, translator = machine(correctable=0), QatTranslator()
    translator.look(host, ON)
    host.files[f"{RAS}correctable"] = b"900\n"
    with ThreadPoolExecutor(8) as readers:
        told = list(readers.map(lambda _n: device(translator, host, of("errors"))["errors"]["correctable"], range(200)))
    assert set(told) == {900}
