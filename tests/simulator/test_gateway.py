"""What lies in a machine after its boot."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]

PCI = "sys/bus/pci/devices"


@pytest.mark.parametrize(
    ("name", "device_id", "module", "accelerators", "engines"),
    [
        ("c3xxx", "19e2", "qat_c3xxx", 3, 6),
        ("c3xxxvf", "19e3", "qat_c3xxxvf", 1, 1),
        ("c6xx", "37c8", "qat_c62x", 5, 10),
        ("c6xxvf", "37c9", "qat_c62xvf", 1, 1),
        ("dh895xcc", "0435", "qat_dh895xcc", 6, 12),
        ("dh895xccvf", "0443", "qat_dh895xccvf", 1, 1),
        ("d15xx", "6f54", "qat_d15xx", 5, 10),
        ("d15xxvf", "6f55", "qat_d15xxvf", 1, 1),
        ("200xx", "18ee", "qat_200xx", 3, 6),
        ("200xxvf", "18ef", "qat_200xxvf", 1, 1),
    ],
)
def test_each_type_is_there_with_its_ids_driver_and_file(
    make: Make, name: str, device_id: str, module: str, accelerators: int, engines: int
) -> None:
    gateway = make(f"{name}@af:00.0")
    folder = gateway.root / PCI / "0000:af:00.0"
    assert (folder / "vendor").read_text() == "0x8086\n"
    assert (folder / "device").read_text() == f"0x{device_id}\n"
    assert (folder / "class").read_text() == "0x0b4000\n"
    assert (folder / "numa_node").read_text() == "0\n"
    assert (folder / "driver").readlink().as_posix() == f"../../../../bus/pci/drivers/{name}"
    assert (folder / "driver/module").resolve() == gateway.root / "sys/module" / module
    assert (folder / "driver/0000:af:00.0").resolve() == folder
    assert f"{module} " in gateway.text("proc/modules")
    assert "ServicesEnabled = cy\n" in gateway.text(f"etc/{name}_dev0.conf")
    assert gateway.qat_service("status").stdout.splitlines() == [
        "Checking status of all devices.",
        "There is 1 QAT acceleration device(s) in the system:",
        (
            f" qat_dev0 - type: {name},  inst_id: 0,  node_id: 0,  bsf: 0000:af:00.0,"
            f"  #accel: {accelerators} #engines: {engines} state: down"
        ),
    ]


def test_devices_are_numbered_by_address_and_instances_by_type(make: Make) -> None:
    gateway = make("c6xx@5e:00.0", "c3xxx@01:00.0", "c6xx@0001:02:00.0", "c6xx@1a:00.0")
    lines = gateway.qat_service("status").stdout.splitlines()[2:]
    assert [line.split(",  node_id")[0] for line in lines] == [
        " qat_dev0 - type: c3xxx,  inst_id: 0",
        " qat_dev1 - type: c6xx,  inst_id: 0",
        " qat_dev2 - type: c6xx,  inst_id: 1",
        " qat_dev3 - type: c6xx,  inst_id: 2",
    ]
    assert sorted(path.name for path in (gateway.root / "etc").glob("*.conf")) == [
        "c3xxx_dev0.conf",
        "c6xx_dev0.conf",
        "c6xx_dev1.conf",
        "c6xx_dev2.conf",
        "ipsec.conf",
    ]


def test_other_functions_are_on_the_bus_too(make: Make) -> None:
    gateway = make()
    kinds = {path.name: (path / "class").read_text() for path in (gateway.root / PCI).iterdir()}
    assert kinds == {
        "0000:00:00.0": "0x060000\n",
        "0000:00:14.0": "0x020000\n",
        "0000:00:14.1": "0x020000\n",
    }
    assert (gateway.root / PCI / "0000:00:14.0/driver").resolve().name == "igb"


def test_virtual_functions_and_their_physical_one_point_at_each_other(make: Make) -> None:
    gateway = make("c6xx@5e:00.0", "c6xxvf", "c6xxvf", "c6xx@5f:00.0", "c3xxxvf@5e:07.0")
    folder = gateway.root / PCI
    assert (folder / "0000:5e:00.0/virtfn0").resolve() == folder / "0000:5e:01.0"
    assert (folder / "0000:5e:00.0/virtfn1").resolve() == folder / "0000:5e:01.1"
    assert (folder / "0000:5e:01.1/physfn").resolve() == folder / "0000:5e:00.0"
    assert not (folder / "0000:5e:00.0/virtfn2").is_symlink()
    assert not (folder / "0000:5e:07.0/physfn").is_symlink()
    assert (folder / "0000:5e:00.0/sriov_numvfs").read_text() == "2\n"
    assert (folder / "0000:5f:00.0/sriov_numvfs").read_text() == "0\n"
    assert (folder / "0000:5f:00.0/sriov_totalvfs").read_text() == "16\n"


def test_no_link_leads_out_of_the_machine(make: Make) -> None:
    gateway = make("c6xx", "c6xxvf", "dh895xcc")
    links = [path for path in gateway.root.rglob("*") if path.is_symlink()]
    assert links
    assert [path for path in links if not path.resolve(strict=True).is_relative_to(gateway.root)] == []


def test_without_a_driver_there_is_only_the_hardware(make: Make) -> None:
    gateway = make("c6xx", driver=False)
    assert (gateway.root / PCI / "0000:01:00.0/device").read_text() == "0x37c8\n"
    for name in (
        f"{PCI}/0000:01:00.0/driver",
        "etc/init.d/qat_service",
        "etc/c6xx_dev0.conf",
        "sys/module/intel_qat",
        "sys/kernel/debug/qat_c6xx_0000:01:00.0",
        "dev/qat_adf_ctl",
    ):
        assert not (gateway.root / name).exists(), name
    assert "qat" not in gateway.text("proc/modules")


def test_with_a_driver_and_no_device_the_script_finds_nothing(make: Make) -> None:
    gateway = make()
    assert not (gateway.root / "sys/module/intel_qat").exists()
    result = gateway.qat_service("status")
    program = gateway.root / "etc/init.d/qat_service"
    assert result.stdout.splitlines()[1:] == [
        "No devices found. Please start the driver using:",
        f"{program} start",
    ]
    assert result.stderr == "Can not open /dev/qat_adf_ctl\n"
    assert result.returncode == 0


def test_strongswan_runs_or_is_not_installed(make: Make) -> None:
    gateway = make()
    for pid_file, name in (("starter.charon.pid", "starter"), ("charon.pid", "charon")):
        pid = int(gateway.text(f"run/{pid_file}"))
        assert gateway.text(f"proc/{pid}/comm") == f"{name}\n"
    assert "conn branch" in gateway.text("etc/ipsec.conf")
    bare = make(ipsec=False)
    for path in ("etc/ipsec.conf", "usr/sbin/ipsec", "run/charon.pid", "run/starter.charon.pid", "run/charon.ctl"):
        assert not (bare.root / path).exists(), path
    assert [path.name for path in (bare.root / "proc").iterdir() if path.name.isdigit()] == []


def test_the_processors_are_as_asked(make: Make) -> None:
    gateway = make(cpus=3)
    assert gateway.text("proc/cpuinfo").count("processor\t: ") == 3
    flags = gateway.text("proc/cpuinfo").split("flags\t\t: ")[1].splitlines()[0].split()
    assert "aes" in flags
    assert "hypervisor" not in flags
    assert gateway.algorithms()["cbc-aes-aesni"] == 400
    old = make(aes=False, virtual=True)
    flags = old.text("proc/cpuinfo").split("flags\t\t: ")[1].splitlines()[0].split()
    assert "aes" not in flags
    assert "hypervisor" in flags
    assert [driver for driver in old.algorithms() if "aesni" in driver] == []


def test_256_cpus_and_16_devices_fit_into_the_table(make: Make) -> None:
    gateway = make(*["dh895xcc"] * 16, cpus=256)
    gateway.qat_service("start")
    table = gateway.interrupts()
    assert {len(counts) for counts in table.values()} == {256}
    assert sum(name.startswith("qat1-") for name in table) == 33
    assert sum(name.startswith("qat15-") for name in table) == 33


@pytest.mark.parametrize("cpus", [0, -1, 8193])
def test_a_machine_has_a_number_of_cpus_that_exists(tmp_path: Path, cpus: int) -> None:
    with pytest.raises(SimulatorError, match=f"not {cpus}$"):
        simulator.build(tmp_path / "machine", cpus=cpus)
    assert not (tmp_path / "machine").exists()


def test_what_is_not_a_machine_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/precious").write_text("mine")
    with pytest.raises(SimulatorError, match="is neither empty nor a simulated machine"):
        simulator.build(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["etc", "precious"]
    with pytest.raises(SimulatorError, match="is neither empty nor a simulated machine"):
        simulator.build(tmp_path / "etc/precious")
    with pytest.raises(SimulatorError, match="cannot make a simulated machine"):
        simulator.build(tmp_path / "etc/precious/below")


def test_a_machine_is_replaced_by_a_new_one(make: Make) -> None:
    gateway = make("c6xx", "c3xxx")
    gateway.qat_service("start")
    (gateway.root / "var").mkdir()
    (gateway.root / "var/kept").write_text("not the simulator's")
    simulator.build(gateway.root, [simulator.parse_device("c3xxx@af:00.0")])
    assert gateway.processes() == []
    assert gateway.states() == {"0000:af:00.0": "down"}
    assert not (gateway.root / "etc/c6xx_dev0.conf").exists()
    assert simulator.commands(gateway.root) == ("qat_service status",)
    assert (gateway.root / "var/kept").exists()


def test_a_half_built_machine_can_be_built_again(make: Make) -> None:
    gateway = make("c6xx")
    shutil.rmtree(gateway.root / "sys")
    shutil.rmtree(gateway.root / "usr")
    simulator.build(gateway.root, [simulator.parse_device("c6xx")])
    assert gateway.states() == {"0000:01:00.0": "down"}


def test_a_machine_stands_alone_and_can_be_moved(make: Make, tmp_path: Path) -> None:
    gateway = make("c6xx")
    moved = type(gateway)(tmp_path / "moved here, 'really'")
    gateway.root.rename(moved.root)
    try:
        assert moved.qat_service("start").returncode == 0
        assert moved.states() == {"0000:01:00.0": "up"}
        assert moved.ipsec("status").returncode == 0
        library = (moved.root / "usr/lib/simulator").rglob("*.py")
        assert not [path for path in library if str(gateway.root) in path.read_text()]
    finally:
        simulator.stop(moved.root)
    assert moved.processes() == []


def test_programs_find_their_machine_however_they_are_called(make: Make, tmp_path: Path) -> None:
    gateway = make("c6xx")
    link = tmp_path / "service"
    link.symlink_to(gateway.root / "etc/init.d/qat_service")
    assert "There is 1 QAT" in type(gateway)(tmp_path).run("service", "status").stdout
    assert "There is 1 QAT" in type(gateway)(tmp_path).run("machine0/etc/init.d/qat_service", "status").stdout
    bare = gateway.run("etc/init.d/qat_service", "status", cwd="/", env={"PATH": "/usr/bin:/bin"})
    assert "There is 1 QAT" in bare.stdout


def test_programs_write_nothing_beside_their_state(make: Make) -> None:
    gateway = make("c6xx")
    gateway.qat_service("status")

    def tree() -> set[Path]:
        return {path for path in gateway.root.rglob("*") if "run/simulator" not in str(path)}

    before = tree()
    gateway.qat_service("start")
    gateway.qat_service("stop")
    gateway.ipsec("status")
    assert tree() == before
