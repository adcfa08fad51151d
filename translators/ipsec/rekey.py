"""Every tunnel gets new SAs, which the kernel gives to the crypto driver that is the best one by now.

Rekeying makes the new SAs before the old ones go, so no packet is lost.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import StepError
from translators.host import POLL_INTERVAL
from translators.ipsec.events import CHILD_REKEY, succeeded
from translators.ipsec.keeping import observed, stopping
from translators.ipsec.tunnels import INSTALLED, ChildSa, child_sas
from translators.ipsec.vici import Charon
from translators.vici import ViciCommandError, ViciError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.base import Disturbance, Step
    from translators.host import Host

# Each costs both sides a key exchange, and one IKE SA makes one at a time.
AT_A_TIME: Final = 16
# Long enough for a lost message and its first two repetitions (4 and 7.2 s by default).
TUNNEL_SECONDS: Final = 20.0
ALL_SECONDS: Final = 180.0
# To look is a listing of all: where nothing moves it is done less often.
MOST_PAUSE: Final = 0.5

MOVED: Final = "moved"
KEPT: Final = "kept"
LOST: Final = "lost"

_ALIVE: Final = frozenset({INSTALLED, "UPDATING", "REKEYING"})
# The peer has deleted it; here it stays for some seconds, for packets that are late.
_OVER: Final = frozenset({"REKEYED", "DELETED"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tunnel: it MOVED to a new SA, KEPT its old one, or is LOST; and why."""

    connection: str
    child: str
    result: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RekeyTunnels:
    """Rekey all child SAs of the charon at the socket ``vici``; ``tunnels`` are those that are up: see AwaitTunnels.

    Rekeying can't be undone by rekeying: the driver would be taken again. Before it can be stopped, the SAs have to go:
    so the inverse is to stop IPsec, and that of KeepRunning, which comes before the driver's steps, to start it.
    """

    kind: ClassVar[str] = "ipsec-rekey"

    owner: str
    name: str
    vici: str
    tunnels: tuple[tuple[str, ...], ...]

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"rekey {len(self.tunnels)} IPsec tunnels (VICI rekey at {self.vici})"

    def perform(self, host: Host) -> None:
        """Rekey them; that some tunnels keep their SA is no failure: they go on, and move at their next rekeying.

        Undoing what was changed for the others would interrupt all of them.
        """
        try:
            outcomes = rekey_all(Charon(host, self.vici))
        except (ViciError, ValueError) as error:
            raise StepError(str(error)) from error
        if outcomes and not any(outcome.result == MOVED for outcome in outcomes):
            # It is all of them: their names, which not everybody may know, would say no more.
            reasons = Counter(outcome.reason for outcome in outcomes)
            counted = "; ".join(f"{count} {reason}" for reason, count in reasons.items())
            raise StepError(f"none of {len(outcomes)} tunnels was rekeyed: {counted}")

    def inverse(self) -> Step:
        return stopping(self.owner, self.name, self.vici)

    def observe(self, host: Host) -> str:
        return observed(self.vici, host)


def rekey_all(charon: Charon) -> tuple[Outcome, ...]:
    """Rekey every child SA and return what became of each, in the order of the listing.

    charon tells of each successor: so all are listed only where it has told nothing for a moment, and at the end.
    Raises ViciError, ValueError.
    """
    targets = [child for child in child_sas(charon) if child.state in _ALIVE]
    work = _Work(charon)
    waiting = targets[::-1]
    end = charon.host.monotonic() + ALL_SECONDS
    while waiting or work.asked:
        while waiting and len(work.untold) < AT_A_TIME and charon.host.monotonic() < end:
            work.ask(waiting.pop())
        if waiting and not work.asked:
            work.results |= {
                child.identity: _kept(child, f"not asked for within {ALL_SECONDS:g} s") for child in waiting
            }
            break
        if not work.hear() or not (work.untold or waiting):
            work.look()
    return tuple(work.results[child.identity] for child in targets)


class _Work:
    """What was asked for, each with its deadline, and what came of it, by the old SA's number.

    ``untold`` are the numbers of those of whose successors charon has not told.
    """

    def __init__(self, charon: Charon) -> None:
        self.charon = charon
        self.asked: dict[int, tuple[ChildSa, float]] = {}
        self.untold: set[int] = set()
        self.results: dict[int, Outcome] = {}
        self._pause = POLL_INTERVAL
        self._news = self._told()
        # It is listened to before anything is asked for.
        next(self._news)

    def ask(self, child: ChildSa) -> None:
        # One that is being rekeyed already needs no more than to be watched.
        if child.state == INSTALLED:
            # It went, or was rekeyed, since it was listed: what is listed now says which.
            with contextlib.suppress(ViciCommandError):
                self.charon.rekey(child.identity)
        self.asked[child.identity] = child, self.charon.host.monotonic() + TUNNEL_SECONDS
        self.untold.add(child.identity)

    def hear(self) -> bool:
        """Wait for news of what was asked for, and return whether there are any, and none is overdue."""
        if not self.untold:
            self.charon.host.sleep(self._pause)
            return False
        told = next(self._news)
        self.untold -= told
        now = self.charon.host.monotonic()
        return bool(told) and all(now < deadline for _child, deadline in self.asked.values())

    def look(self) -> None:
        """Look what has come of what was asked for."""
        before = len(self.results)
        listed = child_sas(self.charon)
        now = self.charon.host.monotonic()
        states = {child.identity: child.state for child in listed}
        youngest = {child.reqid: child.identity for child in listed if child.state == INSTALLED}
        for identity, (child, deadline) in tuple(self.asked.items()):
            state = states.get(identity)
            gone = state is None or state in _OVER
            if gone and youngest.get(child.reqid, -1) > identity:
                self._end(child, MOVED, "")
            elif now >= deadline:
                if gone:
                    self._end(child, LOST, "without an SA: does the peer refuse the proposal for a new one?")
                else:
                    self._end(child, KEPT, f"not rekeyed within {TUNNEL_SECONDS:g} s: does the peer answer?")
        self._pause = POLL_INTERVAL if len(self.results) > before else min(self._pause * 1.2, MOST_PAUSE)

    def _told(self) -> Iterator[set[int]]:
        """Yield the numbers of SAs that have a successor as charon tells of them, none for a moment without news."""
        # One that can't be listened to, or understood, is looked at instead.
        with contextlib.suppress(ViciError, ValueError):
            for heard in self.charon.events((CHILD_REKEY,)):
                yield set() if heard is None else succeeded(*heard)
        while True:
            yield set()
            self.charon.host.sleep(self._pause)

    def _end(self, child: ChildSa, result: str, reason: str) -> None:
        del self.asked[child.identity]
        self.untold.discard(child.identity)
        self.results[child.identity] = Outcome(*child.tunnel, result, reason)


def _kept(child: ChildSa, reason: str) -> Outcome:
    return Outcome(*child.tunnel, KEPT, reason)
