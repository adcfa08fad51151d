"""Gateways for the tests of this folder: made for one test each, and gone with it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import SEARCH_PATH as PATH
from tests.lab.gateway import CHARON, Actions, Gateway
from tests.lab.machine import CGROUPS, SYSTEMD, Machine, hierarchies
from tests.lab.namespace import Namespace
from tests.lab.served import Served, serve
from tests.lab.site import Site

NEEDED = ("root", "unshare", "nsenter", "ip", "ping", "swanctl", "ipsec", CHARON, "/usr/lib/ipsec/charon")
FILESYSTEMS = Path("/proc/filesystems")

UNITS = ("strongswan.service", "strongswan-starter.service")

MakeSite = Callable[..., Site]


def refuse(reason: str) -> None:
    """Skip the test, or fail it where everything must be there."""
    if os.environ.get("ACCEL_AGENT_TEST_ALL") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def needed(*names: str) -> None:
    """Skip the test unless it is run by root, and everything named is there."""
    missing = [name for name in names if not (os.geteuid() == 0 if name == "root" else shutil.which(name, path=PATH))]
    if missing:
        refuse(f"needs {', '.join(missing)}")


@pytest.fixture(scope="session")
def lab() -> None:
    """Skip where this machine can't make gateways."""
    needed(*NEEDED)
    if not Path("/dev/net/tun").exists():
        refuse("needs /dev/net/tun")
    if "\toverlay\n" not in FILESYSTEMS.read_text():
        refuse("needs a kernel with overlay file systems")
    made = subprocess.run([*Namespace.unshare, "true"], capture_output=True, text=True, timeout=10, check=False)
    if made.returncode != 0:
        refuse(f"no namespaces can be made here: {made.stderr.strip()}")


@pytest.fixture
def make_site(lab: None) -> Iterator[MakeSite]:
    """Return the function that makes two gateways, with what each does about the tunnel."""
    sites: list[Site] = []

    def make(left: Actions, right: Actions) -> Site:
        sites.append(Site(Namespace(), left, Namespace(), right))
        return sites[-1]

    yield make
    for site in sites:
        site.close()


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Return two gateways with a tunnel that the left one began."""
    site = make_site(Actions(start="start"), Actions())
    site.start()
    site.wait_up()
    return site


@pytest.fixture
def served(make_site: MakeSite, tmp_path: Path) -> Iterator[Served]:
    """Return an agent whose gateway has begun its tunnel."""
    with serve(make_site(Actions(start="start"), Actions()), tmp_path / "gateway") as served:
        yield served


@pytest.fixture(scope="session")
def booted(lab: None) -> Iterator[Machine]:
    """Return a machine with systemd that all tests share."""
    needed(SYSTEMD, "dbus-daemon", "systemctl")
    if not hierarchies():
        refuse(f"needs a cgroup hierarchy in {CGROUPS} that can be written")
    machine = Machine()
    yield machine
    machine.close()


@pytest.fixture
def machine(booted: Machine) -> Iterator[Machine]:
    """Return a machine with systemd, on which strongSwan is installed and does not run."""
    yield booted
    booted.run("systemctl", "stop", *UNITS, check=False)
    booted.run("ipsec", "stop", check=False)
    for name in booted.processes("charon", "charon-systemd", "starter"):
        booted.run("kill", "-9", str(name), check=False)
    booted.run("sh", "-c", "rm -rf /etc/systemd/system/*.d; systemctl daemon-reload; systemctl reset-failed")


@pytest.fixture
def systemd_gateway(machine: Machine) -> Gateway:
    """Return a gateway on such a machine, without a peer."""
    return Gateway(1, machine, Actions())
