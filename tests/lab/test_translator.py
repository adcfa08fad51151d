"""The translator on machines where strongSwan really runs."""

from pathlib import Path
from typing import Any

from tests.lab.conftest import MakeSite
from tests.lab.gateway import IPSEC, VICI, Actions, Gateway
from tests.lab.machine import Machine
from tests.lab.namespace import Namespace, until
from tests.lab.site import Pings, Site
from translators.apply import apply, unwind
from translators.base import ALL, Disturbance, Refresh
from translators.ipsec.report import Refreshed, refreshed
from translators.ipsec.state import esp_plugin
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.tunnels import child_sas
from translators.ipsec.unit import StartUnit, StopUnit
from translators.ipsec.vici import Charon

RESTART = (Disturbance("ipsec", "restart", enabling=True),)
REKEY = (Disturbance("ipsec", "rekey", enabling=True),)
OFF = (Disturbance("ipsec", "rekey", enabling=False),)
UNIT = "strongswan.service"


def state(gateway: Gateway) -> dict[str, Any]:
    reading = IpsecTranslator().operational(gateway.host, ALL, {})
    assert reading.faults == ()
    return reading.tree


def untouched(gateway: Gateway) -> bool:
    """Return whether a change of the driver would leave a gateway's IPsec alone, however it is to be refreshed."""
    plans = [plan for method in (RESTART, REKEY, OFF) for plan in IpsecTranslator().around(method, gateway.host)]
    return not any(plan.steps for plan in plans)


def test_not_installed(make_site: MakeSite) -> None:
    site = make_site(Actions(), Actions())
    site.left.machine.run("mount", "--bind", "/dev/null", IPSEC)
    assert state(site.left) == {"service": {"state": "not-installed"}}
    assert untouched(site.left)


def test_installed_and_not_running(make_site: MakeSite) -> None:
    site = make_site(Actions(), Actions())
    assert state(site.left) == {"service": {"name": "strongswan-starter", "state": "stopped"}}
    assert untouched(site.left)


def test_installed_and_running_by_systemd_without_any_configuration(systemd_gateway: Gateway) -> None:
    systemd_gateway.configure(connections=0)
    systemd_gateway.machine.run("systemctl", "start", UNIT)
    tree = state(systemd_gateway)
    assert tree["service"]["name"] == UNIT
    assert tree["service"]["state"] == "running"
    assert tree["service"]["uptime"] in range(60)
    assert "security-association" not in tree
    assert untouched(systemd_gateway)


def test_installed_and_running_by_the_starter_without_any_configuration(make_site: MakeSite) -> None:
    gateway = make_site(Actions(), Actions()).left
    gateway.machine.write("/etc/ipsec.conf", "")
    gateway.machine.run("ipsec", "start")
    until(gateway.answers, "charon answers")
    assert state(gateway)["service"]["name"] == "strongswan-starter"
    assert untouched(gateway)


def test_configured_and_running_without_a_tunnel(systemd_gateway: Gateway) -> None:
    systemd_gateway.machine.run("systemctl", "start", UNIT)
    before, after = IpsecTranslator().around(RESTART, systemd_gateway.host)
    assert (before.steps, after.steps) == ((StopUnit(UNIT, VICI),), (StartUnit(UNIT, VICI),))
    assert IpsecTranslator().around(REKEY, systemd_gateway.host)[1].steps == ()


def test_a_stopped_unit_is_left_alone(systemd_gateway: Gateway) -> None:
    assert state(systemd_gateway) == {"service": {"name": UNIT, "state": "stopped"}}
    assert untouched(systemd_gateway)


def test_a_user_space_data_plane_is_recognized(site: Site) -> None:
    assert esp_plugin(Charon(site.left.host)) == "kernel-libipsec"


def test_a_gateway_under_systemd_is_restarted_and_rekeyed(machine: Machine, tmp_path: Path) -> None:
    with Namespace() as peer:
        site = Site(machine, Actions(start="start"), peer, Actions())
        site.right.start()
        machine.run("systemctl", "start", UNIT)
        site.wait_up()
        host = site.left.host
        translator = IpsecTranslator()
        tree = state(site.left)
        (shown,) = tree["security-association"]
        assert shown["connection"] == "site"
        assert shown["encryption"] == "AES_CBC-128"
        # What carries the packets is kernel-libipsec: the kernel's table proves nothing.
        assert shown["offload"]["state"] == "unknown"
        assert "kernel-libipsec" in shown["offload"]["reason"]

        pings = Pings(site.left, tmp_path / "pings")
        keep, rekey = translator.around(REKEY, host)
        undo = (apply(keep, host), apply(rekey, host))
        pings.wait(50)
        assert pings.end() == (0, 0.0)
        assert refreshed(Refresh(rekey.steps, 0.0, 5.0), host) == Refreshed("rekey", 1, 1)

        before, after = translator.around(RESTART, host)
        apply(before, host)
        assert not site.left.answers()
        apply(after, host)
        assert refreshed(Refresh((*before.steps, *after.steps), 0.0, 5.0), host) == Refreshed("restart", 1, 1)

        assert unwind(undo[1], host) == ()
        assert machine.processes("charon-systemd") == []
        assert unwind(undo[0], host) == ()
        until(lambda: len(child_sas(Charon(host))) == 1, "the tunnel is up again")
        machine.run("ip", "link", "delete", "wan")
