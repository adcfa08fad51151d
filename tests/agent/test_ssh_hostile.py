"""SSH clients that keep no rules: they harm neither others nor the machine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import asyncssh
import pytest
from asyncssh.constants import MSG_KEXINIT, MSG_REQUEST_SUCCESS

import agent.ssh
from agent.settings import Limits
from tests.agent.echo import DEADLINE, Echo, until
from tests.agent.ssh_gateway import Gateway, netconf, run, socket_of

if TYPE_CHECKING:
    from pathlib import Path


async def fill(session: Echo) -> int:
    """Write until the session is told to stop, long before memory is used up; return the number of bytes."""
    session.echo = False
    written = 0
    while "pause" not in session.events:
        session.transport.write(b"y" * 65536)
        written += 65536
        assert written < 64 * 1024 * 1024
        await asyncio.sleep(0)
    return written


def test_silent_connections_do_not_delay_others_and_are_bounded(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        silent = [socket.create_connection(("127.0.0.1", gateway.listener.port)) for _ in range(12)]
        try:
            await until(lambda: len(gateway.listener._pending) == 4)
            async with gateway.client() as connection, netconf(connection) as (writer, reader):
                writer.write(b"through")
                assert await reader.readexactly(7) == b"through"
                assert len(gateway.listener._pending) == 3
            # The oldest had to go: they see the end, behind the server's version.
            silent[0].settimeout(DEADLINE)
            assert silent[0].recv(100).startswith(b"SSH-2.0-accel-agent")
        finally:
            for sock in silent:
                sock.close()
        await until(lambda: not gateway.listener._connections)

    run(tmp_path, scenario, Limits(pending_connections=4))


def test_who_starts_no_session_in_time_is_disconnected(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        loop = asyncio.get_running_loop()
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.listener.port)
        async with gateway.client() as idle, gateway.client() as busy, netconf(busy) as (to_busy, from_busy):
            started = loop.time()
            await asyncio.wait_for(reader.read(), DEADLINE)
            await asyncio.wait_for(idle.wait_closed(), DEADLINE)
            assert 0.5 < loop.time() - started < DEADLINE / 2
            to_busy.write(b"x")
            assert await from_busy.readexactly(1) == b"x"
            to_busy.close()
            await asyncio.wait_for(busy.wait_closed(), DEADLINE)
        writer.close()

    run(tmp_path, scenario, Limits(login_timeout=1))


def test_a_client_that_does_not_read_its_window_pauses_its_session_alone(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with (
            gateway.client() as connection,
            netconf(connection, window=65536) as (_, reader),
            netconf(connection) as (writer, second),
        ):
            session = gateway.sessions[0]
            written = await fill(session)
            writer.write(b"alive")
            assert await second.readexactly(5) == b"alive"
            assert gateway.sessions[1].events == []
            assert await reader.readexactly(written) == b"y" * written
            await until(lambda: session.events == ["pause", "resume"])

    run(tmp_path, scenario)


def test_a_session_is_paused_by_its_hello_if_need_be(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        gateway.hello = b"h" * 200_000
        async with gateway.client() as connection:
            _, reader, _ = await connection.open_session(subsystem="netconf", encoding=None, window=1000)
            await until(lambda: gateway.sessions and gateway.sessions[0].events == ["pause"])
            assert await reader.readexactly(200_000) == gateway.hello
            await until(lambda: gateway.sessions[0].events == ["pause", "resume"])

    run(tmp_path, scenario)


def test_answers_that_are_not_read_do_not_pile_up(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection:
            (server,) = gateway.listener._connections
            assert server._tcp is not None
            server._tcp.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            socket_of(connection).pause_reading()
            connection._packet_handlers = {**connection._packet_handlers, MSG_REQUEST_SUCCESS: lambda *_: None}
            for _ in range(15_000):
                connection._send_global_request(b"keepalive@openssh.com", want_reply=True)
            await until(lambda: "socket full" in server._not_reading)
            # What one read brought is answered in any case.
            assert server._tcp.get_write_buffer_size() < 500_000
            socket_of(connection).resume_reading()
            async with netconf(connection):
                assert not server._not_reading

    run(tmp_path, scenario)


def test_a_client_that_does_not_read_its_socket_pauses_its_sessions(tmp_path: Path) -> None:
    # A window of 1 GiB: what is written goes to the socket at once.
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection, window=2**30) as (writer, reader):
            session = gateway.sessions[0]
            socket_of(connection).pause_reading()
            written = await fill(session)
            # Requests that want answers stay in the socket as well.
            writer.write(b"more" * 100_000)
            server = next(iter(gateway.listener._connections))
            size = server._tcp.get_write_buffer_size() if server._tcp else 0
            assert 0 < size < 2_000_000
            socket_of(connection).resume_reading()
            assert await reader.readexactly(written) == b"y" * written
            await until(lambda: session.events[-1:] == ["resume"])
            await until(lambda: len(session.received) == 400_000)

    run(tmp_path, scenario)


def test_a_key_exchange_without_end_pauses_the_sessions(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection):
            # The client begins, and takes no notice of the answer.
            connection._packet_handlers = {**connection._packet_handlers, MSG_KEXINIT: lambda *_: None}
            connection._send_kexinit()
            await until(lambda: gateway.sessions[0].events == ["pause"])

    run(tmp_path, scenario)


def test_a_session_that_reads_nothing_keeps_a_window_at_most_and_few_pieces(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection) as (writer, _):
            session = gateway.sessions[0]
            session.echo = False
            session.transport.pause_reading()
            for _ in range(6000):
                writer.write(b"z")
            channel = session.transport._channel  # type: ignore[attr-defined]
            await until(lambda: sum(len(piece) for piece, _ in channel._recv_buf) == 6000)
            # One read's worth of packets beyond the bound, at most.
            assert len(channel._recv_buf) < 1024 + 262144 // 32
            writer.write(b"!" * 4_000_000)
            await until(lambda: sum(len(piece) for piece, _ in channel._recv_buf) == agent.ssh.WINDOW)
            assert len(channel._recv_buf) <= 1025
            session.transport.resume_reading()
            await until(lambda: len(session.received) == 4_006_000)
            assert session.received == b"z" * 6000 + b"!" * 4_000_000

    run(tmp_path, scenario)


def test_environment_variables_without_end_disconnect(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection:
            with contextlib.suppress(asyncssh.Error, ConnectionError):
                await connection.open_session(
                    subsystem="netconf", encoding=None, env={f"V{n}": "x" * 100 for n in range(5000)}
                )
            await asyncio.wait_for(connection.wait_closed(), DEADLINE)

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00" * 100_000,
        b"SSH-2.0-x\r\n" + b"\xff" * 5_000_000,
        b"SSH-2.0-" + b"a" * 9000 + b"\n",
    ],
    ids=["http", "zeros", "packet", "version"],
)
def test_garbage_is_disconnected(tmp_path: Path, garbage: bytes) -> None:
    async def scenario(gateway: Gateway) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.listener.port)
        writer.write(garbage)
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), DEADLINE)
        writer.close()
        await until(lambda: not gateway.listener._connections)
        async with gateway.client():
            pass

    run(tmp_path, scenario)
