"""Errors in the kernel's log: a client is sent each once, whatever becomes of the agent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.conformance.session import Session
from tests.system.test_events import create

if TYPE_CHECKING:
    from tests.system.gateway import Gateway

HA = "urn:accel-agent:hardware-acceleration"
ADDRESS = "0000:3d:00.0"


def line(number: int) -> str:
    return f"c6xx {ADDRESS}: Failed to load MMP firmware qat_{number}.bin"


def test_each_line_is_sent_once_by_an_agent_and_by_its_successor(gateway: Gateway) -> None:
    since = datetime.now(UTC).isoformat()
    gateway.settings.write_text('[qat]\nkernel-log = "/var/log/kern.log"\n')
    gateway.build(f"c6xx@{ADDRESS}")
    log = gateway.root / "var/log/kern.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in (1, 2, 3):
        with log.open("a") as file:
            file.write(f"{line(number)}\n")
        gateway.start()
        session = Session(gateway.socket)
        session.ok(create(f'<startTime>{since}</startTime><filter><device-error xmlns="{HA}"/></filter>'))
        sent: list[str] = []
        while line(number) not in sent:
            notification = session.reply()
            found = notification.find(f"{{{HA}}}device-error")
            if found is None:  # the end of what is sent again
                continue
            values = {child.tag.rpartition("}")[2]: child.text or "" for child in found}
            assert (values["address"], values["kind"], values["severity"]) == (ADDRESS, "firmware", "critical")
            assert values["advice"]
            sent.append(values["message"])
        assert sent == [line(n) for n in range(1, number + 1)]
        session.close()
        gateway.kill()
