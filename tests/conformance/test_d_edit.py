"""Section D: edit-config (RFC 6241 sections 7.2, 8.5, 8.6; RFC 7950 sections 7 and 8.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.cases import Case, change, table
from tests.conformance.session import N, Session, T, edit, get_config, text_of, top

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.system.gateway import Gateway

A, B = "<item><id>a</id><v>1</v><w>x</w></item>", "<item><id>b</id></item>"
U = "urn:example:u"
ITEM = "/t:top/t:item[t:id='a']"
MISSING, EXISTS = "application/data-missing @", "application/data-exists @"
TARGET = "<target><candidate/></target>"
EDIT = f"<edit-config>{TARGET}"
SET = "<test-option>set</test-option>"
UNSUPPORTED = "protocol/operation-not-supported"


def op(operation: str, element: str, content: str = "") -> str:
    """Return an element with an operation."""
    return f'<{element} nc:operation="{operation}">{content}</{element}>'


OPERATIONS = [
    Case("C084 leaf", change(op("create", "name", "b")), EXISTS + "/t:top/t:name", "<name>a</name>"),
    Case("C084 entry", change(op("create", "item", "<id>a</id>")), EXISTS + ITEM, A),
    Case("C084 presence container", change(op("create", "pres")), EXISTS + "/t:top/t:pres", "<pres/>"),
    Case("C084 leaf-list entry", change(op("create", "tag", "x")), EXISTS + "/t:top/t:tag[.='x']", "<tag>x</tag>"),
    Case("C084 in a new parent", change("<item><id>a</id>" + op("create", "v", "1") + "</item>"),
         after="<item><id>a</id><v>1</v></item>"),
    Case("C084 two keys", change(op("create", "pair", "<b>2</b><a>1</a>")), EXISTS + "/t:top/t:pair[t:a='1'][t:b='2']",
         "<pair><a>1</a><b>2</b></pair>"),
    Case("C085 leaf", change(op("delete", "name")), MISSING + "/t:top/t:name", "<mtu>1400</mtu>"),
    Case("C085 entry", change(op("delete", "item", "<id>z</id>")), MISSING + "/t:top/t:item[t:id='z']", A),
    Case("C085 below an absent parent", change(op("delete", "name")), MISSING + "/t:top/t:name"),
    Case("C085 leaf-list entry", change(op("delete", "tag", "y")), MISSING + "/t:top/t:tag[.='y']", "<tag>x</tag>"),
    Case("C085 container without presence", change(op("delete", "np")), MISSING + "/t:top/t:np", "<name>n</name>"),
    Case("C086 leaf", change(op("remove", "name")), before="<mtu>1400</mtu>", after="<mtu>1400</mtu>"),
    Case("C086 entry", change(op("remove", "item", "<id>z</id>")), before=A, after=A),
    Case("C086 below an absent parent", change("<np>" + op("remove", "d") + "</np>"), after=""),
    Case("C086 what is there", change(op("remove", "item", "<id>a</id>")), before=A + B, after=B),
    Case("C087 merge", change(op("merge", "name", "a") + "<np>" + op("merge", "d", "b") + "</np>"),
         after="<name>a</name><np><d>b</d></np>"),
    Case("C087 replace", change(op("replace", "item", "<id>a</id><v>1</v><w>x</w>")), after=A),
    Case("C088 entry", change(op("replace", "item", "<id>a</id><v>9</v>")), before=A + B,
         after="<item><id>a</id><v>9</v></item>" + B),
    Case("C088 container", change(op("replace", "np", "<deep><e>1</e></deep>")),
         before="<np><d>y</d></np><name>n</name>",
         after="<name>n</name><np><deep><e>1</e></deep></np>"),
    Case("C088 leaf", change(op("replace", "name", "b")), before="<name>a</name><mtu>1400</mtu>",
         after="<name>b</name><mtu>1400</mtu>"),
    Case("C089 all of it", change("<name>b</name>", "replace"), before=A + "<mtu>1400</mtu>", after="<name>b</name>"),
    Case("C089 by nothing", edit("", default="replace"), before=A, after=""),
    Case("C090 top", change("<name>a</name>", "none"), MISSING + "/t:top"),
    Case("C090 leaf", change("<name>a</name>", "none"), MISSING + "/t:top/t:name", "<mtu>1400</mtu>"),
    Case("C090 entry", change("<item><id>z</id></item>", "none"), MISSING + "/t:top/t:item[t:id='z']", A),
    Case("C090 above an operation", change("<item><id>z</id>" + op("merge", "v", "1") + "</item>", "none"),
         MISSING + "/t:top/t:item[t:id='z']", A),
    Case("C091 nested delete", change("<item><id>a</id>" + op("delete", "w") + "</item>", "none"), before=A + B,
         after="<item><id>a</id><v>1</v></item>" + B),
    Case("C091 no value is stored", change("<name>b</name>" + op("remove", "mtu"), "none"),
         before="<name>a</name><mtu>1400</mtu>", after="<name>a</name>"),
    Case("C092 unknown operation", change(op("destroy", "name", "a")),
         "protocol/bad-attribute {bad-attribute=operation,bad-element=name} @/t:top"),
    Case("C092 no operation", change(op("", "name", "a")),
         "protocol/bad-attribute {bad-attribute=operation,bad-element=name} @/t:top"),
    Case("C092 none is a default-operation only", change(op("none", "name", "a")),
         "protocol/bad-attribute {bad-attribute=operation,bad-element=name} @/t:top"),
    Case("C093 no prefix", change('<item operation="delete"><id>a</id></item>'),
         "application/unknown-attribute {bad-attribute=operation,bad-element=item} @/t:top", A),
    Case("C093 another namespace", change('<name xmlns:x="urn:x" x:operation="delete"/>'),
         "application/unknown-attribute {bad-attribute=operation,bad-element=name} @/t:top", "<name>a</name>"),
    Case("C094 create below create", change(op("create", "pres", op("create", "z", "1"))),
         after="<pres><z>1</z></pres>"),
    Case("C094 delete below replace", change(op("replace", "pres", op("delete", "z"))), MISSING + "/t:top/t:pres/t:z",
         "<pres><z>1</z></pres>"),
    Case("C094 delete below create", change("<name>b</name>" + op("create", "pres", op("delete", "z"))),
         MISSING + "/t:top/t:pres/t:z", "<name>a</name>"),
    Case("C094 remove below replace", change(op("replace", "pres", op("remove", "z"))), before="<pres><z>1</z></pres>",
         after="<pres/>"),
    Case("C094 create below delete", change(op("delete", "pres", op("create", "z", "1"))),
         before="<pres/><name>a</name>",
         after="<name>a</name>"),
    Case("C095 content is ignored", change(op("delete", "item", "<id>a</id><v>999</v><no/>")), before=A + B, after=B),
    Case("C095 a leaf's value is ignored", change(op("delete", "mtu", "no number")),
         before="<mtu>1400</mtu><name>a</name>",
         after="<name>a</name>"),
    Case("C095 keys are honoured", change(op("delete", "item", "<v>1</v>")),
         "application/missing-element {bad-element=id} @/t:top/t:item", A),
]  # fmt: skip
PARAMETERS = [
    Case("C097 no target", f"<edit-config><config>{top('')}</config></edit-config>",
         "protocol/missing-element {bad-element=target}"),
    Case("C097 no datastore", f"<edit-config><target/><config>{top('')}</config></edit-config>",
         "protocol/missing-element {bad-element=running or candidate}"),
    Case("C098 no config", f"{EDIT}</edit-config>", "protocol/missing-element {bad-element=config}"),
    Case("C099 running", edit(top("<name>a</name>"), target="running"), UNSUPPORTED),
    Case("C100 unknown error-option", change("", options="<error-option>ignore</error-option>"),
         "protocol/invalid-value"),
    Case("C102 unknown test-option", change("", options="<test-option>maybe</test-option>"), "protocol/invalid-value"),
    Case("C102 test-only", change("<name>a</name>", options="<test-option>test-only</test-option>"), after=""),
    Case("C102 test-only of what can't be", change("<ref>z</ref>", options="<test-option>test-only</test-option>"),
         "application/data-missing/instance-required @/t:top/t:ref"),
    Case("C102 test-then-set of what can't be",
         change("<ref>z</ref>", options="<test-option>test-then-set</test-option>"),
         "application/data-missing/instance-required @/t:top/t:ref"),
    Case("C102 the default is test-then-set", change("<ref>z</ref>"),
         "application/data-missing/instance-required @/t:top/t:ref"),
    Case("C102 set", change("<ref>z</ref>", options=SET), after="<ref>z</ref>"),
    Case("C117 url", f"{EDIT}<url>file:///etc/hostname</url></edit-config>", UNSUPPORTED),
    Case("C117 url of a server", f"{EDIT}<url>http://127.0.0.1:9/x</url></edit-config>", UNSUPPORTED),
    Case("C117 copy-config from url",
         f"<copy-config>{TARGET}<source><url>file:///etc/hostname</url></source></copy-config>",
         UNSUPPORTED),
    Case("C117 copy-config to url",
         "<copy-config><target><url>file:///tmp/x</url></target><source><running/></source></copy-config>",
         UNSUPPORTED),
]  # fmt: skip
SCHEMA = [
    Case("C103 element", change("<no/>"), "application/unknown-element {bad-element=no} @/t:top"),
    Case("C103 on the top level", edit(f'<no xmlns="{T}"/>'), "application/unknown-element {bad-element=no}"),
    Case("C103 in a leaf", change("<name><b/></name>"), "application/unknown-element {bad-element=b} @/t:top/t:name"),
    Case("C103 a choice is no element", change("<mode><a1>x</a1></mode>"),
         "application/unknown-element {bad-element=mode} @/t:top"),
    Case("C103 an rpc is no data", edit(f'<ping xmlns="{T}"/>'), "application/unknown-element {bad-element=ping}"),
    Case("C104 on the top level", edit('<top xmlns="urn:no"/>'),
         "application/unknown-namespace {bad-element=top,bad-namespace=urn:no}"),
    Case("C104 inside", change('<name xmlns="urn:no"/>'),
         "application/unknown-namespace {bad-element=name,bad-namespace=urn:no} @/t:top"),
    Case("C105 type", change("<mtu>many</mtu>"), "application/invalid-value @/t:top/t:mtu"),
    Case("C105 range", change("<mtu>67</mtu>"), "application/invalid-value @/t:top/t:mtu"),
    Case("C105 length", change("<name/>"), "application/invalid-value @/t:top/t:name"),
    Case("C106 key", change("<item><v>1</v></item>"), "application/missing-element {bad-element=id} @/t:top/t:item"),
    Case("C106 second key", change("<pair><a>1</a></pair>"),
         "application/missing-element {bad-element=b} @/t:top/t:pair"),
    Case("C107 two cases", change("<a1>x</a1><b1>y</b1>"), "application/bad-element {bad-element=b1} @/t:top/t:b1"),
    Case("C107 two cases of an inner choice", change("<i1>x</i1><i2>y</i2>"),
         "application/bad-element {bad-element=i2} @/t:top/t:i2"),
    Case("C108 under a false if-feature", change('<unfeatured xmlns="urn:example:v">x</unfeatured>'),
         "application/unknown-element {bad-element=unfeatured} @/t:top"),
    Case("C109 another case", change("<bc><b2>x</b2></bc>"), before="<a1>x</a1><a2>y</a2><name>n</name>",
         after="<name>n</name><bc><b2>x</b2></bc>"),
    Case("C109 another node of the same", change("<a2>y</a2>"), before="<a1>x</a1>", after="<a1>x</a1><a2>y</a2>"),
    Case("C109 an outer case", change("<o2x>y</o2x>"), before="<i1>x</i1><o1x>z</o1x>", after="<o2x>y</o2x>"),
    Case("C111 state", change("<state><up>true</up></state>"), "application/invalid-value @/t:top/t:state"),
    Case("C112 two values of a key", change("<item><id>a</id><id>b</id></item>"),
         "application/bad-element {bad-element=id} @/t:top/t:item"),
    Case("C113 create on an empty one", change(op("create", "np", "<d>y</d>")), before="<name>n</name>",
         after="<name>n</name><np><d>y</d></np>"),
    Case("C113 its last child goes", change("<np>" + op("delete", "d") + "</np>"),
         before="<np><d>y</d></np><name>n</name>",
         after="<name>n</name>"),
    Case("C113 create on one with content", change(op("create", "np", "<d>z</d>")), EXISTS + "/t:top/t:np",
         "<np><d>y</d></np>"),
    Case("C114 is data", change("<pres/>"), after="<pres/>"),
    Case("C114 stays without content", change("<pres>" + op("delete", "z") + "</pres>"), before="<pres><z>1</z></pres>",
         after="<pres/>"),
    Case("C114 delete", change(op("delete", "pres")), before="<pres/><name>n</name>", after="<name>n</name>"),
    Case("C114 delete of an absent one", change(op("delete", "pres")), MISSING + "/t:top/t:pres", "<name>n</name>"),
    Case("C116 undeclared prefix", change("<kind>zz:k1</kind>"), "application/invalid-value @/t:top/t:kind"),
    Case("C116 not derived", change("<kind>k</kind>"), "application/invalid-value @/t:top/t:kind"),
    Case("C116 of another base", change(f'<kind xmlns:u="{U}">u:near</kind>'),
         "application/invalid-value @/t:top/t:kind"),
    Case("C116 no prefix", change("<kind>k1</kind>"), after="<kind>t:k1</kind>"),
    Case("C116 no prefix, default namespace of another",
         edit(f'<t:top xmlns:t="{T}" xmlns="{U}"><t:kind>k2</t:kind></t:top>'),
         after="<kind>u:k2</kind>"),
    Case("C116 no prefix and no such identity there",
         edit(f'<t:top xmlns:t="{T}" xmlns="{U}"><t:kind>k1</t:kind></t:top>'),
         "application/invalid-value @/t:top/t:kind"),
    Case("C116 any prefix", change(f'<kind xmlns:x="{U}">x:k2</kind>'), after="<kind>u:k2</kind>"),
]  # fmt: skip
# Leafs of u's types: what is written, and what is read; None where it is refused.
VALUES = [
    ("C115 empty", "nothing", "", ""),
    ("C115 empty with text", "nothing", "x", None),
    ("C115 blanks around a number", "i8", " \n12\t", "12"),
    ("C115 plus", "i8", "+12", "12"),
    ("C115 minus zero", "i8", "-0", "0"),
    ("C115 hexadecimal", "i8", "0x10", None),
    ("C115 leading zeros are not octal", "i8", "010", "10"),
    ("C115 a fraction", "i8", "1.0", None),
    ("C115 out of range", "i8", "128", None),
    ("C115 no number", "i8", "", None),
    ("C115 the largest", "u64", "18446744073709551615", "18446744073709551615"),
    ("C115 one more", "u64", "18446744073709551616", None),
    ("C115 decimal64 digits", "money", "1.230", "1.23"),
    ("C115 decimal64 plus and zeros", "money", "+001.5", "1.5"),
    ("C115 decimal64 no fraction", "money", "7", "7.0"),
    ("C115 decimal64 too many digits", "money", "1.234", None),
    ("C115 boolean 1", "truth", "1", None),
    ("C115 boolean TRUE", "truth", "TRUE", None),
    ("C115 boolean", "truth", "true", "true"),
    ("C115 enumeration", "colour", "light blue", "light blue"),
    ("C115 enumeration with blanks", "colour", " red ", None),
    ("C115 bits in any order", "flags", "m  a z", "z a m"),
    ("C115 bits twice", "flags", "a a", None),
    ("C115 binary", "raw", "aGFsbG8=", "aGFsbG8="),
    ("C115 binary without end", "raw", "aGF", None),
]


@table(OPERATIONS)
def test_operations(session: Session, case: Case) -> None:
    case.check(session)


@table(PARAMETERS)
def test_parameters(session: Session, case: Case) -> None:
    case.check(session)


@table(SCHEMA)
def test_schema(session: Session, case: Case) -> None:
    case.check(session)


@pytest.mark.parametrize(
    ("leaf", "written", "read"), [value[1:] for value in VALUES], ids=[value[0] for value in VALUES]
)
def test_values(session: Session, leaf: str, written: str, read: str | None) -> None:
    outcome = session.outcome(edit(f'<types xmlns="{U}"><{leaf}>{written}</{leaf}></types>'))
    if read is None:
        assert outcome == f"application/invalid-value @/u:types/u:{leaf}"
        assert session.config() == ""
    else:
        assert outcome == "ok"
        (found,) = session.ask(get_config(f'<types xmlns="{U}"/>'))[0][0]
        assert (found.text or "") == read


def test_c096_the_same_node_twice(session: Session) -> None:
    session.fill("<name>n</name>")
    for request, after in (
        (change("<mtu>1400</mtu><mtu>1401</mtu>"), "<name>n</name><mtu>1401</mtu>"),
        (change("<item><id>a</id><v>1</v></item><item><id>a</id><w>x</w></item>"), f"<name>n</name>{A}"),
        (change(op("create", "mtu", "1400") * 2), None),
    ):
        for _ in range(3):
            outcome = session.outcome(request)
            assert outcome == ("ok" if after else EXISTS + "/t:top/t:mtu")
            assert session.config() == f"<top>{after or '<name>n</name>'}</top>"
            session.ok("<discard-changes/>")


@pytest.mark.parametrize("option", ["", "stop-on-error", "continue-on-error", "rollback-on-error"])
def test_c100_an_edit_that_fails_leaves_the_target_as_it_was(session: Session, option: str) -> None:
    options = option and f"<error-option>{option}</error-option>"
    session.fill(A)
    session.ok(change("<name>candidate's</name>"))
    before = etree.tostring(session.ask(get_config())[0])
    for content in ("<mtu>1400</mtu>" + op("delete", "pres"), "<mtu>1400</mtu><no/>", "<mtu>1400</mtu><ref>z</ref>"):
        assert session.outcome(change(content, options=options)) != "ok"
        assert etree.tostring(session.ask(get_config())[0]) == before


def test_c101_rollback_on_error_is_advertised(session: Session) -> None:
    capabilities = [one.text for one in session.hello.iter(f"{N}capability")]
    assert "urn:ietf:params:netconf:capability:rollback-on-error:1.0" in capabilities
    session.ok(change("<name>a</name>", options="<error-option>rollback-on-error</error-option>"))


def test_c102_validate_1_1_is_advertised(session: Session) -> None:
    assert "urn:ietf:params:netconf:capability:validate:1.1" in [
        one.text for one in session.hello.iter(f"{N}capability")
    ]


@pytest.mark.parametrize(
    ("leaf", "value", "app_tag", "message"),
    [
        ("limited", "11", "out-of-range", "from 1 to 10, or 20"),
        ("short", "abcd", "out-of-length", "one to three characters"),
        ("hex", "xyz", "not-hex", "100% hexadecimal"),
    ],
)
def test_c105_app_tag_and_message_are_the_modules(
    session: Session, leaf: str, value: str, app_tag: str, message: str
) -> None:
    reply = session.ask(edit(f'<types xmlns="{U}"><{leaf}>{value}</{leaf}></types>'))
    assert reply[0].findtext(f"{N}error-tag") == "invalid-value"
    assert reply[0].findtext(f"{N}error-app-tag") == app_tag
    assert reply[0].findtext(f"{N}error-message") == message
    assert reply[0].findtext(f"{N}error-path") == f"/u:types/u:{leaf}"


def test_c108_under_a_false_condition(session: Session) -> None:
    conditional = edit(f'<types xmlns="{U}"><conditional>x</conditional></types>')
    assert session.outcome(conditional) == (
        "application/unknown-element {bad-element=conditional} @/u:types/u:conditional"
    )
    session.ok(edit(f'<types xmlns="{U}"><truth>true</truth></types>'), conditional)
    assert session.config().count("conditional") == 2


def test_c110_a_condition_becomes_false(session: Session) -> None:
    session.ok(edit(f'<types xmlns="{U}"><truth>true</truth><conditional>x</conditional></types>'))
    session.ok(edit(f'<types xmlns="{U}"><truth>false</truth></types>'))
    assert session.config() == "<types><truth>false</truth></types>"


def test_c112_an_entry_never_changes_its_key(session: Session) -> None:
    session.fill(A)
    session.ok(change("<item><id>b</id><v>2</v></item>"))
    assert session.config() == f"<top>{A}<item><id>b</id><v>2</v></item></top>"
    assert session.outcome(change('<item><id nc:operation="delete">a</id></item>')) == (
        "protocol/bad-attribute {bad-attribute=operation,bad-element=id} @/t:top/t:item[t:id='a']"
    )


def test_c117_no_file_is_read(session: Session, served: Gateway) -> None:
    secret = served.folder / "password"
    for url in (f"file://{secret}", str(secret)):
        reply = session.ask(f"{EDIT}<url>{url}</url></edit-config>")
        assert secret.read_text().strip() not in text_of(reply)


def test_c099_writable_running(dial: Callable[..., Session]) -> None:
    session = dial()
    assert not any("writable-running" in (one.text or "") for one in session.hello.iter(f"{N}capability"))
