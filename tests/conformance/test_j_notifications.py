"""Section J: event notifications (RFC 5277) and what the server tells of itself (RFC 6470)."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lxml import etree

import simulator
from agent.model.load import load
from agent.streams import Streams
from tests.agent.server_bench import Server
from tests.agent.server_bench import until as asynchronously
from tests.conformance.agents import CLOSE, Agent, confirmed, serving
from tests.conformance.memory import memory
from tests.conformance.session import N, Session, chunked, edit, plain, rpc, top
from tests.system.client import USER

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

NOTIFICATION = "urn:ietf:params:xml:ns:netconf:notification:1.0"
STREAM = "urn:ietf:params:xml:ns:netmod:notification"
SERVER = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
HA = "urn:accel-agent:hardware-acceleration"
PAST = "<startTime>2020-01-01T00:00:00Z</startTime>"
PREFIXES = f'xmlns:s="{SERVER}" xmlns:t="urn:example:t" xmlns:h="{HA}"'
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
CHANGES = f'<filter type="subtree"><netconf-config-change xmlns="{SERVER}"/></filter>'
ENDS = f'<filter type="subtree"><netconf-session-end xmlns="{SERVER}"/></filter>'
COMMITS = f'<filter type="subtree"><netconf-confirmed-commit xmlns="{SERVER}"/></filter>'
MACHINE = (
    '<filter type="subtree">'
    + "".join(f'<{name} xmlns="{HA}"/>' for name in ("device-state-change", "acceleration-change", "ipsec-refresh"))
    + "</filter>"
)
ADDRESS = "0000:3d:00.0"


@pytest.fixture
def session(agent: Agent) -> Session:
    return agent.session()


def create(content: str = "", attributes: str = "") -> str:
    """Return a create-subscription."""
    return f'<create-subscription xmlns="{NOTIFICATION}" {attributes}>{content}</create-subscription>'


def xpath(select: str) -> str:
    """Return an XPath filter with the prefixes s, t and h."""
    return f'<filter {PREFIXES} type="xpath" select="{select}"/>'


def heard(message: Element) -> tuple[str, Element]:
    """Return the time and the content of a notification, of which there is one in a message."""
    assert message.tag == f"{{{NOTIFICATION}}}notification", etree.tostring(message)
    assert None in message.nsmap
    time, content = message
    assert time.tag == f"{{{NOTIFICATION}}}eventTime"
    assert TIME.fullmatch(time.text or "")
    return time.text or "", content


def hear(session: Session) -> str:
    """Return the content of the next notification, without namespaces."""
    return shown(heard(session.reply())[1])


def shown(content: Element) -> str:
    """Return an element without namespaces."""
    around = etree.Element("around")
    around.append(content)
    return plain(around)


def name_of(content: str) -> str:
    """Return the name of the outermost element."""
    found = re.match(r"<([\w-]+)", content)
    assert found
    return found[1]


def quiet(session: Session) -> None:
    """Look whether nothing was sent: a reply comes after what was sent before."""
    session.ok("<discard-changes/>")


def by(session: Session) -> str:
    """Return who a session is, in a notification; the local socket has no address."""
    return f"<username>root</username><session-id>{session.id}</session-id>"


def change(who: str, *edits: tuple[str, str], datastore: str = "running") -> str:
    """Return a netconf-config-change."""
    told = "".join(f"<edit><target>{path}</target><operation>{kind}</operation></edit>" for path, kind in edits)
    return (
        f"<netconf-config-change><changed-by>{who}</changed-by><datastore>{datastore}</datastore>{told}"
        "</netconf-config-change>"
    )


def before(seconds: float) -> str:
    """Return a time that is some seconds ago."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


# The subscription.


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


def test_c208_events_are_replayed_by_their_own_time(agent: Agent) -> None:
    writer, first, second = agent.session(), agent.session(), agent.session()
    first.ok(create(CHANGES))
    times = []
    for number in range(3):
        writer.fill(f"<name>{number}</name>")
        times.append(heard(first.reply())[0])
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
    writer, first, second = agent.session(), agent.session(), agent.session()
    first.ok(create(CHANGES))
    times = []
    for number in range(3):
        writer.fill(f"<name>{number}</name>")
        times.append(heard(first.reply())[0])
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


# What the server tells of itself.

CHANGED = {
    "C216 create": ("", "<name>x</name>", [("/t:top/t:name", "create")]),
    "C216 a container that means something is created": ("", "<pres><z>x</z></pres>", [("/t:top/t:pres", "create")]),
    "C216 a leaf is created": ("<mtu>1400</mtu>", "<name>x</name>", [("/t:top/t:name", "create")]),
    "C216 a leaf is changed": ("<mtu>1400</mtu>", "<mtu>1401</mtu>", [("/t:top/t:mtu", "replace")]),
    "C216 a leaf is deleted": (
        "<mtu>1400</mtu><name>x</name>",
        '<mtu nc:operation="delete"/>',
        [("/t:top/t:mtu", "delete")],
    ),
    "C216 nothing": ("<mtu>1400</mtu>", "<mtu>1400</mtu>", None),
    "C216 several": (
        "<mtu>1400</mtu><name>x</name>",
        '<mtu nc:operation="delete"/><name>y</name>',
        [("/t:top/t:name", "replace"), ("/t:top/t:mtu", "delete")],
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_of_running_names_what_was_changed(agent: Agent, session: Session, name: str) -> None:
    old, new, edits = CHANGED[name]
    if old:
        session.fill(old)
    listener = agent.session()
    listener.ok(create(CHANGES))
    session.ok(edit(top(new)), "<commit/>")
    if edits is not None:
        assert hear(listener) == change(by(session), *edits)
    quiet(listener)


def test_c216_a_change_of_very_much_names_where(agent: Agent, session: Session) -> None:
    listener = agent.session()
    session.fill("<mtu>1400</mtu>")
    listener.ok(create(CHANGES))
    session.fill("".join(f"<tag>n{number}</tag>" for number in range(300)))
    created = [(f"/t:top/t:tag[.='n{number}']", "create") for number in range(64)]
    assert hear(listener) == change(by(session), ("/t:top", "replace"), *created)


def test_c216_the_server_itself_restores(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(create(CHANGES))
    session.ok(edit(top("<name>x</name>")), confirmed("<confirm-timeout>1</confirm-timeout>"))
    assert hear(listener) == change(by(session), ("/t:top/t:name", "create"))
    assert hear(listener) == change("<server/>", ("/t:top/t:name", "delete"))


def test_c216_startup_is_told_where_there_is_one(tmp_path: Path) -> None:
    with serving(tmp_path / "startup", settings='[datastore]\npersistence = "startup"\n') as agent:
        session, listener = agent.session(), agent.session()
        session.fill("<name>x</name>")
        listener.ok(create(CHANGES))
        session.ok("<copy-config><target><startup/></target><source><running/></source></copy-config>")
        assert hear(listener) == change(by(session), ("/t:top/t:name", "create"), datastore="startup")
        session.ok("<delete-config><target><startup/></target></delete-config>")
        assert "<target>/t:top/t:name</target><operation>delete</operation>" in hear(listener)


def end(session: Session, reason: str, killed_by: str = "") -> str:
    """Return a netconf-session-end."""
    return (
        f"<netconf-session-end>{by(session)}{killed_by}<termination-reason>{reason}</termination-reason>"
        "</netconf-session-end>"
    )


def test_c217_the_start_of_a_session_is_told(agent: Agent, session: Session) -> None:
    session.ok(create())
    other = agent.session()
    assert hear(session) == f"<netconf-session-start>{by(other)}</netconf-session-start>"


def test_c217_over_ssh_the_address_is_told(agent: Agent, session: Session) -> None:
    session.ok(create())
    agent.gateway.connect("ssh")
    try:
        assert re.fullmatch(
            f"<netconf-session-start><username>{USER}</username><session-id>[0-9]+</session-id>"
            "<source-host>127.0.0.1</source-host></netconf-session-start>",
            hear(session),
        )
    finally:
        agent.gateway.disconnect()


@pytest.mark.parametrize("reason", ["closed", "dropped", "bad-hello", "other"])
def test_c217_the_end_of_a_session_is_told_with_its_reason(agent: Agent, session: Session, reason: str) -> None:
    session.ok(create(ENDS))
    other = agent.session(base=None if reason == "bad-hello" else "1.1")
    if reason == "closed":
        other.ok(CLOSE)
    elif reason == "bad-hello":
        other.send(b"<hello/>]]>]]>")
    elif reason == "other":
        other.send(b"\n#0\n")
    else:
        other.close()
    assert hear(session) == end(other, reason)


def test_c149_a_session_that_is_killed_is_told_with_who_did_it(agent: Agent, session: Session) -> None:
    session.ok(create(ENDS))
    killer, victim = agent.session(), agent.session()
    killer.ok(f"<kill-session><session-id>{victim.id}</session-id></kill-session>")
    assert victim.ends() == b""
    assert hear(session) == end(victim, "killed", f"<killed-by>{killer.id}</killed-by>")


def commit_event(event: str, who: str = "", timeout: int | None = None) -> str:
    """Return a netconf-confirmed-commit."""
    seconds = "" if timeout is None else f"<timeout>{timeout}</timeout>"
    return f"<netconf-confirmed-commit>{who}<confirm-event>{event}</confirm-event>{seconds}</netconf-confirmed-commit>"


def test_c218_a_confirmed_commit_is_told_from_start_to_end(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(create(COMMITS))
    who = by(session)
    session.ok(edit(top("<name>x</name>")), confirmed())
    assert hear(listener) == commit_event("start", who, 600)
    session.ok(confirmed("<confirm-timeout>300</confirm-timeout>"))
    assert hear(listener) == commit_event("extend", who, 300)
    session.ok("<commit/>")
    assert hear(listener) == commit_event("complete", who)
    session.ok(edit(top("<name>y</name>")), confirmed(), "<cancel-commit/>")
    assert hear(listener) == commit_event("start", who, 600)
    assert hear(listener) == commit_event("cancel", who)
    session.ok("<commit/>")
    quiet(listener)


def test_c218_what_is_not_confirmed_in_time_is_told(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(create(COMMITS))
    session.ok(edit(top("<name>x</name>")), confirmed("<confirm-timeout>1</confirm-timeout>"))
    assert hear(listener) == commit_event("start", by(session), 1)
    assert hear(listener) == commit_event("timeout")


def test_c218_one_that_ends_with_its_session_is_cancelled(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(create(COMMITS))
    session.ok(edit(top("<name>x</name>")), confirmed())
    session.close()
    assert hear(listener) == commit_event("start", by(session), 600)
    assert hear(listener) == commit_event("cancel", by(session))


def test_c218_one_that_ends_with_its_agent_is_told_by_the_next(agent: Agent, session: Session) -> None:
    since = datetime.now(UTC).isoformat()
    session.ok(edit(top("<name>x</name>")), confirmed())
    agent.restart(kill=True)
    listener = agent.session()
    listener.ok(create(f"<startTime>{since}</startTime>{COMMITS}"))
    assert hear(listener) == commit_event("start", by(session), 600)
    assert hear(listener) == commit_event("timeout")


def test_f79_a_confirmed_commit_that_fails_tells_nothing(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(
        create(
            f'<filter><netconf-confirmed-commit xmlns="{SERVER}"/><netconf-config-change xmlns="{SERVER}"/></filter>'
        )
    )
    session.ok(edit(top("<rule><id>1</id></rule>"), options="<test-option>set</test-option>"))
    assert session.outcome(confirmed("<persist>p</persist>")).startswith("application/data-missing")
    assert session.outcome("<cancel-commit><persist-id>p</persist-id></cancel-commit>") == "protocol/invalid-value"
    quiet(listener)


def test_c219_other_capabilities_than_the_last_time_are_told(tmp_path: Path) -> None:
    kinds = (
        '<filter><netconf-capability-change xmlns="' + SERVER + '"/>'
        '<yang-library-update xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-library"/>'
        '<yang-library-change xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-library"/></filter>'
    )
    with serving(tmp_path / "capabilities") as agent:
        session = agent.session()
        session.ok(create(f"{PAST}{kinds}"))
        assert hear(session) == "<replayComplete/>"
        agent.restart()
        agent.gateway.stop()
        agent.hang_up()
        agent.gateway.settings.write_text("[datastore]\nwritable-running = true\n")
        agent.start()
        session = agent.session()
        session.ok(create(f"{PAST}{kinds}"))
        told = hear(session)
        assert told.startswith(
            "<netconf-capability-change><changed-by><server/></changed-by>"
            "<added-capability>urn:ietf:params:netconf:capability:writable-running:1.0</added-capability>"
            "<modified-capability>"
        ), told
        assert "<deleted-capability>" not in told
        update, change_ = hear(session), hear(session)
        identifier = re.fullmatch(r"<yang-library-update><content-id>(.*)</content-id></yang-library-update>", update)
        assert identifier, update
        assert f"content-id={identifier[1]}</modified-capability>" in told
        expected = f"<yang-library-change><module-set-id>{identifier[1]}</module-set-id></yang-library-change>"
        assert change_ == expected
        assert hear(session) == "<replayComplete/>"


# What becomes of slow readers, of others, and of many.


def big(number: int) -> str:
    """Return what makes an event of some 20 kB."""
    return "".join(f"<tag>{'n' * 60}{number}.{n}</tag>" for n in range(80))


def test_c221_who_does_not_read_holds_up_nobody_and_takes_no_memory(agent: Agent, session: Session) -> None:
    stuck, reader = agent.session(), agent.session()
    for listener in (stuck, reader):
        listener.ok(create(CHANGES))
    sizes = []
    expected = []
    for number in range(100):
        session.ok(edit(top(big(number), 'nc:operation="replace"')), "<commit/>")
        expected.append(heard(reader.reply())[0])
        sizes.append(memory(agent.gateway.pid))
    assert len(expected) == 100
    # The log holds each event once: some 3 MB in all.
    assert sizes[-1] - sizes[20] < 16 * 2**20, sizes
    assert [heard(stuck.reply())[0] for _ in range(100)] == expected


def test_c221_who_reads_slower_than_the_log_forgets_is_ended(tmp_path: Path) -> None:
    with serving(tmp_path / "slow", settings='[notifications]\nlog-size = "256 KiB"\n') as agent:
        stuck, reader, writer = agent.session(), agent.session(), agent.session()
        stuck.ok(create(CHANGES))
        reader.ok(create(ENDS))
        for number in range(60):
            writer.ok(edit(top(big(number), 'nc:operation="replace"')), "<commit/>")
        assert hear(reader) == end(stuck, "other")
        assert "reads its notifications too slowly" in agent.gateway.log.read_text()
        quiet(reader)


def test_c208_many_replays_while_commits_go_on_lose_and_repeat_nothing(agent: Agent) -> None:
    writer, reference = agent.session(), agent.session()
    # That they have started is told before the replay begins.
    quiet(writer)
    quiet(reference)
    since = datetime.now(UTC).isoformat()
    reference.ok(create())
    commits = [[edit(top(f"<name>{number}</name>")), "<commit/>"] for number in range(100)]
    writer.ok(*(content for pair in commits[:20] for content in pair))
    listeners = [agent.session() for _ in range(50)]
    writer.send(b"".join(chunked(rpc(content)) for pair in commits[20:] for content in pair))
    for listener in listeners:
        listener.ok(create(f"<startTime>{since}</startTime>"))
    for _ in range(160):
        assert writer.reply()[0].tag == f"{N}ok"
    writer.ok("<discard-changes/>", edit(top("", 'nc:operation="delete"')), "<commit/>")
    everything = until_deleted(reference)
    assert len(everything) == 50 + 100 + 1
    for listener in listeners:
        found = until_deleted(listener)
        complete = [n for n, (_time, name) in enumerate(found) if name == "replayComplete"]
        assert len(complete) == 1
        del found[complete[0]]
        assert found == everything


def until_deleted(session: Session) -> list[tuple[str, str]]:
    """Return time and name of all notifications up to that of the deletion of top."""
    found = []
    while True:
        time, content = heard(session.reply())
        found.append((time, str(etree.QName(content).localname)))
        if content.findtext("{*}edit/{*}operation") == "delete":
            return found


# Field cases.


def test_f89_without_a_start_time_no_history_comes(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>x</name>")
    session.ok(create(CHANGES))
    quiet(session)


def test_f91_replay_complete_comes_once_behind_the_last_stored_event(agent: Agent, session: Session) -> None:
    since = datetime.now(UTC).isoformat()
    for number in range(5):
        session.fill(f"<name>{number}</name>")
    session.ok(create(f"<startTime>{since}</startTime>{CHANGES}"))
    names = [name_of(hear(session)) for _ in range(6)]
    assert names == [*["netconf-config-change"] * 5, "replayComplete"]
    quiet(session)


def test_f93_one_session_s_replay_takes_nothing_from_another(agent: Agent) -> None:
    first, second, writer = agent.session(), agent.session(), agent.session()
    first.ok(create(CHANGES))
    writer.fill("<name>x</name>")
    assert name_of(hear(first)) == "netconf-config-change"
    second.ok(create(f"<startTime>{before(60)}</startTime>{CHANGES}"))
    while hear(second) != "<replayComplete/>":
        pass
    for name in "yz":
        writer.fill(f"<name>{name}</name>")
        assert hear(first) == hear(second) == change(by(writer), ("/t:top/t:name", "replace"))


NESTED = (
    '<house xmlns="urn:example:n"><room><floor>1</floor><name>den</name>'
    "<alarm><cause>fire</cause></alarm></room></house>"
)


ROOMS = {
    "C220 no filter": "",
    "F95 a filter": '<filter><house xmlns="urn:example:n"><room><name>den</name></room></house></filter>',
}


@pytest.mark.parametrize("row", ROOMS)
def test_a_notification_in_data_comes_with_its_ancestors_and_their_keys(tmp_path: Path, row: str) -> None:
    async def scenario() -> None:
        model = load([Path(__file__).parents[1] / "agent/modules" / name for name in ("t.yang", "n.yang")])
        streams = Streams(model, tmp_path, now=lambda: datetime.now(UTC))
        client = Server(model, streams=streams).client()
        await client.ok(create(ROOMS[row]))
        for name in ("attic", "den") if ROOMS[row] else ("den",):
            room = {"floor": 1, "name": name, "alarm": {"cause": "fire"}}
            streams.publish({"n:house": {"room": [room]}})
        await asynchronously(lambda: len(client.wire.written) > client.read)
        (message,) = client.replies()
        content = heard(message)[1]
        etree.cleanup_namespaces(content)
        assert etree.tostring(content).decode() == NESTED
        streams.close()

    asyncio.run(scenario())


def test_f119_who_listens_is_not_idle(tmp_path: Path) -> None:
    with serving(tmp_path / "idle", settings="[limits]\nidle-timeout = 1\n") as agent:
        listener = agent.session()
        listener.ok(create(ENDS))
        for _ in range(2):
            idle = agent.session()
            assert idle.ends() == b""
            assert hear(listener) == end(idle, "timeout")
        quiet(listener)


# What happens to the machine.


def accelerate(value: str) -> str:
    return edit(f'<acceleration xmlns="{HA}"><qat><enabled>{value}</enabled></qat></acceleration>')


def test_c216_a_commit_tells_what_became_of_the_machine(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(create(MACHINE))
    session.ok(accelerate("true"), "<commit/>")
    refresh = re.compile(
        r"<ipsec-refresh><method>restart</method><outcome>succeeded</outcome><duration>\d+</duration></ipsec-refresh>"
    )
    assert refresh.fullmatch(hear(listener))
    statuses = "<old-status>{}</old-status><new-status>{}</new-status>"
    state = f"<device-state-change><address>{{}}</address><name>qat_dev0</name>{statuses}"
    assert hear(listener).startswith(state.format(ADDRESS, "down", "up"))
    told = "<acceleration-change><active>{}</active><fallback-active>false</fallback-active><cause>{}</cause>"
    assert hear(listener).startswith(told.format("true", "commit"))
    session.ok(accelerate("false"), confirmed(), "<cancel-commit/>")
    for old, new, cause in (("up", "down", "commit"), ("down", "up", "rollback")):
        assert refresh.fullmatch(hear(listener))
        assert hear(listener).startswith(state.format(ADDRESS, old, new))
        assert hear(listener).startswith(told.format("true" if new == "up" else "false", cause))
    quiet(listener)


def test_c216_a_commit_that_is_undone_changes_nothing_but_ipsec_was_refreshed(agent: Agent, session: Session) -> None:
    listener = agent.session()
    listener.ok(create(f'{MACHINE.removesuffix("</filter>")}<netconf-config-change xmlns="{SERVER}"/></filter>'))
    session.ok(accelerate("true"))
    simulator.faults.fail(agent.gateway.root, "qat_service", "start", "it fails once", times=1)
    assert session.outcome("<commit/>").startswith("application/operation-failed")
    told = hear(listener)
    assert told.startswith("<ipsec-refresh><method>restart</method><outcome>succeeded</outcome>"), told
    quiet(listener)
