"""Who may log in over SSH, and what those who may not can learn."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING

import asyncssh
import pytest
from asyncssh.constants import MSG_USERAUTH_REQUEST
from asyncssh.packet import Boolean, String

import agent.ssh
from agent.passwords import Passwords
from agent.settings import Address, Limits, Ssh, StartError
from agent.ssh import listen
from tests.agent.ssh_gateway import PASSWORD, Gateway, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.link import Peer, Receiver, Transport


async def may_log_in(gateway: Gateway, **options: object) -> bool:
    try:
        async with gateway.client(**options):
            return True
    except asyncssh.PermissionDenied:
        return False


def test_keys_and_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.ssh, "PASSWORD_REFUSAL", 0.1)
    other = asyncssh.generate_private_key("ssh-ed25519")

    async def scenario(gateway: Gateway) -> None:
        assert await may_log_in(gateway)
        assert not await may_log_in(gateway, client_keys=[other])
        assert await may_log_in(gateway, client_keys=[other, gateway.key])
        assert not await may_log_in(gateway, username="berta")
        assert not await may_log_in(gateway, username="nobody")
        assert await may_log_in(gateway, username="berta", password=PASSWORD, client_keys=None)
        # RFC 4013: the same password typed with combining characters.
        assert await may_log_in(gateway, username="berta", password="Gru\u0308ße-an-9-Tunnel", client_keys=None)
        for user, password in (("berta", "wrong"), ("berta", ""), ("anna", PASSWORD), ("carl", PASSWORD)):
            started = asyncio.get_running_loop().time()
            assert not await may_log_in(gateway, username=user, password=password, client_keys=None)
            assert asyncio.get_running_loop().time() - started >= 0.1
        assert not await may_log_in(gateway, client_keys=None)

    run(tmp_path, scenario)


def test_what_a_client_sees_does_not_tell_whether_a_user_exists(tmp_path: Path) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519")

    class Client(asyncssh.SSHClient):
        def __init__(self) -> None:
            self.offers = 0

        def public_key_auth_requested(self) -> asyncssh.SSHKey | None:
            self.offers += 1
            return other if self.offers == 1 else None

        def password_auth_requested(self) -> None:
            return None

    async def scenario(gateway: Gateway) -> None:
        seen = {}
        for user in ("anna", "berta", "nobody", "../keys/anna"):
            with pytest.raises(asyncssh.PermissionDenied) as caught:
                await asyncssh.create_connection(
                    Client,
                    "127.0.0.1",
                    gateway.listener.port,
                    username=user,
                    known_hosts=None,
                    config=None,
                    agent_path=None,
                )
            seen[user] = str(caught.value).replace(user, "USER")
        assert len(set(seen.values())) == 1

    run(tmp_path, scenario)


def test_passwords_are_guessed_slowly_and_not_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent.ssh, "PASSWORD_REFUSAL", 0.02)
    caplog.set_level(logging.DEBUG)
    guesses: list[str] = []

    class Guesser(asyncssh.SSHClient):
        def password_auth_requested(self) -> str:
            guesses.append(f"s3cret-guess-{len(guesses)}")
            return guesses[-1]

    async def scenario(gateway: Gateway) -> None:
        started = asyncio.get_running_loop().time()
        with pytest.raises(asyncssh.DisconnectError, match="too many failed logins"):
            await asyncssh.create_connection(
                Guesser,
                "127.0.0.1",
                gateway.listener.port,
                username="berta",
                client_keys=None,
                known_hosts=None,
                config=None,
                agent_path=None,
            )
        assert len(guesses) == agent.ssh.MOST_FAILURES
        assert asyncio.get_running_loop().time() - started >= 0.02 * len(guesses)

    run(tmp_path, scenario)
    assert "login refused: password of 'berta' from 127.0.0.1" in caplog.text
    assert "s3cret" not in caplog.text


def test_guesses_that_do_not_wait_for_an_answer_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent.ssh, "PASSWORD_REFUSAL", 1.0)
    checked: list[str] = []
    real = Passwords.match

    def match(passwords: Passwords, username: str, password: str) -> bool:
        checked.append(password)
        return real(passwords, username, password)

    monkeypatch.setattr(Passwords, "match", match)

    class Guesser(asyncssh.SSHClient):
        def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
            self.connection = conn

        def password_auth_requested(self) -> str:
            for n in range(40):
                request = (b"berta", b"ssh-connection", b"password")
                self.connection.send_packet(
                    MSG_USERAUTH_REQUEST, *map(String, request), Boolean(value=False), String(f"guess-{n}")
                )
            return PASSWORD

    async def scenario(gateway: Gateway) -> None:
        with contextlib.suppress(asyncssh.Error):
            async with gateway.client(username="berta", client_keys=None, client_factory=Guesser):
                pass
        assert 1 <= len(checked) <= 3

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "user",
    [
        "../anna",
        "keys/../anna",
        "..",
        ".",
        ".hidden",
        "-anna",
        "an\x00na",
        "a" * 65,
        "anna/",
        "/etc/passwd",
        "an\nna",
        "%u",
        "",
    ],
    ids=repr,
)
def test_names_that_are_more_than_names_never_reach_the_file_system(
    tmp_path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    async def scenario(gateway: Gateway) -> None:
        for name in (".hidden", "-anna", "a" * 65, "%u"):
            gateway.authorize(name, gateway.key)
        gateway.authorize("../anna", gateway.key)
        real = os.open

        def spy(path: object, *arguments: object, **options: object) -> int:
            opened.append(path)
            return real(path, *arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "open", spy)
        try:
            await gateway_refuses(gateway, user)
        finally:
            monkeypatch.undo()
        assert [path for path in opened if "keys" in str(path)] == []

    run(tmp_path, scenario)


async def gateway_refuses(gateway: Gateway, user: str) -> None:
    """Send a name that asyncssh's client itself would refuse."""

    class Client(asyncssh.SSHClient):
        def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
            conn._username = user

    with pytest.raises(asyncssh.DisconnectError):
        async with gateway.client(client_factory=Client):
            pass


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        (lambda gateway: gateway.authorize("anna", gateway.key, options='from="127.0.0.0/8" '), True),
        (lambda gateway: gateway.authorize("anna", gateway.key, options='from="192.0.2.0/24" '), False),
        (lambda gateway: gateway.authorize("anna", gateway.key, options='command="/bin/true" '), False),
        (lambda gateway: gateway.authorize("anna", gateway.key, options="# a comment\n\nnot a key\n"), True),
        (lambda gateway: gateway.authorize("anna", gateway.key, options='"unbalanced ssh-ed25519 AAAA\n'), True),
        (lambda gateway: gateway.authorize("anna", gateway.key).chmod(0o664), False),
        (lambda gateway: gateway.authorize("anna", gateway.key).chmod(0o602), False),
        (lambda gateway: gateway.authorize("anna", gateway.key).write_bytes(b"\xff\xfe\x00"), False),
        (lambda gateway: gateway.authorize("anna", gateway.key).write_bytes(b""), False),
        (lambda gateway: gateway.authorize("anna", gateway.key).write_text("#" * 300_000), False),
        (lambda gateway: pipe_for(gateway, "anna"), False),
        (lambda gateway: pipe_for(gateway, "anna", directory=True), False),
    ],
)
def test_which_key_files_count(tmp_path: Path, change: Callable[[Gateway], object], allowed: bool) -> None:
    async def scenario(gateway: Gateway) -> None:
        change(gateway)
        assert await may_log_in(gateway) is allowed

    run(tmp_path, scenario)


def pipe_for(gateway: Gateway, user: str, *, directory: bool = False) -> None:
    path = gateway.folder / "keys" / user
    path.unlink()
    if directory:
        path.mkdir()
    else:
        os.mkfifo(path, 0o600)


@pytest.mark.root
def test_a_key_file_of_another_user_does_not_count(tmp_path: Path) -> None:
    async def scenario(gateway: Gateway) -> None:
        os.chown(gateway.authorize("anna", gateway.key), 4711, -1)
        assert not await may_log_in(gateway)

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("passwords", "message"),
    [
        ({"a/b": "x"}, "'a/b' can't be a user's name"),
        ({"a": ""}, "the password of 'a' is empty: give one"),
        ({"": "x"}, "the name is empty: give one"),
        ({"a": "t0p\x07"}, "the password of 'a' has characters that SSH doesn't allow: change it"),
    ],
)
def test_passwords_that_cannot_be_used_are_refused_at_start(
    tmp_path: Path, passwords: dict[str, str], message: str
) -> None:
    ssh = Ssh(host_keys=(tmp_path / "ssh_host_ed25519_key",))
    with pytest.raises(StartError) as caught:
        asyncio.run(listen(unused, address=Address("127.0.0.1", 0), ssh=ssh, limits=Limits(), passwords=passwords))
    assert message in str(caught.value)
    assert "t0p" not in str(caught.value)


def unused(peer: Peer, transport: Transport) -> Receiver:
    raise AssertionError
