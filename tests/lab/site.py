"""Two gateways with a cable between them, and pings through their tunnel."""

import re
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

from tests.lab.gateway import Actions, Gateway
from tests.lab.namespace import Namespace, until

PING_SECONDS = 0.005
# With the time, -D; a ping for which there is no route is not sent and has no number.
_REPLY = re.compile(r"\[(\d+\.\d+)\] .*icmp_seq=(\d+)")
_NOT_SENT = "ping: sendmsg: "


class Site:
    """The gateways ``left`` and ``right``; each gets a tunnel to the other."""

    def __init__(self, first: Namespace, left: Actions, second: Namespace, right: Actions) -> None:
        self.machines = (first, second)
        try:
            veth = ("ip", "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", str(second.pid))
            # Only its network is entered: the other one's number is this machine's.
            subprocess.run(["nsenter", "--target", str(first.pid), "--net", "--", *veth], check=True, timeout=10)
            self.left, self.right = Gateway(1, first, left), Gateway(2, second, right)
            for gateway in (self.left, self.right):
                lines = [f"addr add {gateway.address}/24 dev wan", "link set wan up"]
                # kernel-libipsec wants an address of its own in every tunnel's network.
                lines += [f"addr add {address} dev lo" for address in gateway.inner_addresses()]
                gateway.machine.write("/run/addresses", "\n".join(lines))
                gateway.machine.run("ip", "-batch", "/run/addresses")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take everything down."""
        for machine in self.machines:
            machine.close()

    def start(self) -> None:
        """Run both daemons; the one that begins last."""
        for gateway in sorted((self.left, self.right), key=lambda gateway: gateway.actions.start == "start"):
            gateway.start()

    def wait_up(self, tunnels: int = 1) -> None:
        """Wait until the tunnels carry traffic on both sides."""
        until(lambda: self.left.installed() >= tunnels, "the left tunnels are up")
        until(lambda: self.right.installed() >= tunnels, "the right tunnels are up")


class Pings:
    """A stream of pings from a gateway's inner address to the other's."""

    def __init__(self, gateway: Gateway, log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._ping = gateway.machine.spawn(
                "ping", "-D", "-n", "-i", str(PING_SECONDS), "-I", gateway.inside, gateway.peer_inside, output=output
            )
        self._gateway = gateway
        self.wait(20)

    def wait(self, more: int) -> None:
        """Wait for that many more replies."""
        now = len(self._replies())
        until(lambda: len(self._replies()) >= now + more, f"{more} more replies to pings")

    def end(self) -> tuple[int, float]:
        """Return how many pings had no reply or could not be sent, and the longest time without replies, in seconds.

        What was lost before the first reply and after the last one does not count; where nothing was, the time is 0.
        """
        self._gateway.machine.kill("ping", signal.SIGINT)
        self._ping.wait(timeout=10)
        replies = self._replies()
        lost = max(replies) - min(replies) + 1 - len(replies) + self._log.read_text().count(_NOT_SENT)
        times = sorted(replies.values())
        longest = max(after - before for before, after in pairwise(times)) - PING_SECONDS
        return lost, longest if lost else 0.0

    def _replies(self) -> dict[int, float]:
        """Return when there was the first reply to each ping, by its number."""
        found: dict[int, float] = {}
        for time, number in _REPLY.findall(self._log.read_text()):
            found.setdefault(int(number), float(time))
        return found
