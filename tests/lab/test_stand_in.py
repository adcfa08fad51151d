"""A commit that makes tunnels faster, as acceleration is to do: with a stand-in for the hardware.

Where the kernel has no ESP, and a machine no QAT, ESP is charon's own: its data plane computes with the plugins that it
has loaded. The program by which the agent starts charon has it load `aesni` when, and only when, the simulated QAT
devices are up. So what is seen is the whole way from a client's commit by the driver and the restart to the packets of
a tunnel; it is no measurement of QAT. This is the one test that compares times, within one run, and far from what
it demands: on two cores that also do other things the one implementation was nearly four to seven times as fast.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.notifications import HA
from tests.conformance.session import edit
from tests.lab.conftest import MakeSite, refuse
from tests.lab.gateway import CHARON, PLUGINS, Actions, Gateway
from tests.lab.served import PROGRAM, Served
from tests.lab.throughput import measure
from translators.ipsec.state import plugins
from translators.ipsec.tunnels import child_sas
from translators.ipsec.vici import Charon

SECONDS = 8
LEAST = 3
ESP = "aes256gcm16"
PLAIN = f"{PLUGINS} gcm"
# The first plugin that has an algorithm is the one that is taken.
WITH_INSTRUCTIONS = f"aesni {PLAIN}"
FOLDER = Path("/usr/lib/ipsec/plugins")
INSTRUCTIONS = {"aes", "pclmulqdq", "ssse3"}


class Figures:
    """What was measured, told at the end of the run."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.lines:
            terminalreporter.write_line(line)


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> list[str]:
    """Return the lines that are told at the end of the run."""
    figures = Figures()
    pytestconfig.pluginmanager.register(figures)
    return figures.lines


@pytest.fixture
def served(make_site: MakeSite, tmp_path: Path) -> Iterator[Served]:
    """Return an agent whose left gateway loads another configuration of charon's when the devices are up."""
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
    if missing := INSTRUCTIONS - set(flags.split()):
        refuse(f"needs a CPU with {', '.join(sorted(missing))}")
    for plugin in ("aesni", "gcm"):
        if not (FOLDER / f"libstrongswan-{plugin}.so").exists():
            refuse(f"needs charon's plugin {plugin} (Debian: libstrongswan-standard-plugins)")
    site = make_site(Actions(start="start", esp=ESP), Actions(esp=ESP))
    _load(site.left, PLAIN, "/etc/strongswan.conf")
    _load(site.left, WITH_INSTRUCTIONS, "/etc/strongswan-accelerated.conf")
    # The peer is fast, whatever this side does.
    _load(site.right, WITH_INSTRUCTIONS, "/etc/strongswan.conf")
    served = Served(site, tmp_path / "gateway")
    _choose_by_devices(served.gateway.root)
    site.right.start()
    served.start_charon()
    site.wait_up()
    with served:
        yield served


def _load(gateway: Gateway, plugins: str, path: str) -> None:
    """Write a configuration of charon's that is the gateway's own, with other plugins."""
    gateway.machine.write(path, gateway.machine.read("/etc/strongswan.conf").replace(f" = {PLUGINS}", f" = {plugins}"))


def _choose_by_devices(root: Path) -> None:
    """Have the program that starts charon choose the configuration by whether a device's firmware runs."""
    program = root / PROGRAM[1:]
    choosing = (
        f"ls {root}/sys/kernel/debug/qat_*/fw_counters > /dev/null 2>&1 &&"
        " export STRONGSWAN_CONF=/etc/strongswan-accelerated.conf"
    )
    before, started, after = program.read_text().partition("  setsid ")
    assert started
    assert CHARON in after
    program.write_text(f"{before}  {choosing}\n{started}{after}")


def loaded(served: Served) -> list[str]:
    """Return the plugins that charon has loaded, in their order."""
    return plugins(Charon(served.ipsec.host))


def commit(served: Served, *, enabled: bool) -> None:
    """Switch acceleration on or off, with a restart of IPsec."""
    content = f"<enabled>{str(enabled).lower()}</enabled><ipsec-refresh>restart</ipsec-refresh>"
    served.session.ok(edit(f'<acceleration xmlns="{HA}"><qat>{content}</qat></acceleration>'), "<commit/>")


def test_a_commit_makes_a_tunnel_three_times_as_fast_by_a_stand_in(
    served: Served, tmp_path: Path, figures: list[str]
) -> None:
    assert {"aes", "aesni"} & set(loaded(served)) == {"aes"}
    plain = measure(served.site, tmp_path / "plain", seconds=SECONDS)

    commit(served, enabled=True)
    assert served.gateway.up() == {"0000:3d:00.0"}
    assert {"aes", "aesni"} & set(loaded(served)) == {"aes", "aesni"}
    accelerated = measure(served.site, tmp_path / "accelerated", seconds=SECONDS)
    (child,) = child_sas(Charon(served.ipsec.host))
    assert child.encryption == "AES_GCM_16-256"

    commit(served, enabled=False)
    assert {"aes", "aesni"} & set(loaded(served)) == {"aes"}
    again = measure(served.site, tmp_path / "again", seconds=SECONDS)

    # Before and after, so that it does not count when this machine gets busier or idle meanwhile.
    factor = accelerated / statistics.mean((plain, again))
    figures.append(
        f"stand-in for an accelerator (charon's own AES-256-GCM without and with AES-NI, no QAT): {plain:.0f} Mbit/s "
        f"through the tunnel with acceleration off, {accelerated:.0f} on, {again:.0f} off again; "
        f"on is {factor:.1f} times as fast"
    )
    assert factor >= LEAST, figures[-1]
