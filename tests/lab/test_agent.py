"""Commits through an agent, from the client's request to the packets of a tunnel."""

import contextlib
import re
import signal
from pathlib import Path

from tests.conformance.notifications import HA, create, hear
from tests.conformance.session import Session, edit, text_of
from tests.lab.conftest import MakeSite
from tests.lab.gateway import Actions
from tests.lab.served import Served, serve
from tests.lab.site import Pings
from tests.system.client import NACM, NETCONF
from translators.ipsec.returning import RETURN_SECONDS
from translators.ipsec.tunnels import child_sas, up
from translators.ipsec.vici import Charon

CHANGE = re.compile(r"<child>tunnel-0</child><change>(\w+)</change>")
# What is left are the defaults: everything can be read that the model does not protect.
CLOSED = f'<nacm xmlns="{NACM}" xmlns:nc="{NETCONF}" nc:operation="replace"><enable-nacm>true</enable-nacm></nacm>'
REKEYED = re.compile(
    r"<ipsec-tunnel-change><connection>site</connection><child>tunnel-0</child><change>rekeyed</change>"
    r"<id>(\d+)</id><old-id>(\d+)</old-id><remote-address>10.200.0.2</remote-address></ipsec-tunnel-change>"
)


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
    method, outcome, _duration, *rest = served.told()
    assert (method, outcome, *rest) == ("rekey", "succeeded", "1", "1", "")


def test_a_restart_is_answered_when_the_tunnel_is_back_and_its_outage_is_told(served: Served, tmp_path: Path) -> None:
    before = served.spis()
    pings = Pings(served.ipsec, tmp_path / "pings")
    served.accelerate("restart")
    served.session.ok("<commit/>")
    after = served.spis()
    pings.wait(50)
    lost, outage = pings.end()
    assert lost > 0
    assert len(after) == 2
    assert before.isdisjoint(after)
    method, outcome, duration, *rest = served.told()
    assert (method, outcome, *rest) == ("restart", "succeeded", "1", "1", "")
    assert abs(int(duration or "") / 1000 - outage) <= 0.25 * outage, (duration, outage)


def test_a_tunnel_that_its_peer_does_not_begin_again_is_named(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site(Actions(), Actions(start="start", close="none"))
    served = serve(site, tmp_path / "gateway")
    with served.gateway.settings.open("a") as settings:
        settings.write("return-timeout = 4\n")
    with served:
        served.accelerate("restart")
        served.session.ok("<commit/>")
        method, outcome, duration, before, after, missing = served.told()
        assert (method, outcome, before, after) == ("restart", "partial", "1", "0")
        assert 4 <= int(duration or "") / 1000 < RETURN_SECONDS
        name = "<missing-tunnel><name>site/tunnel-0</name><reason>the peer had begun it and has not"
        assert (missing or "").startswith(name)
        assert "WARNING agent.outcomes: IPsec was restarted" in served.gateway.log.read_text()


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
    served.signal_charon(signal.SIGKILL)
    served.start_charon()
    served.wait_up()
    rekeyed(served, listener)
    # One that the agent restarts itself comes back while the commit still goes on.
    served.accelerate("restart")
    served.session.ok("<commit/>")
    changes: list[str] = []
    while changes[-1:] != ["up"]:
        found = CHANGE.search(hear(listener))
        changes += [found[1]] if found else []
    assert changes[-2:] == ["down", "up"]
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


def test_a_plan_names_no_tunnel_to_who_may_not_read_which_there_are(served: Served) -> None:
    served.session.ok(edit(CLOSED), "<commit/>")
    served.accelerate("restart")
    plan = served.site.right.machine.run(*served.command("plan", host=served.ipsec.inside), "--format", "json")
    assert "the restart interrupts 1 tunnels" in plan
    assert f"by its addresses this session (from {served.ipsec.peer_inside}) comes through a tunnel, which is" in plan
    assert "site" not in plan
    plan = served.site.right.machine.run(*served.command("plan", host=served.ipsec.address), "--format", "json")
    assert "comes through" not in plan
