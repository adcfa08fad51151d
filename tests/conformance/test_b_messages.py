"""Section B: hello and messages (RFC 6241 sections 4 and 8.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.cases import Case, change, table
from tests.conformance.session import (
    BASE,
    END,
    N,
    Session,
    chunked,
    edit,
    get_config,
    hello,
    refusals,
    rpc,
    text_of,
    top,
)
from tests.system.client import NETCONF

if TYPE_CHECKING:
    from collections.abc import Callable

GET = get_config("")
BAD_HELLOS = {
    "C028 no common base": hello("urn:ietf:params:netconf:base:2.0", "urn:example:other"),
    "C028 no capability": hello("").replace(b"<capability></capability>", b""),
    "C029 a session-id": hello(more="<session-id>7</session-id>"),
    "C032 rpc before hello": rpc(GET) + END,
    "C032 wrong namespace": hello().replace(NETCONF.encode(), b"urn:no"),
    "C032 no namespace": hello().replace(f' xmlns="{NETCONF}"'.encode(), b""),
    "C032 truncated": hello()[:60] + END,
    "C032 not XML": b"hello" + END,
    "C032 nothing": END,
    "C032 an entity": b'<!DOCTYPE hello [<!ENTITY e "x">]>' + hello(),
}
IDS = {
    "quotes": ("&quot;a'b&quot;", '"a\'b"'),
    "ampersand": ("a&amp;&lt;b&gt;", "a&<b>"),
    "line feed": ("a&#10;b&#13;c&#9;d", "a\nb\rc\td"),
    "normalized white space": ("a\nb\tc", "a b c"),
    "long": ("x" * 4095, "x" * 4095),
    "empty": ("", ""),
    "not ASCII": ("ä€𝄞", "ä€𝄞"),
}
CASES = [
    Case("C038 unknown namespace", '<x xmlns="urn:no"/>',
         "protocol/unknown-namespace {bad-element=x,bad-namespace=urn:no}"),
    Case("C039 unknown operation", "<frobnicate/>", "protocol/operation-not-supported"),
    Case("C039 unknown operation of a module", '<x xmlns="urn:example:t"/>', "protocol/operation-not-supported"),
    Case("C039 a data node is no operation", top(""), "protocol/operation-not-supported"),
    Case("C040 no operation", "", "rpc/missing-element {bad-element=operation}"),
    Case("C040 text", "get", "rpc/missing-element {bad-element=operation}"),
    Case("C040 two operations", GET + "<discard-changes/>", "rpc/unknown-element {bad-element=discard-changes}"),
]  # fmt: skip


def test_c027_the_servers_hello(dial: Callable[..., Session]) -> None:
    sessions = [dial() for _ in range(5)]
    assert len({session.id for session in sessions}) == 5
    for session in sessions:
        assert 1 <= session.id <= 4294967295
        assert [etree.QName(child).localname for child in session.hello] == ["capabilities", "session-id"]
        capabilities = [one.text for one in session.hello.iter(f"{N}capability")]
        assert {f"{BASE}1.0", f"{BASE}1.1"} <= set(capabilities)
        assert len(set(capabilities)) == len(capabilities)


@pytest.mark.parametrize("name", BAD_HELLOS)
def test_a_bad_hello_ends_the_session(dial: Callable[..., Session], name: str) -> None:
    session = dial(base=None)
    session.send(BAD_HELLOS[name] + chunked(rpc(edit(top("<name>never</name>")))))
    assert session.ends() == b""
    assert dial().config() == ""


@pytest.mark.parametrize(
    "capability", [f"{BASE}1.1?x=y", f"\n\t {BASE}1.1  \n", f"<![CDATA[{BASE}1.1]]>"], ids=["query", "space", "CDATA"]
)
def test_c030_base_with_something_around_it(dial: Callable[..., Session], capability: str) -> None:
    session = dial(base=None)
    session.send(hello(capability) + chunked(rpc(GET)))
    assert b"<data/></rpc-reply>" in session.until(b"\n##\n")


def test_c031_unknown_capabilities(dial: Callable[..., Session]) -> None:
    session = dial(base=None)
    session.send(hello(f"{BASE}1.1", "urn:example:no?a=b&amp;c", "", "x" * 5000) + chunked(rpc(GET)))
    assert b"<data/></rpc-reply>" in session.until(b"\n##\n")


def test_c032_a_second_hello(session: Session) -> None:
    session.ok("<discard-changes/>")
    session.send(chunked(hello().removesuffix(END)))
    assert session.ends() == b""


def test_c033_no_message_id(session: Session) -> None:
    reply = session.message(rpc("<discard-changes/>").replace(b' message-id="1"', b' x="y"'))
    assert refusals(reply) == ["rpc/missing-attribute {bad-attribute=message-id,bad-element=rpc}"]
    assert dict(reply.attrib.items()) == {"x": "y"}


def test_c034_attributes_and_prefixes_are_echoed(session: Session) -> None:
    attributes = (
        f'xmlns:nc="{NETCONF}" xmlns:ex="http://example.net/?a&amp;b" ex:user-id="&quot;fred&quot; &lt;&amp;&gt; \'"'
        f' xml:lang="de" nc:n="1" plain="&#10;x&#9;"'
    )
    for base in (f'xmlns="{NETCONF}"', f'xmlns="{NETCONF}" xmlns:t="urn:other"'):
        for content in (get_config(""), change('<item nc:operation="delete"><id>a</id></item>'), "<no/>"):
            reply = session.message(f'<rpc {base} message-id="7" {attributes}>{content}</rpc>'.encode())
            assert dict(reply.attrib.items()) == {
                "message-id": "7",
                "{http://example.net/?a&b}user-id": '"fred" <&> \'',
                "{http://www.w3.org/XML/1998/namespace}lang": "de",
                f"{N}n": "1",
                "plain": "\nx\t",
            }
            assert reply.nsmap["ex"] == "http://example.net/?a&b"


@pytest.mark.parametrize("name", IDS)
def test_c035_the_message_id_comes_back(session: Session, name: str) -> None:
    written, read = IDS[name]
    assert session.message(rpc(GET, written)).get("message-id") == read
    assert session.message(rpc("<no/>", written)).get("message-id") == read


@pytest.mark.parametrize("content", ["<nc:discard-changes/>", "<nc:no/>", '<get-config xmlns=""/>'])
def test_c036_a_prefixed_envelope(session: Session, content: str) -> None:
    reply = session.message(f'<nc:rpc xmlns:nc="{NETCONF}" message-id="1">{content}</nc:rpc>'.encode())
    assert reply.tag == f"{N}rpc-reply"
    assert {etree.QName(one).namespace for one in reply.iter()} == {NETCONF}
    assert len(reply) == 1


@pytest.mark.parametrize(
    "root", ['rpc xmlns="urn:no"', "rpc", f'rpc-reply xmlns="{NETCONF}"', f'RPC xmlns="{NETCONF}"']
)
def test_c037_no_rpc(session: Session, root: str) -> None:
    name = root.split(maxsplit=1)[0]
    message = f'<{root} message-id="1">{edit(top("<name>never</name>"))}</{name}>'
    assert refusals(session.message(message.encode())) == ["rpc/malformed-message"]
    assert session.config() == ""


@table(CASES)
def test_operations(session: Session, case: Case) -> None:
    case.check(session)


def test_c041_pipelining(session: Session) -> None:
    contents = [edit(top("<name>a</name>")), get_config(), "<commit/>", "<no/>", get_config(source="running")] * 3
    session.send(b"".join(chunked(rpc(content, str(number))) for number, content in enumerate(contents)))
    replies = [session.reply() for _ in contents]
    assert [reply.get("message-id") for reply in replies] == [str(number) for number in range(15)]
    kinds = [etree.QName(reply[0]).localname for reply in replies]
    assert kinds == ["ok", "data", "ok", "rpc-error", "data"] * 3
    assert "a" in text_of(replies[4])


def test_c042_ok_alone(session: Session) -> None:
    for content in (
        "<discard-changes/>",
        change("<name>a</name>"),
        "<validate><source><candidate/></source></validate>",
    ):
        session.send(chunked(rpc(content)))
        assert session.reply_bytes().endswith(b' message-id="1"><ok/></rpc-reply>')


def test_c043_several_errors_in_one_reply(session: Session) -> None:
    reply = session.ask(change("<no1/><mtu>1</mtu><no2/><item><v>1</v></item>"))
    assert refusals(reply) == [
        "application/unknown-element {bad-element=no1} @/t:top",
        "application/unknown-element {bad-element=no2} @/t:top",
        "application/missing-element {bad-element=id} @/t:top/t:item",
    ]


def test_c044_the_prefixes_of_a_path_are_in_scope(session: Session) -> None:
    # The request has given module t's prefix to another namespace.
    content = edit('<q:top xmlns:q="urn:example:t"><q:mtu>1</q:mtu></q:top>')
    reply = session.message(f'<rpc xmlns="{NETCONF}" xmlns:t="urn:no" message-id="1">{content}</rpc>'.encode())
    error = reply[0]
    path = error.findtext(f"{N}error-path") or ""
    found = re.fullmatch(r"/(\w+):top/\1:mtu", path)
    assert found, path
    assert error.nsmap[found[1]] == "urn:example:t"


def test_c045_the_order_in_an_error(session: Session) -> None:
    twice = change("<item><id>a</id><v>1</v></item><item><id>b</id><v>1</v></item>")
    names = [etree.QName(child).localname for child in session.ask(twice)[0]]
    assert names == [f"error-{kind}" for kind in ("type", "tag", "severity", "app-tag", "path", "message", "info")]


def test_c047_an_unknown_attribute_of_the_protocol_is_ignored(session: Session) -> None:
    for content in (
        '<get-config a="b"><source c="d"><running e="f"/></source></get-config>',
        '<get a="b"><filter c="d"/></get>',
    ):
        assert session.data(content) == ""
    session.ok(
        '<lock a="b"><target c="d"><running/></target></lock>', '<unlock><target><running e="f"/></target></unlock>'
    )


def test_c048_a_message_over_the_limit(dial: Callable[..., Session]) -> None:
    for base, message in (("1.1", b"\n#%d\n" % 5_000_000), ("1.0", b"<!--" + b"x" * 5_000_000)):
        session, other = dial(base=base), dial()
        session.send(message)
        assert session.ends() == b""
        assert other.config() == ""
