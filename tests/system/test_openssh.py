"""OpenSSH on both ends: its server with our relay as a subsystem, and its client, also against our own server."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncssh
import pytest
from lxml import etree

from tests.system.client import DEADLINE, HA, MONITORING, NETCONF, connect_ssh, enabled, qat, until
from tests.system.gateway import COMMAND, Gateway

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.client import Client

END = b"]]>]]>"
PRIVILEGE_SEPARATION = Path("/run/sshd")
HELLO = (
    f'<hello xmlns="{NETCONF}"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>'
    "</capabilities></hello>"
).encode()

pytestmark = pytest.mark.needs("sshd", "ssh")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine with a device, whose user has a key."""
    gateway = Gateway(tmp_path_factory.mktemp("openssh")).build("c6xx@3d:00.0")
    folder = gateway.folder
    for name in ("key", "host_key"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(key.export_private_key("openssh"))
        (folder / f"{name}.pub").write_bytes(key.export_public_key("openssh"))
    keys = folder / "authorized_keys"
    keys.mkdir()
    shutil.copy(folder / "key.pub", keys / "operator")
    gateway.settings.write_text(f'[ssh]\nauthorized-keys = "{keys}/%u"\n')
    try:
        yield gateway.start()
    finally:
        gateway.close()


@pytest.fixture(scope="module")
def sshd(gateway: Gateway) -> Iterator[int]:
    """Run a private sshd on the loopback interface and return its port."""
    folder = gateway.folder
    if os.geteuid() == 0:
        PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host_key\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        f"PermitRootLogin yes\nSubsystem netconf {' '.join(COMMAND)} relay --unix-socket {gateway.socket}\n"
    )
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin")
    assert program is not None
    log = folder / "sshd.log"
    with log.open("w") as output, subprocess.Popen(
        [program, "-D", "-e", "-f", str(folder / "sshd_config")], stdin=subprocess.DEVNULL, stderr=output
    ) as process:  # fmt: skip
        try:
            until(lambda: "listening" in log.read_text() or process.poll() is not None, "sshd listens")
            assert process.poll() is None, log.read_text()
            yield port
        finally:
            process.terminate()
            process.wait(DEADLINE)


@pytest.fixture
def client(gateway: Gateway, sshd: int) -> Iterator[Client]:
    """Return a session of the field's own client through sshd."""
    client = connect_ssh(sshd, username=getpass.getuser(), key_filename=str(gateway.folder / "key"))
    yield client
    client.close()


def ssh(gateway: Gateway, port: int, user: str) -> list[str]:
    """Return the command line of OpenSSH's client for a NETCONF session."""
    known = gateway.folder / "known_hosts"
    options = ("BatchMode=yes", "StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={known}", "IdentitiesOnly=yes")
    flags = [word for option in options for word in ("-o", option)]
    key = str(gateway.folder / "key")
    return ["ssh", "-F", "none", *flags, "-i", key, "-p", str(port), "-s", f"{user}@127.0.0.1", "netconf"]


def talk(command: list[str], *operations: str) -> list[Any]:
    """Send a hello and operations at once, and return what comes back until the end."""
    messages = [HELLO]
    for number, operation in enumerate(operations, 1):
        messages.append(f'<rpc xmlns="{NETCONF}" message-id="{number}">{operation}</rpc>'.encode())
    done = subprocess.run(
        command,
        input=b"".join(message + END for message in messages),
        capture_output=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr.decode()
    *replies, rest = done.stdout.split(END)
    assert rest == b""
    return [etree.fromstring(reply) for reply in replies]


def test_a_commit_through_opensshs_server(gateway: Gateway, client: Client) -> None:
    client.edit(enabled())
    client.commit()
    assert gateway.commands() == ["ipsec stop", "qat_service start", "ipsec start"]
    assert client.leafs(qat("<device><oper-status/></device>"), "oper-status") == [["up"]]
    state = client.get(f'<netconf-state xmlns="{MONITORING}"><sessions/></netconf-state>')
    (entry,) = state.iter(f"{{{MONITORING}}}session")
    assert entry.findtext(f"{{{MONITORING}}}username") == getpass.getuser()
    assert str(entry.findtext(f"{{{MONITORING}}}transport")).endswith(":netconf-unix")


def test_a_client_that_vanishes_behind_opensshs_server_frees_its_lock(gateway: Gateway, client: Client) -> None:
    client.manager.lock("candidate")
    other = gateway.connect()
    assert other.refused(other.manager.lock, "candidate").info == {"session-id": str(client.id)}
    client.drop()
    until(lambda: other.refused_or_none(other.manager.lock, "candidate") is None, "the lock is free")
    gateway.disconnect()


def test_opensshs_client_through_opensshs_server(gateway: Gateway, sshd: int) -> None:
    command = ssh(gateway, sshd, getpass.getuser())
    hello, first, second, last = talk(
        command,
        "<get-config><source><running/></source></get-config>",
        f'<get><filter><acceleration xmlns="{HA}"><qat><device><family/></device></qat></acceleration></filter></get>',
        "<close-session/>",
    )
    assert hello.findtext(f"{{{NETCONF}}}session-id") is not None
    assert first.find(f"{{{NETCONF}}}data") is not None
    assert second.findtext(f".//{{{HA}}}family") == "hat:c6xx"
    assert last.find(f"{{{NETCONF}}}ok") is not None
    assert [reply.get("message-id") for reply in (first, second, last)] == ["1", "2", "3"]


def test_opensshs_client_against_the_agents_own_server(gateway: Gateway) -> None:
    command = ssh(gateway, gateway.port, "operator")
    hello, reply, last = talk(command, "<get-config><source><candidate/></source></get-config>", "<close-session/>")
    assert etree.QName(hello).localname == "hello"
    assert reply.find(f"{{{NETCONF}}}data") is not None
    assert last.find(f"{{{NETCONF}}}ok") is not None
    # The end of input is an end, too, and not before everything is answered.
    assert len(talk(command, *["<get-config><source><candidate/></source></get-config>"] * 20)) == 21


def test_opensshs_client_is_told_when_it_may_not_log_in(gateway: Gateway) -> None:
    done = subprocess.run(
        ssh(gateway, gateway.port, "nobody"), input=b"", capture_output=True, check=False, timeout=DEADLINE
    )
    assert done.returncode == 255
    assert b"Permission denied" in done.stderr
