"""A gateway in memory whose programs behave: devices go up and down, files appear and vanish."""

import errno
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from translators.base import Change, Plan
from translators.host import Host
from translators.qat.ids import DEVICE_IDS
from translators.record import RecordedHost

QAT_SERVICE = "/etc/init.d/qat_service"
IPSEC = "/usr/sbin/ipsec"
DEBUGFS = "/sys/kernel/debug"
DRIVERS = "/sys/bus/pci/drivers"

CONFIGURATION = b"""\
# Example gateway
[GENERAL]
ServicesEnabled = cy
ConfigVersion = 2

[KERNEL]
NumberCyInstances = 1
NumberDcInstances = 0
Cy0Name = "IPSec0"
Cy0IsPolled = 0
Cy0CoreAffinity = 0
"""

COUNTERS = b"""\
+------------------------------------------------+
| FW Statistics for Qat Device                   |
+------------------------------------------------+
| Firmware Requests [AE  0]:                 507 |
| Firmware Responses[AE  0]:                 501 |
+------------------------------------------------+
| Firmware Requests [AE  1]:                  11 |
| Firmware Responses[AE  1]:                  11 |
+------------------------------------------------+
"""

MakeGateway = Callable[..., RecordedHost]


@pytest.fixture
def gateway() -> MakeGateway:
    """Return the function that makes a machine of devices (``c3xxx@0000:01:00.0``), all down."""
    return _gateway


@pytest.fixture
def snapshot() -> Callable[[RecordedHost], dict[str, object]]:
    """Return the function that tells what a machine looks like, to compare it before and after."""
    return lambda host: {**{path: repr(data) for path, data in host.files.items()}, **host.links}


@pytest.fixture
def commit_plan() -> Callable[..., Plan]:
    """Return the function that plans a commit as the engine does, with IPsec's steps around those that disturb it.

    It takes what the settings file says to translators.
    """
    return _commit_plan


def _commit_plan(host: Host, before: object, after: object, **settings: Any) -> Plan:
    from translators.registry import TranslatorSettings, translators  # noqa: PLC0415 - what it tests may not import

    qat, *_, ipsec = translators(TranslatorSettings(**settings))
    plan = qat.prepare(Change(before, after), host)  # type: ignore[arg-type]
    disturbing = [n for n, step in enumerate(plan.steps) if step.disturbs]
    if not disturbing:
        return plan
    first, last = disturbing[0], disturbing[-1] + 1
    stop, start = ipsec.around(tuple(d for step in plan.steps if (d := step.disturbs)), host)  # type: ignore[attr-defined]
    steps = (*plan.steps[:first], *stop.steps, *plan.steps[first:last], *start.steps, *plan.steps[last:])
    return Plan(steps, (*plan.notes, *stop.notes, *start.notes))


def _gateway(
    *targets: str, ipsec: bool = True, tool: bool = True, bound: bool = True, file_stays: bool = False
) -> RecordedHost:
    """Make the machine. ``file_stays``: a stopped device's fw_counters can't be opened, rather than not be there."""
    host = RecordedHost(complete=True, folders={DEBUGFS, "/proc", "/sys/bus/pci/devices"})
    host.files["/proc/cpuinfo"] = (
        b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Example\nflags\t\t: lm aes\n"
    )
    host.files["/sys/module/intel_qat/taint"] = b"OE\n"
    host.files["/sys/module/intel_qat/version"] = b"4.99.1\n"
    driver = _Driver(targets, file_stays=file_stays)
    for target in targets:
        kind, _, address = target.partition("@")
        folder = f"/sys/bus/pci/devices/{address}"
        device = next(entry for entry in DEVICE_IDS if entry.type == kind)
        for name, text in (("vendor", "0x8086"), ("device", f"0x{device.device_id}"), ("revision", "0x07")):
            host.files[f"{folder}/{name}"] = f"{text}\n".encode()
        host.files[f"{folder}/class"] = b"0x0b4000\n"
        host.files[f"{folder}/numa_node"] = b"1\n"
        if bound:
            host.links[f"{folder}/driver"] = f"../../../bus/pci/drivers/{kind}"
            host.links[f"{DRIVERS}/{kind}/module"] = f"../../../../module/{device.module}"
            host.files[f"/sys/module/{device.module}/version"] = b"4.99.2\n"
        host.files[driver.configuration(target)] = CONFIGURATION
        driver.bring_down(host, target)
    driver.show_interrupts(host)
    if tool:
        host.programs[QAT_SERVICE] = driver.qat_service
    if ipsec:
        host.programs[IPSEC] = _ipsec
        _ipsec(host, (IPSEC, "start"))
    return host


class _Driver:
    def __init__(self, targets: Iterable[str], *, file_stays: bool) -> None:
        self.targets = tuple(targets)
        self.file_stays = file_stays
        self.up: set[str] = set()

    def configuration(self, target: str) -> str:
        kind = target.partition("@")[0]
        peers = [other for other in self.targets if other.partition("@")[0] == kind]
        return f"/etc/{kind}_dev{peers.index(target)}.conf"

    def folder(self, target: str) -> str:
        return f"{DEBUGFS}/qat_{target.replace('@', '_')}"

    def bring_down(self, host: RecordedHost, target: str) -> None:
        self.up.discard(target)
        host.files[f"{self.folder(target)}/dev_cfg"] = b""
        host.files[f"{self.folder(target)}/version/fw"] = b"4.99.3\n\0"
        counters = f"{self.folder(target)}/fw_counters"
        host.files.pop(counters, None)
        if self.file_stays and "vf@" not in target:
            host.files[counters] = OSError(errno.EFAULT, "Bad address", counters)

    def bring_up(self, host: RecordedHost, target: str) -> str:
        path = self.configuration(target)
        text = host.files.get(path)
        if not isinstance(text, bytes):
            return f"QAT Error: Filename {path} cannot be read\n"
        self.up.add(target)
        host.files[f"{self.folder(target)}/dev_cfg"] = b"".join(
            line + b"\n" for line in text.splitlines() if line and not line.startswith(b"#")
        )
        if "vf@" not in target:
            host.files[f"{self.folder(target)}/fw_counters"] = COUNTERS
        return ""

    def show_interrupts(self, host: RecordedHost) -> None:
        rows = ["           CPU0       CPU2       "]
        for number, target in enumerate(self.targets):
            address = target.partition("@")[2]
            if target in self.up:
                name = f"qat_{address[5:7]}:01.00" if "vf@" in target else f"qat{number}-bundle0"
                rows.append(f" {200 + number}:  {number * 7}  5  IR-PCI-MSIX-{address}    0-edge      {name}")
        host.files["/proc/interrupts"] = "\n".join([*rows, "NMI:  1  1   Non-maskable interrupts", ""]).encode()

    def qat_service(self, host: RecordedHost, argv: tuple[str, ...]) -> tuple[int, str]:
        named = [self.targets[int(argv[2].removeprefix("qat_dev"))]] if len(argv) > 2 else list(self.targets)
        output = ""
        if argv[1] in {"start", "stop", "restart"}:
            for target in named:
                self.bring_down(host, target)
        if argv[1] in {"start", "restart"}:
            output = "".join(self.bring_up(host, target) for target in named)
        self.show_interrupts(host)
        return 0, output if argv[1] == "restart" else output + self._status()

    def _status(self) -> str:
        rows = [f"There is {len(self.targets)} QAT acceleration device(s) in the system:"]
        for number, target in enumerate(self.targets):
            kind, _, address = target.partition("@")
            state = "up" if target in self.up else "down"
            rows.append(
                f" qat_dev{number} - type: {kind},  inst_id: 0,  node_id: 0,  bsf: {address},"
                f"  #accel: 3 #engines: 6 state: {state}"
            )
        return "\n".join(rows) + "\n"


def _ipsec(host: RecordedHost, argv: tuple[str, ...]) -> tuple[int, str]:
    processes = {"/run/starter.charon.pid": ("501", b"starter\n"), "/run/charon.pid": ("502", b"charon\n")}
    for path, (pid, name) in processes.items():
        if argv[1] == "start":
            host.files[path] = f"{pid}\n".encode()
            host.files[f"/proc/{pid}/comm"] = name
        else:
            host.files.pop(path, None)
            host.files.pop(f"/proc/{pid}/comm", None)
    return 0, f"{argv[1]} strongSwan\n"
