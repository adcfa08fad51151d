"""Who runs charon, on machines where it really runs, and that only the owner is acted on."""

import pytest

from tests.lab.conftest import MakeSite
from tests.lab.gateway import IPSEC, VICI, Actions, Gateway
from tests.lab.machine import Machine
from tests.lab.namespace import until
from translators.apply import apply
from translators.base import Disturbance, StepError, TranslatorError
from translators.ipsec.control import STARTER
from translators.ipsec.owner import UNIT, Owner, OwnerError, daemons, find_owner, installed_owner, uptime
from translators.ipsec.returning import returned, tunnels_up
from translators.ipsec.service import StartService, StopService
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.unit import StartUnit, StopUnit
from translators.ipsec.vici import Charon

RESTART = (Disturbance("ipsec", "restart", enabling=True),)
STRONGSWAN = "strongswan.service"
BY_STARTER = "strongswan-starter.service"


def test_no_charon_has_no_owner(make_site: MakeSite) -> None:
    site = make_site(Actions(), Actions())
    assert find_owner(site.left.host) is None
    assert installed_owner(site.left.host) == Owner(STARTER, IPSEC)


@pytest.mark.parametrize("control", ["auto", "starter"])
def test_the_starter_owns_its_charon_and_restarts_it(make_site: MakeSite, control: str) -> None:
    site = make_site(Actions(start="start"), Actions())
    for gateway in (site.right, site.left):
        gateway.configure_starter()
        gateway.machine.run("ipsec", "start")
        # An initiator gives up at once on a peer that answers and has no connection for it yet.
        until(gateway.loaded, "the starter has loaded the connection")
    site.wait_up()
    host = site.left.host
    assert find_owner(host) == Owner(STARTER, IPSEC)
    expected = tunnels_up(Charon(host))
    assert len(expected) == 1
    before, after = IpsecTranslator(control).around(RESTART, host)
    stop, start = StopService(STARTER, IPSEC, VICI), StartService(STARTER, IPSEC, VICI)
    assert (before.steps[1:], after.steps[:1]) == ((stop,), (start,))
    apply(before, host)
    assert daemons(host).charons == ()
    apply(after, host)
    assert [tunnel.result for tunnel in returned(Charon(host), expected)] == ["back"]


def test_a_charon_that_nobody_runs_is_not_touched(make_site: MakeSite) -> None:
    site = make_site(Actions(), Actions())
    site.left.start()
    with pytest.raises(OwnerError, match="neither by a unit of systemd nor by strongSwan's starter"):
        find_owner(site.left.host)
    assert site.left.answers()


def test_a_unit_owns_its_charon_and_restarts_it(systemd_gateway: Gateway) -> None:
    host, run = systemd_gateway.host, systemd_gateway.machine.run
    assert find_owner(host) is None
    assert installed_owner(host) == Owner(UNIT, STRONGSWAN)
    run("systemctl", "start", STRONGSWAN)
    assert find_owner(host) == Owner(UNIT, STRONGSWAN)
    before = daemons(host).charons
    assert uptime(host, before[0]) in range(60)
    StartUnit(STRONGSWAN, VICI).perform(host)
    assert daemons(host).charons == before
    StopUnit(STRONGSWAN, VICI).perform(host)
    assert daemons(host).charons == ()
    assert run("systemctl", "is-active", STRONGSWAN, check=False) == "inactive\n"
    StopUnit(STRONGSWAN, VICI).perform(host)
    StopUnit(STRONGSWAN, VICI).inverse().perform(host)
    assert run("systemctl", "is-active", STRONGSWAN) == "active\n"
    assert Charon(host).version()["daemon"] == "charon-systemd"
    assert list(Charon(host).connections()) == ["site"]


@pytest.mark.parametrize("unit", [STRONGSWAN, BY_STARTER])
def test_a_unit_s_charon_is_not_the_starter_s_though_the_settings_say_so(systemd_gateway: Gateway, unit: str) -> None:
    host = systemd_gateway.host
    systemd_gateway.configure_starter()
    systemd_gateway.machine.run("systemctl", "start", unit)
    until(systemd_gateway.loaded, "charon has its connection")
    before = daemons(host)
    with pytest.raises(TranslatorError, match=f"charon is run by {unit} of systemd"):
        IpsecTranslator("starter").around(RESTART, host)
    assert daemons(host) == before
    assert systemd_gateway.machine.run("systemctl", "is-active", unit) == "active\n"


def test_a_unit_that_runs_the_starter_owns_charon(systemd_gateway: Gateway) -> None:
    host = systemd_gateway.host
    systemd_gateway.configure_starter()
    systemd_gateway.machine.run("systemctl", "start", BY_STARTER)
    until(systemd_gateway.answers, "charon answers")
    assert find_owner(host) == Owner(UNIT, BY_STARTER)
    StopUnit(BY_STARTER, VICI).perform(host)
    assert daemons(host).charons == ()
    StartUnit(BY_STARTER, VICI).perform(host)
    assert systemd_gateway.answers()


def test_a_starter_that_was_started_by_hand_owns_its_charon(systemd_gateway: Gateway) -> None:
    systemd_gateway.configure_starter()
    systemd_gateway.machine.run("ipsec", "start")
    until(systemd_gateway.answers, "charon answers")
    assert find_owner(systemd_gateway.host) == Owner(STARTER, IPSEC)


def test_a_starter_in_the_unit_of_another_service_is_not_that_units(systemd_gateway: Gateway) -> None:
    systemd_gateway.configure_starter()
    shell = f"{IPSEC} start; exec sleep 60"
    systemd_gateway.machine.run("systemd-run", "--unit", "shell", "sh", "-c", shell)
    until(systemd_gateway.answers, "charon answers")
    host = systemd_gateway.host
    systemd = host.systemd()
    assert systemd is not None
    assert systemd.unit_of(daemons(host).charons[0]) == "shell.service"
    assert find_owner(host) == Owner(STARTER, IPSEC)
    systemd_gateway.machine.run("systemctl", "stop", "shell")


def test_two_charons_are_named(systemd_gateway: Gateway) -> None:
    systemd_gateway.machine.run("systemctl", "start", STRONGSWAN)
    systemd_gateway.configure_starter()
    systemd_gateway.machine.run("ipsec", "start")
    until(lambda: len(daemons(systemd_gateway.host).charons) == 2, "two charons")
    with pytest.raises(OwnerError, match="more than one charon runs"):
        find_owner(systemd_gateway.host)


def test_a_unit_that_fails_says_why(systemd_gateway: Gateway) -> None:
    machine = systemd_gateway.machine
    machine.write(
        f"/etc/systemd/system/{STRONGSWAN}.d/lab.conf",
        "[Service]\nExecStart=\nExecStart=/bin/sh -c 'echo no port is free; exit 3'\n",
    )
    machine.run("systemctl", "daemon-reload")
    with pytest.raises(StepError, match=r"strongswan\.service: the job's result is failed") as caught:
        StartUnit(STRONGSWAN, VICI).perform(systemd_gateway.host)
    assert "strongswan.service is failed (failed), its result exit-code" in caught.value.message
    assert caught.value.command == "systemctl start strongswan.service"
    assert "no port is free" in caught.value.output


def test_a_unit_whose_charon_does_not_answer_fails(systemd_gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translators.ipsec.unit.ANSWER_SECONDS", 0.5)
    systemd_gateway.machine.write(
        f"/etc/systemd/system/{STRONGSWAN}.d/lab.conf",
        "[Service]\nType=simple\nExecStart=\nExecStart=/bin/sleep 60\nExecStartPost=\n",
    )
    systemd_gateway.machine.run("systemctl", "daemon-reload")
    with pytest.raises(StepError, match=r"the unit is active, and charon does not answer at /run/charon\.vici"):
        StartUnit(STRONGSWAN, VICI).perform(systemd_gateway.host)


def test_a_unit_that_is_not_installed_is_an_error(machine: Machine, systemd_gateway: Gateway) -> None:
    with pytest.raises(StepError, match=r"there is no unit none\.service"):
        StopUnit("none.service", VICI).perform(systemd_gateway.host)
