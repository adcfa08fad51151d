"""Whether the machine is as its running configuration wants it: asked of the agent, where one answers."""

from __future__ import annotations

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


def check(socket: Path | None) -> Check:
    """Return the check that compares with the agent on a socket; with none it does not apply."""
    return Check("intent", "Running configuration", lambda look: _examined(socket, look), root=True)


def _examined(socket: Path | None, look: Look) -> Iterator[Finding]:
    if socket is None or not socket.exists():
        where = "" if socket is None else f": there is no {socket}"
        yield Finding(NOT_APPLICABLE, f"no agent was asked{where}")
        return
    try:
        qat = _running(socket)
    except CommandError as error:
        yield Finding(UNKNOWN, f"the agent was not heard: {error}")
        return
    yield from _compared(qat, look)


def _compared(qat: Tree, look: Look) -> Iterator[Finding]:
    """Yield how the machine differs from the configuration below ``qat``."""
    disabled = {entry["address"] for entry in qat.get("device", ()) if entry.get("enabled") is False}
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
