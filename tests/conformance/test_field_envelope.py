"""Field cases: envelope, hello, framing, and errors that were answered wrongly or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.cases import Case, change, table
from tests.conformance.session import BASE, END, N, Session, chunked, edit, get_config, hello, refusals, rpc, top
from tests.system.client import MONITORING, NETCONF, until

if TYPE_CHECKING:
    from collections.abc import Callable

GET = rpc(get_config(""))
NEVER = edit(top("<name>never</name>"))
TARGET = "<target><candidate/></target>"
LOW = "low must be 5% under high"

CASES = [
    Case("F21 unknown namespace", edit('<top xmlns="urn:no"><x/></top>'),
         "application/unknown-namespace {bad-element=top,bad-namespace=urn:no}"),
    Case("F23 no target", f"<edit-config><config>{top('')}</config></edit-config>",
         "protocol/missing-element {bad-element=target}"),
    Case("F25 delete-config of candidate", f"<delete-config>{TARGET}</delete-config>",
         "protocol/operation-not-supported"),
    Case("F25 of running", "<delete-config><target><running/></target></delete-config>",
         "protocol/operation-not-supported"),
    Case("F33 white space in containers", edit('<top xmlns="urn:example:t">\n  <np>\n  </np>\n</top>'), after=""),
    Case("F33 and comments", edit('<top xmlns="urn:example:t">\n <!-- a -->\t<pres>\r\n<?b c?></pres>\n</top>'),
         after="<pres/>"),
    Case("F33 but no text", change("<np> x </np>"), "application/bad-element {bad-element=np} @/t:top/t:np"),
]  # fmt: skip


@table(CASES)
def test_field(session: Session, case: Case) -> None:
    case.check(session)


@pytest.mark.parametrize("prefix", ["q", "nc", "rpc-error"])
def test_f01_every_element_of_a_reply_is_in_the_base_namespace(session: Session, prefix: str) -> None:
    operation = "<q:lock><q:target><q:bogus/></q:target></q:lock>".replace("q:", f"{prefix}:")
    reply = session.message(
        f'<{prefix}:rpc xmlns:{prefix}="{NETCONF}" message-id="1">{operation}</{prefix}:rpc>'.encode()
    )
    assert refusals(reply) == ["protocol/unknown-element {bad-element=bogus}"]
    assert {etree.QName(one).namespace for one in reply.iter()} == {NETCONF}
    assert reply.get("message-id") == "1"


def test_f03_nothing_stands_between_chunked_messages(session: Session) -> None:
    session.send(chunked(GET) * 3 + chunked(rpc("<close-session/>")))
    received = session.ends()
    count = 0
    while received:
        header = re.match(rb"\n#([1-9][0-9]*)\n", received)
        assert header, received[:40]
        received = received[header.end() + int(header[1]) :]
        if received.startswith(b"\n##\n"):
            received = received[4:]
            count += 1
    assert count == 4


@pytest.mark.parametrize("framed", [rpc(NEVER) + END, chunked(rpc(NEVER))])
def test_f05_an_rpc_before_any_hello(dial: Callable[..., Session], framed: bytes) -> None:
    session = dial(base=None)
    session.send(framed)
    assert session.ends() == b""
    assert dial().config() == ""


def test_f07_a_reply_has_the_message_id(session: Session) -> None:
    ids = {"urn:uuid:0e9f1d3c-41a4-4b8e-9c8e-1c1f7c1d5f11": None, "a&amp;b": "a&b", " 7 ": None}
    session.send(b"".join(chunked(rpc(get_config(""), one)) for one in ids))
    assert [session.reply().get("message-id") for _ in ids] == [read or written for written, read in ids.items()]
    for written, read in ids.items():
        assert session.message(rpc(change("<no/>"), written)).get("message-id") == (read or written)


def test_f09_a_chunked_hello(dial: Callable[..., Session]) -> None:
    session = dial(base=None)
    session.send(chunked(hello().removesuffix(END)))
    assert session.ends() == b""
    other = dial()
    until(lambda: str(session.id) not in _sessions(other), "the session is gone")
    assert str(other.id) in _sessions(other)


def test_f11_more_bytes_than_announced(dial: Callable[..., Session]) -> None:
    session, other = dial(), dial()
    session.send(b"\n#40\n" + b" " * 50 + b"\n##\n")
    assert session.ends() == b""
    assert other.config() == ""


def test_f13_a_namespace_for_a_capability(dial: Callable[..., Session]) -> None:
    session = dial(base=None)
    session.send(hello(NETCONF) + rpc(NEVER) + END)
    assert session.ends() == b""
    assert dial().config() == ""


def test_f15_no_delimiter_between_hello_and_rpc(dial: Callable[..., Session]) -> None:
    for base in ("1.0", "1.1"):
        session = dial(base=None)
        session.send(hello(f"{BASE}{base}").removesuffix(END) + rpc(NEVER) + END)
        assert session.ends() == b""
    assert dial().config() == ""


@pytest.mark.parametrize("size", [None, 1, 100])
def test_f17_hello_and_the_first_chunked_rpc_in_one_packet(dial: Callable[..., Session], size: int | None) -> None:
    session = dial(base=None)
    sent = hello() + chunked(GET)
    for start in range(0, len(sent), size or len(sent)):
        session.send(sent[start : start + (size or len(sent))])
    assert b"<data/></rpc-reply>" in session.until(b"\n##\n")


def test_f19_an_error_and_then_a_good_reply(session: Session) -> None:
    session.send(chunked(GET[:-8]) + chunked(rpc(get_config(""), "2")))
    assert refusals(session.reply()) == ["rpc/malformed-message"]
    reply = session.reply()
    assert (reply.get("message-id"), reply[0].tag) == ("2", f"{N}data")
    session.send(chunked(rpc("<close-session/>")))
    assert session.ends().count(b"<rpc-reply") == 1


def test_f27_a_percent_sign_in_an_error_message(session: Session) -> None:
    reply = session.ask(change("<low>58</low><high>60</high>"))
    assert refusals(reply) == ["application/operation-failed/must-violation @/t:top/t:low"]
    assert reply[0].findtext(f"{N}error-message") == LOW
    session.ok(change("<low>55</low><high>60</high>"))


def test_f29_unique_and_what_comes_after(session: Session) -> None:
    items = "<item><id>a</id><v>1</v></item><item><id>b</id><v>1</v></item>"
    where = "/t:top/t:item[t:id='{}']/t:v"
    info = ",".join(f"non-unique={where.format(name)}" for name in "ab")
    said = f"application/operation-failed/data-not-unique {{{info}}}"
    session.ok(change(items, options="<test-option>set</test-option>"))
    for _ in range(3):
        assert session.outcome("<commit/>").startswith(said)
    reply = session.ask("<commit/>")
    (first, *_) = reply.iter("{urn:ietf:params:xml:ns:yang:1}non-unique")
    assert first.nsmap["t"] == "urn:example:t"
    session.ok(change("<item><id>b</id><v>2</v></item>"), "<commit/>")


def test_f31_untouched_siblings_are_not_missed(session: Session) -> None:
    session.fill("<rule><id>r1</id><act>x</act></rule><rule><id>r2</id><act>x</act></rule>")
    session.ok(change('<rule nc:operation="delete"><id>r1</id></rule>'), "<commit/>")
    assert session.config(source="running") == "<top><rule><id>r2</id><act>x</act></rule></top>"


def _sessions(session: Session) -> list[str]:
    content = (
        f'<netconf-state xmlns="{MONITORING}"><sessions><session><session-id/></session></sessions></netconf-state>'
    )
    found = session.ask(f"<get><filter>{content}</filter></get>")
    return [one.text or "" for one in found.iter(f"{{{MONITORING}}}session-id")]
