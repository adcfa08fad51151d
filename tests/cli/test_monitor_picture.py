"""What becomes of samples: rates and pictures, on data that no simulated gateway gives."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from rich.text import Text

from agent.cli.monitor.columns import Column, rows
from agent.cli.monitor.draw import draw
from agent.cli.monitor.events import Event
from agent.cli.monitor.picture import Picture, Sample, advance
from agent.cli.monitor.rates import bits, load, rate, sparkline
from agent.cli.monitor.tree import as_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ADDRESS = "0000:b1:00.0"
NOON = datetime(2031, 2, 3, 12, 0, tzinfo=UTC)


def device(requests: int | None = None, discontinuity: str | None = None, **leafs: Any) -> dict[str, Any]:
    """Return a device that has had requests."""
    flows = {"requests": requests, "discontinuity-time": discontinuity}
    flows = {name: value for name, value in flows.items() if value is not None}
    return {"address": ADDRESS, "name": "qat_dev1", "oper-status": "up", **({"flows": flows} if flows else {}), **leafs}


def tunnel(bytes_in: int | None = None, **leafs: Any) -> dict[str, Any]:
    """Return a security association that has received bytes."""
    counted = {} if bytes_in is None else {"bytes-in": bytes_in}
    return {"connection": "site", "child": "lan", "id": 7, "state": "INSTALLED", **counted, **leafs}


def sample(clock: float, *devices: Any, tunnels: Iterable[Any] = (), **more: Any) -> Sample:
    """Return what an agent reports at a moment."""
    tree = {"qat": {"device": list(devices)}, "ipsec": {"security-association": list(tunnels)}}
    return Sample(clock, NOON + timedelta(seconds=clock), tree, **more)


def lost(clock: float) -> Sample:
    """Return that nothing was reported."""
    return Sample(clock, NOON + timedelta(seconds=clock), None, problem="no agent answers")


def pictures(*samples: Sample) -> Picture:
    """Return the picture after samples."""
    picture: Picture | None = None
    for one in samples:
        picture = advance(picture, one)
    assert picture is not None
    return picture


def shown(picture: Picture, width: int | None = None, height: int | None = None) -> list[str]:
    """Return the lines of a picture."""
    return [line.plain for line in draw(picture, "heading", width=width, height=height)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (100, 500, 200.0),
        (100, 100, 0.0),
        (2**64 - 10, 90, 50.0),
        (100, 90, None),
        (None, 90, None),
        (90, None, None),
        ("9 or so", "10", None),
    ],
)
def test_a_rate_goes_on_over_a_wrap_and_not_over_a_reset(before: object, after: object, expected: float | None) -> None:
    assert rate(before, after, 2.0) == expected


def test_there_is_no_rate_of_no_time() -> None:
    assert rate(1, 2, 0.0) is None


def test_a_sparkline_tells_nothing_from_little_and_unknown_from_nothing() -> None:
    assert sparkline([None, 0, 0.001, 50, 100], 7) == "   ▁▂▅█"
    assert sparkline([100, 1, 1], 2) == "██"
    assert sparkline([0, 0], 2) == "▁▁"
    assert sparkline([None], 0) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (0, "0 bit/s"),
        (124.9, "999 bit/s"),
        (125, "1 kbit/s"),
        (124_990, "1 Mbit/s"),
        (3_456_789, "27.7 Mbit/s"),
        (1e14, "800 Tbit/s"),
    ],
)
def test_bits_have_three_digits_and_a_unit(value: float | None, text: str | None) -> None:
    assert bits(value) == text


def test_a_rate_is_that_since_the_picture_before() -> None:
    picture = pictures(sample(10, device(1000)), sample(12, device(1500)), sample(16, device(1500)))

    assert picture.devices[0].rates == (None, 250.0, 0.0)
    assert picture.seconds == 4


def test_counters_that_began_anew_have_no_rate_for_one_picture() -> None:
    picture = pictures(
        sample(0, device(1000)),
        sample(1, device(1100)),
        sample(2, device(5000, "2031-02-03T12:00:01Z")),
        sample(3, device(5100, "2031-02-03T12:00:01Z")),
        sample(4, device(7)),
    )

    assert picture.devices[0].rates == (None, 100.0, None, 100.0, None)


def test_a_device_that_went_down_and_came_back_begins_anew() -> None:
    picture = pictures(sample(0, device(10)), sample(1, device()), sample(2, device(90)), sample(3, device(95)))

    assert picture.devices[0].rates == (None, None, None, 5.0)


def test_what_happened_while_there_was_no_agent_is_in_no_rate() -> None:
    before = pictures(sample(0, device(10)), sample(1, device(20)))
    during = advance(before, lost(2))
    after = advance(during, sample(60, device(900)))

    assert during.devices == before.devices
    assert (during.problem, during.known_at, during.time) == ("no agent answers", before.time, NOON + timedelta(0, 2))
    assert after.problem is None
    assert after.seconds is None
    assert after.devices[0].rates == (None, 10.0, None)


BUSY, TOTAL = 10**6, 10**7


def times(clock: float, busy: int | None, total: int | None) -> Sample:
    """Return that the CPUs have spent so much more than at first."""
    counted = {"busy": busy and BUSY + busy, "total": total and TOTAL + total}
    told = {leaf: value for leaf, value in counted.items() if value is not None}
    return Sample(clock, NOON + timedelta(seconds=clock), {"cpu": {"time": told}} if told else {})


@pytest.mark.parametrize(
    ("busy", "total", "percent"),
    [
        (101, 401, 25.0),
        (1, 401, 0.0),
        (401, 401, 100.0),
        (401, 391, 100.0),  # idle went back a little
        (101, 1, None),  # no time has passed
        (-9, 401, None),
        (101, -9, None),
        (5 - BUSY, 90 - TOTAL, None),  # began anew
        (None, 401, None),
        (101, None, None),
        (None, None, None),
    ],
)
def test_the_load_is_the_busy_part_of_the_time_since_the_picture_before(
    busy: int | None, total: int | None, percent: float | None
) -> None:
    picture = pictures(times(0, 1, 1), times(60, busy, total))

    assert picture.load == percent
    assert shown(picture)[2] == ("CPU: load –" if percent is None else f"CPU: load {percent:.0f} %")
    assert as_tree(picture)["rates"].get("cpu") == (None if percent is None else {"load": percent})


def test_a_counter_of_times_goes_on_over_a_wrap() -> None:
    assert load({"busy": 2**64 - 5, "total": 2**64 - 10}, {"busy": 5, "total": 30}) == 25.0


def test_there_is_no_load_on_a_first_picture_nor_after_the_agent_was_away() -> None:
    first, second, back = times(0, 1, 1), times(1, 51, 201), times(60, 500, 900)

    assert pictures(first).load is None
    assert pictures(first, second, lost(2)).load == 25.0
    assert pictures(first, second, lost(2), back).load is None


def test_traffic_is_that_of_the_same_association() -> None:
    rekeyed = tunnel(5, id=8)
    picture = pictures(sample(0, tunnels=[tunnel(1000)]), sample(2, tunnels=[tunnel(3000), rekeyed]))

    old, new = picture.associations
    assert old.rates == {"bytes-in": 1000.0, "bytes-out": None}
    assert new.rates == {"bytes-in": None, "bytes-out": None}


def test_events_that_are_told_twice_are_one() -> None:
    first, second, third = (Event(f"2031-02-03T11:00:0{n}Z", "acceleration-change", {"active": True}) for n in range(3))
    picture = pictures(sample(0, events=(first, second)), lost(1), sample(2, events=(second, third)))

    assert picture.events == (first, second, third)
    assert picture.news == (third,)


def test_events_are_kept_up_to_a_number() -> None:
    many = tuple(Event(str(n), "acceleration-change", {}) for n in range(250))

    assert pictures(sample(0, events=many)).events == many[150:]


def test_json_has_what_is_known_and_no_more() -> None:
    told = Event("2031-02-03T12:00:01Z", "acceleration-change", {"active": True})
    picture = pictures(
        sample(0, device(10), {"address": "0000:b2:00.0"}, tunnels=[tunnel(0)]),
        sample(2, device(31), {"address": "0000:b2:00.0"}, tunnels=[tunnel(9)], events=(told,), note="no rights"),
    )

    assert json.loads(json.dumps(as_tree(picture))) == {
        "time": "2031-02-03T12:00:02.000+00:00",
        "seconds": 2,
        "hardware-acceleration:acceleration": {
            "qat": {"device": [device(31), {"address": "0000:b2:00.0"}]},
            "ipsec": {"security-association": [tunnel(9)]},
        },
        "rates": {
            "device": [{"address": ADDRESS, "requests": 10.5}, {"address": "0000:b2:00.0"}],
            "security-association": [{"connection": "site", "child": "lan", "id": 7, "bytes-in": 4.5}],
        },
        "events": [{"eventTime": told.time, "hardware-acceleration:acceleration-change": {"active": True}}],
        "no-events": "no rights",
    }


def test_json_of_an_agent_that_is_gone_has_nothing_old() -> None:
    assert as_tree(pictures(sample(0, device(10)), lost(5))) == {
        "time": "2031-02-03T12:00:05.000+00:00",
        "problem": "no agent answers",
        "events": [],
    }


def test_what_is_not_known_is_a_dash() -> None:
    bare = {"address": ADDRESS}
    lines = shown(pictures(sample(0, bare, tunnels=[{"connection": "site", "child": "lan", "id": 7}])))

    assert lines[1] == "QAT: configured –, active –, fallen back to software –"
    assert lines[2] == "CPU: load –"
    assert lines[5].split() == [ADDRESS, ADDRESS, *"––––––"]
    assert lines[7] == "IPsec: – –"
    assert lines[9].split() == ["site/lan", "7", *"–––––––––"]
    assert "0" not in "".join(lines[9].split()[2:])


def test_what_a_user_may_not_read_is_told_as_such() -> None:
    hidden = pictures(sample(0, device()))
    nothing = pictures(Sample(0, NOON, {}))

    assert "  qat_dev1: no requests/s: its driver counts none, or you have no right to read them" in "\n".join(
        shown(hidden)
    )
    assert "no tunnels: there are none, or you have no right to read them" in shown(hidden)
    assert "QAT: the agent shows nothing: there is none, or you have no right to read it" in shown(nothing)
    assert "no QAT device: there is none, or you have no right to read it" in shown(nothing)


def test_a_picture_has_rates_a_sparkline_and_errors() -> None:
    errors = {"correctable": 3, "nonfatal": 0}
    picture = pictures(
        sample(0, device(0, errors=errors, heartbeat={"status": "healthy"})),
        sample(1, device(10, errors=errors, heartbeat={"status": "healthy"})),
        sample(2, device(90, errors=errors, heartbeat={"status": "healthy"})),
    )

    row = shown(picture)[5].split()

    assert row == ["qat_dev1", ADDRESS, "up", "80", "▂█", "–", "3/0/–", "–", "healthy"]


def test_the_first_picture_has_the_rate_that_the_agent_measured() -> None:
    served = device()
    served["flows"] = {"request-rate": 31, "requests": 5}

    assert shown(pictures(sample(0, served)))[5].split()[3] == "31"
    assert shown(pictures(sample(0, served), sample(1, served)))[5].split()[3] == "0"
    assert shown(pictures(sample(0, served), lost(1), sample(2, served)))[5].split()[3] == "–"


def test_a_device_that_is_not_up_says_why() -> None:
    down = {"address": ADDRESS, "oper-status": "down", "status-reason": "its file is missing"}

    assert f"  {ADDRESS}: its file is missing" in shown(pictures(sample(0, down)))


def test_a_tunnel_shows_its_traffic_and_its_verdict_and_those_that_carry_none_come_first() -> None:
    offload = {"state": "not-offloadable", "provider": "aes-ni"}
    leafs = {"remote-address": "192.0.2.9", "encryption": "AES_GCM_16-256", "offload": offload}
    deleting = tunnel(1, child="dmz", state="DELETING")
    picture = pictures(
        sample(0, tunnels=[tunnel(0, **leafs), deleting]), sample(1, tunnels=[tunnel(125_000, **leafs), deleting])
    )

    headings, first, second = shown(picture)[7:10]

    assert headings.split("  ")[0] == "tunnel"
    assert first.split()[:3] == ["site/dmz", "7", "DELETING"]
    assert " ".join(second.split()) == (
        "site/lan 7 INSTALLED 192.0.2.9 AES_GCM_16-256 1 Mbit/s – 125000 – not-offloadable aes-ni"
    )


class Cells(list[Text]):
    """Cells that count how often all of them are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Text]:
        type(self).looks += 1
        return super().__iter__()


def test_a_table_of_many_rows_is_not_measured_for_each_of_them() -> None:
    assert len(rows([Column("n", Cells(Text(str(number)) for number in range(500)))])) == 501
    assert Cells.looks == 2


def test_a_tunnel_is_shown_without_a_name_that_the_user_may_not_read() -> None:
    unnamed = {"state": "INSTALLED", "bytes-in": 840}
    lines = shown(pictures(sample(1, tunnels=[unnamed, tunnel(9)])))
    assert [line.split()[0] for line in lines if "INSTALLED" in line] == ["–/–", "site/lan"]


def test_a_problem_is_told_above_what_was_known() -> None:
    lines = shown(pictures(sample(0, device(10)), lost(5)))

    as_of = NOON.astimezone().strftime("%H:%M:%S")
    assert lines[1] == f"no agent answers (below: as of {as_of})"
    assert lines[6].startswith("qat_dev1")
    assert shown(pictures(lost(5)))[1] == "no agent answers"


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    full = device(1, errors={"correctable": 1}, **{"status-reason": "x" * 300})
    leafs = {"remote-address": "2001:db8:1234:5678:9abc:def0:1234:5678", "encryption": "AES_GCM_16-256"}
    samples = [sample(n, full, tunnels=[tunnel(n * 10**6, **leafs)]) for n in range(200)]

    lines = shown(pictures(*samples), width)

    assert max(map(len, lines)) <= width
    assert any(line.startswith("qat_dev1"[:width].rstrip()) or width == 1 for line in lines)


def test_what_matters_least_gives_way_on_a_narrow_terminal() -> None:
    picture = pictures(*(sample(n, device(n * n), tunnels=[tunnel(n)]) for n in range(100)))

    wide, narrow = shown(picture, 120), shown(picture, 40)

    assert " ".join(wide[4].split()) == "device address state requests/s in flight errors c/n/f link errors heartbeat"
    assert len(wide[5]) > 100
    assert narrow[4].split() == ["device", "state", "requests/s"]
    assert narrow[5].split() == ["qat_dev1", "up", "197"]


def test_a_low_terminal_shows_of_everything_a_little() -> None:
    many = [tunnel(id=n) for n in range(50)]
    told = tuple(Event(f"2031-02-03T12:00:{n:02}Z", "acceleration-change", {"active": n % 2 > 0}) for n in range(30))
    picture = pictures(sample(0, *[device(1)] * 9, tunnels=many, events=told))

    lines = shown(picture, 100, 24)

    assert len(lines) == 24
    assert "… 48 more: make the terminal higher, or see accel-agent show" in lines
    assert lines[-4:-2] == ["", "last events"]
    assert lines[-2].endswith("acceleration is on")
    assert lines[-1].endswith("acceleration is off")
    assert len(shown(picture, 100, 5)) == 5
    assert len(shown(picture, 100, 200)) == 3 + 11 + 53 + 32


def test_nothing_in_the_data_steers_the_terminal() -> None:
    bad = "a\x9b2Jb\u202ec\x07"
    told = Event(bad, "device-error", {"address": bad, "kind": bad, "severity": bad, "message": bad, "advice": bad})
    full = {"address": bad, "name": bad, "oper-status": bad, "status-reason": bad, "heartbeat": {"status": bad}}
    ends = dict.fromkeys(("connection", "child", "state", "remote-address", "encryption"), bad)
    tree = {
        "qat": {"device": [full]},
        "ipsec": {
            "service": {"name": bad, "state": bad, "version": bad},
            "security-association": [{**ends, "offload": {"state": bad, "provider": bad}}],
        },
    }
    one = Sample(0, NOON, tree, (told,), note=bad)
    broken = advance(advance(None, one), Sample(1, NOON, None, problem=bad, note=bad))

    for picture in (advance(None, one), broken):
        assert all(line.isprintable() for line in shown(picture))
        assert "a 2Jb c" in "".join(shown(picture))


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        (
            "device-state-change",
            {"address": ADDRESS, "name": "qat_dev1", "old-status": "up", "new-status": "failed", "reason": "no answer"},
            f"qat_dev1 ({ADDRESS}): up → failed: no answer",
        ),
        ("device-state-change", {}, "–: – → –"),
        (
            "device-error",
            {"address": ADDRESS, "kind": "memory", "severity": "major", "message": "ECC", "advice": "replace it"},
            f"{ADDRESS}: major memory error: ECC; replace it",
        ),
        (
            "acceleration-change",
            {"active": True, "fallback-active": False, "cause": "commit"},
            "acceleration is on (commit)",
        ),
        (
            "acceleration-change",
            {"active": False, "fallback-active": True},
            "acceleration is off, fallen back to software",
        ),
        ("acceleration-change", {}, "acceleration is –"),
        (
            "ipsec-tunnel-change",
            {"connection": "site", "child": "lan", "change": "rekeyed", "id": 8, "old-id": 7},
            "site/lan 8 (was 7): rekeyed",
        ),
        ("ipsec-tunnel-change", {"connection": "site", "change": "up", "remote-address": "::1"}, "site: up, peer ::1"),
        (
            "ipsec-refresh",
            {
                "method": "restart",
                "outcome": "partial",
                "duration": 15011,
                "tunnels-before": 2,
                "tunnels-after": 1,
                "missing-tunnel": [{"name": "site/lan", "reason": "x"}],
            },
            "IPsec restart: partial in 15011 ms, tunnels 2 → 1; missing: site/lan",
        ),
        ("ipsec-refresh", {"method": "rekey", "outcome": "failed"}, "IPsec rekey: failed"),
    ],
)
def test_an_event_is_a_line(name: str, data: dict[str, Any], text: str) -> None:
    lines = shown(pictures(sample(0, events=(Event("2031-02-03T12:00:00Z", name, data),))))

    assert lines[-1] == f"{NOON.astimezone():%H:%M:%S}  {text}"


def test_an_event_of_another_day_has_its_day() -> None:
    told = Event("2030-12-24T12:00:00Z", "acceleration-change", {"active": True})

    assert shown(pictures(sample(0, events=(told,))))[-1].startswith("2030-12-24 ")


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:00", "yesterday"])
def test_a_time_that_no_clock_shows_is_told_as_it_came(time: str) -> None:
    told = Event(time, "acceleration-change", {"active": True})

    assert shown(pictures(sample(0, events=(told,))))[-1] == f"{time}  acceleration is on"
