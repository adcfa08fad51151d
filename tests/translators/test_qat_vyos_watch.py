"""Drift: somebody changes acceleration in VyOS, and the agent tells of it once, and of its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.translators.commits import C3, OFF, ON, MakeGateway, Tree, started
from tests.translators.vyos_memory import QAT_NODE, VyosMemory
from translators.base import ALL, Attention, Branch, Change, Selection, TranslatorError
from translators.qat import health
from translators.qat.devices import PCI_DEVICES
from translators.qat.translator import QatTranslator
from translators.qat.vyos import Router
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Event, Reading
    from translators.record import RecordedHost

ON_EVERY: Tree = {**ON, "health": {"interval": 10}}
LEAF = Selection(everything=False, branches=(Branch("system-configured", (), ALL),))


class Site:
    """A router, the agent's translator on it, and what both say of acceleration."""

    def __init__(self, host: RecordedHost, *nodes: str) -> None:
        self.host = host
        self.vyos = VyosMemory(set(nodes))
        host.router = self.vyos
        self.translator = QatTranslator(router=Router(120, save=False))

    def look(self, running: Tree = ON_EVERY) -> Attention:
        self.host.elapsed += 10
        return self.translator.look(self.host, running)

    def told(self, running: Tree = ON_EVERY) -> list[Tree]:
        """Look, and return what is told of acceleration."""
        return changes(self.look(running).events)

    def reading(self, wanted: Selection = ALL, running: Tree = ON_EVERY) -> Reading:
        return self.translator.operational(self.host, wanted, running)

    def read(self) -> Any:
        return self.reading().tree.get("system-configured")


def changes(events: tuple[Event, ...]) -> list[Tree]:
    name = "hardware-acceleration:acceleration-change"
    return [event.notification[name] for event in events if event.notification and name in event.notification]


@pytest.fixture
def site(gateway: MakeGateway) -> Site:
    made = Site(started(gateway(C3)), QAT_NODE)
    assert made.told() == []
    return made


def test_a_deletion_in_vyos_is_told_once_and_its_end(site: Site) -> None:
    site.vyos.change(site.host, "delete")
    (event,) = [event for event in site.look().events if "drift" in event.text]
    assert event.severity == "warning"
    (told,) = changes((event,))
    assert told == {
        "active": False,
        "fallback-active": False,
        "cause": "drift",
        "system-configured": False,
        "reason": "VyOS does not have system acceleration qat and running has: something else has deleted it. "
        "A commit brings it back, also one without a change; or commit enabled false",
    }
    assert [site.told(), site.told()] == [[], []]
    site.vyos.change(site.host, "set")
    (told,) = site.told()
    assert (told["cause"], told["system-configured"]) == ("drift", True)
    assert told["reason"] == "VyOS and running agree on system acceleration qat again"
    assert [(one["active"], one["cause"]) for one in (*site.told(), *site.told())] == [(True, "external")]


def test_a_drift_without_any_change_of_a_device_is_told_too(site: Site) -> None:
    site.vyos.driver = False
    site.vyos.change(site.host, "delete")
    (told,) = site.told()
    assert (told["active"], told["cause"]) == (True, "drift")
    assert site.told() == []


def test_what_vyos_has_and_running_has_not(gateway: MakeGateway) -> None:
    site = Site(gateway(C3))
    assert site.told(OFF) == []
    site.vyos.change(site.host, "set")
    (told,) = site.told(OFF)
    assert told["system-configured"] is True
    assert told["reason"].startswith("VyOS has system acceleration qat and running has not: something else has set it.")
    assert site.told(ON_EVERY) == [
        {
            "active": True,
            "fallback-active": False,
            "cause": "drift",
            "system-configured": True,
            "reason": "VyOS and running agree on system acceleration qat again",
        }
    ]


def test_what_was_so_before_the_agent_came_is_told_as_well(gateway: MakeGateway) -> None:
    site = Site(started(gateway(C3)), QAT_NODE)
    assert [told["cause"] for told in site.told(OFF)] == ["drift"]
    assert site.told(OFF) == []


def test_the_agents_own_commits_are_no_drift(site: Site) -> None:
    for before, after in ((ON, OFF), (OFF, ON)):
        for step in site.translator.prepare(Change(before, after), site.host).steps:
            step.perform(site.host)
        (told,) = changes(site.translator.changed(site.host, after, "commit"))
        assert told["cause"] == "commit"
        assert site.read() is after["enabled"]
        assert site.told(after) == []


def test_a_look_that_can_not_see_the_devices_leaves_a_drift_to_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(_host: object) -> None:
        raise SourceError(PCI_DEVICES, "Permission denied")

    site.vyos.change(site.host, "delete")
    with monkeypatch.context() as patch:
        patch.setattr(health, "inventory", blind)
        assert site.told() == []
    assert [told["cause"] for told in site.told()] == ["drift"]
    assert site.told() == []


# ── what is read, and how often ──────────────────────────────────────────────────────────────────


def test_vyos_is_asked_once_for_each_look_and_never_for_a_reader(site: Site) -> None:
    asked = len(site.host.requests)
    for _ in range(20):
        assert site.read() is True
    assert site.reading(LEAF).tree == {"system-configured": True}
    assert len(site.host.requests) == asked
    site.look()
    assert len(site.host.requests) == asked + 1


def test_readers_are_told_what_vyos_said_last(site: Site) -> None:
    site.vyos.change(site.host, "delete")
    assert site.read() is True
    site.look()
    assert site.read() is False
    assert site.translator.in_use(site.host, ALL, ON_EVERY).tree["enabled"] is False


def test_without_vyos_there_is_no_such_leaf(gateway: MakeGateway) -> None:
    host = started(gateway(C3))
    translator = QatTranslator()
    translator.look(host, ON_EVERY)
    reading = translator.operational(host, ALL, ON_EVERY)
    assert "system-configured" not in reading.tree
    assert reading.faults == ()


# ── a VyOS that can't be asked ───────────────────────────────────────────────────────────────────


def test_a_vyos_that_can_not_be_asked_is_told_once_and_is_a_fault(site: Site) -> None:
    site.vyos.down = "nothing listens there"
    (event,) = site.look().events
    assert (event.severity, event.notification) == ("warning", None)
    assert event.text == (
        "whether VyOS has system acceleration qat can't be told: https://192.0.2.1: nothing listens there"
    )
    assert site.look().events == ()
    reading = site.reading()
    assert "system-configured" not in reading.tree
    (fault,) = reading.faults
    assert fault.path == "/hardware-acceleration:acceleration/qat/system-configured"
    site.vyos.down = None
    (event,) = site.look().events
    assert (event.severity, event.text) == ("info", "VyOS tells again whether it has system acceleration qat")
    assert site.read() is True


def test_running_is_brought_to_a_vyos_that_was_not_there_at_start_up(gateway: MakeGateway) -> None:
    site = Site(gateway(C3))
    site.vyos.down = "nothing listens there"
    with pytest.raises(TranslatorError):
        site.translator.prepare(Change(None, ON), site.host)
    assert not site.look().bring
    site.vyos.down = None
    found = site.look()
    assert found.bring
    assert changes(found.events) == []
    for step in site.translator.prepare(Change(None, ON), site.host).steps:
        step.perform(site.host)
    found = site.look()
    assert not found.bring
    assert not any(told["cause"] == "drift" for told in changes(found.events))


def test_a_commit_that_could_not_be_made_is_nobodys_to_make_later(site: Site) -> None:
    site.vyos.down = "nothing listens there"
    with pytest.raises(TranslatorError):
        site.translator.prepare(Change(ON, OFF), site.host)
    site.vyos.down = None
    assert not site.look().bring
