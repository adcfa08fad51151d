"""Whole commits on a machine that behaves, and on one that does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from translators.apply import PlanFailedError, apply, undo_of, unwind
from translators.base import Plan, Step
from translators.plans import decode, encode
from translators.record import RecordedHost, RefusingHost

if TYPE_CHECKING:
    from translators.host import Host

QAT_SERVICE = "/etc/init.d/qat_service"
IPSEC = "/usr/sbin/ipsec"
C3 = "c3xxx@0000:01:00.0"
C6A = "c6xx@0000:3d:00.0"
C6B = "c6xx@0000:3f:00.0"
VF = "c6xxvf@0000:3d:01.0"
Tree = dict[str, Any]
MakeGateway = Callable[..., RecordedHost]
CommitPlan = Callable[..., Plan]
Snapshot = Callable[[RecordedHost], dict[str, object]]

OFF: Tree = {"enabled": False, "ipsec-refresh": "restart"}
ON: Tree = {"enabled": True, "ipsec-refresh": "restart"}


def on(target: str, **leafs: object) -> Tree:
    return {**ON, "device": [{"address": target.partition("@")[2], "enabled": True, **leafs}]}


def lines(host: RecordedHost) -> list[str]:
    return [" ".join((argv[0].rpartition("/")[2], *argv[1:])) for argv in host.ran]


def up(host: RecordedHost) -> set[str]:
    vectors = host.files["/proc/interrupts"]
    assert isinstance(vectors, bytes)
    return {target for target in (C3, C6A, C6B, VF) if target.partition("@")[2].encode() in vectors}


def started(host: RecordedHost, *arguments: str) -> RecordedHost:
    host.run((QAT_SERVICE, "start", *arguments), timeout=1)
    host.ran.clear()
    return host


def failure_of(plan: Plan, host: Host) -> PlanFailedError | None:
    try:
        apply(plan, host)
    except PlanFailedError as failure:
        return failure
    return None


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


# ── programs that fail, and programs that lie ────────────────────────────────────────────────────


def failing(host: RecordedHost, program: str, verb: str, status: int, output: str, times: int = 99) -> None:
    behave = host.programs[program]
    left = [times]

    def fail(machine: RecordedHost, argv: tuple[str, ...]) -> tuple[int, str]:
        if argv[1] == verb and left[0]:
            left[0] -= 1
            return status, output
        return behave(machine, argv)

    host.programs[program] = fail


@pytest.mark.parametrize("status", [0, 1])
def test_a_driver_that_does_not_start(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot, status: int
) -> None:
    host = gateway(C3)
    failing(host, QAT_SERVICE, "start", status, "QAT Error: firmware\n")
    former = snapshot(host)
    plan = commit_plan(host, OFF, on(C3, services="sym"))
    with pytest.raises(PlanFailedError) as caught:
        apply(plan, host)
    assert caught.value.step is plan.steps[2]
    assert str(caught.value) == (
        f"start QAT 0000:01:00.0 ({QAT_SERVICE} start): QAT 0000:01:00.0 did not come up (exit status {status}); "
        f"command: {QAT_SERVICE} start; it printed: QAT Error: firmware"
    )
    assert unwind(caught.value.undo, host) == ()
    assert snapshot(host) == former
    assert lines(host) == ["ipsec stop", "qat_service start", "ipsec start"]


def test_one_of_several_devices_that_does_not_start_is_named(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot
) -> None:
    host = gateway(C6A, C6B)
    del host.files["/etc/c6xx_dev1.conf"]
    former = snapshot(host)
    with pytest.raises(PlanFailedError, match=r"QAT 0000:3f:00\.0 did not come up .* /etc/c6xx_dev1\.conf") as caught:
        apply(commit_plan(host, OFF, ON), host)
    assert unwind(caught.value.undo, host) == ()
    assert snapshot(host) == former


def test_ipsec_that_does_not_start_gets_one_more_try(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot
) -> None:
    host = gateway(C3)
    failing(host, IPSEC, "start", 0, "no such plugin\n", times=1)
    former = snapshot(host)
    with pytest.raises(PlanFailedError, match=r"IPsec did not start .*it printed: no such plugin") as caught:
        apply(commit_plan(host, OFF, ON), host)
    assert unwind(caught.value.undo, host) == ()
    assert lines(host) == ["ipsec stop", "qat_service start", "ipsec start", "qat_service stop", "ipsec start"]
    assert snapshot(host) == former


def test_ipsec_that_never_starts_again_is_told_with_the_machines_state(
    gateway: MakeGateway, commit_plan: CommitPlan
) -> None:
    host = gateway(C3)
    failing(host, IPSEC, "start", 1, "no such plugin\n")
    plan = commit_plan(host, OFF, ON)
    with pytest.raises(PlanFailedError) as caught:
        apply(plan, host)
    (failure,) = unwind(caught.value.undo, host)
    assert failure.startswith(f"start IPsec ({IPSEC} start): IPsec did not start (exit status 1)")
    assert failure.endswith("[IPsec is stopped]")
    assert [step.observe(host) for step in plan.steps] == [
        "IPsec is stopped", "QAT 0000:01:00.0 is down", "IPsec is stopped"
    ]  # fmt: skip


def test_ipsec_that_dies_at_once_has_not_started(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    class Dying(RecordedHost):
        def sleep(self, seconds: float) -> None:
            self.elapsed += seconds
            self.files.pop("/proc/502/comm", None)

    host = gateway(C3)
    dying = Dying(host.files, host.links, host.folders, host.programs, complete=True)
    with pytest.raises(PlanFailedError, match="started and died at once"):
        apply(commit_plan(dying, OFF, ON), dying)


def test_a_driver_that_does_not_stop(gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot) -> None:
    host = started(gateway(C3))
    failing(host, QAT_SERVICE, "stop", 0, "device busy\n")
    former = snapshot(host)
    with pytest.raises(PlanFailedError, match=r"QAT 0000:01:00\.0 did not go down .*it printed: device busy") as caught:
        apply(commit_plan(host, ON, OFF), host)
    assert unwind(caught.value.undo, host) == ()
    assert snapshot(host) == former


def test_a_restart_that_only_says_so(gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot) -> None:
    host = started(gateway(C3))
    failing(host, QAT_SERVICE, "restart", 0, "Restarting device qat_dev0\n", times=1)
    former = snapshot(host)
    with pytest.raises(
        PlanFailedError, match=r"is up and does not have the settings of /etc/c3xxx_dev0\.conf"
    ) as caught:
        apply(commit_plan(host, ON, on(C3, services="dc")), host)
    assert unwind(caught.value.undo, host) == ()
    assert snapshot(host) == former


def test_a_restart_that_leaves_the_device_down_is_undone(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot
) -> None:
    host = started(gateway(C3, C6A))
    behave = host.programs[QAT_SERVICE]
    tries = [1]

    def once(machine: RecordedHost, argv: tuple[str, ...]) -> tuple[int, str]:
        if argv[1] == "restart" and tries[0]:
            tries[0] -= 1
            return behave(machine, (argv[0], "stop", argv[2]))
        return behave(machine, argv)

    host.programs[QAT_SERVICE] = once
    former = snapshot(host)
    with pytest.raises(PlanFailedError, match="did not come up again") as caught:
        apply(commit_plan(host, ON, on(C3, services="dc")), host)
    assert unwind(caught.value.undo, host) == ()
    assert snapshot(host) == former
    assert "qat_service status" in lines(host)


def test_a_device_that_was_left_down_beside_its_restored_file_is_started(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot
) -> None:
    host = started(gateway(C3))
    former = snapshot(host)
    plan = commit_plan(host, ON, on(C3, services="dc"))
    # An undo that was broken off between the file and the end of the script.
    host.run((QAT_SERVICE, "stop", "qat_dev0"), timeout=1)
    assert unwind(undo_of(plan.steps), host) == ()
    assert snapshot(host) == former


def test_stopping_one_that_takes_down_all_is_told_and_undone(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot
) -> None:
    host = started(gateway(C3, C6A))
    behave = host.programs[QAT_SERVICE]
    host.programs[QAT_SERVICE] = lambda machine, argv: behave(machine, argv[:2] if argv[1] == "stop" else argv)
    former = snapshot(host)
    with pytest.raises(PlanFailedError, match=r"QAT 0000:01:00\.0 was to stay up and is down") as caught:
        apply(commit_plan(host, ON, on(C6A, enabled=False)), host)
    # The undo's own part can be done; that the other device is lost is in the error.
    unwind(caught.value.undo, host)
    assert up(host) >= {C6A}
    assert former


def test_starting_all_where_no_name_is_known_stops_the_strays(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host = gateway(C3, C6A)
    behave = host.programs[QAT_SERVICE]
    host.programs[QAT_SERVICE] = lambda machine, argv: (
        (0, "No devices found.") if argv[1] == "status" else behave(machine, argv)
    )
    apply(commit_plan(host, OFF, on(C6A, enabled=False)), host)
    assert up(host) == {C3}
    assert lines(host) == [
        "ipsec stop", "qat_service status", "qat_service start", "qat_service stop qat_dev1", "ipsec start"
    ]  # fmt: skip


def test_a_stop_for_one_is_not_made_a_stop_for_all(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host = started(gateway(C3, C6A))
    plan = commit_plan(host, ON, on(C6A, enabled=False))
    host.programs[QAT_SERVICE] = lambda _machine, _argv: (0, "No devices found.")
    vectors = host.files["/proc/interrupts"]
    assert isinstance(vectors, bytes)
    host.files["/proc/interrupts"] = vectors.replace(b"qat1-bundle0", b"qat_example")
    with pytest.raises(PlanFailedError, match=r"name of QAT 0000:3d:00\.0 can't be found out"):
        apply(plan, host)
    assert lines(host) == ["ipsec stop", "qat_service status"]


def test_without_ipsec_only_the_driver_is_touched(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host = gateway(C3, ipsec=False)
    apply(commit_plan(host, OFF, ON), host)
    assert lines(host) == ["qat_service start"]


def test_ipsec_that_is_stopped_stays_stopped(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host = gateway(C3)
    host.run((IPSEC, "stop"), timeout=1)
    host.ran.clear()
    apply(commit_plan(host, OFF, ON), host)
    assert lines(host) == ["qat_service start"]


def test_steps_know_what_they_are(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host: Host = gateway(C3)
    steps: tuple[Step, ...] = commit_plan(host, OFF, ON).steps
    assert [step.kind for step in steps] == ["ipsec-stop", "qat-start", "ipsec-start"]
    assert [step.inverse().describe() for step in steps] == [
        f"start IPsec ({IPSEC} start)",
        f"stop QAT 0000:01:00.0 ({QAT_SERVICE} stop)",
        f"stop IPsec ({IPSEC} stop)",
    ]
