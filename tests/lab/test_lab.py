"""The laboratory itself: it touches nothing that it didn't make, and leaves nothing behind, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.conftest import MakeSite
from tests.lab.gateway import Actions
from tests.lab.machine import PREFIX, Machine, hierarchies
from tests.lab.namespace import until
from tests.lab.site import Site
from translators.ipsec.vici import SOCKET
from translators.real_host import RealHost
from translators.vici import ViciError

KINDS = ("net", "mnt", "pid")
LINKS = ("wan", "ipsec0")
MOUNTED = ("/", "/etc", "/mnt", "/proc", "/run", "/sys", "/tmp")
MAKING = """
import sys
from pathlib import Path
from tests.lab.gateway import Actions, Gateway
from tests.lab.machine import Machine
from tests.lab.namespace import Namespace
machine = (Machine if sys.argv[1] == "systemd" else Namespace)()
Gateway(1, machine, Actions()).start()
print(machine.pid, *machine.processes("charon-systemd"), flush=True)
sys.stdin.read()
"""


def outside() -> tuple[object, ...]:
    """Return what a laboratory that is not tight would change; others may change more of the machine meanwhile."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    rules = subprocess.run(["ip", "rule"], capture_output=True, text=True, check=True).stdout
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    return (
        [name for name in LINKS if f" {name}" in links],
        "lookup 220" in rules,
        [mount for mount in mounts if mount[0] in MOUNTED],
        Path("/proc/self/cgroup").read_text(),
    )


def charons_here() -> set[str]:
    """Return the processes called charon that run in this test's own namespaces."""
    own = Path("/proc/self/ns/pid").readlink()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if "charon" in (entry / "comm").read_text() and (entry / "ns/pid").readlink() == own:
                found.add(entry.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_nothing_outside_is_changed(make_site: MakeSite) -> None:
    before, charons = outside(), charons_here()
    site = make_site(Actions(start="start"), Actions())
    site.start()
    site.wait_up()
    assert outside() == before
    assert charons_here() == charons
    for machine in site.machines:
        for kind in KINDS:
            assert Path(f"/proc/{machine.pid}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()
    site.close()
    assert outside() == before
    for machine in site.machines:
        until(lambda: not machine.root.parent.exists(), "the init is gone")  # noqa: B023 - called at once


def test_the_machine_s_own_socket_is_none_of_the_laboratory(site: Site) -> None:
    def asked() -> str:
        try:
            return str(RealHost().vici(SOCKET, "stats", {}, timeout=5.0)[0]["plugins"])
        except ViciError as error:
            return type(error).__name__

    assert asked() != str(site.left.host.vici(SOCKET, "stats", {}, timeout=5.0)[0]["plugins"])


def test_a_file_outside_of_its_own_layers_is_not_written(site: Site) -> None:
    with pytest.raises(AssertionError):
        site.left.machine.write("/usr/lib/anything", "")
    site.left.machine.write("/etc/accel-agent-lab", "here")
    assert not Path("/etc/accel-agent-lab").exists()


@pytest.mark.parametrize("kind", ["plain", "systemd"])
def test_what_kills_the_tests_ends_the_laboratory(kind: str, lab: None, booted: Machine) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MAKING, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as maker:
        assert maker.stdout is not None
        init, charon = map(int, maker.stdout.readline().split())
        assert charon in range(2, 2**22)
        inside = {entry.name for entry in Path(f"/proc/{init}/root/proc").glob("[0-9]*")}
        assert {"1", str(charon)} <= inside
        maker.send_signal(signal.SIGKILL)
    # The kernel ends all processes of a process space with its init.
    until(lambda: not Path(f"/proc/{init}").exists(), "the init is gone")
    groups = [group for root in hierarchies() for group in root.glob(f"{PREFIX}-{maker.pid}-*/**/cgroup.procs")]
    assert bool(groups) is (kind == "systemd")
    until(lambda: not any(group.read_text() for group in groups), "no process is left")
    if kind == "systemd":
        Machine().close()
        assert not [root for root in hierarchies() if list(root.glob(f"{PREFIX}-{maker.pid}-*"))]
