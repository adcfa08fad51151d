"""Which tunnels a plan touches, and whether the session that asks comes through one of them."""

import pytest

from tests.translators.test_ipsec_state import child, ike, machine
from translators.base import Step, Touched
from translators.ipsec import touching
from translators.ipsec.keeping import KeepRunning
from translators.ipsec.returning import ExpectTunnels
from translators.ipsec.unit import StopUnit
from translators.ipsec.vici import SOCKET, Patience
from translators.record import RecordedHost

UNIT = "strongswan.service"
EXPECT = ExpectTunnels(SOCKET, (("site", "net", "initiator"), ("other", "net", "responder")))
STOP = StopUnit(UNIT, SOCKET)
NAMES = ("site/net", "other/net")
ENDS = ("192.0.2.1", "192.0.2.201")
BEGUN = "tunnels that their peer had begun: other/net"


def touched(
    steps: tuple[Step, ...], machine: RecordedHost, ends: tuple[str, str] | None, *, named: bool = True
) -> Touched:
    return touching.touched(steps, machine, ends, Patience(), named=named)


def host(local: str, remote: str) -> RecordedHost:
    said = child(4)
    said["net-4"] |= {"local-ts": [local], "remote-ts": ["203.0.113.0/24", remote]}
    return machine(ike("site", said))


def notes(local: str, remote: str, ends: tuple[str, str]) -> tuple[str, ...]:
    found = touched((EXPECT, STOP), host(local, remote), ends)
    assert found.tunnels == NAMES
    begun, *others = found.notes
    assert begun == BEGUN
    return tuple(others)


def test_tunnels_are_named_and_charon_is_not_asked_for_nobody() -> None:
    machine = RecordedHost(complete=True)
    assert touched((EXPECT, STOP), machine, None) == Touched(NAMES, (BEGUN,))
    assert touched((STOP,), machine, ("192.0.2.1", "192.0.2.9")) == Touched()
    assert machine.asked == []


@pytest.mark.parametrize(
    ("local", "remote"),
    [
        ("192.0.2.0/25", "192.0.2.128/25"),
        ("192.0.2.1/32", "192.0.2.200..192.0.2.210"),
        ("192.0.2.0/25[tcp]", "0.0.0.0/0[tcp/830]"),
        ("192.0.2.0/25[6]", "192.0.2.201/32"),
    ],
)
def test_a_session_through_a_tunnel_is_told_to_commit_with_a_way_back(local: str, remote: str) -> None:
    (note,) = notes(local, remote, ENDS)
    assert note.startswith("by its addresses this session (from 192.0.2.201) comes through site/net, which is interr")
    assert "Commit with <confirmed/> and a <persist> token" in note


@pytest.mark.parametrize(
    ("local", "remote"),
    [
        ("192.0.2.2/32", "192.0.2.128/25"),
        ("192.0.2.0/25", "192.0.2.210..192.0.2.220"),
        ("192.0.2.0/25[udp]", "192.0.2.128/25"),
        ("::/0", "::1..::2"),
        ("anything", "192.0.2.300..x"),
    ],
)
def test_a_session_beside_the_tunnels_is_told_nothing(local: str, remote: str) -> None:
    assert notes(local, remote, ENDS) == ()


def test_addresses_of_ipv6_have_zones_and_others_are_none() -> None:
    assert len(notes("2001:db8::/64", "fe80::/10", ("2001:db8::1", "fe80::2%eth0"))) == 1
    assert notes("2001:db8::/64", "fe80::/10", ("", "a name")) == ()


def test_who_may_not_know_the_tunnels_is_told_no_name() -> None:
    through, beside = host("192.0.2.0/25", "192.0.2.128/25"), host("192.0.2.2/32", "192.0.2.128/25")
    found = touched((EXPECT, STOP), through, ENDS, named=False)
    assert found.tunnels == ()
    (note,) = found.notes
    assert note.startswith(f"by its addresses this session (from {ENDS[1]}) comes through a tunnel, which is interr")
    assert touched((EXPECT, STOP), beside, ENDS, named=False) == Touched()
    broken = machine(ike("site", child(4, uniqueid="x")))
    unknown = (
        "whether this session comes through one of the tunnels can't be told: charon lists an SA that can't be read"
    )
    (note,) = touched((EXPECT, STOP), broken, ENDS, named=False).notes
    assert note == f"{unknown} (see swanctl --list-sas)"


def test_a_rekey_is_not_called_an_interruption() -> None:
    keep = KeepRunning("systemd", UNIT, SOCKET)
    (note,) = touched((EXPECT, keep), host("192.0.2.0/25", "192.0.2.128/25"), ENDS).notes
    assert "comes through site/net, which is rekeyed" in note


def test_a_charon_that_can_t_be_asked_is_said() -> None:
    machine = RecordedHost(complete=True)
    _begun, note = touched((EXPECT, STOP), machine, ENDS).notes
    assert note.startswith("whether this session comes through one of the tunnels can't be told: /run/charon.vici")
