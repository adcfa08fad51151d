"""Every operation that ncclient has: what the hello offers is done, and what it does not is not sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import yang
from tests.clients.gateway import DEVICE
from tests.clients.observer import PATH
from tests.system.client import HA

if TYPE_CHECKING:
    from tests.clients.conftest import Drive
    from tests.system.gateway import Gateway

CAPABILITY = "urn:ietf:params:netconf:capability:"
DONE = {
    "get", "get_config", "get_config candidate", "get_schema", "get_schema version", "edit_config merge",
    "edit_config replace", "edit_config none", "edit_config test-then-set", "edit_config set", "edit_config test-only",
    "edit_config stop-on-error", "edit_config continue-on-error", "edit_config rollback-on-error", "discard_changes",
    "copy_config", "validate", "validate config", "lock", "edit_config", "dispatch", "edit_config again", "commit",
    "unlock", "locked", "rpc", "commit off", "kill_session", "async_mode", "close_session",
}  # fmt: skip
REFUSED = {
    "get_schema unknown": ("invalid-value", None),
    "edit_config wrong": ("invalid-value", PATH),
    "lock twice": ("lock-denied", None),
}
# What the hello offers is done. What it does not offer the library does not send; or it does, and the agent refuses.
OFFERED = {
    "get_config explicit": "with-defaults:1.0",
    "get_config trim": "with-defaults:1.0",
    "get_config report-all": "with-defaults:1.0",
    "get_config report-all-tagged": "with-defaults:1.0",
    "commit confirmed": "confirmed-commit:1.1",
    "cancel_commit": "confirmed-commit:1.1",
    "create_subscription": "notification:1.0",
    "poweroff_machine": "power-control:1.0",
    "reboot_machine": "power-control:1.0",
    "get xpath": "xpath:1.0",
    "get_config startup": "startup:1.0",
    "edit_config running": "writable-running:1.0",
    "delete_config": "no capability makes candidate something that can be deleted",
}


@pytest.mark.clients("ncclient")
def test_every_operation_of_ncclient(gateway: Gateway, drive: Drive) -> None:
    conversation = drive("ncclient", script="every.py")
    hello = conversation.listen()
    offered = {uri.removeprefix(CAPABILITY).partition("?")[0] for uri in hello["capabilities"]}
    said: dict[str, dict[str, Any]] = {}
    while not said or "close_session" not in said:
        conversation.go_on()
        answer = conversation.listen()
        said[answer["step"]] = answer
    conversation.go_on()
    conversation.end()

    assert said.keys() == DONE | REFUSED.keys() | OFFERED.keys()
    assert {step for step in DONE if said[step]["outcome"] != "done"} == set()
    for step, (tag, path) in REFUSED.items():
        assert (said[step]["outcome"], said[step].get("tag"), said[step].get("path")) == ("refused", tag, path), step
    for step, capability in OFFERED.items():
        assert (said[step]["outcome"] == "done") == (capability in offered), (step, said[step])
    _look_at_the_replies({step: answer.get("text", "") for step, answer in said.items()})
    assert gateway.up() == set()
    assert gateway.commands()[-3:] == ["ipsec stop", "qat_service stop", "ipsec start"]


def _look_at_the_replies(texts: dict[str, str]) -> None:
    assert f"<address>{DEVICE}</address><oper-status>down</oper-status>" in texts["get"]
    assert texts["get_config"].count("<interval>17</interval>") == 1
    assert "on-failure" not in texts["get_config"]
    [file] = Path(yang.__path__[0]).glob("hardware-acceleration@*.yang")
    assert texts["get_schema"] == file.read_text()
    assert texts["get_schema version"].startswith("module ietf-netconf-monitoring {")
    for plan in ("dispatch", "rpc"):
        assert f'<changes-machine xmlns="{HA}">true</changes-machine>' in texts[plan]
    assert texts["async_mode"].count("<interval>17</interval>") == 20
