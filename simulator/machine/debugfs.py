"""A device's directory in debugfs, by the kernel's driver (Linux: adf_dbgfs.c and what it calls).

Only dev_cfg stays while the device is down. Of telemetry, in ``telemetry``.
"""

from typing import TYPE_CHECKING

from simulator.machine.attributes import Attribute, View

if TYPE_CHECKING:
    from simulator.machine.settings import Settings

_SINCE_COUNTERS = (6, 6)
_SINCE_POWER = (6, 7)
_OLD = (0, 0)
_HEARTBEAT_MILLISECONDS = 200
_ROOT_ONLY = 0o400
_COMPRESSION = {"dc", "dcc", "decomp"}


def configuration(view: View) -> str:
    """Return dev_cfg of a device that is up: what the driver makes of the services (adf_gen4_config.c)."""
    if not view.device.family.later:
        return _early_configuration(view)
    asymmetric, symmetric, compression = instances(view)
    lines = [_kept(view), f"HeartbeatTimer = {_HEARTBEAT_MILLISECONDS}\n", "[KERNEL]\n"]
    for index in range(symmetric):
        keys = {
            "BankNumberAsym": 2 * index,
            "BankNumberSym": 2 * index + 1,
            "CoreAffinity": index,
            "NumConcurrentAsymRequests": 128,
            "NumConcurrentSymRequests": 512,
            "RingAsymTx": 0,
            "RingSymTx": 0,
            "RingAsymRx": 1,
            "RingSymRx": 1,
        }
        lines += [f"Cy{index}{key} = {value}\n" for key, value in keys.items()]
    for index in range(compression):
        keys = {"BankNumberDc": index, "NumConcurrentRequests": 512, "RingDcTx": 0, "RingDcRx": 1}
        lines += [f"Dc{index}{key} = {value}\n" for key, value in keys.items()]
    lines += [f"NumberCyInstances = {asymmetric}\n", f"NumberDcInstances = {compression}\n", "[Accelerator0]\n"]
    lines += [f"Bank{index}InterruptCoalescingTimer = 10000\n" for index in range(symmetric + compression)]
    return "".join(lines)


def instances(view: View) -> tuple[int, int, int]:
    """Return how many instances the kernel has for public-key and symmetric crypto, and for compression.

    It has some only where a device serves both halves of crypto, or compression alone, and of crypto only where the
    kernel registers algorithms at all (number of instances 0 in 8893d27ffcaf). Earlier devices serve everything.
    """
    cpus, banks = view.machine.cpus, view.device.family.banks
    if not view.device.family.later:
        crypto = min(cpus, banks) if view.machine.priority is not None else 0
        return crypto, crypto, min(cpus, banks)
    crypto = min(cpus, banks // 2) if view.served == {"sym", "asym"} and view.machine.priority is not None else 0
    return crypto, crypto, min(cpus, banks) if view.served in ({"dc"}, {"dcc"}) else 0


def _early_configuration(view: View) -> str:
    """Return dev_cfg of a device of an earlier generation (adf_gen2_config.c); no key of it names its services."""
    crypto, _symmetric, compression = instances(view)
    lines = ["[KERNEL]\n"]
    for index in range(crypto):
        keys = {
            "BankNumberAsym": index,
            "BankNumberSym": index,
            "CoreAffinity": index,
            "NumConcurrentAsymRequests": 128,
            "NumConcurrentSymRequests": 512,
            "RingAsymTx": 0,
            "RingSymTx": 2,
            "RingAsymRx": 8,
            "RingSymRx": 10,
        }
        lines += [f"Cy{index}{key} = {value}\n" for key, value in keys.items()]
    lines.append(f"NumberCyInstances = {crypto}\n")
    for index in range(compression):
        keys = {"BankNumber": index, "NumConcurrentRequests": 512, "RingTx": 6, "RingRx": 14}
        lines += [f"Dc{index}{key} = {value}\n" for key, value in keys.items()]
    lines += [f"NumberDcInstances = {compression}\n", "[Accelerator0]\n"]
    return "".join(lines + [f"Bank{index}InterruptCoalescingTimerNs = 10000\n" for index in range(crypto)])


def _kept(view: View) -> str:
    return f"[GENERAL]\nServicesEnabled = {view.settings.services}\n"


def _dev_cfg(view: View) -> str:
    if view.activity:
        return view.activity.configuration
    return _kept(view) if view.device.family.later else ""


def _fw_counters(view: View) -> str:
    lines = [f"AE  {'Requests':>16} {'Responses':>16}\n"]
    if view.activity:
        pairs = zip(view.activity.requests, view.activity.responses, strict=True)
        lines += [
            f"{engine:2d}: {requests:16d} {responses:16d}\n" for engine, (requests, responses) in enumerate(pairs)
        ]
    return "".join(lines)


def _cnv_errors(view: View) -> str:
    if view.served.isdisjoint(_COMPRESSION):
        return "No engine configured for comp\n"
    rows = (f"{engine}: {0:16d}{'No Error':>16} [0]\n" for engine in range(view.device.family.engines))
    return f"AE  {'Total Errors':>16} {'Last Error':>16}\n" + "".join(rows)


def _pm_status(view: View) -> str:
    idle = "enabled" if view.settings.pm_idle_enabled == "1" else "disabled"
    return (
        "----------- PM Fuse info ---------\n"
        "                  ENABLE_PM: 1\n"
        "             ENABLE_PM_IDLE: 1\n"
        "------------  PM Info ------------\n"
        f"                   idle: {idle}\n"
        f"            power_level: {'active' if view.used else 'idle'}\n"
    )


def _asked(view: View) -> "Settings":
    return view.settings._replace(heartbeats=view.settings.heartbeats + 1)


CONFIGURATION = Attribute("dev_cfg", _OLD, _ROOT_ONLY, _dev_cfg, while_up=False)
# The functions that read the heartbeat's files count the NUL at their text's end in.
ATTRIBUTES = (
    CONFIGURATION,
    Attribute("fw_counters", _SINCE_COUNTERS, _ROOT_ONLY, _fw_counters),
    Attribute("heartbeat/status", _SINCE_COUNTERS, _ROOT_ONLY, lambda _view: "0\n\0", shown=_asked),
    Attribute("heartbeat/queries_sent", _SINCE_COUNTERS, _ROOT_ONLY, lambda view: f"{view.settings.heartbeats}\n\0"),
    Attribute("heartbeat/queries_failed", _SINCE_COUNTERS, _ROOT_ONLY, lambda _view: "0\n\0"),
    Attribute("heartbeat/config", _SINCE_COUNTERS, _ROOT_ONLY, lambda _view: f"{_HEARTBEAT_MILLISECONDS}\n\0"),
    Attribute("cnv_errors", _SINCE_POWER, _ROOT_ONLY, _cnv_errors),
)
POWER = Attribute("pm_status", _SINCE_POWER, _ROOT_ONLY, _pm_status)
