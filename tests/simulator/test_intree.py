"""Devices of the kernel's own driver: what their files say, take and refuse."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]
    Until = Callable[[Callable[[], object], str], None]

ADDRESS = "0000:6b:00.0"
DEVICE = f"4xxx@{ADDRESS}"
PCI = f"sys/bus/pci/devices/{ADDRESS}"
SWITCH = f"{PCI}/qat"
DEBUGFS = f"sys/kernel/debug/qat_4xxx_{ADDRESS}"


def _down(gateway: Gateway) -> Gateway:
    gateway.ipsec("stop")
    gateway.write(f"{SWITCH}/state", "down\n")
    return gateway


def _error(gateway: Gateway, name: str, text: str) -> int | None:
    """Return the error number of a write, None where it is taken."""
    try:
        gateway.write(name, text)
    except OSError as error:
        return error.errno
    return None


def _unreadable(gateway: Gateway, name: str) -> int | None:
    try:
        gateway.text(name)
    except OSError as error:
        return error.errno
    return None


# ── the switch ───────────────────────────────────────────────────────────────────────────────────


def test_a_device_is_up_after_boot_and_goes_down_and_up(serve: Make) -> None:
    gateway = serve(DEVICE)
    assert gateway.text(f"{SWITCH}/state") == "up\n"
    _down(gateway)
    assert gateway.text(f"{SWITCH}/state") == "down\n"
    gateway.write(f"{SWITCH}/state", "down")
    gateway.write(f"{SWITCH}/state", "up")
    gateway.write(f"{SWITCH}/state", "up\n")
    assert gateway.text(f"{SWITCH}/state") == "up\n"
    assert simulator.commands(gateway.root) == (
        "ipsec stop",
        *(f"sysfs {ADDRESS} state {word}" for word in ("down", "down", "up", "up")),
    )


@pytest.mark.parametrize("text", ["", "UP", "up\n\n", "sideways", "restart", "up down"])
def test_another_word_is_refused(serve: Make, text: str) -> None:
    gateway = _down(serve(DEVICE))
    # A write of nothing never comes to the kernel.
    assert _error(gateway, f"{SWITCH}/state", text) == (errno.EINVAL if text else None)
    assert gateway.text(f"{SWITCH}/state") == "down\n"


def test_a_device_that_ipsec_goes_through_is_busy(serve: Make) -> None:
    gateway = serve(DEVICE, "4xxx@0000:70:00.0")
    for word in ("down", "up", "sideways"):
        assert _error(gateway, f"{SWITCH}/state", word) == errno.EBUSY
    # The second one does compression.
    assert _error(gateway, "sys/bus/pci/devices/0000:70:00.0/qat/state", "down") is None
    gateway.ipsec("stop")
    assert _error(gateway, f"{SWITCH}/state", "down") is None


def test_services_are_set_while_the_device_is_down(serve: Make) -> None:
    gateway = serve(DEVICE, "402xx@0000:70:00.0")
    assert gateway.text(f"{SWITCH}/cfg_services") == "sym;asym\n"
    assert gateway.text("sys/bus/pci/devices/0000:70:00.0/qat/cfg_services") == "dc\n"
    assert _error(gateway, f"{SWITCH}/cfg_services", "dc") == errno.EINVAL
    _down(gateway)
    gateway.write(f"{SWITCH}/cfg_services", "dc\n")
    gateway.write(f"{SWITCH}/state", "up")
    assert gateway.text(f"{SWITCH}/cfg_services") == "dc\n"
    assert "ServicesEnabled = dc\n" in gateway.text(f"{DEBUGFS}/dev_cfg")


@pytest.mark.parametrize(
    ("kernel", "device", "text", "said"),
    [
        ("6.0", "4xxx", "sym;asym", "sym;asym"),
        ("6.0", "4xxx", "asym;sym", None),
        ("6.0", "4xxx", "sym", None),
        ("6.5", "4xxx", "asym;sym", "asym;sym"),
        ("6.5", "4xxx", "dc;sym", "dc;sym"),
        ("6.5", "4xxx", "dcc", None),
        ("6.7", "401xx", "dcc", "dcc"),
        ("6.7", "4xxx", "sym;sym", None),
        ("6.16", "4xxx", "sym;asym", "asym;sym"),
        ("6.16", "4xxx", "asym;sym;dc", None),
        ("6.16", "4xxx", "decomp", None),
        ("6.16", "4xxx", "sym;dcc", None),
        ("6.16", "6xxx", "dc;sym;asym", "asym;sym;dc"),
        ("6.16", "6xxx", "decomp;dc", "dc;decomp"),
        ("6.16", "6xxx", "sym;asym;dc;decomp", None),
        ("6.16", "6xxx", "sym;tea", None),
    ],
)
def test_which_services_are_known_is_a_matter_of_kernel_and_device(
    serve: Make, kernel: str, device: str, text: str, said: str | None
) -> None:
    gateway = _down(serve(f"{device}@{ADDRESS}", kernel_release=kernel))
    before = gateway.text(f"{SWITCH}/cfg_services")
    assert _error(gateway, f"{SWITCH}/cfg_services", f"{text}\n") == (None if said else errno.EINVAL)
    assert gateway.text(f"{SWITCH}/cfg_services") == (f"{said}\n" if said else before)


def test_going_down_loses_all_settings_but_the_services(serve: Make) -> None:
    gateway = _down(serve(DEVICE))
    for name, text in (("cfg_services", "sym"), ("pm_idle_enabled", "n"), ("auto_reset", "1"), ("rp2srv", "3")):
        gateway.write(f"{SWITCH}/{name}", text)
    gateway.write(f"{SWITCH}/state", "up")
    said = {name: gateway.text(f"{SWITCH}/{name}") for name in ("pm_idle_enabled", "auto_reset", "rp2srv")}
    assert said == {"pm_idle_enabled": "0\n", "auto_reset": "on\n", "rp2srv": "sym\n"}
    assert _error(gateway, f"{SWITCH}/pm_idle_enabled", "1") == errno.EINVAL
    assert _error(gateway, f"{SWITCH}/auto_reset", "off") is None
    gateway.write(f"{SWITCH}/auto_reset", "on")
    gateway.write(f"{SWITCH}/state", "down")
    assert gateway.text(f"{SWITCH}/cfg_services") == "sym\n"
    assert gateway.text(f"{SWITCH}/pm_idle_enabled") == "1\n"
    assert gateway.text(f"{SWITCH}/auto_reset") == "off\n"
    assert _unreadable(gateway, f"{SWITCH}/rp2srv") == errno.EINVAL


def test_ring_pairs_are_asked_one_at_a_time(serve: Make) -> None:
    gateway = serve(DEVICE)
    assert gateway.text(f"{SWITCH}/num_rps") == "64\n"
    said = []
    for ring in range(4):
        gateway.write(f"{SWITCH}/rp2srv", f"{ring}\n")
        said.append(gateway.text(f"{SWITCH}/rp2srv"))
    assert said == ["sym\n", "asym\n"] * 2
    for text in ("64", "-1", "one", "0x1", "1_0"):
        assert _error(gateway, f"{SWITCH}/rp2srv", text) == errno.EINVAL
    assert _error(gateway, f"{SWITCH}/num_rps", "8") == errno.EIO


@pytest.mark.parametrize(
    ("kernel", "switch", "up"),
    [
        ("6.0", {"state", "cfg_services"}, {"dev_cfg"}),
        ("6.5", {"state", "cfg_services", "pm_idle_enabled"}, {"dev_cfg"}),
        ("6.6", {"state", "cfg_services", "pm_idle_enabled"}, {"dev_cfg", "fw_counters", "heartbeat"}),
        (
            "6.7",
            {"state", "cfg_services", "pm_idle_enabled", "rp2srv", "num_rps"},
            {"dev_cfg", "fw_counters", "heartbeat", "cnv_errors", "pm_status"},
        ),
        (
            "6.9",
            {"state", "cfg_services", "pm_idle_enabled", "rp2srv", "num_rps", "auto_reset"},
            {"dev_cfg", "fw_counters", "heartbeat", "cnv_errors", "pm_status", "telemetry"},
        ),
    ],
)
def test_a_kernel_has_the_files_of_its_age_and_a_device_that_is_down_fewer(
    serve: Make, kernel: str, switch: set[str], up: set[str]
) -> None:
    gateway = serve(DEVICE, kernel_release=kernel)
    groups = {"qat", "qat_ras", "qat_rl"} if kernel >= "6.7" else {"qat"}
    assert gateway.names(SWITCH) == switch
    assert gateway.names(DEBUGFS) == up
    assert {name for name in gateway.names(PCI) if name.startswith("qat")} == groups
    _down(gateway)
    assert gateway.names(SWITCH) == switch
    assert gateway.names(DEBUGFS) == {"dev_cfg"}
    assert {name for name in gateway.names(PCI) if name.startswith("qat")} == {"qat"}
    assert gateway.text(f"{DEBUGFS}/dev_cfg") == "[GENERAL]\nServicesEnabled = sym;asym\n"
    assert _unreadable(gateway, f"{DEBUGFS}/fw_counters") == errno.ENOENT
    gateway.write(f"{SWITCH}/state", "up")
    assert gateway.names(DEBUGFS) == up


# ── what it counts ───────────────────────────────────────────────────────────────────────────────


def test_counters_advance_while_ipsec_runs_and_begin_anew(serve: Make, until: Until) -> None:
    gateway = serve(DEVICE)

    def requests() -> list[int]:
        head, *rows = gateway.text(f"{DEBUGFS}/fw_counters").splitlines()
        assert head.split() == ["AE", "Requests", "Responses"]
        return [int(row.split()[1]) for row in rows]

    until(lambda: all(requests()), "traffic")
    assert len(requests()) == 8
    until(lambda: sum(gateway.interrupts()["qat0-bundle1"]), "interrupts")
    assert sum(gateway.interrupts()["qat0-bundle0"]) == 0
    _down(gateway)
    gateway.write(f"{SWITCH}/state", "up")
    assert requests() == [0] * 8


def test_interrupts_and_algorithms_come_and_go_with_the_device(serve: Make) -> None:
    gateway = serve(DEVICE)
    names = [*(f"qat0-bundle{bank}" for bank in range(64)), "qat0-ae-cluster"]
    assert [name for name in gateway.interrupts() if name.startswith("qat")] == names
    assert gateway.algorithms()["qat_aes_cbc_hmac_sha256"] == 4001
    _down(gateway)
    assert [name for name in gateway.interrupts() if name.startswith("qat")] == []
    assert [name for name in gateway.algorithms() if name.startswith("qat")] == []
    gateway.write(f"{SWITCH}/cfg_services", "sym")
    gateway.write(f"{SWITCH}/state", "up")
    assert [name for name in gateway.interrupts() if name.startswith("qat")] == names
    # The kernel makes itself instances only where a device serves both halves of crypto.
    assert [name for name in gateway.algorithms() if name.startswith("qat")] == []


@pytest.mark.parametrize(
    ("options", "priority"),
    [({"kernel_release": "6.17"}, 100), ({"priority": 100}, 100), ({"priority": 0}, None), ({}, 4001)],
)
def test_a_kernel_that_avoids_the_device_sends_it_nothing(
    serve: Make, options: dict[str, object], priority: int | None
) -> None:
    gateway = serve(DEVICE, **options)
    assert gateway.algorithms().get("qat_aes_cbc") == priority
    # So it is busy only where IPsec goes through it.
    assert _error(gateway, f"{SWITCH}/state", "down") == (errno.EBUSY if priority == 4001 else None)


def test_virtual_functions_have_no_driver_and_take_the_interrupts(serve: Make) -> None:
    gateway = serve(DEVICE, "4xxxvf", "4xxxvf")
    assert [name for name in gateway.interrupts() if name.startswith("qat")] == ["qat0-ae-cluster"]
    virtual = "sys/bus/pci/devices/0000:6b:01.0"
    assert gateway.text(f"{virtual}/device") == "0x4941\n"
    assert (gateway.root / virtual / "physfn").resolve() == (gateway.root / PCI).resolve()
    assert (gateway.root / PCI / "virtfn1").resolve().name == "0000:6b:01.1"
    assert "driver" not in gateway.names(virtual)
    assert gateway.text(f"{PCI}/sriov_numvfs") == "2\n"


def test_the_heartbeat_counts_who_asks_and_ends_with_nul(serve: Make) -> None:
    gateway = serve(DEVICE)
    folder = f"{DEBUGFS}/heartbeat"
    assert gateway.text(f"{folder}/queries_sent") == "0\n\0"
    assert [gateway.text(f"{folder}/status") for _ in range(3)] == ["0\n\0"] * 3
    assert gateway.text(f"{folder}/queries_sent") == "3\n\0"
    assert gateway.text(f"{folder}/queries_failed") == "0\n\0"


def test_errors_are_counted_until_someone_resets_them_or_the_device_goes_down(serve: Make) -> None:
    gateway = serve(DEVICE)

    def counts() -> list[str]:
        return [gateway.text(f"{PCI}/qat_ras/errors_{kind}") for kind in ("correctable", "nonfatal", "fatal")]

    faults.errors(gateway.root, ADDRESS, correctable=3, fatal=1)
    faults.errors(gateway.root, ADDRESS, nonfatal=2, correctable=1)
    assert counts() == ["4\n", "2\n", "1\n"]
    for text in ("1", "0\n", "1\n\n", "11"):
        expected = None if text == "11" else errno.EINVAL
        assert _error(gateway, f"{PCI}/qat_ras/reset_error_counters", text) == expected
        faults.errors(gateway.root, ADDRESS, correctable=1)
    gateway.write(f"{PCI}/qat_ras/reset_error_counters", "1\n")
    assert counts() == ["0\n"] * 3
    assert _unreadable(gateway, f"{PCI}/qat_ras/reset_error_counters") == errno.EIO
    faults.errors(gateway.root, ADDRESS, fatal=1)
    _down(gateway)
    assert _unreadable(gateway, f"{PCI}/qat_ras/errors_fatal") == errno.ENOENT
    gateway.write(f"{SWITCH}/state", "up")
    assert counts() == ["0\n"] * 3


def test_telemetry_is_switched_on_and_has_columns_as_asked(serve: Make, until: Until) -> None:
    gateway = serve(DEVICE)
    folder = f"{DEBUGFS}/telemetry"
    assert gateway.text(f"{folder}/control") == "0\n"
    assert _unreadable(gateway, f"{folder}/device_data") == errno.EPERM
    assert _error(gateway, f"{folder}/control", "5") == errno.EINVAL
    for control, columns in (("1", 2), ("3", 5)):
        gateway.write(f"{folder}/control", control)
        head, *rows = gateway.text(f"{folder}/device_data").splitlines()
        assert head.split() == ["sample_cnt", "0"]
        assert {len(row.split()) for row in rows} == {columns}
    until(lambda: gateway.text(f"{folder}/device_data").split()[1] != "0", "a sample")
    assert int(gateway.text(f"{folder}/device_data").partition("bw_in")[2].split()[0]) > 0
    assert _unreadable(gateway, f"{folder}/rp_A_data") == errno.EPERM
    assert _error(gateway, f"{folder}/rp_A_data", "64") == errno.EINVAL
    gateway.write(f"{folder}/rp_A_data", "2")
    assert gateway.text(f"{folder}/rp_A_data").split()[2:6] == ["rp_num", "2", "service_type", "sym"]
    _down(gateway)
    gateway.write(f"{SWITCH}/state", "up")
    assert gateway.text(f"{folder}/control") == "0\n"


def test_rates_are_limited_by_way_of_registers(serve: Make) -> None:
    gateway = serve(DEVICE)
    folder = f"{PCI}/qat_rl"

    def put(**registers: str) -> int | None:
        results = [_error(gateway, f"{folder}/{name}", text) for name, text in registers.items()]
        return next((result for result in results if result), None)

    assert _unreadable(gateway, f"{folder}/srv") == errno.EINVAL
    assert put(srv="dc") == errno.EINVAL
    assert put(rp="0x5", srv="sym", cir="200", pir="400", sla_op="add") is None
    chosen = gateway.text(f"{folder}/id")
    # Each of the two services has a root and a cluster, which nobody else may look at.
    assert (chosen, put(id="3", sla_op="get")) == ("4\n", errno.EINVAL)
    # A ring pair of the other service.
    assert put(rp="0x2", srv="sym", cir="1", pir="1", sla_op="add") == errno.EINVAL
    assert put(rp="0x4", cir="100", sla_op="add") == errno.EINVAL
    assert put(rp="0xa0", cir="900", pir="900", sla_op="add") == errno.EINVAL
    assert put(cap_rem="sym") is None
    assert gateway.text(f"{folder}/cap_rem") == "800\n"
    assert put(id=chosen, cir="300", pir="400", sla_op="update") is None
    assert gateway.text(f"{folder}/cap_rem") == "700\n"
    assert put(cir="1", pir="1", sla_op="get") is None
    assert [gateway.text(f"{folder}/{name}") for name in ("rp", "cir", "pir")] == ["0x5\n", "300\n", "400\n"]
    assert put(sla_op="rm") is None
    assert put(sla_op="get") == errno.EINVAL
    assert put(sla_op="rm_all") is None
    assert gateway.text(f"{folder}/cap_rem") == "1000\n"


# ── faults ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "number"), [("", errno.EFAULT), ("EBUSY", errno.EBUSY), ("no idea\n", errno.EFAULT)])
def test_a_device_fails_to_start_as_told(serve: Make, text: str, number: int) -> None:
    gateway = _down(serve(DEVICE))
    gateway.write(f"{SWITCH}/auto_reset", "on")
    faults.fail(gateway.root, "qat", "up", text, times=1)
    assert _error(gateway, f"{SWITCH}/state", "up\n") == number
    assert gateway.text(f"{SWITCH}/state") == "down\n"
    assert gateway.text(f"{SWITCH}/auto_reset") == "off\n"
    assert _error(gateway, f"{SWITCH}/state", "up\n") is None


def test_a_lie_is_taken_and_changes_nothing(serve: Make) -> None:
    gateway = _down(serve(DEVICE))
    faults.lie(gateway.root, "qat", "up")
    assert _error(gateway, f"{SWITCH}/state", "up\n") is None
    assert gateway.text(f"{SWITCH}/state") == "down\n"


def test_a_delay_holds_up_the_writer_and_nobody_else(serve: Make, until: Until) -> None:
    import threading  # noqa: PLC0415 - only here

    gateway = _down(serve(DEVICE))
    faults.delay(gateway.root, "qat", "up", 0.5)
    writer = threading.Thread(target=gateway.write, args=(f"{SWITCH}/state", "up"))
    writer.start()
    until(lambda: simulator.commands(gateway.root)[-1] == f"sysfs {ADDRESS} state up", "the write")
    assert gateway.text(f"{SWITCH}/state") == "down\n"
    writer.join()
    assert gateway.text(f"{SWITCH}/state") == "up\n"


def test_a_device_goes_down_by_itself(serve: Make, until: Until) -> None:
    gateway = serve(DEVICE, "4xxx@0000:70:00.0")
    faults.down(gateway.root, ADDRESS)
    until(lambda: gateway.text(f"{SWITCH}/state") == "down\n", "the fault")
    assert gateway.text("sys/bus/pci/devices/0000:70:00.0/qat/state") == "up\n"
    assert gateway.names(DEBUGFS) == {"dev_cfg"}
    until(lambda: not any(name.startswith("qat0") for name in gateway.interrupts()), "its interrupts")
    assert simulator.commands(gateway.root) == (f"hardware {ADDRESS} down",)
    gateway.write(f"{SWITCH}/state", "up")
