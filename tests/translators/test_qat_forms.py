"""The forms that the drivers' tables have in the field, whole, and cut off, mixed up or carried over another system."""

from contextlib import suppress

import pytest

from translators.qat import adf_status, counters, dev_cfg, interrupts
from translators.qat.counters import Engine
from translators.qat.interrupts import PROC_INTERRUPTS
from translators.record import RecordedHost
from translators.sources import SourceError, decoded

BORDER = "+------------------------------------------------+\n"
BOX = (
    f"{BORDER}| FW Statistics for Qat Device                   |\n{BORDER}"
    "| Firmware Requests [AE  0]:                1701 |\n| Firmware Responses[AE  0]:                1700 |\n"
    "| RAS Events        [AE  0]:                   3 |\n"
    f"{BORDER}"
    "| Firmware Requests [AE  4]:         No Response |\n| Firmware Responses[AE  4]:         No Response |\n"
    "| RAS Events        [AE  4]:         No Response |\n"
    f"{BORDER}"
)
TABLE = """\
AE          Requests        Responses
 0:         22345678         22345670
11:                0                0
"""

# ── fw_counters ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_both_tables_of_counters(ending: str) -> None:
    assert counters.parse(BOX.replace("\n", ending), "f") == (
        Engine(0, 1701, 1700, ras_events=3),
        Engine(4, None, None, no_response=True),
    )
    assert counters.parse(TABLE.replace("\n", ending), "f") == (Engine(0, 22345678, 22345670), Engine(11, 0, 0))


@pytest.mark.parametrize("text", [BOX, TABLE])
def test_a_table_that_is_cut_off_gives_no_number_that_is_not_whole(text: str) -> None:
    whole = counters.parse(text, "f")
    for length in range(len(text)):
        try:
            cut = counters.parse(text[:length], "f")
        except SourceError:
            continue
        assert set(cut) <= {*whole, Engine(0, 1701, 1700)}


@pytest.mark.parametrize("text", [BOX + BOX, TABLE + TABLE, BOX + TABLE])
def test_the_tables_of_two_devices_are_refused(text: str) -> None:
    with pytest.raises(SourceError, match="whose counters these are can't be told"):
        counters.parse(text, "f")


@pytest.mark.parametrize("data", [b"\xff" + TABLE.encode(), TABLE.encode() + b"\0"])
def test_counters_that_are_no_text_are_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match="fw_counters: "):
        counters.parse(decoded(data, "fw_counters"), "fw_counters")


# ── dev_cfg ──────────────────────────────────────────────────────────────────────────────────────


def test_a_configuration_may_come_with_other_line_ends_and_sections_without_keys() -> None:
    text = "[KERNEL]\r\nNumberCyInstances = 0\r\n\r\n[Accelerator0]\r\n"
    assert dev_cfg.parse(text, "f") == (dev_cfg.Entry("KERNEL", "NumberCyInstances", "0"),)


@pytest.mark.parametrize("text", ["[KERN", "[KERNEL]\nNumberCyIns", "NumberCyInstances = 1\n", "[A]\n[B\nk = 1\n"])
def test_a_configuration_that_is_cut_off_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="is neither a section nor a key of one"):
        dev_cfg.parse(text, "f")


# ── adf_ctl status ───────────────────────────────────────────────────────────────────────────────

PF = " qat_dev12 - type: 4xxx,  inst_id: 12,  node_id: 1,  bsf: 0001:70:00.0,  #accel: 1 #engines: 9 state: up"
VARIANTS = {
    PF: "0001:70:00.0",
    PF.replace(",  ", ", "): "0001:70:00.0",
    PF.replace("node_id: 1,  ", ""): "0001:70:00.0",
    PF.replace("node_id: 1", "node_id: 255"): "0001:70:00.0",
    PF.replace("node_id: 1", "node_id: -1"): "0001:70:00.0",
    PF.replace("0001:70:00.0", "70:00.0"): "0000:70:00.0",
    PF.replace("0001:70:00.0", "70:00:0"): "0000:70:00.0",
    PF.replace("0001:70:00.0", "10001:70:1f.7"): "10001:70:1f.7",
    f"There is 1 QAT acceleration device(s) in the system:{PF}": "0001:70:00.0",
    " qat_dev12 - type=4xxx, inst_id=12, node_id=1,  bdf=70:00:0, #accel=1, #engines=9, state=up": "0000:70:00.0",
}


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize(("line", "address"), VARIANTS.items())
def test_each_spelling_of_a_device(line: str, address: str, ending: str) -> None:
    (row,) = adf_status.parse(f"Checking status of all devices.{ending or ' '}{line}{ending}")
    assert (row.name, row.type, row.instance, row.address, row.up) == ("qat_dev12", "4xxx", 12, address, True)


def test_devices_on_one_line_are_two_and_half_a_device_is_none() -> None:
    assert [row.address for row in adf_status.parse(PF + PF.replace(":70:", ":71:"))] == [
        "0001:70:00.0",
        "0001:71:00.0",
    ]
    assert all(adf_status.parse(PF[:length]) == () for length in range(len(PF)))


@pytest.mark.parametrize(
    "text", [PF[:40] * 20_000, "qat_dev0 - type: " + "x" * 60_000, " " * 60_000, "\0\ufffd" * 9999]
)
def test_what_a_tool_prints_by_mistake_is_no_device(text: str) -> None:
    assert adf_status.parse(text) == ()


# ── /proc/interrupts ─────────────────────────────────────────────────────────────────────────────


def rows(cpus: list[int], *names: str, chip: str = "IR-PCI-MSIX-0000:e8:00.0 {:4d}-edge") -> bytes:
    head = "           " + "".join(f"CPU{cpu:<8d}" for cpu in cpus)
    counts = "".join(f"{cpu + 1:10d} " for cpu in cpus)
    lines = [f" {130 + n}: {counts} {chip.format(n)}      {name}" for n, name in enumerate(names)]
    return "\n".join([head, *lines, "NMI:         0   Non-maskable interrupts", ""]).encode()


def by_cpu(vector: interrupts.Vector) -> dict[int, int]:
    return {cpu["id"]: cpu["count"] for cpu in vector.counts()}


@pytest.mark.parametrize(
    "cpus", [[0], [0, 1], [0, 2, 5], list(range(1, 512, 2)), list(range(512))], ids=lambda cpus: str(len(cpus))
)
def test_each_cpu_that_is_online_has_a_column(cpus: list[int]) -> None:
    found = interrupts.parse(rows(cpus, "qat0-bundle0", "qat0-bundle1", "qat0-ae-cluster"))
    assert [vector.name for vector in found] == ["qat0-bundle0", "qat0-bundle1", "qat0-ae-cluster"]
    assert all(by_cpu(vector) == {cpu: cpu + 1 for cpu in cpus} for vector in found)


def test_with_sr_iov_a_device_has_but_one_interrupt() -> None:
    (vector,) = interrupts.parse(rows([0, 1], "qat14-ae-cluster"))
    assert (vector.address, vector.number) == ("0000:e8:00.0", 14)


@pytest.mark.parametrize(
    ("chip", "address"),
    [
        ("IR-PCI-MSIX-0000:e8:00.0    {}-edge", "0000:e8:00.0"),
        ("PCI-MSIX-0001:e8:1f.7    {}-edge", "0001:e8:1f.7"),
        (f"IR-PCI-MSI {0xE800 << 11}-edge", "0000:e8:00.0"),
        (f"ITS-PCI-MSI {0xE800 << 11} Edge", "0000:e8:00.0"),
        ("IR-PCI-MSI-edge", None),
        ("PCI-MSI-edge", None),
    ],
)
def test_the_name_is_what_comes_after_chip_number_and_trigger(chip: str, address: str | None) -> None:
    (vector,) = interrupts.parse(rows([0], "qat0-bundle0, qat1-bundle0", chip=chip))
    assert (vector.name, vector.address) == ("qat0-bundle0, qat1-bundle0", address)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_other_line_ends(ending: bytes) -> None:
    (vector,) = interrupts.parse(rows([0, 3], "qat0-bundle0").replace(b"\n", ending))
    assert (vector.name, by_cpu(vector)) == ("qat0-bundle0", {0: 1, 3: 4})


def test_a_table_that_is_cut_off_gives_no_count_for_a_wrong_cpu() -> None:
    data = rows([0, 1, 2], "qat0-bundle0")
    for length in range(len(data)):
        with suppress(SourceError):
            assert all(by_cpu(vector) == {0: 1, 1: 2, 2: 3} for vector in interrupts.parse(data[:length]))


def test_a_large_machine_has_a_large_table_and_there_is_an_end() -> None:
    others = (b" 1: " + b"         0 " * 512 + b" IR-PCI-MSIX-0000:01:00.0 0-edge nvme0q1\n") * 4000
    host = RecordedHost(complete=True, files={PROC_INTERRUPTS: rows(list(range(512)), "qat0-bundle0") + others})
    assert [vector.name for vector in interrupts.read_vectors(host) or ()] == ["qat0-bundle0"]
    host.files[PROC_INTERRUPTS] = others * 3
    with pytest.raises(SourceError, match="/proc/interrupts: is larger than"):
        interrupts.read_vectors(host)
