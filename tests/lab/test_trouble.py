"""Commits through an agent that fail, or that find something wrong: IPsec is back afterwards, or was not touched."""

import signal
from pathlib import Path

import simulator.faults
from tests.conformance.notifications import hear, name_of, quiet
from tests.conformance.session import chunked, rpc, text_of
from tests.lab.gateway import VICI
from tests.lab.namespace import until
from tests.lab.served import Served, acceleration
from tests.lab.site import Pings

REFRESH = "/ha:acceleration/ha:qat/ha:ipsec-refresh"
RUNNING = "<get-config><source><running/></source></get-config>"
STALE = f"import os, socket; os.unlink('{VICI}'); socket.socket(socket.AF_UNIX).bind('{VICI}')"


def refused(served: Served, content: str) -> str:
    """Ask for what has to be refused, with the path of ipsec-refresh, and return its text."""
    reply = served.session.ask(content)
    assert reply[0].findtext("{*}error-path") == REFRESH, text_of(reply)
    return reply[0].findtext("{*}error-message") or ""


def broken_off(served: Served, number: signal.Signals) -> str:
    """Send charon a signal while the driver starts for a rekey, and return what the commit's failure says."""
    running = served.session.data(RUNNING)
    served.accelerate("rekey")
    # It answers while the commit is prepared, and no more when the tunnels are to be rekeyed.
    simulator.faults.delay(served.gateway.root, "qat_service", "start", 3.0)
    served.session.send(chunked(rpc("<commit/>")))
    until(lambda: "qat_service start" in served.gateway.commands(), "the driver is being started")
    served.signal_charon(number)
    reply = text_of(served.session.reply())
    assert "running is unchanged" in reply
    assert served.session.data(RUNNING) == running
    assert len(served.spis()) == 2
    assert served.gateway.up() == set()
    method, outcome, duration, *rest = served.told()
    assert (method, outcome, *rest) == ("restart", "succeeded", "1", "1", "")
    assert int(duration or "") < 30_000
    return reply


def test_a_driver_that_does_not_start_touches_no_tunnel_by_a_rekey(served: Served, tmp_path: Path) -> None:
    before, running = served.spis(), served.session.data(RUNNING)
    simulator.faults.fail(served.gateway.root, "qat_service", "start", "no firmware")
    pings = Pings(served.ipsec, tmp_path / "pings")
    served.accelerate("rekey")
    assert served.session.outcome("<commit/>").startswith("application/operation-failed")
    assert served.session.data(RUNNING) == running
    pings.wait(20)
    assert pings.end() == (0, 0.0)
    assert served.spis() == before
    quiet(served.listener)


def test_a_driver_that_does_not_start_leaves_a_restarted_tunnel_back(served: Served) -> None:
    before = served.spis()
    simulator.faults.fail(served.gateway.root, "qat_service", "start", "no firmware")
    served.accelerate("restart")
    assert served.session.outcome("<commit/>").startswith("application/operation-failed")
    after = served.spis()
    assert len(after) == 2
    assert before.isdisjoint(after)
    method, outcome, _duration, *rest = served.told()
    assert (method, outcome, *rest) == ("restart", "succeeded", "1", "1", "")


def test_a_charon_that_hangs_fails_the_rekey_within_its_deadline(served: Served) -> None:
    assert "charon did not answer" in broken_off(served, signal.SIGSTOP)


def test_a_charon_that_dies_fails_the_rekey_and_runs_again(served: Served) -> None:
    assert "nothing listens at the socket: charon died" in broken_off(served, signal.SIGKILL)


def test_a_charon_that_hangs_is_not_rekeyed_and_can_be_restarted(served: Served) -> None:
    before = served.spis()
    served.signal_charon(signal.SIGSTOP)
    said = refused(served, acceleration("rekey"))
    assert "charon can't be asked for it" in said
    assert "did not answer list-sas within 2 s. Nothing is done. Have charon restarted by" in said
    # It is remembered: the next edits do not wait for it again.
    assert "did not answer within 2 s a moment ago, and still does not" in refused(served, acceleration("rekey"))
    assert served.gateway.commands() == []
    served.accelerate("restart")
    note = text_of(served.session.ask('<plan xmlns="urn:accel-agent:hardware-acceleration"/>'))
    assert "which tunnels the restart interrupts can't be told" in note
    served.session.ok("<commit/>")
    # It could not be asked which tunnels there were: nobody waits for them.
    served.wait_up()
    assert before.isdisjoint(served.spis())
    assert served.told()[:2] == ("restart", "succeeded")


def test_acceleration_can_be_switched_off_while_charon_hangs(served: Served) -> None:
    served.accelerate("rekey")
    served.session.ok("<commit/>")
    assert served.told()[:2] == ("rekey", "succeeded")
    served.signal_charon(signal.SIGSTOP)
    served.session.ok(acceleration("rekey", enabled=False), "<commit/>")
    assert served.gateway.up() == set()
    assert served.told()[:2] == ("restart", "succeeded")
    served.wait_up()


def test_a_socket_that_was_taken_from_charon_is_not_asked_for_a_rekey(served: Served) -> None:
    before = served.spis()
    served.ipsec.machine.run("python3", "-c", STALE)
    said = refused(served, acceleration("rekey"))
    assert "nothing listens at the socket: charon died, or its socket was taken over. Nothing is done" in said
    served.accelerate("restart")
    served.session.ok("<commit/>")
    served.wait_up()
    assert before.isdisjoint(served.spis())
    assert served.told()[:2] == ("restart", "succeeded")


def test_a_charon_that_is_dead_is_left_alone_with_its_socket(served: Served) -> None:
    served.signal_charon(signal.SIGKILL)
    until(lambda: not served.ipsec.machine.processes("charon-systemd"), "charon is dead")
    served.accelerate("rekey")
    served.session.ok("<commit/>")
    assert served.gateway.up() == {"0000:3d:00.0"}
    assert served.ipsec.machine.processes("charon-systemd") == []
    told = [name_of(hear(served.listener)) for _ in range(2)]
    assert told == ["device-state-change", "acceleration-change"]
    quiet(served.listener)
