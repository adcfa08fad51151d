"""Listening for SSH: host keys, and addresses that can't be listened on."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
from typing import TYPE_CHECKING

import asyncssh
import pytest

from agent.settings import Address, Limits, Ssh, StartError
from agent.ssh import listen

if TYPE_CHECKING:
    from pathlib import Path

    from agent.link import Peer, Receiver, Transport


def unused(peer: Peer, transport: Transport) -> Receiver:
    raise AssertionError


def start(*paths: Path, address: Address | None = None) -> list[asyncssh.SSHKey]:
    """Listen and close again; return the keys that a client is offered, one for each of the usual kinds."""

    async def main() -> list[asyncssh.SSHKey]:
        listener = await listen(
            unused, address=address or Address("127.0.0.1", 0), ssh=Ssh(host_keys=paths), limits=Limits()
        )
        keys = []
        for algorithm in ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256"):
            with contextlib.suppress(asyncssh.KeyExchangeFailed):
                key = await asyncssh.get_server_host_key(
                    "127.0.0.1", listener.port, server_host_key_algs=[algorithm], config=None
                )
                assert key is not None
                keys.append(key)
        await listener.close()
        return keys

    return asyncio.run(main())


def start_error(*paths: Path, address: Address | None = None) -> str:
    with pytest.raises(StartError) as caught:
        start(*paths, address=address)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_host_key_is_made_once_and_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ssh_host_ed25519_key"
    before = os.umask(0)
    try:
        first = start(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert [key.get_algorithm() for key in first] == ["ssh-ed25519"]
    assert start(path) == first


def test_the_host_key_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: set[int] = set()
    real = os.fsync

    def spy(descriptor: int) -> None:
        modes.update(stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    start(tmp_path / "ssh_host_ed25519_key")
    assert modes == {0o600}


def test_host_keys_of_further_kinds_serve_older_clients(tmp_path: Path) -> None:
    names = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key", "ssh_host_rsa_key")
    keys = start(*(tmp_path / name for name in names))
    assert [key.get_algorithm() for key in keys] == ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"]


def test_host_keys_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "ssh_host_ed25519_key"
    start(path)
    path.chmod(0o640)
    assert (
        start_error(path)
        == f"the host key {path} is open to others (mode 0640): make it a file of mode 600, or move it away"
    )
    path.chmod(0o600)
    twin = tmp_path / "second_ed25519_key"
    assert start_error(path, twin) == (
        f"the host keys {path} and {twin} are of one kind: take one out of [ssh] host-keys"
    )
    path.write_text("no key")
    assert start_error(path) == (
        f"the host key {path} is no private key without a passphrase: move it away, and a new one is made"
    )
    path.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key("pkcs8-pem", passphrase="pw"))
    assert start_error(path).startswith(f"the host key {path} is no private key without a passphrase")
    path.unlink()
    path.mkdir()
    assert start_error(path).startswith(f"the host key {path} is not a regular file")
    path.rmdir()
    path.symlink_to(path)
    assert start_error(path) == (
        f"cannot read or make the host key {path} (Too many levels of symbolic links): correct that, or [ssh] host-keys"
    )
    missing = tmp_path / "mine"
    assert start_error(missing) == (
        f"there is no host key {missing}: make it with ssh-keygen -t ed25519 -N '' -f {missing}"
    )
    inside = path.with_name("file")
    inside.write_text("")
    assert "correct that, or [ssh] host-keys" in start_error(inside / "ssh_host_ed25519_key")


def test_addresses_that_cannot_be_listened_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket

    def no_ipv6(family: int = socket.AF_INET, *arguments: int, **options: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        return real(family, *arguments, **options)

    monkeypatch.setattr(socket, "socket", no_ipv6)
    key = tmp_path / "ssh_host_ed25519_key"
    with real() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert start_error(key, address=Address("127.0.0.1", port)) == (
            f"cannot listen on 127.0.0.1:{port}: the port is taken:"
            " stop what uses it (ss -ltnp shows it), or change [listen] ssh"
        )
    assert start_error(key, address=Address("192.0.2.1", 0)) == (
        "cannot listen on 192.0.2.1:0: this machine has no such address: correct [listen] ssh"
    )
    assert start_error(key, address=Address("::", 0)) == (
        "cannot listen on [::]:0: this machine has no such address: correct [listen] ssh"
    )
    assert start_error(key, address=Address("no.such.host.invalid", 0)).startswith(
        "cannot listen on no.such.host.invalid:0: "
    )
