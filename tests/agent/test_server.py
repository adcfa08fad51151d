"""One session: hello, framing, the end, counters; and what is left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from agent.errors import NETCONF
from agent.messages import BASE_1_0, BASE_1_1
from agent.settings import Limits
from tests.agent.server_bench import GET, N, Server, edit, hello, run, until

if TYPE_CHECKING:
    from agent.model.load import Model


def test_the_servers_hello_comes_at_once(model: Model) -> None:
    """C002, C003, C027."""

    async def scenario() -> None:
        server = Server(model)
        clients = [server.connect(), server.connect()]
        for client in clients:
            message, rest = client.greeting.split(b"]]>]]>")
            root = etree.fromstring(message)
            listed = [one.text for one in root.iter(f"{N}capability")]
            assert {BASE_1_0, BASE_1_1} <= set(listed)
            assert len(listed) == len(set(listed))
            assert [one.text for one in root.iter(f"{N}session-id")] == [str(client.id)]
            assert rest == b""
        assert clients[0].id != clients[1].id

    run(scenario())


def test_both_framings(model: Model) -> None:
    """C004, C005, F03: chunks only where both sides offer them."""

    async def scenario() -> None:
        server = Server(model)
        assert (await server.client(BASE_1_0).ask(GET)).tag == f"{N}data"
        both = server.connect()
        both.session.data_received(hello(BASE_1_0, BASE_1_1) + b"]]>]]>")
        both.chunked = True
        assert (await both.ask(GET)).tag == f"{N}data"

    run(scenario())


@pytest.mark.parametrize("base", [BASE_1_0, BASE_1_1])
def test_hello_and_requests_in_any_pieces(model: Model, base: str) -> None:
    """C006, C007, C016, C041, F17, I05: one packet, or one byte a packet."""

    async def scenario() -> None:
        server = Server(model)
        for size in (1, 7, 100_000):
            client = server.connect()
            client.chunked = base == BASE_1_1
            requests = b"".join(client.framed(client.request(one)) for one in (edit("é€😀"), GET, GET))
            stream = hello(base) + b"]]>]]>" + requests
            for at in range(0, len(stream), size):
                client.session.data_received(stream[at : at + size])
            await client.idle()
            assert [reply.get("message-id") for reply in client.replies()] == ["1", "2", "3"]

    run(scenario())


@pytest.mark.parametrize(
    "first",
    [
        f'<rpc xmlns="{NETCONF}" message-id="1"><get/></rpc>]]>]]>'.encode(),  # F05, C032
        hello("urn:unheard-of") + b"]]>]]>",  # C028
        hello(NETCONF) + b"]]>]]>",  # F13
        hello(BASE_1_1).replace(b"</hello>", b"<session-id>1</session-id></hello>") + b"]]>]]>",  # C029
        hello(BASE_1_1) + GET.encode() + b"]]>]]>",  # F15
        b"SSH-2.0-x\r\n]]>]]>",
        b"\xff]]>]]>",
    ],
)
def test_a_session_that_begins_badly_ends(model: Model, first: bytes) -> None:
    async def scenario() -> None:
        server = Server(model)
        client = server.connect()
        client.session.data_received(first)
        client.session.data_received(b"".join([hello(BASE_1_1), b"]]>]]>"]))
        await until(lambda: len(server.sessions) == 0)
        assert (client.wire.ends, client.replies()) == (["close"], [])
        totals = server.sessions
        assert (totals.in_sessions, totals.in_bad_hellos, totals.dropped_sessions) == (1, 1, 1)

    run(scenario())


def test_a_client_that_says_no_hello_in_time_is_let_go(model: Model) -> None:
    """F09: nor one that says it in chunks."""

    async def scenario() -> None:
        server = Server(model, Limits(hello_timeout=0))
        silent, chunky = server.connect(), server.connect()
        chunky.chunked = True
        chunky.session.data_received(chunky.framed(hello(BASE_1_1)))
        await until(lambda: len(server.sessions) == 0)
        assert (silent.wire.ends, chunky.wire.ends) == (["close"], ["close"])

    run(scenario())


@pytest.mark.parametrize("then", [hello(BASE_1_1), b""])
def test_what_ends_a_session_after_its_hello(model: Model, then: bytes) -> None:
    """C032, F11: a second hello, a framing error; what came before is answered."""

    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        request = client.framed(client.request(GET))
        client.session.data_received(request + (client.framed(then) if then else b"\n#0\n") + request)
        assert [reply.get("message-id") for reply in client.replies()] == ["1"]
        await until(lambda: len(server.sessions) == 0)
        assert client.wire.ends == ["close"]
        assert server.sessions.in_bad_hellos == 0

    run(scenario())


def test_a_message_over_the_limit_ends_the_session_and_no_other(model: Model) -> None:
    """C048."""

    async def scenario() -> None:
        server = Server(model, Limits(message_size=1000))
        large, other = server.client(), server.client()
        large.send(f"<get>{' ' * 1000}</get>")
        await until(lambda: len(server.sessions) == 1)
        assert large.wire.ends == ["close"]
        assert (await other.ask(GET)).tag == f"{N}data"

    run(scenario())


def test_counters(model: Model) -> None:
    """C175: by the descriptions of ietf-netconf-monitoring."""

    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        several = edit("x").replace("</name>", "</name><bogus/><bogus/><bogus/>")
        for operation in (GET, GET, several, "<bogus/>", ""):
            await client.ask(operation) if operation != several else client.send(operation)
            await client.idle()
            client.replies()
        client.session.data_received(client.framed(b"<rpc"))
        for counters in (client.session._session.counters, server.sessions.totals):
            assert (counters.in_rpcs, counters.in_bad_rpcs, counters.out_rpc_errors) == (4, 2, 4)
        old = server.client(BASE_1_0)
        old.session.data_received(b"<rpc]]>]]>")
        assert (server.sessions.totals.in_rpcs, server.sessions.totals.in_bad_rpcs) == (4, 3)
        bad = server.connect()
        bad.session.data_received(b"x]]>]]>")
        assert (server.sessions.in_sessions, server.sessions.in_bad_hellos) == (3, 1)

    run(scenario())
