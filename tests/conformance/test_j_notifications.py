"""Section J: event notifications (RFC 5277): the subscription, its times, its filters."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.notifications import (
    CHANGES,
    NOTIFICATION,
    PAST,
    PREFIXES,
    SERVER,
    STREAM,
    before,
    by,
    change,
    create,
    hear,
    heard,
    name_of,
    quiet,
    shown,
    xpath,
)
from tests.conformance.session import N, Session, chunked, edit, rpc, top

if TYPE_CHECKING:
    from tests.conformance.agents import Agent

pytestmark = pytest.mark.usefixtures("agent")


def test_c202_without_parameters_events_come_from_now_on(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>old</name>")
    session.ok(create())
    other = agent.session()
    other.fill("<name>new</name>")
    assert [name_of(hear(session)) for _ in range(2)] == ["netconf-session-start", "netconf-config-change"]
    quiet(session)


def test_c202_the_capabilities_are_announced(session: Session) -> None:
    offered = [e.text for e in session.hello.iter(f"{N}capability")]
    for name in ("notification:1.0", "interleave:1.0"):
        assert f"urn:ietf:params:netconf:capability:{name}" in offered


FUTURE = "2999-01-01T00:00:00Z"
REFUSED = {
    "C203 another stream": ("<stream>SNMP</stream>", "protocol/invalid-value"),
    "C204 stopTime alone": (f"<stopTime>{FUTURE}</stopTime>", "protocol/missing-element {bad-element=startTime}"),
    "C205 stopTime before startTime": (
        "<startTime>2020-01-02T00:00:00Z</startTime><stopTime>2020-01-01T00:00:00Z</stopTime>",
        "protocol/bad-element {bad-element=stopTime}",
    ),
    "C205 stopTime is startTime, elsewhere": (
        "<startTime>2020-01-02T00:00:00Z</startTime><stopTime>2020-01-02T02:00:00+02:00</stopTime>",
        "protocol/bad-element {bad-element=stopTime}",
    ),
    "C206 startTime in the future": (
        f"<startTime>{FUTURE}</startTime>",
        "protocol/bad-element {bad-element=startTime}",
    ),
    "C206 startTime without a zone": ("<startTime>2020-01-02T00:00:00</startTime>", "protocol/invalid-value"),
    "C206 startTime is no day": ("<startTime>2020-02-31T00:00:00Z</startTime>", "protocol/invalid-value"),
    "C202 something else": ("<color/>", "protocol/unknown-element {bad-element=color}"),
    "C202 a parameter twice": ("<stream/><stream/>", "protocol/bad-element {bad-element=stream}"),
    "C214 a filter of another type": (
        '<filter type="regex"/>',
        "protocol/bad-attribute {bad-attribute=type,bad-element=filter}",
    ),
    "C214 a prefix that is not declared": (
        '<filter type="xpath" select="//zz:ev"/>',
        "protocol/invalid-value",
    ),
    "C214 no expression": ('<filter type="xpath" select="//"/>', "protocol/invalid-value"),
    "C214 no select": (
        '<filter type="xpath"/>',
        "protocol/missing-attribute {bad-attribute=select,bad-element=filter}",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_leaves_no_subscription(agent: Agent, session: Session, name: str) -> None:
    content, error = REFUSED[name]
    assert session.outcome(create(content)) == error
    agent.session().fill("<name>x</name>")
    session.ok(create())


def test_c208_the_past_comes_first_then_replay_complete_once_then_the_present(agent: Agent) -> None:
    writer, session = agent.session(), agent.session()
    since = datetime.now(UTC).isoformat()
    for number in range(3):
        writer.fill(f"<name>{number}</name>")
    session.ok(create(f"<startTime>{since}</startTime>{CHANGES}"))
    writer.fill("<name>new</name>")
    messages = [heard(session.reply()) for _ in range(5)]
    assert [name_of(shown(content)) for _time, content in messages] == [
        *["netconf-config-change"] * 3,
        "replayComplete",
        "netconf-config-change",
    ]
    times = [time for time, _content in messages]
    assert times == sorted(times)
    quiet(session)


def times_of_three_changes(agent: Agent) -> list[str]:
    """Change running three times, and return the times of the events."""
    writer, listener = agent.session(), agent.session()
    listener.ok(create(CHANGES))
    times = []
    for number in range(3):
        writer.fill(f"<name>{number}</name>")
        times.append(heard(listener.reply())[0])
    return times


def test_c208_events_are_replayed_by_their_own_time(agent: Agent) -> None:
    times = times_of_three_changes(agent)
    second = agent.session()
    second.ok(create(f"<startTime>{times[1]}</startTime>{CHANGES}"))
    messages = [heard(second.reply()) for _ in range(3)]
    assert [time for time, _content in messages[:2]] == times[1:]
    assert messages[2][1].tag == f"{{{STREAM}}}replayComplete"


def test_c208_the_past_outlives_the_agent(agent: Agent) -> None:
    since = datetime.now(UTC).isoformat()
    agent.session().fill("<name>x</name>")
    for kill in (False, True):
        agent.restart(kill=kill)
        session = agent.session()
        session.ok(create(f"<startTime>{since}</startTime>{CHANGES}"))
        assert "/t:top" in hear(session)
        assert hear(session) == "<replayComplete/>"


def test_c209_at_the_stop_time_it_ends_and_the_session_goes_on(agent: Agent, session: Session) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1.2)).isoformat()
    session.ok(create(f"<startTime>{before(0)}</startTime><stopTime>{soon}</stopTime>{CHANGES}"))
    assert hear(session) == "<replayComplete/>"
    agent.session().fill("<name>x</name>")
    assert name_of(hear(session)) == "netconf-config-change"
    assert hear(session) == "<notificationComplete/>"
    agent.session().fill("<name>y</name>")
    quiet(session)
    session.ok(create(CHANGES))
    agent.session().fill("<name>z</name>")
    assert name_of(hear(session)) == "netconf-config-change"


def test_c209_a_stop_time_in_the_past_ends_the_replay(agent: Agent) -> None:
    times = times_of_three_changes(agent)
    second = agent.session()
    second.ok(create(f"<startTime>{times[0]}</startTime><stopTime>{times[1]}</stopTime>{CHANGES}"))
    messages = [heard(second.reply()) for _ in range(4)]
    assert [time for time, _content in messages[:2]] == times[:2]
    assert [shown(content) for _time, content in messages[2:]] == ["<replayComplete/>", "<notificationComplete/>"]
    second.ok(create())


def test_c210_ok_comes_before_the_first_notification(session: Session) -> None:
    session.send(chunked(rpc(create(PAST), "1")))
    assert session.reply().tag == f"{N}rpc-reply"
    assert name_of(hear(session)) != "replayComplete"


@pytest.mark.parametrize("base", ["1.0", "1.1"])
def test_c211_a_message_holds_one_notification_with_its_time(agent: Agent, base: str) -> None:
    session = agent.session(base=base)
    session.ok(create(CHANGES))
    agent.session().fill("<name>x</name>")
    message = session.reply_bytes()
    assert re.match(
        rb'<notification xmlns="urn:ietf:params:xml:ns:netconf:notification:1.0"><eventTime>[^<]*</eventTime>'
        rb'<netconf-config-change xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-notifications">',
        message,
    ), message
    heard(etree.fromstring(message))


def test_c212_a_second_subscription_on_one_session_is_refused(agent: Agent, session: Session) -> None:
    session.ok(create(CHANGES))
    assert session.outcome(create()) == "protocol/in-use"
    agent.session().fill("<name>x</name>")
    assert name_of(hear(session)) == "netconf-config-change"
    quiet(session)


def test_c213_requests_are_answered_between_notifications(agent: Agent, session: Session) -> None:
    session.ok(create(CHANGES))
    session.send(b"".join(chunked(rpc(content, "9")) for content in (edit(top("<name>x</name>")), "<commit/>")))
    assert session.reply().get("message-id") == "9"
    both = [session.reply(), session.reply()]
    assert sorted(str(message.tag) for message in both) == sorted([f"{{{NOTIFICATION}}}notification", f"{N}rpc-reply"])
    assert session.config(source="running") == "<top><name>x</name></top>"


FILTERS = {
    "C214 subtree: a kind": CHANGES,
    "C214 subtree: two kinds": f'<filter><netconf-config-change xmlns="{SERVER}"/><ev xmlns="urn:example:t"/></filter>',
    "C214 subtree: a value": (
        f'<filter><netconf-config-change xmlns="{SERVER}"><datastore>running</datastore></netconf-config-change>'
        "</filter>"
    ),
    "C214 subtree: a value in an entry": (
        f'<filter><netconf-config-change xmlns="{SERVER}"><edit><operation>create</operation></edit>'
        "</netconf-config-change></filter>"
    ),
    "C214 subtree: no namespace": '<filter><netconf-config-change xmlns=""/></filter>',
    "C214 xpath: a path": xpath("/s:netconf-config-change"),
    "C214 xpath: a predicate": xpath("/s:netconf-config-change[s:datastore='running']"),
    "C214 xpath: anywhere": xpath("//s:edit"),
    "C214 xpath: a truth": xpath("count(//s:edit) = 1"),
    "C214 xpath: in a union": xpath("/t:ev | /s:netconf-config-change"),
    "C214 ONOS": (
        f'<filter xmlns:base10="urn:ietf:params:xml:ns:netconf:base:1.0" base10:type="subtree">'
        f'<netconf-config-change xmlns="{SERVER}"/></filter>'
    ),
    "C214 ncclient": f'<filter xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" type="subtree">'
    f'<netconf-config-change xmlns="{SERVER}"/></filter>',
    "C214 nc:type, nc:select": (
        f'<nc:filter xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" {PREFIXES} nc:type="xpath" '
        'nc:select="/s:netconf-config-change"/>'
    ),
}


@pytest.mark.parametrize("name", FILTERS)
def test_an_event_passes_whole_if_something_is_selected(agent: Agent, session: Session, name: str) -> None:
    session.ok(create(f"{PAST.replace('2020-01-01T00:00:00Z', before(0))}{FILTERS[name]}"))
    assert hear(session) == "<replayComplete/>"
    other = agent.session()  # an event that does not pass
    other.fill("<name>x</name>")
    assert hear(session) == change(by(other), ("/t:top/t:name", "create"))


NOTHING = {
    "C214 subtree: empty": "<filter/>",
    "C214 subtree: another value": (
        f'<filter><netconf-config-change xmlns="{SERVER}"><datastore>startup</datastore></netconf-config-change>'
        "</filter>"
    ),
    "C214 subtree: not known": '<filter><x xmlns="urn:none"/></filter>',
    "C214 xpath: nothing": xpath("/s:netconf-config-change[s:datastore='startup']"),
    "C214 xpath: false": xpath("1 = 2"),
    "C214 xpath: no prefix": xpath("/netconf-config-change"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_an_event_of_which_nothing_is_selected_is_not_sent(agent: Agent, session: Session, name: str) -> None:
    session.ok(create(f"<startTime>{before(0)}</startTime>{NOTHING[name]}"))
    assert hear(session) == "<replayComplete/>"
    agent.session().fill("<name>x</name>")
    quiet(session)


def test_c214_an_expression_that_takes_too_long_ends_the_session(agent: Agent, session: Session) -> None:
    endless = "1"
    for _ in range(5):
        endless = f"count(//*[{endless} != 0])"
    other = agent.session()
    other.fill("<name>x</name>")
    session.ok(create(xpath(endless)))
    other.ok(edit(top("".join(f"<tag>n{n}</tag>" for n in range(100)))), "<commit/>")
    session.ends()
    other.ok("<discard-changes/>")


def test_c215_the_streams_are_listed(agent: Agent) -> None:
    session = agent.session()
    wanted = f'<get><filter><netconf xmlns="{STREAM}"><streams/></netconf></filter></get>'
    found = session.data(wanted)
    assert re.fullmatch(
        r"<netconf><streams><stream><name>NETCONF</name><description>[^<]+</description>"
        r"<replaySupport>true</replaySupport><replayLogCreationTime>[^<]+</replayLogCreationTime>"
        r"</stream></streams></netconf>",
        found,
    ), found
    agent.restart()
    assert agent.session().data(wanted) == found
