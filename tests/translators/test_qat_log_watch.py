"""Errors in the kernel's log as notifications: each line once, across restarts of the agent and whatever fails."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from agent.store import Store
from tests.translators.in_tree import FOURTH, Kernel, gateway
from translators.base import Event, ShortMemory
from translators.qat.kernel_log import BOOT_ID, KMSG
from translators.qat.log_watch import LogWatch
from translators.qat.translator import QatTranslator

if TYPE_CHECKING:
    from pathlib import Path

    from translators.base import Tree

ADDRESS = FOURTH.partition("@")[2]
LOG = "/var/log/kern.log"


def machine(*texts: str) -> Kernel:
    host = gateway(FOURTH, state="up")
    host.files[BOOT_ID] = b"b1\n"
    host.devices[KMSG] = []
    for text in texts:
        say(host, text)
    return host


def say(host: Kernel, text: str, level: int = 3) -> None:
    records = host.devices[KMSG]
    records.append(f"{level},{len(records)},1000,-;{text}\n".encode())


def told(events: tuple[Event, ...]) -> list[str]:
    return [
        event.notification["hardware-acceleration:device-error"]["message"]
        for event in events
        if event.notification is not None and "hardware-acceleration:device-error" in event.notification
    ]


@pytest.mark.parametrize(
    ("text", "expected", "severity"),
    [
        (
            f"4xxx {ADDRESS}: Failed to load MMP firmware qat_4xxx_mmp.bin",
            {"address": ADDRESS, "kind": "firmware", "severity": "critical"},
            "error",
        ),
        ("QAT: Invalid ioctl", {"kind": "driver", "severity": "major"}, "error"),
        (
            f"4xxx {ADDRESS}: Correctable error detected",
            {"address": ADDRESS, "kind": "correctable", "severity": "warning"},
            "warning",
        ),
    ],
)
def test_a_line_is_a_notification_with_advice(text: str, expected: Tree, severity: str) -> None:
    (event,) = LogWatch(ShortMemory(), KMSG).look(machine(text))
    assert event.notification is not None
    content = event.notification["hardware-acceleration:device-error"]
    advice = content.pop("advice")
    assert content == {**expected, "message": text}
    assert event.severity == severity
    assert advice in event.text


def test_the_translators_look_follows_the_log() -> None:
    host, translator = machine(f"4xxx {ADDRESS}: Fatal error, reset required"), QatTranslator()
    assert told(translator.look(host, {"enabled": True}).events) == [f"4xxx {ADDRESS}: Fatal error, reset required"]
    say(host, f"4xxx {ADDRESS}: ring 3 is full")
    assert told(translator.look(host, {"enabled": True}).events) == [f"4xxx {ADDRESS}: ring 3 is full"]
    assert told(translator.look(host, {"enabled": True}).events) == []


def test_devices_that_can_not_be_looked_at_do_not_keep_the_log_from_being_told() -> None:
    host = machine(f"4xxx {ADDRESS}: Fatal error, reset required")

    def locked(_path: str) -> tuple[str, ...]:
        raise PermissionError(errno.EACCES, "Permission denied", _path)

    translator = QatTranslator()
    host.__class__ = type("Locked", (Kernel,), {"names": lambda _self, path: locked(path), "__slots__": ()})
    events = translator.look(host, {"enabled": True}).events
    assert told(events) == [f"4xxx {ADDRESS}: Fatal error, reset required"]
    assert "can't be looked at" in events[-1].text


def test_each_line_is_told_once_also_by_the_next_agent(tmp_path: Path) -> None:
    host = machine(f"4xxx {ADDRESS}: failure 1")
    seen: list[str] = []
    for n in range(2, 6):
        store = Store(tmp_path / "state")
        watch = LogWatch(store, KMSG)
        seen += told(watch.look(host)) + told(watch.look(host))
        store.close()
        say(host, f"4xxx {ADDRESS}: failure {n}")
    assert seen == [f"4xxx {ADDRESS}: failure {n}" for n in range(1, 5)]


def test_a_file_is_followed_like_the_device(tmp_path: Path) -> None:
    host = machine()
    host.files[LOG] = f"Nov 30 10:00:00 gw kernel: [    1.0] 4xxx {ADDRESS}: Device not configured\n".encode()
    for expected in ([f"4xxx {ADDRESS}: Device not configured"], []):
        store = Store(tmp_path / "state")
        assert told(LogWatch(store, LOG).look(host)) == expected
        store.close()


class Full(ShortMemory):
    full = True

    def remember(self, name: str, content: Tree) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device", name)
        super().remember(name, json.loads(json.dumps(content)))


def test_what_can_not_be_remembered_is_told_when_it_can_and_only_then() -> None:
    host, memory = machine(f"4xxx {ADDRESS}: failure 1"), Full()
    watch = LogWatch(memory, KMSG)
    (event,) = watch.look(host)
    assert event.text.startswith("the kernel log is not followed: ")
    assert "No space left" in event.text
    assert watch.look(host) == (), "that is told once"
    memory.full = False
    assert told(watch.look(host)) == [f"4xxx {ADDRESS}: failure 1"]
    assert told(LogWatch(memory, KMSG).look(host)) == []


def test_a_log_that_can_not_be_read_is_told_once_until_it_can() -> None:
    host = machine(f"4xxx {ADDRESS}: failure 1")
    watch = LogWatch(ShortMemory(), KMSG)
    del host.files[BOOT_ID]
    assert [bool(watch.look(host)) for _ in range(3)] == [True, False, False]
    host.files[BOOT_ID] = b"b1\n"
    assert told(watch.look(host)) == [f"4xxx {ADDRESS}: failure 1"]


def test_a_broken_memory_is_told_and_the_log_is_read_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    (tmp_path / "state" / "remembered-kernel-log.json").write_bytes(b"{")
    host, watch = machine(f"4xxx {ADDRESS}: failure 1"), LogWatch(store, KMSG)
    (event,) = watch.look(host)
    assert "where the kernel log was left is not known any more" in event.text
    assert told(watch.look(host)) == [f"4xxx {ADDRESS}: failure 1"]
    assert told(watch.look(host)) == []
    store.close()


def test_a_machine_without_the_log_is_silent() -> None:
    assert LogWatch(ShortMemory(), KMSG).look(gateway(FOURTH)) == ()
