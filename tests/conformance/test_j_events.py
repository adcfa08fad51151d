"""Section J: what the server tells of itself and of the machine (RFC 6470)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import simulator
from tests.conformance.agents import CLOSE, Agent, confirmed, serving
from tests.conformance.notifications import (
    CHANGES,
    COMMITS,
    ENDS,
    HA,
    MACHINE,
    PAST,
    SERVER,
    by,
    change,
    create,
    end,
    hear,
    quiet,
)
from tests.conformance.session import Session, edit, top
from tests.system.client import USER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("agent")
ADDRESS = "0000:3d:00.0"


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
