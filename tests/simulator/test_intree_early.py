"""Devices before generation 4 with the kernel's own driver, which has no switch for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import SpecificationError, faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]
    Until = Callable[[Callable[[], object], str], None]

ADDRESS = "0000:3d:00.0"
PCI = f"sys/bus/pci/devices/{ADDRESS}"


@pytest.mark.parametrize(
    ("kind", "module", "firmware", "engines", "banks"),
    [
        ("c6xx", "qat_c62x", "qat_c62x.bin", 10, 16),
        ("c3xxx", "qat_c3xxx", "qat_c3xxx.bin", 6, 16),
        ("dh895xcc", "qat_dh895xcc", "qat_895xcc_mmp.bin", 12, 32),
    ],
)
def test_a_device_is_up_and_has_no_switch(
    make: Make, kind: str, module: str, firmware: str, engines: int, banks: int
) -> None:
    gateway = make(f"{kind}@{ADDRESS}", in_tree=True, kernel_release="6.12")
    assert (gateway.root / PCI / "driver").resolve().name == kind
    assert gateway.text("sys/module/intel_qat/taint") == "\n"
    assert f"{module} " in gateway.text("proc/modules")
    assert firmware in gateway.names("lib/firmware")
    assert gateway.names("etc").isdisjoint({"init.d", f"{kind}_dev0.conf"})
    assert gateway.names(PCI).isdisjoint({"qat", "qat_ras", "qat_rl"})
    files = {"dev_cfg", "fw_counters", "cnv_errors"}
    files |= {f"heartbeat/{name}" for name in ("status", "queries_sent", "queries_failed", "config")}
    assert gateway.debugfs(f"{kind}_{ADDRESS}") == files
    head, *rows = gateway.text(f"sys/kernel/debug/qat_{kind}_{ADDRESS}/fw_counters").splitlines()
    assert head.split() == ["AE", "Requests", "Responses"]
    assert len(rows) == engines
    assert len([name for name in gateway.interrupts() if name.startswith("qat0-bundle")]) == banks
    assert {"qat_aes_cbc_hmac_sha256", "qat-rsa"} <= gateway.algorithms().keys()


def test_its_configuration_names_no_services(make: Make) -> None:
    gateway = make(f"c6xx@{ADDRESS}", in_tree=True, cpus=2)
    text = gateway.text(f"sys/kernel/debug/qat_c6xx_{ADDRESS}/dev_cfg")
    assert "ServicesEnabled" not in text
    assert [line for line in text.splitlines() if line.startswith(("[", "Number"))] == [
        "[KERNEL]", "NumberCyInstances = 2", "NumberDcInstances = 2", "[Accelerator0]"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "files"),
    [("6.1", {"dev_cfg"}), ("6.6", {"dev_cfg", "fw_counters"}), ("6.7", {"dev_cfg", "fw_counters", "cnv_errors"})],
)
def test_older_kernels_show_less(make: Make, kernel: str, files: set[str]) -> None:
    gateway = make(f"c6xx@{ADDRESS}", in_tree=True, kernel_release=kernel)
    shown = gateway.debugfs(f"c6xx_{ADDRESS}")
    assert {name for name in shown if "/" not in name} == files
    assert "qat0-bundle0" in gateway.interrupts()


def test_virtual_functions_have_the_kernels_driver_too(make: Make) -> None:
    gateway = make(f"c6xx@{ADDRESS}", "c6xxvf", in_tree=True)
    assert (gateway.root / "sys/bus/pci/devices/0000:3d:01.0/driver").resolve().name == "c6xxvf"
    assert gateway.debugfs("c6xxvf_0000:3d:01.0") == {"dev_cfg"}
    assert "qat_3d:01.00" in gateway.interrupts()


def test_it_beside_a_later_one_and_its_traffic(serve: Make, until: Until) -> None:
    gateway = serve(f"c6xx@{ADDRESS}", "4xxx@6b:00.0", in_tree=True)
    assert gateway.text("sys/bus/pci/devices/0000:6b:00.0/qat/state") == "up\n"
    counters = f"sys/kernel/debug/qat_c6xx_{ADDRESS}/fw_counters"
    before = gateway.text(counters)
    until(lambda: gateway.text(counters) != before, "traffic")
    until(lambda: sum(gateway.interrupts()["qat0-bundle0"]) > 0, "interrupts")


def test_one_that_goes_down_by_itself_stays_down(make: Make, until: Until) -> None:
    gateway = make(f"c6xx@{ADDRESS}", in_tree=True)
    with simulator.serving(gateway.root):
        faults.down(gateway.root, ADDRESS)
        until(lambda: gateway.debugfs(f"c6xx_{ADDRESS}") == {"dev_cfg"}, "it goes down")
        until(lambda: not [name for name in gateway.interrupts() if name.startswith("qat")], "its interrupts go")
        assert gateway.text(f"sys/kernel/debug/qat_c6xx_{ADDRESS}/dev_cfg") == ""


def test_what_does_not_go_together_is_refused(make: Make) -> None:
    with pytest.raises(SpecificationError, match="Linux itself has no driver for a 200xxvf"):
        make("c6xx", "200xxvf", in_tree=True)
    with pytest.raises(SpecificationError, match="a 420xx is simulated with the kernel's own driver only"):
        make("420xx", in_tree=False)
    with pytest.raises(
        SpecificationError, match=r"a c3xxx is simulated with Linux 4\.5 and later only, not with 3\.16"
    ):
        make("c3xxx", in_tree=True, kernel_release="3.16")
    assert make("c3xxx", in_tree=False, kernel_release="3.16").names("etc") >= {"init.d"}
