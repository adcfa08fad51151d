"""Rekeying and restarts of real tunnels, and what they cost."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import MakeSite
from tests.lab.gateway import VICI, Actions, Gateway
from tests.lab.namespace import until
from tests.lab.site import Pings, Site
from translators.base import ALL, Branch, Selection, StepError
from translators.ipsec.rekey import MOVED, RekeyTunnels, rekey_all
from translators.ipsec.returning import BACK, MISSING, ON_DEMAND, AwaitTunnels, returned, tunnels_up
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.tunnels import INITIATOR, INSTALLED, RESPONDER, child_sas
from translators.ipsec.vici import Charon

TUNNEL = ("site", "tunnel-0")


def rekeying(site: Site) -> RekeyTunnels:
    return RekeyTunnels("program", "/none", VICI, tunnels_up(Charon(site.left.host)))


def test_what_charon_says_of_a_tunnel(site: Site, tmp_path: Path) -> None:
    pings = Pings(site.left, tmp_path / "pings")
    pings.end()
    (child,) = child_sas(Charon(site.left.host))
    assert child.tunnel == TUNNEL
    assert (child.state, child.mode, child.protocol) == (INSTALLED, "TUNNEL", "ESP")
    assert (child.encryption, child.integrity, child.dh_group) == ("AES_CBC-128", "HMAC_SHA2_256_128", None)
    assert child.esn is False
    assert child.packets_in is not None
    assert child.packets_in >= 20
    assert child.bytes_in == 84 * child.packets_in
    assert child.local_selectors == ("10.201.1.0/24",)
    assert child.ike.role == INITIATOR
    assert (child.ike.version, child.ike.remote_address) == (2, site.right.address)
    (other,) = child_sas(Charon(site.right.host))
    assert other.ike.role == RESPONDER
    assert (other.spi_in, other.spi_out) == (child.spi_out, child.spi_in)
    assert child_sas(Charon(site.left.host), ike="another") == []


def test_rekeying_loses_no_packet_and_renews_every_sa(site: Site, tmp_path: Path) -> None:
    (before,) = child_sas(Charon(site.left.host))
    pings = Pings(site.left, tmp_path / "pings")
    rekeying(site).perform(site.left.host)
    pings.wait(100)
    assert pings.end() == (0, 0.0)
    (after,) = [child for child in child_sas(Charon(site.left.host)) if child.state == INSTALLED]
    assert after.identity > before.identity
    assert {after.spi_in, after.spi_out}.isdisjoint({before.spi_in, before.spi_out})


def test_the_responder_can_rekey_as_well(site: Site) -> None:
    (outcome,) = rekey_all(Charon(site.right.host))
    assert outcome.result == MOVED


def test_a_dead_peer_keeps_its_sa_and_fails_the_step(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translators.ipsec.rekey.TUNNEL_SECONDS", 0.5)
    site.right.machine.kill("charon-systemd")
    with pytest.raises(StepError, match=r"none of 1 tunnels was rekeyed: 1 not rekeyed within 0\.5 s: does the peer"):
        rekeying(site).perform(site.left.host)


def test_charon_that_dies_meanwhile_fails_the_step(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = site.left.host.vici

    def dying(path: str, command: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        answer = ask(path, command, *arguments, **options)
        if command == "rekey":
            site.left.machine.kill("charon-systemd")
        return answer

    site.right.machine.kill("charon-systemd")
    monkeypatch.setattr(site.left.host, "vici", dying)
    with pytest.raises(StepError, match="charon died"):
        rekeying(site).perform(site.left.host)


def test_charon_that_dies_while_its_tunnels_are_awaited_fails_the_step(site: Site) -> None:
    expected = tunnels_up(Charon(site.left.host))
    site.left.machine.kill("charon-systemd")
    with pytest.raises(StepError, match="nothing listens at the socket: charon died"):
        AwaitTunnels(VICI, expected, seconds=1).perform(site.left.host)


class Counting:
    """Counts what is asked of a gateway's charon, and how many SAs the answers have."""

    def __init__(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ask = gateway.host.vici
        self.asked: list[str] = []
        self.listed = 0
        monkeypatch.setattr(gateway.host, "vici", self)

    def __call__(self, path: str, command: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        answer = self._ask(path, command, *arguments, **options)
        self.asked.append(command)
        if command == "list-sas":
            self.listed += sum(len(ike["child-sas"]) for event in answer for ike in event.values())
        return answer


@pytest.fixture
def crowded(make_site: MakeSite) -> Site:
    """Return two gateways with 200 connections, of which 50 are up, each with an IKE SA of its own."""
    site = make_site(Actions(start="start", connections=200, up=50), Actions(connections=200, up=50))
    site.start()
    site.wait_up(50)
    return site


def test_refreshing_many_tunnels_costs_a_few_questions_each(crowded: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    charon = Charon(crowded.left.host)
    before = {child.spi_in for child in child_sas(charon)}
    assert (len(before), len(charon.connections())) == (50, 200)
    expected = tunnels_up(charon)
    counting = Counting(crowded.left, monkeypatch)
    outcomes = rekey_all(charon)
    monkeypatch.undo()
    assert [outcome.result for outcome in outcomes] == [MOVED] * 50
    after = {child.spi_in for child in child_sas(charon) if child.state == INSTALLED}
    assert len(after) == 50
    assert before.isdisjoint(after)
    assert counting.asked.count("rekey") == 50
    # A few listings, however many tunnels there are: before, after, and where charon tells nothing for a moment.
    assert counting.listed <= 10 * 50, counting.asked

    crowded.left.stop()
    crowded.left.start()
    counting = Counting(crowded.left, monkeypatch)
    AwaitTunnels(VICI, expected).perform(crowded.left.host)
    assert [tunnel.result for tunnel in returned(charon, expected)] == [BACK] * 50
    assert set(counting.asked) <= {"list-sas", "list-policies"}


def test_the_state_of_one_of_many_is_all_that_charon_lists(crowded: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    child = child_sas(Charon(crowded.left.host))[20]
    keys = {"connection": child.ike.connection, "child": child.name, "id": str(child.identity)}
    translator = IpsecTranslator()

    def read(**matches: str) -> tuple[list[str], list[str], int]:
        wanted = Branch("security-association", tuple(matches.items()), Selection(False, (Branch("state", (), ALL),)))
        counting = Counting(crowded.left, monkeypatch)
        reading = translator.operational(crowded.left.host, Selection(False, (wanted,)), {})
        monkeypatch.undo()
        assert reading.faults == ()
        found = [entry["connection"] for entry in reading.tree["security-association"]]
        return found, counting.asked, counting.listed

    one = ([child.ike.connection], ["list-sas"], 1)
    assert read(**keys) == read(connection=keys["connection"]) == read(id=keys["id"]) == one
    names, asked, listed = read()
    assert (len(set(names)), asked, listed) == (50, ["list-sas"], 50)


def test_a_restarted_initiator_brings_its_tunnel_back(site: Site, tmp_path: Path) -> None:
    expected = tunnels_up(Charon(site.left.host))
    assert expected == ((*TUNNEL, INITIATOR),)
    pings = Pings(site.left, tmp_path / "pings")
    site.left.stop()
    site.left.start()
    AwaitTunnels(VICI, expected).perform(site.left.host)
    (tunnel,) = returned(Charon(site.left.host), expected)
    assert tunnel.result == BACK
    pings.wait(20)
    lost, outage = pings.end()
    assert lost > 0
    assert outage > 0


def test_a_restarted_responder_does_not_return_where_the_peer_has_close_action_none(site: Site) -> None:
    expected = tunnels_up(Charon(site.right.host))
    site.right.stop()
    site.right.start()
    AwaitTunnels(VICI, expected, seconds=1).perform(site.right.host)
    (tunnel,) = returned(Charon(site.right.host), expected)
    assert tunnel.result == MISSING
    assert "the peer had begun it and has not again: with close_action none" in tunnel.reason


def test_a_restarted_responder_returns_where_the_peer_has_close_action_start(make_site: MakeSite) -> None:
    site = make_site(Actions(start="start", close="start"), Actions())
    site.start()
    site.wait_up()
    expected = tunnels_up(Charon(site.right.host))
    site.right.stop()
    site.right.start()
    AwaitTunnels(VICI, expected).perform(site.right.host)
    (tunnel,) = returned(Charon(site.right.host), expected)
    assert tunnel.result == BACK


def test_a_tunnel_on_demand_is_not_lost(site: Site) -> None:
    expected = tunnels_up(Charon(site.left.host))
    site.left.configure(start="trap")
    site.left.stop()
    site.left.start()
    AwaitTunnels(VICI, expected).perform(site.left.host)
    (tunnel,) = returned(Charon(site.left.host), expected)
    assert tunnel.result == ON_DEMAND


def test_a_connection_that_was_not_loaded_is_named_as_the_reason(site: Site) -> None:
    expected = tunnels_up(Charon(site.left.host))
    site.left.stop()
    site.left.configure(connections=0)
    site.left.start()
    AwaitTunnels(VICI, expected, seconds=1).perform(site.left.host)
    (tunnel,) = returned(Charon(site.left.host), expected)
    assert tunnel.result == MISSING
    assert "was its configuration loaded" in tunnel.reason


def test_a_peer_that_refuses_the_proposal_is_the_reason(site: Site) -> None:
    expected = tunnels_up(Charon(site.left.host))
    site.right.configure(esp="aes256-sha512")
    site.right.load()
    site.left.stop()
    site.left.start()
    charon = Charon(site.left.host)
    until(lambda: any(name == "site" for name, _sa in charon.sas()), "the IKE SA")
    until(lambda: "refuses its proposal" in returned(charon, expected)[0].reason, "the reason")
