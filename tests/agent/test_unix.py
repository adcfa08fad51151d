"""The local socket: its sessions, who its clients are, and its file."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd
import socket
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import agent.unix
from agent.link import Peer
from agent.settings import StartError
from agent.unix import listen
from tests.agent.echo import DEADLINE, until
from tests.agent.unix_gateway import Gateway, run

# Sessions.


def test_a_session_says_hello_first_and_knows_its_peer(short: Path) -> None:
    gateway = Gateway(short / "n.sock", b"hello")

    async def scenario() -> None:
        reader, writer = await gateway.client()
        assert await reader.readexactly(5) == b"hello"
        writer.write(b"rpc")
        assert await reader.readexactly(3) == b"rpc"
        user = pwd.getpwuid(os.getuid())
        groups = {grp.getgrgid(number).gr_name for number in os.getgrouplist(user.pw_name, user.pw_gid)}
        peer = gateway.sessions[0].peer
        assert set(peer.groups) == groups
        found = replace(peer, groups=())
        assert found == Peer(user.pw_name, "accel-agent:netconf-unix", None, recovery=os.getuid() == 0)
        writer.write_eof()
        assert await reader.read() == b"bye"
        writer.close()
        await until(lambda: gateway.sessions[0].events == ["eof", "lost"])
        # Without effect, as on any closed transport.
        gateway.sessions[0].transport.write(b"late")
        gateway.sessions[0].transport.close()

    run(gateway, scenario)


def test_a_refused_session_ends_its_connection_alone(short: Path, caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(short / "n.sock")

    async def scenario() -> None:
        first, to_first = await gateway.client()
        to_first.write(b"1")
        assert await first.readexactly(1) == b"1"
        gateway.refusal = RuntimeError("enough")
        second, to_second = await gateway.client()
        assert await second.read() == b""
        to_first.write(b"2")
        assert await first.readexactly(1) == b"2"
        to_first.close()
        to_second.close()

    run(gateway, scenario)
    assert [record.getMessage() for record in caplog.records] == [
        f"no session for {pwd.getpwuid(os.getuid()).pw_name} on the local socket: RuntimeError('enough')"
    ]


def test_a_client_that_does_not_read_pauses_its_session(short: Path) -> None:
    # More than the socket takes: the session is told to pause though it is only being made.
    gateway = Gateway(short / "n.sock", b"h" * 2_000_000)

    async def scenario() -> None:
        reader, writer = await gateway.client()
        await until(lambda: gateway.sessions and gateway.sessions[0].events == ["pause"])
        assert len(await reader.readexactly(2_000_000)) == 2_000_000
        await until(lambda: gateway.sessions[0].events == ["pause", "resume"])
        writer.close()

    run(gateway, scenario)


def test_closing_has_a_deadline(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.unix, "CLOSE_TIMEOUT", 0.05)
    gateway = Gateway(short / "n.sock", b"h" * 2_000_000)

    async def scenario() -> None:
        _, writer = await gateway.client()
        await until(lambda: gateway.sessions)
        gateway.sessions[0].transport.close()
        await until(lambda: gateway.sessions[0].events == ["pause", "lost"])
        writer.close()

    run(gateway, scenario)


@pytest.mark.root
def test_the_kernel_says_who_the_peer_is(short: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    unknown = next(uid for uid in range(50_000, 60_000) if not _exists(uid))
    gateway = Gateway(short / "n.sock", b"hello")

    async def scenario() -> None:
        for uid in (nobody, unknown, 0):
            assert await _connect_as(uid, gateway.path) == b"hello"
        assert [(session.peer.username, session.peer.recovery) for session in gateway.sessions] == [
            ("nobody", False),
            (str(unknown), False),
            ("root", True),
        ]

    async def main() -> None:
        listener = await listen(gateway.connect, path=gateway.path, mode=0o666)
        await scenario()
        await listener.close()

    asyncio.run(main())


@pytest.mark.root
def test_who_may_connect(short: Path) -> None:
    group = grp.getgrnam("nogroup")
    nobody = pwd.getpwnam("nobody").pw_uid
    path = short / "n.sock"

    async def attempts() -> tuple[bytes, bytes]:
        return await _connect_as(nobody, path, gid=group.gr_gid), await _connect_as(nobody, path, gid=4711)

    async def main() -> None:
        gateway = Gateway(path, b"in")
        listener = await listen(gateway.connect, path=path)
        assert await attempts() == (b"", b"")
        await listener.close()
        listener = await listen(gateway.connect, path=path, group="nogroup")
        assert await attempts() == (b"in", b"")
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_gid) == (0o660, group.gr_gid)
        await listener.close()

    asyncio.run(main())


def _exists(uid: int) -> bool:
    with contextlib.suppress(KeyError):
        pwd.getpwuid(uid)
        return True
    return False


async def _connect_as(uid: int, path: Path, *, gid: int = 65534) -> bytes:
    """Connect as another user; return the first bytes, or none when the kernel refuses."""
    code = (
        "import os, socket, sys; os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[1]))\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "try: s.connect(sys.argv[3])\n"
        "except PermissionError: sys.exit(0)\n"
        "sys.stdout.write(s.recv(5).decode())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", code, str(uid), str(gid), str(path), stdout=subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
    assert process.returncode == 0
    return output


# The socket's file.


def start_error(path: Path, *, group: str | None = None) -> str:
    async def main() -> None:
        await listen(Gateway(path).connect, path=path, group=group)

    with pytest.raises(StartError) as caught:
        asyncio.run(main())
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_file_and_its_folder(short: Path) -> None:
    path = short / "run" / "accel" / "n.sock"
    before = os.umask(0o022)
    try:
        run(Gateway(path), lambda: _has_mode(path, 0o600))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755


async def _has_mode(path: Path, mode: int) -> None:
    assert stat.S_IMODE(os.lstat(path).st_mode) == mode


def test_the_file_is_closed_to_others_from_its_first_moment(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = short / "n.sock"
    modes: list[int] = []
    real = Path.chmod

    def spy(self: Path, mode: int) -> None:
        modes.append(stat.S_IMODE(self.lstat().st_mode))
        with socket.socket(socket.AF_UNIX) as probe, pytest.raises(ConnectionRefusedError):
            probe.connect(str(path))
        real(self, mode)

    monkeypatch.setattr(Path, "chmod", spy)
    before = os.umask(0)
    try:
        run(Gateway(path), lambda: _has_mode(path, 0o600))
    finally:
        os.umask(before)
    assert modes == [0o600]


def test_a_stale_socket_is_replaced_and_a_live_one_is_not(short: Path) -> None:
    path = short / "n.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    gateway = Gateway(path)

    async def scenario() -> None:
        with pytest.raises(StartError) as caught:
            await listen(gateway.connect, path=path)
        assert str(caught.value) == (f"an agent is already running, on {path}: stop it, or change [listen] unix")
        reader, writer = await gateway.client()
        writer.write(b"still served")
        assert await reader.readexactly(12) == b"still served"
        writer.close()

    run(gateway, scenario)


def test_what_is_no_socket_is_left_alone(short: Path) -> None:
    path = short / "n.sock"
    path.write_text("precious")
    assert start_error(path) == f"{path} is there and is no socket: remove it, or change [listen] unix"
    assert path.read_text() == "precious"


def test_a_socket_that_somebody_else_put_there_is_not_removed(short: Path) -> None:
    path = short / "n.sock"

    async def main() -> None:
        listener = await Gateway(path).start()
        path.rename(short / "moved.sock")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            await listener.close()
        assert path.exists()

    asyncio.run(main())


def test_paths_and_groups_that_cannot_be_used(short: Path) -> None:
    longest = short / ("n" * (107 - len(str(short)) - 1))
    run(Gateway(longest), lambda: _has_mode(longest, 0o600))
    longer = longest.with_name(longest.name + "n")
    assert start_error(longer) == f"the local socket's path {longer} is longer than 107 bytes: shorten [listen] unix"
    assert start_error(short / "n.sock", group="no-such-group") == (
        "there is no group no-such-group: make it, or change [listen] unix-group"
    )
    (short / "file").write_text("")
    inside = short / "file" / "n.sock"
    assert start_error(inside) == f"cannot make the local socket {inside} (Not a directory): correct [listen] unix"
    assert not (short / "n.sock").exists()
