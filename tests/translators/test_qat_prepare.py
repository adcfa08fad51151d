"""What a change needs on a machine, and what a machine does not take."""

import errno
from collections.abc import Callable
from typing import Any

import pytest

from translators.base import Change, Disturbance, Plan, TranslatorError
from translators.files import WriteFile
from translators.qat.ids import DEVICE_IDS
from translators.qat.model import parse
from translators.qat.reconfigure import ReconfigureDevice
from translators.qat.service import StartDevices, StopDevices
from translators.qat.state import DEBUGFS
from translators.qat.translator import QatTranslator
from translators.record import RecordedHost

QAT_SERVICE = "/etc/init.d/qat_service"
C3 = "c3xxx@0000:01:00.0"
C6A = "c6xx@0000:3d:00.0"
C6B = "c6xx@0000:3f:00.0"
ENABLED = "/hardware-acceleration:acceleration/qat/enabled"
MakeGateway = Callable[..., RecordedHost]
Tree = dict[str, Any]

ON: Tree = {"enabled": True, "ipsec-refresh": "restart"}
OFF: Tree = {"enabled": False, "ipsec-refresh": "restart"}


def on(*devices: Tree, refresh: str = "restart") -> Tree:
    return {"enabled": True, "ipsec-refresh": refresh, "device": list(devices)}


def device(target: str, **leafs: object) -> Tree:
    return {"address": target.partition("@")[2], "enabled": True, **leafs}


def entry(target: str) -> str:
    return f"/hardware-acceleration:acceleration/qat/device[address='{target.partition('@')[2]}']"


def plan(host: RecordedHost, before: Tree | None, after: Tree) -> Plan:
    ran = len(host.ran)
    result = QatTranslator().prepare(Change(before, after), host)
    assert len(host.ran) == ran
    return result


def refusal(host: RecordedHost, before: Tree | None, after: Tree) -> TranslatorError:
    with pytest.raises(TranslatorError) as caught:
        plan(host, before, after)
    assert host.ran == []
    return caught.value


def run(host: RecordedHost, *arguments: str) -> RecordedHost:
    host.run((QAT_SERVICE, *arguments), timeout=1)
    host.ran.clear()
    return host


# ── the configuration ────────────────────────────────────────────────────────────────────────────


def test_the_models_defaults() -> None:
    config = parse({})
    assert (config.enabled, config.ipsec_refresh, config.devices) == (False, "restart", ())
    assert (config.health.interval, config.health.heartbeat, config.health.on_failure) == (10, False, "notify")
    assert config.device("0000:01:00.0").enabled


@pytest.mark.parametrize(
    "tree",
    [
        {"turbo": True},
        {"health": {"pulse": 1}},
        {"device": [{"address": "0000:01:00.0", "colour": "red"}]},
        {"device": [{"address": "0000:01:00.0", "section": [{"name": "SSL", "rings": 2}]}]},
    ],
)
def test_a_node_that_nothing_is_done_with_is_a_mistake(tree: Tree) -> None:
    with pytest.raises(ValueError, match="nothing is done with"):
        parse(tree)


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


def test_without_a_device_all_ids_are_named(gateway: MakeGateway) -> None:
    error = refusal(gateway(), OFF, ON)
    assert (error.path, error.app_tag) == (ENABLED, "no-qat-device")
    assert all(device_id.pci_id in error.message for device_id in DEVICE_IDS)
    assert "passthrough" not in error.message


def test_on_a_virtual_machine_passthrough_is_named(gateway: MakeGateway) -> None:
    host = gateway()
    host.files["/proc/cpuinfo"] = b"processor\t: 0\nflags\t\t: lm aes hypervisor\n"
    assert "passthrough" in refusal(host, None, ON).message


@pytest.mark.parametrize("bound", [True, False])
def test_without_the_tool_the_driver_that_is_needed_is_named(gateway: MakeGateway, bound: bool) -> None:
    error = refusal(gateway(C3, tool=False, bound=bound), OFF, ON)
    assert (error.path, error.app_tag) == (ENABLED, "no-qat-driver")
    assert "0000:01:00.0" in error.message
    assert "qat_c3xxx" in error.message
    assert f"{QAT_SERVICE} is not installed" in error.message


def test_a_tool_that_can_t_be_executed_is_no_tool(gateway: MakeGateway) -> None:
    host = gateway(C3, tool=False)
    host.files[QAT_SERVICE] = b""
    assert "can't be executed" in refusal(host, OFF, ON).message


def test_a_module_that_the_kernel_does_not_have_is_named(gateway: MakeGateway) -> None:
    host = gateway("200xx@0000:01:00.0", bound=False)
    host.files["/proc/sys/kernel/osrelease"] = b"6.1.0-example\n"
    host.files["/lib/modules/6.1.0-example/modules.dep"] = b"updates/qat-c3xxx.ko.xz: updates/intel_qat.ko.xz\n"
    error = refusal(host, OFF, ON)
    assert error.app_tag == "no-qat-driver"
    assert "needs the kernel module qat_200xx" in error.message
    host.files["/lib/modules/6.1.0-example/modules.builtin"] = b"kernel/qat_200xx.ko\n"
    assert plan(host, OFF, ON)


def test_the_kernels_own_driver_does_not_go_with_the_tool(gateway: MakeGateway) -> None:
    host = gateway(C3)
    host.files["/sys/module/intel_qat/taint"] = b"\n"
    error = refusal(host, OFF, ON)
    assert (error.path, error.app_tag) == (ENABLED, "driver-mismatch")
    assert QAT_SERVICE in error.message
    assert "the kernel's own" in error.message


def test_a_stack_for_later_devices_does_not_go_with_an_early_one(gateway: MakeGateway) -> None:
    host = gateway(C3, tool=False)
    host.files["/usr/sbin/qatmgr"] = b""
    error = refusal(host, OFF, ON)
    assert error.app_tag == "driver-mismatch"
    assert "/usr/sbin/qatmgr serves devices of generation 4" in error.message


def test_both_drivers_installed_and_none_loaded(gateway: MakeGateway) -> None:
    host = gateway(C3)
    modules = "/lib/modules/6.1.0-example"
    host.files["/proc/sys/kernel/osrelease"] = b"6.1.0-example\n"
    host.files[f"{modules}/kernel/drivers/crypto/qat/qat_common/intel_qat.ko"] = b""
    host.files[f"{modules}/updates/drivers/crypto/qat/qat_common/intel_qat.ko.zst"] = b""
    assert plan(host, OFF, ON)
    del host.files["/sys/module/intel_qat/taint"]
    error = refusal(host, OFF, ON)
    assert error.app_tag == "driver-mismatch"
    assert "both QAT drivers are installed" in error.message


def test_types_that_the_tool_does_not_know(gateway: MakeGateway) -> None:
    error = refusal(gateway("6xxx@0000:6b:00.0"), OFF, ON)
    assert (error.path, error.app_tag) == (ENABLED, "driver-mismatch")
    assert "qat_6xxx" in error.message
    assert plan(gateway(C3, "6xxx@0000:6b:00.0"), OFF, ON)


def test_a_device_that_is_handed_over_is_left_alone(gateway: MakeGateway) -> None:
    host = gateway(C3, C6A)
    host.links["/sys/bus/pci/devices/0000:3d:00.0/driver"] = "../drivers/vfio-pci"
    result = plan(host, OFF, on(device(C6A)))
    assert result.steps == (StartDevices((C3,), (), "restart"),)
    assert any("0000:3d:00.0" in note and "vfio-pci" in note for note in result.notes)
    error = refusal(host, OFF, on(device(C6A, services="sym")))
    assert (error.path, error.app_tag) == (entry(C6A), "driver-mismatch")
    host.links["/sys/bus/pci/devices/0000:01:00.0/driver"] = "../drivers/vfio-pci"
    error = refusal(host, OFF, ON)
    assert (error.path, error.app_tag) == (ENABLED, "no-qat-driver")


def test_a_virtual_function_that_waits_for_a_guest_is_left_alone(gateway: MakeGateway) -> None:
    host = gateway(C3, "c3xxxvf@0000:01:01.0")
    del host.links["/sys/bus/pci/devices/0000:01:01.0/driver"]
    host.links["/sys/bus/pci/devices/0000:01:01.0/physfn"] = "../0000:01:00.0"
    assert plan(host, OFF, ON).steps == (StartDevices((C3,), (), "restart"),)
    # In a guest there is no parent: it is the guest's device.
    del host.links["/sys/bus/pci/devices/0000:01:01.0/physfn"]
    assert plan(host, OFF, ON).steps == (StartDevices((C3, "c3xxxvf@0000:01:01.0"), (), "restart"),)


@pytest.mark.parametrize(("before", "after"), [(OFF, on(device(C6B))), (ON, on(device(C6B)))])
def test_a_configured_device_must_be_there(gateway: MakeGateway, before: Tree, after: Tree) -> None:
    for wanted in (after, {**after, "enabled": False}):
        error = refusal(gateway(C3), before, wanted)
        assert (error.path, error.app_tag) == (entry(C6B), "no-such-device")
        assert "0000:01:00.0" in error.message


def test_a_device_that_died_does_not_keep_the_others_from_starting_or_stopping(gateway: MakeGateway) -> None:
    config = on(device(C6B))
    result = plan(gateway(C3), None, config)
    assert result.steps == (StartDevices((C3,), (), "restart"),)
    assert any("0000:3f:00.0" in note for note in result.notes)
    host = run(gateway(C3), "start")
    assert plan(host, config, {**config, "enabled": False}).steps == (StopDevices((C3,), (), "restart"),)


@pytest.mark.parametrize(
    ("target", "services"), [(C3, "dcc"), (C3, "sym decomp"), ("4xxx@0000:6b:00.0", "asym sym dc")]
)
@pytest.mark.parametrize("enabled", [True, False])
def test_services_that_a_device_does_not_take(gateway: MakeGateway, target: str, services: str, enabled: bool) -> None:
    error = refusal(gateway(target), OFF, {**on(device(target, services=services)), "enabled": enabled})
    assert (error.path, error.app_tag) == (f"{entry(target)}/services", "unsupported-services")
    assert services in error.message


def test_a_missing_configuration_file_is_named(gateway: MakeGateway) -> None:
    host = gateway(C6A, C6B)
    del host.files["/etc/c6xx_dev1.conf"]
    error = refusal(host, OFF, on(device(C6B, services="sym")))
    assert (error.path, error.app_tag) == (entry(C6B), None)
    assert "/etc/c6xx_dev1.conf is not there" in error.message
    assert any("/etc/c6xx_dev1.conf" in note for note in plan(host, OFF, ON).notes)


@pytest.mark.parametrize("path", ["/proc/interrupts", "/etc/c3xxx_dev0.conf"])
def test_a_machine_that_can_t_be_looked_at_refuses(gateway: MakeGateway, path: str) -> None:
    host = gateway(C3)
    host.files[path] = OSError(errno.EIO, "Input/output error")
    host.files[f"{DEBUGFS}/qat_c3xxx_0000:01:00.0/fw_counters"] = OSError(errno.EIO, "Input/output error")
    if path == "/proc/interrupts":
        # No evidence at all: it is started when it is being enabled, not again with each commit.
        assert plan(host, OFF, ON).steps == (StartDevices((C3,), (), "restart"),)
        assert not plan(host, ON, {**ON, "ipsec-refresh": "none"})
    else:
        error = refusal(host, OFF, on(device(C3, services="sym")))
        assert "Input/output error" in error.message


# ── what is done ─────────────────────────────────────────────────────────────────────────────────


def test_at_start_up_nothing_is_stopped(gateway: MakeGateway) -> None:
    assert plan(run(gateway(C3), "start"), None, OFF) == Plan()
    # Nothing is even looked at.
    assert QatTranslator().prepare(Change(None, OFF), RecordedHost()) == Plan()


def test_enabling_starts_all_devices(gateway: MakeGateway) -> None:
    for before in (None, OFF):
        result = plan(gateway(C3, C6A, C6B), before, ON)
        assert result == Plan((StartDevices((C3, C6A, C6B), (), "restart"),))
        assert result.steps[0].disturbs == Disturbance("ipsec", "restart", enabling=True)
        assert result.steps[0].describe() == (
            f"start QAT 0000:01:00.0, 0000:3d:00.0, 0000:3f:00.0 ({QAT_SERVICE} start)"
        )


def test_what_is_so_already_needs_nothing(gateway: MakeGateway) -> None:
    host = run(gateway(C3, C6A), "start")
    for before in (None, OFF, ON):
        assert plan(host, before, ON) == Plan()
    assert plan(gateway(C3), ON, OFF) == Plan()


def test_at_start_up_what_running_wants_is_brought_up(gateway: MakeGateway) -> None:
    assert plan(gateway(C3), None, ON).steps == (StartDevices((C3,), (), "restart"),)
    assert plan(run(gateway(C3), "start"), None, ON).steps == ()


def test_a_device_that_went_down_is_started_again(gateway: MakeGateway) -> None:
    host = run(run(gateway(C3, C6A), "start"), "stop", "qat_dev1")
    assert plan(host, ON, ON).steps == (StartDevices((C6A,), (C3,), "restart"),)


def test_disabling_stops_what_is_up(gateway: MakeGateway) -> None:
    host = run(gateway(C3, C6A), "start", "qat_dev1")
    result = plan(host, ON, OFF)
    assert result.steps == (StopDevices((C6A,), (C3,), "restart"),)
    assert result.steps[0].disturbs == Disturbance("ipsec", "restart", enabling=False)


def test_a_disabled_device_is_stopped_and_the_others_run_on(gateway: MakeGateway) -> None:
    host = run(gateway(C3, C6A), "start")
    assert plan(host, ON, on(device(C6A, enabled=False))).steps == (StopDevices((C6A,), (C3,), "restart"),)
    assert plan(gateway(C3, C6A), OFF, on(device(C6A, enabled=False))).steps == (
        StartDevices((C3,), (C6A,), "restart"),
    )


def test_services_of_a_running_device_restart_it_alone(gateway: MakeGateway) -> None:
    host = run(gateway(C6A, C3, C6B), "start")
    (step,) = plan(host, ON, on(device(C6B, services="asym sym dc"), refresh="rekey")).steps
    assert isinstance(step, ReconfigureDevice)
    assert (step.device, step.path) == (C6B, "/etc/c6xx_dev1.conf")
    assert step.content == step.before.replace(b"= cy\n", b"= cy;dc\n")
    # The device goes down meanwhile, so what uses it has to let go of it.
    assert step.disturbs == Disturbance("ipsec", "rekey", enabling=False)


def test_services_of_a_stopped_device_are_written_before_it_is_started(gateway: MakeGateway) -> None:
    host = gateway(C3)
    write, start = plan(host, OFF, on(device(C3, services="sym"))).steps
    assert isinstance(write, WriteFile)
    assert (write.path, write.before) == ("/etc/c3xxx_dev0.conf", host.files["/etc/c3xxx_dev0.conf"])
    assert write.content == host.files["/etc/c3xxx_dev0.conf"].replace(b"= cy\n", b"= sym\n")  # type: ignore[union-attr]
    assert start == StartDevices((C3,), (), "restart")
    assert write.disturbs is None


def test_settings_that_the_file_has_need_nothing(gateway: MakeGateway) -> None:
    host = run(gateway(C3), "start")
    section = {"name": "KERNEL", "cy-instances": 1, "polling": "interrupt", "core-affinity": [0]}
    assert plan(host, ON, on(device(C3, services="asym sym", section=[section]))) == Plan()


def test_while_it_is_off_settings_wait(gateway: MakeGateway) -> None:
    config = {**on(device(C3, services="sym")), "enabled": False}
    assert plan(gateway(C3), OFF, config) == Plan()


def test_settings_that_are_no_longer_configured_stay_in_the_file(gateway: MakeGateway) -> None:
    host = run(gateway(C3), "start")
    before = on(device(C3, services="asym sym", section=[{"name": "KERNEL", "cy-instances": 1}]))
    result = plan(host, before, ON)
    assert result.steps == ()
    assert result.notes == ("settings of 0000:01:00.0 that are no longer configured stay in its configuration file",)


def test_a_handed_over_device_has_no_number(gateway: MakeGateway) -> None:
    host = gateway(C6A, C6B)
    host.links["/sys/bus/pci/devices/0000:3d:00.0/driver"] = "../drivers/vfio-pci"
    (write, _start) = plan(host, OFF, on(device(C6B, services="sym"))).steps
    assert isinstance(write, WriteFile)
    assert write.path == "/etc/c6xx_dev0.conf"
