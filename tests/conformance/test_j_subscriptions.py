"""Section J: dynamic subscriptions to events (RFC 8639, RFC 8640), and how subscriptions end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.agents import CLOSE, Agent
from tests.conformance.session import Session, edit
from tests.conformance.subscriptions import (
    CHANGES,
    FAILED,
    FUTURE,
    ON_CHANGE,
    PAST,
    SERVER,
    SN,
    STREAM,
    begin,
    establish,
    expression,
    heard,
    named,
    push,
    quiet,
    refused,
    soon,
    state,
    stream_filter,
)

if TYPE_CHECKING:
    from tests.conformance.access import Guarded

pytestmark = pytest.mark.usefixtures("agent")


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


def test_c225_a_configured_expression_keeps_its_prefixes(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.ok(expression("stream", SERVER, "/own:netconf-config-change[own:edit]"), "<commit/>")
    number = begin(session, establish(f"{STREAM}<stream-filter-name>f</stream-filter-name>"))
    other.fill("<name>x</name>")
    assert heard(session).startswith("netconf-config-change")
    other.ok(expression("stream", SERVER, "", "delete"), "<commit/>")
    assert heard(session) == f"subscription-terminated <id>{number}</id><reason>sn:filter-unavailable</reason>"
