"""systemd over D-Bus: which unit a process belongs to, how a unit is, and jobs with their results.

Each call is a connection of its own with a deadline. Properties and methods as in org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from dbus_fast import BusType, Message, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BUS: Final = "/run/dbus/system_bus_socket"
CALL_SECONDS: Final = 10.0

_NAME: Final = "org.freedesktop.systemd1"
_PATH: Final = "/org/freedesktop/systemd1"
_MANAGER: Final = f"{_NAME}.Manager"
_UNIT: Final = f"{_NAME}.Unit"
_SERVICE: Final = f"{_NAME}.Service"
_NONE: Final = {f"{_NAME}.NoUnitForPID", f"{_NAME}.NoSuchUnit"}

_Result = TypeVar("_Result")


class SystemdError(Exception):
    """systemd can't be reached, or refused: the text says which, and of what unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as systemd sees it; ``main_pid`` is 0 where it has none, ``result`` success or how it ended."""

    name: str
    load_state: str
    active_state: str
    sub_state: str
    main_pid: int = 0
    result: str = "success"


class Systemd(Protocol):
    """What is asked of the service manager."""

    def unit_of(self, pid: int) -> str | None:
        """Return the name of the unit that a process belongs to, None for a process of none. Raises SystemdError."""

    def unit(self, name: str) -> Unit | None:
        """Return a unit, None where none of that name is installed. Raises SystemdError."""

    def job(self, name: str, verb: str, *, timeout: float) -> str:
        """Start or stop a unit (``verb``), wait for the job, and return its result: done, failed, timeout and so on.

        Raises SystemdError, also where the job did not end within ``timeout`` seconds.
        """


class Manager:
    """The service manager that is reached over the system bus at ``address``."""

    def __init__(self, address: str = f"unix:path={BUS}") -> None:
        self._address = address

    def unit_of(self, pid: int) -> str | None:
        """See Systemd."""

        async def find(bus: MessageBus) -> str | None:
            path = await _call(bus, "GetUnitByPID", "u", pid)
            return None if path is None else str(await _property(bus, path[0], _UNIT, "Id"))

        return self._within(CALL_SECONDS, find, f"the unit of process {pid}")

    def unit(self, name: str) -> Unit | None:
        """See Systemd."""

        async def look(bus: MessageBus) -> Unit | None:
            # LoadUnit, not GetUnit: that knows only what is in use.
            loaded = await _call(bus, "LoadUnit", "s", name)
            if loaded is None:
                return None
            unit = await _properties(bus, loaded[0], _UNIT)
            if unit["LoadState"] == "not-found":
                return None
            service = await _properties(bus, loaded[0], _SERVICE) if name.endswith(".service") else {}
            return Unit(
                str(unit["Id"]),
                str(unit["LoadState"]),
                str(unit["ActiveState"]),
                str(unit["SubState"]),
                int(service.get("MainPID", 0)),
                str(service.get("Result", "success")),
            )

        return self._within(CALL_SECONDS, look, name)

    def job(self, name: str, verb: str, *, timeout: float) -> str:
        """See Systemd."""

        async def run(bus: MessageBus) -> str:
            ended: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

            def removed(message: Message) -> None:
                if message.message_type is MessageType.SIGNAL and message.member == "JobRemoved":
                    ended.put_nowait((message.body[1], message.body[3]))

            # Before the job is made: a short one has ended before its number is known here.
            bus.add_message_handler(removed)
            rule = f"type='signal',sender='{_NAME}',interface='{_MANAGER}',member='JobRemoved'"
            await _send(
                bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", rule
            )
            await _call(bus, "Subscribe")
            job = await _call(bus, f"{verb.capitalize()}Unit", "ss", name, "replace")
            if job is None:
                raise SystemdError(f"there is no unit {name}")
            while True:
                path, result = await ended.get()
                if path == job[0]:
                    return result

        return self._within(timeout, run, f"{verb} {name}")

    def _within(self, seconds: float, ask: Callable[[MessageBus], Awaitable[_Result]], what: str) -> _Result:
        async def connected() -> _Result:
            bus = MessageBus(bus_address=self._address, bus_type=BusType.SYSTEM)
            try:
                async with asyncio.timeout(seconds):
                    await bus.connect()
                    return await ask(bus)
            finally:
                bus.disconnect()

        try:
            return asyncio.run(connected())
        except TimeoutError as error:
            raise SystemdError(f"{what}: systemd did not answer within {seconds:g} s") from error
        except (OSError, EOFError, DBusError) as error:
            raise SystemdError(f"{what}: {error}") from error


async def _call(bus: MessageBus, method: str, signature: str = "", *arguments: object) -> list[Any] | None:
    """Return what a method of the manager returns; None where it knows no such unit. Raises DBusError."""
    return await _send(bus, _NAME, _PATH, _MANAGER, method, signature, *arguments)


async def _properties(bus: MessageBus, path: str, interface: str) -> dict[str, Any]:
    (found,) = await _send(bus, _NAME, path, "org.freedesktop.DBus.Properties", "GetAll", "s", interface) or ({},)
    return {name: variant.value for name, variant in found.items()}


async def _property(bus: MessageBus, path: str, interface: str, name: str) -> object:
    return (await _properties(bus, path, interface)).get(name)


async def _send(
    bus: MessageBus, destination: str, path: str, interface: str, member: str, signature: str, *arguments: object
) -> list[Any] | None:
    reply = await bus.call(
        Message(
            destination=destination,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(arguments),
        )
    )
    if reply is None:
        raise SystemdError(f"{member}: no reply")
    if reply.message_type is MessageType.ERROR:
        if reply.error_name in _NONE:
            return None
        raise SystemdError(f"{member}: {reply.error_name}: {reply.body[0] if reply.body else 'no reason given'}")
    return list(reply.body)
