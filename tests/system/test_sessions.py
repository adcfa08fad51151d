"""Several clients at once: commits one after the other, and clients that vanish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import simulator
from tests.system.client import MONITORING, NETCONF, device, enabled, until

if TYPE_CHECKING:
    from tests.system.client import Client
    from tests.system.gateway import Gateway

ADDRESS = "0000:3d:00.0"
ENABLING = ["ipsec stop", "qat_service start", "ipsec start"]
TOUCHED = enabled(more="<ipsec-refresh>none</ipsec-refresh>")


def lock(client: Client, *targets: str) -> None:
    for target in targets:
        client.manager.lock(target)


def locks(client: Client) -> dict[str, str]:
    """Return which session holds which datastore's lock."""
    state = client.get(f'<netconf-state xmlns="{MONITORING}"><datastores/></netconf-state>')
    prefix = f"{{{MONITORING}}}"
    return {
        str(entry.findtext(f"{prefix}name")): owner
        for entry in state.iter(f"{prefix}datastore")
        if (owner := entry.findtext(f".//{prefix}locked-by-session")) is not None
    }


@pytest.fixture
def slow(gateway: Gateway) -> Gateway:
    """Return a served machine whose driver takes its time to start."""
    gateway.build(f"c6xx@{ADDRESS}").start()
    simulator.faults.delay(gateway.root, "qat_service", "start", 0.4)
    return gateway


def test_two_commits_at_once_are_done_one_after_the_other_each_with_its_own_result(slow: Gateway) -> None:
    simulator.faults.fail(slow.root, "qat_service", "start", "the first one fails", times=1)
    first, second = slow.connect("ssh"), slow.connect("unix")
    first.edit(enabled())
    one = first.start_commit()
    until(lambda: "qat_service start" in slow.commands(), "the first commit is under way")
    other = second.start_commit()
    assert not one.done
    # While they are, others are served.
    assert second.transport == "unix"
    assert slow.connect().config_text() == ""
    refusal = one.result()
    assert refusal is not None
    assert "the first one fails" in refusal.message
    assert other.result() is None
    assert slow.commands() == ENABLING * 2
    assert slow.condition()[1:] == ({ADDRESS}, True)
    assert first.config_text() == second.config_text() == enabled()


def test_what_is_edited_during_a_commit_waits_for_the_next(slow: Gateway) -> None:
    first, second = slow.connect(), slow.connect()
    first.edit(enabled())
    one = first.start_commit()
    until(lambda: "qat_service start" in slow.commands(), "the first commit is under way")
    second.edit(device_services("dc"))
    other = second.start_commit()
    assert one.result() is None
    assert slow.connect().config_text() in (enabled(), _with_services("dc"))
    assert other.result() is None
    assert first.config_text() == _with_services("dc")
    assert "ServicesEnabled = dc" in slow.conf("c6xx_dev0.conf")
    assert slow.commands() == [*ENABLING, "ipsec stop", "qat_service restart", "ipsec start"]


@pytest.mark.parametrize("fails", [False, True], ids=["finishes", "is undone"])
def test_a_commit_of_a_client_that_vanishes(slow: Gateway, transport: str, fails: bool) -> None:
    if fails:
        simulator.faults.lie(slow.root, "qat_service", "start", "no luck", times=1)
        simulator.faults.fail(slow.root, "qat_service", "start", "no luck", times=1)
    before = slow.condition()
    client, witness = slow.connect(transport), slow.connect()
    lock(client, "running", "candidate")
    client.edit(enabled())
    client.start_commit()
    until(lambda: "qat_service start" in slow.commands(), "the commit is under way")
    client.drop()
    # The locks are held as long as the commit takes.
    denied = witness.refused(witness.manager.lock, "running")
    assert (denied.type, denied.tag) == ("protocol", "lock-denied")
    assert denied.info == {"session-id": str(client.id)}
    assert witness.refused(witness.edit, TOUCHED).tag == "in-use"
    until(lambda: locks(witness) == {}, "the locks are freed")
    if fails:
        assert slow.condition() == before
        assert witness.config_text("running") == ""
    else:
        assert slow.condition() == (before[0], {ADDRESS}, True)
        assert witness.config_text("running") == enabled()
    assert slow.commands() == ENABLING
    assert witness.config_text("candidate") == witness.config_text("running")
    lock(witness, "running", "candidate")
    assert set(locks(witness).values()) == {str(witness.id)}


def test_edits_of_a_client_that_vanishes_are_discarded_if_it_held_the_lock(gateway: Gateway, transport: str) -> None:
    gateway.build(f"c6xx@{ADDRESS}").start()
    witness = gateway.connect()
    client = gateway.connect(transport)
    lock(client, "candidate")
    client.edit(enabled())
    assert witness.config_text("candidate") == enabled()
    client.drop()
    until(lambda: locks(witness) == {}, "the lock is freed")
    assert witness.config_text("candidate") == ""
    # Without a lock candidate is everybody's, and stays.
    client = gateway.connect(transport)
    client.edit(enabled())
    sessions = (
        f'<netconf-state xmlns="{MONITORING}"><sessions><session><session-id/></session></sessions></netconf-state>'
    )
    client.drop()
    until(lambda: len(list(witness.get(sessions).iter(f"{{{MONITORING}}}session"))) == 1, "the session ends")
    assert witness.config_text("candidate") == enabled()
    assert gateway.commands() == []


def test_a_client_that_is_killed_in_the_middle_of_a_commit(slow: Gateway) -> None:
    client, other = slow.connect("ssh"), slow.connect()
    lock(client, "candidate")
    client.edit(enabled())
    client.start_commit()
    until(lambda: "qat_service start" in slow.commands(), "the commit is under way")
    other.rpc(f'<kill-session xmlns="{NETCONF}"><session-id>{client.id}</session-id></kill-session>')
    until(lambda: locks(other) == {}, "the lock is freed")
    assert slow.commands() == ENABLING
    assert other.config_text() == enabled()


def test_an_agent_that_is_stopped_finishes_the_commit_first(slow: Gateway) -> None:
    client = slow.connect()
    client.edit(enabled())
    client.start_commit()
    until(lambda: "qat_service start" in slow.commands(), "the commit is under way")
    slow.stop()
    assert slow.commands() == ENABLING
    assert slow.condition()[1:] == ({ADDRESS}, True)
    assert enabled().encode() in slow.stored
    assert not (slow.state / "journal.json").exists()


def device_services(services: str) -> str:
    return enabled(more=device(ADDRESS, f"<services>{services}</services>"))


def _with_services(services: str) -> str:
    return device_services(services)
