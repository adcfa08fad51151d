"""A gateway that clients of every kind can log in to: host keys of three kinds, a password, a key, and an sshd."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path
from typing import Any

import asyncssh

import agent
from tests.conftest import SEARCH_PATH
from tests.system.client import PASSWORD, USER, qat
from tests.system.gateway import SCRIPT, Gateway

DEVICE = "0000:3d:00.0"
# What is in running before a client comes: two leafs, of which clients ask for one.
HEALTH = qat("<health><interval>17</interval><on-failure>notify</on-failure></health>")
_KINDS = ("ed25519", "ecdsa", "rsa")


def serve(folder: Path) -> Gateway:
    """Serve a machine with one device."""
    gateway = Gateway(folder)
    keys = ", ".join(f'"{folder}/ssh_host_{kind}_key"' for kind in _KINDS)
    gateway.settings.write_text(f'[ssh]\nhost-keys = [{keys}]\nauthorized-keys = "{folder}/keys/%u"\n')
    key = _new_key(folder / "key")
    (folder / "keys").mkdir()
    (folder / "keys" / USER).write_text(_public(key))
    gateway.build(f"c6xx@{DEVICE.removeprefix('0000:')}").start()
    gateway.connect().apply(HEALTH)
    gateway.disconnect()
    return gateway


def login(gateway: Gateway, home: Path) -> dict[str, Any]:
    """Return what a client has to know to log in to a gateway."""
    keys = {kind: asyncssh.read_private_key(gateway.folder / f"ssh_host_{kind}_key") for kind in _KINDS}
    lines = [f"[127.0.0.1]:{gateway.port} {_public(key)}" for key in keys.values()]
    known_hosts = home / ".ssh/known_hosts"
    known_hosts.parent.mkdir(mode=0o700)
    command = _sshd(gateway, home / "sshd", lines)
    known_hosts.write_text("".join(lines))
    return {
        "host": "127.0.0.1",
        "port": gateway.port,
        "user": USER,
        "password": PASSWORD,
        "known_hosts": str(known_hosts),
        "hostkeys": {kind: _public(key).split()[1] for kind, key in keys.items()},
        "key": str(gateway.folder / "key"),
        "sshd": command,
        "sshd_user": pwd.getpwuid(os.getuid()).pw_name,
        "folder": str(home),
    }


def _sshd(gateway: Gateway, folder: Path, known_hosts: list[str]) -> str:
    """Write what a private sshd needs; return the command that serves one connection on its input and output."""
    folder.mkdir()
    known_hosts.append(f"sshd {_public(_new_key(folder / 'host_key'))}")
    relay = f"{SCRIPT} relay"
    if not SCRIPT.exists():
        relay = f"/usr/bin/env PYTHONPATH={Path(agent.__path__[0]).parent} {sys.executable} -m agent relay"
    authorized = gateway.folder / "keys" / USER
    (folder / "config").write_text(
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {authorized}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        f"PidFile none\nSubsystem netconf {relay} --unix-socket {gateway.socket}\n"
    )
    return f"{shutil.which('sshd', path=SEARCH_PATH)} -i -f {folder}/config"


def _new_key(path: Path) -> asyncssh.SSHKey:
    key = asyncssh.generate_private_key("ssh-ed25519")
    path.touch(mode=0o600)
    key.write_private_key(path)
    return key


def _public(key: asyncssh.SSHKey) -> str:
    return f"{' '.join(key.export_public_key().decode().split()[:2])}\n"
