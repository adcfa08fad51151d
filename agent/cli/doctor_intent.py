"""Whether the machine is as its running configuration wants it: asked of the agent, where one answers."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Final

from agent.cli.connection import Target
from agent.cli.errors import CommandError
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Check, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.cli.reply import Tree
    from translators.doctor.look import Look

# An agent that is well answers at once, and a check has its time.
_SECONDS: Final = 8


class Intent:
    """The running configuration of the agent on a socket, asked for once, when it is needed; None for no agent."""

    def __init__(self, socket: Path | None) -> None:
        self._socket = socket

    @property
    def check(self) -> Check:
        """The check that compares the machine with it; without an agent it does not apply."""
        return Check("intent", "Running configuration", self._examined, root=True)

    def disabled(self) -> frozenset[str]:
        """Return the addresses of the devices that it disables; none where no agent tells."""
        heard = self._heard
        return frozenset() if heard is None or isinstance(heard, CommandError) else _disabled(heard)

    @cached_property
    def _heard(self) -> Tree | CommandError | None:
        """The configuration below ``qat``, or why the agent was not heard; None where there is no agent."""
        # Not Path.exists: this one says no as well where a folder may not be looked into.
        if self._socket is None or not os.path.exists(self._socket):  # noqa: PTH110
            return None
        try:
            return _running(self._socket)
        except CommandError as error:
            return error

    def _examined(self, look: Look) -> Iterator[Finding]:
        heard = self._heard
        if heard is None:
            where = "" if self._socket is None else f": there is no {self._socket}"
            yield Finding(NOT_APPLICABLE, f"no agent was asked{where}")
        elif isinstance(heard, CommandError):
            yield Finding(UNKNOWN, f"the agent was not heard: {heard}")
        else:
            yield from _compared(heard, look)


def _disabled(qat: Tree) -> frozenset[str]:
    return frozenset(entry["address"] for entry in qat.get("device", ()) if entry.get("enabled") is False)


def _compared(qat: Tree, look: Look) -> Iterator[Finding]:
    """Yield how the machine differs from the configuration below ``qat``."""
    disabled = _disabled(qat)
    enabled = bool(qat.get("enabled"))
    wanted = {device.address for device in look.devices if enabled and device.address not in disabled}
    up = {device.address for device in look.up}
    unknown = {address for address, state in look.states.items() if state.status == "unknown"}
    down, extra = sorted(wanted - unknown - up), sorted(up - wanted)
    if down:
        yield Finding(
            PROBLEM,
            f"the running configuration wants {', '.join(down)} up, and the machine does not have it so",
            "See the checks before; the agent brings the machine to it when it is started, or by a commit.",
        )
    if extra:
        yield Finding(
            PROBLEM,
            f"{', '.join(extra)} is up, and the running configuration does not want it: after a boot it may be down",
            "If it is to be used: accel-agent set qat enabled true, then accel-agent commit.",
        )
    if not down and not extra:
        yield Finding(OK, f"the machine is as the running configuration wants it: QAT is {'on' if enabled else 'off'}")


def _running(socket: Path) -> Tree:
    """Return the configuration below ``qat``. Raises CommandError."""
    from agent.cli import reply
    from agent.cli.client import connect
    from agent.cli.query import query

    wanted = query(("qat", ("enabled",)), ("qat/device", ("address", "enabled")))
    with connect(Target(unix_socket=socket, timeout=_SECONDS)) as client:
        found = reply.acceleration(reply.data(client.get(wanted)))
    qat: Tree = found.get("qat", {})
    return qat
