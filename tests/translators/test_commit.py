"""Whole commits on a machine that behaves, that refuses a call, and under an agent that is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.translators.commits import (
    C3,
    C6A,
    C6B,
    OFF,
    ON,
    VF,
    CommitPlan,
    MakeGateway,
    Snapshot,
    Tree,
    failure_of,
    lines,
    on,
    started,
    up,
)
from translators.apply import apply, undo_of, unwind
from translators.plans import decode, encode
from translators.record import RecordedHost, RefusingHost

if TYPE_CHECKING:
    from collections.abc import Callable


class KilledError(BaseException):
    pass


class Killing(RefusingHost):
    def _call(self, path: str, call: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.calls == self._refused:
            raise KilledError
        return call()


class Case(NamedTuple):
    """A commit: what it changes, whether the driver is started before, what is run, what is up afterwards."""

    before: Tree
    after: Tree
    running: bool
    ran: list[str]
    up: set[str]


EVERY = {C3, C6A, C6B, VF}
COMMITS = [
    pytest.param(Case(OFF, ON, False, ["ipsec stop", "qat_service start", "ipsec start"], EVERY), id="enable"),
    pytest.param(Case(ON, ON, True, [], EVERY), id="again"),
    pytest.param(Case(ON, OFF, True, ["ipsec stop", "qat_service stop", "ipsec start"], set()), id="disable"),
    pytest.param(
        Case(
            ON,
            on(C6B, services="sym dc"),
            True,
            ["ipsec stop", "qat_service restart qat_dev3", "ipsec start"],
            EVERY,
        ),
        id="services",
    ),
    pytest.param(
        Case(
            ON,
            on(C6B, enabled=False),
            True,
            ["ipsec stop", "qat_service stop qat_dev3", "ipsec start"],
            EVERY - {C6B},
        ),
        id="one-off",
    ),
    pytest.param(
        Case(
            OFF,
            on(C6A, enabled=False, services="dc"),
            False,
            [
                "ipsec stop",
                "qat_service status",
                "qat_service start qat_dev0",
                "qat_service start qat_dev2",
                "qat_service start qat_dev3",
                "ipsec start",
            ],
            EVERY - {C6A},
        ),
        id="all-but-one",
    ),
    pytest.param(
        Case(
            ON,
            {**on(C3, services="asym dc"), "ipsec-refresh": "none"},
            True,
            ["qat_service restart qat_dev0"],
            EVERY,
        ),
        id="ipsec-alone",
    ),
]


@pytest.fixture(params=[False, True], ids=["file-goes", "file-stays"])
def machine(request: pytest.FixtureRequest, gateway: MakeGateway) -> Callable[[bool], RecordedHost]:
    def make(running: bool) -> RecordedHost:
        host = gateway(C3, C6A, VF, C6B, file_stays=request.param)
        return started(host) if running else host

    return make


@pytest.mark.parametrize("case", COMMITS)
def test_programs_are_run_in_order_and_twice_is_once(
    machine: Callable[[bool], RecordedHost],
    commit_plan: CommitPlan,
    snapshot: Snapshot,
    case: Case,
) -> None:
    host = machine(case.running)
    former = snapshot(host)
    undo = apply(commit_plan(host, case.before, case.after), host)
    assert lines(host) == case.ran
    assert up(host) == case.up
    assert "/run/charon.pid" in host.files
    host.ran.clear()
    assert not commit_plan(host, case.after, case.after)
    assert unwind(undo, host) == ()
    assert snapshot(host) == former


@pytest.mark.parametrize("carried_out", [False, True], ids=["not-done", "done"])
@pytest.mark.parametrize("case", COMMITS)
def test_a_refused_call_leaves_the_machine_as_it_was(
    machine: Callable[[bool], RecordedHost],
    commit_plan: CommitPlan,
    snapshot: Snapshot,
    case: Case,
    carried_out: bool,
) -> None:
    probe = RefusingHost(machine(case.running), 0)
    apply(commit_plan(machine(case.running), case.before, case.after), probe)
    refusals = 0
    for n in range(1, probe.calls + 1):
        host = machine(case.running)
        former = snapshot(host)
        plan = commit_plan(host, case.before, case.after)
        refusing = RefusingHost(host, n, before=not carried_out)
        failure = failure_of(plan, refusing)
        if failure is None:
            # A reading that failed was made good by another.
            assert up(host) == case.up
            continue
        refusals += 1
        assert unwind(failure.undo, refusing) == ()
        assert snapshot(host) == former
    assert refusals or not case.ran


@pytest.mark.parametrize("case", COMMITS)
def test_an_undo_that_is_refused_is_told_or_the_machine_is_as_before(
    machine: Callable[[bool], RecordedHost],
    commit_plan: CommitPlan,
    snapshot: Snapshot,
    case: Case,
) -> None:
    reference = machine(case.running)
    probe = RefusingHost(reference, 0)
    unwind(apply(commit_plan(reference, case.before, case.after), reference), probe)
    for n in range(1, probe.calls + 1):
        host = machine(case.running)
        former = snapshot(host)
        failures = unwind(apply(commit_plan(host, case.before, case.after), host), RefusingHost(host, n))
        assert failures or snapshot(host) == former


@pytest.mark.parametrize("case", COMMITS)
def test_a_successor_undoes_what_a_killed_agent_began(
    machine: Callable[[bool], RecordedHost],
    commit_plan: CommitPlan,
    snapshot: Snapshot,
    case: Case,
) -> None:
    probe = RefusingHost(machine(case.running), 0)
    apply(commit_plan(machine(case.running), case.before, case.after), probe)
    for n in range(1, probe.calls + 1):
        host = machine(case.running)
        former = snapshot(host)
        journal = encode(commit_plan(host, case.before, case.after))
        with pytest.raises(KilledError):
            apply(decode(journal), Killing(host, n))
        assert unwind(undo_of(decode(journal).steps), host) == ()
        assert snapshot(host) == former


@pytest.mark.parametrize("case", COMMITS)
def test_a_successor_that_is_killed_too_has_a_successor(
    machine: Callable[[bool], RecordedHost],
    commit_plan: CommitPlan,
    snapshot: Snapshot,
    case: Case,
) -> None:
    reference = machine(case.running)
    probe = RefusingHost(reference, 0)
    unwind(apply(commit_plan(reference, case.before, case.after), reference), probe)
    for n in range(1, probe.calls + 1):
        host = machine(case.running)
        former = snapshot(host)
        plan = commit_plan(host, case.before, case.after)
        apply(plan, host)
        with pytest.raises(KilledError):
            unwind(undo_of(plan.steps), Killing(host, n))
        assert unwind(undo_of(plan.steps), host) == ()
        assert snapshot(host) == former
