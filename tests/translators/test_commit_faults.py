"""Whole commits with programs that fail, and programs that lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.translators.commits import (
    C3,
    C6A,
    C6B,
    IPSEC,
    OFF,
    ON,
    QAT_SERVICE,
    CommitPlan,
    MakeGateway,
    Snapshot,
    lines,
    on,
    started,
    up,
)
from translators.apply import PlanFailedError, apply, undo_of, unwind
from translators.record import RecordedHost

if TYPE_CHECKING:
    from translators.base import Step
    from translators.host import Host

DEV_CFG = "/sys/kernel/debug/qat_c3xxx_0000:01:00.0/dev_cfg"


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


def test_a_driver_with_fewer_instances_than_configured_is_undone(
    gateway: MakeGateway, commit_plan: CommitPlan, snapshot: Snapshot
) -> None:
    """The device is up with the services that it should have, and dev_cfg says how many instances came of it."""
    host = started(gateway(C3))
    behave = host.programs[QAT_SERVICE]

    def short(machine: RecordedHost, argv: tuple[str, ...]) -> tuple[int, str]:
        answer = behave(machine, argv)
        shown = machine.files[DEV_CFG]
        assert isinstance(shown, bytes)
        machine.files[DEV_CFG] = shown.replace(b"NumberCyInstances = 4", b"NumberCyInstances = 3")
        return answer

    host.programs[QAT_SERVICE] = short
    former = snapshot(host)
    plan = commit_plan(host, ON, on(C3, section=[{"name": "KERNEL", "cy-instances": 4}]))
    with pytest.raises(PlanFailedError, match=r"does not have the settings of /etc/c3xxx_dev0\.conf") as caught:
        apply(plan, host)
    assert unwind(caught.value.undo, host) == ()
    assert snapshot(host) == former
    host.programs[QAT_SERVICE] = behave
    apply(plan, host)
    assert b"NumberCyInstances = 4" in bytes(host.files[DEV_CFG])  # type: ignore[arg-type]


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
