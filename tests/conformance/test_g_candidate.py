"""Section G: candidate, commit, validate, copy-config, delete-config (RFC 6241 7.3, 7.4, 8.3 ff.)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.conformance.agents import EMPTY, confirmed, lock, serving, unlock
from tests.conformance.candidate import CANCEL, COMMIT, DISCARD, NAME, STARTUP, WRITABLE, named, running
from tests.conformance.session import N, Session, edit, get_config, top

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("agent")


# commit and discard-changes.


def test_c152_a_commit_that_fails_changes_nothing(session: Session) -> None:
    session.ok(named("old"), COMMIT)
    session.ok(edit(top("<name>new</name><low>9</low><high>9</high>"), options="<test-option>set</test-option>"))
    edited = session.config()
    assert session.outcome(COMMIT) == "application/operation-failed/must-violation @/t:top/t:low"
    assert running(session) == "old"
    assert session.config() == edited
    session.ok(edit(top("<high>90</high>")), COMMIT)


def test_c153_a_commit_keeps_out_of_others_locks(session: Session, other: Session) -> None:
    for name in ("running", "candidate"):
        other.ok(lock(name))
        assert session.outcome(COMMIT) == "protocol/in-use"
        assert session.outcome(confirmed()) == "protocol/in-use"
        other.ok(unlock(name))
    session.ok(lock("running"), lock("candidate"), named("own"), COMMIT)
    assert running(other) == "own"


def test_c154_discard_changes_makes_candidate_running(session: Session) -> None:
    session.ok(named("old"), COMMIT, named("new"), edit(top("<mtu>70</mtu>")), DISCARD)
    assert session.config() == session.config(source="running") == "<top><name>old</name></top>"
    session.ok(DISCARD)


# validate.


def test_c165_validate_tells_of_any_source_and_changes_nothing(session: Session) -> None:
    session.ok(named("old"), COMMIT, edit(top("<low>9</low><high>9</high>"), options="<test-option>set</test-option>"))
    before = session.config(), session.config(source="running")
    violation = "application/operation-failed/must-violation @/t:top/t:low"
    validate = "<validate><source>{}</source></validate>"
    assert session.outcome(validate.format("<candidate/>")) == violation
    session.ok(validate.format("<running/>"), validate.format("<config/>"))
    session.ok(validate.format(f"<config>{top('<name>n</name>')}</config>"))
    assert session.outcome(validate.format(f"<config>{top('<low>9</low><high>9</high>')}</config>")) == violation
    outcome = session.outcome(validate.format(f"<config>{top('<rule><id>r</id></rule>')}</config>"))
    assert outcome == "application/data-missing @/t:top/t:rule[t:id='r']/t:act"
    outcome = session.outcome(validate.format(f"<config>{top('<mtu>1</mtu>')}</config>"))
    assert outcome == "application/invalid-value @/t:top/t:mtu"
    assert session.outcome("<validate/>") == "protocol/missing-element {bad-element=source}"
    assert session.outcome(validate.format("<startup/>")) == "protocol/operation-not-supported"
    assert (session.config(), session.config(source="running")) == before


# copy-config and delete-config.


def copy(target: str, source: str) -> str:
    """Return a copy-config request."""
    return f"<copy-config><target><{target}/></target><source>{source}</source></copy-config>"


@pytest.mark.parametrize("name", ["running", "candidate"])
def test_c166_a_datastore_is_not_copied_to_itself(session: Session, name: str) -> None:
    assert session.outcome(copy(name, f"<{name}/>")) == "protocol/invalid-value"


def test_c167_copy_config_replaces_all_of_candidate(session: Session) -> None:
    session.ok(edit(top("<name>old</name><mtu>70</mtu>")), COMMIT)
    session.ok(copy("candidate", f"<config>{top('<name>new</name>')}</config>"))
    assert session.config() == "<top><name>new</name></top>"
    assert session.outcome(copy("candidate", f"<config>{top('<name/>')}</config>")).startswith(
        "application/invalid-value"
    )
    assert session.config() == "<top><name>new</name></top>"
    session.ok(copy("candidate", "<running/>"))
    assert session.config() == "<top><name>old</name><mtu>70</mtu></top>"
    session.ok(EMPTY, COMMIT)
    assert session.config(source="running") == ""
    assert session.outcome(copy("running", "<candidate/>")) == "protocol/operation-not-supported"
    missing = "protocol/missing-element {bad-element=source}"
    assert session.outcome("<copy-config><target><candidate/></target></copy-config>") == missing


def test_c167_defaults_are_copied_only_where_they_are_asked_for_as_values(session: Session) -> None:
    session.ok(edit(top("<name>old</name>")), COMMIT)
    mode = '<with-defaults xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults">{}</with-defaults>'
    request = copy("candidate", "<running/>")
    session.ok(request.replace("</copy-config>", mode.format("report-all-tagged") + "</copy-config>"))
    assert session.config() == "<top><name>old</name></top>"
    session.ok(request.replace("</copy-config>", mode.format("report-all") + "</copy-config>"))
    assert "<mtu>1500</mtu>" in session.config()


def test_c167_startup_is_what_the_next_agent_begins_with(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings=STARTUP) as agent:
        session = agent.session()
        offered = [e.text for e in session.hello.iter(f"{N}capability")]
        assert NAME.format("startup:1.0") in offered
        assert session.config(source="startup") == ""
        session.ok(named("first"), COMMIT)
        assert session.config(source="startup") == ""
        session.ok(copy("startup", "<running/>"), named("second"), COMMIT)
        assert session.config(source="startup") == "<top><name>first</name></top>"
        agent.restart(kill=True)
        session = agent.session()
        assert running(session) == "first"
        assert session.config(source="startup") == "<top><name>first</name></top>"
        session.ok(copy("startup", f"<config>{top('<name>third</name>')}</config>"))
        assert running(session) == "first"
        session.ok(copy("candidate", "<startup/>"), COMMIT)
        assert running(session) == "third"
        assert session.outcome(copy("startup", "<startup/>")) == "protocol/invalid-value"
        invalid = copy("startup", f"<config>{top('<low>5</low><high>1</high>')}</config>")
        assert session.outcome(invalid) == "application/operation-failed/must-violation @/t:top/t:low"
        assert session.config(source="startup") == "<top><name>third</name></top>"
        assert session.outcome(edit(top(""), target="startup")) == "protocol/operation-not-supported"
        other = agent.session()
        other.ok(lock("startup"))
        assert session.outcome(copy("startup", "<running/>")) == "protocol/in-use"
        assert session.outcome("<delete-config><target><startup/></target></delete-config>") == "protocol/in-use"


@pytest.mark.parametrize("name", ["running", "candidate"])
def test_c168_only_startup_is_deleted(session: Session, name: str) -> None:
    session.ok(named("kept"), COMMIT)
    outcome = session.outcome(f"<delete-config><target><{name}/></target></delete-config>")
    assert outcome == "protocol/operation-not-supported"
    assert running(session) == "kept"
    outcome = session.outcome("<delete-config><target><startup/></target></delete-config>")
    assert outcome == "protocol/operation-not-supported"


def test_c169_delete_config_empties_startup(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings=STARTUP) as agent:
        session = agent.session()
        session.ok(named("kept"), COMMIT, copy("startup", "<running/>"))
        session.ok("<delete-config><target><startup/></target></delete-config>")
        assert session.config(source="startup") == ""
        assert running(session) == "kept"
        session.ok("<delete-config><target><startup/></target></delete-config>")
        agent.restart()
        assert running(agent.session()) == ""


# :writable-running.


def test_edits_of_running_at_the_same_time_are_all_in_it(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings=WRITABLE) as agent, ThreadPoolExecutor() as pool:
        sessions = [agent.session() for _ in range(3)]
        items: set[str] = set()
        for turn in range(10):
            fresh = [f"{turn}{name}" for name in "ab"]
            requests = [edit(top(f"<item><id>{item}</id></item>"), target="running") for item in fresh]
            # A candidate without changes of its own is what running is, also when its commit has waited.
            list(pool.map(lambda one, request: one.ok(request), sessions, [*requests, COMMIT]))
            items.update(fresh)
            assert running_items(sessions[0]) == items


def running_items(session: Session) -> set[str]:
    """Return the keys of the items in running."""
    found = session.ask(get_config(top("<item><id/></item>"), source="running"))
    return {str(one.text) for one in found.iter("{urn:example:t}id")}


def test_running_is_edited_where_that_is_offered(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings=WRITABLE) as agent:
        session, other = agent.session(), agent.session()
        assert NAME.format("writable-running:1.0") in [e.text for e in session.hello.iter(f"{N}capability")]
        session.ok(edit(top("<name>direct</name>"), target="running"))
        assert running(session) == "direct"
        assert session.config() == "<top><name>direct</name></top>"
        violation = "application/operation-failed/must-violation @/t:top/t:low"
        assert session.outcome(edit(top("<low>9</low><high>9</high>"), target="running")) == violation
        unset = edit(top("<low>9</low><high>9</high>"), target="running", options="<test-option>set</test-option>")
        assert session.outcome(unset) == violation  # running is always valid (RFC 7950 8.1)
        incomplete = edit(top("<rule><id>r</id></rule>"), target="running")
        assert session.outcome(incomplete) == "application/data-missing @/t:top/t:rule[t:id='r']/t:act"
        assert running(session) == "direct"
        session.ok(edit(top("<name>tried</name>"), target="running", options="<test-option>test-only</test-option>"))
        assert running(session) == "direct"
        # What others have in candidate stays theirs.
        other.ok(edit(top("<mtu>70</mtu>")))
        session.ok(edit(top("<name>again</name>"), target="running"))
        assert other.config() == "<top><name>direct</name><mtu>70</mtu></top>"
        other.ok(DISCARD, lock("running"))
        assert session.outcome(edit(top("<name>late</name>"), target="running")) == "protocol/in-use"
        assert session.outcome(copy("running", "<candidate/>")) == "protocol/in-use"
        other.ok(unlock("running"), named("pending"), confirmed())
        assert session.outcome(edit(top("<name>late</name>"), target="running")) == "protocol/in-use"
        other.ok(CANCEL)
        session.ok(copy("running", f"<config>{top('<name>whole</name>')}</config>"))
        agent.restart(kill=True)
        assert running(agent.session()) == "whole"


def test_c170_what_is_not_offered_is_refused(session: Session) -> None:
    offered = {str(e.text).partition("?")[0] for e in session.hello.iter(f"{N}capability")}
    assert NAME.format("candidate:1.0") in offered
    assert NAME.format("confirmed-commit:1.1") in offered
    for name in ("startup", "writable-running", "url"):
        assert NAME.format(f"{name}:1.0") not in offered
    assert session.outcome(edit(top(""), target="running")) == "protocol/operation-not-supported"
    assert session.outcome(lock("startup")) == "protocol/operation-not-supported"
    assert session.outcome(copy("candidate", "<url>file:///etc/passwd</url>")) == "protocol/operation-not-supported"
