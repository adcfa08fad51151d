"""What charon tells by itself, as notifications."""

from typing import Any

import pytest

from tests.translators.test_ipsec_state import child, ike
from translators.base import Event, ListeningError
from translators.ipsec.events import Outages, changes
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.vici import SOCKET
from translators.record import RecordedHost

OLD, NEW = (child(number)[f"net-{number}"] for number in (4, 5))
REMOTE = {"remote-address": "198.51.100.9"}


def told(name: str, message: dict[str, Any]) -> list[Any]:
    return [event.notification for event in changes(name, message)]


def change(**content: object) -> dict[str, object]:
    return {"hardware-acceleration:ipsec-tunnel-change": {"connection": "site", **content, **REMOTE}}


@pytest.mark.parametrize(("up", "word"), [({"up": "yes"}, "up"), ({}, "down")])
def test_what_comes_and_goes(up: dict[str, str], word: str) -> None:
    assert told("ike-updown", {**up, **ike("site")}) == [change(change=word, id=1)]
    assert told("child-updown", {**up, **ike("site", child(4))}) == [change(child="net", change=word, id=4)]


def test_what_is_rekeyed_names_the_old_and_the_new_sa() -> None:
    (site,) = ike("site").values()
    message = {"site": {"old": site, "new": {**site, "uniqueid": "2"}}}
    assert told("ike-rekey", message) == [change(change="rekeyed", id=2, **{"old-id": 1})]
    message = ike("site", {"net-4": {"old": OLD, "new": NEW}})
    assert told("child-rekey", message) == [change(child="net", change="rekeyed", id=5, **{"old-id": 4})]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ike-rekey", {"site": {"old": {}}}),
        ("child-rekey", ike("site", {"net-4": {"new": NEW}})),
        ("ike-updown", {"site": {}}),
    ],
)
def test_what_lacks_what_every_sa_has_is_refused(name: str, message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="charon"):
        told(name, message)


def outage(*heard: tuple[str, dict[str, Any]], since: float = 10.0) -> float | None:
    """Return how long the tunnel was away by events that come a second after one another."""
    outages = Outages()
    for number, event in enumerate(heard, start=1):
        outages.note(*event, since + number)
    return outages.seconds([("site", "net")], since)


def comes(identity: int) -> tuple[str, dict[str, Any]]:
    return "child-updown", {"up": "yes", **ike("site", child(identity))}


def goes(identity: int) -> tuple[str, dict[str, Any]]:
    return "child-updown", ike("site", child(identity))


REKEYED = ("child-rekey", ike("site", {"net-4": {"old": OLD, "new": NEW}}))


@pytest.mark.parametrize(
    ("heard", "seconds"),
    [
        ((goes(4), comes(1)), 1.0),
        # Both sides begin it, and one of its two SAs goes again: before the second, and after it.
        ((goes(4), comes(1), comes(2), goes(1)), 1.0),
        ((goes(4), comes(1), comes(2), goes(2)), 1.0),
        ((comes(4), comes(5), goes(4), goes(5), comes(1)), 1.0),
        ((comes(4), REKEYED, goes(5), comes(1)), 1.0),
        # That it came was not heard, or it has gone again.
        ((goes(4),), None),
        ((goes(4), comes(1), goes(1)), None),
        ((REKEYED,), None),
    ],
)
def test_a_tunnel_is_away_while_it_has_no_sa(heard: tuple[Any, ...], seconds: float | None) -> None:
    assert outage(*heard) == seconds


def test_a_charon_that_died_is_not_taken_for_the_next_one() -> None:
    outages = Outages()
    outages.note(*comes(4), 5.0)
    outages.begin()
    outages.note(*comes(1), 12.0)
    assert outages.seconds([("site", "net")], 10.0) == 2.0


def test_what_events_lack_is_no_outage() -> None:
    nonsense: list[Any] = [
        ("child-updown", {"up": "yes", "site": "x", "other": {"child-sas": {"a": "x", "b": {}}}}),
        ("child-rekey", {"site": {"child-sas": {"net": {"new": "x"}}}}),
    ]
    assert outage(*nonsense) is None


def test_an_address_that_is_none_is_left_out() -> None:
    (notification,) = told("ike-updown", {"up": "yes", **ike("site", **{"remote-host": "%any"})})
    assert "remote-address" not in notification["hardware-acceleration:ipsec-tunnel-change"]


def test_the_translator_listens_until_charon_ends() -> None:
    host = RecordedHost(complete=True, events={SOCKET: [("ike-updown", {"up": "yes", **ike("site")})]})
    events = IpsecTranslator().events(host)
    assert next(events) == Event("info", "IKE SA site is up", change(change="up", id=1))
    assert next(events) is None
    with pytest.raises(ListeningError, match="there is no such socket"):
        next(events)
