"""A gateway: strongSwan in namespaces of its own, with ESP by kernel-libipsec through /dev/net/tun."""

import signal
from dataclasses import dataclass, replace

from tests.lab.namespace import Namespace, NamespaceHost, until
from translators.vici import ViciError

VICI = "/run/charon.vici"
CHARON = "/usr/sbin/charon-systemd"
IPSEC = "/usr/sbin/ipsec"
PLUGINS = (
    "random nonce aes sha1 sha2 hmac kdf gmp pem pkcs1 x509 pubkey "
    "kernel-libipsec kernel-netlink socket-default stroke vici updown counters"
)
_DAEMON = """
%s {
  load_modular = no
  load = %s
  retransmit_timeout = 1.0
  retransmit_tries = 3
  filelog {
    lab {
      path = /run/charon.log
      default = 1
      flush_line = yes
    }
  }
}
"""
_CONNECTION = """
  site%(suffix)s {
    version = 2
    local_addrs = %(local)s
    remote_addrs = %(remote)s
    proposals = aes128-sha256-modp2048
    dpd_delay = %(dpd)s
    keyingtries = %(tries)s
    local {
      auth = psk
      id = %(name)s%(suffix)s.example
    }
    remote {
      auth = psk
      id = %(peer)s%(suffix)s.example
    }
    children {
%(children)s
    }
  }
"""
_CHILD = """      %(child)s {
        local_ts = %(local_ts)s
        remote_ts = %(remote_ts)s
        esp_proposals = %(esp)s
        start_action = %(start)s
        close_action = %(close)s
        dpd_action = %(dpd_action)s
      }"""
_SECRETS = """
secrets {
  ike-lab {
    secret = "no real secret"
  }
}
"""
_IPSEC_CONF = """
conn site
  keyexchange=ikev2
  authby=secret
  left=%(local)s
  leftid=%(name)s.example
  leftsubnet=10.201.%(number)s.0/24
  right=%(remote)s
  rightid=%(peer)s.example
  rightsubnet=10.201.%(other)s.0/24
  ike=aes128-sha256-modp2048!
  esp=aes128-sha256!
  auto=%(start)s
"""


@dataclass(frozen=True, slots=True)
class Actions:
    """What a gateway does about its tunnel: at its start, when the peer closes it, when the peer is dead.

    Of its ``connections``, ``up`` are with the other gateway, each with an own IKE SA; the first has ``tunnels``.
    """

    start: str = "none"
    close: str = "none"
    dpd: str = "clear"
    dpd_delay: str = "2s"
    keyingtries: str = "0"
    esp: str = "aes128-sha256"
    connections: int = 1
    up: int = 1
    tunnels: int = 1


class Gateway:
    """One of two gateways, ``number`` 1 or 2: 10.200.0.x is its address, 10.201.x.0/24 the network behind it."""

    def __init__(self, number: int, machine: Namespace, actions: Actions) -> None:
        self.machine = machine
        self.host = NamespaceHost(machine)
        self.actions = actions
        self.number = number
        self.address, self.peer_address = f"10.200.0.{number}", f"10.200.0.{3 - number}"
        self.inside, self.peer_inside = f"10.201.{number}.1", f"10.201.{3 - number}.1"
        machine.write("/etc/strongswan.conf", _DAEMON % ("charon", PLUGINS) + _DAEMON % ("charon-systemd", PLUGINS))
        self.configure()

    def configure(self, **changes: object) -> None:
        """Write the configuration, for swanctl and for the starter."""
        self.actions = replace(self.actions, **changes)  # type: ignore[arg-type] # the fields' own types
        connections = "".join(map(self._connection, range(self.actions.connections)))
        self.machine.write("/etc/swanctl/swanctl.conf", f"connections {{{connections}}}{_SECRETS}", mode=0o600)

    def configure_starter(self) -> None:
        """Write the configuration that the starter reads."""
        start = {"start": "start", "none": "add", "trap": "route"}[self.actions.start]
        self.machine.write("/etc/ipsec.conf", _IPSEC_CONF % {**self._names(), "start": start})
        self.machine.write("/etc/ipsec.secrets", ': PSK "no real secret"\n', mode=0o600)

    def start(self) -> None:
        """Run charon and load the configuration, as charon-systemd's unit does."""
        self.machine.spawn(CHARON)
        until(self.answers, "charon answers")
        self.load()

    def stop(self) -> None:
        """End charon in its own way."""
        self.machine.kill("charon-systemd", signal.SIGTERM)

    def load(self) -> None:
        """Load the configuration."""
        self.machine.run("swanctl", "--load-all", "--noprompt")

    def answers(self) -> bool:
        """Return whether charon answers."""
        try:
            return bool(self.host.vici(VICI, "version", {}, timeout=1.0))
        except ViciError:
            return False

    def loaded(self) -> bool:
        """Return whether charon has a connection."""
        try:
            return len(self.host.vici(VICI, "list-conns", {}, stream="list-conn", timeout=1.0)) > 1
        except ViciError:
            return False

    def installed(self) -> int:
        """Return how many tunnels carry traffic."""
        try:
            found = self.host.vici(VICI, "list-sas", {}, stream="list-sa", timeout=5.0)
        except ViciError:
            return 0
        children = [sa for event in found for ike in event.values() for sa in ike["child-sas"].values()]
        return sum(sa["state"] == "INSTALLED" for sa in children)

    def inner_addresses(self) -> list[str]:
        """Return its addresses inside of the tunnels."""
        others = [(0, tunnel) for tunnel in range(1, self.actions.tunnels)]
        others += [(index, 0) for index in range(1, self.actions.up)]
        return [f"{self.inside}/24", *(f"10.{210 + self.number}.{index}.{tunnel}/32" for index, tunnel in others)]

    def _names(self) -> dict[str, object]:
        names = {1: "left", 2: "right"}
        return {
            "name": names[self.number],
            "peer": names[3 - self.number],
            "local": self.address,
            "remote": self.peer_address,
            "number": self.number,
            "other": 3 - self.number,
        }

    def _connection(self, index: int) -> str:
        tunnels = self.actions.tunnels if index == 0 else 1
        children = "\n".join(self._child(index, tunnel) for tunnel in range(tunnels))
        return _CONNECTION % {
            **self._names(),
            # The others are configured only: their peers are nobody.
            **({"remote": f"192.0.2.{index}"} if index >= self.actions.up else {}),
            "suffix": f"-{index}" if index else "",
            "dpd": self.actions.dpd_delay,
            "tries": self.actions.keyingtries,
            "children": children,
        }

    def _child(self, index: int, tunnel: int) -> str:
        # 10.201.x.0/24 is what the pings use; the others are networks that nobody is in.
        local, remote = (
            (f"10.201.{number}.0/24" if not index and not tunnel else f"10.{210 + number}.{index}.{tunnel}/32")
            for number in (self.number, 3 - self.number)
        )
        return _CHILD % {
            "child": f"tunnel-{tunnel}",
            "local_ts": local,
            "remote_ts": remote,
            "esp": self.actions.esp,
            "start": self.actions.start if index < self.actions.up else "none",
            "close": self.actions.close,
            "dpd_action": self.actions.dpd,
        }
