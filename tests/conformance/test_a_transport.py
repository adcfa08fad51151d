"""Section A: transport and framing (RFC 6242, RFC 6241 sections 2 and 3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import paramiko
import pytest
from lxml import etree

from agent.settings import Listen
from tests.conformance.memory import memory
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
from tests.conformance.ssh import login
from tests.system.client import NETCONF, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.system.gateway import Gateway

GET = rpc(get_config(""))
MALFORMED = ["rpc/malformed-message"]
ENTITY = b'<!DOCTYPE rpc [<!ENTITY e "x">]>' + rpc("<get-config><source>&e;<running/></source></get-config>")
FILE = b'<!DOCTYPE rpc [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + rpc(edit(top("<name>&e;</name>")))
LAUGHS = b"".join(b'<!ENTITY l%d "%b">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
BOMB = b'<!DOCTYPE rpc [<!ENTITY l0 "ha">' + LAUGHS + b"]>" + rpc(edit(top("<name>&l9;</name>")))
DROPPED = {
    "C008 size 0": b"\n#0\n",
    "C009 leading zero": b"\n#0123\n" + b" " * 123 + b"\n##\n",
    "C010 one more than the largest": b"\n#4294967296\n",
    "C010 eleven digits": b"\n#10000000000\n",
    "C011 the largest, and few bytes": b"\n#4294967295\n<rpc",
    "C012 no line feed before": b"#4\nabcd\n##\n",
    "C012 not a number": b"\n#4x\nabcd\n##\n",
    "C012 a sign": b"\n#+4\nabcd\n##\n",
    "C012 CR LF": b"\r\n#4\r\nabcd\r\n##\r\n",
    "C012 CR after the size": b"\n#4\r\nabcd\n##\n",
    "C012 no chunk": b"\n##\n",
    "C013 more data than announced": b"\n#%d\n%b\n##\n" % (len(GET) - 10, GET),
}
MALFORMED_MESSAGES = {
    "C017 cut off": GET[:-3],
    "C017 wrong end tag": GET.replace(b"</source>", b"</target>"),
    "C017 no XML": b"no XML",
    "C017 two roots": GET * 2,
    "C017 undeclared prefix": rpc("<x:get/>"),
    "C017 NUL": rpc("<get>\0</get>"),
    "C018 not UTF-8": GET.replace(b"</source>", b"</source><!-- \xc3\x28 -->"),
    "C018 overlong": GET.replace(b"</source>", b"</source><!-- \xc0\xbc -->"),
    "C018 surrogate": GET.replace(b"</source>", b"</source><!-- \xed\xa0\x80 -->"),
    "C019 DOCTYPE": b"<!DOCTYPE rpc>" + GET,
    "C019 internal entity": ENTITY,
    "C019 external entity": FILE,
    "C019 billion laughs": BOMB,
    "C021 ISO-8859-1": b'<?xml version="1.0" encoding="ISO-8859-1"?>' + GET,
    "C021 UTF-16": GET.decode().encode("utf-16"),
}


@pytest.fixture
def ssh(served: Gateway) -> Iterator[paramiko.Transport]:
    """Return a connection over SSH that is logged in."""
    transport = login(served)
    yield transport
    transport.close()


def test_c001_the_subsystem_netconf_and_nothing_else(ssh: paramiko.Transport) -> None:
    assert {address.port for address in Listen().ssh} == {830}
    channel = ssh.open_session()
    channel.invoke_subsystem("netconf")
    session = Session(None, channel=channel)
    assert session.config() == ""
    for refused in (
        lambda other: other.invoke_subsystem("sftp"),
        lambda other: other.exec_command("netconf"),
        lambda other: other.invoke_shell(),
    ):
        with pytest.raises(paramiko.SSHException):
            refused(ssh.open_session())  # type: ignore[no-untyped-call]  # the library has no types
    assert session.config() == ""


def test_c002_hello_is_never_chunked(dial: Callable[..., Session]) -> None:
    session = dial(base=None)
    capabilities = [one.text for one in session.hello.iter(f"{N}capability")]
    assert f"{BASE}1.1" in capabilities
    assert session.received == b""


def test_c003_hello_comes_before_the_clients(dial: Callable[..., Session]) -> None:
    assert dial(base=None).hello.tag == f"{N}hello"


def test_c004_both_have_base_1_1(dial: Callable[..., Session]) -> None:
    session = dial(base=None)
    session.send(hello(f"{BASE}1.0", f"{BASE}1.1") + chunked(GET))
    assert re.fullmatch(rb"\n#[1-9][0-9]*\n<\?xml .*</rpc-reply>", session.until(b"\n##\n"), re.DOTALL)


def test_c005_base_1_0_alone(dial: Callable[..., Session]) -> None:
    session = dial(base="1.0")
    for _ in range(3):
        session.send(GET + END)
        assert re.fullmatch(rb"<\?xml [^\n]*\n<rpc-reply .*</rpc-reply>", session.until(END), re.DOTALL)
    assert session.received == b""


@pytest.mark.parametrize("where", ["unix", "ssh"])
def test_c006_hello_and_a_chunked_rpc_in_one_packet(
    dial: Callable[..., Session], ssh: paramiko.Transport, where: str
) -> None:
    if where == "unix":
        session = dial(base=None)
    else:
        channel = ssh.open_session()
        channel.invoke_subsystem("netconf")
        session = Session(None, base=None, channel=channel)
    session.send(hello() + chunked(GET))
    assert b"<data/></rpc-reply>" in session.until(b"\n##\n")


def test_c007_chunks_of_one_byte(session: Session) -> None:
    session.send(chunked(*(GET[n : n + 1] for n in range(len(GET)))))
    assert session.reply()[0].tag == f"{N}data"


@pytest.mark.parametrize("name", DROPPED)
def test_a_broken_frame_ends_the_session(served: Gateway, session: Session, name: str) -> None:
    before = memory(served.pid)
    session.send(DROPPED[name])
    assert session.ends() == b""
    assert memory(served.pid) - before < 8 * 1024 * 1024


def test_c014_delimiters_inside_a_chunk(session: Session) -> None:
    text = "a\n##\nb\n#5\n]]]]]]><![CDATA[>"
    reply = session.message(rpc(edit(top(f"<name><![CDATA[{text}]]></name>")), "]]>]]>"))
    assert reply[0].tag == f"{N}ok"
    assert reply.get("message-id") == "]]>]]>"
    assert session.ask(get_config(top("")))[0][0][0].text == "a\n##\nb\n#5\n]]]]>"


def test_c015_the_delimiter_in_a_reply_of_base_1_0(dial: Callable[..., Session]) -> None:
    session = dial(base="1.0")
    session.ok(edit(top("<name>]]&gt;]]&gt;</name>")))
    assert session.ask(get_config(top("")))[0][0][0].text == "]]>]]>"
    assert session.message(rpc(get_config(""), "]]&gt;]]&gt;")).get("message-id") == "]]>]]>"
    assert session.received == b""


def test_c016_characters_split_by_the_client_and_never_by_the_server(session: Session) -> None:
    text = "ä€𝄞" * 20
    message = rpc(edit(top(f"<name>{text}</name>{''.join(f'<tag>{n}{text}</tag>' for n in range(2000))}")))
    session.send(chunked(*(message[n : n + 1] for n in range(1000)), message[1000:]))
    assert session.reply()[0].tag == f"{N}ok"
    assert session.config(top("<name/>")) == f"<top><name>{text}</name></top>"
    assert session.config().count(text) == 2001


@pytest.mark.parametrize("name", MALFORMED_MESSAGES)
def test_a_message_that_can_not_be_read_is_answered(session: Session, name: str) -> None:
    reply = session.message(MALFORMED_MESSAGES[name])
    assert refusals(reply) == MALFORMED
    assert reply.get("message-id") is None
    assert session.config() == ""


@pytest.mark.parametrize("name", MALFORMED_MESSAGES)
def test_a_message_that_can_not_be_read_ends_a_session_of_base_1_0(dial: Callable[..., Session], name: str) -> None:
    session = dial(base="1.0")
    session.send(MALFORMED_MESSAGES[name] + END)
    assert session.ends() == b""


@pytest.mark.parametrize(
    "message",
    [
        GET,
        b'<?xml version="1.0" encoding="UTF-8"?>' + GET,
        b"<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n" + GET,
        b'\n \t\r\n<?xml version="1.0"?>' + GET,
        b"\n\n" + GET + b"\n\n",
        b"<!-- a --><?b c?>" + GET.replace(b"<source>", b"<!-- - --><source><?d e?>") + b"<!-- f --><?g?>",
    ],
    ids=["none", "declaration", "standalone", "white space before", "line feeds", "comments and PIs"],
)
def test_c020_what_may_stand_around_a_message(session: Session, dial: Callable[..., Session], message: bytes) -> None:
    for one in (session, dial(base="1.0")):
        assert etree.tostring(one.message(message)[0]) == f'<data xmlns="{NETCONF}"/>'.encode()


def test_c020_cdata_is_text(session: Session) -> None:
    session.ok(edit(top("<name><![CDATA[<a>]]> &amp; <!-- no --><![CDATA[b]]></name>")))
    assert session.ask(get_config(top("")))[0][0][0].text == "<a> & b"


def test_c026_a_channel_closed_without_close_session(served: Gateway, session: Session) -> None:
    transport = login(served)
    channel = transport.open_session()
    channel.invoke_subsystem("netconf")
    other = Session(None, channel=channel)
    lock = "<lock><target><candidate/></target></lock>"
    other.ok(lock)
    dropped = _dropped(session)
    assert session.outcome(lock) == f"protocol/lock-denied {{session-id={other.id}}}"
    channel.close()
    until(lambda: session.outcome(lock) == "ok", "the lock is free")
    assert _dropped(session) == dropped + 1
    transport.close()


def _dropped(session: Session) -> int:
    monitoring = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"
    content = f'<netconf-state xmlns="{monitoring}"><statistics><dropped-sessions/></statistics></netconf-state>'
    return int(text_of(session.ask(f"<get><filter>{content}</filter></get>")))
