"""A restart of IPsec that a step makes by itself: what is planned around it, and what is told of it."""

from __future__ import annotations

import pytest

from tests.translators.charon import FakeCharon, gateway
from translators.apply import apply, unwind
from translators.base import Disturbance, Plan, Refresh, Touched
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.returning import RETURN_SECONDS
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.vici import SOCKET
from translators.record import RecordedHost
from translators.vici import ViciAbsentError, ViciTimeoutError

TUNNELS = (("a", "net", "initiator"), ("b", "net", "responder"))
FIRST = AttendTunnels(SOCKET, TUNNELS, interrupted=False)
LAST = AttendTunnels(SOCKET, TUNNELS, interrupted=True)


def itself(method: str = "restart", *, enabling: bool = True) -> Disturbance:
    return Disturbance("ipsec", method, enabling=enabling, by_itself=True)


def two_tunnels() -> FakeCharon:
    charon = FakeCharon()
    charon.tunnel("a")
    charon.tunnel("b", initiator=False)
    return charon


def renewed(charon: FakeCharon, *names: str) -> None:
    """Make the SAs anew of these connections, and no others."""
    charon.sas = [sa for sa in charon.sas if sa.connection in names]
    for sa in charon.sas:
        sa.identity += 10


@pytest.mark.parametrize("method", ["restart", "rekey", "none"])
def test_nothing_is_done_to_ipsec_whatever_was_asked_for(method: str) -> None:
    host, systemd = gateway(two_tunnels())
    before, after = IpsecTranslator().around((itself(method), itself(method, enabling=False)), host)
    assert before.steps == (FIRST,)
    assert after.steps == (LAST,)
    assert before.notes[0] == "the restart interrupts 2 tunnels"
    assert before.notes[1].startswith("the peer had begun 1 of them: ")
    apply(Plan((*before.steps, *after.steps)), host)
    assert systemd.jobs == []
    assert (FIRST.disturbs, FIRST.describe()) == (None, "keep in mind which 2 IPsec tunnels are up")
    assert LAST.describe() == f"wait for 2 IPsec tunnels (VICI list-sas at {SOCKET})"
    assert LAST.observe(host) == "2 tunnels are up"


def test_without_tunnels_there_is_nothing_to_wait_for() -> None:
    host, _systemd = gateway(FakeCharon())
    assert IpsecTranslator().around((itself(),), host) == (Plan(), Plan())


def test_a_charon_that_can_not_be_asked_is_said_and_one_without_vici_is_not() -> None:
    def hangs(_host: RecordedHost, _command: str, _message: object) -> list[dict[str, object]]:
        raise ViciTimeoutError(SOCKET, "charon did not answer")

    def absent(_host: RecordedHost, _command: str, _message: object) -> list[dict[str, object]]:
        raise ViciAbsentError(SOCKET, "there is no such socket")

    host, _systemd = gateway(FakeCharon())
    host.daemons[SOCKET] = hangs
    before, after = IpsecTranslator().around((itself(),), host)
    (note,) = before.notes
    assert note.startswith("which tunnels the restart interrupts can't be told: ")
    assert (before.steps, after) == ((), Plan())
    host.daemons[SOCKET] = absent
    assert IpsecTranslator().around((itself(),), host) == (Plan(), Plan())


def test_tunnels_are_waited_for_after_the_change_or_after_it_is_undone() -> None:
    charon = two_tunnels()
    host, _systemd = gateway(charon)
    charon.sas = []
    FIRST.perform(host)
    assert host.elapsed == 0
    LAST.perform(host)
    assert host.elapsed >= RETURN_SECONDS
    assert unwind(Plan((LAST.inverse(),)), host) == ()
    assert (FIRST.inverse(), LAST.inverse()) == (LAST, FIRST)


def test_the_settings_say_how_long_tunnels_are_waited_for() -> None:
    charon = two_tunnels()
    host, _systemd = gateway(charon)
    before, after = IpsecTranslator(return_seconds=40).around((itself(),), host)
    charon.sas, began = [], host.monotonic()
    apply(after, host)
    assert began + 40 <= host.monotonic() < began + 41
    assert before.steps == tuple(step.inverse() for step in after.steps)


def test_a_charon_that_answers_no_more_is_no_failure() -> None:
    host, _systemd = gateway(two_tunnels())
    del host.daemons[SOCKET]
    host.elapsed = 0
    LAST.perform(host)
    assert host.elapsed >= RETURN_SECONDS


def test_what_became_of_the_tunnels_is_told() -> None:
    charon = two_tunnels()
    host, _systemd = gateway(charon)
    renewed(charon, "a")
    event = IpsecTranslator().refreshed(Refresh((FIRST, LAST), 0.0, 1.5), host)
    assert event is not None
    assert event.notification is not None
    told = event.notification["hardware-acceleration:ipsec-refresh"]
    assert (told["method"], told["outcome"], told["tunnels-before"], told["tunnels-after"]) == (
        "restart",
        "partial",
        2,
        1,
    )
    assert [tunnel["name"] for tunnel in told["missing-tunnel"]] == ["b/net"]


def test_tunnels_that_nobody_has_touched_are_no_news() -> None:
    host, _systemd = gateway(two_tunnels())
    assert IpsecTranslator().refreshed(Refresh((FIRST,), 0.0, 1.5, undone=True), host) is None


def test_the_tunnels_are_touched() -> None:
    found = IpsecTranslator().touched((FIRST, LAST), RecordedHost(complete=True), None, named=True)
    assert found == Touched(("a/net", "b/net"), ("tunnels that their peer had begun: b/net",))
