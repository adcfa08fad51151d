"""What is planned around a change of the driver, carried out on machines in memory."""

import errno
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.translators.charon import FakeCharon, gateway
from tests.translators.test_ipsec_state import child, ike
from translators.apply import PlanFailedError, apply, undo_of, unwind
from translators.base import Disturbance, Plan, Refresh, Step, StepError, TranslatorError
from translators.ipsec.keeping import KeepRunning
from translators.ipsec.rekey import AT_A_TIME, KEPT, LOST, MOVED, RekeyTunnels, rekey_all
from translators.ipsec.report import Refreshed, refreshed
from translators.ipsec.returning import AwaitTunnels, ExpectTunnels, returned
from translators.ipsec.service import StopService
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.unit import StartUnit, StopUnit
from translators.ipsec.vici import SOCKET, Charon
from translators.plans import decode, encode
from translators.record import RecordedHost
from translators.systemd import SystemdError
from translators.vici import Message, ViciTimeoutError

IPSEC = "/usr/sbin/ipsec"
UNIT = "strongswan.service"
RESTART = Disturbance("ipsec", "restart", enabling=True)
REKEY = Disturbance("ipsec", "rekey", enabling=True)
REKEY_OFF = Disturbance("ipsec", "rekey", enabling=False)


KEEP = KeepRunning("systemd", UNIT, SOCKET)


def rekeying(tunnels: tuple[tuple[str, ...], ...]) -> RekeyTunnels:
    return RekeyTunnels("systemd", UNIT, SOCKET, tunnels)


def two_tunnels() -> FakeCharon:
    charon = FakeCharon()
    charon.tunnel("a")
    charon.tunnel("b", initiator=False)
    return charon


TUNNELS = (("a", "net", "initiator"), ("b", "net", "responder"))
EXPECT = ExpectTunnels(SOCKET, TUNNELS)


def done(*steps: Step) -> Refresh:
    return Refresh(steps, 0.0, 1.0)


def undone(*steps: Step) -> Refresh:
    return Refresh(steps, 0.0, 1.0, undone=True)


def test_a_unit_is_restarted_and_its_tunnels_are_awaited() -> None:
    host, systemd = gateway(two_tunnels())
    before, after = IpsecTranslator().around((RESTART,), host)
    assert before.steps == (EXPECT, StopUnit(UNIT, SOCKET))
    assert after.steps == (StartUnit(UNIT, SOCKET), AwaitTunnels(SOCKET, TUNNELS))
    assert before.notes[0] == "the restart interrupts 2 tunnels"
    assert before.notes[1].startswith("the peer had begun 1 of them: with close_action none")
    assert systemd.jobs == []
    apply(before, host)
    apply(after, host)
    assert systemd.jobs == [("stop", UNIT), ("start", UNIT)]


@pytest.mark.parametrize("disturbance", [RESTART, REKEY])
def test_the_settings_say_how_long_tunnels_are_waited_for_also_when_it_is_undone(disturbance: Disturbance) -> None:
    host, _systemd = gateway(charon := two_tunnels())
    before, after = IpsecTranslator(return_seconds=40).around((disturbance,), host)
    assert before.steps[0] == ExpectTunnels(SOCKET, TUNNELS, 40)
    if disturbance is RESTART:
        assert after.steps[-1] == AwaitTunnels(SOCKET, TUNNELS, 40)
    charon.sas, began = [], host.monotonic()
    before.steps[0].inverse().perform(host)
    assert began + 40 <= host.monotonic() < began + 41


def test_the_plan_survives_the_journal() -> None:
    plan = Plan((StopUnit(UNIT, SOCKET), KEEP, rekeying(TUNNELS), AwaitTunnels(SOCKET, TUNNELS, 40), EXPECT))
    assert decode(encode(plan)) == plan


def test_bringing_acceleration_on_rekeys() -> None:
    host, systemd = gateway(charon := two_tunnels())
    before, after = IpsecTranslator().around((REKEY,), host)
    assert (before, after) == (Plan((EXPECT, KEEP)), Plan((rekeying(TUNNELS),)))
    undo = (*apply(after, host).steps, *apply(before, host).steps)
    # Between them is the driver's step: it can't stop while tunnels use it.
    assert undo == (StopUnit(UNIT, SOCKET), StartUnit(UNIT, SOCKET), AwaitTunnels(SOCKET, TUNNELS))
    assert [sa.identity for sa in charon.sas if sa.state == "INSTALLED"] == [3, 4]
    assert systemd.jobs == []


def without_tunnels() -> FakeCharon:
    charon = two_tunnels()
    charon.sas = []
    return charon


def test_without_tunnels_there_is_nothing_to_rekey() -> None:
    host, _systemd = gateway(without_tunnels())
    assert IpsecTranslator().around((REKEY,), host) == (Plan(), Plan())
    # There is something to restart: a tunnel may come up while the driver starts.
    before, after = IpsecTranslator().around((RESTART,), host)
    assert (before, after) == (Plan((StopUnit(UNIT, SOCKET),)), Plan((StartUnit(UNIT, SOCKET),)))


@pytest.mark.parametrize("disturbance", [RESTART, REKEY, REKEY_OFF])
def test_a_charon_that_is_not_configured_is_left_alone(disturbance: Disturbance) -> None:
    host, _systemd = gateway(FakeCharon())
    before, after = IpsecTranslator().around((disturbance,), host)
    assert (before.steps, after.steps) == ((), ())
    assert before.notes == (
        "charon runs and has neither a connection nor an SA: IPsec is not configured, and left alone",
    )


def test_an_sa_whose_connection_is_no_longer_loaded_is_not_forgotten() -> None:
    host, _systemd = gateway(charon := two_tunnels())
    charon.connections = {}
    charon.sas = [replace(sa, state="REKEYED") for sa in charon.sas]
    assert IpsecTranslator().around((RESTART,), host)[0].steps == (StopUnit(UNIT, SOCKET),)


@pytest.mark.parametrize("disturbances", [(REKEY_OFF,), (REKEY_OFF, REKEY)])
def test_taking_acceleration_off_restarts_instead_of_rekeying(disturbances: tuple[Disturbance, ...]) -> None:
    host, _systemd = gateway(two_tunnels())
    before, after = IpsecTranslator().around(disturbances, host)
    assert before.steps == (EXPECT, StopUnit(UNIT, SOCKET))
    assert after.steps[0] == StartUnit(UNIT, SOCKET)
    assert before.notes[0] == (
        "ipsec-refresh is rekey, and the tunnels have to leave a driver before it stops: IPsec is restarted instead"
    )


SILENT = f"{SOCKET}: charon did not answer list-sas within 2 s"


class Hanging(RecordedHost):
    """A machine whose charon takes questions and, while it ``hangs``, does not answer; ``waited`` is for how long."""

    hangs = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.waited: list[tuple[str, float | None]] = []

    def vici(self, path: str, command: str, message: Mapping[str, Any], **options: Any) -> list[Message]:
        if not self.hangs:
            return super().vici(path, command, message, **options)
        silence = options["silence"]
        self.waited.append((command, silence))
        self.elapsed += silence
        raise ViciTimeoutError(path, f"charon did not answer {command} within {silence:g} s")


def hanging() -> Hanging:
    host, _systemd = gateway(two_tunnels(), Hanging)
    assert isinstance(host, Hanging)
    return host


@pytest.mark.parametrize("disturbance", [RESTART, REKEY_OFF])
def test_a_charon_that_hangs_is_restarted_and_the_plan_says_that_its_tunnels_are_unknown(
    disturbance: Disturbance,
) -> None:
    host = hanging()
    before, after = IpsecTranslator().around((disturbance,), host)
    assert before.steps == (StopUnit(UNIT, ""),)
    assert after.steps == (StartUnit(UNIT, ""),)
    assert before.notes[-1] == f"which tunnels the restart interrupts can't be told: {SILENT}"
    assert len(before.notes) == (2 if disturbance is REKEY_OFF else 1)


def test_a_charon_that_can_t_be_asked_for_a_rekey_is_not_restarted_instead() -> None:
    host = hanging()
    with pytest.raises(TranslatorError) as caught:
        IpsecTranslator().around((REKEY,), host)
    assert caught.value.path == "/hardware-acceleration:acceleration/qat/ipsec-refresh"
    assert f"charon can't be asked for it: {SILENT}. Nothing is done. Have charon restarted by {UNIT}, or set" in str(
        caught.value
    )
    del host.daemons[SOCKET]
    host.hangs = False
    with pytest.raises(TranslatorError, match="there is no such socket"):
        IpsecTranslator().around((REKEY,), host)


def test_a_charon_that_hung_a_moment_ago_is_waited_for_less() -> None:
    host = hanging()
    translator = IpsecTranslator()
    for _edit in range(3):
        with pytest.raises(TranslatorError) as caught:
            translator.around((REKEY,), host)
    assert host.waited == [("list-sas", 2.0), ("list-sas", 0.2), ("list-sas", 0.2)]
    assert "did not answer within 2 s a moment ago, and still does not" in str(caught.value)
    host.sleep(10)
    with pytest.raises(TranslatorError):
        translator.around((REKEY,), host)
    assert host.waited[-1] == ("list-sas", 2.0)
    # One that answers is forgiven at once.
    host.hangs = False
    assert translator.around((REKEY,), host)[1].steps == (rekeying(TUNNELS),)
    host.hangs = True
    host.waited.clear()
    with pytest.raises(TranslatorError):
        translator.around((REKEY,), host)
    assert host.waited == [("list-sas", 2.0)]


def test_an_sa_that_can_t_be_read_is_not_named_in_the_plan() -> None:
    host, _systemd = gateway(two_tunnels())
    host.daemons[SOCKET] = lambda _host, _command, _message: [{"a": {"uniqueid": "x"}}]
    (note,) = IpsecTranslator().around((RESTART,), host)[0].notes
    assert note.endswith("can't be told: charon lists an SA that can't be read (see swanctl --list-sas)")


@pytest.mark.parametrize("step", [rekeying(TUNNELS), AwaitTunnels(SOCKET, TUNNELS)])
def test_an_sa_that_can_t_be_read_is_not_named_in_an_error(step: Step) -> None:
    host, _systemd = gateway(two_tunnels())
    host.daemons[SOCKET] = lambda _host, _command, _message: [ike("secret", child(4, "name", uniqueid="x"))]
    with pytest.raises(StepError, match=r"^charon lists an SA that can't be read") as raised:
        step.perform(host)
    assert "secret" not in f"{raised.value} {step.observe(host)}"


def test_the_unit_of_the_settings_is_acted_on() -> None:
    host, systemd = gateway(two_tunnels())
    systemd.units = {"ike.service": replace(systemd.units[UNIT], name="ike.service", main_pid=1)}
    with pytest.raises(TranslatorError, match="neither by a unit of systemd"):
        IpsecTranslator().around((RESTART,), host)
    before, _after = IpsecTranslator("systemd:ike.service").around((RESTART,), host)
    assert before.steps == (EXPECT, StopUnit("ike.service", SOCKET))
    systemd.units["ike.service"] = replace(systemd.units["ike.service"], active_state="inactive")
    before, after = IpsecTranslator("systemd:ike.service").around((RESTART,), host)
    assert (before.steps, after) == ((), Plan())
    assert before.notes[0].startswith("ike.service does not run, and a charon does that somebody else has started")
    with pytest.raises(TranslatorError, match=r"there is no unit no\.service"):
        IpsecTranslator("systemd:no.service").around((RESTART,), host)


def test_a_starter_in_a_foreign_unit_is_acted_on_itself() -> None:
    host, systemd = gateway(two_tunnels())
    systemd.processes[700] = "ssh.service"
    systemd.units["ssh.service"] = replace(systemd.units[UNIT], name="ssh.service", main_pid=22)
    host.files["/proc/699/comm"] = b"starter\n"
    host.programs[IPSEC] = lambda _host, _argv: (0, "")
    with pytest.raises(TranslatorError, match="neither by a unit of systemd nor by strongSwan's starter"):
        # Which is no child of a starter.
        IpsecTranslator().around((RESTART,), host)
    host.files["/proc/700/comm"] = b"charon\n"
    for control in ("auto", "starter"):
        before, _after = IpsecTranslator(control).around((RESTART,), host)
        assert before.steps == (EXPECT, StopService("starter", IPSEC, SOCKET))


def test_a_unit_s_charon_is_not_the_starter_s_though_the_settings_say_so() -> None:
    host, systemd = gateway(two_tunnels())
    host.programs[IPSEC] = lambda _host, _argv: (0, "")
    with pytest.raises(TranslatorError, match=rf"charon is run by {UNIT} of systemd: ipsec stop would not") as caught:
        IpsecTranslator("starter").around((RESTART,), host)
    assert caught.value.path == "/hardware-acceleration:acceleration/qat/ipsec-refresh"
    assert (host.ran, systemd.jobs) == ([], [])
    systemd.job(UNIT, "stop", timeout=1.0)
    assert IpsecTranslator("starter").around((RESTART,), host) == (Plan(), Plan())


def test_a_systemd_that_does_not_answer_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    host, systemd = gateway(two_tunnels())

    def fail(pid: int) -> str | None:
        raise SystemdError(f"the unit of process {pid}: systemd did not answer within 10 s")

    monkeypatch.setattr(systemd, "unit_of", fail)
    with pytest.raises(TranslatorError, match="systemd did not answer"):
        IpsecTranslator().around((RESTART,), host)


def test_a_job_that_fails_says_how_the_unit_is() -> None:
    host, systemd = gateway(two_tunnels())
    host.programs["/usr/bin/journalctl"] = lambda _host, argv: (0, f"log of {argv[2]}\n")
    systemd.result = "failed"
    systemd.units[UNIT] = replace(systemd.units[UNIT], active_state="failed", sub_state="failed", result="exit-code")
    with pytest.raises(StepError) as caught:
        StartUnit(UNIT, SOCKET).perform(host)
    assert caught.value.message == (
        f"{UNIT}: the job's result is failed; {UNIT} is failed (failed), its result exit-code"
    )
    assert caught.value.command == f"systemctl start {UNIT}"
    assert caught.value.output == f"log of {UNIT}\n"


def test_a_log_that_can_t_be_read_hides_nothing() -> None:
    host, systemd = gateway(two_tunnels())
    systemd.result = "timeout"
    with pytest.raises(StepError, match="the job's result is timeout") as caught:
        StopUnit(UNIT, SOCKET).perform(host)
    assert caught.value.output.startswith("its log can't be read")


def test_a_charon_that_stays_after_its_unit_fails_the_stop() -> None:
    host, _systemd = gateway(two_tunnels())
    host.files["/proc/800/comm"] = b"charon\n"
    with pytest.raises(StepError, match="the unit has stopped, and a charon still runs"):
        StopUnit(UNIT, SOCKET).perform(host)


def test_a_machine_without_systemd_fails_the_step() -> None:
    host, _systemd = gateway(two_tunnels())
    host.manager = None
    with pytest.raises(StepError, match="there is no system bus"):
        StopUnit(UNIT, SOCKET).perform(host)
    assert "no system bus" in StopUnit(UNIT, SOCKET).observe(host)


def test_rekeying_is_paced_and_tells_of_each_tunnel() -> None:
    charon = FakeCharon()
    for number in range(3 * AT_A_TIME):
        charon.tunnel(f"c{number}")
    host, _systemd = gateway(charon)
    outcomes = rekey_all(Charon(host))
    assert [outcome.connection for outcome in outcomes] == [f"c{number}" for number in range(3 * AT_A_TIME)]
    assert {outcome.result for outcome in outcomes} == {MOVED}
    assert charon.most_at_a_time == AT_A_TIME
    commands = [command for command, _message in host.asked]
    assert commands.count("rekey") == 3 * AT_A_TIME
    # Looking costs a listing of all: their number must not grow with that of the tunnels.
    assert commands.count("list-sas") < 12


def test_successors_that_charon_tells_of_are_not_looked_for() -> None:
    charon = FakeCharon()
    for number in range(1, 3 * AT_A_TIME + 1):
        charon.tunnel(f"c{number}", deaf=number == 5)
    host, _systemd = gateway(charon)

    def rekeyed(number: int) -> tuple[str, dict[str, Any]]:
        old = {"name": "net", "uniqueid": str(number), "reqid": str(number)}
        return "child-rekey", ike(f"c{number}", {f"net-{number}": {"old": old, "new": {**old, "uniqueid": "900"}}})

    # The first is of somebody else's doing, before anything is asked for.
    host.events[SOCKET] = [rekeyed(number) for number in (700, *range(1, 3 * AT_A_TIME + 1)) if number != 5]
    outcomes = rekey_all(Charon(host))
    assert [outcome.connection for outcome in outcomes if outcome.result != MOVED] == ["c5"]
    assert charon.most_at_a_time > AT_A_TIME, "the next are asked for without a look"
    # Then charon tells nothing more, and the one that is left is looked at until it is given up.
    first = [command for command, _message in host.asked][: 3 * AT_A_TIME + 2]
    assert first.count("list-sas") == 2


def test_a_tunnel_that_is_not_rekeyed_is_told_apart_from_one_that_is_lost() -> None:
    charon = FakeCharon()
    charon.tunnel("fine")
    charon.tunnel("deaf", deaf=True)
    charon.tunnel("refused", refusing=True)
    host, _systemd = gateway(charon)
    assert [outcome.result for outcome in rekey_all(Charon(host))] == [MOVED, KEPT, LOST]
    rekeying(()).perform(host)


def test_tunnels_that_nobody_answers_for_do_not_hold_it_up_for_ever() -> None:
    charon = FakeCharon()
    for number in range(160):
        charon.tunnel(f"c{number}", deaf=True)
    host, _systemd = gateway(charon)
    outcomes = rekey_all(Charon(host))
    assert {outcome.result for outcome in outcomes} == {KEPT}
    assert "not asked for within 180 s" in outcomes[-1].reason
    assert host.monotonic() < 220


def test_when_no_tunnel_is_rekeyed_the_step_fails() -> None:
    charon = FakeCharon()
    charon.tunnel("deaf", deaf=True)
    host, _systemd = gateway(charon)
    charon.tunnel("refused", refusing=True)
    charon.tunnel("as-deaf", deaf=True)
    said = "none of 3 tunnels was rekeyed: 2 not rekeyed within 20 s: does the peer answer?; 1 without an SA: "
    with pytest.raises(PlanFailedError, match=re.escape(said)):
        apply(Plan((rekeying(()),)), host)


def test_a_charon_that_is_gone_fails_the_steps() -> None:
    host, _systemd = gateway(two_tunnels())
    del host.daemons[SOCKET]
    for step in (rekeying(TUNNELS), AwaitTunnels(SOCKET, TUNNELS)):
        with pytest.raises(StepError, match="there is no such socket"):
            step.perform(host)
        assert "can't be told" in step.observe(host)


def test_each_missing_tunnel_has_its_reason() -> None:
    charon = FakeCharon()
    for name in ("unloaded", "changed", "anyone", "begun", "theirs", "demand"):
        charon.tunnel(name)
    host, _systemd = gateway(charon)
    charon.sas = charon.sas[:0]
    charon.traps = [("demand", "net")]
    del charon.connections["unloaded"]
    charon.connections["changed"]["children"] = {}
    charon.connections["anyone"]["remote_addrs"] = ["%any"]
    names = ("unloaded", "changed", "anyone", "begun", "theirs", "demand")
    tunnels = tuple((name, "net", "responder" if name == "theirs" else "initiator") for name in names)
    AwaitTunnels(SOCKET, tunnels).perform(host)
    found = {tunnel.connection: tunnel for tunnel in returned(Charon(host), tunnels)}
    assert "no connection of that name now" in found["unloaded"].reason
    assert "no child of that name now" in found["changed"].reason
    assert "only the peer can begin it" in found["anyone"].reason
    assert "swanctl --initiate --child net" in found["begun"].reason
    assert "close_action is none, dpd_action is restart here" in found["theirs"].reason
    assert found["demand"].result == "on-demand"


def test_what_came_of_a_rekey_is_told_by_the_machine() -> None:
    host, _systemd = gateway(charon := two_tunnels())
    rekey = done(EXPECT, KEEP, rekeying(TUNNELS))
    kept = "it still has its old SA, and moves at its next rekeying"
    assert refreshed(rekey, host) == Refreshed("rekey", 2, 2, (("a/net", kept), ("b/net", kept)))
    rekeying(TUNNELS).perform(host)
    assert refreshed(rekey, host) == Refreshed("rekey", 2, 2)
    charon.sas = [sa for sa in charon.sas if sa.connection == "a"]
    assert refreshed(rekey, host) == Refreshed("rekey", 2, 1, (("b/net", "it has no SA now"),))


def test_what_came_of_a_restart_is_told_by_the_machine() -> None:
    host, _systemd = gateway(charon := two_tunnels())
    restart = (EXPECT, StopUnit(UNIT, SOCKET), StartUnit(UNIT, SOCKET), AwaitTunnels(SOCKET, TUNNELS))
    assert refreshed(done(*restart), host) == Refreshed("restart", 2, 2)
    charon.sas = [sa for sa in charon.sas if sa.connection == "a"]
    # Whether it is done, or undone after its first step.
    for refresh in (done(*restart), undone(*restart[:2])):
        found = refreshed(refresh, host)
        assert found is not None
        assert (found.method, found.before, found.after) == ("restart", 2, 1)
        assert found.missing[0][1].startswith("the peer had begun it and has not again")
    assert refreshed(done(StopUnit(UNIT, SOCKET)), host) == Refreshed("restart")


def test_a_rekey_that_was_not_begun_is_none_and_one_that_was_undone_is_a_restart() -> None:
    host, _systemd = gateway(two_tunnels())
    translator = IpsecTranslator()
    assert translator.refreshed(undone(EXPECT, KEEP), host) is None
    event = translator.refreshed(undone(EXPECT, KEEP, rekeying(TUNNELS)), host)
    assert event is not None
    assert event.text == "IPsec was restarted within 1000 ms, 2 of 2 tunnels are up: succeeded"


def test_a_refresh_is_told_with_each_tunnel_that_is_missing() -> None:
    host, _systemd = gateway(charon := two_tunnels())
    charon.sas = [sa for sa in charon.sas if sa.connection == "a"]
    charon.traps = [("b", "net")]
    event = IpsecTranslator().refreshed(done(EXPECT, StopUnit(UNIT, SOCKET)), host)
    assert event is not None
    assert event.severity == "warning"
    reason = "the first packet for it brings it up"
    assert event.text == f"IPsec was restarted within 1000 ms, 1 of 2 tunnels are up: partial; b/net: {reason}"
    assert event.notification == {
        "hardware-acceleration:ipsec-refresh": {
            "method": "restart",
            "outcome": "partial",
            "duration": 1000,
            "tunnels-before": 2,
            "tunnels-after": 1,
            "missing-tunnel": [{"name": "b/net", "reason": reason}],
        }
    }


def told_of(host: RecordedHost, changes: tuple[tuple[float, str, dict[str, str]], ...], refresh: Refresh) -> object:
    """Return the duration of a refresh that is told after charon's events: (when, tunnel, what of it)."""
    host.events[SOCKET] = [("child-updown", {**up, **ike(name, child(1))}) for _moment, name, up in changes]
    translator = IpsecTranslator()
    listening = translator.events(host)
    for moment, _name, _up in changes:
        host.elapsed = moment
        next(listening)
    event = translator.refreshed(refresh, host)
    assert event is not None
    assert event.notification is not None
    return event.notification["hardware-acceleration:ipsec-refresh"]["duration"]


UP, DOWN = {"up": "yes"}, dict[str, str]()


@pytest.mark.parametrize(
    ("changes", "duration"),
    [
        # From the first that goes to the last that is back, whenever the steps were over.
        (((12.2, "a", DOWN), (12.5, "b", DOWN), (14.0, "b", UP), (15.25, "a", UP)), 3050),
        # A charon that is killed tells of no end.
        (((14.0, "b", UP), (15.25, "a", UP)), 5250),
        # Not all was heard: what the steps took is the most that it can have been.
        (((12.2, "a", DOWN), (12.5, "b", DOWN), (15.25, "a", UP)), 8000),
        # What came and went before is no part of it.
        (((1.0, "a", DOWN), (2.0, "a", UP), (2.0, "b", UP), (12.2, "a", DOWN), (14.0, "b", UP)), 8000),
        ((), 8000),
    ],
)
def test_a_restart_took_as_long_as_charon_tells(
    changes: tuple[tuple[float, str, dict[str, str]], ...], duration: int
) -> None:
    host, _systemd = gateway(two_tunnels())
    steps = (EXPECT, StopUnit(UNIT, SOCKET), StartUnit(UNIT, SOCKET), AwaitTunnels(SOCKET, TUNNELS))
    assert told_of(host, changes, Refresh(steps, 10.0, 18.0)) == duration


def test_a_tunnel_that_is_not_back_was_waited_for_until_the_end() -> None:
    host, _systemd = gateway(charon := two_tunnels())
    charon.sas = [sa for sa in charon.sas if sa.connection == "a"]
    changes = ((12.2, "a", DOWN), (12.5, "b", DOWN), (14.0, "b", UP), (15.25, "a", UP))
    assert told_of(host, changes, Refresh((EXPECT, StopUnit(UNIT, SOCKET)), 10.0, 18.0)) == 8000


def test_a_rekey_took_as_long_as_its_steps() -> None:
    host, _systemd = gateway(two_tunnels())
    changes = ((12.2, "a", DOWN), (14.0, "b", UP), (15.25, "a", UP))
    assert told_of(host, changes, Refresh((EXPECT, KEEP, rekeying(TUNNELS)), 10.0, 18.0)) == 8000


def test_a_refresh_after_which_charon_does_not_run_or_answer_has_failed() -> None:
    host, systemd = gateway(two_tunnels())
    systemd.job(UNIT, "stop", timeout=1.0)
    del host.daemons[SOCKET]
    for steps, method in (((EXPECT,), "restart"), ((rekeying(TUNNELS),), "rekey")):
        event = IpsecTranslator().refreshed(done(*steps), host)
        assert event is not None
        assert event.severity == "error"
        assert "what its tunnels do can't be told" in event.text
        assert event.notification == {
            "hardware-acceleration:ipsec-refresh": {"method": method, "outcome": "failed", "duration": 1000}
        }
    event = IpsecTranslator().refreshed(done(StopUnit(UNIT, "")), host)
    assert event is not None
    assert event.text == "IPsec was restarted within 1000 ms: failed"


def test_a_restart_that_is_undone_waits_for_the_tunnels() -> None:
    host, systemd = gateway(charon := two_tunnels())
    before, _after = IpsecTranslator().around((RESTART,), host)
    before.steps[1].perform(host)
    gone, charon.sas = charon.sas, []
    began = host.monotonic()

    def later(machine: RecordedHost, command: str, message: dict[str, object]) -> list[dict[str, object]]:
        if machine.monotonic() >= began + 3:
            charon.sas = gone
        return charon(machine, command, message)

    host.daemons[SOCKET] = later
    assert unwind(undo_of(before.steps), host) == ()
    assert systemd.jobs == [("stop", UNIT), ("start", UNIT)]
    assert began + 3 <= host.monotonic() < began + 4


def test_a_starter_s_pid_file_that_can_t_be_read_refuses() -> None:
    host, _systemd = gateway(two_tunnels())
    host.files["/run/starter.charon.pid"] = OSError(errno.EIO, "Input/output error")
    with pytest.raises(TranslatorError, match="whether IPsec runs can't be told"):
        IpsecTranslator().around((RESTART,), host)
