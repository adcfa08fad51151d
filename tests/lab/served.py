"""A laboratory's gateway with an agent: strongSwan is real, its driver for QAT a simulated machine's.

The agent runs in the gateway's namespaces. The machine that it manages is the simulated one, which has the gateway's
/run in /gateway, and a program by which charon is stopped and started as a unit of systemd does it.
"""

import re
import signal
import sys
from pathlib import Path
from typing import Self

from tests.conformance.notifications import HA, MACHINE, create, hear
from tests.conformance.session import Session, edit
from tests.lab.gateway import CHARON, VICI
from tests.lab.namespace import until
from tests.lab.site import Site
from tests.system.client import OPEN, USER
from tests.system.gateway import Gateway

# The simulated machine's path of what is /run at the gateway.
RUN = "/gateway"
PROGRAM = "/usr/local/sbin/ike"
# The gateway's network is its own.
PORT = 830
SETTINGS = f'[ipsec]\ncontrol = "program:{PROGRAM}"\nvici = "{RUN}/charon.vici"\n'
_PROGRAM = f"""#!/bin/sh
runs() {{ [ -s /run/ike.pid ] && kill -0 "$(cat /run/ike.pid)" 2>&-; }}
ended() {{ for try in $(seq "$1"); do runs || return 0; sleep 0.02; done; return 1; }}
case $1 in
status) runs ;;
start)
  setsid sh -c 'echo $$ > /run/ike.pid; exec {CHARON}' < /dev/null > /dev/null 2>&1 &
  for try in $(seq 500); do swanctl --load-all --noprompt > /dev/null 2>&1 && exit 0; sleep 0.02; done
  exit 1 ;;
stop)
  kill "$(cat /run/ike.pid)"
  ended 100 || kill -9 "$(cat /run/ike.pid)"
  ended 100 ;;
esac
"""
REFRESH = re.compile(
    r"<ipsec-refresh><method>(\w+)</method><outcome>(\w+)</outcome><duration>(\d+)</duration>"
    r"(?:<tunnels-before>(\d+)</tunnels-before><tunnels-after>(\d+)</tunnels-after>)?(.*)</ipsec-refresh>"
)


class Inside(Gateway):
    """An agent that a program starts in other namespaces and waits for."""

    @property
    def pid(self) -> int:
        """The agent's number here: what it says itself is its number there."""
        assert self._process is not None
        waiting = self._process.pid
        return int(Path(f"/proc/{waiting}/task/{waiting}/children").read_text())


class Served:
    """The agent of a site's left gateway, with a session and one that listens to what becomes of the machine."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.ipsec = ipsec = site.left
        self.gateway = Inside(folder)
        self.gateway.build("c6xx@3d:00.0", ipsec=False)
        root = self.gateway.root
        (root / RUN[1:]).mkdir()
        (root / PROGRAM[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / PROGRAM[1:]).write_text(_PROGRAM)
        (root / PROGRAM[1:]).chmod(0o755)
        ipsec.machine.run("mount", "--bind", "/run", f"{root}{RUN}")
        self.gateway.settings.write_text(SETTINGS)

    def __enter__(self) -> Self:
        self.gateway.start("--listen", f"0.0.0.0:{PORT}", under=self.ipsec.machine.entering())
        self.session, self.listener = (Session(self.gateway.socket) for _ in range(2))
        self.session.ok(edit(OPEN), "<commit/>")
        self.listener.ok(create(MACHINE))
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()
        self.listener.close()
        self.gateway.close()

    def command(self, *words: str, host: str) -> list[str]:
        """Return the command line by which a user of the agent's asks it over SSH."""
        password = self.gateway.folder / "password"
        where = (
            "--accept-new-host-key",
            "--host",
            host,
            "--port",
            str(PORT),
            "--user",
            USER,
            "--password-file",
            str(password),
        )
        return ["env", f"HOME={self.gateway.folder}", sys.executable, "-m", "agent", *words, *where]

    def start_charon(self) -> None:
        """Start charon in the way of the program."""
        self.ipsec.machine.run(f"{self.gateway.root}{PROGRAM}", "start")

    def signal_charon(self, number: signal.Signals) -> None:
        """Send charon a signal."""
        self.ipsec.machine.run("sh", "-c", f"kill -{int(number)} $(cat /run/ike.pid)")

    def accelerate(self, method: str) -> None:
        """Have candidate bring acceleration on, and IPsec refreshed in one way."""
        self.session.ok(acceleration(method))

    def told(self) -> tuple[str | None, ...]:
        """Return what the next notification of a refresh says; the last of its values are the missing tunnels."""
        while not (message := hear(self.listener)).startswith("<ipsec-refresh>"):
            pass
        found = REFRESH.fullmatch(message)
        assert found, message
        return found.groups()

    def spis(self) -> set[str]:
        """Return the SPIs of the SAs that carry traffic."""
        found = self.ipsec.host.vici(VICI, "list-sas", {}, stream="list-sa", timeout=5.0)
        children = [sa for event in found for ike in event.values() for sa in ike["child-sas"].values()]
        return {sa[way] for sa in children if sa["state"] == "INSTALLED" for way in ("spi-in", "spi-out")}

    def wait_up(self) -> None:
        """Wait until the tunnel carries traffic."""
        until(lambda: self.ipsec.installed() == 1, "the tunnel is up")


def acceleration(method: str, *, enabled: bool = True) -> str:
    """Return the edit that switches acceleration on or off, with IPsec refreshed in one way."""
    content = f"<enabled>{str(enabled).lower()}</enabled><ipsec-refresh>{method}</ipsec-refresh>"
    return edit(f'<acceleration xmlns="{HA}"><qat>{content}</qat></acceleration>')


def serve(site: Site, folder: Path) -> Served:
    """Return an agent for the left gateway, whose charon runs and has its tunnel once this side or the peer begins."""
    served = Served(site, folder)
    if site.right.actions.start == "start":
        served.start_charon()
        site.right.start()
    else:
        site.right.start()
        served.start_charon()
    site.wait_up()
    return served
