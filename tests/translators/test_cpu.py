"""What the CPU can do, from /proc/cpuinfo."""

import errno

import pytest

from translators.base import ALL, Branch, Change, Plan, Selection
from translators.cpu.translator import CpuTranslator
from translators.record import RecordedHost

TYPES = "hardware-acceleration-types"
FIRST = """\
processor\t: 0
vendor_id\t: ExampleVendor
model name\t: Example(R) CPU @ 2.20GHz
flags\t\t: fpu lm sha_ni aes avx512f avx512ifma aesx
bogomips\t: 4400.00
power management:

"""
OTHER = "processor\t: 1\nvendor_id\t: Other\nmodel name\t: Other\nflags\t\t: fpu\n\n"


def machine(content: bytes | str | OSError | None) -> RecordedHost:
    files = {} if content is None else {"/proc/cpuinfo": content.encode() if isinstance(content, str) else content}
    return RecordedHost(files=files, complete=True)


def test_the_first_cpu_is_told() -> None:
    reading = CpuTranslator().operational(machine(FIRST + OTHER), ALL, {})
    assert reading.faults == ()
    assert reading.tree == {
        "model": "Example(R) CPU @ 2.20GHz",
        "vendor": "ExampleVendor",
        "architecture": "x86_64",
        "crypto-feature": [f"{TYPES}:{name}" for name in ("aes-ni", "sha-ni", "avx512", "avx512-ifma")],
        "aes-ni": True,
    }


def test_only_what_is_wanted_is_told() -> None:
    wanted = Selection(everything=False, branches=(Branch("aes-ni", (), ALL),))
    assert CpuTranslator().operational(machine(FIRST), wanted, {}).tree == {"aes-ni": True}


def test_a_cpu_without_the_instructions_says_so() -> None:
    tree = CpuTranslator().operational(machine("processor: 0\nflags: fpu\n"), ALL, {}).tree
    assert tree == {"aes-ni": False}


def test_a_cpu_without_flags_says_nothing() -> None:
    tree = CpuTranslator().operational(machine("processor\t: 0\nFeatures\t: fp asimd aes\n"), ALL, {}).tree
    assert tree == {}


def test_no_file_is_no_state() -> None:
    assert CpuTranslator().operational(machine(None), ALL, {}).tree == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is no property|does not begin"),
        ("hello\n", "'hello' is no property of a CPU"),
        ("vendor_id: x\n", "does not begin with a processor"),
        (b"processor: \xff\n", "not UTF-8"),
        (b"processor: 0\0\n", "has the character"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_a_broken_file_is_a_fault(content: bytes | str | OSError, reason: str) -> None:
    reading = CpuTranslator().operational(machine(content), ALL, {})
    assert reading.tree == {}
    (fault,) = reading.faults
    assert fault.path == "/hardware-acceleration:acceleration/cpu"
    assert any(part in fault.message for part in reason.split("|"))


def test_nothing_of_it_can_be_configured() -> None:
    assert CpuTranslator().prepare(Change(None, {}), RecordedHost()) == Plan()
