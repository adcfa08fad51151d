"""Field cases of candidate, confirmed commits, locks and sessions that end: F25, F31, F79 to F87, F111 to F119."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.agents import CLOSE, Agent, confirmed, live, lock, serving, unlock, until
from tests.conformance.session import N, Session, chunked, edit, rpc, top

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("agent")
AGENT_SETTINGS = "[limits]\nsessions-per-user = 64\n"
COMMIT = "<commit/>"
PENDING_NONE = "protocol/invalid-value"


def value(number: int) -> str:
    """Return an edit of a value."""
    return edit(top(f"<item><id>a</id><v>{number}</v></item>"))


def running(session: Session) -> str:
    """Return running."""
    return session.config(source="running")


def holds(number: int) -> str:
    """Return what running is with a value."""
    return f"<top><item><id>a</id><v>{number}</v></item></top>"


def test_f25_candidate_is_not_deleted(session: Session) -> None:
    session.ok(value(1))
    outcome = session.outcome("<delete-config><target><candidate/></target></delete-config>")
    assert outcome == "protocol/operation-not-supported"
    assert session.config() == holds(1)


def test_f31_what_is_deleted_leaves_its_siblings_alone(session: Session) -> None:
    session.ok(edit(top("<rule><id>r1</id><act>a</act></rule><rule><id>r2</id><act>b</act></rule>")), COMMIT)
    session.ok(edit(top('<rule nc:operation="delete"><id>r1</id></rule>')), COMMIT)
    assert running(session) == "<top><rule><id>r2</id><act>b</act></rule></top>"


def test_f79_a_confirmed_commit_that_fails_leaves_nothing_armed(session: Session, other: Session) -> None:
    session.ok(value(1), COMMIT, edit(top("<rule><id>r</id></rule>")))
    for _ in range(2):
        outcome = session.outcome(confirmed("<confirm-timeout>1</confirm-timeout><persist>p</persist>"))
        assert outcome == "application/data-missing @/t:top/t:rule[t:id='r']/t:act"
        assert session.outcome("<cancel-commit><persist-id>p</persist-id></cancel-commit>") == PENDING_NONE
    other.ok("<discard-changes/>", lock("running"), value(2), COMMIT)
    session.close()
    until(lambda: live(other) == [other.id], "the session is gone")
    assert running(other) == holds(2)


def test_f79_a_second_confirmed_commit_that_fails_leaves_the_first(session: Session) -> None:
    session.ok(value(1), COMMIT, value(2), confirmed("<confirm-timeout>2</confirm-timeout>"))
    session.ok(edit(top("<rule><id>r</id></rule>")))
    assert session.outcome(confirmed()).startswith("application/data-missing")
    assert session.outcome(COMMIT).startswith("application/data-missing")
    until(lambda: running(session) == holds(1), "running is restored")


def test_f81_a_second_confirmed_commit_does_not_move_the_point(session: Session) -> None:
    session.ok(value(1), COMMIT, value(2), confirmed(), value(3), confirmed("<confirm-timeout>1</confirm-timeout>"))
    assert running(session) == holds(3)
    until(lambda: running(session) == holds(1), "running is restored")
    assert session.outcome("<cancel-commit/>") == PENDING_NONE


def test_f81_cancel_goes_back_to_the_point_too(session: Session) -> None:
    session.ok(value(1), COMMIT, value(2), confirmed(), value(3), confirmed(), "<cancel-commit/>")
    assert running(session) == holds(1)


@pytest.mark.parametrize("persist", ["", "<persist>p</persist>"])
def test_f83_running_is_not_locked_by_others_meanwhile(session: Session, other: Session, persist: str) -> None:
    session.ok(value(1), confirmed(persist))
    assert other.outcome(lock("running")) == f"protocol/lock-denied {{session-id={session.id}}}"
    session.ok("<cancel-commit>" + persist.replace("persist>", "persist-id>") + "</cancel-commit>")
    other.ok(lock("running"))


@pytest.mark.parametrize("how", ["unlock", "close", "drop", "kill"])
def test_f85_uncommitted_changes_go_with_the_lock(session: Session, other: Session, how: str) -> None:
    other.ok(value(1), COMMIT)
    session.ok(lock("candidate"), value(2))
    ends: dict[str, Callable[[], None]] = {
        "unlock": lambda: session.ok(unlock("candidate")),
        "close": lambda: session.ok(CLOSE),
        "drop": session.close,
        "kill": lambda: other.ok(f"<kill-session><session-id>{session.id}</session-id></kill-session>"),
    }
    ends[how]()
    until(lambda: other.outcome(lock("candidate")) == "ok", "the lock is free")
    assert other.config() == running(other) == holds(1)


def test_f87_a_locked_candidate_is_edited_by_its_owner_only(session: Session, other: Session) -> None:
    session.ok(lock("candidate"))
    for request in (value(2), edit(top(""), default="replace"), "<discard-changes/>"):
        assert other.outcome(request) == "protocol/in-use"
    session.ok(value(1), COMMIT)
    assert running(other) == holds(1)


@pytest.mark.parametrize("before", [0, 50])
def test_f111_ok_arrives_before_the_connection_ends(agent: Agent, before: int) -> None:
    for _ in range(20):
        session = agent.session()
        requests = ["<get-config><source><running/></source></get-config>"] * before + [CLOSE]
        session.send(b"".join(chunked(rpc(request)) for request in requests))
        for _ in range(before):
            assert session.reply().find(f"{N}data") is not None
        assert session.reply().find(f"{N}ok") is not None
        assert session.ends() == b""
        session.close()


def test_f113_vanished_clients_leave_no_session(agent: Agent, session: Session) -> None:
    for number in range(200):
        gone = agent.session(base=("1.1", "1.0", None)[number % 3])
        if number % 2:
            gone.send(b"<rpc")
        gone.close()
        if number % 20 == 19:
            until(lambda: live(session) == [session.id], "the sessions end")


def test_f115_an_edit_that_is_too_large_is_refused_in_words(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings="[limits]\nmessage-size = '1 MiB'\n") as agent:
        session, other = agent.session(), agent.session()
        size = 4 * 1024 * 1024
        session.send(chunked(rpc(edit(top(f"<secret>{'x' * size}</secret>")))))
        last = session.ends()
        assert b"too-big" in last or last == b""
        assert other.config() == ""
        other.ok(edit(top("<secret>small</secret>")))


def test_f119_an_idle_session_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings="[limits]\nidle-timeout = 1\n") as agent:
        idle = agent.session()
        idle.ok(lock("running"))
        assert idle.ends() == b""
        busy = agent.session()
        until(lambda: live(busy) == [busy.id], "the idle session is gone")
        busy.ok(lock("running"))
