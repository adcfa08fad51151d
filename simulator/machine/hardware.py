# ruff: noqa: PTH100, PTH120, PTH123
"""The traffic: a process in the background that makes counters of devices advance while IPsec runs.

It starts with the first device that comes up and ends by itself when no device is up, when the machine's
directory is gone, or when run/simulator/hardware.pid names another process.
"""

import os
import signal
import sys
import time

from simulator.machine import activity, intree, inventory, ipsec, kernel, sysroot
from simulator.machine.activity import Activity
from simulator.machine.inventory import Device, Machine
from simulator.machine.sysroot import MachineError

PROGRAM = "hardware"
# A file of this name and a device's address: the device goes down by itself, within half a second.
DOWN = f"{sysroot.STATE}/down-"

_PID = f"{sysroot.STATE}/hardware.pid"
_PERIOD = 0.5
_PATIENCE = 5.0
_POLL = 0.002


def settle(machine: Machine) -> None:
    """Have the process run exactly while a device is up. The caller holds the lock. Raises OSError."""
    if not activity.everything(machine):
        end(machine.root)
    elif process(machine.root) is None:
        _spawn(machine.root)


def process(root: str) -> int | None:
    """Return the process id of the machine's hardware, None when there is none."""
    text = (sysroot.read(root, _PID) or b"").strip()
    pid = int(text) if text.isdigit() else 0
    return pid if pid and _is_hardware(pid, root) else None


def end(root: str) -> None:
    """End the process, if there is one, and wait until it is gone."""
    pid = process(root)
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + _PATIENCE
        while pid is not None and time.monotonic() < deadline:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pid = None
            else:
                time.sleep(_POLL)
                pid = pid if _is_hardware(pid, root) else None
    sysroot.discard(root, _PID)


def run(root: str) -> int:
    """Be the process."""
    os.chdir("/")
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    try:
        machine = inventory.load(root)
        while True:
            with sysroot.locked(root):
                if sysroot.read(root, _PID) != b"%d\n" % os.getpid():
                    return 0
                kernel.repair(machine)
                if not turn(machine):
                    sysroot.discard(root, _PID)
                    return 0
            time.sleep(_PERIOD)
    except (FileNotFoundError, NotADirectoryError):
        return 0  # the directory was removed
    except MachineError:
        return 1


def turn(machine: Machine) -> bool:
    """Let half a second pass for all devices; return whether any is up."""
    _fall_over(machine)
    up = activity.everything(machine)
    traffic = machine.offloads and ipsec.running(machine.root)
    tick = activity.ticks(machine)
    moved = False
    for device, before in up.items():
        after = _advance(device, before, tick) if traffic and before.symmetric else _answer_all(before)
        if after != before:
            moved = True
            activity.record(machine, device, after)
            kernel.show_counters(machine, device, after)
    activity.count_turn(machine, traffic=moved)
    if moved:
        kernel.show_tables(machine)
    kernel.show_times(machine)
    return bool(up)


def _advance(device: Device, state: Activity, tick: int) -> Activity:
    # What is outstanding (0 to 3 requests) is always less than what comes in, so both numbers only grow.
    requests = [
        count + 900 + 60 * ((engine * 5 + device.number * 3) % 7) + (tick * 37 + engine * 11) % 50
        for engine, count in enumerate(state.requests)
    ]
    responses = [count - (tick + engine) % 4 for engine, count in enumerate(requests)]
    interrupts = [
        count + 40 + (tick + bank) % 9 if _carries(device, state, bank) else count
        for bank, count in enumerate(state.interrupts)
    ]
    return state._replace(requests=requests, responses=responses, interrupts=interrupts)


def _carries(device: Device, state: Activity, bank: int) -> bool:
    """Return whether a bank has symmetric crypto of the kernel: of later devices, every other one has."""
    if device.family.later:
        return bank % 2 == 1 and bank < 2 * state.kernel_instances
    return bank < state.kernel_instances


def _fall_over(machine: Machine) -> None:
    """Take devices down that are to go down by themselves."""
    for device in machine.devices:
        fault = f"{DOWN}{device.address}"
        if not sysroot.exists(machine.root, fault):
            continue
        sysroot.discard(machine.root, fault)
        sysroot.append(machine.root, sysroot.COMMANDS, f"hardware {device.address} down")
        with kernel.changing(machine):
            (intree if device.in_tree else activity).end(machine, device)
            kernel.show_device(machine, device, None)
            kernel.show_tables(machine)


def _answer_all(state: Activity) -> Activity:
    return state._replace(responses=list(state.requests))


def _spawn(root: str) -> None:
    program = f"{os.path.dirname(os.path.abspath(__file__))}/__main__.py"
    nothing = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in range(3)]
    arguments = [sys.executable, "-IBS", program, PROGRAM, root]
    pid = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=nothing, setsid=True)
    sysroot.publish(root, _PID, b"%d\n" % pid)
    # Its arguments can be read a moment after it has begun: until then nobody would know it for what it is.
    deadline = time.monotonic() + _PATIENCE
    while not _is_hardware(pid, root) and time.monotonic() < deadline:
        time.sleep(_POLL)


def _is_hardware(pid: int, root: str) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = file.read().split(b"\0")
    except OSError:
        return False
    # A process that has ended but was not waited for has no arguments.
    return arguments[-3:-1] == [PROGRAM.encode(), os.fsencode(root)]
