"""The subtree kernel-crypto: the kernel's algorithms as a client sees them."""

import errno

import pytest

from translators.base import ALL, Branch, Change, Plan, Selection
from translators.kernel_crypto.translator import KernelCryptoTranslator
from translators.record import RecordedHost

PATH = "/hardware-acceleration:acceleration/kernel-crypto"
QAT = """\
name         : cbc(aes)
driver       : qat_aes_cbc
module       : intel_qat
priority     : 100
refcnt       : 1
selftest     : passed
internal     : no
type         : skcipher
async        : yes
blocksize    : 16

"""
HIDDEN = """\
name         : __cbc(aes)
driver       : cryptd(__cbc-aes-aesni)
module       : cryptd
priority     : 450
refcnt       : 2
selftest     : passed
internal     : yes
type         : skcipher
async        : yes
blocksize    : 16

"""
AESNI = QAT.replace("qat_aes_cbc", "cbc-aes-aesni").replace("intel_qat", "aesni_intel").replace(": 100", ": 400")
HASH = "name : sha1\ndriver : sha1-generic\nmodule : kernel\npriority : 100\ntype : shash\n\n"
UNTESTED = AESNI.replace("cbc-aes-aesni", "cbc-new").replace(": 400", ": 900").replace("passed", "unknown")
FILE = QAT + HIDDEN + AESNI + HASH + UNTESTED


def machine(content: str | bytes | OSError | None) -> RecordedHost:
    files = {} if content is None else {"/proc/crypto": content.encode() if isinstance(content, str) else content}
    return RecordedHost(files=files, complete=True)


def only(**matches: str) -> Selection:
    return Selection(everything=False, branches=(Branch("algorithm", tuple(matches.items()), ALL),))


def test_all_that_the_kernel_has_is_listed_in_its_order() -> None:
    reading = KernelCryptoTranslator().operational(machine(FILE), ALL, {})
    assert reading.faults == ()
    algorithms = reading.tree["algorithm"]
    assert [(entry["driver"], entry["provider"], entry["selected"]) for entry in algorithms] == [
        ("qat_aes_cbc", "qat", False),
        ("cryptd(__cbc-aes-aesni)", "aes-ni", False),
        ("cbc-aes-aesni", "aes-ni", True),
        ("sha1-generic", "generic", True),
        ("cbc-new", "aesni_intel", False),
    ]
    assert algorithms[0] == {
        "name": "cbc(aes)",
        "driver": "qat_aes_cbc",
        "module": "intel_qat",
        "priority": 100,
        "type": "skcipher",
        "async": True,
        "internal": False,
        "self-test-passed": True,
        "reference-count": 1,
        "selected": False,
        "provider": "qat",
    }


def test_what_the_kernel_does_not_say_is_left_out() -> None:
    (entry,) = KernelCryptoTranslator().operational(machine(HASH), ALL, {}).tree["algorithm"]
    assert entry == {
        "name": "sha1",
        "driver": "sha1-generic",
        "module": "kernel",
        "priority": 100,
        "type": "shash",
        "selected": True,
        "provider": "generic",
    }


def test_only_the_entries_and_leafs_that_are_wanted_are_told() -> None:
    told = KernelCryptoTranslator().operational(machine(FILE), only(name="cbc(aes)", driver="qat_aes_cbc"), {}).tree
    assert [entry["driver"] for entry in told["algorithm"]] == ["qat_aes_cbc"]
    leaf = Selection(everything=False, branches=(Branch("selected", (), ALL),))
    wanted = Selection(everything=False, branches=(Branch("algorithm", (("name", "sha1"),), leaf),))
    told = KernelCryptoTranslator().operational(machine(FILE), wanted, {}).tree
    assert told == {"algorithm": [{"name": "sha1", "driver": "sha1-generic", "selected": True}]}
    assert KernelCryptoTranslator().operational(machine(FILE), only(name="none"), {}).tree == {}


def test_what_is_not_wanted_is_not_read() -> None:
    host = machine(FILE)
    assert KernelCryptoTranslator().operational(host, Selection(everything=False), {}).tree == {}
    assert host.read_paths == []


def test_one_driver_of_two_types_is_one_entry_of_the_list() -> None:
    twice = AESNI + AESNI.replace("skcipher", "lskcipher")
    (entry,) = KernelCryptoTranslator().operational(machine(twice), ALL, {}).tree["algorithm"]
    assert (entry["type"], entry["selected"]) == ("skcipher", True)


@pytest.mark.parametrize("content", [None, ""])
def test_no_algorithms_are_no_state(content: str | None) -> None:
    reading = KernelCryptoTranslator().operational(machine(content), ALL, {})
    assert (reading.tree, reading.faults) == ({}, ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (FILE[:-20], "is cut off"),
        (OSError(errno.EACCES, "Permission denied"), "/proc/crypto: Permission denied"),
        (b"\xff\n", "is not UTF-8"),
    ],
)
def test_a_broken_file_is_a_fault(content: str | bytes | OSError, reason: str) -> None:
    reading = KernelCryptoTranslator().operational(machine(content), ALL, {})
    assert reading.tree == {}
    (fault,) = reading.faults
    assert fault.path == f"{PATH}/algorithm"
    assert reason in fault.message


def test_nothing_of_it_can_be_configured() -> None:
    assert KernelCryptoTranslator().prepare(Change(None, {}), RecordedHost()) == Plan()
