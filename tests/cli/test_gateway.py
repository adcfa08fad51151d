"""The commands with a real agent on a simulated gateway, over its local socket."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

if TYPE_CHECKING:
    from tests.cli.conftest import Gateway, Result

ADDRESS = "0000:3d:00.0"
HA = "{urn:accel-agent:hardware-acceleration}"
# A line of the driver's own status tool, as scripts take it apart.
STATUS = re.compile(r" (qat_dev\d+) - type: (\w+),  .*bsf: ([0-9a-f:.]+),  .*state: (\w+)")


def done(result: Result) -> str:
    """Return what a command printed that did what it was to do."""
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def failed(result: Result) -> str:
    """Return the one line of a command that failed."""
    assert (result.returncode, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    return line.removeprefix("accel-agent: ")


def as_json(result: Result) -> Any:
    """Return the model's part of a JSON output."""
    return json.loads(done(result))["hardware-acceleration:acceleration"]


def commands(gateway: Gateway) -> list[str]:
    """Return the programs that were run on the gateway until now."""
    log = Path(gateway.ready["sysroot"]) / "run/simulator/commands.log"
    return log.read_text().splitlines() if log.exists() else []


def test_qat_that_is_off(gateway: Gateway) -> None:
    (line,) = done(gateway("show", "qat")).splitlines()

    assert line.startswith("3d:00.0 Co-processor [0b40]: ")
    assert " [8086:37c8] (rev " in line
    assert line.endswith("  down")


def test_status_of_what_is_not_configured(gateway: Gateway) -> None:
    lines = done(gateway("show", "qat", "status")).splitlines()

    assert lines[:3] == [
        "system acceleration qat is not configured",
        "Checking status of all devices.",
        "There is 1 QAT acceleration device(s) in the system:",
    ]
    assert re.fullmatch(rf" \S+ - type: c6xx,  .*bsf: {ADDRESS},  .*state: down", lines[3])
    assert lines[4].startswith("   ")
    assert "not enabled" in lines[4]


def test_what_a_commit_would_do_and_does(fresh: Gateway) -> None:
    assert done(fresh("set", "qat", "enabled", "true")) == ""
    before = commands(fresh)
    plan = done(fresh("plan")).splitlines()
    steps = json.loads(done(fresh("plan", "--format", "json")))["hardware-acceleration:step"]
    assert commands(fresh) == before

    assert plan[0].split() == ["step", "what", "disturbs"]
    assert [line.split()[0] for line in plan[1 : 1 + len(steps)]] == [str(step["number"]) for step in steps]
    assert any("!" in line.split()[1] and "qat_service" in line for line in plan)
    assert any(step["disruptive"] for step in steps)

    assert done(fresh("commit")) == "committed\n"

    assert commands(fresh)[len(before) :] == ["ipsec stop", "qat_service start", "ipsec start"]
    assert done(fresh("plan")).splitlines()[0] == "candidate is running: nothing to do"
    assert done(fresh("plan", "--source", "running")).splitlines()[0] == "nothing to do"


def test_a_change_that_the_machine_has_nothing_to_do_for_is_one(fresh: Gateway) -> None:
    done(fresh("set", "qat", "ipsec-refresh", "none"))
    assert done(fresh("plan")).splitlines()[0] == (
        "candidate differs from running, and nothing is to be done on the machine"
    )
    assert done(fresh("commit")) == "committed\n"
    before = commands(fresh)

    said = "nothing to commit: candidate is running; if the machine had drifted from it, that is put right\n"
    assert done(fresh("commit")) == said
    assert commands(fresh) == before


def test_a_commit_of_what_is_running_puts_right_what_has_drifted(fresh: Gateway) -> None:
    done(fresh("set", "qat", "enabled", "true"))
    done(fresh("commit"))
    service = Path(fresh.ready["sysroot"]) / "etc/init.d/qat_service"
    subprocess.run([service, "stop"], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=True)
    assert "down" in done(fresh("show", "qat"))

    assert done(fresh("commit")).startswith("nothing to commit: candidate is running; if the machine had drifted")
    assert "up" in done(fresh("show", "qat"))


def test_status_of_what_is_up(up: Gateway) -> None:
    lines = done(up("show", "qat", "status")).splitlines()

    assert lines[:2] == [
        "Checking status of all devices.",
        "There is 1 QAT acceleration device(s) in the system:",
    ]
    (line,) = lines[2:]
    found = STATUS.fullmatch(line)
    assert found is not None
    assert found.groups() == ("qat_dev0", "c6xx", ADDRESS, "up")


@pytest.mark.parametrize("name", ["qat_dev0", ADDRESS, "3D:00.0", "0:3d:0.0"])
def test_flows_by_any_name(up: Gateway, name: str) -> None:
    lines = done(up("show", "qat", "device", name, "flows")).splitlines()

    assert lines[0] == f"qat_dev0 ({ADDRESS}) is up"
    assert lines[1].split()[:3] == ["engine", "requests", "responses"]
    assert [line.split()[0] for line in lines[2:12]] == [str(engine) for engine in range(10)]
    assert [line.split("  ")[0] for line in lines[12:15]] == ["requests", "responses", "in flight"]


def test_flows_as_json_add_up(up: Gateway) -> None:
    (device,) = as_json(up("show", "qat", "device", ADDRESS, "flows", "--format", "json"))["qat"]["device"]

    assert (device["address"], device["oper-status"]) == (ADDRESS, "up")
    engines = device["flows"]["engine"]
    assert [engine["id"] for engine in engines] == list(range(10))
    # RFC 7951 6.1: numbers of 64 bits are strings.
    assert device["flows"]["requests"] == str(sum(int(engine["requests"]) for engine in engines))
    # What was not asked for was not read.
    assert not device.keys() & {"interrupt", "effective-config", "pci"}


def test_flows_of_a_device_that_is_down(gateway: Gateway) -> None:
    (line,) = done(gateway("show", "qat", "device", ADDRESS, "flows")).splitlines()

    assert line.startswith(f"{ADDRESS} is down: ")


@pytest.mark.parametrize("name", ["qat_dev1", "qat_dev00", "0000:3d:00.1", "nonsense"])
def test_a_device_that_is_not_there(up: Gateway, name: str) -> None:
    assert failed(up("show", "qat", "device", name, "flows")) == (
        f"there is no device {name}: the devices are qat_dev0 ({ADDRESS})"
    )


def test_interrupts_that_can_not_be_read_are_not_said_to_be_none(fresh: Gateway) -> None:
    (Path(fresh.ready["sysroot"]) / "proc/interrupts").write_text("           CPU0\n  24:       5")

    assert failed(fresh("show", "qat", "interrupts")).startswith("/proc/interrupts: does not end with a line's end")
    # The address is enough to find a device: its name, which the interrupts tell, is not asked for.
    assert done(fresh("show", "qat", "device", ADDRESS, "flows")).startswith(f"{ADDRESS} is unknown: ")


def test_a_device_that_is_down_has_no_name(gateway: Gateway) -> None:
    assert failed(gateway("show", "qat", "device", "qat_dev0", "config")) == (
        f"there is no device qat_dev0: the devices are {ADDRESS}; one that is not up goes by its address only"
    )


def test_config_is_the_intent_and_what_the_driver_has(fresh: Gateway) -> None:
    done(fresh("set", "qat", "enabled", "true"))
    done(fresh("set", "qat", "device", "3d:00.0", "services", "asym", "sym"))
    assert done(fresh("commit")) == "committed\n"

    lines = done(fresh("show", "qat", "device", "qat_dev0", "config")).splitlines()

    assert "services configured  asym sym" in lines
    assert lines.index("[GENERAL]") < lines.index("ServicesEnabled = cy")

    done(fresh("delete", "qat", "device", "3d:00.0", "services"))
    first, *told = done(fresh("plan")).splitlines()
    assert first == "candidate differs from running, and nothing is to be done on the machine"
    committed = fresh("commit")
    # What the plan says to mind is said before it is done.
    (note,) = committed.stderr.splitlines()
    assert note.startswith(f"note: settings of {ADDRESS} ")
    assert told == [note]
    assert (committed.returncode, committed.stdout) == (0, "committed\n")
    assert "services configured" not in done(fresh("show", "qat", "device", "qat_dev0", "config"))


def test_set_takes_the_name_of_a_device_for_its_address(up: Gateway) -> None:
    try:
        done(up("set", "qat", "device", "qat_dev0", "section", "SSL", "cy-instances", "3"))
        assert done(up("plan")).splitlines()[0].split() == ["step", "what", "disturbs"]

        assert failed(up("set", "qat", "device", "qat_dev7", "enabled", "true")) == (
            f"there is no device qat_dev7: the devices are qat_dev0 ({ADDRESS})"
        )
    finally:
        done(up("discard"))


def test_interrupts(up: Gateway) -> None:
    lines = done(up("show", "qat", "interrupts")).splitlines()

    assert lines[0].split()[:5] == ["device", "irq", "name", "total", "CPU0"]
    rows = [line.split() for line in lines[1:]]
    assert {row[0] for row in rows} == {"qat_dev0"}
    assert all(int(row[3]) == sum(int(count) for count in row[4:]) for row in rows)
    assert any(row[2].endswith("ae-cluster") for row in rows)


def test_the_cpu(gateway: Gateway) -> None:
    cpu = as_json(gateway("show", "cpu", "--format", "json"))["cpu"]

    assert cpu["aes-ni"] is True
    assert "hardware-acceleration-types:aes-ni" in cpu["crypto-feature"]
    assert f"model            {cpu['model']}" in done(gateway("show", "cpu")).splitlines()


def test_the_kernels_algorithms(up: Gateway) -> None:
    algorithms = as_json(up("show", "kernel-crypto", "--format", "json"))["kernel-crypto"]["algorithm"]
    rows = [line.split() for line in done(up("show", "kernel-crypto")).splitlines()]
    every = done(up("show", "kernel-crypto", "--all")).splitlines()

    assert ["cbc(aes)", "qat_aes_cbc", "qat", "4001", "yes"] in rows
    assert ["cbc(aes)", "cbc-aes-aesni", "aes-ni", "400", "no"] in rows
    assert len(every) == len(algorithms) + 1
    left_out = len(algorithms) - (len(rows) - 2)
    assert " ".join(rows[-1]).startswith(f"{left_out} of {len(algorithms)} algorithms are none that IPsec asks for")


def test_ipsec(gateway: Gateway) -> None:
    ipsec = as_json(gateway("show", "ipsec", "--format", "json"))["ipsec"]
    lines = done(gateway("show", "ipsec")).splitlines()

    assert ipsec["service"]["name"] == "strongswan-starter"
    assert [line.split() for line in lines[:2]] == [["name", "strongswan-starter"], ["state", "running"]]
    assert lines[-1].startswith("The agent shows no security associations")


def test_xml_is_the_replys_data(up: Gateway) -> None:
    data = etree.fromstring(done(up("show", "qat", "status", "--format", "xml")))

    assert data.tag == "{urn:ietf:params:xml:ns:netconf:base:1.0}data"
    assert data.findtext(f"{HA}acceleration/{HA}qat/{HA}device/{HA}oper-status") == "up"


def test_flags_may_stand_before_the_view(gateway: Gateway) -> None:
    socket = gateway.ready["unix_socket"]

    early = as_json(gateway("show", "--format", "json", "qat", "device", ADDRESS, "config"))

    assert early["qat"]["device"][0]["address"] == ADDRESS
    assert done(gateway("show", "--unix-socket", socket, "cpu")) == done(gateway("show", "cpu"))


def test_a_refusal_names_the_node_and_the_reason(gateway: Gateway) -> None:
    line = failed(gateway("set", "qat", "device", "3d:00.1", "enabled", "true"))

    assert line.endswith(" (no-such-device, /ha:acceleration/ha:qat/ha:device[ha:address='0000:3d:00.1'])")
    assert ADDRESS in line
    assert done(gateway("plan")).splitlines()[0] == "candidate is running: nothing to do"


def test_what_is_not_there_cannot_be_deleted(gateway: Gateway) -> None:
    line = failed(gateway("delete", "qat", "device", ADDRESS, "section", "SSL"))

    assert "(data-missing, " in line


def test_discard_forgets_what_was_set(gateway: Gateway) -> None:
    done(gateway("set", "qat", "enabled", "true"))
    assert done(gateway("plan")).splitlines()[0].split() == ["step", "what", "disturbs"]

    assert done(gateway("discard")) == ""

    assert done(gateway("plan")).splitlines()[0] == "candidate is running: nothing to do"


def test_a_commit_that_fails_says_at_which_step(fresh: Gateway) -> None:
    fault = Path(fresh.ready["sysroot"]) / "run/simulator/fail-qat_service-start"
    fault.write_text("the firmware\nis from another driver\n")
    try:
        done(fresh("set", "qat", "enabled", "true"))
        line = failed(fresh("commit"))
    finally:
        fault.unlink()

    assert "qat_service start" in line
    assert "the firmware is from another driver" in line
    assert "down" in done(fresh("show", "qat"))


def test_a_confirmed_commit_is_confirmed_from_another_session(fresh: Gateway) -> None:
    done(fresh("set", "qat", "enabled", "true"))
    said = done(fresh("commit", "--confirmed", "300"))
    token = said.split("--persist-id ")[1].split()[0]

    for words in (("commit",), ("commit", "--cancel"), ("commit", "--confirmed", "9")):
        assert failed(fresh(*words)) == (
            "a confirmed commit is pending: its persist-id is needed (outstanding-confirmed-commit): "
            "confirm it with --persist-id and the token that it printed, or undo it with --cancel --persist-id"
        )
    assert done(fresh("commit", "--persist-id", token)) == "committed\n"
    assert "up" in done(fresh("show", "qat"))
    assert failed(fresh("commit", "--cancel", "--persist-id", token)) == (
        "no confirmed commit is pending (invalid-value)"
    )


def test_a_confirmed_commit_is_cancelled_from_another_session(fresh: Gateway) -> None:
    done(fresh("set", "qat", "enabled", "true"))
    said = done(fresh("commit", "--confirmed", "300"))
    assert "up" in done(fresh("show", "qat"))
    words = said.rpartition("to undo it now: accel-agent ")[2].split()
    assert words[:3] == ["commit", "--cancel", "--persist-id"]

    assert failed(fresh(*words[:3], "x")) == "no confirmed commit with this persist-id is pending (invalid-value)"
    assert done(fresh(*words)) == "cancelled: running is what it was before the confirmed commit\n"

    assert "down" in done(fresh("show", "qat"))
    assert done(fresh("commit")).startswith("nothing to commit: candidate is running")


def test_a_token_that_is_none(gateway: Gateway) -> None:
    before = commands(gateway)

    line = failed(gateway("commit", "--persist-id", "x"))

    assert line == "no confirmed commit with this persist-id is pending (invalid-value)"
    assert commands(gateway) == before


def test_save_where_a_commit_is_kept_already(gateway: Gateway) -> None:
    assert failed(gateway("save")) == "this agent has no startup datastore: what is committed is kept already"


def test_nothing_is_found(bare_gateway: Gateway) -> None:
    first, second = done(bare_gateway("show", "qat")).splitlines()

    assert first == "No QAT device found"
    assert second.startswith("AES-NI: the CPU has it (")
    assert as_json(bare_gateway("show", "qat", "--format", "json"))["cpu"]["aes-ni"] is True


def test_nothing_is_found_by_the_other_views(bare_gateway: Gateway) -> None:
    assert done(bare_gateway("show", "qat", "status")).splitlines() == [
        "system acceleration qat is not configured",
        "Checking status of all devices.",
        "No QAT device found",
    ]
    assert done(bare_gateway("show", "qat", "interrupts")) == "No QAT device found\n"
    assert failed(bare_gateway("show", "qat", "device", "qat_dev0", "flows")) == (
        "there is no device qat_dev0: No QAT device found"
    )


def test_acceleration_without_hardware_is_refused(bare_gateway: Gateway) -> None:
    line = failed(bare_gateway("set", "qat", "enabled", "true"))

    assert line.endswith(" (no-qat-device, /ha:acceleration/ha:qat/ha:enabled)")
