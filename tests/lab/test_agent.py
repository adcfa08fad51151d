"""Commits through an agent, from the client's request to the packets of a tunnel."""

import contextlib
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import simulator.faults
from tests.conformance.notifications import HA, create, hear, quiet
from tests.conformance.session import Session, chunked, rpc, text_of
from tests.lab.conftest import MakeSite
from tests.lab.gateway import Actions
from tests.lab.namespace import until
from tests.lab.served import Served
from tests.lab.site import Pings, Site
from translators.ipsec.tunnels import child_sas, up
from translators.ipsec.vici import Charon

REFRESH = re.compile(
    r"<ipsec-refresh><method>(\w+)</method><outcome>(\w+)</outcome><duration>(\d+)</duration>"
    r"<tunnels-before>(\d+)</tunnels-before><tunnels-after>(\d+)</tunnels-after>(.*)</ipsec-refresh>"
)
REKEYED = re.compile(
    r"<ipsec-tunnel-change><connection>site</connection><child>tunnel-0</child><change>rekeyed</change>"
    r"<id>(\d+)</id><old-id>(\d+)</old-id><remote-address>10.200.0.2</remote-address></ipsec-tunnel-change>"
)
RUNNING = "<get-config><source><running/></source></get-config>"


def told(served: Served) -> tuple[str, ...]:
    """Return the values of the next notification, which is of a refresh."""
    message = hear(served.listener)
    found = REFRESH.fullmatch(message)
    assert found, message
    return found.groups()


def serve(site: Site, folder: Path) -> Served:
    """Return an agent for the left gateway, whose charon runs and has its tunnel once this side or the peer begins."""
    served = Served(site, folder)
    if site.right.actions.start == "start":
        served.start_charon()
        site.right.start()
    else:
        site.right.start()
        served.start_charon()
    site.wait_up()
    return served


@pytest.fixture
def served(make_site: MakeSite, tmp_path: Path) -> Iterator[Served]:
    """Return an agent whose gateway has begun its tunnel."""
    with serve(make_site(Actions(start="start"), Actions()), tmp_path / "gateway") as served:
        yield served


def test_a_rekey_loses_no_packet_and_is_over_with_the_reply(served: Served, tmp_path: Path) -> None:
    before = served.spis()
    pings = Pings(served.ipsec, tmp_path / "pings")
    served.accelerate("rekey")
    served.session.ok("<commit/>")
    after = served.spis()
    pings.wait(100)
    assert pings.end() == (0, 0.0)
    assert len(after) == 2
    assert before.isdisjoint(after)
    assert served.gateway.up() == {"0000:3d:00.0"}
    method, outcome, _duration, *rest = told(served)
    assert (method, outcome, *rest) == ("rekey", "succeeded", "1", "1", "")


def test_a_restart_is_answered_when_the_tunnel_is_back_and_its_outage_is_told(served: Served, tmp_path: Path) -> None:
    before = served.spis()
    # As long as a real driver takes; that charon is seen to stay counts too, and would be much of a shorter outage.
    simulator.faults.delay(served.gateway.root, "qat_service", "start", 2.0)
    pings = Pings(served.ipsec, tmp_path / "pings")
    served.accelerate("restart")
    served.session.ok("<commit/>")
    after = served.spis()
    pings.wait(50)
    lost, outage = pings.end()
    assert lost > 0
    assert len(after) == 2
    assert before.isdisjoint(after)
    method, outcome, duration, *rest = told(served)
    assert (method, outcome, *rest) == ("restart", "succeeded", "1", "1", "")
    assert abs(int(duration) / 1000 - outage) <= 0.25 * outage, (duration, outage)


def test_a_tunnel_that_its_peer_does_not_begin_again_is_named(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site(Actions(), Actions(start="start", close="none"))
    with serve(site, tmp_path / "gateway") as served:
        served.accelerate("restart")
        served.session.ok("<commit/>")
        method, outcome, duration, before, after, missing = told(served)
        assert (method, outcome, before, after) == ("restart", "partial", "1", "0")
        assert int(duration) >= 15_000
        assert missing.startswith("<missing-tunnel><name>site/tunnel-0</name><reason>the peer had begun it and has not")
        assert "WARNING agent.commit: IPsec was restarted" in served.gateway.log.read_text()


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
    method, outcome, _duration, *rest = told(served)
    assert (method, outcome, *rest) == ("restart", "succeeded", "1", "1", "")


def test_a_charon_that_hangs_fails_the_rekey_within_its_deadline(served: Served) -> None:
    running = served.session.data(RUNNING)
    served.accelerate("rekey")
    # It answers while the commit is prepared, and no more when the tunnels are to be rekeyed.
    simulator.faults.delay(served.gateway.root, "qat_service", "start", 3.0)
    served.session.send(chunked(rpc("<commit/>")))
    until(lambda: "qat_service start" in served.gateway.commands(), "the driver is being started")
    served.ipsec.machine.run("sh", "-c", f"kill -{int(signal.SIGSTOP)} $(cat /run/ike.pid)")
    reply = text_of(served.session.reply())
    assert "charon did not answer" in reply
    assert "running is unchanged" in reply
    assert served.session.data(RUNNING) == running
    assert len(served.spis()) == 2
    assert served.gateway.up() == set()
    method, outcome, duration, *rest = told(served)
    assert (method, outcome, *rest) == ("restart", "succeeded", "1", "1", "")
    assert int(duration) < 30_000


def rekeyed(served: Served, listener: Session) -> tuple[str, ...]:
    """Rekey the tunnel until that is told: whoever listens may not have reached charon yet. Return both numbers."""
    charon = Charon(served.ipsec.host)
    for _ in range(10):
        with contextlib.suppress(TimeoutError):
            charon.rekey(up(child_sas(charon))["site", "tunnel-0"].identity)
            while True:
                found = REKEYED.fullmatch(hear(listener))
                if found:
                    return found.groups()
    raise AssertionError("no rekeying was told")


def test_what_becomes_of_a_tunnel_is_told_also_after_charon_was_away(served: Served) -> None:
    listener = Session(served.gateway.socket)
    listener.ok(create(f'<filter type="subtree"><ipsec-tunnel-change xmlns="{HA}"/></filter>'))
    listener.channel.settimeout(2.0)
    new, old = rekeyed(served, listener)
    assert int(new) > int(old)
    served.ipsec.machine.run("sh", "-c", "kill -9 $(cat /run/ike.pid)")
    served.start_charon()
    served.wait_up()
    rekeyed(served, listener)
    listener.close()


def test_a_plan_names_the_tunnels_and_warns_who_comes_through_one(served: Served) -> None:
    served.accelerate("restart")
    plan = served.session.ask(f'<plan xmlns="{HA}"/>')
    assert [leaf.text for leaf in plan.iterfind(f"{{{HA}}}tunnel")] == ["site/tunnel-0"]
    assert "comes through" not in text_of(plan)
    # From the other gateway, through the tunnel.
    note = served.site.right.machine.run(*served.command("plan", host=served.ipsec.inside), "--format", "json")
    told = f"by its addresses this session (from {served.ipsec.peer_inside}) comes through site/tunnel-0, which is"
    assert f"{told} interrupted" in note
    outside = served.site.right.machine.run(*served.command("plan", host=served.ipsec.address), "--format", "json")
    assert "site/tunnel-0" in outside
    assert "comes through" not in outside
