"""Sessions over SSH, with asyncssh's and OpenSSH's clients: what they get and what is refused."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

import asyncssh
import pytest

import agent.ssh_connection
from agent.settings import Limits
from tests.agent.echo import DEADLINE, HELLO, until
from tests.agent.ssh_gateway import Gateway, netconf, run, socket_of

if TYPE_CHECKING:
    from pathlib import Path


# Sessions.


def test_a_session_says_hello_first_and_knows_its_peer(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection) as (writer, reader):
            writer.write(b"<rpc/>")
            assert await reader.readexactly(6) == b"<rpc/>"
            peer = gateway.sessions[0].peer
            assert (peer.username, peer.source_host, peer.recovery) == ("anna", "127.0.0.1", False)
            assert peer.local_host == "127.0.0.1"
            assert peer.transport == "ietf-netconf-monitoring:netconf-ssh"

    run(tmp_path, scenario)


def test_several_sessions_share_a_connection_up_to_the_limit(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection:
            async with netconf(connection) as (first, reader), netconf(connection):
                with pytest.raises(asyncssh.ChannelOpenError, match="a connection may have 2 channels"):
                    await connection.open_session(subsystem="netconf", encoding=None)
                first.write(b"a")
                assert await reader.readexactly(1) == b"a"
                first.close()
                await first.wait_closed()
            async with netconf(connection):
                assert len(gateway.sessions) == 3

    run(tmp_path, scenario, Limits(sessions_per_connection=2))


def test_the_end_of_input_leaves_the_way_for_replies_open(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection) as (writer, reader):
            writer.write(b"last")
            writer.write_eof()
            assert await reader.read() == b"lastbye"
            assert gateway.sessions[0].received == b"last"

    run(tmp_path, scenario)


def test_a_closed_session_ends_with_status_0_and_all_that_was_written(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection:
            process = await connection.create_process(subsystem="netconf", encoding=None)
            await until(lambda: gateway.sessions)
            gateway.sessions[0].transport.write(b"x" * 3_000_000)
            gateway.sessions[0].transport.close()
            gateway.sessions[0].transport.write(b"too late")
            completed = await process.wait()
            assert completed.returncode == 0
            assert completed.stdout == HELLO + b"x" * 3_000_000
            await until(lambda: gateway.sessions[0].events[-1:] == ["lost"])

    run(tmp_path, scenario)


def test_a_session_that_is_refused_ends_its_channel_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection) as (writer, reader):
            gateway.refusal = RuntimeError("256 sessions are open")
            process = await connection.create_process(subsystem="netconf", encoding=None)
            completed = await process.wait()
            assert (completed.returncode, completed.stdout) == (1, b"")
            writer.write(b"still here")
            assert await reader.readexactly(10) == b"still here"

    run(tmp_path, scenario)
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert lines == ["no session for anna from 127.0.0.1: RuntimeError('256 sessions are open')"]


def test_a_client_that_closes_its_channel_ends_a_session_that_reads_nothing(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection) as (writer, _):
            session = gateway.sessions[0]
            session.transport.pause_reading()
            session.transport.write(b"x" * 5_000_000)
            writer.write(b"<commit/>" * 1000)
            await until(lambda: "pause" in session.events)
            writer.channel.abort()
            await until(lambda: session.events[-1:] == ["lost"])
            session.transport.write(b"to nobody")
            session.transport.close()
            assert session.received == b""
            async with netconf(connection):
                pass

    run(tmp_path, scenario)


def test_an_aborted_session_ends_though_the_client_does_not_answer(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection):
            socket_of(connection).pause_reading()
            gateway.sessions[0].transport.abort()
            await until(lambda: gateway.sessions[0].events == ["lost"])

    run(tmp_path, scenario)


def test_closing_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.ssh_connection, "CLOSE_TIMEOUT", 0.05)

    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection, netconf(connection):
            socket_of(connection).pause_reading()
            gateway.sessions[0].transport.write(b"x" * 9_000_000)
            gateway.sessions[0].transport.close()
            await until(lambda: gateway.sessions[0].events[-1:] == ["lost"])

    run(tmp_path, scenario)


# What is refused.


@pytest.mark.parametrize("request_", [{"subsystem": "sftp"}, {"subsystem": "NETCONF"}, {"command": "id"}, {}], ids=str)
def test_anything_but_the_subsystem_netconf_is_refused(tmp_path: Path, request_: dict[str, str]) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection:
            with pytest.raises(asyncssh.ChannelOpenError, match="Session request failed"):
                await connection.create_process(**request_)
            assert gateway.sessions == []

    run(tmp_path, scenario)


def test_terminals_forwarding_and_agents_are_refused(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client() as connection:
            with pytest.raises(asyncssh.ChannelOpenError, match="PTY request failed"):
                await connection.open_session(subsystem="netconf", term_type="vt100", encoding=None)
            with pytest.raises(asyncssh.ChannelOpenError, match="Connection refused"):
                await connection.open_connection("127.0.0.1", gateway.listener.port)
            with pytest.raises(asyncssh.ChannelOpenError, match="Connection refused"):
                await connection.open_unix_connection("/run/accel-agent/netconf.sock")
            with pytest.raises(asyncssh.ChannelListenError):
                await connection.forward_remote_port("127.0.0.1", 0, "127.0.0.1", 9)
            with pytest.raises(asyncssh.ChannelListenError):
                await connection.start_unix_server(lambda: None, "/tmp/never")
            with pytest.raises(asyncssh.ChannelOpenError, match="X11 forwarding request failed"):
                await connection.open_session(
                    subsystem="netconf", encoding=None, x11_forwarding=True, x11_display="localhost:9"
                )
            async with netconf(connection) as (writer, _):
                assert await writer.channel._make_request(b"auth-agent-req@openssh.com") is False
                assert len(gateway.sessions) == 1

    run(tmp_path, scenario)


# Algorithms, and OpenSSH.


def test_algorithms(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        async with gateway.client(
            encryption_algs=["chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com"]
        ) as connection:
            assert connection.get_extra_info("send_cipher") == "aes128-gcm@openssh.com"
            assert connection.get_extra_info("recv_compression") == "none"
        for options in (
            {"encryption_algs": ["chacha20-poly1305@openssh.com", "aes256-cbc"]},
            {"mac_algs": ["hmac-sha1"], "encryption_algs": ["aes256-ctr"]},
            {"kex_algs": ["diffie-hellman-group14-sha1"]},
        ):
            with pytest.raises((asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost)):
                async with gateway.client(**options):
                    pass
        # What older JavaScript clients offer.
        async with (
            gateway.client(
                kex_algs=["ecdh-sha2-nistp256", "diffie-hellman-group14-sha256"],
                encryption_algs=["aes128-ctr", "aes192-ctr", "aes256-ctr"],
                mac_algs=["hmac-sha2-256", "hmac-sha2-512"],
            ) as connection,
            netconf(connection),
        ):
            assert connection.get_extra_info("send_cipher") == "aes128-ctr"

    run(tmp_path, scenario)


async def openssh(gateway: Gateway, *arguments: str, data: bytes = b"") -> tuple[int | None, bytes, bytes]:
    key = gateway.folder / "id_ed25519"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(gateway.key.export_private_key("openssh"))
    options = {
        "BatchMode": "yes",
        "IdentitiesOnly": "yes",
        "StrictHostKeyChecking": "accept-new",
        "UserKnownHostsFile": f"{gateway.folder}/known_hosts",
    }
    process = await asyncio.create_subprocess_exec(
        "ssh", "-F", "/dev/null", "-i", str(key), "-p", str(gateway.listener.port),
        *(word for option, value in options.items() for word in ("-o", f"{option}={value}")),
        *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    stdout, stderr = await asyncio.wait_for(process.communicate(data), DEADLINE)
    return process.returncode, stdout, stderr


@pytest.mark.needs("ssh")
def test_openssh(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        data = os.urandom(1_000_000)
        # New keys every 256 KiB: the session is paused and resumed each time.
        for options in ((), ("-o", "RekeyLimit=256K")):
            status, stdout, _ = await openssh(gateway, *options, "-s", "anna@127.0.0.1", "netconf", data=data)
            assert stdout == HELLO + data + b"bye"
            assert status == 0
        assert gateway.sessions[1].events.count("pause") >= 3
        for arguments in (
            ("-s", "anna@127.0.0.1", "sftp"),
            ("anna@127.0.0.1", "id"),
            ("-T", "anna@127.0.0.1"),
            ("-tt", "anna@127.0.0.1"),
        ):
            status, stdout, stderr = await openssh(gateway, *arguments)
            assert (status, stdout) == (255, b""), arguments
            assert b"request failed" in stderr
        status, stdout, stderr = await openssh(gateway, "-W", "127.0.0.1:9", "anna@127.0.0.1")
        assert (status, stdout) == (255, b"")
        assert b"open failed" in stderr
        status, _, stderr = await openssh(gateway, "-s", "carl@127.0.0.1", "netconf")
        assert status == 255
        assert b"Permission denied (publickey,password)" in stderr
        assert len(gateway.sessions) == 2

    run(tmp_path, scenario)
