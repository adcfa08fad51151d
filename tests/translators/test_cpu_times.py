"""How long the CPUs were busy, from /proc/stat."""

import errno

import pytest

from tests.translators.test_cpu import CPU, FIRST
from translators.base import ALL, Branch, Reading, Selection
from translators.cpu.times import LIMIT
from translators.cpu.translator import CpuTranslator
from translators.record import RecordedHost

LINE = "cpu  9041 12 877 66012 530 3 41 7 700 5"
ROWS = "cpu0 4000 6 400 33000 265 1 20 3 350 2\nintr 91 7 0\nbtime 1893456789\n"
TIME = Selection(everything=False, branches=(Branch("time", (), ALL),))


def told(content: bytes | str | OSError, wanted: Selection = TIME) -> Reading:
    """Return what is told of a machine with this file."""
    data = content.encode() if isinstance(content, str) else content
    return CpuTranslator().operational(RecordedHost(files={"/proc/stat": data}, complete=True), wanted, {})


def test_busy_is_all_time_but_idle_and_waiting_and_guests_count_once() -> None:
    assert told(f"{LINE}\n{ROWS}") == Reading({"time": {"busy": 9981, "total": 76523}})


def test_an_older_kernel_knows_no_guests() -> None:
    assert told("cpu  1 2 3 40 50 6 7 8\n").tree == {"time": {"busy": 27, "total": 117}}


def test_the_longest_first_line_has_room() -> None:
    line = f"cpu  {2**63} {' '.join(['0' * 20] * 9)}\n"
    assert told(line + "x" * 10**6).tree == {"time": {"busy": 2**63, "total": 2**63}}


def test_only_the_leaf_that_is_wanted_is_told() -> None:
    leaf = Selection(everything=False, branches=(Branch("total", (), ALL),))
    wanted = Selection(everything=False, branches=(Branch("time", (), leaf),))
    assert told(f"{LINE}\n", wanted).tree == {"time": {"total": 76523}}


def test_each_file_is_read_for_what_it_tells() -> None:
    host = RecordedHost(files={"/proc/cpuinfo": FIRST.encode(), "/proc/stat": f"{LINE}\n".encode()}, complete=True)
    assert set(CpuTranslator().operational(host, TIME, {}).tree) == {"time"}
    assert host.read_paths == ["/proc/stat"]
    assert {"time", "aes-ni"} <= set(CpuTranslator().operational(host, ALL, {}).tree)


def test_no_file_is_no_state() -> None:
    assert CpuTranslator().operational(RecordedHost(complete=True), ALL, {}) == Reading({})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "has no end"),
        (LINE, "has no end within 512 bytes: 'cpu  9041 12"),
        (LINE[:20], "has no end"),
        (f"cpu  {'1 ' * LIMIT}\n", "has no end within 512 bytes"),
        (ROWS, "begins with 'cpu0 4000"),
        ("hello\n", "begins with 'hello'"),
        ("cpu  1 2 3 -4 5 6 7 8\n", "begins with"),
        ("cpu  1 2 3 x 5 6 7 8\n", "begins with"),
        ("cpu  1 2 3 4\n", "is not 8 times or more"),
        (f"cpu  {2**64 - 1} 1 0 0 0 0 0 0\n", "below 2^64"),
        (f"cpu  {10**30} 1 0 0 0 0 0 0\n", "begins with"),
        (b"cpu  1 2\xff 3 4 5 6 7 8\n", "not UTF-8"),
        (b"cpu  1 2\0 3 4 5 6 7 8\n", "has the character"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_a_broken_file_is_a_fault_and_costs_nothing_else(content: bytes | str | OSError, reason: str) -> None:
    data = content.encode() if isinstance(content, str) else content
    host = RecordedHost(files={"/proc/cpuinfo": FIRST.encode(), "/proc/stat": data}, complete=True)
    reading = CpuTranslator().operational(host, ALL, {})
    assert reading.tree["aes-ni"] is True
    assert "time" not in reading.tree
    (fault,) = reading.faults
    assert fault.path == f"{CPU}/time"
    assert fault.message.startswith("/proc/stat: ")
    assert reason in fault.message


def test_a_broken_list_of_cpus_costs_no_times() -> None:
    host = RecordedHost(files={"/proc/cpuinfo": b"hello\n", "/proc/stat": f"{LINE}\n".encode()}, complete=True)
    reading = CpuTranslator().operational(host, ALL, {})
    assert reading.tree == {"time": {"busy": 9981, "total": 76523}}
    assert [fault.path for fault in reading.faults] == [CPU]
