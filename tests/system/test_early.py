"""A device before generation 4 with the kernel's own driver: nothing can bring it up or down, and that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import faults
from tests.system.client import HA, device, enabled, qat, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.client import Client
    from tests.system.gateway import Gateway

ADDRESS = "0000:3d:00.0"
ENTRY = f"/ha:acceleration/ha:qat/ha:device[ha:address='{ADDRESS}']"


@pytest.fixture
def early(gateway: Gateway) -> Iterator[Gateway]:
    """Return a served machine with one device that is up, whose files are as the kernel's driver shows them."""
    gateway.build(f"c6xx@{ADDRESS}", in_tree=True)
    with simulator.serving(gateway.root):
        yield gateway.start()
        gateway.stop()


def state(client: Client) -> dict[str, str | None]:
    leafs = client.get(qat(f"<active/>{device(ADDRESS, '<oper-status/><status-reason/><driver/><flows/>')}")).iter()
    return {str(leaf.tag).removeprefix(f"{{{HA}}}"): leaf.text for leaf in leafs if not len(leaf)}


def test_its_state_is_told(early: Gateway) -> None:
    found = state(early.connect())
    assert (found["oper-status"], found["active"], found["kind"]) == ("up", "true", "in-tree")
    assert int(found["requests"] or "") >= 0
    assert "status-reason" not in found


def test_enabling_finds_it_up_and_disabling_leaves_it_up_and_both_are_told(early: Gateway) -> None:
    client = early.connect()
    for value in (True, False):
        client.edit(enabled(value))
        reply = client.rpc(f'<plan xmlns="{HA}"><source>candidate</source></plan>')
        notes = [note.text or "" for note in reply.iter(f"{{{HA}}}note")]
        assert client.plan() == []
        assert any("the kernel's driver has no switch for 0000:3d:00.0" in note for note in notes), notes
        client.commit()
        assert (state(client)["oper-status"], state(client)["active"]) == ("up", "true")
    assert early.commands() == []


def test_what_would_take_a_switch_is_refused_with_the_reason(early: Gateway) -> None:
    client = early.connect()
    for leaf in ("<enabled>false</enabled>", "<services>sym</services>"):
        refusal = client.refused(client.edit, enabled(more=device(ADDRESS, leaf)))
        name = leaf[1:].partition(">")[0]
        assert refusal.kind == ("application", "operation-failed", "driver-mismatch", f"{ENTRY}/ha:{name}")
        assert "the kernel's driver has no switch for 0000:3d:00.0" in refusal.message
    refusal = client.refused(
        client.rpc, f'<action xmlns="urn:ietf:params:xml:ns:yang:1">{qat(device(ADDRESS, "<restart/>"))}</action>'
    )
    assert "can't be restarted: the kernel's driver has no switch" in refusal.message
    assert client.config_text() == ""
    assert early.commands() == []


def test_one_that_went_down_is_told_as_down_and_can_not_be_enabled(early: Gateway) -> None:
    client = early.connect()
    faults.down(early.root, ADDRESS)
    until(lambda: state(client)["oper-status"] == "down", "it goes down")
    assert state(client)["active"] == "false"
    refusal = client.refused(client.edit, enabled())
    assert refusal.kind == ("application", "operation-failed", "driver-mismatch", "/ha:acceleration/ha:qat/ha:enabled")
    assert "is down and can't be brought up: the kernel's driver has no switch" in refusal.message
    assert "unload its module qat_c62x and load it again" in refusal.message
