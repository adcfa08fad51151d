"""Whether a device is up, on evidence; and the subtree's live state, with no more read than is wanted."""

import errno
from collections.abc import Callable

import pytest

from translators.base import ALL, Branch, Selection
from translators.qat.state import DEBUGFS, Observer
from translators.qat.translator import QatTranslator
from translators.record import RecordedHost

PF = "c3xxx@0000:01:00.0"
VF = "c6xxvf@0000:3d:01.0"
HANDED_OVER = "it needs vfio-pci, which hands it over (Linux itself has no driver for it)"
FOLDER = f"{DEBUGFS}/qat_c3xxx_0000:01:00.0"
PATH = "/hardware-acceleration:acceleration/qat"
TYPES = "hardware-acceleration-types"
QAT_SERVICE = "/etc/init.d/qat_service"
MakeGateway = Callable[..., RecordedHost]

CHIP = "IR-PCI-MSIX-0000:01:00.0  0-edge  qat0-bundle0"


def look(host: RecordedHost, target: str = PF) -> tuple[str, bool, bool]:
    observer = Observer(host)
    return observer.state(target).status, observer.is_up(target), observer.is_down(target)


def machine(*, counters: object = None, interrupts: object = None, **files: object) -> RecordedHost:
    host = RecordedHost(complete=True, folders={DEBUGFS, FOLDER})
    for path, content in {f"{FOLDER}/fw_counters": counters, "/proc/interrupts": interrupts, **files}.items():
        if content is not None:
            host.files[path] = content.encode() if isinstance(content, str) else content  # type: ignore[assignment]
    return host


TAKEN = f"   CPU0\n 130: 1  {CHIP}\n"
FREE = "   CPU0\n"
EFAULT = OSError(errno.EFAULT, "Bad address")
EPERM = PermissionError(errno.EPERM, "Operation not permitted")
EIO = OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize(
    ("counters", "interrupts", "expected"),
    [
        ("anything", None, ("up", True, False)),
        ("", None, ("up", True, False)),
        (EFAULT, FREE, ("down", False, True)),
        (EFAULT, None, ("down", False, True)),
        (EFAULT, TAKEN, ("failed", False, False)),
        (None, FREE, ("down", False, True)),
        (None, TAKEN, ("up", True, False)),
        (None, None, ("unknown", False, False)),
        (None, "broken", ("unknown", False, False)),
        (EPERM, TAKEN, ("unknown", True, False)),
        (EPERM, FREE, ("unknown", False, True)),
        (EIO, EIO, ("unknown", False, False)),
    ],
)
def test_a_physical_function(counters: object, interrupts: object, expected: tuple[str, bool, bool]) -> None:
    host = machine(counters=counters, interrupts=interrupts)
    assert look(host) == expected
    assert (Observer(host).state(PF).reason is None) == (expected[0] == "up")


@pytest.mark.parametrize(
    ("interrupts", "expected"),
    [
        ("   CPU0\n 9: 1  PCI-MSI-0000:3d:01.0  0-edge  qat_3d:01.00\n", ("up", True, False)),
        ("   CPU0\n 9: 1  ITS-MSI 5 Edge  qat_3d:01.00\n", ("up", True, False)),
        (TAKEN, ("down", False, True)),
        (None, ("unknown", False, False)),
        (EIO, ("unknown", False, False)),
    ],
)
def test_a_virtual_function(interrupts: object, expected: tuple[str, bool, bool]) -> None:
    assert look(machine(interrupts=interrupts), VF) == expected


def test_debugfs_that_is_not_mounted_tells_nothing() -> None:
    empty = RecordedHost(complete=True, folders={DEBUGFS}, files={"/proc/interrupts": FREE.encode()})
    assert Observer(empty).state(PF).status == "down"
    empty.files["/proc/mounts"] = b"proc /proc proc rw 0 0\n"
    state = Observer(empty).state(PF)
    assert state.status == "unknown"
    assert state.reason == f"the device's state can't be told: {DEBUGFS} is not mounted"
    empty.files["/proc/mounts"] = f"none {DEBUGFS} debugfs rw 0 0\n".encode()
    assert Observer(empty).state(PF).status == "down"
    empty.folders.clear()
    assert Observer(empty).state(PF).status == "unknown"


def test_the_folder_of_a_slot_above_nine_may_have_it_in_decimal() -> None:
    host = RecordedHost(complete=True, files={f"{DEBUGFS}/qat_c3xxx_0000:00:11.0/fw_counters": b"x"})
    assert Observer(host).folder("c3xxx@0000:00:0b.0") == f"{DEBUGFS}/qat_c3xxx_0000:00:11.0"
    host.files[f"{DEBUGFS}/qat_c3xxx_0000:00:0b.0/fw_counters"] = b"x"
    assert Observer(host).folder("c3xxx@0000:00:0b.0") == f"{DEBUGFS}/qat_c3xxx_0000:00:0b.0"


def test_one_look_reads_each_file_once() -> None:
    host = machine(counters=EPERM, interrupts=TAKEN)
    observer = Observer(host)
    for _ in range(3):
        observer.is_up(PF)
    assert sorted(host.read_paths) == ["/proc/interrupts", f"{FOLDER}/fw_counters"]


# ── the subtree ──────────────────────────────────────────────────────────────────────────────────

ON: dict[str, object] = {"enabled": True}
OFF: dict[str, object] = {"enabled": False}


def started(gateway: MakeGateway, *targets: str, **options: bool) -> RecordedHost:
    host = gateway(*targets, **options)
    host.run((QAT_SERVICE, "start"), timeout=1)
    host.ran.clear()
    return host


def selection(name: str, *leafs: str, **matches: str) -> Selection:
    below = Selection(everything=False, branches=tuple(Branch(leaf, (), ALL) for leaf in leafs)) if leafs else ALL
    return Selection(everything=False, branches=(Branch(name, tuple(matches.items()), below),))


def test_everything_of_a_device_that_is_up(gateway: MakeGateway) -> None:
    reading = QatTranslator().operational(started(gateway, PF), ALL, ON)
    assert reading.faults == ()
    (device,) = reading.tree["device"]
    config = device.pop("effective-config")
    assert device == {
        "address": "0000:01:00.0",
        "name": "qat_dev0",
        "family": f"{TYPES}:c3xxx",
        "virtual-function": False,
        "pci": {
            "vendor-id": "8086",
            "device-id": "19e2",
            "class": "0b4000",
            "revision": "07",
            "numa-node": 1,
            "kernel-driver": "c3xxx",
            "description": "Intel QAT C3xxx (Atom C3000)",
        },
        "driver": {"name": "qat_c3xxx", "kind": "out-of-tree", "version": "4.99.2"},
        "firmware-version": "4.99.3",
        "oper-status": "up",
        "engines": 2,
        "active-services": "asym sym",
        "flows": {
            "engine": [{"id": 0, "requests": 507, "responses": 501}, {"id": 1, "requests": 11, "responses": 11}],
            "requests": 518,
            "responses": 512,
            "in-flight": 6,
        },
        "interrupt": [
            {"irq": 200, "name": "qat0-bundle0", "total": 5, "cpu": [{"id": 0, "count": 0}, {"id": 2, "count": 5}]}
        ],
    }
    assert {"section": "KERNEL", "key": "Cy0Name", "value": '"IPSec0"'} in config
    supported = reading.tree["supported-device"]
    assert len(supported) == 22
    assert {
        "vendor-id": "8086", "device-id": "18ef", "family": f"{TYPES}:qat-200xx", "virtual-function": True
    } in supported  # fmt: skip
    leafs = {name: value for name, value in reading.tree.items() if name not in {"device", "supported-device"}}
    assert leafs == {"configured": True, "active": True, "fallback-active": False}


@pytest.mark.parametrize("config", [{}, OFF])
def test_a_device_that_is_up_though_nothing_wants_it_up(gateway: MakeGateway, config: dict[str, object]) -> None:
    """As after a boot where the driver was loaded by itself."""
    tree = QatTranslator().operational(started(gateway, PF), ALL, config).tree
    assert (tree["configured"], tree["active"]) == (False, True)
    assert (tree["device"][0]["oper-status"], "status-reason" in tree["device"][0]) == ("up", False)


def test_a_driver_without_a_file_of_counters_counts_nothing(gateway: MakeGateway) -> None:
    host = started(gateway, PF)
    del host.files[f"{FOLDER}/fw_counters"]
    reading = QatTranslator().operational(host, ALL, ON)
    (device,) = reading.tree["device"]
    assert (reading.faults, device["oper-status"]) == ((), "up")
    assert device.keys().isdisjoint({"flows", "engines"})


def test_counters_that_are_0_are_told(gateway: MakeGateway) -> None:
    host = started(gateway, PF)
    host.files[f"{FOLDER}/fw_counters"] = b"AE  Requests  Responses\n 0:  0  0\n 1:  0  0\n"
    flows = QatTranslator().operational(host, ALL, ON).tree["device"][0]["flows"]
    assert flows == {
        "engine": [{"id": number, "requests": 0, "responses": 0} for number in (0, 1)],
        "requests": 0, "responses": 0, "in-flight": 0,
    }  # fmt: skip


@pytest.mark.parametrize("file_stays", [False, True])
def test_a_stopped_device_has_no_counters(gateway: MakeGateway, file_stays: bool) -> None:
    reading = QatTranslator().operational(gateway(PF, file_stays=file_stays), ALL, OFF)
    assert reading.faults == ()
    (device,) = reading.tree["device"]
    assert device["oper-status"] == "down"
    assert device["status-reason"] == "the device is stopped: QAT acceleration is not enabled"
    assert device.keys().isdisjoint({"flows", "engines", "interrupt", "active-services", "effective-config", "name"})
    assert (reading.tree["configured"], reading.tree["active"]) == (False, False)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (ON, "is meant to be up: see the kernel log"),
        ({"enabled": True, "device": [{"address": "0000:01:00.0", "enabled": False}]}, "disabled in the configuration"),
    ],
)
def test_why_a_device_is_down(gateway: MakeGateway, config: dict[str, object], reason: str) -> None:
    reading = QatTranslator().operational(gateway(PF), selection("device", "status-reason"), config)
    assert reason in reading.tree["device"][0]["status-reason"]


@pytest.mark.parametrize(
    ("target", "driver"),
    [
        (VF, "it needs qat_c62xvf"),
        ("4xxxvf@0000:6b:00.1", f"{HANDED_OVER}, or qat_4xxxvf of the out-of-tree QAT driver 2.0"),
        ("420xxvf@0000:7a:00.1", HANDED_OVER),
    ],
)
def test_no_driver_is_named_that_does_not_exist(gateway: MakeGateway, target: str, driver: str) -> None:
    host = gateway(target)
    del host.links[f"/sys/bus/pci/devices/{target.partition('@')[2]}/driver"]
    tree = QatTranslator().operational(host, selection("device", "status-reason"), OFF).tree
    assert [device["status-reason"] for device in tree["device"]] == [f"the device has no driver: {driver}"]


def test_assigned_unbound_and_absent_devices(gateway: MakeGateway) -> None:
    host = gateway(PF, VF)
    host.links["/sys/bus/pci/devices/0000:3d:01.0/driver"] = "../drivers/vfio-pci"
    del host.links["/sys/bus/pci/devices/0000:01:00.0/driver"]
    config = {"enabled": True, "device": [{"address": "0000:02:00.0"}, {"address": "0000:01:00.0"}]}
    wanted = selection("device", "oper-status", "status-reason", "driver")
    assert QatTranslator().operational(host, wanted, config).tree["device"] == [
        {
            "address": "0000:01:00.0",
            "oper-status": "unbound",
            "status-reason": "the device has no driver: it needs qat_c3xxx",
        },
        {
            "address": "0000:02:00.0",
            "oper-status": "unknown",
            "status-reason": "the device is configured, and no supported device is at its address",
        },
        {
            "address": "0000:3d:01.0",
            "oper-status": "assigned",
            "status-reason": "the device is handed over to vfio-pci",
        },
    ]


def test_a_device_that_is_up_is_up_without_a_driver_link(gateway: MakeGateway) -> None:
    """What the driver itself shows of a device says more than a link that sysfs lacks."""
    host = started(gateway, PF, bound=False)
    reading = QatTranslator().operational(host, selection("device", "oper-status", "status-reason", "driver"), ON)
    assert reading.tree["device"] == [{"address": "0000:01:00.0", "oper-status": "up"}]
    assert reading.faults == ()


def test_the_flows_of_one_device_are_read_from_its_files_alone(gateway: MakeGateway) -> None:
    host = started(gateway, PF, "c6xx@0000:3d:00.0", "c6xx@0000:3f:00.0")
    reading = QatTranslator().operational(host, selection("device", "flows", address="0000:3d:00.0"), ON)
    (device,) = reading.tree["device"]
    assert device.keys() == {"address", "flows"}
    assert host.read_paths == [
        "/sys/bus/pci/devices/0000:3d:00.0/vendor",
        "/sys/bus/pci/devices/0000:3d:00.0/device",
        f"{DEBUGFS}/qat_c6xx_0000:3d:00.0/fw_counters",
    ]
    assert host.ran == []


def test_intent_and_ids_need_no_machine() -> None:
    nothing = RecordedHost()
    assert QatTranslator().operational(nothing, selection("configured"), ON).tree == {"configured": True}
    wanted = selection("supported-device", "family", **{"device-id": "37c8"})
    (entry,) = QatTranslator().operational(nothing, wanted, ON).tree["supported-device"]
    assert entry["family"] == f"{TYPES}:c6xx"


def test_devices_with_similar_numbers_have_their_own_values(gateway: MakeGateway) -> None:
    targets = [f"c6xx@0000:{bus:02x}:00.0" for bus in range(0x20, 0x2B)]
    host = started(gateway, *targets)
    tree = QatTranslator().operational(host, selection("device", "name", "interrupt"), ON).tree
    assert {
        entry["name"]: (entry["address"], [row["irq"] for row in entry["interrupt"]]) for entry in tree["device"]
    } == {f"qat_dev{n}": (f"0000:{0x20 + n:02x}:00.0", [200 + n]) for n in range(11)}


@pytest.mark.parametrize(
    ("path", "content", "node"),
    [
        (f"{FOLDER}/fw_counters", b"garbage\n", "flows"),
        (f"{FOLDER}/fw_counters", b"", "flows"),
        (f"{FOLDER}/fw_counters", b"\xff\n", "flows"),
        (f"{FOLDER}/dev_cfg", b"x\n", "effective-config"),
        (f"{FOLDER}/dev_cfg", b"[GENERAL]\nServicesEnabled = inline\n", "active-services"),
        (f"{FOLDER}/version/fw", b"\0\0", "firmware-version"),
        ("/proc/interrupts", b"", "interrupt"),
        ("/proc/interrupts", EIO, "name"),
        ("/sys/bus/pci/devices/0000:01:00.0/revision", b"\n", "pci"),
        ("/sys/module/qat_c3xxx/version", EIO, "driver"),
    ],
)
def test_a_broken_source_leaves_out_its_node_and_no_other(
    gateway: MakeGateway, path: str, content: bytes | OSError, node: str
) -> None:
    host = started(gateway, PF)
    whole = QatTranslator().operational(host, ALL, ON).tree["device"][0].keys()
    host.files[path] = content
    reading = QatTranslator().operational(host, ALL, ON)
    faulty = {fault.path.rpartition("/")[2] for fault in reading.faults}
    assert node in faulty
    assert all(fault.path.startswith(f"{PATH}/device[address='0000:01:00.0']/") for fault in reading.faults)
    assert reading.tree["device"][0].keys() == whole - faulty
    assert all(path in fault.message or "Input/output" in fault.message for fault in reading.faults)


def test_a_function_that_can_t_be_identified_is_a_fault_and_no_absent_device(gateway: MakeGateway) -> None:
    host = gateway(PF, "c6xx@0000:3d:00.0")
    host.files["/sys/bus/pci/devices/0000:01:00.0/vendor"] = b"?"
    config = {"enabled": True, "device": [{"address": "0000:01:00.0"}]}
    reading = QatTranslator().operational(host, selection("device", "oper-status"), config)
    assert [entry["address"] for entry in reading.tree["device"]] == ["0000:3d:00.0"]
    assert [fault.path for fault in reading.faults] == [f"{PATH}/device[address='0000:01:00.0']"]


def test_a_bus_that_can_t_be_listed_is_a_fault() -> None:
    class Locked(RecordedHost):
        def names(self, path: str) -> tuple[str, ...]:
            raise PermissionError(errno.EACCES, "Permission denied", path)

    reading = QatTranslator().operational(Locked(), selection("device"), OFF)
    assert reading.tree == {}
    assert [(fault.path, "Permission denied" in fault.message) for fault in reading.faults] == [
        (f"{PATH}/device", True)
    ]


def test_a_device_that_does_not_answer_has_failed(gateway: MakeGateway) -> None:
    host = started(gateway, PF)
    host.files[f"{FOLDER}/fw_counters"] = EFAULT
    reading = QatTranslator().operational(host, ALL, ON)
    assert reading.tree["device"][0]["oper-status"] == "failed"
    assert reading.tree["active"] is False
    assert {fault.path.rpartition("/")[2] for fault in reading.faults} == {"flows", "engines"}


def test_an_engine_without_an_answer_leaves_no_sums(gateway: MakeGateway) -> None:
    host = started(gateway, PF)
    counters = host.files[f"{FOLDER}/fw_counters"]
    assert isinstance(counters, bytes)
    host.files[f"{FOLDER}/fw_counters"] = counters.replace(b"        507", b"No Response")
    flows = QatTranslator().operational(host, selection("device", "flows"), ON).tree["device"][0]["flows"]
    assert flows == {"engine": [{"id": 0, "no-response": True}, {"id": 1, "requests": 11, "responses": 11}]}


def test_activity_that_can_t_be_told_is_left_out(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files[f"{FOLDER}/fw_counters"] = EPERM
    assert "active" not in QatTranslator().operational(host, selection("active"), ON).tree


@pytest.mark.parametrize(
    ("taint", "node", "kind"),
    [(b"OE\n", False, "out-of-tree"), (b"\n", False, "in-tree"), (b"\n", True, "out-of-tree"), (None, False, None)],
)
def test_which_driver_is_loaded(gateway: MakeGateway, taint: bytes | None, node: bool, kind: str | None) -> None:
    host = gateway(PF)
    host.files.pop("/sys/module/intel_qat/taint")
    if taint is not None:
        host.files["/sys/module/intel_qat/taint"] = taint
    if node:
        host.files["/dev/qat_dev_processes"] = b""
    (device,) = QatTranslator().operational(host, selection("device", "driver"), OFF).tree["device"]
    assert device["driver"].get("kind") == kind
