"""The forms of bytes that clients rely on, or that they send: rows I01 to I08 of the interoperability gates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.clients.gateway import login, serve
from tests.clients.wire import END, Wire, chunk, hello, rpc
from tests.system.client import HA, NETCONF, qat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.system.gateway import Gateway

pytestmark = pytest.mark.needs("ssh")

CANDIDATE = "<target><candidate/></target>"
RUNNING = "<source><running/></source>"
INTERVAL = qat("<health><interval/></health>")
FOUND = INTERVAL.replace("<interval/>", "<interval>17</interval>")
GET = f'<get-config>{RUNNING}<filter type="subtree">{INTERVAL}</filter></get-config>'
WRONG = f"<edit-config>{CANDIDATE}<config>{qat('<health><interval>soon</interval></health>')}</config></edit-config>"
OK = f'<?xml version="1.0" encoding="UTF-8"?>\n<rpc-reply xmlns="{NETCONF}" message-id="{{}}"><ok/></rpc-reply>'
SCRAPLI = '\n<?xml version="1.0" encoding="utf-8"?>\n'


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = serve(tmp_path_factory.mktemp("wire"))
    yield gateway
    gateway.close()


@pytest.fixture
def connect(gateway: Gateway, tmp_path: Path) -> Iterator[Callable[[], Wire]]:
    """Return the function that opens a session."""
    known = login(gateway, tmp_path)
    opened: list[Wire] = []

    def connect() -> Wire:
        opened.append(Wire(known))
        return opened[-1]

    yield connect
    for wire in opened:
        wire.close()


@pytest.fixture
def wire(connect: Callable[[], Wire]) -> Wire:
    return connect()


def test_i01_the_hello_is_found_letter_by_letter(wire: Wire) -> None:
    text = wire.greeting.decode()
    assert text.startswith(f'<?xml version="1.0" encoding="UTF-8"?>\n<hello xmlns="{NETCONF}"><capabilities>')
    assert text.endswith("</session-id></hello>")
    assert re.findall(r"<session-id>([1-9][0-9]*)</session-id>", text)
    for uri in ("base:1.0", "base:1.1", "capability:candidate:1.0", "capability:validate:1.1"):
        assert f"<capability>urn:ietf:params:netconf:{uri}</capability>" in text
    # A parameter's & is escaped once, and no element or attribute has a prefix.
    assert "?module=ietf-netconf-monitoring&amp;revision=2010-10-04</capability>" in text
    assert re.findall(r"</?\w+:|xmlns:", text) == []


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_i01_replies_are_found_letter_by_letter(wire: Wire, version: str) -> None:
    chunked = version == "1.1"
    wire.send(hello(version))
    assert wire.ask("<discard-changes/>", "7", chunked=chunked).decode() == OK.format(7)
    data = wire.ask(GET, "8", chunked=chunked).decode()
    assert data == OK.format(8).replace("<ok/>", f"<data>{FOUND}</data>")
    error = wire.ask(WRONG, "9", chunked=chunked).decode()
    assert f'<rpc-reply xmlns="{NETCONF}" message-id="9" xmlns:ha="{HA}"><rpc-error><error-type>' in error
    assert "<error-tag>invalid-value</error-tag><error-severity>error</error-severity>" in error
    assert error.endswith("</rpc-error></rpc-reply>")


def test_i01_replies_to_a_prefixed_request_have_no_prefix(wire: Wire) -> None:
    wire.send(hello("1.0"))
    lock = "<nc:lock><nc:target><nc:{}/></nc:target></nc:lock>"
    request = f'<nc:rpc xmlns:nc="{NETCONF}" message-id="1">{lock}</nc:rpc>'
    wire.send(request.format("nonsense").encode() + END)
    error = wire.until(END).decode()
    assert f'<rpc-reply xmlns="{NETCONF}" xmlns:nc="{NETCONF}" message-id="1"><rpc-error><error-type>' in error
    wire.send(request.format("candidate").encode() + END)
    assert wire.until(END).decode().endswith('message-id="1"><ok/></rpc-reply>')


def test_i03_a_reply_and_its_id_are_on_one_line_and_nothing_is_before_the_delimiter(wire: Wire) -> None:
    known = re.compile(rb'(<rpc-reply.*message-id="101"[\s\S]*</rpc-reply>)\n?\]\]>\]\]>\s*')
    wire.send(hello("1.0").replace(b"<capabilities>", b"<capabilities><capability>urn:x:no:such</capability>"))
    for content in ("<discard-changes/>", GET, WRONG, "<get/>"):
        assert known.search(wire.ask(content) + END)


def test_i04_a_line_feed_after_the_delimiter_and_the_same_id_every_time(wire: Wire) -> None:
    wire.send(hello("1.0") + b"\n")
    for _ in range(3):
        wire.send(b'<?xml version="1.0" encoding="UTF-8"?>' + rpc(GET) + END + b"\n")
        assert f"<data>{FOUND}</data>".encode() in wire.until(END)


def test_i05_hello_and_the_first_request_in_one_packet_and_line_feeds_around_messages(wire: Wire) -> None:
    """What a message begins with is sent at the end of the one before."""
    first, second = (chunk(rpc(content, "102"))[1:] for content in (GET, "<discard-changes/>"))
    wire.send(hello("1.1", before=SCRAPLI) + b"\n" + first[:-1], b"\n")
    assert FOUND.encode() in wire.chunks()
    for _ in range(2):
        wire.send(b"\n", second)
        assert wire.chunks().decode() == OK.format(102)


def test_i05_a_message_in_many_chunks_and_many_packets(wire: Wire) -> None:
    wire.send(hello("1.1", before=SCRAPLI))
    message = rpc(GET, "Größe")
    pieces = [b"\n#1\n" + message[at : at + 1] for at in range(len(message))]
    wire.send(*pieces, b"\n", b"##\n")
    assert FOUND in wire.chunks().decode()


@pytest.mark.parametrize("kind", ["xml:ns:netconf", "netconf"])
def test_i06_the_end_in_two_packets_and_validate_in_its_capabilitys_namespace(wire: Wire, kind: str) -> None:
    namespace = f"urn:ietf:params:{kind}:capability:validate:1.0"
    wire.send(hello("1.1", before=SCRAPLI))
    message = rpc(f'<validate xmlns="{namespace}"><source><candidate/></source></validate>', "101")
    wire.send(b"\n#%d\n%b" % (len(message), message), b"\n##", b"\n")
    assert wire.chunks().decode() == OK.format(101)
    message = rpc(f'<validate xmlns="{namespace}"><source><candidate xmlns="urn:no"/></source></validate>', "102")
    wire.send(chunk(message))
    assert b"<error-tag>unknown-namespace</error-tag>" in wire.chunks()


def test_i07_qualified_attributes(wire: Wire) -> None:
    wire.send(hello("1.0", "1.1"))
    filtered = f'<nc:filter nc:type="subtree">{INTERVAL}</nc:filter>'
    content = f"<nc:get-config><nc:source><nc:running/></nc:source>{filtered}</nc:get-config>"
    wire.send(chunk(f'<nc:rpc nc:message-id="0" xmlns:nc="{NETCONF}">{content}</nc:rpc>'.encode()))
    reply = wire.chunks().decode()
    assert f'<rpc-reply xmlns="{NETCONF}" xmlns:nc="{NETCONF}" nc:message-id="0"><data>' in reply
    assert FOUND in reply


def test_i08_config_in_no_namespace(wire: Wire) -> None:
    wire.send(hello("1.0", "1.1"))
    config = f"<config>{qat('<enabled>true</enabled>')}</config>"
    option = "<nc:error-option>stop-on-error</nc:error-option>"
    content = f"<nc:edit-config><nc:target><nc:candidate/></nc:target>{option}{config}</nc:edit-config>"
    wire.send(chunk(f'<nc:rpc xmlns:nc="{NETCONF}" message-id="1">{content}</nc:rpc>'.encode()))
    assert b"<ok/>" in wire.chunks()
    before = wire.ask("<get-config><source><candidate/></source></get-config>", chunked=True)
    assert b"<enabled>true</enabled>" in before
    assert wire.ask("<get-config><source><candidate/></source></get-config>", chunked=True) == before
    assert b"<ok/>" in wire.ask("<discard-changes/>", chunked=True)


@pytest.mark.parametrize(
    ("operation", "there"),
    [
        (f"<lock>{CANDIDATE}</lock>", "<ok/>"),
        ("<discard-changes/>", "<ok/>"),
        (f"<get-config>{RUNNING}<filter>{INTERVAL}</filter></get-config>", f"<data>{FOUND}</data>"),
        ("<nonsense/>", "<error-tag>unknown-namespace</error-tag>"),
    ],
)
def test_i08_an_operation_in_no_namespace(wire: Wire, operation: str, there: str) -> None:
    """Ansible's netconf_rpc sends what its documentation calls a lock so."""
    wire.send(hello("1.0", "1.1"))
    wire.send(chunk(f'<nc:rpc xmlns:nc="{NETCONF}" message-id="1">{operation}</nc:rpc>'.encode()))
    assert there in wire.chunks().decode()


def test_close_session_is_answered_before_the_session_ends(wire: Wire) -> None:
    wire.send(hello("1.0"))
    wire.send(rpc("<close-session/>") + END)
    assert wire.rest().decode() == OK.format(101) + END.decode()
