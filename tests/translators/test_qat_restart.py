"""The action restart: what it takes on a machine, and on which it is refused."""

import errno

import pytest

from tests.translators.commits import C6A, C6B, ON, QAT_SERVICE, MakeGateway, failure_of, lines, started, up
from translators.apply import apply, unwind
from translators.base import Disturbance, Invocation, Plan, TranslatorError
from translators.plans import decode, encode
from translators.qat.state import DEBUGFS
from translators.qat.translator import QatTranslator
from translators.record import RecordedHost

COUNTERS = f"{DEBUGFS}/qat_c6xx_0000:3d:00.0/fw_counters"


def restart(host: RecordedHost, target: str = C6A) -> Plan:
    ran = len(host.ran)
    plan = QatTranslator().act(Invocation("device/restart", (target.partition("@")[2],)), ON, host)
    assert len(host.ran) == ran
    return plan


def refusal(host: RecordedHost, target: str = C6A) -> str:
    with pytest.raises(TranslatorError) as caught:
        restart(host, target)
    return caught.value.message


def test_the_device_goes_down_and_up_and_no_other(gateway: MakeGateway) -> None:
    host = started(gateway(C6A, C6B))
    plan = restart(host)
    apply(plan, host)
    assert lines(host) == ["qat_service stop qat_dev0", "qat_service status", "qat_service start qat_dev0"]
    assert up(host) == {C6A, C6B}


def test_another_that_is_down_stays_down(gateway: MakeGateway) -> None:
    host = started(gateway(C6A, C6B), "qat_dev0")
    apply(restart(host), host)
    assert up(host) == {C6A}


def test_the_step_disturbs_ipsec_as_configured_and_can_be_journaled(gateway: MakeGateway) -> None:
    plan = restart(started(gateway(C6A)))
    (step,) = plan.steps
    assert step.disturbs == Disturbance("ipsec", "restart", enabling=False)
    assert step.describe() == f"restart QAT 0000:3d:00.0 ({QAT_SERVICE} stop, {QAT_SERVICE} start)"
    assert decode(encode(plan)) == plan


def test_one_that_stays_down_is_started_once_more_by_undoing(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    plan = restart(host)
    path = "/etc/c6xx_dev0.conf"
    content = host.files.pop(path)
    failure = failure_of(plan, host)
    assert failure is not None
    assert "did not come up" in str(failure)
    host.files[path] = content
    assert unwind(failure.undo, host) == ()
    assert up(host) == {C6A}


def test_a_failed_device_is_restarted_and_nothing_is_owed_where_that_does_not_help(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    host.files[COUNTERS] = OSError(errno.EFAULT, "Bad address", COUNTERS)
    plan = restart(host)
    apply(plan, host)
    assert up(host) == {C6A}
    host.files[COUNTERS] = OSError(errno.EFAULT, "Bad address", COUNTERS)
    plan = restart(host)
    host.files.pop("/etc/c6xx_dev0.conf")
    failure = failure_of(plan, host)
    assert failure is not None
    assert unwind(failure.undo, host) == ()


def test_one_that_is_down_is_refused(gateway: MakeGateway) -> None:
    assert "can't be restarted, as it is not up: the device is stopped" in refusal(gateway(C6A))


def test_one_that_is_not_there_is_refused(gateway: MakeGateway) -> None:
    assert "no supported QAT device at 0000:3f:00.0" in refusal(started(gateway(C6A)), C6B)


def test_one_that_is_handed_over_is_refused(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    host.links["/sys/bus/pci/devices/0000:3d:00.0/driver"] = "../drivers/vfio-pci"
    assert "handed over to vfio-pci" in refusal(host)


def test_one_without_a_driver_is_refused(gateway: MakeGateway) -> None:
    assert "has no driver: it needs qat_c62x" in refusal(gateway(C6A, bound=False))


def test_without_the_tool_it_is_refused(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    del host.programs[QAT_SERVICE]
    assert "is not installed" in refusal(host)


def test_one_whose_state_can_not_be_told_is_left_alone(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    host.files[COUNTERS] = PermissionError(1, "Operation not permitted")
    host.files["/proc/interrupts"] = OSError(errno.EIO, "Input/output error")
    assert "is the kernel locked down?" in refusal(host)
