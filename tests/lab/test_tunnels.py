"""Rekeying and restarts of real tunnels, and what they cost."""

from pathlib import Path

import pytest

from tests.lab.conftest import MakeSite
from tests.lab.gateway import VICI, Actions
from tests.lab.namespace import until
from tests.lab.site import Pings, Site
from translators.base import StepError
from translators.ipsec.rekey import MOVED, RekeyTunnels, rekey_all
from translators.ipsec.returning import BACK, MISSING, ON_DEMAND, AwaitTunnels, returned, tunnels_up
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
    with pytest.raises(StepError, match="no tunnel was rekeyed") as caught:
        rekeying(site).perform(site.left.host)
    assert f"site/tunnel-0: not rekeyed within 0.5 s: does {site.right.address} answer?" in caught.value.output


def test_charon_that_dies_meanwhile_fails_the_step(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.right.machine.kill("charon-systemd")
    monkeypatch.setattr(site.left.host, "sleep", lambda _seconds: site.left.machine.kill("charon-systemd"))
    with pytest.raises(StepError, match="charon died"):
        rekeying(site).perform(site.left.host)


def test_many_tunnels_are_all_rekeyed(make_site: MakeSite) -> None:
    site = make_site(Actions(start="start", connections=150, tunnels=50), Actions(connections=150, tunnels=50))
    site.start()
    site.wait_up(50)
    charon = Charon(site.left.host)
    before = {child.spi_in for child in child_sas(charon)}
    assert len(before) == 50
    outcomes = rekey_all(charon)
    assert [outcome.result for outcome in outcomes] == [MOVED] * 50
    after = {child.spi_in for child in child_sas(charon) if child.state == INSTALLED}
    assert len(after) == 50
    assert before.isdisjoint(after)


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


def test_a_restarted_responder_does_not_return_where_the_peer_has_close_action_none(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translators.ipsec.returning.RETURN_SECONDS", 1.0)
    expected = tunnels_up(Charon(site.right.host))
    site.right.stop()
    site.right.start()
    AwaitTunnels(VICI, expected).perform(site.right.host)
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


def test_a_connection_that_was_not_loaded_is_named_as_the_reason(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translators.ipsec.returning.RETURN_SECONDS", 0.1)
    expected = tunnels_up(Charon(site.left.host))
    site.left.stop()
    site.left.configure(connections=0)
    site.left.start()
    AwaitTunnels(VICI, expected).perform(site.left.host)
    (tunnel,) = returned(Charon(site.left.host), expected)
    assert tunnel.result == MISSING
    assert "was its configuration loaded" in tunnel.reason


def test_a_peer_that_refuses_the_proposal_is_the_reason(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translators.ipsec.returning.RETURN_SECONDS", 0.1)
    expected = tunnels_up(Charon(site.left.host))
    site.right.configure(esp="aes256-sha512")
    site.right.load()
    site.left.stop()
    site.left.start()
    charon = Charon(site.left.host)
    until(lambda: any(name == "site" for name, _sa in charon.sas()), "the IKE SA")
    until(lambda: "refuses its proposal" in returned(charon, expected)[0].reason, "the reason")
