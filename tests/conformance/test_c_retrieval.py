"""Section C: retrieval, filters, defaults (RFC 6241 sections 6, 7.1, 7.7, 8.9; RFC 6243)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.cases import Case, Query, change, table
from tests.conformance.session import N, Session, T, chunked, edit, get_config, rpc, top
from tests.system.client import MONITORING, NETCONF

if TYPE_CHECKING:
    from collections.abc import Callable

ITEMS = "<item><id>a</id><v>1</v><w>x</w></item><item><id>b</id><v>2</v><w>x</w></item><item><id>c</id></item>"
A = "<item><id>a</id><v>1</v><w>x</w></item>"
B = "<item><id>b</id><v>2</v><w>x</w></item>"
MIXED = f"<name>n</name><mtu>1400</mtu>{ITEMS}<kind>k1</kind>"
READ = MIXED.replace("k1", "t:k1")
WITH_DEFAULTS = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults"
SOURCE = "<source><candidate/></source>"
UNSUPPORTED = "protocol/operation-not-supported"


def whole(content: str) -> str:
    return f"<top>{content}</top>"


def xpath(select: str, spaces: str = f'xmlns:t="{T}"') -> str:
    """Return a get-config with an XPath filter."""
    return f'<get-config>{SOURCE}<filter {spaces} type="xpath" select="{select}"/></get-config>'


def shown(mode: str, wanted: str = "") -> str:
    """Return a get-config of top with a with-defaults mode."""
    return get_config(wanted or top(""), more=f'<with-defaults xmlns="{WITH_DEFAULTS}">{mode}</with-defaults>')


REFUSED = [
    Case("C049 no source", "<get-config/>", "protocol/missing-element {bad-element=source}"),
    Case("C050 startup", "<get-config><source><startup/></source></get-config>", UNSUPPORTED),
    Case("C050 a datastore that nobody has", "<get-config><source><x/></source></get-config>",
         "protocol/unknown-element {bad-element=x}"),
    Case("C054 regex", f'<get-config>{SOURCE}<filter type="regex"/></get-config>',
         "protocol/bad-attribute {bad-attribute=type,bad-element=filter}"),
    Case("C056 no select", f'<get-config>{SOURCE}<filter type="xpath"/></get-config>',
         "protocol/missing-attribute {bad-attribute=select,bad-element=filter}"),
    Case("C056 content", f'<get-config>{SOURCE}<filter type="xpath" select="/x"><x/></filter></get-config>',
         "protocol/bad-element {bad-element=filter}"),
    Case("C057 a number", xpath("1+1"), "protocol/invalid-value"),
    Case("C057 a string", xpath("string(/t:top)"), "protocol/invalid-value"),
    Case("C057 a boolean", xpath("/t:top = 'a'"), "protocol/invalid-value"),
    Case("C058 undeclared prefix", xpath("/x:top"),
         "protocol/bad-attribute {bad-attribute=select,bad-element=filter}"),
    Case("C058 syntax", xpath("/t:top["), "protocol/invalid-value"),
    Case("C058 unknown function", xpath("/t:top[no()]"), "protocol/invalid-value"),
    Case("C058 empty", xpath(""), "protocol/invalid-value"),
    Case("C081 unknown mode", shown("some"), "protocol/invalid-value"),
    Case("C081 no mode", shown(""), "protocol/invalid-value"),
]  # fmt: skip
QUERIES = [
    Query("C060 no namespace", '<top xmlns=""><name/></top>', whole("<name>n</name>"), MIXED),
    Query("C061 a namespace that is not there", '<top xmlns="urn:no"/>', "", MIXED),
    Query("C061 a child in it", f'<top xmlns="{T}"><name xmlns="urn:no"/></top>', "", MIXED),
    Query("C061 beside one that is", f'<x xmlns="urn:no"/>{top("<name/>")}', whole("<name>n</name>"), MIXED),
    Query("C062 another prefix", f'<q:top xmlns:q="{T}"><q:name/></q:top>', whole("<name>n</name>"), MIXED),
    Query("C063 an attribute that nothing has", top("", 'a="b"'), "", MIXED),
    Query("C063 on a leaf", top('<name a="b"/><mtu/>'), whole("<mtu>1400</mtu>"), MIXED),
    Query("C063 in a namespace", top("", 'x:a="b" xmlns:x="urn:x"'), "", MIXED),
    Query("C064 a selection node", top("<name/>"), whole("<name>n</name>"), MIXED),
    Query("C064 white space in it", top("\n<name> \n\t</name>\n"), whole("<name>n</name>"), MIXED),
    Query("C064 a container", top(" "), whole(READ), MIXED),
    Query("C065 key", top("<item><id>a</id></item>"), whole(A), MIXED),
    Query("C065 no such key", top("<item><id>z</id></item>"), "", MIXED),
    Query("C066 match and selection", top("<item><v>1</v><w/></item>"),
          whole("<item><id>a</id><v>1</v><w>x</w></item>"), MIXED),
    Query("C066 key and selection", top("<item><id>a</id><w/></item>"), whole("<item><id>a</id><w>x</w></item>"),
         MIXED),
    Query("C067 both hold", top("<item><v>1</v><w>x</w></item>"), whole(A), MIXED),
    Query("C067 one holds", top("<item><v>1</v><w>y</w></item>"), "", MIXED),
    Query("C068 false among siblings", top("<name>no</name><mtu/>"), "", MIXED),
    Query("C068 false in one of two", top("<item><id>a</id><v>9</v><w/></item><item><id>b</id><v/></item>"),
          whole("<item><id>b</id><v>2</v></item>"), MIXED),
    Query("C069 white space around", top("<name>\n a  b\t</name>"), whole("<name>a  b</name>"), "<name>a  b</name>"),
    Query("C069 white space inside", top("<name>a b</name>"), "", "<name>a  b</name>"),
    Query("C070 two entries", top("<item><id>a</id></item><item><id>b</id></item>"), whole(A + B), MIXED),
    Query("C070 the same entry twice", top("<item><id>a</id></item><item><v>1</v></item>"), whole(A), MIXED),
    Query("C070 two roots of one name", top("<name/>") + top("<mtu/>"), whole("<name>n</name><mtu>1400</mtu>"), MIXED),
    Query("C071 a number that is not canonical", top("<mtu> +1400 </mtu><name/>"),
          whole("<name>n</name><mtu>1400</mtu>"), MIXED),
    Query("C071 identityref under another prefix", top(f'<kind xmlns:q="{T}">q:k1</kind><name/>'),
          whole("<name>n</name><kind>t:k1</kind>"), MIXED),
    Query("C071 identityref of another namespace", top('<kind xmlns:q="urn:example:u">q:k1</kind>'), "", MIXED),
    Query("C071 leaf-list", top("<tag>b</tag>"), whole("<tag>a</tag><tag>b</tag>"), "<tag>a</tag><tag>b</tag>"),
    Query("C072 nothing below", top("<item><need/></item>"), "", MIXED),
    Query("C072 only in some", top("<item><v/></item>"),
         whole("<item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>"),
          MIXED),
    Query("C072 a container without it", top("<np><d/></np><pres><z/></pres>"), "", "<pres/><name>n</name>"),
]  # fmt: skip
XPATHS = {
    "C059 a leaf of each entry": (
        "/t:top/t:item/t:v",
        "<item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>",
    ),
    "C059 an entry and a leaf of it": ("/t:top/t:item[t:id='a'] | /t:top/t:item[t:id='a']/t:w", A),
    "C059 anywhere": ("//t:w[. = 'x']", "<item><id>a</id><w>x</w></item><item><id>b</id><w>x</w></item>"),
    "C059 by value": ("/t:top/t:item[t:v > 1]/t:v", "<item><id>b</id><v>2</v></item>"),
    "C059 up again": ("/t:top/t:item/t:v[. = 2]/..", B),
    "C059 by place": ("/t:top/t:item[2]/t:id", "<item><id>b</id></item>"),
    "C059 nothing": ("/t:top/t:item[t:v = 9]", ""),
}
# A leaf that is set to its default, one set to another value, none that is not set.
SET = "<mtu>1500</mtu><np><d>y</d></np>"
MODES = {
    "explicit": "<mtu>1500</mtu><np><d>y</d></np>",
    "trim": "<np><d>y</d></np>",
    "report-all": "<mtu>1500</mtu><np><d>y</d><deep><e>0</e></deep></np>",
    # What is set is no default data where the basic mode is explicit (RFC 6243 2.3).
    "report-all-tagged": '<mtu>1500</mtu><np><d>y</d><deep><e default="true">0</e></deep></np>',
}


@table(REFUSED)
def test_refused(session: Session, case: Case) -> None:
    case.check(session)


@table(QUERIES)
def test_subtree_filters(session: Session, case: Query) -> None:
    case.check(session)


@pytest.mark.parametrize("name", XPATHS)
def test_xpath_filters(session: Session, name: str) -> None:
    select, content = XPATHS[name]
    session.fill(MIXED)
    assert session.data(xpath(select)) == (whole(content) if content else "")


def test_c051_no_filter(session: Session) -> None:
    session.fill(MIXED)
    for source in ("candidate", "running"):
        assert session.config(source=source) == whole(READ)


def test_c052_an_empty_filter(session: Session) -> None:
    session.fill(MIXED)
    for element in ("<filter/>", '<filter type="subtree"/>', '<filter type="subtree"> \n</filter>'):
        for operation in (f"<get-config>{SOURCE}{element}</get-config>", f"<get>{element}</get>"):
            assert etree.tostring(session.ask(operation)[0]) == f'<data xmlns="{NETCONF}"/>'.encode()


def test_c053_a_filter_without_type(session: Session) -> None:
    session.fill(MIXED)
    assert session.data(f"<get-config>{SOURCE}<filter>{top('<name/>')}</filter></get-config>") == whole(
        "<name>n</name>"
    )


def test_c055_xpath_is_advertised_and_served(session: Session) -> None:
    capabilities = [one.text for one in session.hello.iter(f"{N}capability")]
    assert "urn:ietf:params:netconf:capability:xpath:1.0" in capabilities
    assert session.data(xpath("/t:top")) == ""


def test_c059_two_prefixes_for_one_namespace(session: Session) -> None:
    session.fill(MIXED)
    select = xpath("/a:top/b:name | /b:top/a:name", f'xmlns:a="{T}" xmlns:b="{T}"')
    assert session.data(select) == whole("<name>n</name>")


def test_c060_no_namespace_is_every_namespace(session: Session) -> None:
    session.fill('<name>n</name><name xmlns="urn:example:u">u</name><name xmlns="urn:example:v">v</name>')
    data = session.ask(get_config('<top xmlns=""><name/></top>'))[0][0]
    assert [(etree.QName(leaf).namespace, leaf.text) for leaf in data] == [
        (T, "n"),
        ("urn:example:u", "u"),
        ("urn:example:v", "v"),
    ]


def test_c070_two_modules_in_one_filter(session: Session) -> None:
    session.fill("<name>n</name>")
    session.ok(edit('<types xmlns="urn:example:u"><i8>1</i8></types>'))
    both = session.config(f'<types xmlns="urn:example:u"/>{top("")}')
    assert sorted(both.split("><")) == sorted(["<top", "name>n</name", "/top", "types", "i8>1</i8", "/types>"])


def test_c073_get_has_configuration_and_state(session: Session) -> None:
    session.fill("<name>n</name>")
    session.ok(change("<name>candidate's</name>"))
    state = f'<netconf-state xmlns="{MONITORING}"><sessions><session><session-id>{session.id}</session-id>'
    state += "<transport/></session></sessions></netconf-state>"
    found = session.ask(f"<get><filter>{top('')}{state}</filter></get>")[0]
    assert sorted(etree.QName(child).localname for child in found) == ["netconf-state", "top"]
    assert found.findtext(f"{{{T}}}top/{{{T}}}name") == "n"
    assert [one.text for one in found.iter(f"{{{MONITORING}}}session-id")] == [str(session.id)]


@pytest.mark.parametrize(
    ("content", "leaf"),
    [
        (f'<top xmlns="{T}"><kind xmlns:q="urn:example:u">q:k2</kind></top>', "kind"),
        (f'<types xmlns="urn:example:u"><where xmlns:q="{T}">/q:top/q:item[q:id=\'a\']/q:v</where></types>', "where"),
        ('<types xmlns="urn:example:u"><either xmlns:q="urn:example:u">q:far</either></types>', "either"),
    ],
)
def test_c074_prefixes_in_values_are_declared(session: Session, content: str, leaf: str) -> None:
    session.ok(edit(content))
    (found,) = [one for one in session.ask(get_config())[0].iter() if etree.QName(one).localname == leaf]
    prefixes = {part.rpartition("/")[2].rpartition("[")[2] for part in (found.text or "").split(":")[:-1]}
    assert prefixes
    sent = etree.fromstring(content)[0].nsmap["q"]
    assert {found.nsmap[prefix] for prefix in prefixes} == {sent}


def test_c075_the_capability(session: Session) -> None:
    (uri,) = [str(one.text) for one in session.hello.iter(f"{N}capability") if ":with-defaults:" in str(one.text)]
    assert uri == (
        "urn:ietf:params:netconf:capability:with-defaults:1.0"
        "?basic-mode=explicit&also-supported=report-all,report-all-tagged,trim"
    )


def test_c076_a_plain_request_gives_the_basic_mode(session: Session) -> None:
    session.fill(SET)
    assert session.config(top("")) == whole(SET) == session.data(shown("explicit"))


@pytest.mark.parametrize(
    ("row", "mode"), [("C077", "report-all"), ("C078", "trim"), ("C079", "explicit"), ("C080", "report-all-tagged")]
)
def test_modes(session: Session, row: str, mode: str) -> None:
    assert row
    session.fill(SET)
    assert session.data(shown(mode)) == whole(MODES[mode])
    asked = f'<get><filter>{top("")}</filter><with-defaults xmlns="{WITH_DEFAULTS}">{mode}</with-defaults></get>'
    assert session.data(asked) == whole(MODES[mode])


def test_c077_no_parent_is_there(session: Session) -> None:
    assert session.data(shown("report-all")) == whole("<mtu>1500</mtu><np><d>x</d><deep><e>0</e></deep></np>")
    session.fill("<pres/>")
    assert "<pres/>" in session.data(shown("report-all"))


def test_c078_state_that_has_its_default_is_left_out_too(session: Session) -> None:
    wanted = f'<netconf-state xmlns="{MONITORING}"><sessions><session><session-id>{session.id}</session-id>%s</session>'
    wanted = f"<filter>{wanted}</sessions></netconf-state></filter>"
    trim = f'<with-defaults xmlns="{WITH_DEFAULTS}">trim</with-defaults>'
    for leafs, explicit, trimmed in (
        ("<in-bad-rpcs/>", ["session-id", "in-bad-rpcs"], ["session-id"]),
        ("<in-rpcs/>", ["session-id", "in-rpcs"], ["session-id", "in-rpcs"]),
    ):
        for more, names in (("", explicit), (trim, trimmed)):
            reply = session.ask(f"<get>{wanted % leafs}{more}</get>")
            (found,) = reply.iter(f"{{{MONITORING}}}session")
            assert [etree.QName(leaf).localname for leaf in found] == names
    by_path = f'<filter type="xpath" xmlns:m="{MONITORING}" select="//m:session/m:in-bad-rpcs[. = 0]"/>'
    assert list(session.ask(f"<get>{by_path}</get>")[0].iter(f"{{{MONITORING}}}in-bad-rpcs"))
    assert len(session.ask(f"<get>{by_path}{trim}</get>")[0]) == 0


def test_c080_the_tag_is_in_its_namespace(session: Session) -> None:
    tagged = session.ask(shown("report-all-tagged", top("<mtu/>")))[0][0][0]
    assert dict(tagged.attrib.items()) == {"{urn:ietf:params:xml:ns:netconf:default:1.0}default": "true"}


TAG = 'xmlns:wd="urn:ietf:params:xml:ns:netconf:default:1.0" wd:default="true"'
EDITS = [
    Case("C082 the default", change(f"<mtu {TAG}>1500</mtu>"), before="<mtu>1400</mtu><name>n</name>",
         after="<name>n</name>"),
    Case("C082 no default", change(f"<mtu {TAG}>1400</mtu>".replace("true", "false")), after="<mtu>1400</mtu>"),
    Case("C083 create where the default is", change('<mtu nc:operation="create">1500</mtu>'), after="<mtu>1500</mtu>"),
    Case("C083 delete where the default is", change('<mtu nc:operation="delete"/>'),
         "application/data-missing @/t:top/t:mtu", before="<name>n</name>"),
    Case("C083 create where the default is set", change('<mtu nc:operation="create">1500</mtu>'),
         "application/data-exists @/t:top/t:mtu", before="<mtu>1500</mtu>"),
]  # fmt: skip


@table(EDITS)
def test_defaults_in_edits(session: Session, case: Case) -> None:
    case.check(session)


def test_an_expression_without_end_is_cut_off(dial: Callable[..., Session]) -> None:
    session, other = dial(), dial()
    session.ok(change("".join(f"<item><id>{n}</id></item>" for n in range(3000))))
    ask = xpath("//*[//*[//*[. = ../t:no]]]")
    session.send(chunked(rpc(ask)))
    assert other.config(source="running") == ""
    assert session.reply()[0].tag == f"{N}rpc-error"
    assert session.config(top("<item><id>7</id></item>")) == whole("<item><id>7</id></item>")
