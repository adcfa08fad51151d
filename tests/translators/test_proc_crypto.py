"""The kernel's table of algorithms: what is read of it, what is refused, and what a user gets."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translators.crypto.proc_crypto import LIMIT, PROC_CRYPTO, Algorithm, Table, parse, read
from translators.real_host import RealHost
from translators.record import RecordedHost
from translators.sources import SourceError

CIPHER = """\
name         : ctr(aes)
driver       : ctr-aes-aesni
module       : aesni_intel
priority     : 403
refcnt       : 7
selftest     : passed
internal     : no
type         : skcipher
async        : no
blocksize    : 1
min keysize  : 16
max keysize  : 32
ivsize       : 16
chunksize    : 16
walksize     : 16

"""
AEAD = """\
name         : echainiv(authenc(hmac(sha512),cbc(aes)))
driver       : echainiv(qat_aes_cbc_hmac_sha512)
module       : echainiv
priority     : 4001
refcnt       : 5
selftest     : passed
internal     : no
type         : aead
async        : yes
blocksize    : 16
ivsize       : 16
maxauthsize  : 64
geniv        : <none>

"""
OLD = """\
name         : sha1
driver       : sha1-generic
module       : kernel
priority     : 0
type         : shash

"""
TABLE = CIPHER + AEAD + OLD

PARSED = (
    Algorithm(
        "ctr(aes)",
        "ctr-aes-aesni",
        "aesni_intel",
        403,
        "skcipher",
        references=7,
        self_test=True,
        internal=False,
        asynchronous=False,
        block_size=1,
        min_key_size=16,
        max_key_size=32,
    ),
    Algorithm(
        "echainiv(authenc(hmac(sha512),cbc(aes)))",
        "echainiv(qat_aes_cbc_hmac_sha512)",
        "echainiv",
        4001,
        "aead",
        references=5,
        self_test=True,
        internal=False,
        asynchronous=True,
        block_size=16,
    ),
    Algorithm("sha1", "sha1-generic", "kernel", 0, "shash"),
)


def entry(name: str, driver: str, priority: int, kind: str = "skcipher", **fields: str) -> str:
    rest = "".join(f"{key} : {value}\n" for key, value in fields.items())
    return f"name : {name}\ndriver : {driver}\nmodule : kernel\npriority : {priority}\ntype : {kind}\n{rest}\n"


def test_what_the_kernel_says_of_an_algorithm_is_read_and_the_rest_is_left_out() -> None:
    assert parse(TABLE).algorithms == PARSED


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace("\n", "\r\n"),
        TABLE.replace("\nname", "\n   name").replace(" : ", ":    "),
        f"\n\n{TABLE.rstrip()}\n",
        TABLE.replace("\n\n", "\n"),
        TABLE.replace("internal", "entropy      : low\ninternal"),
    ],
    ids=["crlf", "blanks", "empty lines", "no empty lines", "a newer kernel"],
)
def test_the_form_of_the_lines_does_not_matter(text: str) -> None:
    assert parse(text).algorithms == PARSED


def test_a_kernel_without_algorithms_has_none() -> None:
    assert parse("") == Table(())
    assert read(RecordedHost(complete=True)) is None


def test_placeholders_are_no_algorithms() -> None:
    larval = "name : gcm(aes)\ndriver : \nmodule : kernel\npriority : -1\nrefcnt : 2\ntype : larval\nflags : 0x10\n\n"
    assert parse(larval + OLD).algorithms == PARSED[2:]


def test_an_algorithm_that_the_kernel_shows_twice_is_one() -> None:
    assert parse(OLD + CIPHER + OLD.replace("priority     : 0", "priority     : 9")).algorithms == (
        PARSED[2],
        PARSED[0],
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TABLE[:-2], "is cut off: its last line has no end"),
        (TABLE.replace("type         : aead\n", ""), r"line 17: the entry of 'echainiv\(.*' has no type"),
        (TABLE.replace("driver       : sha1-generic", "driver       :"), "line 31: the entry of 'sha1' has no driver"),
        (TABLE.replace("name         : ctr(aes)", "name :"), "line 1: the entry of '' has no name"),
        (TABLE.replace("name         : ctr(aes)\n", ""), r"line 1: 'driver +: ctr-aes-aesni' belongs to no named"),
        (TABLE.replace("refcnt       : 7", "priority : 12"), "line 5: 'priority' is there twice in one entry"),
        (TABLE.replace(" : 403", " : 4 03"), r"line 1: '4 03' is no priority of 'ctr\(aes\)'"),
        (TABLE.replace(" : 403", " : 2147483648"), "line 1: '2147483648' is no priority"),
        (TABLE.replace(" : 403", " : " + "9" * 9000), "line 1: '9{60}…' is no priority"),
        (TABLE.replace(" : 403", " : ٤"), "line 1: '٤' is no priority"),
        (TABLE.replace("refcnt       : 7", "refcnt : -7"), "line 1: '-7' is no refcnt"),
        (TABLE.replace("max keysize  : 32", "max keysize  : big"), "line 1: 'big' is no max keysize"),
        (TABLE.replace("async        : yes", "async        : YES"), "line 17: 'YES' is no yes or no for async"),
        (TABLE.replace("internal     : no", "internal     :", 1), "line 1: '' is no yes or no for internal"),
        (TABLE.replace("aesni_intel", "aesni\u2028intel"), r"line 3: '.*aesni\\u2028intel' is no property"),
        ("hello\n", "line 1: 'hello' is no property of an algorithm"),
        ("# name : x\n", "line 1: '# name : x' belongs to no named algorithm"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=rf"^/proc/crypto: {reason}") as caught:
        parse(text)
    assert caught.value.source == PROC_CRYPTO


def test_two_tables_line_by_line_in_one_another_are_refused() -> None:
    first, second = CIPHER.splitlines(keepends=True), AEAD.splitlines(keepends=True)
    mixed = "".join(line for pair in zip(first, second, strict=False) for line in pair)
    with pytest.raises(SourceError, match="has no driver"):
        parse(mixed)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (TABLE.encode()[:40] + b"\0" + TABLE.encode()[40:], r"has the character '\\x00' at 40"),
        (TABLE.replace("sha1-generic", "sha1-générique").encode("latin-1"), "is not UTF-8 at byte"),
        (TABLE.encode("utf-16"), "is not UTF-8 at byte 0"),
    ],
    ids=["nul", "latin-1", "utf-16"],
)
def test_what_is_no_text_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=f"/proc/crypto: {reason}"):
        read(RecordedHost(files={PROC_CRYPTO: data}))


def test_a_file_of_a_hundred_megabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    with (tmp_path / "proc/crypto").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(SourceError, match=f"/proc/crypto: is larger than {LIMIT} bytes"):
        read(RealHost(tmp_path))


def test_thousands_of_algorithms_are_read() -> None:
    text = "".join(entry(f"cbc(c{n % 97})", f"driver{n}", n) for n in range(20_000))
    table = parse(text)
    assert len(table.algorithms) == 20_000
    best = table.selected("cbc(c5)", "skcipher")
    assert best is not None
    assert best.priority == max(range(5, 20_000, 97))


def test_of_a_table_that_is_cut_nothing_wrong_is_told() -> None:
    reasons = set()
    for size in range(len(TABLE)):
        try:
            found = parse(TABLE[:size]).algorithms
        except SourceError as error:
            reasons.add(re.sub(r"line \d+: the entry of '.*' has no \w+", "has a part", error.reason))
            continue
        for algorithm, whole in zip(found, PARSED, strict=False):
            told = {name: value for name in Algorithm.__slots__ if (value := getattr(algorithm, name)) is not None}
            assert told == {name: getattr(whole, name) for name in told}
    assert reasons == {"is cut off: its last line has no end", "has a part"}


@settings(max_examples=300)
@given(st.lists(st.sampled_from(TABLE.splitlines()), max_size=40).map(lambda lines: "".join(f"{x}\n" for x in lines)))
def test_lines_in_any_order_are_read_or_refused(text: str) -> None:
    try:
        table = parse(text)
    except SourceError as error:
        assert error.source == PROC_CRYPTO  # noqa: PT017 - same
    else:
        assert len(table.algorithms) <= text.count("name ")


@settings(max_examples=300)
@given(st.binary(max_size=200), st.integers(0, len(TABLE)))
def test_bytes_in_the_middle_are_read_or_refused(data: bytes, place: int) -> None:
    whole = TABLE.encode()
    host = RecordedHost(files={PROC_CRYPTO: whole[:place] + data + whole[place:]})
    try:
        table = read(host)
    except SourceError as error:
        assert error.source == PROC_CRYPTO  # noqa: PT017 - same
    else:
        assert table is not None


@pytest.mark.parametrize(
    ("entries", "kind", "driver"),
    [
        ([("low", 1, {}), ("high", 2, {})], "skcipher", "high"),
        ([("newer", 5, {}), ("older", 5, {})], "skcipher", "newer"),
        ([("hidden", 9, {"internal": "yes"}), ("open", 2, {})], "skcipher", "open"),
        ([("failed", 9, {"selftest": "unknown"}), ("passed", 2, {"selftest": "passed"})], "skcipher", "passed"),
        ([("failed", 9, {"selftest": "unknown"})], "skcipher", None),
        ([("simple", 9, {"kind": "lskcipher"}), ("full", 2, {})], "skcipher", "simple"),
        ([("other", 9, {"kind": "cipher"}), ("full", 2, {})], "skcipher", "full"),
        ([("other", 9, {"kind": "cipher"})], "skcipher", None),
        ([("negative", -3, {})], "skcipher", "negative"),
        ([("sync", 3, {"kind": "shash"}), ("async", 2, {"kind": "ahash"})], "ahash", "sync"),
    ],
)
def test_who_asks_for_an_algorithm_gets_the_best_usable_one(
    entries: list[tuple[str, int, dict[str, str]]], kind: str, driver: str | None
) -> None:
    text = "".join(entry("x", name, priority, **fields) for name, priority, fields in entries)
    found = parse(text + entry("y", "another name", 99)).selected("x", kind)
    assert (None if found is None else found.driver) == driver
