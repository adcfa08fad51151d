"""Commits on the kernel's own driver: which backend a machine has, what is done to it, and what is refused."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from tests.translators.commits import OFF, ON, QAT_SERVICE, CommitPlan, MakeGateway, failure_of
from tests.translators.in_tree import FOURTH, OTHER, SECOND, Kernel, gateway, on, says
from translators.apply import apply, unwind
from translators.base import ALL, Change, Disturbance, Invocation, Plan, TranslatorError
from translators.plans import decode, encode
from translators.qat.backends import choose
from translators.qat.devices import PCI_DEVICES, inventory
from translators.qat.intree_steps import BringDown, BringUp, SetAttribute
from translators.qat.translator import QatTranslator

if TYPE_CHECKING:
    from translators.record import RecordedHost

ADDRESS = FOURTH.partition("@")[2]
PATH = "/hardware-acceleration:acceleration/qat"
ENTRY = f"{PATH}/device[address='{ADDRESS}']"
SETTINGS: dict[str, Any] = {"pm_idle_enabled": "0", "auto_reset": "on"}
KEPT = ("pm_idle_enabled=0", "auto_reset=on")


def plan(host: RecordedHost, before: object, after: object, driver: str = "auto") -> Plan:
    return QatTranslator(driver).prepare(Change(before, after), host)  # type: ignore[arg-type]


def refusal(host: RecordedHost, before: object, after: object, driver: str = "auto") -> TranslatorError:
    with pytest.raises(TranslatorError) as caught:
        plan(host, before, after, driver)
    return caught.value


def restart(host: Kernel, target: str) -> Plan:
    return QatTranslator().act(Invocation("device/restart", (target.partition("@")[2],)), ON, host)


def device(host: Kernel, config: dict[str, Any]) -> dict[str, Any]:
    reading = QatTranslator().operational(host, ALL, config)
    assert reading.faults == ()
    (entry,) = reading.tree["device"]
    assert isinstance(entry, dict)
    return entry


# ── which driver ─────────────────────────────────────────────────────────────────────────────────


def kind(host: RecordedHost, driver: str = "auto") -> str:
    return choose(host, inventory(host).devices, driver).kind


def test_the_loaded_driver_is_the_evidence() -> None:
    assert kind(gateway(FOURTH)) == "in-tree"
    host = gateway(FOURTH)
    host.files["/dev/qat_dev_processes"] = b""
    assert kind(host) == "out-of-tree"


def test_without_a_loaded_driver_it_is_the_one_that_is_installed() -> None:
    host = gateway(FOURTH, bound=False)
    del host.files["/sys/module/intel_qat/taint"]
    assert kind(host) == "out-of-tree"
    host.files["/proc/sys/kernel/osrelease"] = b"6.8.0-example\n"
    host.files["/lib/modules/6.8.0-example/kernel/drivers/crypto/intel/qat/qat_common/intel_qat.ko.xz"] = b""
    assert kind(host) == "in-tree"
    host.programs[QAT_SERVICE] = lambda _host, _argv: (0, "")
    assert kind(host) == "out-of-tree"


def test_devices_that_only_the_kernel_drives_are_the_kernels() -> None:
    host = gateway("420xx@0000:6b:00.0", bound=False)
    del host.files["/sys/module/intel_qat/taint"]
    assert kind(host) == "in-tree"


def test_a_setting_goes_before_evidence() -> None:
    assert kind(gateway(FOURTH), "out-of-tree") == "out-of-tree"
    with pytest.raises(ValueError, match="there is no QAT driver 'both'"):
        QatTranslator("both")


def test_a_script_that_is_left_over_is_a_mismatch_unless_the_setting_says_in_tree(gateway: MakeGateway) -> None:
    host = gateway("4xxx@0000:6b:00.0")
    host.files["/sys/module/intel_qat/taint"] = b"\n"
    host.files[f"{PCI_DEVICES}/{ADDRESS}/qat/state"] = b"down\n"
    error = refusal(host, OFF, ON)
    assert error.app_tag == "driver-mismatch"
    assert "set [qat] driver to in-tree" in error.message
    assert plan(host, OFF, ON, "in-tree").steps == (BringUp(ADDRESS, (), "restart"),)


def test_the_other_driver_than_the_setting_says_is_a_mismatch(gateway: MakeGateway) -> None:
    error = refusal(gateway("c6xx@0000:3d:00.0"), OFF, ON, "in-tree")
    assert (error.path, error.app_tag) == (f"{PATH}/enabled", "driver-mismatch")
    assert "the loaded module intel_qat is of the out-of-tree QAT driver" in error.message


def test_devices_of_two_drivers_are_a_mismatch_that_names_one() -> None:
    host = gateway(FOURTH, SECOND)
    host.files["/sys/module/qat_c62x/taint"] = b"OE\n"
    assert "the module of 0000:3d:00.0" in refusal(host, OFF, ON).message
    host.programs[QAT_SERVICE] = lambda _host, _argv: (0, "")
    host.files["/sys/module/intel_qat/taint"] = b"OE\n"
    error = refusal(host, OFF, ON)
    assert error.app_tag == "driver-mismatch"
    assert f"the module of {ADDRESS}" in error.message


def test_both_installed_is_a_warning_where_one_is_loaded() -> None:
    host = gateway(FOURTH)
    host.files["/proc/sys/kernel/osrelease"] = b"6.8.0-example\n"
    for folder in ("kernel/drivers/crypto/intel/qat/qat_common", "updates/drivers/crypto/qat/qat_common"):
        host.files[f"/lib/modules/6.8.0-example/{folder}/intel_qat.ko"] = b""
    assert any("both QAT drivers are installed" in note for note in plan(host, OFF, ON).notes)


# ── what is done ─────────────────────────────────────────────────────────────────────────────────


def test_enabling_brings_all_up_and_disabling_brings_them_down(commit_plan: CommitPlan) -> None:
    host = gateway(FOURTH, OTHER)
    change = commit_plan(host, OFF, ON)
    assert [step.describe().partition(" (")[0] for step in change.steps] == [
        "bring QAT 0000:6b:00.0 up",
        "bring QAT 0000:70:00.0 up",
    ]
    assert change.steps[0].disturbs == Disturbance("ipsec", "restart", enabling=True)
    apply(change, host)
    assert says(host, FOURTH, "state") == says(host, OTHER, "state") == ["up"]
    assert not plan(host, ON, ON)
    apply(commit_plan(host, ON, OFF), host)
    assert says(host, FOURTH, "state") == says(host, OTHER, "state") == ["down"]
    assert not plan(host, ON, OFF)


def test_at_start_up_nothing_is_brought_down() -> None:
    assert plan(gateway(FOURTH, state="up"), None, OFF) == Plan()


def test_other_services_go_down_write_up_and_settings_come_back() -> None:
    host = gateway(FOURTH, OTHER, state="up", **SETTINGS)
    change = plan(host, ON, on((FOURTH, {"services": "sym dc"})))
    assert change.steps == (
        BringDown(ADDRESS, KEPT, "restart"),
        SetAttribute(ADDRESS, "cfg_services", "sym;dc", "sym;asym"),
        BringUp(ADDRESS, KEPT, "restart"),
    )
    assert decode(encode(change)) == change
    apply(change, host)
    assert host.written == [
        "state=down", "cfg_services=sym;dc", "pm_idle_enabled=0", "auto_reset=on", "state=up"
    ]  # fmt: skip
    assert not plan(host, ON, on((FOURTH, {"services": "dc sym"})))


def test_services_of_a_device_that_is_down_are_written_before_it_comes_up() -> None:
    host = gateway(FOURTH)
    apply(plan(host, OFF, on((FOURTH, {"services": "dc"}))), host)
    assert host.written == ["cfg_services=dc", "state=up"]


def test_a_disabled_device_goes_down_and_what_it_loses_is_told() -> None:
    host = gateway(FOURTH, OTHER, state="up", **SETTINGS)
    change = plan(host, ON, on((FOURTH, {"enabled": False})))
    assert change.steps == (BringDown(ADDRESS, KEPT, "restart"),)
    assert any("loses pm_idle_enabled=0, auto_reset=on by going down" in note for note in change.notes)


@pytest.mark.parametrize(
    ("refuse", "said"),
    [
        ({"busy": True}, "Device or resource busy: the device is in use or being reset"),
        ({"takes": ("sym;asym",)}, "does not take 'sym;dc': Invalid argument: the device is down"),
        ({"starts": False}, "Bad address: the kernel log says why"),
    ],
)
def test_what_the_kernel_refuses_is_explained_and_undone(refuse: dict[str, Any], said: str) -> None:
    host = gateway(FOURTH, state="up", **SETTINGS)
    change = plan(host, ON, on((FOURTH, {"services": "sym dc"})))
    for name, value in refuse.items():
        setattr(host, name, value)
    failure = failure_of(change, host)
    assert failure is not None
    assert said in str(failure)
    host.starts, host.busy = True, False
    host.takes = (*host.takes, "sym;asym")
    assert unwind(failure.undo, host) == ()
    assert says(host, FOURTH, "state", "cfg_services", *SETTINGS) == ["up", "sym;asym", "0", "on"]


def test_a_restart_is_down_and_up_with_what_it_had() -> None:
    host = gateway(FOURTH, state="up", **SETTINGS)
    apply(restart(host, FOURTH), host)
    assert host.written[0] == "state=down"
    assert host.written[-1] == "state=up"
    assert says(host, FOURTH, *SETTINGS) == ["0", "on"]


def test_a_device_that_the_kernel_gave_to_compression_is_told() -> None:
    host = gateway(FOURTH, cfg_services="dc")
    assert any("serves dc, which is nothing for IPsec" in note for note in plan(host, OFF, ON).notes)
    assert not plan(host, OFF, on((FOURTH, {"services": "dc"}))).notes
    assert not plan(gateway(FOURTH), OFF, ON).notes


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("target", "services", "said"),
    [
        (FOURTH, "asym sym dc", "it takes 2 at the same time at most"),
        (FOURTH, "dcc sym", "dcc is a service that does not go with another one"),
        (FOURTH, "decomp", "decomp is a service of 6xxx devices only"),
        ("6xxx@0000:6b:00.0", "asym sym dc decomp", "it takes 3"),
    ],
)
@pytest.mark.parametrize("enabled", [True, False])
def test_services_that_no_kernel_takes(target: str, services: str, said: str, enabled: bool) -> None:
    error = refusal(gateway(target), OFF, {**on((target, {"services": services})), "enabled": enabled})
    assert (error.path, error.app_tag) == (f"{ENTRY}/services", "unsupported-services")
    assert said in error.message


def test_a_kernel_without_the_file_of_services() -> None:
    host = gateway(FOURTH)
    del host.files[f"{PCI_DEVICES}/{ADDRESS}/qat/cfg_services"]
    error = refusal(host, OFF, on((FOURTH, {"services": "dc"})))
    assert (error.path, error.app_tag) == (f"{ENTRY}/services", "unsupported-services")


def test_sections_are_of_the_other_driver() -> None:
    error = refusal(gateway(FOURTH), OFF, on((FOURTH, {"section": [{"name": "SSL"}]})))
    assert (error.path, error.app_tag) == (f"{ENTRY}/section[name='SSL']", "driver-mismatch")


def test_a_device_without_a_driver_names_the_module() -> None:
    host = gateway(FOURTH, bound=False)
    error = refusal(host, OFF, ON)
    assert (error.path, error.app_tag) == (f"{PATH}/enabled", "no-qat-driver")
    assert "load the kernel module qat_4xxx" in error.message
    host.files["/proc/sys/kernel/osrelease"] = b"6.8.0-example\n"
    host.files["/lib/modules/6.8.0-example/modules.dep"] = b"kernel/qat_c62x.ko.xz:\n"
    assert "needs the kernel module qat_4xxx, which this kernel does not have" in refusal(host, OFF, ON).message


def test_settings_of_one_without_a_driver_are_refused_at_its_entry() -> None:
    error = refusal(gateway(FOURTH, bound=False), OFF, on((FOURTH, {"services": "dc"})))
    assert (error.path, error.app_tag) == (ENTRY, "no-qat-driver")


def test_one_without_a_driver_does_not_keep_the_others_from_coming_up() -> None:
    host = gateway(FOURTH, OTHER)
    del host.links[f"{PCI_DEVICES}/0000:70:00.0/driver"]
    change = plan(host, OFF, ON)
    assert change.steps == (BringUp(ADDRESS, (), "restart"),)
    assert any("0000:70:00.0" in note and "has no driver" in note for note in change.notes)


def test_a_switch_that_says_something_else_refuses() -> None:
    host = gateway(FOURTH, state="sideways")
    assert "'sideways' is neither up nor down" in refusal(host, OFF, ON).message


# ── generation 2 ─────────────────────────────────────────────────────────────────────────────────


def test_a_device_without_a_switch_is_found_up_and_left_as_it_is() -> None:
    host = gateway(SECOND)
    change = plan(host, OFF, ON)
    assert change.steps == ()
    assert any("the kernel's driver has no switch for 0000:3d:00.0" in note for note in change.notes)
    change = plan(host, ON, OFF)
    assert change.steps == ()
    assert any("stays as it is: the kernel's driver has no switch" in note for note in change.notes)
    assert device(host, ON)["oper-status"] == "up"


@pytest.mark.parametrize(("leafs", "leaf"), [({"services": "sym"}, "services"), ({"enabled": False}, "enabled")])
def test_what_would_take_a_switch_is_refused(leafs: dict[str, Any], leaf: str) -> None:
    error = refusal(gateway(SECOND), OFF, on((SECOND, leafs)))
    assert (error.path.rpartition("/")[2], error.app_tag) == (leaf, "driver-mismatch")
    assert "has no switch" in error.message


def test_one_that_is_down_can_not_be_brought_up() -> None:
    host = gateway(SECOND, "c3xxx@0000:3e:00.0")
    del host.files["/sys/kernel/debug/qat_c6xx_0000:3d:00.0/fw_counters"]
    down, other = plan(host, OFF, ON).notes
    assert (
        "0000:3d:00.0 (Intel QAT C62x, 8086:37c8) is down and can't be brought up: the kernel's driver has no" in down
    )
    assert "unload its module qat_c62x" in down
    assert "0000:3e:00.0" in other
    assert "is left as it is" in other
    assert not any("can't be" in note for note in plan(host, OFF, on((SECOND, {"enabled": False}))).notes)
    del host.files["/sys/kernel/debug/qat_c3xxx_0000:3e:00.0/fw_counters"]
    error = refusal(host, OFF, ON)
    assert (error.path, error.app_tag) == (f"{PATH}/enabled", "driver-mismatch")
    assert "can't be brought up: the kernel's driver has no switch" in error.message


def test_it_can_not_be_restarted() -> None:
    with pytest.raises(TranslatorError, match="has no switch"):
        restart(gateway(SECOND), SECOND)


def test_the_stack_for_later_devices_does_not_go_with_it() -> None:
    host = gateway(SECOND)
    host.files["/usr/sbin/qatmgr"] = b""
    error = refusal(host, OFF, ON)
    assert error.app_tag == "driver-mismatch"
    assert "/usr/sbin/qatmgr serves devices of generation 4 and later" in error.message


# ── state ────────────────────────────────────────────────────────────────────────────────────────


def test_the_switch_says_whether_a_device_is_up_and_what_it_serves() -> None:
    entry = device(gateway(FOURTH, state="up", cfg_services="dc;sym"), ON)
    assert (entry["oper-status"], entry["active-services"]) == ("up", "sym dc")
    assert entry["driver"] == {"name": "qat_4xxx", "kind": "in-tree"}


def test_one_that_is_down_says_why_without_a_file_that_it_does_not_have() -> None:
    entry = device(gateway(FOURTH), ON)
    assert (entry["oper-status"], "active-services" in entry) == ("down", False)
    assert entry["status-reason"] == "the device is stopped, and is meant to be up: see the kernel log"


def test_its_services_are_in_use_while_it_is_up() -> None:
    config = on((FOURTH, {"services": "dc"}))
    for state, expected in (("up", {"enabled": True, "services": "asym sym"}), ("down", {"enabled": False})):
        (entry,) = QatTranslator().in_use(gateway(FOURTH, state=state), ALL, config).tree["device"]
        assert expected.items() <= entry.items()
        assert ("services" in entry) == (state == "up")


def test_a_switch_that_can_not_be_read_leaves_the_state_unknown() -> None:
    host = gateway(FOURTH)
    host.files[f"{PCI_DEVICES}/{ADDRESS}/qat/state"] = OSError(errno.EIO, "Input/output error")
    reading = QatTranslator().operational(host, ALL, ON)
    assert reading.tree["device"][0]["oper-status"] == "unknown"
    assert "Input/output error" in reading.tree["device"][0]["status-reason"]
