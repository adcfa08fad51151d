"""Every parser on what no machine should say: cut off, two in one, other line ends and bytes, nothing, too much.

What comes of it is refused, with the path, or holds nothing but what a careful reader would have read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from translators.cpu import times
from translators.crypto import cpuinfo, proc_crypto
from translators.host import READ_LIMIT
from translators.qat import adf_status, counters, dev_cfg, heartbeat, interrupts, intree, ras, telemetry
from translators.qat.devices import PCI_DEVICES, inventory, pci_details
from translators.qat.kernel_log import KernelLog
from translators.qat.state import DEBUGFS, FILE_LIMIT, Observer
from translators.record import RecordedHost
from translators.sources import ATTRIBUTE_LIMIT, SourceError, decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ADDRESS = "0000:9a:00.0"
TARGET = f"4xxx@{ADDRESS}"
FOLDER = f"{DEBUGFS}/qat_4xxx_{ADDRESS}"
PCI = f"{PCI_DEVICES}/{ADDRESS}"
LOG = "/var/log/kern.log"
BOX = """\
+------------------------------------------------+
| FW Statistics for Qat Device                   |
+------------------------------------------------+
| Firmware Requests [AE  {0}]:{1:20d} |
| Firmware Responses[AE  {0}]:{2:20d} |
| RAS Events        [AE  {0}]:                   7 |
+------------------------------------------------+
"""


@dataclass(frozen=True)
class Source:
    """A file, two of its kind, and what a reader makes of it: a set of what it says. ``limit``: no larger is read."""

    path: str
    texts: tuple[str, str]
    read: Callable[[RecordedHost], Iterable[Any]]
    limit: int = ATTRIBUTE_LIMIT


def _file(host: RecordedHost, name: str, parse: Callable[[str, str], Iterable[Any]]) -> Iterable[Any]:
    observer = Observer(host)
    data = observer.file(TARGET, name)
    path = observer.path(TARGET, name)
    return parse(decoded(data, path), path)


def _interrupts(host: RecordedHost) -> Iterable[Any]:
    vectors = interrupts.read_vectors(host) or ()
    return [(vector.irq, vector.name, vector.address, vector.counts().digits) for vector in vectors]


def _fields(found: Any, *names: str) -> list[tuple[str, Any]]:
    values = [(name, getattr(found, name)) for name in names]
    return [(name, value) for name, value in values if value not in {None, ()}] if found is not None else []


def _table(cpus: int, *rows: tuple[int, str, int]) -> str:
    lines = ["           " + "".join(f"CPU{cpu:<8d}" for cpu in range(cpus))]
    for irq, name, count in rows:
        counts = "".join(f"{count * cpu:10d} " for cpu in range(cpus))
        lines.append(f" {irq}: {counts}  IR-PCI-MSIX-{ADDRESS}    {irq % 9}-edge      {name}")
    return "\n".join([*lines, "ERR:          0", ""])


def _crypto(name: str, driver: str, priority: int) -> str:
    head = f"name         : {name}\ndriver       : {driver}\nmodule       : m\npriority     : {priority}\n"
    return f"{head}refcnt       : 2\nselftest     : passed\ninternal     : no\ntype         : cipher\n\n"


def _cpu(number: int, model: str, flags: str) -> str:
    return f"processor\t: {number}\nvendor_id\t: GenuineIntel\nmodel name\t: {model}\nflags\t\t: {flags}\n\n"


SOURCES = {
    "counters, kernel": Source(
        f"{FOLDER}/fw_counters",
        ("AE          Requests        Responses\n 0: 5031 5029\n 2: 70001 70001\n", "AE Requests Responses\n 1: 4 3\n"),
        lambda host: _file(host, "fw_counters", counters.parse),
        FILE_LIMIT,
    ),
    "counters, out-of-tree": Source(
        f"{FOLDER}/fw_counters",
        (BOX.format(3, 91_044, 91_040), BOX.format(4, 17, 17)),
        lambda host: _file(host, "fw_counters", counters.parse),
        FILE_LIMIT,
    ),
    "dev_cfg": Source(
        f"{FOLDER}/dev_cfg",
        ("[GENERAL]\nServicesEnabled = sym;asym\nHeartbeatTimer = 213\n[KERNEL]\nNumberCyInstances = 12\n",
         "[GENERAL]\nServicesEnabled = dc\n[KERNEL]\nNumberDcInstances = 9\n"),
        lambda host: _file(host, "dev_cfg", dev_cfg.parse),
        FILE_LIMIT,
    ),
    "interrupts": Source(
        interrupts.PROC_INTERRUPTS,
        (_table(4, (311, "qat0-bundle3", 91), (312, "qat0-ae-cluster", 2)), _table(2, (77, "qat1-bundle12", 5))),
        _interrupts,
        0,  # it takes too long to reach here: see test_qat_forms
    ),
    "kernel log": Source(
        LOG,
        (f"[  61.5] 4xxx {ADDRESS}: AE Start Failed\n[  61.9] 4xxx {ADDRESS}: Failed to send init message\n",
         f"Mar  3 11:12:13 h kernel: [ 9.1] 4xxx {ADDRESS}: Failed to register crypto algs\n"),
        lambda host: [(error.kind, error.message) for error in KernelLog(host, LOG).read(None)[0]],
        0,  # read in pieces
    ),
    "proc_crypto": Source(
        proc_crypto.PROC_CRYPTO,
        (_crypto("cbc(aes)", "cbc-aes-x", 431) + _crypto("xts(aes)", "xts-y", 9), _crypto("rsa", "rsa-z", 77)),
        lambda host: found.algorithms if (found := proc_crypto.read(host)) else (),
        proc_crypto.LIMIT,
    ),
    "cpuinfo": Source(
        "/proc/cpuinfo",
        (_cpu(0, "Example 12", "fpu aes vaes") + _cpu(1, "Example 12", "fpu aes vaes"), _cpu(0, "Example 34", "fpu")),
        lambda host: sorted(found.features) if (found := cpuinfo.read(host)) and found.features else (),
        READ_LIMIT,
    ),
    "times": Source(
        times.STAT,
        ("cpu  9041 12 877 66012 530 0 41 7 0 0\ncpu0 9041 12 877 66012 530 0 41 7 0 0\nintr 5\n",
         "cpu  1 2 3 4 5 6 7 8\n"),
        lambda host: _fields(times.read(host), "busy", "total"),
        0,  # only its beginning is read: see test_cpu_times
    ),
    "telemetry": Source(
        f"{FOLDER}/telemetry/device_data",
        ("sample_cnt 41\nbw_in 5123\nbw_out 4999\ngp_lat_acc_avg 812\nutil_cph0 37\n", "sample_cnt 3\nbw_in 17\n"),
        lambda host: _fields(
            telemetry.read(host, ADDRESS, FOLDER), "throughput_in", "throughput_out", "latency", "slices"
        ),
    ),
    "heartbeat": Source(
        f"{FOLDER}/heartbeat/status", ("-1\n", "0\n"), lambda host: _fields(heartbeat.read(host, FOLDER), "status")
    ),
    "heartbeats sent": Source(
        f"{FOLDER}/heartbeat/queries_sent", ("9\n", "7\n"), lambda host: _fields(heartbeat.read(host, FOLDER), "sent")
    ),
    "errors": Source(
        f"{PCI}/qat_ras/errors_fatal", ("5\n", "6\n"), lambda host: _fields(ras.read(host, ADDRESS), "fatal")
    ),
    "errors of the link": Source(
        f"{PCI}/aer_dev_fatal",
        ("Undefined 0\nTLP 3\nTOTAL_ERR_FATAL 3\n", "DLP 4\nTOTAL_ERR_FATAL 4\n"),
        lambda host: _fields(ras.read_link(host, ADDRESS), "fatal"),
    ),
    "switch": Source(
        f"{PCI}/qat/state", ("down\n", "up\n"), lambda host: _fields(intree.read(host, ADDRESS), "up")
    ),
    "ring pairs": Source(
        f"{PCI}/qat/num_rps", ("8\n", "6\n"), lambda host: _fields(intree.read(host, ADDRESS), "ring_pairs")
    ),
    "id": Source(
        f"{PCI}/device",
        ("0x4940\n", "0x4942\n"),
        lambda host: [device.id.pci_id for device in _identified(host)],
    ),
    "details": Source(
        f"{PCI}/revision", ("0x40\n", "0x30\n"), lambda host: _fields(pci_details(host, ADDRESS), "revision")
    ),
}  # fmt: skip
EVERY = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


def _identified(host: RecordedHost) -> Iterable[Any]:
    found = inventory(host)
    for _address, error in found.broken:
        raise error
    return found.devices


def read(source: Source, data: bytes) -> set[Any] | None:
    """Return what is read of a file with this content, None where it is refused, which must name it."""
    host = RecordedHost(complete=True, folders={DEBUGFS, FOLDER})
    host.files |= {
        f"{FOLDER}/telemetry/control": b"1\n", f"{FOLDER}/heartbeat/status": b"0\n", f"{PCI}/vendor": b"0x8086\n",
        f"{PCI}/qat/state": b"up\n",
    }  # fmt: skip
    host.files[source.path] = data
    try:
        return set(source.read(host))
    except (SourceError, OSError) as error:
        refusal = error
    assert source.path in str(refusal)
    return None


@EVERY
def test_what_is_whole_is_read(source: Source) -> None:
    for text in source.texts:
        assert read(source, text.encode()) is not None
    assert read(source, source.texts[0].encode()) != read(source, source.texts[1].encode())


@EVERY
def test_what_is_cut_off_says_nothing_else(source: Source) -> None:
    data = source.texts[0].encode()
    whole = read(source, data)
    assert whole is not None
    for length in range(len(data)):
        found = read(source, data[:length])
        assert found is None or found <= whole, data[:length]


@EVERY
def test_two_in_one_are_what_each_says_or_nothing(source: Source) -> None:
    first, second = (read(source, text.encode()) for text in source.texts)
    assert first is not None
    assert second is not None
    lines = [text.splitlines(keepends=True) for text in source.texts]
    mixed = "".join(line for pair in zip(*lines, strict=False) for line in pair)
    for text in ("".join(source.texts), "".join(reversed(source.texts)), mixed):
        found = read(source, text.encode())
        assert found is None or found <= first | second, text


@EVERY
def test_other_line_ends_say_the_same(source: Source) -> None:
    for text in source.texts:
        assert read(source, text.replace("\n", "\r\n").encode()) == read(source, text.encode())


@EVERY
@pytest.mark.parametrize("noise", [b"\xe9", b"\xff\xfe", b"\0", b"\x1b[1m", "é".encode()])
def test_other_bytes_are_refused_or_change_nothing(source: Source, noise: bytes) -> None:
    data = source.texts[0].encode()
    whole = read(source, data)
    assert whole is not None
    for at in range(len(data) + 1):
        found = read(source, data[:at] + noise + data[at:])
        assert found is None or len(found) <= len(whole)
        if noise in {b"\xe9", b"\xff\xfe"} and source.path != LOG and found is not None:
            assert found <= whole, (at, found)


@EVERY
def test_nothing_is_nothing(source: Source) -> None:
    assert not read(source, b"")


@pytest.mark.parametrize("source", [source for source in SOURCES.values() if source.limit])
def test_there_is_a_limit(source: Source) -> None:
    assert read(source, source.texts[0].encode() + b" " * source.limit) is None


def test_what_a_tool_prints_is_devices_or_nothing() -> None:
    row = f" qat_dev7 - type: 4xxx,  inst_id: 2,  node_id: 0,  bsf: {ADDRESS},  #accel: 1 #engines: 9 state: down\n"
    other = row.replace("dev7", "dev12").replace(":9a:", ":9b:").replace("down", "up")
    first, second = set(adf_status.parse(row)), set(adf_status.parse(other))
    assert (len(first), len(second)) == (1, 1)
    assert all(set(adf_status.parse(row[:length])) <= first for length in range(len(row)))
    assert set(adf_status.parse(row + other)) == first | second
    assert set(adf_status.parse(row.replace("\n", "\r\n"))) == first
    assert adf_status.parse("") == ()
    for at in range(len(row)):
        assert set(adf_status.parse(f"{row[:at]}\N{REPLACEMENT CHARACTER}{row[at:]}")) <= first
