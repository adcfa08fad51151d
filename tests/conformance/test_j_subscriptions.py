"""Section J: dynamic subscriptions to events and datastores (RFC 8639, RFC 8640, RFC 8641)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.access import Guarded, deny, guarded, path, rules
from tests.conformance.agents import CLOSE, Agent, confirmed
from tests.conformance.memory import memory
from tests.conformance.session import N, Session, chunked, edit, plain, refusals, rpc, top
from tests.system.client import HA, qat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

SN = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
YP = "urn:ietf:params:xml:ns:yang:ietf-yang-push"
DS = "urn:ietf:params:xml:ns:yang:ietf-datastores"
LIBRARY = "urn:ietf:params:xml:ns:yang:ietf-yang-library"
SERVER = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
SPACES = (
    f'xmlns="{SN}" xmlns:yp="{YP}" xmlns:ds="{DS}" xmlns:sn="{SN}" xmlns:h="{HA}" xmlns:n="{SERVER}" '
    'xmlns:t="urn:example:t"'
)
STREAM = "<stream>NETCONF</stream>"
CHANGES = f'<stream-subtree-filter><netconf-config-change xmlns="{SERVER}"/></stream-subtree-filter>'
MODULES = f'<yang-library xmlns="{LIBRARY}"/>'
FLOWS = qat("<device><flows/></device>")
ON_CHANGE = "<yp:on-change/>"
FUTURE, PAST = "2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


@pytest.fixture
def session(agent: Agent) -> Session:
    return agent.session()


@pytest.fixture(scope="module")
def guarded_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Return an agent with users."""
    with guarded(tmp_path_factory.mktemp("push")) as served:
        yield served


@pytest.fixture
def gate(guarded_machine: Guarded) -> Iterator[Guarded]:
    """Return that agent without rules for the users, and none of their sessions afterwards."""
    guarded_machine.configure()
    yield guarded_machine
    guarded_machine.close()


def establish(content: str) -> str:
    """Return an establish-subscription."""
    return f"<establish-subscription {SPACES}>{content}</establish-subscription>"


def push(datastore: str, trigger: str, wanted: str = "") -> str:
    """Return an establish-subscription to a datastore."""
    selected = f"<yp:datastore-subtree-filter>{wanted}</yp:datastore-subtree-filter>" if wanted else ""
    return establish(f"<yp:datastore>ds:{datastore}</yp:datastore>{selected}{trigger}")


def periodic(period: int, anchor: str = "") -> str:
    """Return an update-trigger."""
    anchored = f"<yp:anchor-time>{anchor}</yp:anchor-time>" if anchor else ""
    return f"<yp:periodic><yp:period>{period}</yp:period>{anchored}</yp:periodic>"


def named(operation: str, number: int, content: str = "", space: str = SN) -> str:
    """Return an operation on a subscription."""
    return f'<x:{operation} xmlns:x="{space}" {SPACES}><x:id>{number}</x:id>{content}</x:{operation}>'


def begin(session: Session, operation: str) -> int:
    """Establish a subscription; its reply comes before its first notification."""
    reply = session.ask(operation)
    found = reply.findtext(f"{{{SN}}}id")
    assert found is not None, etree.tostring(reply)
    assert len(reply) == 1
    return int(found)


def hear(session: Session) -> Element:
    """Return the next notification's content; there is one in a message, with its time."""
    time, content = session.reply()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", time.text or "")
    return content


def heard(session: Session) -> str:
    """Return the next notification's name, and what is in it, without namespaces."""
    content = hear(session)
    return f"{etree.QName(content).localname} {plain(content)}"


def among(session: Session, operation: str) -> Element:
    """Ask in a session that gets notifications, and return the reply."""
    session.send(chunked(rpc(operation, "among")))
    while (message := session.reply()).tag != f"{N}rpc-reply":
        pass
    return message


def refused(session: Session, operation: str) -> str:
    """Return a refusal's fields, and its error-info as ``structure/leaf=value``."""
    reply = among(session, operation)
    (refusal,) = refusals(reply)
    parts = [
        f"{etree.QName(structure).localname}/{etree.QName(leaf).localname}={leaf.text}"
        for structure in reply.iterfind(f"{N}rpc-error/{N}error-info/*")
        for leaf in structure
    ]
    return " ".join([refusal.partition(" {")[0], *parts])


def edits(update: Element) -> list[str]:
    """Return the edits of a push-change-update."""
    found = []
    for one in update.iter(f"{{{YP}}}edit"):
        value = one.find(f"{{{YP}}}value")
        found.append(
            f"{one.findtext(f'{{{YP}}}operation')} {one.findtext(f'{{{YP}}}target')}"
            + ("" if value is None else f" {plain(value)}")
        )
    return found


def quiet(session: Session) -> None:
    """Look whether nothing was sent: a reply comes after what was sent before."""
    session.ok("<discard-changes/>")


def state(agent: Agent, name: str) -> str:
    """Return the module's state below a container."""
    return agent.session().data(f'<get><filter><{name} xmlns="{SN}"/></filter></get>')


def soon(seconds: float) -> str:
    """Return a time."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


# Streams.


def test_c222_events_follow_the_id(agent: Agent, session: Session) -> None:
    begin(session, establish(STREAM + CHANGES))
    agent.session().fill("<name>x</name>")
    assert "<target>/t:top/t:name</target><operation>create</operation>" in heard(session)
    quiet(session)


def test_c222_a_session_can_have_many_subscriptions(agent: Agent, session: Session) -> None:
    numbers = [begin(session, establish(STREAM + CHANGES)) for _ in range(3)]
    assert len(set(numbers)) == 3
    agent.session().fill("<name>x</name>")
    assert len({heard(session) for _ in range(3)}) == 1
    quiet(session)


@pytest.mark.parametrize(
    ("expression", "passes"),
    [
        ("/n:netconf-config-change[edit]", False),
        ("/n:netconf-config-change[n:edit]", True),
        ("count(//*[local-name()='edit']) = 1", True),
        ("/t:top", False),
    ],
)
def test_c222_an_expression_is_put_to_each_event(agent: Agent, session: Session, expression: str, passes: bool) -> None:
    begin(session, establish(f"{STREAM}<stream-xpath-filter>{expression}</stream-xpath-filter>"))
    agent.session().fill("<name>x</name>")
    if passes:
        assert heard(session).startswith("netconf-config-change")
    quiet(session)


def test_c222_the_past_comes_first_and_its_end_is_told(agent: Agent, session: Session) -> None:
    other = agent.session()
    start = soon(0)
    other.fill("<name>x</name>")
    number = begin(session, establish(f"{STREAM}<replay-start-time>{start}</replay-start-time>{CHANGES}"))
    assert heard(session).startswith("netconf-config-change")
    assert heard(session) == f"replay-completed <id>{number}</id>"
    other.fill("<name>y</name>")
    assert heard(session).startswith("netconf-config-change")
    quiet(session)


def test_c222_a_log_that_does_not_reach_back_says_so(agent: Agent, session: Session) -> None:
    reply = session.ask(establish(f"{STREAM}<replay-start-time>{PAST}</replay-start-time>{CHANGES}"))
    revised = reply.findtext(f"{{{SN}}}replay-start-time-revision")
    assert revised is not None
    assert f"<replay-log-creation-time>{revised}</replay-log-creation-time>" in state(agent, "streams")


def test_c222_state_lists_streams_and_subscriptions(agent: Agent, session: Session) -> None:
    assert "<name>NETCONF</name>" in state(agent, "streams")
    assert "<replay-support/>" in state(agent, "streams")
    assert state(agent, "subscriptions") == ""
    number = begin(session, establish(STREAM + CHANGES))
    agent.session().fill("<name>x</name>")
    heard(session)
    shown = state(agent, "subscriptions")
    assert f"<id>{number}</id>" in shown
    assert "<stream-subtree-filter><netconf-config-change/></stream-subtree-filter><stream>NETCONF</stream>" in shown
    assert "<encoding>sn:encode-xml</encoding>" in shown
    assert (
        f"<receiver><name>session {session.id}</name><sent-event-records>1</sent-event-records>"
        "<excluded-event-records>" in shown
    )
    assert "<state>active</state>" in shown
    session.ok(CLOSE)
    assert state(agent, "subscriptions") == ""


def test_c222_subscriptions_can_not_be_configured(session: Session) -> None:
    receiver = "<receivers><receiver><name>r</name></receiver></receivers>"
    configured = (
        f'<subscriptions xmlns="{SN}"><subscription><id>7</id>{STREAM}{receiver}</subscription></subscriptions>'
    )
    assert "configured-unsupported" in session.outcome(edit(configured))


def test_c222_with_create_subscription_there_is_no_other(session: Session) -> None:
    session.ok('<create-subscription xmlns="urn:ietf:params:xml:ns:netconf:notification:1.0"/>')
    assert refused(session, establish(STREAM)) == "protocol/operation-not-supported"


STREAM_INFO = "establish-subscription-stream-error-info"
STORE_INFO = "establish-subscription-datastore-error-info"
FAILED = "application/operation-failed"
UNSUPPORTED = f"{FAILED}/ietf-subscribed-notifications:filter-unsupported"
TOO_SHORT = "ietf-yang-push:period-unsupported"
OPERATIONAL = "<yp:datastore>ds:operational</yp:datastore>"
RUNNING = "<yp:datastore>ds:running</yp:datastore>"
INPUT = "@/sn:establish-subscription"
REFUSED = {
    "C223 unknown stream": (
        "<stream>SNMP</stream>",
        f"{FAILED}/ietf-subscribed-notifications:stream-unavailable",
    ),
    "C223 encoding": (
        f"{STREAM}<encoding>sn:encode-json</encoding>",
        f"{FAILED}/ietf-subscribed-notifications:encoding-unsupported {STREAM_INFO}/reason=encoding-unsupported",
    ),
    "C223 dscp": (
        f"{STREAM}<dscp>10</dscp>",
        f"{FAILED}/ietf-subscribed-notifications:dscp-unavailable {STREAM_INFO}/reason=dscp-unavailable",
    ),
    "C223 filter of a stream": (
        f"{STREAM}<stream-xpath-filter>a b</stream-xpath-filter>",
        f"{UNSUPPORTED} {STREAM_INFO}/reason=filter-unsupported {STREAM_INFO}/filter-failure-hint=Invalid expression",
    ),
    "C223 no filter of that name": (
        f"{STREAM}<stream-filter-name>none</stream-filter-name>",
        f"{UNSUPPORTED} {STREAM_INFO}/reason=filter-unsupported {STREAM_INFO}/filter-failure-hint=",
    ),
    "C223 filter of a datastore": (
        f"{RUNNING}<yp:datastore-xpath-filter>/t:top[</yp:datastore-xpath-filter>{ON_CHANGE}",
        f"{UNSUPPORTED} {STORE_INFO}/reason=sn:filter-unsupported {STORE_INFO}/filter-failure-hint=",
    ),
    "C223 no target": ("", "application/missing-element"),
    "C223 no trigger": (RUNNING, "application/missing-element"),
    "C223 replay of the future": (
        f"{STREAM}<replay-start-time>{FUTURE}</replay-start-time>",
        f"application/invalid-value {INPUT}/sn:replay-start-time",
    ),
    "C223 stop-time in the past": (
        f"{STREAM}<stop-time>{PAST}</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 stop-time before the start": (
        f"{STREAM}<replay-start-time>2020-01-02T00:00:00Z</replay-start-time><stop-time>{PAST}</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 no time": (
        f"{STREAM}<stop-time>tomorrow</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 stop-time after the last day": (
        f"{STREAM}<stop-time>9999-12-31T23:59:59-14:00</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 replay before the first day": (
        f"{STREAM}<replay-start-time>0001-01-01T00:00:00+14:00</replay-start-time>",
        f"application/invalid-value {INPUT}/sn:replay-start-time",
    ),
    "C226 anchor after the last day": (
        f"{RUNNING}{periodic(100, '9999-12-31T23:59:59-14:00')}",
        f"application/invalid-value {INPUT}/yp:periodic/yp:anchor-time",
    ),
    "C226 period": (
        f"{RUNNING}{periodic(9)}",
        f"{FAILED}/{TOO_SHORT} {STORE_INFO}/reason=period-unsupported {STORE_INFO}/period-hint=10",
    ),
    "C226 counters on change": (
        f"{OPERATIONAL}<yp:datastore-subtree-filter>{FLOWS}</yp:datastore-subtree-filter>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:on-change-unsupported {STORE_INFO}/reason=on-change-unsupported",
    ),
    "C226 candidate on change": (
        f"<yp:datastore>ds:candidate</yp:datastore>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:on-change-unsupported {STORE_INFO}/reason=on-change-unsupported",
    ),
    "C226 what never changes": (
        f"{OPERATIONAL}<yp:datastore-subtree-filter>{MODULES}</yp:datastore-subtree-filter>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:unchanging-selection {STORE_INFO}/reason=unchanging-selection",
    ),
    "C226 datastore": (
        f"<yp:datastore>ds:conventional</yp:datastore>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:datastore-not-subscribable {STORE_INFO}/reason=datastore-not-subscribable",
    ),
    "C226 all changes excluded": (
        RUNNING
        + "<yp:on-change>"
        + "".join(
            f"<yp:excluded-change>{change}</yp:excluded-change>"
            for change in ("create", "delete", "insert", "move", "replace")
        )
        + "</yp:on-change>",
        f"{FAILED}/ietf-yang-push:cant-exclude {STORE_INFO}/reason=cant-exclude",
    ),
}


@pytest.mark.parametrize(("content", "wanted"), REFUSED.values(), ids=REFUSED)
def test_terms_that_can_not_be_had(session: Session, content: str, wanted: str) -> None:
    found = refused(session, establish(content))
    assert found.startswith(wanted) if wanted.endswith("=") else found == wanted
    quiet(session)


def test_a_user_with_limits_is_told_the_same(gate: Guarded) -> None:
    gate.configure(rules("l", deny(path("/e:top/e:secret"))))
    ada = gate.user()
    for name, (content, wanted) in REFUSED.items():
        found = refused(ada, establish(content))
        assert found.startswith(wanted) if wanted.endswith("=") else found == wanted, name
    no_such = f"{FAILED}/ietf-subscribed-notifications:no-such-subscription"
    for operation in ("delete", "modify"):
        asked = named(f"{operation}-subscription", 4711)
        assert refused(ada, asked).startswith(no_such), operation
    assert "no-such-subscription-resync" in refused(ada, named("resync-subscription", 4711, space=YP))


def test_c223_a_session_has_no_more_than_a_hundred(session: Session) -> None:
    for _ in range(100):
        begin(session, establish(STREAM + CHANGES))
    wanted = (
        f"{FAILED}/ietf-subscribed-notifications:insufficient-resources {STREAM_INFO}/reason=insufficient-resources"
    )
    assert refused(session, establish(STREAM)) == wanted


def test_c224_only_its_own_session_names_a_subscription(agent: Agent, session: Session) -> None:
    number = begin(session, establish(STREAM + CHANGES))
    other = agent.session()
    no_such = f"{FAILED}/ietf-subscribed-notifications:no-such-subscription"
    gone = f"{no_such} delete-subscription-error-info/reason=no-such-subscription"
    changed = named("modify-subscription", number, f"<stop-time>{FUTURE}</stop-time>")
    for asking, wanted in ((other, number), (session, number + 1000)):
        assert refused(asking, named("delete-subscription", wanted)) == gone
        assert refused(asking, changed.replace(f">{number}<", f">{wanted}<")) == (
            f"{no_such} modify-subscription-stream-error-info/reason=no-such-subscription"
        )
    assert refused(other, named("kill-subscription", number + 1000)) == gone
    session.ok(changed, named("delete-subscription", number))
    assert refused(session, named("delete-subscription", number)) == gone


def test_c224_what_is_not_in_the_model_can_not_be_modified(session: Session) -> None:
    number = begin(session, establish(STREAM + CHANGES))
    for more in ("<dscp>1</dscp>", STREAM, "<encoding>sn:encode-xml</encoding>"):
        assert refused(session, named("modify-subscription", number, more)).startswith("application/unknown-element")


def test_c224_kill_subscription_is_for_who_is_permitted(gate: Guarded) -> None:
    ada = gate.user()
    number = begin(ada, establish(STREAM + CHANGES))
    assert refused(ada, named("kill-subscription", number)) == "protocol/access-denied"
    gate.root.ok(named("kill-subscription", number))
    assert heard(ada).startswith("subscription-terminated")


def test_c225_the_stop_time_completes(agent: Agent, session: Session) -> None:
    number = begin(session, establish(f"{STREAM}{CHANGES}<stop-time>{soon(0.3)}</stop-time>"))
    assert heard(session) == f"subscription-completed <id>{number}</id>"
    number = begin(
        session,
        push("running", ON_CHANGE).replace("<yp:on-change/>", f"<yp:on-change/><stop-time>{soon(0.3)}</stop-time>"),
    )
    assert heard(session).startswith("push-update")
    assert heard(session) == f"subscription-completed <id>{number}</id>"
    assert state(agent, "subscriptions") == ""


def test_c225_a_killed_one_is_told(agent: Agent, session: Session) -> None:
    number = begin(session, establish(STREAM + CHANGES))
    agent.session().ok(named("kill-subscription", number))
    assert heard(session) == f"subscription-terminated <id>{number}</id><reason>sn:no-such-subscription</reason>"
    agent.session().fill("<name>x</name>")
    quiet(session)


def test_c225_a_deleted_one_is_silent(agent: Agent, session: Session) -> None:
    number = begin(session, establish(STREAM + CHANGES))
    session.ok(named("delete-subscription", number))
    agent.session().fill("<name>x</name>")
    quiet(session)


def stream_filter(content: str, operation: str = "replace") -> str:
    """Return the edit of the configured stream filter f."""
    nc = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"'
    return edit(
        f'<filters xmlns="{SN}"><stream-filter {nc} nc:operation="{operation}"><name>f</name>{content}</stream-filter>'
        "</filters>"
    )


def test_c225_a_named_filter_that_goes_takes_its_subscriptions_along(agent: Agent, session: Session) -> None:
    other = agent.session()
    ends = f'<netconf-session-end xmlns="{SERVER}"/>'
    other.ok(stream_filter(f"<stream-subtree-filter>{ends}</stream-subtree-filter>"), "<commit/>")
    number = begin(session, establish(f"{STREAM}<stream-filter-name>f</stream-filter-name>"))
    other.ok(stream_filter(CHANGES), "<commit/>")
    told = heard(session)
    assert told.startswith(f"subscription-modified <id>{number}</id>")
    assert "<stream-filter-name>f</stream-filter-name>" in told
    assert heard(session).startswith("netconf-config-change")
    other.ok(stream_filter("", "delete"), "<commit/>")
    assert heard(session) == f"subscription-terminated <id>{number}</id><reason>sn:filter-unavailable</reason>"
    quiet(session)


def expression(kind: str, namespace: str, text: str, operation: str = "replace") -> str:
    """Return the edit of the configured filter f of a kind, an expression with the prefix own."""
    nc = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"'
    space, entry, key = (SN, "stream-filter", "name") if kind == "stream" else (YP, "selection-filter", "filter-id")
    filtered = f'<{kind}-xpath-filter xmlns:own="{namespace}">{text}</{kind}-xpath-filter>' if text else ""
    return edit(
        f'<filters xmlns="{SN}"><{entry} xmlns="{space}" {nc} nc:operation="{operation}"><{key}>f</{key}>{filtered}'
        f"</{entry}></filters>"
    )


def test_c225_a_configured_expression_keeps_its_prefixes(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.ok(expression("stream", SERVER, "/own:netconf-config-change[own:edit]"), "<commit/>")
    number = begin(session, establish(f"{STREAM}<stream-filter-name>f</stream-filter-name>"))
    other.fill("<name>x</name>")
    assert heard(session).startswith("netconf-config-change")
    other.ok(expression("stream", SERVER, "", "delete"), "<commit/>")
    assert heard(session) == f"subscription-terminated <id>{number}</id><reason>sn:filter-unavailable</reason>"


# Datastores.


def test_c226_periodic_updates_begin_at_once(session: Session) -> None:
    number = begin(session, push("operational", periodic(10), qat("<configured/>")))
    for _ in range(4):
        assert heard(session) == (
            f"push-update <id>{number}</id><datastore-contents><acceleration><qat><configured>false</configured></qat>"
            "</acceleration></datastore-contents>"
        )


def test_c226_an_anchor_time_says_when(agent: Agent) -> None:
    fractions = []
    for anchor in (0.75, 0.25):
        session = agent.session()
        begin(session, push("running", periodic(100, f"2020-01-01T00:00:0{anchor}Z")))
        hear(session)
        times = [datetime.fromisoformat(session.reply()[0].text or "") for _ in range(3)]
        late = [(time.microsecond / 1e6 - anchor) % 1 for time in times]
        fractions += [min(behind, 1 - behind) for behind in late]
    assert max(fractions) < 0.25, fractions


def test_c226_a_commit_of_fifty_edits_is_one_update(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.fill("<name>old</name>")
    number = begin(session, push("running", ON_CHANGE, top("")))
    assert "<name>old</name>" in heard(session)
    items = "".join(f"<item><id>{n}</id><need>n</need></item>" for n in range(48))
    other.ok(edit(top(f"<name>new</name><mtu>1400</mtu>{items}")), "<commit/>")
    update = hear(session)
    assert update.findtext(f"{{{YP}}}id") == str(number)
    assert sorted(edits(update)) == sorted(
        [
            "replace /t:top/name <name>new</name>",
            "create /t:top/mtu <mtu>1400</mtu>",
            *(f"create /t:top/item={n} <item><id>{n}</id><need>n</need></item>" for n in range(48)),
        ]
    )
    other.ok("<commit/>")
    quiet(session)


def test_c226_an_undone_confirmed_commit_is_a_change_too(agent: Agent, session: Session) -> None:
    begin(session, push("intended", ON_CHANGE, top("")))
    hear(session)
    other = agent.session()
    other.ok(edit(top("<name>x</name>")), confirmed(), "<cancel-commit/>")
    assert edits(hear(session)) == ["create /t:top/name <name>x</name>"]
    assert edits(hear(session)) == ["delete /t:top/name"]


def test_c226_filters_that_match_nothing_are_valid(agent: Agent, session: Session) -> None:
    number = begin(session, push("running", periodic(10), '<nowhere xmlns="urn:example:nowhere"/>'))
    for _ in range(2):
        assert heard(session) == f"push-update <id>{number}</id><datastore-contents/>"
    begin(other := agent.session(), push("running", ON_CHANGE, qat("<enabled/>")))
    assert heard(other).endswith("<datastore-contents/>")
    agent.session().fill("<name>x</name>")
    quiet(other)


def test_c226_updates_are_what_the_user_may_read_now(gate: Guarded) -> None:
    content = top("<name>x</name><secret>s</secret><mtu>1400</mtu>")
    gate.configure(rules("l", deny(path("/e:top/e:secret"))), content=content)
    ada = gate.user()
    begin(ada, push("running", ON_CHANGE, top("")))
    assert heard(ada).endswith("<datastore-contents><top><name>x</name><mtu>1400</mtu></top></datastore-contents>")
    gate.configure(rules("l", deny(path("/e:top/e:name"))), content=content)
    assert sorted(edits(hear(ada))) == ["create /t:top/secret <secret>s</secret>", "delete /t:top/name"]
    begin(ada, push("operational", periodic(10), FLOWS))
    assert "<flows>" not in heard(ada)


def test_c226_an_expression_selects(agent: Agent, session: Session) -> None:
    agent.session().fill("<item><id>1</id><need>ab</need></item><item><id>2</id><need>bb</need></item>")
    selected = "<yp:datastore-xpath-filter>/t:top/t:item[starts-with(t:need, 'b')]/t:need</yp:datastore-xpath-filter>"
    begin(session, establish(f"{RUNNING}{selected}{ON_CHANGE}"))
    assert "<datastore-contents><top><item><id>2</id><need>bb</need></item></top></datastore-contents>" in heard(
        session
    )
    agent.session().ok(edit(top("<item><id>1</id><need>bc</need></item>")), "<commit/>")
    assert edits(hear(session)) == ["create /t:top/item=1 <item><id>1</id><need>bc</need></item>"]


def test_c226_a_configured_expression_keeps_its_prefixes(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.fill("<name>x</name><mtu>1400</mtu>")
    other.ok(expression("datastore", "urn:example:t", "/own:top/own:name[. != 'y']"), "<commit/>")
    number = begin(session, establish(f"{RUNNING}<yp:selection-filter-ref>f</yp:selection-filter-ref>{ON_CHANGE}"))
    assert heard(session).endswith("<datastore-contents><top><name>x</name></top></datastore-contents>")
    other.ok(edit(top("<name>z</name>")), "<commit/>")
    assert edits(hear(session)) == ["replace /t:top/name <name>z</name>"]
    other.ok(expression("datastore", "urn:example:t", "//own:mtu[1]"), "<commit/>")
    assert heard(session).startswith(f"subscription-modified <id>{number}</id>")
    assert heard(session).endswith("<datastore-contents><top><mtu>1400</mtu></top></datastore-contents>")
    other.ok(expression("datastore", "urn:example:t", "", "delete"), "<commit/>")
    assert heard(session) == f"subscription-terminated <id>{number}</id><reason>sn:filter-unavailable</reason>"


def test_c226_a_listed_expression_declares_its_prefixes(agent: Agent, session: Session) -> None:
    selected = '<yp:datastore-xpath-filter xmlns:own="urn:example:t">/own:top/own:name[1]</yp:datastore-xpath-filter>'
    begin(session, establish(f"{RUNNING}{selected}{ON_CHANGE}"))
    reply = agent.session().ask(f'<get><filter><subscriptions xmlns="{SN}"/></filter></get>')
    (listed,) = reply.iter(f"{{{YP}}}datastore-xpath-filter")
    prefixes = re.findall(r"([a-z]+):", listed.text or "")
    assert len(prefixes) == 2
    assert {listed.nsmap.get(prefix) for prefix in prefixes} == {"urn:example:t"}


def test_c226_a_device_that_goes_down_by_itself_is_pushed(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.ok(edit(qat("<enabled>true</enabled><health><interval>1</interval></health>")), "<commit/>")
    begin(session, push("operational", ON_CHANGE, qat("<device><oper-status/><flows/></device>")))
    assert "<oper-status>up</oper-status><flows>" in heard(session)
    agent.gateway.run("etc/init.d/qat_service", "stop", "qat_dev0")
    found = edits(hear(session))
    leaf = "/hardware-acceleration:acceleration/qat/device=0000%3A3d%3A00.0/oper-status"
    assert found == [f"replace {leaf} <oper-status>down</oper-status>"]


def test_c226_modified_terms_hold_from_then_on(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>x</name><mtu>1400</mtu>")
    number = begin(session, push("running", periodic(360000), top("<name/>")))
    assert "<name>x</name></top>" in heard(session)
    selected = f"<yp:datastore-subtree-filter>{top('<mtu/>')}</yp:datastore-subtree-filter>"
    session.ok(named("modify-subscription", number, f"{RUNNING}{selected}{periodic(10)}"))
    for _ in range(3):
        assert "<datastore-contents><top><mtu>1400</mtu></top></datastore-contents>" in heard(session)
    assert refused(session, named("modify-subscription", number, f"{RUNNING}{periodic(1)}")) == (
        f"{FAILED}/ietf-yang-push:period-unsupported modify-subscription-datastore-error-info/reason=period-unsupported"
        " modify-subscription-datastore-error-info/period-hint=10"
    )


def test_c226_who_never_reads_costs_little_and_holds_up_nobody(agent: Agent, session: Session) -> None:
    stuck = agent.session()
    begin(stuck, push("operational", periodic(10), MODULES))
    begin(session, push("operational", periodic(10), qat("<configured/>")))
    for _ in range(10):
        hear(session)
    before = memory(agent.gateway.pid)
    for _ in range(50):
        hear(session)
    assert memory(agent.gateway.pid) - before < 4 * 1024 * 1024
    assert "<state>active</state>" in state(agent, "subscriptions")


def test_c227_everything_is_sent_again(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>x</name>")
    number = begin(session, push("running", ON_CHANGE, top("")))
    first = heard(session)
    session.ok(named("resync-subscription", number, space=YP))
    assert heard(session) == first
    quiet(session)


def test_c227_there_has_to_be_something_to_resync(agent: Agent, session: Session) -> None:
    number = begin(session, push("running", periodic(360000)))
    hear(session)
    assert refused(session, named("resync-subscription", number, space=YP)) == (
        f"{FAILED}/ietf-yang-push:on-change-sync-unsupported"
    )
    wanted = (
        f"{FAILED}/ietf-yang-push:no-such-subscription-resync"
        " resync-subscription-error/reason=no-such-subscription-resync"
    )
    assert refused(agent.session(), named("resync-subscription", number, space=YP)) == wanted
    assert refused(session, named("resync-subscription", 4294967295, space=YP)) == wanted
