"""Typedefs with a canonical form of their own (RFC 6991): two spellings are one value, as libyang sees it too."""

import re
import time
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent.defaults import MODES, with_defaults
from agent.errors import NetconfError
from agent.model.load import Model, load
from agent.tree import Node
from tests.agent.conftest import modules_in

MODULES = {"inet": "ietf-inet-types", "yang": "ietf-yang-types"}
HEX = "0123456789abcdefABCDEF"
groups = st.text(HEX, min_size=1, max_size=4) | st.sampled_from(["0", "0000", "FFFF", "64", "ff9b"])
quads = st.ip_addresses(v=4).map(str)
ipv6 = (
    st.ip_addresses(v=6).map(str)
    | st.lists(groups, min_size=8, max_size=8).map(":".join)
    | st.tuples(st.lists(groups, max_size=4), st.lists(groups, max_size=3)).map(
        lambda pair: f"{':'.join(pair[0])}::{':'.join(pair[1])}"
    )
    | st.builds("::{}{}".format, st.sampled_from(["", "ffff:", "FFFF:0:", "1:", "64:FF9B::"]), quads)
)
zones = st.sampled_from(["", "%eth0", "%Eth0", "%1"])
clocks = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}".format,
    st.integers(0, 9999),
    st.integers(1, 12),
    st.integers(1, 31),
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 60),
    st.sampled_from(["", ".0", ".10", ".123456789012"]),
    st.sampled_from(["Z", "+00:00", "-00:00", "+02:00", "-03:30", "+14:00"]),
)


def octets(size: int) -> st.SearchStrategy[str]:
    return st.lists(st.text(HEX, min_size=2, max_size=2), min_size=size, max_size=size).map(":".join)


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).flatmap(lambda number: st.sampled_from([str(number), f"+{number}", f"00{number}"]))


SPELLINGS: dict[str, st.SearchStrategy[str]] = {
    "inet.ip-version": st.sampled_from(["unknown", "ipv4", "ipv6"]),
    "inet.dscp": numbers(0, 63),
    "inet.ipv6-flow-label": numbers(0, 1048575),
    "inet.port-number": numbers(0, 65535),
    "inet.as-number": numbers(0, 2**32 - 1),
    "inet.ip-address": st.builds("{}{}".format, quads | ipv6, zones),
    "inet.ipv4-address": st.builds("{}{}".format, quads, zones),
    "inet.ipv6-address": st.builds("{}{}".format, ipv6, zones),
    "inet.ip-address-no-zone": quads | ipv6,
    "inet.ipv4-address-no-zone": quads,
    "inet.ipv6-address-no-zone": ipv6,
    "inet.ip-prefix": st.builds("{}/{}".format, quads | ipv6, st.integers(0, 128)),
    "inet.ipv4-prefix": st.builds("{}/{}".format, quads, st.integers(0, 32)),
    "inet.ipv6-prefix": st.builds("{}/{}".format, ipv6, st.integers(0, 128)),
    "inet.domain-name": st.sampled_from(["EXAMPLE.Com", "a.b", "."]),
    "inet.host": st.sampled_from(["EXAMPLE.Com", "FE80::1", "1.2.3.4"]),
    "inet.uri": st.sampled_from(["HTTP://A/%7e", "urn:X"]),
    "yang.counter32": numbers(0, 2**32 - 1),
    "yang.zero-based-counter32": numbers(0, 2**32 - 1),
    "yang.counter64": numbers(0, 2**64 - 1),
    "yang.zero-based-counter64": numbers(0, 2**64 - 1),
    "yang.gauge32": numbers(0, 2**32 - 1),
    "yang.gauge64": numbers(0, 2**64 - 1),
    "yang.object-identifier": st.sampled_from(["1.3.6", "2.999.1"]),
    "yang.object-identifier-128": st.sampled_from(["1.3.6", "2.999.1"]),
    "yang.yang-identifier": st.sampled_from(["Abc", "_a-B"]),
    "yang.date-and-time": clocks,
    "yang.timeticks": numbers(0, 2**32 - 1),
    "yang.timestamp": numbers(0, 2**32 - 1),
    "yang.phys-address": st.integers(0, 4).flatmap(octets),
    "yang.mac-address": octets(6),
    "yang.hex-string": st.integers(0, 4).flatmap(octets),
    "yang.uuid": st.uuids().map(str) | st.uuids().map(lambda one: str(one).upper()),
    "yang.dotted-quad": quads,
}
CASES = [
    ("inet.ipv6-address", "2001:DB8::0001", "2001:db8::1"),
    ("inet.ipv6-address", "FE80::1%Eth0", "fe80::1%Eth0"),
    ("inet.ip-address", "1:0:0:2:0:0:0:3", "1:0:0:2::3"),
    ("inet.ip-prefix", "10.1.2.3/8", "10.0.0.0/8"),
    ("inet.ip-prefix", "2001:DB8:1:2::3/33", "2001:db8::/33"),
    ("inet.host", "ABCD::", "abcd::"),
    ("inet.host", "ABCD.Example", "ABCD.Example"),
    ("yang.mac-address", "AA:bb:CC:00:00:00", "aa:bb:cc:00:00:00"),
    ("yang.date-and-time", "2020-01-01T00:00:00.10-00:00", "2020-01-01T00:00:00.10Z"),
    ("derived", "AA:bb:CC:00:00:00", "aa:bb:cc:00:00:00"),
    ("pointer", "AA:bb:CC:00:00:00", "aa:bb:cc:00:00:00"),
    ("either", "AA:bb:CC:00:00:00", "aa:bb:cc:00:00:00"),
    ("either", "AA:bb", "AA:bb"),
]


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Return a model with a leaf of each type."""
    leafs = " ".join(f"leaf {name} {{ type {name.replace('.', ':')}; }}" for name in SPELLINGS)
    text = (
        "import ietf-inet-types { prefix inet; } import ietf-yang-types { prefix yang; }"
        "import ietf-netconf-acm { prefix nacm; } identity base; identity one { base base; }"
        "typedef mac { type yang:mac-address; } leaf derived { type mac; }"
        "leaf pointer { type leafref { path '/y:derived'; require-instance false; } }"
        "leaf either { type union { type mac; type string; } }"
        "leaf small { type union { type uint8 { range '1..10'; } type string; } }"
        "leaf text { type union { type string { length '3..5'; pattern '[a-z]*'; } type int32; type string; } }"
        "leaf price { type union { type decimal64 { fraction-digits 2; range '0..5'; } type string; } }"
        "leaf octal { type uint8; default 020; } leaf hexadecimal { type union { type int8; } default -0x10; }"
        "leaf raw { type union { type binary { length 2; } type string; } }"
        "leaf nested { type union { type union { type uint8 { range '7'; } type int8 { range '-7'; } } type string; } }"
        "leaf first { type union { type string { pattern '/y.*'; }"
        "  type instance-identifier { require-instance false; } } }"
        "leaf second { type union { type identityref { base base; } type string; } }"
        "leaf expression { type yang:xpath1.0; } leaf path { type nacm:node-instance-identifier; }"
        "container c { list l { key k; leaf k { type string; } leaf v { type string; } } anydata any; anyxml xml;"
        "  leaf d { type string; default d; } }"
    )
    return load(modules_in(tmp_path_factory.mktemp("modules"), y=text + leafs))


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that sets the machine's time zone for the test."""

    def change(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield change
    monkeypatch.undo()
    time.tzset()


def put(types: Model, content: str, spaces: str = 'xmlns:q="urn:y"') -> Node:
    """Return the tree that an edit makes."""
    config = etree.fromstring(f"<config {spaces}>{content}</config>")
    return edit.apply(Node(types.root), edit.parse(types, config, "merge"))


def leaf(name: str, text: str) -> str:
    return f'<{name} xmlns="urn:y">{escape(text)}</{name}>'


def value(types: Model, name: str, text: str) -> str | None:
    """Return a leaf's value as it is stored."""
    found = put(types, leaf(name, text)).find(f"y:{name}")
    assert found is not None
    return found.value


def theirs(types: Model, name: str, text: str) -> str | None:
    """Return libyang's canonical form; None where it refuses the value."""
    try:
        return str(types.validator.validate(leaf(name, text).encode())[f"y:{name}"])
    except NetconfError:
        return None


def test_every_type_of_the_two_modules_is_compared(types: Model) -> None:
    named = {
        f"{prefix}.{name}"
        for prefix, module in MODULES.items()
        for name in re.findall(r"^  typedef ([\w.-]+)", types.modules[module].text, re.MULTILINE)
    }
    assert named - {"yang.xpath1.0"} <= SPELLINGS.keys()


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_a_value_is_stored_in_canonical_form(types: Model, name: str, text: str, expected: str) -> None:
    assert value(types, name, text) == expected == theirs(types, name, text)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(SPELLINGS)).flatmap(lambda name: st.tuples(st.just(name), SPELLINGS[name])))
@example(("yang.date-and-time", "0000-01-01T00:00:00+14:00"))
@example(("yang.date-and-time", "9999-12-31T23:59:60-03:30"))
@example(("inet.ipv6-address", "::1:2"))
def test_libyang_has_the_same_canonical_form(types: Model, spelling: tuple[str, str]) -> None:
    name, text = spelling
    expected = theirs(types, name, text)
    if expected is None or theirs(types, name, expected) is None:  # in another time zone it's before the year 0
        with pytest.raises(NetconfError):
            value(types, name, text)
    else:
        assert value(types, name, text) == expected


@pytest.mark.parametrize("name", ["UTC", "NST3:30NDT,M3.2.0,M11.1.0", "XST-5:45"])
@pytest.mark.parametrize(
    "text",
    ["2020-01-01T00:00:00+00:00", "2020-07-01T12:00:00.5-02:00", "2020-07-01T12:00:00Z", "1960-07-01T12:00:00+01:00"],
)
def test_a_known_time_zone_becomes_the_machines(types: Model, zone: Any, name: str, text: str) -> None:
    zone(name)
    assert value(types, "yang.date-and-time", text) == theirs(types, "yang.date-and-time", text)


def test_only_a_module_has_octal_and_hexadecimal_numbers(types: Model) -> None:
    """RFC 7950 9.2.1."""
    defaults = [types.node(f"/y:{name}").defaults for name in ("octal", "hexadecimal")]
    assert defaults == [("16",), ("-16",)]
    completed = types.validator.validate(b'<c xmlns="urn:y"/>')
    assert [completed[f"y:{name}"] for name in ("octal", "hexadecimal")] == [16, -16]
    assert value(types, "octal", "020") == "20"
    with pytest.raises(NetconfError, match="not an integer"):
        value(types, "octal", "0x10")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("small", "+7", "7"),
        ("small", "020", "020"),
        ("small", "+20", "+20"),
        ("small", "0x1", "0x1"),
        ("small", "010", "10"),
        ("text", "abc", "abc"),
        ("text", "+007", "7"),
        ("text", "ab", "ab"),
        ("text", "ABC", "ABC"),
        ("price", "+1.50", "1.5"),
        ("price", "7.50", "7.50"),
        ("raw", "AAA=", "AAA="),
        ("raw", "AA==\n", "AA==\n"),
        ("nested", "+7", "7"),
        ("nested", "-07", "-7"),
        ("nested", "07 ", "7"),
        ("nested", "+8", "+8"),
    ],
)
def test_a_value_of_a_union_is_of_the_first_member_that_allows_it(
    types: Model, name: str, text: str, expected: str
) -> None:
    """RFC 7950 9.12."""
    assert value(types, name, text) == expected == theirs(types, name, text)


def test_only_a_member_that_has_prefixes_changes_them(types: Model) -> None:
    """A string that looks like a path or the name of an identity goes out as it came in."""
    for name, text in [("first", "/y:c"), ("second", "no:such"), ("second", "/y:c")]:
        assert put(types, leaf(name, text)).xml() == leaf(name, text).encode()
    assert value(types, "first", "/q:c") == "/y:c"
    assert value(types, "second", "q:one") == "y:one"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("expression", "/q:c/q:l[q:k='q:x'] | c", "/y:c/y:l[y:k='q:x'] | c"),
        ("expression", " //q:*[not(q:v)]/child::q:l ", "//y:*[not(y:v)]/child::y:l"),
        ("expression", "q:c and q:and", "y:c and y:and"),
        ("path", "/", "/"),
        ("path", "/q:c/q:l", "/y:c/l"),
        ("path", '/q:c/q:l[q:k="x"]/q:v', "/y:c/l[k='x']/v"),
        ("path", "/q:c/q:l[q:k=$USER]", "/y:c/l[k=$USER]"),
    ],
)
def test_an_expression_does_not_depend_on_the_clients_prefixes(
    types: Model, name: str, text: str, expected: str
) -> None:
    tree = put(types, leaf(name, text))
    stored = tree.find(f"y:{name}")
    assert stored is not None
    assert stored.value == expected
    types.validator.validate(tree.xml())
    assert put(types, tree.xml().decode()).xml() == tree.xml()
    if name == "path":
        assert types.validator.validate(tree.xml())["y:path"] == expected


@pytest.mark.parametrize("name", ["expression", "path"])
def test_an_expression_with_a_prefix_of_no_module_is_refused(types: Model, name: str) -> None:
    for text in ("/no:c", "/q:c/no:l"):
        with pytest.raises(NetconfError, match="which is not declared or of no module"):
            put(types, leaf(name, text))


def test_an_expression_that_is_none_is_refused(types: Model) -> None:
    for size in range(1, 30):
        with pytest.raises(NetconfError):
            put(types, leaf("expression", f"/q:{'n' * size}€€€€€€€["))


CONTENT = [
    '<foo xmlns="urn:foo">t</foo>',
    '<foo xmlns="urn:foo">a"b\\</foo>',
    '<foo xmlns="urn:foo"/>',
    '<foo xmlns="urn:foo"><b/></foo>',
    '<a xmlns="urn:foo" b="1"/><a xmlns="urn:foo"/>',
    '<c xmlns="urn:y"><l><k>1</k></l></c>',
    "",
]


@pytest.mark.parametrize("content", [*CONTENT, 't"x', 'a<b xmlns="urn:q"/>c'])
def test_what_anyxml_holds_is_valid_and_stays_as_it_is(types: Model, content: str) -> None:
    tree = put(types, f'<c xmlns="urn:y"><xml>{content}</xml></c>', "")
    assert types.validator.validate(tree.xml())["y:c"]["d"] == "d"
    assert f"<xml>{content}</xml>" in tree.xml().decode() or not content


@pytest.mark.parametrize("content", CONTENT)
def test_what_anydata_holds_is_valid_and_stays_as_it_is(types: Model, content: str) -> None:
    tree = put(types, f'<c xmlns="urn:y"><any>{content}</any><l><k>any</k></l></c>', "")
    assert types.validator.validate(tree.xml())["y:c"]["l"] == [{"k": "any"}]
    assert f"<any>{content}</any>" in tree.xml().decode() or not content


@pytest.mark.parametrize("mode", MODES)
def test_what_anydata_and_anyxml_hold_is_there_in_every_mode(types: Model, mode: str) -> None:
    tree = put(types, '<c xmlns="urn:y"><any><a xmlns="urn:a"/></any><xml>text</xml></c>', "")
    shown = with_defaults(tree, mode, types.validator.validate(tree.xml())).xml().decode()
    assert '<any><a xmlns="urn:a"/></any><xml>text</xml>' in shown
