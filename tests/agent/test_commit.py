"""The commit engine: what is done in which order, and what is undone."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

import pytest

from agent.errors import NetconfError
from agent.plan import Asker
from tests.agent.commit_bench import NP, TOP, Bench, Owner, Wanting
from translators.base import Change, Plan, StepError, TranslatorError

if TYPE_CHECKING:
    from agent.commit import CommitEngine
    from agent.tree import Node


# What is done.


def test_steps_are_done_in_order_and_running_moves_last(bench: Bench) -> None:
    seen = []
    bench.machine.watch = lambda name: seen.append(
        (name, bench.stored, bench.datastores.running, bench.journal.exists())
    )
    old, new = bench.datastores.running, bench.tree(pres={"z": "1"}, np={"d": "2"})
    bench.commit(new)
    assert bench.machine.done == ["z=1", "d=2"]
    assert seen == [("z=1", b"", old, True), ("d=2", b"", old, True)]
    assert bench.datastores.running is new
    assert bench.datastores.candidate is new
    assert b"<z>1</z>" in bench.stored
    assert not bench.journal.exists()


def test_only_translators_are_asked_whose_subtree_changes_each_for_its_own(bench: Bench) -> None:
    bench.commit(bench.tree(pres={"z": "1"}, np={"d": "2"}))
    for translator in (bench.first, bench.second):
        translator.changes.clear()
    bench.commit(bench.tree(pres={"z": "1"}, np={"d": "3"}))
    assert bench.first.changes == []
    (change,) = bench.second.changes
    assert change == Change({"d": "2", "deep": {"e": 0}}, {"d": "3", "deep": {"e": 0}})
    bench.commit(bench.tree(pres={"z": "1"}, np={"d": "3"}, name="another"))
    assert (len(bench.first.changes), len(bench.second.changes)) == (0, 1)


def test_committing_what_is_running_asks_all_and_stores_nothing_anew(bench: Bench) -> None:
    bench.commit(bench.tree(pres={"z": "1"}))
    written = (bench.folder / "running.xml").stat().st_mtime_ns
    bench.commit(bench.datastores.running)
    assert (len(bench.first.changes), len(bench.second.changes)) == (2, 1)
    assert (bench.folder / "running.xml").stat().st_mtime_ns == written
    assert bench.machine.done == ["z=1"]


def test_a_services_steps_are_around_those_that_disturb_it(bench: Bench) -> None:
    bench.first = Wanting(TOP, disturbing="ipsec")
    bench.second = Owner(NP)
    new = bench.tree(pres={"z": "1"}, np={"d": "2"})
    planned = bench.run(lambda engine: engine.plan(new))
    assert [(step.step.name, step.owner, step.interrupts) for step in planned.steps] == [
        ("quiesce", TOP, "ipsec"),
        ("z=1", TOP, "ipsec"),
        ("resume", TOP, "ipsec"),
        ("d=2", NP, None),
    ]
    assert planned.notes == ("remember",)
    assert bench.machine.done == []
    bench.commit(new)
    assert bench.machine.done == ["quiesce", "z=1", "resume", "d=2"]
    bench.machine.done.clear()
    bench.commit(bench.tree(pres={"z": "1"}, np={"d": "3"}))
    assert bench.machine.done == ["d=3"]


def test_what_was_done_about_a_service_lasts_from_its_first_step_to_its_last_or_to_the_end_of_undoing(
    bench: Bench,
) -> None:
    bench.first, bench.second = Wanting(TOP, disturbing="ipsec"), (owner := Owner(NP))
    changing = []
    bench.machine.watch = lambda _name: changing.append(bench.engine.changing)
    bench.commit(bench.tree(pres={"z": "1"}, np={"d": "2"}))
    (refresh,) = owner.refreshes
    assert [step.describe() for step in refresh.steps] == ["do quiesce", "do z=1", "do resume"]
    # Behind them is the owner's own step, and what it takes to store the outcome.
    assert (refresh.began, refresh.ended, refresh.undone) == (0.0, 3.0, False)
    bench.machine.failing["d=3"] = StepError("it would not")
    bench.refused(bench.tree(pres={"z": "2"}, np={"d": "3"}))
    assert (owner.refreshes[1].began, owner.refreshes[1].ended, owner.refreshes[1].undone) == (4.0, 12.0, True)
    assert changing == [True] * 12
    assert not bench.engine.changing


def test_a_plan_names_tunnels_to_those_who_may_read_the_list_of_them(bench: Bench) -> None:
    bench.first, bench.second = Wanting(TOP, disturbing="ipsec"), (owner := Owner(NP))
    new, ends = bench.tree(pres={"z": "1"}), ("192.0.2.1", "192.0.2.2")

    def planned(*readable: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = bench.run(lambda engine: engine.plan(new, Asker(ends, frozenset(readable))))
        return found.tunnels, found.notes

    assert planned(Owner.tunnels) == (("site",), ("remember", "3 steps"))
    assert planned() == ((), ("remember", "3 steps"))
    assert owner.askers == [(ends, True), (ends, False)]


def test_commits_are_done_one_after_the_other(bench: Bench) -> None:
    one, other = bench.tree(pres={"z": "1"}), bench.tree(pres={"z": "2"})

    async def both(engine: CommitEngine) -> None:
        await asyncio.gather(engine.commit(one), engine.commit(other))

    bench.run(both)
    assert [change.before for change in bench.first.changes] == [{}, {"z": "1"}]
    assert bench.datastores.running is other


# What is undone.


def test_a_step_that_fails_is_undone_first_then_those_before_it_in_reverse(bench: Bench) -> None:
    bench.machine.failing["d=2"] = StepError("it would not", command="/bin/d 2", output="no such d\n")
    refusal = bench.refused(bench.tree(pres={"z": "1"}, np={"d": "2"}))
    assert bench.machine.done == ["z=1", "!d=2", "!z=1"]
    assert (refusal.type, refusal.tag, refusal.app_tag, refusal.path) == ("application", "operation-failed", None, NP)
    assert refusal.message == (
        "step 2 of 2 failed: do d=2: it would not; command: /bin/d 2; it printed: no such d. What was done before is "
        "undone, running is unchanged. The machine now: z=1 is done; d=2 is not done"
    )


@pytest.mark.parametrize(
    "fault", [OSError(errno.EIO, "Input/output error", "/x"), ZeroDivisionError("a defective step"), KeyError("x")]
)
def test_whatever_a_step_raises_it_is_undone(bench: Bench, fault: Exception) -> None:
    bench.machine.failing["z=1"] = fault
    refusal = bench.refused(bench.tree(pres={"z": "1"}, np={"d": "2"}))
    assert bench.machine.done == ["!z=1"]
    assert (refusal.tag, refusal.path) == ("operation-failed", TOP)
    assert "step 1 of 2 failed: do z=1: " in refusal.message


def test_an_undoing_that_fails_is_rollback_failed_and_does_not_keep_the_others(bench: Bench) -> None:
    bench.machine.failing |= {"d=2": StepError("it would not"), "!d=2": StepError("nor that")}
    refusal = bench.refused(bench.tree(pres={"z": "1"}, np={"d": "2"}))
    assert bench.machine.done == ["z=1", "!z=1"]
    assert (refusal.type, refusal.tag, refusal.path) == ("application", "rollback-failed", NP)
    assert "Undoing failed too: do !d=2: nor that [!d=2 is not done]. Running is unchanged" in refusal.message


def test_what_could_not_be_undone_is_tried_again_before_anything_else_is_done(bench: Bench) -> None:
    bench.machine.failing |= {"d=2": StepError("it would not"), "!d=2": StepError("nor that")}

    async def main(engine: CommitEngine) -> None:
        with pytest.raises(NetconfError, match="it would not"):
            await engine.commit(bench.tree(np={"d": "2"}))
        with pytest.raises(NetconfError, match="an earlier commit could not be undone, and still can't be: do !d=2"):
            await engine.commit(bench.tree(pres={"z": "1"}))
        assert bench.machine.done == []
        assert bench.journal.exists()
        bench.machine.failing.clear()
        await engine.commit(bench.tree(pres={"z": "1"}))

    bench.run(main)
    assert bench.machine.done == ["!d=2", "z=1"]
    assert not bench.journal.exists()


def test_running_that_can_not_be_stored_undoes_the_machine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_root: Node) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bench.store, "save", full)
    refusal = bench.refused(bench.tree(pres={"z": "1"}))
    assert bench.machine.done == ["z=1", "!z=1"]
    assert (refusal.type, refusal.tag) == ("application", "operation-failed")
    assert "the state directory can't be written: No space left on device" in refusal.message


def test_without_a_record_nothing_is_begun(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_plan: Plan, _root: Node | None) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bench.store, "begin", full)
    refusal = bench.refused(bench.tree(pres={"z": "1"}))
    assert bench.machine.done == []
    assert (refusal.type, refusal.tag) == ("application", "operation-failed")
    assert "No space left on device" in refusal.message


def test_a_record_that_can_not_be_removed_is_no_failure_of_what_is_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stuck() -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(bench.store, "end", stuck)
    new = bench.tree(pres={"z": "1"})
    bench.commit(new)
    assert bench.datastores.running is new
    assert b"<z>1</z>" in bench.stored
    assert "Read-only file system" in caplog.text


def test_a_translator_that_refuses_keeps_all_from_being_done(bench: Bench) -> None:
    bench.second.refusal = TranslatorError("not here", path=f"{NP}/d", app_tag="no-d")
    new = bench.tree(pres={"z": "1"}, np={"d": "2"})
    with pytest.raises(NetconfError):
        bench.run(lambda engine: engine.check(new))
    refusal = bench.refused(new)
    assert (refusal.type, refusal.tag, refusal.app_tag, refusal.path, refusal.message) == (
        "application", "operation-failed", "no-d", f"{NP}/d", "not here"
    )  # fmt: skip
    assert bench.machine.done == []


def test_what_yang_refuses_no_translator_is_asked(bench: Bench) -> None:
    refusal = bench.refused(bench.tree(pres={"z": "1"}, rule=[{"id": "a"}]))
    assert (refusal.tag, refusal.path) == ("data-missing", "/t:top/rule[id='a']/act")
    assert bench.first.changes == []
