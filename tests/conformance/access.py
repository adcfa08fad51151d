"""An agent with users whose keys it knows, and access control rules as elements."""

from __future__ import annotations

import getpass
from contextlib import contextmanager
from typing import TYPE_CHECKING

import paramiko

from tests.conformance.agents import serving
from tests.conformance.session import Session
from tests.system.client import NACM, USER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conformance.agents import Agent

# None is a user of any machine, but nobody is one of every machine: for groups that the transport knows of.
USERS = ("ada", "bob", "nobody")
ITEMS = "<item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>"


class Guarded:
    """An agent, and sessions of users: ``root`` is one that may do everything."""

    def __init__(self, agent: Agent, key: paramiko.PKey) -> None:
        self.agent = agent
        self.root = agent.session()
        self._key = key
        self._connections: list[paramiko.Transport] = []

    def user(self, name: str = "ada") -> Session:
        """Open a session of a user over SSH."""
        connection = paramiko.Transport(("127.0.0.1", self.agent.gateway.port))
        self._connections.append(connection)
        connection.connect(username=name, pkey=self._key)
        channel = connection.open_session()
        channel.invoke_subsystem("netconf")
        return Session(None, channel=channel)

    def configure(self, *rule_lists: str, content: str = "", more: str = "") -> None:
        """Make rules and content all of running; ada is of group ``limited``, bob of ``limited`` and ``second``.

        Whoever runs the tests stays one who may do everything.
        """
        groups = {"admin": (getpass.getuser(), USER), "limited": ("ada", "bob"), "second": ("bob",)}
        members = "".join(
            f"<group><name>{name}</name>{''.join(f'<user-name>{user}</user-name>' for user in users)}</group>"
            for name, users in groups.items()
        )
        nacm = f"{more}<groups>{members}</groups>{rules('admin', permit(), group='admin')}{''.join(rule_lists)}"
        config = f'<config><nacm xmlns="{NACM}">{nacm}</nacm>{content}</config>'
        self.root.ok(
            "<discard-changes/>",
            f"<copy-config><target><candidate/></target><source>{config}</source></copy-config>",
            "<commit/>",
        )

    def close(self) -> None:
        """End the users' sessions."""
        while self._connections:
            self._connections.pop().close()


def rules(name: str, *found: str, group: str = "limited") -> str:
    """Return a rule-list."""
    numbered = "".join(text.replace("<rule>", f"<rule><name>{number}</name>", 1) for number, text in enumerate(found))
    return f"<rule-list><name>{name}</name><group>{group}</group>{numbered}</rule-list>"


def permit(content: str = "", *, operations: str = "*") -> str:
    """Return a rule that permits what ``content`` tells, everything by default."""
    return _rule(content, operations, "permit")


def deny(content: str = "", *, operations: str = "*") -> str:
    """Return a rule that denies."""
    return _rule(content, operations, "deny")


def path(text: str) -> str:
    """Return a rule's path, in which e is module t's prefix."""
    return f'<path xmlns:e="urn:example:t">{text}</path>'


def denied(where: str = "") -> str:
    """Return access-denied for data below module t's ``top``."""
    return f"application/access-denied @/t:top{''.join(f'/t:{name}' for name in where.split('/') if name)}"


@contextmanager
def guarded(folder: Path, *, users: tuple[str, ...] = USERS) -> Iterator[Guarded]:
    """Serve a machine to the users."""
    key = paramiko.ECDSAKey.generate()
    keys = folder / "keys"
    keys.mkdir()
    for name in users:
        (keys / name).write_text(f"{key.get_name()} {key.get_base64()}\n")
    with serving(folder, settings=f'[ssh]\nauthorized-keys = "{keys}/%u"\n') as agent:
        yield Guarded(agent, key)


def _rule(content: str, operations: str, action: str) -> str:
    wanted = f"<access-operations>{operations}</access-operations>"
    return f"<rule>{content}{wanted}<action>{action}</action></rule>"
