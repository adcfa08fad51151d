"""An agent that is killed in the middle of a commit, and its successor: the old configuration or the new one, whole.

The successor waits for the programs that its predecessor had started, and then makes the machine agree with running.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest

import simulator
from tests.system.client import NETCONF, OPEN, device, enabled, qat, until
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.system.client import Client

ADDRESS = "0000:3d:00.0"
OFF, ON = "", enabled()
# With a file to write, so that there are four steps.
ON_SYM = enabled(more=device(ADDRESS, "<services>sym dc</services>"))
ON_DC = enabled(more=device(ADDRESS, "<services>dc</services>"))
OFF_DC = enabled(False, more=device(ADDRESS, "<services>dc</services>"))
# Longer than it takes to see that a program has begun, and to kill.
WHILE = 0.4


@dataclass(frozen=True, slots=True)
class Point:
    """A moment of a commit from ``old`` to ``new``: ``reached`` tells it, ``delayed`` programs make it last.

    ``failing`` programs fail once, so that the commit is undone. ``after`` is what running is to be then.
    """

    old: str
    new: str
    reached: Callable[[Gateway], object]
    after: str
    delayed: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


def begun(*lines: str) -> Callable[[Gateway], bool]:
    """Return whether these were the last programs that were run, and the last of them has not ended yet."""
    return lambda gateway: gateway.commands()[-len(lines) :] == list(lines)


POINTS = {
    "the plan is on record": Point(OFF, ON_SYM, lambda g: (g.state / "journal.json").exists(), OFF, ("ipsec stop",)),
    "ipsec stop has begun": Point(OFF, ON_SYM, begun("ipsec stop"), OFF, ("ipsec stop",)),
    "qat_service start has begun": Point(OFF, ON_SYM, begun("qat_service start"), OFF, ("qat_service start",)),
    "the device is up": Point(OFF, ON_SYM, lambda g: g.up(), OFF, ("ipsec start",)),
    "ipsec start has begun": Point(OFF, ON_SYM, begun("ipsec start"), OFF, ("ipsec start",)),
    "IPsec runs again": Point(OFF, ON_SYM, lambda g: g.up() and g.ipsec_runs(), OFF),
    "running is stored": Point(OFF, ON_SYM, lambda g: ON_SYM.encode() in g.stored, ON_SYM),
    "undoing: qat_service start has failed": Point(
        OFF, ON_SYM, begun("qat_service start", "ipsec start"), OFF, ("ipsec start",), ("qat_service start",)
    ),
    "undoing: ipsec start has failed": Point(
        OFF, ON_SYM, begun("ipsec start", "qat_service stop"), OFF, ("qat_service stop",), ("ipsec start",)
    ),
    "disabling: qat_service stop has begun": Point(
        ON_SYM, OFF_DC, begun("ipsec stop", "qat_service stop"), ON_SYM, ("qat_service stop",)
    ),
    "reconfiguring: qat_service restart has begun": Point(
        ON_SYM, ON_DC, begun("ipsec stop", "qat_service restart"), ON_SYM, ("qat_service restart",)
    ),
    "reconfiguring: ipsec start has begun": Point(
        ON_SYM, ON_DC, begun("qat_service restart", "ipsec start"), ON_SYM, ("ipsec start",)
    ),
}


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine with a device."""
    gateway = Gateway(tmp_path_factory.mktemp("crash")).build(f"c6xx@{ADDRESS}")
    try:
        yield gateway.start()
    finally:
        gateway.close()


def become(client: Client, content: str) -> None:
    """Make running this configuration, and no more."""
    source = f"<source><config>{OPEN}{content}</config></source>"
    client.rpc(f'<copy-config xmlns="{NETCONF}"><target><candidate/></target>{source}</copy-config>')
    client.commit()


def check(gateway: Gateway, after: str, before: tuple[object, ...]) -> None:
    """Look whether running is ``after``, whole, on disk too, and the machine agrees with it.

    ``before`` is how the machine was when running was the old configuration.
    """
    assert not gateway.programs_are_running()
    assert not (gateway.state / "journal.json").exists()
    client = gateway.connect()
    assert client.config_text("running") == client.config_text("candidate") == after
    assert after.encode() in gateway.stored
    if after == ON_SYM:
        files, up, ipsec = gateway.condition()
        assert b"\nServicesEnabled = sym;dc\n" in files["c6xx_dev0.conf"]
        assert (up, ipsec) == ({ADDRESS}, True)
        wanted = qat(device(ADDRESS, "<active-services/>"))
        assert client.leafs(wanted, "active-services") == [["sym dc"]]
    else:
        assert gateway.condition() == before
    gateway.disconnect()


def _has_run_more(gateway: Gateway, than: list[str]) -> bool:
    return len(gateway.commands()) > len(than)


@pytest.mark.parametrize("name", POINTS)
def test_killed_when(crashing: Gateway, name: str) -> None:
    point = POINTS[name]
    client = crashing.connect()
    become(client, point.old)
    if point.old == OFF:
        (crashing.root / "etc/c6xx_dev0.conf").write_text(
            (crashing.root / "etc/c6xx_dev0.conf").read_text().replace("= sym;dc\n", "= cy\n")
        )
    before = crashing.condition()
    for fault in point.failing:
        program, verb = fault.split()
        simulator.faults.fail(crashing.root, program, verb, "it fails once", times=1)
    for fault in point.delayed:
        program, verb = fault.split()
        simulator.faults.delay(crashing.root, program, verb, WHILE)
    client.edit(point.new)
    client.start_commit()
    until(lambda: point.reached(crashing), name)
    crashing.kill()
    simulator.faults.clear(crashing.root)
    crashing.disconnect()
    crashing.start()
    check(crashing, point.after, before)


def test_killed_again_while_the_broken_off_commit_is_undone(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    before = gateway.condition()
    simulator.faults.delay(gateway.root, "ipsec", "start", WHILE)
    client.edit(ON_SYM)
    client.start_commit()
    until(lambda: begun("ipsec start")(gateway), "the commit is under way")
    gateway.kill()
    for _ in range(2):
        before_it = gateway.commands()
        gateway.launch()
        until(partial(_has_run_more, gateway, before_it), "the successor is undoing it")
        gateway.kill()
        assert (gateway.state / "journal.json").exists()
    simulator.faults.clear(gateway.root)
    gateway.start()
    check(gateway, OFF, before)
    gateway.connect().apply(ON_SYM)
    check(gateway, ON_SYM, before)


# The system calls between which a commit is what it is, each one not done any more.
CALLS = {
    "the record is not there yet": ("rename", "state/.journal.json.new", OFF),
    "the file is not replaced yet": ("rename", "machine/etc/.c6xx_dev0.conf.accel-agent", OFF),
    "running is not replaced yet": ("rename", "state/.running.xml.new", OFF),
    "the record is still there": ("unlink", "state/journal.json", ON_SYM),
}


@pytest.mark.needs("strace")
@pytest.mark.parametrize("name", CALLS)
def test_killed_before_a_system_call(gateway: Gateway, name: str) -> None:
    call, path, after = CALLS[name]
    gateway.build(f"c6xx@{ADDRESS}")
    before = gateway.condition()
    gateway.start().stop()  # which stores what an agent begins with
    injection = f"inject={call}:signal=KILL"
    # -b: the programs that the agent starts are none of strace's business.
    under = (
        "strace",
        "-f",
        "-qq",
        "-b",
        "execve",
        "-o",
        "/dev/null",
        "-P",
        str(gateway.folder / path),
        "-e",
        injection,
    )
    gateway.start(under=under)
    client = gateway.connect()
    client.edit(ON_SYM)
    client.start_commit()
    gateway.gone()
    gateway.disconnect()
    if after == OFF:
        assert b"acceleration" not in gateway.stored
    if call == "unlink":
        assert (gateway.state / "journal.json").exists()
    gateway.start()
    check(gateway, after, before)
    # What was half written is found by the next who writes it.
    gateway.connect().apply(ON_SYM)
    check(gateway, ON_SYM, before)
    assert list((gateway.root / "etc").glob(".*")) == []
    assert list(gateway.state.glob(".*")) == []
