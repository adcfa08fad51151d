"""Commits on a router whose configuration VyOS owns: what is planned, what VyOS makes of it, and what is undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.translators.charon import FakeCharon
from tests.translators.commits import (
    C3,
    C6A,
    C6B,
    OFF,
    ON,
    VF,
    CommitPlan,
    MakeGateway,
    Snapshot,
    failure_of,
    lines,
    on,
    started,
    up,
)
from tests.translators.vyos_memory import IPSEC_NODE, QAT_NODE, VyosMemory
from translators.apply import apply, unwind
from translators.base import ALL, Change, Invocation, Plan, Step, StepError, TranslatorError
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.vici import SOCKET
from translators.plans import decode, encode
from translators.qat.translator import QatTranslator
from translators.qat.vyos import Router
from translators.qat.vyos_commit import CommitVyos
from translators.record import RecordedHost, RefusingHost
from translators.vyos import VyosUnansweredError

ENABLED = "/hardware-acceleration:acceleration/qat/enabled"
ITSELF = "VyOS stops and starts IPsec itself with this commit: the agent does not"


def commit(present: bool, *devices: str, before: tuple[str, ...] | None = None, **options: Any) -> CommitVyos:
    fields: dict[str, Any] = {"refresh": "restart", "restarts_ipsec": False, "timeout": 120, "save": False, **options}
    return CommitVyos(present, devices, devices if before is None else before, **fields)


def router(host: RecordedHost, *nodes: str, **options: Any) -> VyosMemory:
    host.router = vyos = VyosMemory(set(nodes), **options)
    return vyos


def translator(driver: str = "auto", *, save: bool = False) -> QatTranslator:
    return QatTranslator(driver, router=Router(120, save))


def plan(host: RecordedHost, before: object, after: object) -> Plan:
    return translator().prepare(Change(before, after), host)  # type: ignore[arg-type]


def refused(host: RecordedHost, before: object, after: object) -> TranslatorError:
    requests = len(host.requests)
    with pytest.raises(TranslatorError) as caught:
        plan(host, before, after)
    assert not [message for _endpoint, message in host.requests[requests:] if message.get("op") != "exists"]
    return caught.value


def failed(host: RecordedHost, step: Step) -> StepError:
    with pytest.raises(StepError) as caught:
        step.perform(host)
    assert caught.value.path == ENABLED
    return caught.value


# ── plans ────────────────────────────────────────────────────────────────────────────────────────


def test_on_is_one_commit_of_vyos_and_nothing_else(gateway: MakeGateway) -> None:
    host = gateway(C3, C6A)
    vyos = router(host)
    change = plan(host, OFF, ON)
    assert change == Plan((commit(True, C3, C6A),))
    assert [step.describe() for step in change.steps] == ["have VyOS commit `set system acceleration qat` (HTTP API)"]
    assert host.ran == []
    apply(change, host)
    assert vyos.commits == ["set"]
    assert host.requests[-2] == (
        "/configure",
        {"commands": [{"op": "set", "path": ["system", "acceleration", "qat"]}]},
    )
    assert (up(host), lines(host)) == ({C3, C6A}, ["qat_service start"])
    assert plan(host, ON, ON) == Plan()


def test_off_is_the_opposite_commit(gateway: MakeGateway) -> None:
    host = started(gateway(C3))
    vyos = router(host, QAT_NODE)
    change = plan(host, ON, OFF)
    assert change == Plan((commit(False, C3),))
    apply(change, host)
    assert (vyos.commits, up(host), vyos.config) == (["delete"], set(), set())


def test_what_vyos_has_and_does_already_takes_no_commit(gateway: MakeGateway) -> None:
    host = started(gateway(C3))
    vyos = router(host, QAT_NODE)
    assert plan(host, OFF, ON) == Plan()
    assert plan(host, None, ON) == Plan()
    vyos.config.clear()
    change = plan(host, ON, OFF)
    assert change.steps == ()
    assert change.notes == (
        "VyOS does not have system acceleration qat: what is up was brought up by something else, and stays so",
    )
    assert vyos.commits == []


def test_devices_that_are_down_though_vyos_has_it_are_started_by_deleting_and_setting_it(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host, QAT_NODE)
    change = plan(host, None, ON)
    assert change.steps == (commit(False, C3, before=()), commit(True, C3))
    assert "it is deleted and set again" in change.notes[0]
    apply(change, host)
    assert (vyos.commits, up(host)) == (["delete", "set"], {C3})


def test_where_that_does_not_help_vyos_keeps_what_it_had(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host, QAT_NODE, driver=False)
    failure = failure_of(plan(host, None, ON), host)
    assert failure is not None
    assert unwind(failure.undo, host) == ()
    assert (vyos.commits, vyos.config) == (["delete", "set", "delete", "set"], {QAT_NODE})


def test_at_start_up_nothing_is_asked_where_nothing_is_wanted(gateway: MakeGateway) -> None:
    host = gateway(C3)
    router(host, QAT_NODE)
    assert plan(host, None, OFF) == Plan()
    assert host.requests == []


def test_another_driver_by_setting_asks_no_vyos(gateway: MakeGateway) -> None:
    host = gateway(C3)
    router(host)
    found = translator("out-of-tree")
    assert [step.kind for step in found.prepare(Change(OFF, ON), host).steps] == ["qat-start"]
    found.operational(host, ALL, ON)
    found.look(host, ON)
    found.changed(host, ON, "commit")
    assert host.requests == []


def test_the_setting_needs_the_api() -> None:
    with pytest.raises(ValueError, match="the QAT driver vyos needs VyOS's API"):
        QatTranslator("vyos")


def test_the_setting_is_followed(gateway: MakeGateway) -> None:
    host = gateway(C3)
    router(host)
    assert translator("vyos").prepare(Change(OFF, ON), host).steps == (commit(True, C3),)


@pytest.mark.parametrize(
    ("leafs", "node", "tag"),
    [
        ({"services": "sym"}, "services", "unsupported-services"),
        ({"section": [{"name": "SSL", "cy-instances": 2}]}, "section[name='SSL']", "driver-mismatch"),
        ({"enabled": False}, "enabled", "driver-mismatch"),
    ],
)
@pytest.mark.parametrize("enabled", [True, False])
def test_what_vyos_can_not_configure_is_refused(
    gateway: MakeGateway, leafs: dict[str, object], node: str, tag: str, enabled: bool
) -> None:
    host = gateway(C3)
    router(host)
    error = refused(host, OFF, {**on(C3, **leafs), "enabled": enabled})
    assert (error.path, error.app_tag) == (
        f"/hardware-acceleration:acceleration/qat/device[address='0000:01:00.0']/{node}",
        tag,
    )
    assert "VyOS has one switch for all devices (system acceleration qat)" in error.message


@pytest.mark.parametrize(("before", "after"), [(OFF, ON), (ON, OFF), (None, ON)])
def test_a_vyos_that_can_not_be_asked_is_told_before_anything_is_done(
    gateway: MakeGateway, before: object, after: object
) -> None:
    host = gateway(C3)
    router(host, down="nothing listens there")
    error = refused(host, before, after)
    assert (error.path, error.app_tag) == (ENABLED, "vyos-unreachable")
    assert error.message == "VyOS can't be asked: https://192.0.2.1: nothing listens there"


def test_an_answer_that_is_neither_yes_nor_no(gateway: MakeGateway) -> None:
    host = gateway(C3)
    host.router = lambda _host, _endpoint, _message: "yes"
    assert "neither true nor false to whether it has system acceleration qat" in refused(host, OFF, ON).message


def test_devices_that_are_handed_over_are_none_that_vyos_could_start(gateway: MakeGateway) -> None:
    host = gateway(C3)
    router(host)
    host.links["/sys/bus/pci/devices/0000:01:00.0/driver"] = "../../../bus/pci/drivers/vfio-pci"
    error = refused(host, OFF, ON)
    assert (error.path, error.app_tag) == (ENABLED, "no-qat-driver")
    assert "is handed over to vfio-pci" in error.message
    assert refused(gateway(), OFF, ON).app_tag == "no-qat-device"


# ── on VyOS, and VyOS is not asked ───────────────────────────────────────────────────────────────


def test_a_change_behind_the_back_of_vyos_is_a_warning(gateway: MakeGateway) -> None:
    host = gateway(C3)
    host.files["/etc/os-release"] = b'NAME="VyOS"\nID="vyos"\n'
    assert QatTranslator().prepare(Change(OFF, ON), host).notes == ()
    host.files["/config/config.boot"] = b"system {\n}\n"
    for driver, change in (("auto", (OFF, ON)), ("out-of-tree", (OFF, ON))):
        (note,) = QatTranslator(driver).prepare(Change(*change), host).notes
        assert note.startswith("VyOS owns this system's configuration and is not told of this change")
        assert "[vyos] url" in note
    (note,) = QatTranslator().prepare(Change(ON, OFF), started(host)).notes
    assert note.startswith("VyOS owns this system's configuration")
    assert QatTranslator().prepare(Change(ON, ON), host).notes == ()
    router(host)
    assert not any("not told" in note for note in plan(host, ON, ON).notes)
    for other in (b"ID=debian\n# ID=vyos\n", b"ID=vyos\n\xff"):
        host.files["/etc/os-release"] = other
        assert QatTranslator().prepare(Change(ON, OFF), host).notes == ()


# ── IPsec, which VyOS restarts ───────────────────────────────────────────────────────────────────


def with_tunnel(host: RecordedHost) -> FakeCharon:
    charon = FakeCharon()
    charon.tunnel("branch")
    host.daemons[SOCKET] = charon
    return charon


@pytest.mark.parametrize(
    ("refresh", "note"),
    [
        ("restart", ITSELF),
        ("rekey", "ipsec-refresh is rekey, and VyOS stops and starts IPsec itself with each change of"),
        ("none", "ipsec-refresh is none, and VyOS stops and starts IPsec itself with each change of"),
    ],
)
def test_vyos_restarts_ipsec_and_the_agent_only_looks_on(
    gateway: MakeGateway, commit_plan: CommitPlan, refresh: str, note: str
) -> None:
    host = gateway(C3)
    with_tunnel(host)
    router(host, IPSEC_NODE)
    change = commit_plan(host, OFF, {**ON, "ipsec-refresh": refresh}, vyos=True)
    tunnels = (("branch", "net", "initiator"),)
    assert change.steps == (
        AttendTunnels(SOCKET, tunnels, interrupted=False),
        commit(True, C3, refresh=refresh, restarts_ipsec=True),
        AttendTunnels(SOCKET, tunnels, interrupted=True),
    )
    assert change.notes[0].startswith(note)
    assert "the restart interrupts 1 tunnels" in change.notes
    apply(change, host)
    assert lines(host) == ["ipsec stop", "qat_service start", "ipsec start"]


def test_ipsec_that_is_none_of_vyos_is_the_agents_matter(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host = gateway(C3)
    router(host)
    change = commit_plan(host, OFF, ON, vyos=True)
    assert [step.kind for step in change.steps] == ["ipsec-stop", "vyos-commit", "ipsec-start"]
    assert change.notes == ()


def test_the_steps_survive_the_journal(gateway: MakeGateway, commit_plan: CommitPlan) -> None:
    host = gateway(C3)
    with_tunnel(host)
    router(host, IPSEC_NODE, QAT_NODE)
    change = commit_plan(host, None, ON, vyos=True, vyos_save=True, vyos_timeout=7)
    assert len(change.steps) == 4
    assert decode(encode(change)) == change


# ── what VyOS makes of it ────────────────────────────────────────────────────────────────────────


def test_a_refusal_is_told_in_vyos_words_and_nothing_has_changed(gateway: MakeGateway, snapshot: Snapshot) -> None:
    host = gateway(C3)
    vyos = router(host, refuses="No QAT acceleration device found")
    before = snapshot(host)
    change = plan(host, OFF, ON)
    failure = failure_of(change, host)
    assert failure is not None
    assert isinstance(failure.cause, StepError)
    assert (failure.cause.path, failure.cause.app_tag) == (ENABLED, "vyos-refused")
    assert str(failure.cause) == "VyOS refuses `set system acceleration qat`: No QAT acceleration device found"
    assert unwind(failure.undo, host) == ()
    assert vyos.commits == ["set"]
    assert snapshot(host) == before
    assert change.steps[0].observe(host) == "VyOS does not have system acceleration qat, QAT 0000:01:00.0 is down"


def test_a_refusal_of_what_somebody_else_has_done_meanwhile_is_none(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host)
    step = commit(True, C3)

    def refuse(host: RecordedHost, endpoint: str, message: dict[str, Any]) -> object:
        if endpoint == "/configure":
            vyos.change(host, "set")
            vyos.refuses = "path already exists"
        return vyos(host, endpoint, message)

    host.router = refuse
    step.perform(host)
    assert (vyos.commits, up(host)) == (["set"], {C3})


def test_a_commit_that_vyos_only_claims_is_no_success(gateway: MakeGateway) -> None:
    host = gateway(C3)
    router(host, lies=True)
    error = failed(host, commit(True, C3))
    assert error.app_tag == "vyos-refused"
    assert error.message == (
        "VyOS says that it committed `set system acceleration qat`, and its configuration is unchanged"
    )


@pytest.mark.parametrize("present", [True, False])
def test_a_commit_without_effect_on_the_devices_is_undone(gateway: MakeGateway, present: bool) -> None:
    host = gateway(C3)
    host = host if present else started(host)
    nodes = () if present else (QAT_NODE,)
    vyos = router(host, *nodes, driver=False)
    failure = failure_of(plan(host, OFF, ON) if present else plan(host, ON, OFF), host)
    assert failure is not None
    state = "down" if present else "up"
    assert f"that was without effect: QAT 0000:01:00.0 is {state}; see VyOS's log" in str(failure)
    assert unwind(failure.undo, host) == ()
    assert vyos.config == set(nodes)


def test_undoing_expects_of_devices_only_what_they_were(gateway: MakeGateway) -> None:
    host = started(gateway(C3, C6A), "qat_dev0")
    router(host)
    (step,) = plan(host, OFF, ON).steps
    assert step == commit(True, C3, C6A, before=(C6A,))
    step.perform(host)
    step.inverse().perform(host)
    assert step.inverse() == commit(False, C6A, before=(C3, C6A))


# ── no answer ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("looks", [1, 2, 6])
def test_what_vyos_did_without_answering_counts(gateway: MakeGateway, looks: int) -> None:
    host = gateway(C3)
    vyos = router(host, unanswered=looks)
    commit(True, C3).perform(host)
    assert (vyos.commits, up(host)) == (["set"], {C3})


def test_what_vyos_has_not_done_by_then_is_a_failure_that_says_so(gateway: MakeGateway) -> None:
    host = gateway(C3)
    router(host, unanswered=100)
    error = failed(host, commit(True, C3))
    assert error.app_tag == "vyos-unreachable"
    assert error.message == (
        "no answer from VyOS (https://192.0.2.1: no answer to /configure within 120 s): its configuration is unchanged "
        "so far, and it may still commit `set system acceleration qat` later"
    )
    assert len(host.requests) < 10


def test_devices_that_vyos_is_still_starting_without_having_answered_are_waited_for(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host)

    def answer(host: RecordedHost, endpoint: str, message: dict[str, Any]) -> object:
        if endpoint == "/configure":
            vyos.config.add(QAT_NODE)
            raise VyosUnansweredError("https://192.0.2.1", "the connection broke during /configure")
        return vyos(host, endpoint, message)

    class Slow(RecordedHost):
        def sleep(self, seconds: float) -> None:
            RecordedHost.sleep(self, seconds)
            if self.elapsed > 20 and not up(self):
                vyos.change(self, "set")

    slow = Slow(**{name: getattr(host, name) for name in RecordedHost.__dataclass_fields__})
    slow.router = answer
    commit(True, C3).perform(slow)
    assert up(slow) == {C3}


def test_where_nothing_can_be_asked_any_more_that_is_said(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host)

    def answer(host: RecordedHost, endpoint: str, message: dict[str, Any]) -> object:
        if endpoint == "/configure":
            vyos.down = "nothing listens there"
            raise VyosUnansweredError("https://192.0.2.1", "the connection broke during /configure")
        return vyos(host, endpoint, message)

    host.router = answer
    step = commit(True, C3)
    assert "what its configuration has can't be told so far" in failed(host, step).message
    assert step.observe(host) == (
        "what VyOS has can't be told (https://192.0.2.1: nothing listens there), QAT 0000:01:00.0 is down"
    )
    assert failed(host, step.inverse()).message == "VyOS can't be asked: https://192.0.2.1: nothing listens there"


def test_every_call_that_fails_leaves_the_machine_as_it_was_or_done(gateway: MakeGateway, snapshot: Snapshot) -> None:
    for before in (True, False):
        number = 0
        while True:
            number += 1
            host = gateway(C3)
            vyos = router(host)
            refusing = RefusingHost(host, number, before=before)
            whole = snapshot(host)
            failure = failure_of(Plan((commit(True, C3),)), refusing)
            if number > refusing.calls:
                break
            if failure is None:
                assert (vyos.config, up(host)) == ({QAT_NODE}, {C3})
            else:
                assert unwind(failure.undo, host) == ()
                assert (vyos.config, up(host)) == (set(), set())
                assert snapshot(host).keys() == whole.keys()
        assert number > 5


# ── saving ───────────────────────────────────────────────────────────────────────────────────────


def test_vyos_saves_when_the_settings_say_so_and_only_after_a_commit(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host)
    step = commit(True, C3, save=True)
    for done in (commit(True, C3), step):
        done.perform(host)
        assert vyos.saves == []
    step.inverse().perform(host)
    assert vyos.saves == [set()]
    assert step.describe() == ("have VyOS commit `set system acceleration qat`, and save its configuration (HTTP API)")
    (planned,) = translator(save=True).prepare(Change(OFF, ON), host).steps
    assert planned == step


def test_a_configuration_that_is_not_saved_is_no_success(gateway: MakeGateway) -> None:
    host = gateway(C3)
    vyos = router(host)

    def answer(host: RecordedHost, endpoint: str, message: dict[str, Any]) -> object:
        vyos.refuses = "No space left on device" if endpoint == "/config-file" else None
        return vyos(host, endpoint, message)

    host.router = answer
    error = failed(host, commit(True, C3, save=True))
    assert error.app_tag == "vyos-refused"
    assert error.message.endswith("has not saved its configuration: https://192.0.2.1: No space left on device")


# ── the action ───────────────────────────────────────────────────────────────────────────────────


def restart(host: RecordedHost, target: str) -> Plan:
    return translator().act(Invocation("device/restart", (target.partition("@")[2],)), ON, host)


def test_the_only_device_is_restarted_by_deleting_and_setting(gateway: MakeGateway) -> None:
    host = started(gateway(C3))
    vyos = router(host, QAT_NODE)
    apply(restart(host, C3), host)
    assert (vyos.commits, up(host)) == (["delete", "set"], {C3})


def test_one_of_several_devices_is_not_restarted(gateway: MakeGateway) -> None:
    host = started(gateway(C6A, C6B, VF))
    router(host, QAT_NODE)
    with pytest.raises(TranslatorError, match=r"0000:3f:00\.0 .* would go down with it") as caught:
        restart(host, C6A)
    assert caught.value.app_tag == "driver-mismatch"


def test_what_vyos_has_not_started_is_not_restarted_by_it(gateway: MakeGateway) -> None:
    host = started(gateway(C3))
    router(host)
    with pytest.raises(TranslatorError, match="VyOS has no system acceleration qat set"):
        restart(host, C3)
