"""Nothing that can be configured is ignored: each leaf is set over NETCONF, read back, and seen to have an effect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from agent.model.load import load
from tests.system.client import DEADLINE, HA, NETCONF, device, qat, until
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.system.client import Client

QAT = "/hardware-acceleration:acceleration/qat"
UP = "0000:01:00.0"
# A device that is not to be up: its settings go into its file, and nothing has to be restarted for them.
RESTING = "0000:3d:00.0"
ALWAYS = "<enabled>true</enabled>"
HEALTH = "<health>{}</health>"
SECTION = "<section><name>{}</name>{}</section>"


@dataclass(frozen=True, slots=True)
class Case:
    """A leaf's value, the configuration that has it, and what is different with it.

    ``effect`` gets the machine and a session, once without and once with the value in running, and returns what it
    sees; ``without`` is the configuration that it is compared with.
    """

    value: str
    content: str
    effect: Callable[[Gateway, Client], object]
    sees: object
    without: str = ALWAYS + device(RESTING, "<enabled>false</enabled>")


def resting(content: str) -> str:
    return ALWAYS + device(RESTING, f"<enabled>false</enabled>{content}")


def conf(*keys: str) -> Callable[[Gateway, Client], object]:
    """Return what the resting device's file says: the values of ``SECTION/Key``."""

    def read(gateway: Gateway, _client: Client) -> object:
        values = {}
        section = ""
        for line in gateway.conf("c6xx_dev0.conf"):
            if line.startswith("["):
                section = line.strip("[]")
            elif "=" in line and not line.startswith("#"):
                name, _, value = line.partition("=")
                values[f"{section}/{name.strip()}"] = value.strip()
        return [values.get(key) for key in keys]

    return read


def disabling(_gateway: Gateway, client: Client) -> object:
    """Return what it would take to switch acceleration off."""
    client.edit(qat("<enabled>false</enabled>"), test_option="set")
    steps = [str(step).partition(" (")[0] for step in client.plan()]
    client.manager.discard_changes()
    return steps


def up(gateway: Gateway, _client: Client) -> object:
    return gateway.up()


def files_with(line: str) -> Callable[[Gateway, Client], object]:
    """Return which devices' files have a line."""
    return lambda gateway, _client: [name for name in gateway.confs() if line in gateway.conf(name)]


def seen(gateway: Gateway) -> str | None:
    """Return the state to which the device went by itself, as far as the agent has seen and told."""
    told = re.findall(rf"device {UP} went from \w+ to (\w+)", gateway.log.read_text())
    return told[-1] if told else None


def noticed(gateway: Gateway, client: Client) -> object:
    """Return whether it is noticed soon that a device went down by itself: with the other interval it never is."""
    soon = "<interval>1</interval>" in client.config_text()
    if soon:
        until(lambda: seen(gateway) == "up", "that it is up is seen")
    before = seen(gateway)
    gateway.run("etc/init.d/qat_service", "stop", "qat_dev0")
    found = holds_within(DEADLINE if soon else 1.5, lambda: seen(gateway) != before)
    gateway.run("etc/init.d/qat_service", "start", "qat_dev0")
    return found


def falls_back(gateway: Gateway, client: Client) -> object:
    """Return what is run when the last device goes down by itself."""
    gateway.run("etc/init.d/qat_service", "start", "qat_dev0")
    until(lambda: seen(gateway) == "up", "that it is up is seen")
    before = len(gateway.commands())
    gateway.run("etc/init.d/qat_service", "stop", "qat_dev0")
    until(lambda: seen(gateway) == "down", "that it is down is seen")
    if "<on-failure>fall-back" in client.config_text():
        until(lambda: len(gateway.commands()) == before + 2 and gateway.ipsec_runs(), "IPsec is refreshed")
    # The look after this one begins when this one has done all that it has to do.
    gateway.run("etc/init.d/qat_service", "start", "qat_dev0")
    until(lambda: seen(gateway) == "up", "that it is up is seen")
    return gateway.commands()[before:][:2]


def beats(_gateway: Gateway, client: Client) -> object:
    """Return what is known of the heartbeat of the device that is up: it is read with the next look."""
    wanted = qat(device(UP, "<heartbeat><status/></heartbeat>"))
    if "<heartbeat>true" in client.config_text():
        until(lambda: client.leafs(wanted, "status") != [[]], "there is a heartbeat")
    return client.leafs(wanted, "status")


def holds_within(seconds: float, condition: Callable[[], object]) -> bool:
    try:
        until(condition, "it holds", seconds=seconds)
    except AssertionError:
        return False
    return True


CASES = {
    f"{QAT}/enabled": Case("true", ALWAYS, up, {UP, RESTING}, without=""),
    f"{QAT}/ipsec-refresh": Case(
        "none", resting("") + "<ipsec-refresh>none</ipsec-refresh>", disabling, [f"stop QAT {UP}"]
    ),
    f"{QAT}/health/interval": Case(
        "1",
        resting("") + HEALTH.format("<interval>1</interval>"),
        noticed,
        True,
        without=resting("") + HEALTH.format("<interval>4294967295</interval>"),
    ),
    f"{QAT}/health/heartbeat": Case(
        "true",
        resting("") + HEALTH.format("<interval>2</interval><heartbeat>true</heartbeat>"),
        beats,
        [["healthy"]],
    ),
    f"{QAT}/health/on-failure": Case(
        "fall-back",
        resting("") + HEALTH.format("<interval>1</interval><on-failure>fall-back</on-failure>"),
        falls_back,
        ["ipsec stop", "ipsec start"],
        without=resting("") + HEALTH.format("<interval>1</interval><on-failure>notify</on-failure>"),
    ),
    f"{QAT}/device/address": Case(
        RESTING,
        resting(SECTION.format("KERNEL", "<cy-instances>3</cy-instances>")),
        files_with("NumberCyInstances = 3"),
        ["c6xx_dev0.conf"],
    ),
    f"{QAT}/device/enabled": Case("false", resting(""), up, {UP}, without=ALWAYS),
    f"{QAT}/device/services": Case(
        "sym dc", resting("<services>sym dc</services>"), conf("GENERAL/ServicesEnabled"), ["sym;dc"]
    ),
    f"{QAT}/device/section/name": Case(
        "SHIM", resting(SECTION.format("SHIM", "<cy-instances>1</cy-instances>")), conf("SHIM/Cy0Name"), ['"SHIM0"']
    ),
    f"{QAT}/device/section/cy-instances": Case(
        "5",
        resting(SECTION.format("SSL", "<cy-instances>5</cy-instances>")),
        conf("SSL/NumberCyInstances", "SSL/Cy4Name"),
        ["5", '"SSL4"'],
    ),
    f"{QAT}/device/section/dc-instances": Case(
        "3",
        resting(SECTION.format("SSL", "<dc-instances>3</dc-instances>")),
        conf("SSL/NumberDcInstances", "SSL/Dc2IsPolled"),
        ["3", "1"],
    ),
    f"{QAT}/device/section/processes": Case(
        "7", resting(SECTION.format("SSL", "<processes>7</processes>")), conf("SSL/NumProcesses"), ["7"]
    ),
    f"{QAT}/device/section/limit-device-access": Case(
        "true",
        resting(SECTION.format("SSL", "<limit-device-access>true</limit-device-access>")),
        conf("SSL/LimitDevAccess"),
        ["1"],
    ),
    f"{QAT}/device/section/polling": Case(
        "epoll", resting(SECTION.format("SSL", "<polling>epoll</polling>")), conf("SSL/Cy1IsPolled"), ["2"]
    ),
    f"{QAT}/device/section/core-affinity": Case(
        "3",
        resting(SECTION.format("KERNEL", "<core-affinity>3</core-affinity><core-affinity>1</core-affinity>")),
        conf("KERNEL/Cy0CoreAffinity", "KERNEL/Cy1CoreAffinity", "KERNEL/Cy2CoreAffinity"),
        ["3", "1", "3"],
    ),
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine with two devices."""
    gateway = Gateway(tmp_path_factory.mktemp("leafs")).build(f"c3xxx@{UP}", f"c6xx@{RESTING}", ipsec=True)
    try:
        yield gateway.start()
    finally:
        gateway.close()


def leafs() -> list[str]:
    """Return the paths of all leafs that can be configured, by the model that the agent serves."""
    return [
        node.path for node in load().node("/hardware-acceleration:acceleration").walk() if node.is_leaf and node.config
    ]


def test_there_is_a_case_for_every_leaf() -> None:
    assert sorted(leafs()) == sorted(CASES)


@pytest.mark.parametrize("path", CASES)
def test_a_leaf_is_stored_and_has_an_effect(gateway: Gateway, path: str) -> None:
    case = CASES[path]
    client = gateway.connect()
    config = f"<config>{qat(case.without)}</config>"
    client.rpc(f'<copy-config xmlns="{NETCONF}"><target><candidate/></target><source>{config}</source></copy-config>')
    client.commit()
    before = case.effect(gateway, client)
    client.apply(qat(case.content))
    steps = "/".join(f"{{{HA}}}{name.rpartition(':')[2]}" for name in path.strip("/").split("/"))
    assert case.value in [leaf.text for leaf in client.config("running").iterfind(steps)]
    after = case.effect(gateway, client)
    assert after == case.sees
    assert before != after
    gateway.disconnect()
