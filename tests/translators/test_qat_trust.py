"""Hysteresis and back-off: what a device that flaps makes of notifications and of IPsec."""

from __future__ import annotations

import errno
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translators.in_tree import FOURTH, Kernel, gateway
from translators.base import ALL, Attention, ShortMemory
from translators.qat.devices import PCI_DEVICES
from translators.qat.state import DEBUGFS
from translators.qat.translator import QatTranslator
from translators.qat.trust import LOOKS_TO_TRUST, MOST_LOOKS, Trust

if TYPE_CHECKING:
    from translators.base import Memory, Tree

ADDRESS = FOURTH.partition("@")[2]
STATE = f"{PCI_DEVICES}/{ADDRESS}/qat/state"
HEART = f"{DEBUGFS}/qat_4xxx_{ADDRESS}/heartbeat"
FALL_BACK: Tree = {"enabled": True, "health": {"on-failure": "fall-back"}}


class Watched:
    """A machine with a device, looked at every ten seconds."""

    def __init__(self, config: Tree = FALL_BACK, memory: Memory | None = None) -> None:
        self.host: Kernel = gateway(FOURTH, state="up")
        self.config = config
        self.translator = QatTranslator(memory=memory)

    def look(self, *, up: bool) -> Attention:
        self.host.files[STATE] = b"up\n" if up else b"down\n"
        self.host.elapsed += 10
        return self.translator.look(self.host, self.config)

    def looks(self, word: str) -> list[Attention]:
        return [self.look(up=letter == "u") for letter in word]


def statuses(looks: list[Attention]) -> list[object]:
    told = [event.notification or {} for look in looks for event in look.events]
    return [
        tree["hardware-acceleration:device-state-change"]["new-status"]
        for tree in told
        if "hardware-acceleration:device-state-change" in tree
    ]


def refreshes(looks: list[Attention]) -> list[tuple[int, bool]]:
    return [(n, look.refresh.enabling) for n, look in enumerate(looks) if look.refresh is not None]


# ── telling ──────────────────────────────────────────────────────────────────────────────────────


def test_a_device_that_flaps_is_told_of_once() -> None:
    assert statuses(Watched().looks("uu" + "du" * 20)) == ["down"]


def test_coming_back_is_told_when_it_has_lasted() -> None:
    looks = Watched().looks("uuddu")
    assert statuses(looks) == ["down"]
    watched = Watched()
    assert statuses(watched.looks("uudduu")) == ["down", "up"]


def test_each_relapse_doubles_what_it_takes_to_be_trusted() -> None:
    watched = Watched()
    watched.looks("u")
    needed = []
    for _ in range(6):
        watched.look(up=False)
        looks = 1
        while not statuses([watched.look(up=True)]):
            looks += 1
        needed.append(looks)
    assert needed == [2, 4, 8, 16, 32, 2], "after as many looks as that it has lasted"


@given(st.lists(st.booleans(), max_size=200))
def test_nothing_is_trusted_sooner_than_after_two_looks_nor_later_than_after_the_most(looks: list[bool]) -> None:
    trust = Trust(up=True)
    row = 0
    for up in looks:
        trust = trust.after(up=up)
        row = row + 1 if up else 0
        assert LOOKS_TO_TRUST <= trust.needed <= MOST_LOOKS
        assert not (trust.up and not up)
        assert trust.up or row < MOST_LOOKS


def test_what_the_agent_itself_has_done_is_told_at_once() -> None:
    watched = Watched()
    watched.looks("ud")
    watched.host.files[STATE] = b"up\n"
    events = watched.translator.changed(watched.host, watched.config, "commit")
    assert [(event.notification or {}).keys() for event in events] == [
        {"hardware-acceleration:device-state-change"},
        {"hardware-acceleration:acceleration-change"},
    ]
    assert statuses([watched.look(up=True)]) == []


# ── falling back ─────────────────────────────────────────────────────────────────────────────────


def test_ipsec_falls_back_once_however_the_device_flaps_and_comes_back_once() -> None:
    looks = Watched().looks("uu" + "du" * 10 + "uuuuu")
    assert refreshes(looks) == [(2, False), (22, True)]


def test_the_next_fall_back_is_undone_later() -> None:
    assert refreshes(Watched().looks("u" + "duu" + "duuuuuu")) == [(1, False), (3, True), (4, False), (8, True)]


def test_a_refresh_that_fails_is_tried_again_with_longer_and_longer_pauses() -> None:
    watched, asked = Watched(), []
    watched.look(up=True)
    for n in range(40):
        if watched.look(up=False).refresh is not None:
            asked.append(n)
            watched.translator.asked(done=False)
    assert asked == [0, 2, 5, 10, 19, 36]


def test_a_refresh_that_was_made_is_not_asked_for_again() -> None:
    watched = Watched()
    watched.look(up=True)
    assert watched.look(up=False).refresh is not None
    watched.translator.asked(done=True)
    assert refreshes(watched.looks("d" * 50)) == []


def test_a_refresh_that_is_owed_is_forgotten_when_falling_back_is_switched_off() -> None:
    watched = Watched()
    watched.look(up=True)
    watched.look(up=False)
    watched.translator.asked(done=False)
    watched.config = {"enabled": True}
    assert refreshes(watched.looks("ddd")) == []


def test_a_commit_that_brings_the_device_back_has_refreshed_ipsec_itself() -> None:
    watched = Watched()
    watched.looks("ud")
    watched.host.files[STATE] = b"up\n"
    watched.translator.changed(watched.host, watched.config, "commit")
    assert refreshes(watched.looks("uuuu")) == []
    assert watched.look(up=False).refresh is not None


def test_the_next_agent_undoes_a_fall_back() -> None:
    memory = ShortMemory()
    Watched(memory=memory).looks("ud")
    successor = Watched(memory=memory)
    successor.host.files[STATE] = b"down\n"
    successor.translator.changed(successor.host, FALL_BACK, "start-up")
    assert refreshes(successor.looks("dduuu")) == [(3, True)]
    assert memory.recall("fall-back") == {"active": False}


@pytest.mark.parametrize(("found", "refreshed"), [(b"up\n", [(0, True)]), (b"down\n", [])])
def test_ipsec_is_not_refreshed_after_a_start_up_that_did_it(found: bytes, refreshed: list[tuple[int, bool]]) -> None:
    """A device that start-up brings up had IPsec started after it; one that was up then had not."""
    memory = ShortMemory()
    Watched(memory=memory).looks("ud")
    successor = Watched(memory=memory)
    for state in (found, b"up\n"):
        successor.host.files[STATE] = state
        successor.translator.changed(successor.host, FALL_BACK, "start-up")
    assert refreshes(successor.looks("uuuu")) == refreshed
    assert memory.recall("fall-back") == {"active": False}


def test_a_state_that_can_not_be_told_is_no_reason_to_fall_back() -> None:
    watched = Watched()
    watched.looks("uu")
    watched.host.files[STATE] = OSError(errno.EIO, "Input/output error")
    found = watched.translator.look(watched.host, watched.config)
    assert (statuses([found]), len(found.events), found.refresh) == (["unknown"], 1, None)
    assert refreshes(watched.looks("uuu")) == []
    assert watched.look(up=False).refresh is not None


class FullMemory(ShortMemory):
    def remember(self, name: str, content: Tree) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", name)


def test_a_memory_that_is_full_does_not_keep_ipsec_from_falling_back() -> None:
    assert refreshes(Watched(memory=FullMemory()).looks("udd")) == [(1, False)]


def test_running_is_not_changed_and_no_pci_function_is_reset() -> None:
    watched = Watched()
    before = dict(watched.host.files)
    watched.looks("uddduuuud")
    assert watched.host.written == []
    assert {name for name in watched.host.files if watched.host.files[name] != before[name]} == {STATE}
    assert watched.host.ran == []


# ── heartbeats ───────────────────────────────────────────────────────────────────────────────────


def beating(status: str) -> Watched:
    watched = Watched({"enabled": True, "health": {"heartbeat": True, "on-failure": "fall-back"}})
    for name, text in (("status", status), ("queries_sent", "4"), ("queries_failed", "1")):
        watched.host.files[f"{HEART}/{name}"] = f"{text}\n\0".encode()
    return watched


def test_one_heartbeat_that_fails_is_told_and_the_next_one_is_believed() -> None:
    watched = beating("0")
    watched.looks("uu")
    watched.host.files[f"{HEART}/status"] = b"-1\n\0"
    first, second, third = watched.looks("uuu")
    (event,) = first.events
    assert event.notification is not None
    error = event.notification["hardware-acceleration:device-error"]
    assert (error["address"], error["kind"], first.refresh) == (ADDRESS, "heartbeat", None)
    assert error["advice"]
    assert statuses([second]) == ["failed"]
    assert second.refresh is not None
    assert (third.events, third.refresh) == ((), None)


@pytest.mark.parametrize("leaf", ["oper-status", "active"])
def test_a_device_whose_heart_fails_is_told_as_failed_until_it_is_restarted(leaf: str) -> None:
    watched = beating("-1")
    watched.looks("uu")

    def told() -> object:
        tree = watched.translator.operational(watched.host, ALL, watched.config).tree
        return tree["active"] if leaf == "active" else tree["device"][0]["oper-status"]

    assert told() in {"failed", False}
    watched.translator.changed(watched.host, watched.config, "restart")
    assert told() in {"up", True}


def test_heartbeats_are_never_read_more_often_than_every_1500_milliseconds() -> None:
    watched, read_at = beating("0"), []
    for _ in range(100):
        watched.host.elapsed += 0.25
        watched.host.read_paths.clear()
        watched.translator.look(watched.host, watched.config)
        if f"{HEART}/status" in watched.host.read_paths:
            read_at.append(watched.host.elapsed)
        tree = watched.translator.operational(watched.host, ALL, watched.config).tree
        assert tree["device"][0]["heartbeat"]["status"] == "healthy"
        assert watched.host.read_paths.count(f"{HEART}/status") <= 1, "no client makes it be read"
    assert min(later - earlier for earlier, later in pairwise(read_at)) >= 1.5


def test_switching_it_off_and_on_does_not_make_it_be_read_sooner() -> None:
    watched = beating("0")
    on, off = watched.config, {"enabled": True}
    for config in (on, off, on):
        watched.host.read_paths.clear()
        watched.translator.look(watched.host, config)
    assert f"{HEART}/status" not in watched.host.read_paths
