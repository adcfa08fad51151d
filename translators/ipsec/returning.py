"""After a restart: which tunnels are back, which are not, and why that is likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from translators.base import StepError
from translators.host import wait_until
from translators.ipsec.keeping import observed
from translators.ipsec.tunnels import INITIATOR, IkeSa, child_sas, ike_sas, up
from translators.ipsec.vici import Charon, sections
from translators.vici import ViciError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Host

# Where the settings say nothing else. A peer with close_action=start comes back within a second or two; one that
# doesn't makes everybody wait this long.
RETURN_SECONDS: Final = 15

BACK: Final = "back"
ON_DEMAND: Final = "on-demand"
MISSING: Final = "missing"
_ANY: Final = frozenset({"%any", "%any4", "%any6", "0.0.0.0/0", "::/0"})


@dataclass(frozen=True, slots=True)
class Return:
    """A tunnel after a restart: BACK, ON_DEMAND (the first packet brings it up), or MISSING with the likely reason."""

    connection: str
    child: str
    result: str
    reason: str = ""

    @property
    def name(self) -> str:
        """The tunnel's name."""
        return f"{self.connection}/{self.child}"


@dataclass(frozen=True, slots=True)
class ExpectTunnels:
    """Do nothing now; when the steps after it are undone, wait for the tunnels that were up: see AwaitTunnels."""

    kind: ClassVar[str] = "ipsec-expect"

    vici: str
    tunnels: tuple[tuple[str, ...], ...]
    seconds: int = RETURN_SECONDS

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"keep in mind which {len(self.tunnels)} IPsec tunnels are up"

    def perform(self, host: Host) -> None:
        pass

    def inverse(self) -> Step:
        return AwaitTunnels(self.vici, self.tunnels, self.seconds)

    def observe(self, host: Host) -> str:
        return observed(self.vici, host)


@dataclass(frozen=True, slots=True)
class AwaitTunnels:
    """Wait ``seconds`` at most for tunnels, each of (connection, child, role: who had begun it), to carry traffic.

    One that does not return is no failure: no other state of the driver would bring it back. ``returned`` tells.
    """

    kind: ClassVar[str] = "ipsec-await"

    vici: str
    tunnels: tuple[tuple[str, ...], ...]
    seconds: int = RETURN_SECONDS

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"wait for {len(self.tunnels)} IPsec tunnels (VICI list-sas at {self.vici})"

    def perform(self, host: Host) -> None:
        charon = Charon(host, self.vici)

        def settled() -> bool:
            # A charon that has just been started has no socket for a moment.
            try:
                return not waited_for(charon, self.tunnels)
            except ViciError:
                return False

        try:
            if not wait_until(host, settled, seconds=self.seconds):
                waited_for(charon, self.tunnels)
        except (ViciError, ValueError) as error:
            raise StepError(str(error)) from error

    def inverse(self) -> Step:
        return ExpectTunnels(self.vici, self.tunnels, self.seconds)

    def observe(self, host: Host) -> str:
        return observed(self.vici, host)


def tunnels_up(charon: Charon) -> tuple[tuple[str, ...], ...]:
    """Return the tunnels that carry traffic, as AwaitTunnels takes them. Raises ViciError, ValueError."""
    return tuple((*tunnel, child.ike.role) for tunnel, child in sorted(up(child_sas(charon)).items()))


def returned(charon: Charon, tunnels: tuple[tuple[str, ...], ...]) -> tuple[Return, ...]:
    """Return what became of tunnels that were up before. Raises ViciError, ValueError."""
    present = up(child_sas(charon))
    missing = _without(tunnels, set(present))
    if not missing:
        return tuple(Return(connection, child, BACK) for connection, child, _role in tunnels)
    traps = charon.traps()
    connections = charon.connections()
    ikes = {ike.connection: ike for ike in ike_sas(charon)}
    found = []
    for connection, child, role in tunnels:
        if (connection, child) in present:
            found.append(Return(connection, child, BACK))
        elif (connection, child) in traps:
            found.append(Return(connection, child, ON_DEMAND, "the first packet for it brings it up"))
        else:
            reason = _reason(child, role, connections.get(connection), ikes.get(connection))
            found.append(Return(connection, child, MISSING, reason))
    return tuple(found)


def waited_for(charon: Charon, tunnels: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return the tunnels that are neither up nor brought up by the first packet. Raises ViciError, ValueError."""
    missing = _without(tunnels, set(up(child_sas(charon))))
    return _without(missing, charon.traps()) if missing else ()


def _without(tunnels: tuple[tuple[str, ...], ...], found: set[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tunnel for tunnel in tunnels if (tunnel[0], tunnel[1]) not in found)


def _reason(child: str, role: str, connection: dict[str, Any] | None, ike: IkeSa | None) -> str:
    if connection is None:
        return "charon has no connection of that name now: was its configuration loaded (swanctl --load-all)?"
    configured = dict(sections(connection, "children")).get(child)
    if configured is None:
        return "charon's connection has no child of that name now: was its configuration changed and loaded?"
    if ike is not None and ike.state == "CONNECTING":
        return f"charon is connecting, and {ike.remote_address} has not answered yet"
    if ike is not None and ike.state == "ESTABLISHED":
        return (
            f"the IKE SA with {ike.remote_address} is up without it: the peer refuses its proposal or traffic "
            "selectors, or neither side has begun it; charon's log says which"
        )
    addresses = connection.get("remote_addrs")
    if isinstance(addresses, list) and _ANY & {address.strip() for entry in addresses for address in entry.split(",")}:
        return "only the peer can begin it, as its address is any here, and it has not"
    if role == INITIATOR:
        return (
            "nothing begins it here: its start_action is none, and the peer's close_action or dpd_action has not "
            f"begun it either; swanctl --initiate --child {child} does"
        )
    return (
        "the peer had begun it and has not again: with close_action none or trap there it does not when this side "
        "closes it, only its dpd_action or its traffic can; set close_action = start on the peer, or start_action = "
        f"start here ({_actions(configured)} here)"
    )


def _actions(configured: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} is {configured[name]}"
        for name in ("close_action", "dpd_action")
        if isinstance(configured.get(name), str)
    )
