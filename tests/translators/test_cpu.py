"""What the CPU can do, from /proc/cpuinfo."""

import errno

import pytest

from translators.base import ALL, Branch, Change, Plan, Selection
from translators.cpu.translator import CpuTranslator
from translators.crypto import cpuinfo
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
CPU = "/hardware-acceleration:acceleration/cpu"
BARE = "The CPU has no AES instructions, or the firmware's setup has them switched off."
VIRTUAL = "processor\t: 0\nmodel name\t: Example\nflags\t\t: lm hypervisor ssse3\n\n"


def cpu(number: int, flags: str, *, socket: int = 0, model: str = "Example(R) CPU") -> str:
    return f"processor\t: {number}\nmodel name\t: {model}\nphysical id\t: {socket}\nflags\t\t: {flags}\n\n"


def machine(content: bytes | str | OSError | None, **dmi: str | bytes | OSError) -> RecordedHost:
    files = {} if content is None else {"/proc/cpuinfo": content.encode() if isinstance(content, str) else content}
    for name, text in dmi.items():
        path = "/sys/hypervisor/type" if name == "type" else f"/sys/class/dmi/id/{name}"
        files[path] = f"{text}\n".encode() if isinstance(text, str) else text
    return RecordedHost(files=files, complete=True)


def test_what_the_cpu_has_is_told() -> None:
    reading = CpuTranslator().operational(machine(FIRST), ALL, {})
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
    assert tree == {"aes-ni": False, "note": [BARE]}


def test_a_cpu_without_flags_says_nothing() -> None:
    tree = CpuTranslator().operational(machine("processor\t: 0\nFeatures\t: fp asimd aes\n"), ALL, {}).tree
    assert tree == {}


FLAGS = {
    "Intel, Ice Lake": ("fpu lm pclmulqdq ssse3 aes avx avx2 avx512f sha_ni gfni vaes vpclmulqdq", 10),
    "Intel, Skylake": ("fpu lm pclmulqdq ssse3 aes avx avx2 avx512f", 6),
    "AMD": ("fpu lm pclmulqdq ssse3 sse4a aes avx avx2 sha_ni vaes vpclmulqdq topoext", 8),
    "none": ("fpu lm sse2", 0),
}


@pytest.mark.parametrize("kind", FLAGS)
def test_the_instructions_are_told_by_their_flags(kind: str) -> None:
    flags, count = FLAGS[kind]
    tree = CpuTranslator().operational(machine(cpu(0, flags)), ALL, {}).tree
    assert len(tree.get("crypto-feature", [])) == count
    assert tree["aes-ni"] == ("aes" in flags.split())
    assert (f"{TYPES}:vaes" in tree.get("crypto-feature", [])) == ("vaes" in flags.split())


def test_of_sockets_that_differ_only_what_all_have_counts() -> None:
    text = cpu(0, "lm aes vaes avx2") + cpu(1, "lm aes avx2", socket=1, model="Other") + cpu(2, "lm aes avx2", socket=1)
    tree = CpuTranslator().operational(machine(text), ALL, {}).tree
    assert tree == {
        "model": "Example(R) CPU",
        "other-model": ["Other"],
        "architecture": "x86_64",
        "sockets": 2,
        "crypto-feature": [f"{TYPES}:aes-ni", f"{TYPES}:avx2"],
        "aes-ni": True,
        "note": ["The CPUs of this machine differ: only some have vaes, which is not counted."],
    }


def test_sockets_that_do_not_differ_in_cryptography_need_no_remark() -> None:
    tree = CpuTranslator().operational(machine(cpu(0, "aes mmx") + cpu(1, "aes", socket=1)), ALL, {}).tree
    assert "note" not in tree
    assert tree["sockets"] == 2


def test_where_one_cpu_has_no_flags_none_are_common() -> None:
    found = cpuinfo.parse("processor: 0\nflags: aes\n\nprocessor: 1\n")
    assert (found.flags, found.features, found.uneven) == (None, None, frozenset())
    assert cpuinfo.parse(VIRTUAL).features == frozenset({"ssse3"})


def test_what_some_architectures_say_of_the_whole_machine_is_no_cpu() -> None:
    found = cpuinfo.parse("processor: 0\nFeatures: fp aes\n\nprocessor: 1\n\nHardware: Board\nSerial: 0\n")
    assert found == cpuinfo.Cpu((), None, None)


@pytest.mark.parametrize(
    ("dmi", "name", "hint"),
    [
        ({"sys_vendor": "QEMU", "product_name": "Standard PC (Q35 + ICH9, 2009)"}, "kvm", "host-passthrough"),
        ({"sys_vendor": "Example Inc.", "product_name": "KVM"}, "kvm", "host-passthrough"),
        ({"sys_vendor": "VMware, Inc.", "product_name": "VMware7,1"}, "vmware", "EVC"),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, "hyper-v", "compatibility"),
        ({"sys_vendor": "Xen", "product_name": "HVM domU"}, "xen", "CPUID mask"),
        ({"type": "xen"}, "xen", "CPUID mask"),
        ({"sys_vendor": "innotek GmbH", "product_name": "VirtualBox"}, "virtualbox", "--cpu-profile host"),
        ({"sys_vendor": "Some Cloud", "product_name": "Small"}, "unknown", "another type of machine"),
        ({}, "unknown", "the host's CPU flags"),
    ],
)
def test_a_virtual_machine_without_aes_says_where_to_ask_for_it(dmi: dict[str, str], name: str, hint: str) -> None:
    tree = CpuTranslator().operational(machine(VIRTUAL, **dmi), ALL, {}).tree
    assert tree["hypervisor"] == name
    (note,) = tree["note"]
    assert note.startswith("The hypervisor shows no AES instructions")
    assert hint in note


def test_a_virtual_machine_with_aes_needs_no_remark() -> None:
    tree = CpuTranslator().operational(machine(cpu(0, "aes hypervisor"), sys_vendor="QEMU"), ALL, {}).tree
    assert tree["hypervisor"] == "kvm"
    assert "note" not in tree


def test_a_computer_of_a_vendor_of_hypervisors_is_no_virtual_machine() -> None:
    dmi = {"sys_vendor": "Microsoft Corporation", "product_name": "Surface"}
    assert CpuTranslator().operational(machine(cpu(0, "lm"), **dmi), ALL, {}).tree["note"] == [BARE]


def test_firmware_that_can_not_be_read_costs_the_hypervisors_name_only() -> None:
    host = machine(cpu(0, "aes hypervisor"), sys_vendor=b"\xff", product_name="Thing")
    reading = CpuTranslator().operational(host, ALL, {})
    assert reading.tree["hypervisor"] == "unknown"
    assert reading.tree["aes-ni"] is True
    (fault,) = reading.faults
    assert (fault.path, "/sys/class/dmi/id/sys_vendor" in fault.message) == (f"{CPU}/hypervisor", True)


def test_no_file_of_the_firmware_is_read_for_what_needs_none() -> None:
    host = machine(VIRTUAL, sys_vendor="QEMU")
    CpuTranslator().operational(host, Selection(everything=False, branches=(Branch("aes-ni", (), ALL),)), {})
    assert host.read_paths == ["/proc/cpuinfo"]


def test_no_file_is_no_state() -> None:
    assert CpuTranslator().operational(machine(None), ALL, {}).tree == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is no property|does not begin"),
        ("hello\n", "'hello' is no property of a CPU"),
        ("vendor_id: x\n", "does not begin with a processor"),
        ("processor: 0\nflags: fpu ae", "is cut off"),
        ("processor: 0\n\nprocessor: 1\nhello\n", "'hello' is no property of a CPU"),
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
