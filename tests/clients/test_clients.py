"""A dozen clients that nobody here wrote, each in an environment of its own, unmodified, against the real agent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.observer import Observer
from tests.system.client import USER

if TYPE_CHECKING:
    from tests.clients.conftest import Drive
    from tests.system.gateway import Gateway

STEPS = (
    "hello", "get", "get-config", "lock", "edit-config", "error", "validate", "commit", "unlock", "up", "off", "down",
    "close",
)  # fmt: skip
TABLE = Path(__file__).parents[2] / "docs/clients.md"


@dataclass(frozen=True, slots=True)
class Client:
    """A row of the table in docs/clients.md: ``folder`` holds its script, ``needs`` are programs of the machine."""

    name: str
    folder: str
    arguments: tuple[str, ...] = ()
    script: str = "drive.py"
    needs: tuple[str, ...] = ()


CLIENTS = (
    Client("ncclient", "ncclient"),
    Client("netconf-client", "netconf_client"),
    Client("scrapli-netconf, paramiko", "scrapli_netconf", ("paramiko",)),
    Client("scrapli-netconf, asyncssh", "scrapli_netconf", ("asyncssh",)),
    Client("scrapli, ssh2", "scrapli", ("ssh2",)),
    Client("scrapli, bin", "scrapli", ("bin",), needs=("ssh",)),
    Client("netconf", "netconf"),
    Client("nornir-netconf", "nornir"),
    Client("Ansible", "ansible"),
    Client("netconf-console2", "netconf_console"),
    Client("node-netconf", "node_netconf", script="drive.js", needs=("node", "npm")),
    Client("pyNetX", "pynetx"),
    Client("yang.ncdiff", "ncdiff"),
    Client("yangcli", "yangcli", needs=("yangcli",)),
    Client("ssh -s", "openssh", ("direct",), needs=("ssh",)),
    Client("ssh -s, sshd", "openssh", ("sshd",), needs=("ssh", "sshd", "root")),
)


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(client, id=re.sub(r"\W+", "-", client.name), marks=pytest.mark.clients(client.folder))
        for client in CLIENTS
    ],
)
def test_a_client_switches_acceleration_on_and_off(client: Client, gateway: Gateway, drive: Drive) -> None:
    conversation = drive(client.folder, *client.arguments, script=client.script, needs=client.needs)
    observer = Observer(gateway, conversation.gateway["sshd_user"] if "sshd" in client.arguments else USER)
    how: dict[str, str] = {}
    for step in STEPS:
        said = conversation.listen()
        assert said["step"] == step, said
        observer.look(said)
        how[step] = said["how"]
        conversation.go_on()
    conversation.end()
    for step in ("up", "off", "down"):
        del how[step]
    assert how == described()[client.name]


def described() -> dict[str, dict[str, str]]:
    """Return how docs/clients.md says that a client does its steps, by client."""
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    _client, _version, *steps = rows[0]
    found = {}
    for name, _version, *cells in rows[2 : 2 + len(CLIENTS)]:
        how = dict(zip(steps, cells, strict=True))
        how["unlock"] = how["lock"]
        found[name] = {step: {"✓": "api"}.get(cell, cell) for step, cell in how.items()}
    return found


def test_every_client_has_its_row() -> None:
    assert list(described()) == [client.name for client in CLIENTS]
