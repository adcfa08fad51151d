"""How much of the machine is read for a request, as the kernel sees it: no more than what is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.system.client import HA, NETCONF, device, enabled, qat, until
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Way = Callable[[str, str], str]

pytestmark = pytest.mark.needs("strace")

# With the longest interval nothing but requests has the devices read.
QUIET = "<health><interval>4294967295</interval></health>"
NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
DATASTORES = "urn:ietf:params:xml:ns:yang:ietf-datastores"
GENERATION_2 = ("0000:3d:00.0", "0000:3e:00.0", "0000:3f:00.0")
BIG = tuple(f"0000:{bus:02x}:00.0" for bus in range(0x61, 0x69))
BUS = "/sys/bus/pci/devices"
# It tries now and then, by itself, whether charon is there.
CHARON = "/run"


class Traced:
    """A served machine, of which it is known which files the agent opens."""

    def __init__(self, folder: Path, *devices: str, cpus: int = 4) -> None:
        self.gateway = Gateway(folder).build(*devices, cpus=cpus)
        self._trace = folder / "trace"

    def start(self) -> Traced:
        """Start the agent below strace, as attaching to a process that runs is not open to every user."""
        calls = "trace=open,openat,openat2"
        self.gateway.start(under=("strace", "-f", "--seccomp-bpf", "-e", calls, "-o", str(self._trace)))
        self._client = self.gateway.connect()
        self._client.apply(enabled(more=QUIET))
        _wait_until_it_stays(self._trace)  # the look that follows a commit
        return self

    def opened(self, request: str) -> list[str]:
        """Return the files that are opened for a request, as the machine calls them, sorted."""
        before = len(self._trace.read_bytes())
        reply = self._client.rpc(request)
        assert reply.find(f".//{{{HA}}}acceleration") is not None
        paths = re.findall(rb'open(?:at|at2)?\([^"]*"([^"]*)"', self._trace.read_bytes()[before:])
        machine = str(self.gateway.root.resolve())
        found = (path.decode().removeprefix(machine) for path in paths if path.startswith(machine.encode()))
        return sorted(path for path in found if path != CHARON)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """Return a machine with three devices of the out-of-tree driver."""
    traced = Traced(tmp_path_factory.mktemp("three"), *(f"c6xx@{address}" for address in GENERATION_2))
    try:
        traced.gateway.start_driver()
        yield traced.start()
    finally:
        traced.gateway.close()


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """Return the big machine: eight devices with 65 interrupts each, and 256 CPUs."""
    traced = Traced(tmp_path_factory.mktemp("big"), *(f"4xxx@{address}" for address in BIG), cpus=256)
    try:
        yield traced.start()
    finally:
        traced.gateway.close()


def subtree(address: str, content: str) -> str:
    return _rpc("get", f'<filter type="subtree">{qat(device(address, content))}</filter>')


def xpath(address: str, content: str) -> str:
    select = f"/h:acceleration/h:qat/h:device[h:address='{address}']/h:{content.strip('</>')}"
    return _rpc("get", f'<filter type="xpath" select="{select}" xmlns:h="{HA}"/>')


def data_subtree(address: str, content: str) -> str:
    return _get_data(f"<subtree-filter>{qat(device(address, content))}</subtree-filter>")


def data_xpath(address: str, content: str) -> str:
    path = f"/h:acceleration/h:qat/h:device[h:address='{address}']/h:{content.strip('</>')}"
    return _get_data(f'<xpath-filter xmlns:h="{HA}">{path}</xpath-filter>')


WAYS = pytest.mark.parametrize("way", [subtree, xpath, data_subtree, data_xpath])


def test_a_filter_for_one_devices_flows_reads_only_that_devices_file(three: Traced) -> None:
    address = GENERATION_2[1]
    identity = [BUS, f"{BUS}/{address}/device", f"{BUS}/{address}/vendor"]
    assert three.opened(subtree(address, "<flows/>")) == [
        *identity,
        f"/sys/kernel/debug/qat_c6xx_{address}/fw_counters",
    ]
    assert three.opened(subtree(address, "<family/>")) == identity
    assert three.opened(_rpc("get", f'<filter type="subtree">{qat("<enabled/>")}</filter>')) == []
    aes = f'<acceleration xmlns="{HA}"><cpu><aes-ni/></cpu></acceleration>'
    assert three.opened(_rpc("get", f'<filter type="subtree">{aes}</filter>')) == ["/proc/cpuinfo"]
    time = f'<acceleration xmlns="{HA}"><cpu><time/></cpu></acceleration>'
    assert three.opened(_rpc("get", f'<filter type="subtree">{time}</filter>')) == ["/proc/stat"]


@WAYS
def test_flows_of_one_of_many_devices_read_that_devices_files_and_each_once(big: Traced, way: Way) -> None:
    found = big.opened(way(BIG[5], "<flows/>"))
    assert [path for path in found if BIG[5] not in path] == [BUS]
    assert len([path for path in found if path.endswith(f"{BIG[5]}/fw_counters")]) == 1
    assert sorted(set(found)) == found


@WAYS
def test_interrupts_of_one_of_many_devices_read_their_table_once(big: Traced, way: Way) -> None:
    found = big.opened(way(BIG[2], "<interrupt/>"))
    assert [path for path in found if BIG[2] not in path] == ["/proc/interrupts", BUS]
    assert not [path for path in found if "fw_counters" in path]


def _rpc(name: str, content: str) -> str:
    return f'<{name} xmlns="{NETCONF}">{content}</{name}>'


def _get_data(content: str) -> str:
    store = f'<datastore xmlns:ds="{DATASTORES}">ds:operational</datastore>'
    return f'<get-data xmlns="{NMDA}">{store}{content}</get-data>'


def _wait_until_it_stays(file: Path) -> None:
    seen = [0]

    def stays() -> bool:
        seen.append(file.stat().st_size)
        return len(seen) > 50 and len(set(seen[-50:])) == 1

    until(stays, "nothing is read any more")
