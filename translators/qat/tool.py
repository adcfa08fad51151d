"""``qat_service``, the out-of-tree driver's init script.

It ends with exit status 0 whatever happened, also where adf_ctl failed, so that its status is told in messages and
never relied on. One device is named by the N of qat_devN, which can move: it is looked up each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import StepError
from translators.host import wait_until
from translators.qat import adf_status
from translators.qat.devices import split_target
from translators.qat.interrupts import device_numbers
from translators.qat.state import Observer
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from translators.host import Completed, Host

QAT_SERVICE: Final = "/etc/init.d/qat_service"
# Loading a driver and starting 16 devices takes seconds; on C4xxx devices the script itself waits 20.
PROGRAM_SECONDS: Final = 120.0
# The script returns when the driver has done its work; what is left is the files' appearance.
SETTLING_SECONDS: Final = 3.0
# A script that says itself that it failed is believed sooner, but its word is not enough.
FAILED_SECONDS: Final = 0.5


def run(host: Host, *arguments: str) -> Completed:
    """Run the script. Raises OSError, ProgramTimeoutError."""
    return host.run((QAT_SERVICE, *arguments), timeout=PROGRAM_SECONDS)


def command(*arguments: str) -> str:
    """Return the script's command line, for people."""
    return " ".join((QAT_SERVICE, *arguments))


def device_names(host: Host, targets: Iterable[str]) -> dict[str, str]:
    """Return the tool's name (``qat_dev0``) for each device whose name can be found out.

    A device that is up has it in the names of its interrupts; for others ``qat_service status`` is run.
    """
    addresses = {split_target(target)[1]: target for target in targets}
    try:
        numbers = device_numbers(Observer(host).vectors() or (), addresses)
    except SourceError:
        numbers = {}
    names = {addresses[address]: f"qat_dev{number}" for address, number in numbers.items()}
    if len(names) < len(addresses):
        rows = adf_status.parse(run(host, "status").output)
        for address, target in addresses.items():
            name = adf_status.name_of(rows, address)
            if target not in names and name is not None:
                names[target] = name
    return names


def settled(host: Host, completed: Iterable[Completed], holds: Callable[[Observer], bool]) -> bool:
    """Return whether a condition on the devices holds soon after the end of these programs."""
    failed = any(one.returncode != 0 for one in completed)
    seconds = FAILED_SECONDS if failed else SETTLING_SECONDS
    return wait_until(host, lambda: holds(Observer(host)), seconds=seconds)


def failure(message: str, completed: Iterable[Completed]) -> StepError:
    """Return the error of a step whose programs did not have the effect that they should have had."""
    runs = tuple(completed)
    return StepError(
        f"{message} (exit status {', '.join(str(one.returncode) for one in runs)})" if runs else message,
        command="; ".join(" ".join(one.argv) for one in runs),
        output="\n".join(one.output.strip() for one in runs if one.output.strip()),
    )


def observed(host: Host, targets: Iterable[str]) -> str:
    """Return the devices' states in a few words."""
    observer = Observer(host)
    return ", ".join(f"QAT {split_target(target)[1]} is {observer.state(target).status}" for target in targets)


def listed(targets: Iterable[str]) -> str:
    """Return the devices in one line."""
    return f"QAT {', '.join(split_target(target)[1] for target in targets)}"
