"""What an agent begins with: a group that may do everything, stored once and never overwritten."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING

import pytest

from tests.system.client import NACM, USER, enabled

if TYPE_CHECKING:
    from tests.system.client import Client
    from tests.system.gateway import Gateway


def members(client: Client, source: str = "running") -> dict[str, list[str | None]]:
    """Return the users of each group."""
    found = client.config(source, f'<nacm xmlns="{NACM}"><groups/></nacm>')
    return {
        group.findtext(f"{{{NACM}}}name") or "": [user.text for user in group.iter(f"{{{NACM}}}user-name")]
        for group in found.iter(f"{{{NACM}}}group")
    }


@pytest.mark.parametrize("persistence", ["running", "startup"])
def test_the_first_start_stores_who_may_do_everything(gateway: Gateway, persistence: str) -> None:
    gateway.settings.write_text(f'[datastore]\npersistence = "{persistence}"\n')
    own = [] if os.geteuid() == 0 else [getpass.getuser()]
    client = gateway.build("c6xx@3d:00.0").start().connect("ssh")
    assert members(client) == {"admin": sorted({USER, *own})}
    client.apply(enabled())
    if persistence == "startup":
        assert members(client, "startup") == members(client)


def test_what_is_stored_is_never_overwritten(gateway: Gateway) -> None:
    gateway.build().start()
    root = gateway.connect()
    other = f"<group><name>admin</name><user-name>{getpass.getuser()}</user-name></group>"
    none = f'<nacm xmlns="{NACM}"><groups xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="replace">'
    root.apply(f"{none}{other}</groups></nacm>")
    gateway.stop()
    gateway.start()
    assert members(gateway.connect()) == {"admin": [getpass.getuser()]}


def test_an_empty_configuration_that_was_committed_stays_empty(gateway: Gateway) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can still see it")
    gateway.build().start()
    root = gateway.connect()
    root.apply(f'<nacm xmlns="{NACM}" xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="remove"/>')
    gateway.stop()
    gateway.start()
    assert members(gateway.connect()) == {}
