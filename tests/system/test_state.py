"""What is told of a machine: of its devices, and of one that has none."""

from __future__ import annotations

import random
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import simulator
from tests.system.client import DEADLINE, ENABLED, HA, device, enabled, qat, until
from tests.system.gateway import COMMAND, environment

if TYPE_CHECKING:
    from tests.system.client import Client, Refusal
    from tests.system.gateway import Gateway

ADDRESS = "0000:3d:00.0"
INLINE = (
    '<validate xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><source><config>'
    f"{enabled()}</config></source></validate>"
)


def each_refusal(client: Client) -> list[Refusal]:
    """Try to enable acceleration by each operation that looks at the machine, and return how it is refused."""
    found = [client.refused(client.edit, enabled()), client.refused(client.rpc, INLINE)]
    assert client.config_text("candidate") == ""
    client.edit(enabled(), test_option="set")
    assert client.config_text("candidate") == enabled()
    found += [client.refused(client.manager.validate, source="candidate"), client.refused(client.commit)]
    assert client.config_text("candidate") == enabled()
    return found


@pytest.mark.parametrize("virtual", [False, True], ids=["hardware", "virtual"])
def test_without_a_device_edit_validate_and_commit_are_refused_and_nothing_is_run(
    gateway: Gateway, transport: str, virtual: bool
) -> None:
    client = gateway.build(virtual=virtual).start().connect(transport)
    for refusal in each_refusal(client):
        assert refusal.kind == ("application", "operation-failed", "no-qat-device", ENABLED)
        for looked_for in ("8086:19e2", "8086:37c8", "8086:0435", "8086:4940", "8086:19e3"):
            assert looked_for in refusal.message
        assert ("PCI passthrough" in refusal.message) == virtual
        assert refusal.more == ()
    assert gateway.commands() == []
    assert client.config_text("running") == ""
    assert b"acceleration" not in gateway.stored
    assert gateway.ipsec_runs()


def test_without_a_driver_the_refusal_says_which_one_is_needed(gateway: Gateway, transport: str) -> None:
    client = gateway.build("c3xxx@01:00.0", driver=False).start().connect(transport)
    for refusal in each_refusal(client):
        assert refusal.kind == ("application", "operation-failed", "no-qat-driver", ENABLED)
        for part in ("0000:01:00.0", "8086:19e2", "qat_c3xxx", "out-of-tree QAT driver 1.7"):
            assert part in refusal.message
    assert gateway.commands() == []
    assert client.config_text("running") == ""


# Each device has what is its own.


def test_qat_dev1_and_qat_dev10_have_each_their_own_values(gateway: Gateway) -> None:
    addresses = [f"0000:{bus:02x}:00.0" for bus in range(1, 13)]
    gateway.build(*(f"c6xx@{address}" for address in addresses)).start_driver()
    client = gateway.start().connect()
    until(lambda: _counted(gateway, addresses[-1]), "the last device carries traffic")
    simulator.stop(gateway.root)
    found = client.get(qat("<device><name/><flows/><interrupt/></device>"))
    entries = {entry.findtext(f"{{{HA}}}name"): entry for entry in found.iter(f"{{{HA}}}device")}
    assert list(entries) == [f"qat_dev{number}" for number in range(12)]
    totals = set()
    for number, address in enumerate(addresses):
        entry = entries[f"qat_dev{number}"]
        assert entry.findtext(f"{{{HA}}}address") == address
        requests, responses = _counters(gateway, address)
        assert [int(e.text or "") for e in entry.iterfind(f".//{{{HA}}}engine/{{{HA}}}requests")] == requests
        assert [int(e.text or "") for e in entry.iterfind(f".//{{{HA}}}engine/{{{HA}}}responses")] == responses
        assert entry.findtext(f"{{{HA}}}flows/{{{HA}}}requests") == str(sum(requests))
        assert entry.findtext(f"{{{HA}}}flows/{{{HA}}}in-flight") == str(sum(requests) - sum(responses))
        names = [e.text for e in entry.iterfind(f"{{{HA}}}interrupt/{{{HA}}}name")]
        assert names == [*(f"qat{number}-bundle{bank}" for bank in range(16)), f"qat{number}-ae-cluster"]
        totals.add(sum(requests))
    assert len(totals) > 1, "the devices' counters tell nothing apart"


def test_interrupts_of_16_devices_on_256_cpus(gateway: Gateway) -> None:
    addresses = [f"{bus // 8:04x}:{0x10 + bus:02x}:{bus:02x}.0" for bus in range(16)]
    gateway.build(*(f"c3xxx@{address}" for address in addresses), cpus=256).start_driver()
    simulator.stop(gateway.root)
    table = gateway.root / "proc/interrupts"
    table.write_text(_scrambled(table.read_text()))
    expected = _independently(table.read_text())
    assert (len(expected), {len(rows) for rows in expected.values()}) == (16, {17})
    client = gateway.start().connect()
    found = client.get(qat("<device><interrupt/></device>"))
    seen = {}
    for entry in found.iter(f"{{{HA}}}device"):
        rows = {}
        for row in entry.iterfind(f"{{{HA}}}interrupt"):
            cpus = {e.findtext(f"{{{HA}}}id"): e.findtext(f"{{{HA}}}count") for e in row.iterfind(f"{{{HA}}}cpu")}
            assert row.findtext(f"{{{HA}}}total") == str(sum(int(count or "") for count in cpus.values()))
            rows[row.findtext(f"{{{HA}}}name")] = {int(cpu or ""): int(count or "") for cpu, count in cpus.items()}
        seen[entry.findtext(f"{{{HA}}}address")] = rows
    assert seen == {addresses[number]: rows for number, rows in expected.items()}
    cpu = "<interrupt><name>qat11-bundle3</name><cpu><id>254</id></cpu></interrupt>"
    one = client.leafs(qat(device(addresses[11], cpu)), "id", "count")
    assert one == [["254"], [str(expected[11]["qat11-bundle3"][254])]]


def test_a_source_that_is_broken_is_neither_absent_nor_made_up(gateway: Gateway) -> None:
    broken, whole = "0000:3d:00.0", "0000:3e:00.0"
    gateway.build(f"c6xx@{broken}", f"c6xx@{whole}").start_driver()
    simulator.stop(gateway.root)
    file = f"sys/kernel/debug/qat_c6xx_{broken}/fw_counters"
    (gateway.root / file).write_text("| Firmware Requests [AE  0]: many |\n")
    client = gateway.start().connect()
    refusal = client.refused(client.get, qat(device(broken, "<flows/>")))
    path = f"/ha:acceleration/ha:qat/ha:device[ha:address='{broken}']/ha:flows"
    assert refusal.kind == ("application", "operation-failed", None, path)
    assert f"/{file}: '| Firmware Requests [AE  0]: many |'" in refusal.message
    found = client.get(qat("<device><oper-status/><flows><requests/></flows></device>"))
    values = {entry[0].text: [leaf.text for leaf in entry.iter() if not len(leaf)][1:] for entry in found[0][0]}
    assert values == {broken: ["up"], whole: ["up", str(sum(_counters(gateway, whole)[0]))]}
    assert gateway.log.read_text().count(f"/{file}: ") == 1


# The commands, where there is nothing.


@pytest.mark.parametrize(("aes", "words"), [(True, "the CPU has it"), (False, "the CPU does not have it")])
def test_show_qat_without_a_device_tells_of_the_cpus_aes_instructions(gateway: Gateway, aes: bool, words: str) -> None:
    gateway.build(aes=aes).start()
    assert _show(gateway, "qat") == f"No QAT device found\nAES-NI: {words} (Intel(R) Atom(TM) CPU C3000 @ 2.10GHz)\n"


def test_show_qat_status_tells_of_the_hardware_though_nothing_is_configured(gateway: Gateway) -> None:
    gateway.build("c3xxx@01:00.0", f"c6xx@{ADDRESS}").run("etc/init.d/qat_service", "start", "qat_dev1")
    gateway.start()
    first, *rest = _show(gateway, "qat", "status").splitlines()
    assert first == "system acceleration qat is not configured"
    (down,) = [line for line in rest if "qat_dev0" in line or "0000:01:00.0" in line]
    (up,) = [line for line in rest if f"bsf: {ADDRESS}" in line]
    assert down.endswith("state: down")
    assert up.endswith("state: up")
    assert up.lstrip().startswith("qat_dev1 - type: c6xx,")


def _show(gateway: Gateway, *words: str) -> str:
    done = subprocess.run(
        [*COMMAND, "show", *words, "--unix-socket", str(gateway.socket)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
        cwd=gateway.folder,
        env=environment(gateway.folder),
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _counters(gateway: Gateway, address: str) -> tuple[list[int], list[int]]:
    """Return requests and responses by engine, as the device's own file has them."""
    text = (gateway.root / f"sys/kernel/debug/qat_c6xx_{address}/fw_counters").read_text()
    values = [int(number) for number in re.findall(r"\]:\s*(\d+)", text)]
    return values[::2], values[1::2]


def _counted(gateway: Gateway, address: str) -> bool:
    return sum(_counters(gateway, address)[0]) > 0


def _scrambled(table: str) -> str:
    """Return /proc/interrupts with a number of its own in each cell, and CPUs that are offline left out."""
    draw = random.Random(7)  # noqa: S311 - the same numbers each time
    head, *rows = table.splitlines()
    cpus = [f"CPU{number + number // 100}" for number in range(len(head.split()))]
    lines = ["           " + "".join(f"{cpu:<11}" for cpu in cpus)]
    for row in rows:
        words = row.split()
        if "qat" in row:
            words[1 : len(cpus) + 1] = [str(draw.randrange(2**32)) for _ in cpus]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _independently(table: str) -> dict[int, dict[str, dict[int, int]]]:
    """Return counts by number of the device, name of the interrupt and CPU, without the agent's parser."""
    head, *rows = table.splitlines()
    cpus = [int(word.removeprefix("CPU")) for word in head.split()]
    found: dict[int, dict[str, dict[int, int]]] = {}
    for row in rows:
        name = row.split()[-1]
        if match := re.fullmatch(r"qat(\d+)-(?:bundle\d+|ae-cluster)", name):
            counts = map(int, row.split()[1 : len(cpus) + 1])
            found.setdefault(int(match[1]), {})[name] = dict(zip(cpus, counts, strict=True))
    return found
