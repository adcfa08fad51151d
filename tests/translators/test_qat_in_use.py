"""The configuration in use, as the machine has it, beside the state."""

import errno
from typing import Any

import pytest

from tests.translators.commits import C3, C6A, C6B, OFF, ON, MakeGateway, on, started
from translators.base import ALL, Branch, Selection
from translators.qat.state import DEBUGFS
from translators.qat.translator import QatTranslator
from translators.record import RecordedHost

LEAFS = {"address", "enabled", "services", "section"}


def in_use(host: RecordedHost, running: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration in use."""
    tree = QatTranslator().in_use(host, ALL, running).tree
    configuration = {name: value for name, value in tree.items() if name in {"enabled", "ipsec-refresh", "health"}}
    devices = [{name: value for name, value in entry.items() if name in LEAFS} for entry in tree.get("device", ())]
    return configuration | ({"device": devices} if devices else {})


def test_what_is_up_is_enabled_whoever_started_it(gateway: MakeGateway) -> None:
    host = started(gateway(C6A, C6B), "qat_dev0")
    devices = [
        {"address": "0000:3d:00.0", "enabled": True, "services": "asym sym"},
        {"address": "0000:3f:00.0", "enabled": False},
    ]
    for running in (ON, OFF):
        assert in_use(host, running) == {"enabled": True, "ipsec-refresh": "restart", "device": devices}


def test_what_is_down_is_not_enabled_whatever_is_configured(gateway: MakeGateway) -> None:
    running = on(C6A, services="sym", section=[{"name": "KERNEL", "cy-instances": 2}])
    assert in_use(gateway(C6A), running) == {
        "enabled": False,
        "ipsec-refresh": "restart",
        "device": [{"address": "0000:3d:00.0", "enabled": False}],
    }


def test_what_was_given_up_for_software_is_not_enabled(gateway: MakeGateway) -> None:
    translator = QatTranslator()
    translator._supervision.fallback_active = True
    tree = translator.in_use(started(gateway(C6A)), ALL, ON).tree
    assert (tree["enabled"], tree["active"], tree["fallback-active"]) == (False, True, True)


def test_state_is_there_as_ever(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    translator = QatTranslator()
    state = translator.operational(host, ALL, ON).tree
    found = translator.in_use(host, ALL, ON).tree
    for name in ("configured", "active", "fallback-active", "supported-device"):
        assert found[name] == state[name]
    assert found["device"][0].items() >= state["device"][0].items()
    assert not {"enabled", "ipsec-refresh"} & state.keys()
    assert not {"enabled", "services"} & state["device"][0].keys()


def test_of_an_absent_device_there_is_no_configuration(gateway: MakeGateway) -> None:
    (entry, _) = in_use(started(gateway(C6A)), on(C3, services="sym"))["device"]
    assert entry == {"address": "0000:01:00.0"}


def test_the_drivers_word_counts_for_a_sections_instances_and_the_intended_for_the_rest(gateway: MakeGateway) -> None:
    section = {"name": "KERNEL", "cy-instances": 4, "polling": "poll", "core-affinity": [1]}
    (entry,) = in_use(started(gateway(C6A)), on(C6A, section=[section, {"name": "SSL", "processes": 2}]))["device"]
    assert entry["section"] == [
        {**section, "cy-instances": 1, "dc-instances": 0},
        {"name": "SSL", "processes": 2},
    ]


def test_without_the_drivers_word_the_intended_services_are_in_use(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    del host.files[f"{DEBUGFS}/qat_c6xx_0000:3d:00.0/dev_cfg"]
    (entry,) = in_use(host, on(C6A, services="sym"))["device"]
    assert entry == {"address": "0000:3d:00.0", "enabled": True, "services": "sym"}
    (entry,) = in_use(host, ON)["device"]
    assert entry == {"address": "0000:3d:00.0", "enabled": True}


def test_what_the_driver_says_and_can_not_be_read_is_left_out_and_a_fault(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    host.files[f"{DEBUGFS}/qat_c6xx_0000:3d:00.0/dev_cfg"] = b"nonsense\n"
    reading = QatTranslator().in_use(host, ALL, on(C6A, services="sym"))
    (entry,) = reading.tree["device"]
    assert entry["enabled"] is True
    assert "services" not in entry
    assert any("dev_cfg" in fault.message for fault in reading.faults)


def test_what_can_not_be_told_is_left_out(gateway: MakeGateway) -> None:
    host = started(gateway(C6A))
    del host.files["/proc/interrupts"]
    host.files[f"{DEBUGFS}/qat_c6xx_0000:3d:00.0/fw_counters"] = PermissionError(1, "Operation not permitted")
    assert in_use(host, ON) == {"ipsec-refresh": "restart", "device": [{"address": "0000:3d:00.0"}]}


def test_a_bus_that_can_not_be_listed_says_nothing_of_devices(
    gateway: MakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_: RecordedHost, path: str) -> tuple[str, ...]:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    host = gateway(C6A)
    monkeypatch.setattr(RecordedHost, "names", closed)
    reading = QatTranslator().in_use(host, ALL, on(C6A))
    assert [fault.path.rpartition("/")[2] for fault in reading.faults] == ["device"]
    assert not {"device", "enabled", "active"} & reading.tree.keys()


@pytest.mark.parametrize(("names", "reads"), [(("ipsec-refresh",), False), (("enabled",), True)])
def test_no_more_is_read_than_is_wanted(gateway: MakeGateway, names: tuple[str, ...], reads: bool) -> None:
    host = started(gateway(C6A))
    host.read_paths.clear()
    wanted = Selection(everything=False, branches=tuple(Branch(name, (), ALL) for name in names))
    tree = QatTranslator().in_use(host, wanted, ON).tree
    assert tree.keys() >= set(names)
    assert "device" not in tree or reads
    assert bool(host.read_paths) == reads
