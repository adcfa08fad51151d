"""The readers of the QAT driver's files: the forms in the field, and files that are not what they must be."""

import errno
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.qat import adf_status, counters, dev_cfg, interrupts
from translators.qat.counters import Engine
from translators.qat.dev_cfg import Entry
from translators.qat.devices import PCI_DEVICES, Device, inventory, pci_details, split_target
from translators.qat.ids import BY_DEVICE_ID, DEVICE_IDS
from translators.record import RecordedHost
from translators.sources import SourceError

BORDER = "+------------------------------------------------+\n"
HEAD = f"{BORDER}| FW Statistics for Qat Device                   |\n{BORDER}"


def box(*engines: tuple[int, object, object]) -> str:
    return HEAD + "".join(
        f"| Firmware Requests [AE {n:2d}]:{requests:>20} |\n| Firmware Responses[AE {n:2d}]:{responses:>20} |\n{BORDER}"
        for n, requests, responses in engines
    )


# ── ids ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_has_each_id_once_and_virtual_functions_beside_their_parents() -> None:
    assert len(DEVICE_IDS) == len(BY_DEVICE_ID) == 22
    physical, virtual = BY_DEVICE_ID["37c8"], BY_DEVICE_ID["37c9"]
    assert (physical.type, physical.module, physical.family, physical.virtual_functions) == (
        "c6xx",
        "qat_c62x",
        "c6xx",
        16,
    )
    assert (virtual.type, virtual.module, virtual.family, virtual.virtual) == ("c6xxvf", "qat_c62xvf", "c6xx", True)
    assert {BY_DEVICE_ID[number].family for number in ("4940", "4942", "4944", "4945")} == {"qat-4xxx"}
    assert BY_DEVICE_ID["18ee"].pci_id == "8086:18ee"
    assert {entry.type for entry in DEVICE_IDS if entry.stack is None} == {"420xx", "420xxvf", "6xxx", "6xxxvf"}


# ── sysfs ────────────────────────────────────────────────────────────────────────────────────────


def bus(**files: object) -> RecordedHost:
    """Make a PCI bus: ``a__name`` is the file ``name`` of the function 0000:0a:00.0."""
    host = RecordedHost(complete=True, folders={PCI_DEVICES})
    for key, content in files.items():
        letter, _, name = key.partition("__")
        path = f"{PCI_DEVICES}/0000:0{letter}:00.0/{name}"
        if name in {"driver", "physfn"}:
            host.links[path] = str(content)
        else:
            host.files[path] = content.encode() if isinstance(content, str) else content  # type: ignore[assignment]
    return host


def test_devices_are_found_by_their_ids_and_sorted_by_address() -> None:
    host = bus(
        c__vendor="0x8086\n", c__device="0x19e3\n",
        c__driver="../../../bus/pci/drivers/c3xxxvf", c__physfn="../0000:0b:00.0",
        a__vendor="0x8086\n", a__device="0x19e2\n",
        b__vendor="0x8086\n", b__device="0x1521\n",
        d__vendor="0x1002\n", d__device="0x19e2\n",
    )  # fmt: skip
    found = inventory(host)
    assert found.broken == ()
    assert found.devices == (
        Device("0000:0a:00.0", BY_DEVICE_ID["19e2"], None, None),
        Device("0000:0c:00.0", BY_DEVICE_ID["19e3"], "c3xxxvf", "0000:0b:00.0"),
    )
    assert [device.target for device in found.devices] == ["c3xxx@0000:0a:00.0", "c3xxxvf@0000:0c:00.0"]
    assert split_target(found.devices[1].target) == ("c3xxxvf", "0000:0c:00.0")


def test_only_wanted_addresses_are_read() -> None:
    host = bus(a__vendor="0x8086\n", a__device="0x19e2\n", b__vendor="0x8086\n", b__device="0x19e2\n")
    inventory(host, lambda address: address == "0000:0b:00.0")
    assert host.read_paths == [f"{PCI_DEVICES}/0000:0b:00.0/{name}" for name in ("vendor", "device")]


def test_no_bus_is_no_device() -> None:
    assert inventory(RecordedHost(complete=True)).devices == ()


def test_a_name_that_is_no_address_is_no_function() -> None:
    host = bus()
    host.files[f"{PCI_DEVICES}/slot/vendor"] = b"0x8086\n"
    assert inventory(host) == inventory(RecordedHost(complete=True))


@pytest.mark.parametrize("gone", ["vendor", "device"])
def test_a_function_that_vanishes_meanwhile_is_left_out(gone: str) -> None:
    host = bus(a__vendor="0x8086\n", a__device="0x19e2\n")
    host.files[f"{PCI_DEVICES}/0000:0a:00.0/{gone}"] = FileNotFoundError(errno.ENOENT, "No such file")
    assert inventory(host) == inventory(bus())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "'' is no hexadecimal number"),
        ("8086\n", "'8086' is no hexadecimal number"),
        ("0x8086 0x1\n", "is no hexadecimal number"),
        (b"0x80\xff6\n", "not UTF-8 at byte 4"),
        (b"0x8086\0\n", "has the character"),
        ("x" * 70_000, "larger than 65536 bytes"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_a_function_that_can_t_be_identified_is_told_and_the_others_are_found(content: object, reason: str) -> None:
    found = inventory(bus(a__vendor=content, b__vendor="0x8086\n", b__device="0x37c8\n"))
    assert [device.address for device in found.devices] == ["0000:0b:00.0"]
    ((address, error),) = found.broken
    assert address == "0000:0a:00.0"
    assert reason in str(error)
    assert error.source == f"{PCI_DEVICES}/0000:0a:00.0/vendor"


def test_details_are_left_out_where_sysfs_has_none() -> None:
    host = bus(
        a__class="0x0b4000\n",
        a__revision="0x04\n",
        a__numa_node="-1\n",
        a__sriov_totalvfs="16\n",
        a__sriov_numvfs="2\n",
    )
    details = pci_details(host, "0000:0a:00.0")
    assert (details.pci_class, details.revision, details.numa_node) == ("0b4000", "04", None)
    assert (details.functions_total, details.functions_enabled) == (16, 2)
    assert pci_details(bus(a__numa_node="3\n"), "0000:0a:00.0").numa_node == 3
    nothing = pci_details(bus(), "0000:0a:00.0")
    assert {nothing.pci_class, nothing.revision, nothing.numa_node, nothing.functions_total} == {None}
    with pytest.raises(SourceError, match="'two' is no number"):
        pci_details(bus(a__numa_node="two\n"), "0000:0a:00.0")


# ── fw_counters ──────────────────────────────────────────────────────────────────────────────────


def test_counters_in_a_box() -> None:
    text = box((0, 12345678901, 12345678900), (3, 7, 7), (11, 18446744073709551615, 0))
    assert counters.parse(text, "f") == (
        Engine(0, 12345678901, 12345678900),
        Engine(3, 7, 7),
        Engine(11, 2**64 - 1, 0),
    )


@pytest.mark.parametrize("label", ["RAS Events        ", "RAS events        "])
def test_counters_in_a_box_with_ras_events(label: str) -> None:
    text = box((0, 5, 4)).removesuffix(BORDER) + f"| {label}[AE  0]:                   2 |\n{BORDER}"
    assert counters.parse(text, "f") == (Engine(0, 5, 4, ras_events=2),)


def test_an_engine_that_does_not_answer_has_no_counters() -> None:
    text = box((0, 5, 4), (1, "No Response", "No Response"), (2, 9, "No Response"))
    assert counters.parse(text, "f") == (
        Engine(0, 5, 4),
        Engine(1, None, None, no_response=True),
        Engine(2, None, None, no_response=True),
    )


def test_counters_in_a_table() -> None:
    text = "AE          Requests        Responses\n 0:             5120             5119\n10:           0           0\n"
    assert counters.parse(text, "f") == (Engine(0, 5120, 5119), Engine(10, 0, 0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no table"),
        (HEAD, "is no table"),
        (box((0, 1, 1))[len(HEAD) :], "is no table"),
        (box((0, 0, 0)) + box((0, 0, 0)), "engine 0 comes twice"),
        (box((0, 0, 0)) + box((1, 0, 0)), "2 tables"),
        (box((0, 0, 0), (0, 0, 0)), "engine 0 comes twice"),
        ("AE Requests Responses\n 0: 0 0\n 0: 0 0\n", "engine 0 comes twice"),
        (box((0, 1, 1), (1, 2, 2))[:-103], "engine 1 has no responses"),
        (box((0, 1, 1))[: len(HEAD) + 20], "is no row"),
        (box((0, "-1", 1)), "is no row"),
        (box((0, 2**64, 1)), "does not fit"),
        (box((70000, 1, 1)), "no number of an engine"),
        ("AE Requests Responses\n 0: 1\n", "is no row"),
        ("cat: fw_counters: Bad address\n", "is no row"),
        ("x" * 100_000, "is no row"),
    ],
)
def test_other_texts_are_no_counters(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason) as caught:
        counters.parse(text, "/d/fw_counters")
    assert str(caught.value).startswith("/d/fw_counters: ")
    assert len(str(caught.value)) < 200


@given(
    st.dictionaries(
        st.integers(0, 65535), st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), min_size=1, max_size=20
    )
)
def test_any_counters_come_back(values: dict[int, tuple[int, int]]) -> None:
    text = box(*((number, *pair) for number, pair in values.items()))
    assert counters.parse(text, "f") == tuple(Engine(number, *values[number]) for number in sorted(values))


# ── dev_cfg ──────────────────────────────────────────────────────────────────────────────────────


def test_entries_come_in_the_drivers_order() -> None:
    text = '[GENERAL]\nServicesEnabled = sym;dc\nEmpty = \n[SSL_INT_0]\nCy0Name = "SSL0"\nServicesEnabled = x=y\n'
    entries = dev_cfg.parse(text, "f")
    assert entries == (
        Entry("GENERAL", "ServicesEnabled", "sym;dc"),
        Entry("GENERAL", "Empty", ""),
        Entry("SSL_INT_0", "Cy0Name", '"SSL0"'),
        Entry("SSL_INT_0", "ServicesEnabled", "x=y"),
    )
    assert dev_cfg.value(entries, "GENERAL", "ServicesEnabled") == "sym;dc"
    assert dev_cfg.value(entries, "KERNEL", "ServicesEnabled") is None


def test_a_stopped_device_has_an_empty_configuration() -> None:
    assert dev_cfg.parse("", "f") == ()
    assert dev_cfg.parse("[GENERAL]\n", "f") == ()


def test_the_same_entry_twice_is_one_entry() -> None:
    assert dev_cfg.parse("[A]\nk = 1\n[B]\nk = 2\n[A]\nk = 1\n", "f") == (Entry("A", "k", "1"), Entry("B", "k", "2"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [("k = 1\n", "neither"), ("[A]\nk\n", "neither"), ("[A]\n= 1\n", "neither"), ("[A]\nk = 1\nk = 2\n", "two values")],
)
def test_other_texts_are_no_configuration(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        dev_cfg.parse(text, "f")


# ── adf_ctl status ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (" qat_dev4 - type: c6xxvf,  inst_id: 2,  node_id: 255,  bsf: 0001:6b:01.7,  #accel: 1 #engines: 1 state: down",
         ("qat_dev4", "c6xxvf", 2, "0001:6b:01.7", False)),
        ("qat_dev10 - type: 4xxx, inst_id: 1, bsf: 06:00:0, #accel: 5 #engines: 10 state: up",
         ("qat_dev10", "4xxx", 1, "0000:06:00.0", True)),
        (" icp_dev0 - type=c2xxx, inst_id=0, node_id=0, bdf=00:0b:0, #accel=1, #engines=1, state=up",
         ("icp_dev0", "c2xxx", 0, "0000:00:0b.0", True)),
        ("in the system: qat_dev0 - type: vqat-adi,  inst_id: 0,  bsf: 3b:00.0,  #accel: 1 #engines: 9 state: up",
         ("qat_dev0", "vqat-adi", 0, "0000:3b:00.0", True)),
    ],
)  # fmt: skip
def test_lines_of_the_status(line: str, expected: tuple[str, str, int, str, bool]) -> None:
    (row,) = adf_status.parse(f"Checking status of all devices.\n{line}\nmore\n")
    assert (row.name, row.type, row.instance, row.address, row.up) == expected


def test_a_name_is_that_of_the_one_device_at_the_address() -> None:
    template = " qat_dev{} - type: c6xx,  inst_id: 0,  bsf: 0000:{}:00.0,  #accel: 5 #engines: 10 state: up\n"
    rows = adf_status.parse(template.format(1, "3b") + template.format(10, "3d") + template.format(11, "3d"))
    assert adf_status.name_of(rows, "0000:3b:00.0") == "qat_dev1"
    assert adf_status.name_of(rows, "0000:3d:00.0") is None
    assert adf_status.name_of(rows, "0000:3f:00.0") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices found. Please start the driver using:\n",
        " qat_dev0 - type: c6xx,  inst_id: 0",
        "qat_dev0" * 9999,
    ],
)
def test_no_devices_in_other_texts(text: str) -> None:
    assert adf_status.parse(text) == ()


# ── /proc/interrupts ─────────────────────────────────────────────────────────────────────────────


def table(cpus: list[int], *rows: tuple[int, list[int], str]) -> bytes:
    head = "           " + "".join(f"CPU{cpu:<8d}" for cpu in cpus)
    lines = [f"{irq:4d}: " + "".join(f"{count:10d} " for count in counts) + f" {rest}" for irq, counts, rest in rows]
    return "\n".join([head, *lines, "NMI:         0   Non-maskable interrupts", "ERR:          0", ""]).encode()


def by_cpu(vector: interrupts.Vector) -> dict[int, int]:
    return {cpu["id"]: cpu["count"] for cpu in vector.counts()}


def test_vectors_by_the_address_in_the_chips_name() -> None:
    data = table(
        [0, 1, 3],
        (24, [1, 2, 3], "IR-PCI-MSIX-0000:00:14.0    0-edge      xhci_hcd"),
        (130, [10, 0, 5], "IR-PCI-MSIX-0000:01:00.0    3-edge      qat1-bundle3"),
        (131, [0, 0, 1], "IR-PCI-MSIX-0001:02:1f.7   16-edge      qat10-ae-cluster"),
    )
    first, second = interrupts.parse(data)
    assert (first.irq, first.name, first.address, first.number) == (130, "qat1-bundle3", "0000:01:00.0", 1)
    assert by_cpu(first) == {0: 10, 1: 0, 3: 5}
    assert (second.irq, second.name, second.address, second.number) == (131, "qat10-ae-cluster", "0001:02:1f.7", 10)
    assert first.belongs_to("0000:01:00.0")
    assert not first.belongs_to("0000:01:00.1")


def test_vectors_by_the_number_of_older_kernels() -> None:
    number = 2 << 27 | (0x3D << 8 | 3 << 3 | 1) << 11 | 5
    data = table(
        [0],
        (130, [1], f"IR-PCI-MSI {number}-edge      qat0-bundle5"),
        (131, [1], f"PCI-MSI {0x0B << 14} Edge      qat1-ae-cluster"),
        (132, [1], "IO-APIC    8-edge      qat2-bundle0"),
    )
    found = interrupts.parse(data)
    assert [vector.address for vector in found] == ["0002:3d:03.1", "0000:00:0b.0", None]
    assert [vector.name for vector in found] == ["qat0-bundle5", "qat1-ae-cluster", "qat2-bundle0"]


def test_a_virtual_function_is_known_by_its_vectors_name() -> None:
    (vector,) = interrupts.parse(table([0], (140, [9], "ITS-MSI 524288 Edge qat_3b:16.07")))
    assert (vector.slot, vector.number) == ("3b:10.7", None)
    assert vector.belongs_to("0000:3b:10.7")
    assert not vector.belongs_to("0000:3b:16.7")


def test_numbers_are_matched_whole() -> None:
    chip = "IR-PCI-MSIX-0000:{:02x}:00.0  0-edge  qat{}-bundle0"
    found = interrupts.parse(table([0], *((100 + n, [n], chip.format(n, n)) for n in range(16))))
    addresses = [f"0000:{n:02x}:00.0" for n in range(16)]
    assert interrupts.device_numbers(found, addresses) == {f"0000:{n:02x}:00.0": n for n in range(16)}
    assert interrupts.device_numbers(found, ["0000:99:00.0"]) == {}


def test_a_device_with_two_numbers_has_none() -> None:
    chip = "IR-PCI-MSIX-0000:01:00.0  {}-edge  qat{}-bundle0"
    found = interrupts.parse(table([0], (1, [0], chip.format(0, 1)), (2, [0], chip.format(1, 2))))
    assert interrupts.device_numbers(found, ["0000:01:00.0"]) == {}


def test_sixteen_devices_on_256_cpus() -> None:
    generator = random.Random(7)  # noqa: S311 - any numbers do, the same each time
    cpus = [cpu for cpu in range(257) if cpu != 77]
    rows, expected = [], {}
    for device in range(16):
        for bank in range(17):
            counts = [generator.randrange(10**10) if generator.random() < 0.1 else 0 for _ in cpus]
            name = f"qat{device}-bundle{bank}" if bank < 16 else f"qat{device}-ae-cluster"
            irq = 200 + device * 17 + bank
            rows.append((irq, counts, f"IR-PCI-MSIX-0000:{device + 0x20:02x}:00.0 {bank:4d}-edge      {name}"))
            expected[irq] = (f"0000:{device + 0x20:02x}:00.0", name, dict(zip(cpus, counts, strict=True)))
    found = interrupts.parse(table(cpus, *rows))
    assert {vector.irq: (vector.address, vector.name, by_cpu(vector)) for vector in found} == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "row of CPUs"),
        (b"\n", "row of CPUs"),
        (b" 1:  5  chip 0-edge qat0-bundle0\n", "row of CPUs"),
        (b"CPU0 CPUx\n", "row of CPUs"),
        (b"   CPU0\nqat0-bundle0\n", "no row of an interrupt"),
        (b"   CPU0\n99999999999: 1 chip 0-edge qat0\n", "no row of an interrupt"),
        (b"   CPU0\n 1: 1  chip 0-edge qat0-\xff\n", "not UTF-8"),
        (b"   CPU0\n 1: 1  chip 0-edge qat0-\0\n", "has the character"),
        (b"   CPU0\n 1: 1  chip 0-edge qat0-bundle1", "cut off"),
        (b"   CPU0\n 1: 1  chip 0-edge qat0\n 1: 2  chip 0-edge qat1\n", "an interrupt twice"),
        (b"   CPU1 CPU0 CPU01\n", "has a CPU twice, or one above 65535, in its row of CPUs"),
        (b"   CPU0 CPU65536\n", "has a CPU twice, or one above 65535, in its row of CPUs"),
        (b" ".join(b"CPU%d" % (n % 65536) for n in range(200_000)) + b"\n", "does not begin with a row of CPUs"),
    ],
)
def test_other_tables_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        interrupts.parse(data)


def test_a_count_that_is_no_number_is_broken() -> None:
    (vector,) = interrupts.parse(b" CPU0 CPU1\n 130: 1 0-2 IR-PCI-MSIX-0000:01:00.0  0-edge  qat0-bundle0\n")
    with pytest.raises(SourceError, match="interrupt 130 has a count that is no number"):
        vector.counts()


@pytest.mark.parametrize("counts", [[], [1], [1, 2, 3]])
def test_a_row_with_other_counts_than_cpus_is_broken(counts: list[int]) -> None:
    (vector,) = interrupts.parse(table([0, 1], (130, counts, "IR-PCI-MSIX-0000:01:00.0  0-edge  qat0-bundle0")))
    with pytest.raises(SourceError, match=f"interrupt 130 has {len(counts)} counts for 2 CPUs"):
        vector.counts()


@given(st.binary(max_size=300))
def test_no_table_breaks_the_reader(data: bytes) -> None:
    for head in (b"", b" CPU0 CPU1\n"):
        try:
            for vector in interrupts.parse(head + data + b"qat\n"):
                vector.counts()
        except SourceError:
            pass
