"""Section F: locks and sessions (RFC 6241 7.5, 7.6, 7.8, 7.9)."""

from __future__ import annotations

import subprocess

import pytest

from tests.conformance.agents import CLOSE, Agent, confirmed, live, lock, unlock, until
from tests.conformance.session import Session, chunked, edit, rpc, top
from tests.system.gateway import COMMAND, environment

COMMIT = "<commit/>"
NAME = edit(top("<name>n</name>"))
COPY = "<copy-config><target><candidate/></target><source><running/></source></copy-config>"
DATASTORES = ["running", "candidate"]


@pytest.fixture
def owner(agent: Agent) -> Session:
    """Return one session."""
    return agent.session()


def denied(session: int | Session) -> str:
    """Return how a lock is refused."""
    number = session if isinstance(session, int) else session.id
    return f"protocol/lock-denied {{session-id={number}}}"


def kill(number: object) -> str:
    """Return a kill-session request."""
    return f"<kill-session><session-id>{number}</session-id></kill-session>"


def is_free(session: Session, name: str) -> bool:
    """Take a lock, if it can be had, and give it back."""
    if session.outcome(lock(name)) != "ok":
        return False
    session.ok(unlock(name))
    return True


@pytest.mark.parametrize("name", DATASTORES)
def test_c135_a_held_lock_is_denied_with_its_owner(owner: Session, other: Session, name: str) -> None:
    owner.ok(lock(name))
    assert other.outcome(lock(name)) == denied(owner)
    owner.ok(unlock(name))
    other.ok(lock(name))
    assert owner.outcome(lock(name)) == denied(other)


def test_c136_a_lock_that_no_session_has_is_denied_with_0(agent: Agent, owner: Session, other: Session) -> None:
    owner.ok(NAME)
    assert other.outcome(lock("candidate")) == denied(0)
    owner.ok(confirmed("<persist>p</persist>"), CLOSE)  # it is the agent that undoes this, no session
    until(lambda: live(other) == [other.id], "the session ends")
    assert other.outcome(lock("running")) == denied(0)
    other.ok("<cancel-commit><persist-id>p</persist-id></cancel-commit>")
    assert is_free(agent.session(), "running")


@pytest.mark.parametrize("name", DATASTORES)
def test_c137_a_lock_is_not_taken_twice(owner: Session, name: str) -> None:
    owner.ok(lock(name))
    assert owner.outcome(lock(name)) == denied(owner)
    owner.ok(unlock(name))
    assert owner.outcome(unlock(name)) == "protocol/operation-failed"


def test_c138_a_changed_candidate_is_not_locked(owner: Session, other: Session) -> None:
    owner.ok(NAME)
    for session in (owner, other):
        assert session.outcome(lock("candidate")) == denied(0)
    owner.ok("<discard-changes/>", lock("candidate"))


def test_c139_running_is_not_locked_while_a_commit_is_unconfirmed(owner: Session, other: Session) -> None:
    owner.ok(NAME, confirmed())
    assert other.outcome(lock("running")) == denied(owner)
    owner.ok(COMMIT)
    assert is_free(other, "running")


def test_c140_what_is_locked_is_not_changed_by_others(owner: Session, other: Session) -> None:
    other.ok(NAME, COMMIT)
    owner.ok(lock("candidate"))
    for request in (NAME, COPY, "<discard-changes/>", COMMIT, edit("")):
        assert other.outcome(request) == "protocol/in-use", request
    owner.ok(unlock("candidate"), lock("running"))
    other.ok(edit(top("<name>m</name>")))
    for request in (COMMIT, confirmed(), confirmed("<persist>p</persist>")):
        assert other.outcome(request) == "protocol/in-use", request
    assert "<name>n</name>" in other.config(source="running")
    owner.ok(unlock("running"))
    other.ok(COMMIT)


def test_c142_only_the_owner_unlocks(owner: Session, other: Session) -> None:
    assert owner.outcome(unlock("running")) == "protocol/operation-failed"
    owner.ok(lock("running"))
    assert other.outcome(unlock("running")) == "protocol/operation-failed"
    assert other.outcome(lock("running")) == denied(owner)


@pytest.mark.parametrize("how", ["unlock", "close", "drop", "kill"])
def test_c143_what_was_edited_under_a_lock_goes_with_it(agent: Agent, owner: Session, other: Session, how: str) -> None:
    other.ok(NAME, COMMIT)
    owner.ok(lock("candidate"), edit(top("<name>changed</name>")))
    if how == "unlock":
        owner.ok(unlock("candidate"))
    elif how == "close":
        owner.ok(CLOSE)
    elif how == "drop":
        owner.close()
    else:
        other.ok(kill(owner.id))
    until(lambda: is_free(other, "candidate"), "the lock is free")
    assert other.config() == other.config(source="running") == agent.session().config()


@pytest.mark.parametrize("name", DATASTORES)
def test_c144_a_lock_goes_with_its_connection(owner: Session, other: Session, name: str) -> None:
    owner.ok(lock(name))
    owner.close()
    until(lambda: is_free(other, name), "the lock is free")
    assert live(other) == [other.id]


def test_c145_close_session_is_the_last_that_is_done(agent: Agent, owner: Session, other: Session) -> None:
    owner.ok(lock("running"))
    requests = ("<close-session/>", lock("candidate"), edit(top("<name>late</name>")))
    owner.send(b"".join(chunked(rpc(request)) for request in requests))
    reply = owner.reply()
    assert [child.tag for child in reply] == ["{urn:ietf:params:xml:ns:netconf:base:1.0}ok"]
    assert owner.ends() == b""
    assert is_free(other, "running")
    assert is_free(other, "candidate")
    assert agent.session().config() == ""


def test_c146_a_session_does_not_kill_itself(owner: Session) -> None:
    assert owner.outcome(kill(owner.id)) == "protocol/invalid-value"
    assert owner.config() == ""


@pytest.mark.parametrize("number", ["0", "4294967295", "99999999999999999999", "-1", "x", "", "+1", "\u0661"])
def test_c147_what_is_no_session_is_not_killed(owner: Session, number: str) -> None:
    assert owner.outcome(kill(number)) == "protocol/invalid-value"


def test_c147_kill_session_needs_a_number(owner: Session) -> None:
    assert owner.outcome("<kill-session/>") == "protocol/missing-element {bad-element=session-id}"


def test_c148_a_killed_sessions_unconfirmed_commit_is_undone(owner: Session, other: Session) -> None:
    owner.ok(NAME, confirmed())
    assert other.config(source="running") != ""
    other.ok(kill(owner.id))
    until(lambda: other.config(source="running") == "", "running is restored")
    assert owner.ends() == b""


@pytest.mark.parametrize("base", ["1.0", "1.1"])
def test_c149_a_killed_session_ends(agent: Agent, other: Session, base: str) -> None:
    victim = agent.session(base=base)
    victim.ok(lock("running"))
    other.ok(kill(victim.id))
    assert is_free(other, "running")  # at once
    assert victim.ends() == b""
    until(lambda: live(other) == [other.id], "the session is gone")


def test_c141_the_command_line_keeps_out_of_a_lock(agent: Agent, owner: Session) -> None:
    gateway = agent.gateway

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (*COMMAND, *words, "--unix-socket", str(gateway.socket)),
            env=environment(gateway.folder),
            cwd=gateway.folder,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    change = ("set", "qat", "enabled", "true")
    owner.ok(lock("candidate"))
    refused = command(*change)
    assert refused.returncode != 0
    assert f"session {owner.id}" in refused.stderr
    assert owner.config() == ""
    owner.ok(unlock("candidate"), lock("running"))
    assert command(*change).returncode == 0
    refused = command("commit")
    assert refused.returncode != 0
    assert f"session {owner.id}" in refused.stderr
    assert owner.config(source="running") == ""
    owner.ok(unlock("running"))
    assert command("commit").returncode == 0
    assert "<enabled>true</enabled>" in owner.config(source="running")
