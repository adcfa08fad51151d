"""A real agent on a router whose configuration VyOS owns, with a VyOS that behaves."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

import simulator
from tests.system.client import DEADLINE, ENABLED, HA, OPEN, device, enabled, qat, until
from tests.translators.vyos_router import BUSY, IPSEC, KEY, QAT, CommitError, VyosRouter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.system.client import Client, Refusal
    from tests.system.gateway import Gateway

ADDRESS = "0000:3d:00.0"
NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
DATASTORES = "urn:ietf:params:xml:ns:yang:ietf-datastores"
SOON = "<health><interval>1</interval></health>"
CHANGES = ("subtree", f'<acceleration-change xmlns="{HA}"/>')
BY_VYOS = ["ipsec stop", "qat_service start", "ipsec start"]


class Site:
    """A machine with one device, its VyOS, and an agent that is told where VyOS's API is."""

    def __init__(self, gateway: Gateway, router: VyosRouter) -> None:
        self.gateway = gateway.build(f"c6xx@{ADDRESS}")
        self.router = router
        router.config = {IPSEC}
        router.script = self.script

    def script(self, present: bool) -> None:
        """Do what VyOS's script does, and look at no exit status."""
        for program, verb in (
            ("usr/sbin/ipsec", "stop"),
            ("etc/init.d/qat_service", "start" if present else "stop"),
            ("usr/sbin/ipsec", "start"),
        ):
            subprocess.run([self.gateway.root / program, verb], capture_output=True, check=False, timeout=DEADLINE)

    def serve(self, *lines: str) -> Client:
        """Start the agent and open a session."""
        self.gateway.settings.write_text(self.router.settings(*lines))
        client = self.gateway.start().connect()
        client.edit(OPEN)
        client.commit()
        return client


@pytest.fixture
def site(gateway: Gateway, tmp_path: Path) -> Iterator[Site]:
    with VyosRouter(tmp_path / "router") as router:
        yield Site(gateway, router)
        # Before its VyOS is: what it says then is no test's business.
        gateway.stop()
    for place in (gateway.log, *gateway.state.rglob("*")):
        if place.is_file():
            assert KEY not in place.read_text(errors="replace")


def leafs(client: Client, *names: str) -> list[str | None]:
    found = client.leafs(qat("".join(f"<{name}/>" for name in names)), *names)
    return [values[0] if values else None for values in found]


def refused_commit(client: Client) -> Refusal:
    refusal = client.refused(client.commit)
    assert (refusal.type, refusal.tag) == ("application", "operation-failed")
    assert KEY not in refusal.message
    client.manager.discard_changes()
    return refusal


def plan(client: Client) -> Any:
    return client.rpc(f'<plan xmlns="{HA}"/>')


def told(listener: Client) -> dict[str, str | None]:
    """Return the next change of acceleration that a subscriber is told.

    A look in the middle of a commit of VyOS's finds devices that have gone before its configuration has.
    """
    while True:
        notified = listener.manager.take_notification(timeout=DEADLINE)
        assert notified is not None, "nothing was told"
        (event,) = notified.notification_ele.iterfind(f"{{{HA}}}acceleration-change")
        content = {etree.QName(leaf).localname: leaf.text for leaf in event}
        if content["cause"] != "external":
            return content


def test_a_commit_is_one_of_vyos_and_the_machine_is_left_to_it(site: Site) -> None:
    client = site.serve()
    client.edit(enabled())
    planned = etree.tostring(plan(client), encoding="unicode")
    assert "have VyOS commit `set system acceleration qat` (HTTP API)" in planned
    assert "VyOS stops and starts IPsec itself with this commit: the agent does not" in planned
    assert "not told of this change" not in planned
    assert site.router.commits == []
    client.commit()
    assert (site.router.commits, site.router.saved) == ([f"set {QAT}"], set())
    assert site.gateway.commands() == BY_VYOS
    assert site.gateway.up() == {ADDRESS}
    assert leafs(client, "configured", "system-configured", "active") == ["true", "true", "true"]
    client.apply(enabled(False))
    assert site.router.commits == [f"set {QAT}", f"delete {QAT}"]
    assert (site.gateway.up(), site.router.config) == (set(), {IPSEC})
    assert leafs(client, "configured", "system-configured", "active") == ["false", "false", "false"]


def test_what_vyos_refuses_is_refused_in_its_words(site: Site) -> None:
    client = site.serve()
    before = site.gateway.condition()

    def refuse(_present: bool) -> None:
        raise CommitError("No QAT acceleration device found\n\n[[system acceleration qat]] failed\nCommit failed\n")

    site.router.script = refuse
    client.edit(enabled())
    refusal = refused_commit(client)
    assert (refusal.app_tag, refusal.path) == ("vyos-refused", ENABLED)
    assert (
        "VyOS refuses `set system acceleration qat`: No QAT acceleration device found [[system acceleration qat]] "
        "failed Commit failed. What was done before is undone, running is unchanged. The machine now: VyOS does not "
        f"have system acceleration qat, QAT {ADDRESS} is down"
    ) in refusal.message
    assert site.gateway.condition() == before
    assert client.config_text() == ""


def test_a_driver_that_does_not_start_is_seen_though_vyos_does_not(site: Site) -> None:
    client = site.serve()
    simulator.faults.lie(site.gateway.root, "qat_service", "start", "firmware: failed", times=1)
    client.edit(enabled())
    refusal = refused_commit(client)
    assert (refusal.app_tag, refusal.path) == ("vyos-refused", ENABLED)
    assert f"that was without effect: QAT {ADDRESS} is down" in refusal.message
    assert site.router.config == {IPSEC}
    assert site.router.commits == [f"set {QAT}", f"delete {QAT}"]


def test_another_commit_in_vyos_and_a_device_of_its_own(site: Site) -> None:
    client = site.serve()
    site.router.busy = True
    client.edit(enabled())
    assert BUSY in refused_commit(client).message
    refusal = client.refused(client.edit, enabled(more=device(ADDRESS, "<services>sym</services>")))
    assert refusal.app_tag == "unsupported-services"
    assert refusal.path is not None
    assert refusal.path.endswith("/ha:services")


def test_a_commit_without_an_answer_is_looked_for(site: Site) -> None:
    client = site.serve()
    site.router.mute = True
    client.apply(enabled())
    assert site.gateway.up() == {ADDRESS}
    assert site.router.commits == [f"set {QAT}"]


def test_a_key_that_vyos_does_not_take(site: Site) -> None:
    client = site.serve()
    site.router.key_file.write_text("an older key")
    refusal = client.refused(client.edit, enabled())
    assert (refusal.app_tag, refusal.path) == ("vyos-unreachable", ENABLED)
    assert f"the key in {site.router.key_file} is refused" in refusal.message
    assert "an older key" not in refusal.message + site.gateway.log.read_text()


def test_a_change_in_vyos_is_told_once_and_can_be_taken_back(site: Site) -> None:
    client = site.serve()
    client.apply(enabled(more=SOON))
    listener = site.gateway.connect()
    listener.manager.create_subscription(filter=CHANGES)
    site.router.command_line(f"delete {QAT}")
    drift = told(listener)
    assert (drift["cause"], drift["active"], drift["system-configured"]) == ("drift", "false", "false")
    assert "something else has deleted it" in (drift["reason"] or "")
    assert leafs(client, "configured", "system-configured", "active") == ["true", "false", "false"]
    content = f"<subtree-filter>{qat('<enabled/>')}</subtree-filter>"
    operational = client.rpc(
        f'<get-data xmlns="{NMDA}" xmlns:ds="{DATASTORES}"><datastore>ds:operational</datastore>{content}</get-data>'
    )
    assert [leaf.text for leaf in operational.iter(f"{{{HA}}}enabled")] == ["false"]
    asked = site.router.asked("exists")
    until(lambda: site.router.asked("exists") >= asked + 3, "three looks")
    client.commit()
    assert site.router.commits == [f"set {QAT}", f"delete {QAT}", f"set {QAT}"]
    # Nothing was told of the looks between.
    assert (told(listener)["cause"], site.gateway.up()) == ("commit", {ADDRESS})
    over = told(listener)
    assert (over["cause"], over["system-configured"]) == ("drift", "true")
    assert "agree on system acceleration qat again" in (over["reason"] or "")


def test_an_agent_that_comes_before_vyos_brings_running_to_it_later(site: Site) -> None:
    client = site.serve("save = true")
    client.apply(enabled(more=SOON))
    assert site.router.saved == {IPSEC, QAT}
    site.gateway.kill()
    site.router.command_line(f"delete {QAT}")
    site.router.raw = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    site.gateway.disconnect()
    client = site.gateway.start().connect()
    assert "running does not fit this machine: VyOS can't be asked" in site.gateway.log.read_text()
    assert site.gateway.up() == set()
    site.router.raw = None
    until(lambda: site.gateway.up() == {ADDRESS}, "running is brought to the machine")
    until(lambda: leafs(client, "system-configured") == ["true"], "VyOS is asked again")


def test_an_agent_that_is_killed_during_the_commit_leaves_vyos_to_its_successor(site: Site) -> None:
    client = site.serve()
    site.router.held.clear()
    client.edit(enabled())
    client.start_commit()
    until(lambda: site.router.commits, "VyOS commits")
    site.gateway.kill()
    site.router.held.set()
    site.gateway.disconnect()
    site.gateway.start()
    assert site.router.commits == [f"set {QAT}", f"delete {QAT}"]
    assert (site.router.config, site.gateway.up()) == ({IPSEC}, set())
    assert not (site.gateway.state / "journal.json").exists()
