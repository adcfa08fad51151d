"""Section G, the confirmed commit (RFC 6241 8.4)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.conformance.agents import Agent, confirmed, live, lock, serving, unlock, until
from tests.conformance.candidate import (
    CANCEL,
    COMMIT,
    DISCARD,
    PERSIST,
    PERSIST_ID,
    STARTUP,
    UNPENDING,
    named,
    restored,
    running,
    within,
)
from tests.conformance.session import N, Session, chunked, edit, rpc, top
from tests.system.client import device, enabled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("agent")
OUTSTANDING = "protocol/invalid-value/outstanding-confirmed-commit"


def test_c155_what_is_not_confirmed_is_undone(session: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), within(1))
    assert running(session) == "new"
    restored(session, "old")
    assert session.config() == "<top><name>old</name></top>"
    session.ok(named("newer"), COMMIT)
    assert running(session) == "newer"


def test_c155_candidate_keeps_what_was_edited_meanwhile(session: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), within(1), edit(top("<mtu>70</mtu>")))
    restored(session, "old")
    assert session.config() == "<top><name>new</name><mtu>70</mtu></top>"


def test_c156_a_further_confirmed_commit_goes_back_to_the_first(session: Session) -> None:
    session.ok(named("first"), COMMIT, named("second"), within(1), named("third"), within(600))
    session.ok(named("fourth"), within(2))
    assert running(session) == "fourth"
    restored(session, "first")


def test_c156_a_further_confirmed_commit_begins_the_time_anew(session: Session) -> None:
    session.ok(named("first"), COMMIT, named("second"), within(1), within(600))
    loop = asyncio.new_event_loop()
    loop.run_until_complete(asyncio.sleep(1.2))  # the first time is over
    loop.close()
    assert running(session) == "second"
    session.ok(CANCEL)
    assert running(session) == "first"


@pytest.mark.parametrize("how", ["close", "drop"])
def test_c157_the_end_of_its_session_undoes_it(session: Session, other: Session, how: str) -> None:
    session.ok(named("old"), COMMIT, named("new"), confirmed())
    if how == "close":
        session.ok("<close-session/>")
    session.close()
    restored(other, "old")


def test_c158_another_session_does_not_confirm(session: Session, other: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), confirmed())
    for request in (COMMIT, confirmed(), CANCEL):
        assert other.outcome(request) == "protocol/in-use", request
    assert other.outcome(f"<commit>{PERSIST_ID}</commit>") == UNPENDING
    session.close()
    restored(other, "old")


def test_c159_with_a_token_any_session_confirms(agent: Agent, session: Session, other: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), confirmed(PERSIST), "<close-session/>")
    session.close()
    until(lambda: live(other) == [other.id], "the session is gone")
    assert running(other) == "new"
    other.ok(named("newer"), confirmed(PERSIST_ID))
    other.close()
    third = agent.session()
    until(lambda: live(third) == [third.id], "the session is gone")
    assert running(third) == "newer"
    third.ok(f"<commit>{PERSIST_ID}</commit>")
    assert third.outcome(f"<commit>{PERSIST_ID}</commit>") == UNPENDING
    assert third.outcome(f"<cancel-commit>{PERSIST_ID}</cancel-commit>") == UNPENDING
    assert running(third) == "newer"


def test_c160_only_the_right_token_counts(session: Session, other: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), confirmed(PERSIST))
    for one in (session, other):
        for token in ("", "<persist-id/>", "<persist-id>toke</persist-id>", "<persist-id>tökén</persist-id>"):
            refusal = UNPENDING if token else OUTSTANDING
            assert one.outcome(f"<commit>{token}</commit>") == refusal, token
            assert one.outcome(f"<commit><confirmed/>{token}</commit>") == refusal, token
            assert one.outcome(f"<cancel-commit>{token}</cancel-commit>") == refusal, token
    assert running(session) == "new"
    other.ok(f"<cancel-commit>{PERSIST_ID}</cancel-commit>")
    assert running(session) == "old"


def test_c160_an_empty_token_is_one(session: Session, other: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), confirmed("<persist/>"))
    assert other.outcome(COMMIT) == OUTSTANDING
    session.close()
    other.ok("<commit><persist-id/></commit>")
    assert running(other) == "new"


def test_c161_cancel_commit_restores(session: Session, other: Session) -> None:
    assert session.outcome(CANCEL) == UNPENDING
    session.ok(named("old"), COMMIT, named("new"), confirmed())
    other.ok(lock("candidate"))
    session.ok(CANCEL)  # candidate is not what it changes
    assert running(session) == "old"
    assert session.outcome(CANCEL) == UNPENDING
    other.ok(unlock("candidate"))
    session.ok(named("new"), confirmed(PERSIST), lock("running"))
    assert other.outcome(f"<cancel-commit>{PERSIST_ID}</cancel-commit>") == "protocol/in-use"
    session.ok(unlock("running"))
    other.ok(f"<cancel-commit>{PERSIST_ID}</cancel-commit>")


@pytest.mark.parametrize("old", [enabled(False), enabled(more=device("0000:3d:00.0", "<services>dc</services>"))])
@pytest.mark.parametrize(("persist", "kill"), [("", True), (PERSIST, True), (PERSIST, False)])
def test_c162_the_next_agent_undoes_what_was_not_confirmed(tmp_path: Path, old: str, persist: str, kill: bool) -> None:
    with serving(tmp_path / "g") as agent:
        gateway = agent.gateway
        session = agent.session()
        session.ok(edit(old + top("<name>old</name>")), COMMIT)
        up, services = gateway.up(), "ServicesEnabled = dc"
        assert bool(up) == (services in gateway.conf("c6xx_dev0.conf"))
        session.ok(edit(enabled(more=device("0000:3d:00.0", "<services>sym</services>")) + top("<name>new</name>")))
        session.ok(confirmed(persist))
        assert gateway.up() == {"0000:3d:00.0"}
        assert "ServicesEnabled = sym" in gateway.conf("c6xx_dev0.conf")
        agent.restart(kill=kill)
        session = agent.session()
        assert "<name>old</name>" in session.config(source="running")
        assert session.config() == session.config(source="running")
        assert session.outcome(f"<commit>{PERSIST_ID}</commit>") == UNPENDING
        assert gateway.up() == up
        assert bool(up) == (services in gateway.conf("c6xx_dev0.conf"))
        agent.restart(kill=True)  # and that is what stays
        assert "<name>old</name>" in agent.session().config(source="running")
        assert gateway.up() == up


def test_c162_a_stopped_agent_undoes_what_was_its_sessions_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "g") as agent:
        session = agent.session()
        session.ok(named("old"), COMMIT, named("new"), confirmed())
        agent.gateway.stop()
        assert b"<name>old</name>" in agent.gateway.stored
        assert not (agent.gateway.state / "confirmed-commit.xml").exists()
        agent.start()
        assert running(agent.session()) == "old"


def test_c162_what_was_confirmed_stays(tmp_path: Path) -> None:
    with serving(tmp_path / "g") as agent:
        session = agent.session()
        session.ok(named("old"), COMMIT, named("new"), confirmed(), COMMIT)
        agent.restart(kill=True)
        session = agent.session()
        assert running(session) == "new"
        session.ok(named("newer"), confirmed(), CANCEL)
        agent.restart(kill=True)
        assert running(agent.session()) == "new"


def test_c163_a_confirmed_commit_that_fails_arms_nothing(session: Session, other: Session) -> None:
    session.ok(named("old"), COMMIT)
    session.ok(edit(top("<name>new</name><low>9</low><high>9</high>"), options="<test-option>set</test-option>"))
    assert session.outcome(within(1, PERSIST)).startswith("application/operation-failed/must-violation")
    assert session.outcome(f"<cancel-commit>{PERSIST_ID}</cancel-commit>") == UNPENDING
    assert session.outcome(CANCEL) == UNPENDING
    other.ok(lock("running"), unlock("running"))
    session.ok(DISCARD, named("newer"), COMMIT)
    session.close()
    assert running(other) == "newer"


@pytest.mark.parametrize("value", ["0", "text", "-1", "4294967296", "", "1.5", "0x10", "+1", "\u0661"])
def test_c164_a_timeout_is_a_number_of_seconds(session: Session, value: str) -> None:
    outcome = session.outcome(confirmed(f"<confirm-timeout>{value}</confirm-timeout>"))
    assert outcome == "protocol/invalid-value"
    assert session.outcome(CANCEL) == UNPENDING


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (f"<confirmed/>{PERSIST}{PERSIST_ID}", "protocol/invalid-value"),
        (PERSIST, "protocol/missing-element {bad-element=confirmed}"),
        ("<confirm-timeout>9</confirm-timeout>", "protocol/missing-element {bad-element=confirmed}"),
        ("<confirmed/><confirmed/>", "protocol/bad-element {bad-element=confirmed}"),
        ("<confirmed/><forever/>", "protocol/unknown-element {bad-element=forever}"),
    ],
)
def test_c164_parameters_that_do_not_go_together(session: Session, parameters: str, expected: str) -> None:
    assert session.outcome(f"<commit>{parameters}</commit>") == expected
    assert session.outcome(CANCEL) == UNPENDING


def test_c164_the_longest_timeout_is_taken(session: Session) -> None:
    session.ok(named("new"), within(4294967295), CANCEL)


def test_confirming_and_cancelling_in_one_packet_is_done_in_order(session: Session, other: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"))
    requests = (confirmed(PERSIST), f"<commit>{PERSIST_ID}</commit>", f"<cancel-commit>{PERSIST_ID}</cancel-commit>")
    session.send(b"".join(chunked(rpc(request)) for request in requests))
    tags = [[child.tag.removeprefix(N) for child in session.reply()] for _ in requests]
    assert tags == [["ok"], ["ok"], ["rpc-error"]]
    assert running(other) == "new"


def test_c162_with_startup_an_unconfirmed_commit_is_gone_too(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings=STARTUP) as agent:
        session = agent.session()
        session.ok(
            named("kept"), COMMIT, "<copy-config><target><startup/></target><source><running/></source></copy-config>"
        )
        session.ok(named("passing"), COMMIT, named("unconfirmed"), confirmed(PERSIST))
        agent.restart(kill=True)
        assert running(agent.session()) == "kept"
        agent.restart()
        assert running(agent.session()) == "kept"
