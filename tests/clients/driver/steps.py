"""What every client does, and how its script says what came of it.

It runs in the client's own environment, so it uses the standard library only. The first line of standard input is what
the script has to know (JSON); after each step it prints a line of JSON and waits for one, so that the gateway can be
looked at from elsewhere before it goes on.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Protocol
from xml.etree import ElementTree as ET

NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
HA = "urn:accel-agent:hardware-acceleration"


def qat(content: str) -> str:
    """Return content below /acceleration/qat."""
    return f'<acceleration xmlns="{HA}"><qat>{content}</qat></acceleration>'


STATE = qat("<device><oper-status/></device>")
INTERVAL = qat("<health><interval/></health>")
SLOWER = qat("<health><interval>19</interval></health>")
CHANGES = '<netconf-config-change xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"/>'
ON = qat("<enabled>true</enabled>")
OFF = qat("<enabled>false</enabled>")
# Not a number: the model refuses it, with invalid-value and the leaf's path.
WRONG = qat("<health><interval>soon</interval></health>")


@dataclass(frozen=True)
class Gateway:
    """Where the agent is and how to log in.

    ``hostkeys`` are base64 by kind, and all are in ``known_hosts``; ``key`` is a private key that may log in, too. The
    command ``sshd`` serves one connection of a private sshd on its input and output, for ``sshd_user`` with that key.
    """

    host: str
    port: int
    user: str
    password: str
    known_hosts: str
    hostkeys: dict[str, str]
    key: str
    sshd: str
    sshd_user: str
    folder: str


class Client(Protocol):
    """A client. Retrievals return text with the reply's content in it; what the agent refuses raises."""

    def open(self) -> dict[str, Any]:
        """Connect; return ``session_id`` and ``capabilities`` where the client tells them."""

    def get(self, content: str) -> str:
        """Retrieve state with a subtree filter."""

    def get_config(self, content: str) -> str:
        """Retrieve running with a subtree filter."""

    def lock(self) -> None:
        """Lock candidate."""

    def edit(self, content: str) -> None:
        """Edit candidate."""

    def refused(self, content: str) -> dict[str, Any]:
        """Edit candidate, which the agent refuses; return what ``seen`` it is, its tag, path and message."""

    def validate(self) -> None:
        """Validate candidate."""

    def commit(self) -> None:
        """Commit."""

    def unlock(self) -> None:
        """Unlock candidate."""

    def close(self) -> None:
        """Close the session as the protocol says."""


def gateway() -> Gateway:
    """Read what the script has to know."""
    return Gateway(**json.loads(sys.stdin.readline()))


def say(step: str, how: str = "api", **found: object) -> None:
    """Tell what came of a step, and wait until the gateway was looked at."""
    sys.stdout.write(json.dumps({"step": step, "how": how, **found}) + "\n")
    sys.stdout.flush()
    if not sys.stdin.readline():
        sys.exit("nobody listens any more")


def parse(text: str) -> ET.Element:
    """Return the root of what the agent sent, for clients that give text."""
    return ET.fromstring(text.encode())  # noqa: S314 - sent by the agent that is under test


def fields(error: Any) -> dict[str, str | None]:
    """Return what is looked at in an rpc-error."""
    return {name: error.findtext(f"{{*}}error-{name}") for name in ("tag", "path", "message")}


def run(client: Client, *, by_rpc: tuple[str, ...] = ()) -> None:
    """Do everything, in order: acceleration is switched on under a lock, then off.

    ``by_rpc`` are the steps that the client has no function for, so that they go through the one for any rpc.
    """

    def tell(step: str, **found: object) -> None:
        say(step, "rpc" if step in by_rpc else "api", **found)

    found = client.open()
    tell("hello", **found)
    tell("get", text=client.get(STATE))
    tell("get-config", text=client.get_config(INTERVAL))
    client.lock()
    tell("lock")
    client.edit(ON)
    tell("edit-config")
    tell("error", **client.refused(WRONG))
    client.validate()
    tell("validate")
    client.commit()
    tell("commit")
    client.unlock()
    tell("unlock")
    tell("up", text=client.get(STATE))
    client.edit(OFF)
    client.commit()
    tell("off")
    tell("down", text=client.get(STATE))
    client.close()
    tell("close")
