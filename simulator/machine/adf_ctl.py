"""The driver's tool adf_ctl (QAT 1.7, src/main.cpp and src/adf_ctl.cpp), as qat_service uses it."""

from typing import TYPE_CHECKING

from simulator.machine import activity, driverconf, kernel, sysroot
from simulator.machine.terminal import complain, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.machine.inventory import Device, Machine

FAILED = 255

_PREFIX = "qat_dev"
_ACTIONS = {"down": "Stopping", "restart": "Restarting", "status": "Checking status of"}
_HELP = """\
Use of adf_ctl: adf_ctl [qat_dev<N>] [up | down | restart | reset] - to bring up or down device(s)
or:
 adf_ctl [qat_dev<N>] status - to print device(s) status
or no parameters to configure all devices


"""


def control(machine: "Machine", name: str | None, action: str) -> int:
    """Do ``down``, ``restart`` or ``status`` for one device, or for all (None); return 0 or FAILED."""
    number = _parse(name)
    if number is None and name is not None:
        return FAILED
    target = "all devices." if name is None else f"device {_PREFIX}{number}"
    say(f"{_ACTIONS[action]} {target}\n")
    if not sysroot.exists(machine.root, kernel.CONTROL_NODE):
        complain(f"Can not open /{kernel.CONTROL_NODE}\n")
        return FAILED
    devices = [device for device in machine.devices if number in (None, device.number)]
    if action == "status":
        return _query(machine, devices, everything=number is None)
    if number is not None and not devices:
        complain("Failed to stop device \n")
        return FAILED
    for device in devices:
        _bring_down(machine, device)
    results = [_bring_up(machine, device) for device in devices] if action == "restart" else []
    kernel.show_tables(machine)
    return 0 if all(results) else FAILED


def stop_silently(machine: "Machine") -> None:
    """Bring all devices down, as before the modules are unloaded."""
    for device in machine.devices:
        _bring_down(machine, device)


def _parse(name: str | None) -> int | None:
    if name is None:
        return None
    if _PREFIX not in name:
        say(_HELP)
        return None
    digits = name[len(_PREFIX) :]
    if not (digits.isascii() and digits.isdigit()):
        complain("QAT Error: invalid param dev_id<n>: stoi\n")
        return None
    return int(digits)


def _query(machine: "Machine", devices: "Sequence[Device]", *, everything: bool) -> int:
    if everything:
        say(f"There is {len(devices)} QAT acceleration device(s) in the system:\n")
    elif not devices:
        complain("Ioctl failed\n")
        return FAILED
    for device in devices:
        family = device.family
        state = "up" if activity.current(machine, device) else "down"
        say(
            f" {device.name} - type: {family.name},  inst_id: {device.instance},  node_id: 0,"
            f"  bsf: {device.address},  #accel: {family.accelerators} #engines: {family.engines}"
            f" state: {state}\n"
        )
    return 0


def _bring_down(machine: "Machine", device: "Device") -> None:
    activity.end(machine, device)
    kernel.show_device(machine, device, None)


def _bring_up(machine: "Machine", device: "Device") -> bool:
    say(f"Processing /{driverconf.file_name(device)}\n")
    try:
        wanted = driverconf.read(machine, device)
    except driverconf.ConfigurationError as error:
        if isinstance(error, driverconf.DriverRefusedError):
            complain("Ioctl failed\n")
        complain(f"QAT Error: {error}\nFailed to configure {device.name}\n")
        return False
    activity.begin(
        machine,
        device,
        services=wanted.services,
        kernel_instances=wanted.kernel_instances,
        configuration=wanted.text,
    )
    kernel.show_device(machine, device, activity.current(machine, device))
    return True
