"""Carrying out a plan and undoing it, and plans as text in a journal."""

import json
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.apply import PlanFailedError, apply, undo_of, unwind
from translators.base import Disturbance, Plan, Step, StepError
from translators.files import WriteFile
from translators.host import Host, ProgramTimeoutError
from translators.ipsec.service import StartService, StopService
from translators.plans import decode, encode
from translators.qat.reconfigure import ReconfigureDevice
from translators.qat.service import StartDevices, StopDevices
from translators.record import RecordedHost, RefusingHost

HOST = RecordedHost(complete=True)


@dataclass(frozen=True)
class Note:
    """A step that notes what is done with it; its inverse has a minus in front of its name."""

    kind: ClassVar[str] = "note"
    name: str
    log: list[str] = field(compare=False)
    fails: dict[str, Exception] = field(default_factory=dict, compare=False)

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"do {self.name}"

    def perform(self, host: Host) -> None:
        self.log.append(self.name)
        if self.name in self.fails:
            raise self.fails[self.name]

    def inverse(self) -> Step:
        name = self.name[1:] if self.name.startswith("-") else f"-{self.name}"
        return Note(name, self.log, self.fails)

    def observe(self, host: Host) -> str:
        if isinstance(self.fails.get(self.name), ZeroDivisionError):
            raise OSError(5, "Input/output error")
        return f"state of {self.name}"


def plan_of(names: str, fails: dict[str, Exception] | None = None) -> tuple[Plan, list[str]]:
    log: list[str] = []
    return Plan(tuple(Note(name, log, fails or {}) for name in names)), log


def test_steps_are_done_in_order_and_undone_in_reverse() -> None:
    plan, log = plan_of("abc")
    undo = apply(plan, HOST)
    assert log == ["a", "b", "c"]
    assert unwind(undo, HOST) == ()
    assert log == ["a", "b", "c", "-c", "-b", "-a"]


def test_each_step_that_is_done_is_told() -> None:
    plan, _log = plan_of("ab")
    told: list[str] = []
    apply(plan, HOST, after_step=lambda step: told.append(step.describe()))
    assert told == ["do a", "do b"]


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (StepError("no luck", command="/bin/p start", output=" said\nthis\n"),
         "do b: no luck; command: /bin/p start; it printed: said\nthis"),
        (StepError("no luck", command="/bin/p start"), "do b: no luck; command: /bin/p start; it printed nothing"),
        (StepError("no luck"), "do b: no luck"),
        (OSError(5, "Input/output error", "/etc/f"), "do b: /etc/f: Input/output error"),
        (ProgramTimeoutError(["/bin/p", "stop"], 3, "…"),
         "do b: /bin/p stop did not end within 3 s and was killed; it printed: …"),
        (KeyError("defect"), "do b: 'defect'"),
    ],
)  # fmt: skip
def test_a_failure_undoes_the_failed_step_first(cause: Exception, text: str) -> None:
    plan, log = plan_of("abc", {"b": cause})
    with pytest.raises(PlanFailedError) as caught:
        apply(plan, HOST)
    assert str(caught.value) == text
    assert caught.value.step is plan.steps[1]
    assert caught.value.cause is cause
    assert unwind(caught.value.undo, HOST) == ()
    assert log == ["a", "b", "-b", "-a"]


def test_what_the_journal_raises_counts_as_the_steps_failure() -> None:
    plan, log = plan_of("ab")

    def full(_step: Step) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(PlanFailedError, match="do a: No space left on device") as caught:
        apply(plan, HOST, after_step=full)
    unwind(caught.value.undo, HOST)
    assert log == ["a", "-a"]


def test_undoing_goes_on_to_its_end_and_tells_what_failed() -> None:
    plan, log = plan_of("abcd", {"-c": StepError("stuck"), "-b": ValueError("defect")})
    failures = unwind(apply(plan, HOST), HOST)
    assert log[4:] == ["-d", "-c", "-b", "-a"]
    assert failures == ("do -c: stuck [state of -c]", "do -b: defect [state of -b]")


def test_undoing_goes_on_where_not_even_the_state_can_be_told() -> None:
    plan, log = plan_of("ab", {"-b": ZeroDivisionError("defect")})
    failures = unwind(apply(plan, HOST), HOST)
    assert log[2:] == ["-b", "-a"]
    assert failures == ("do -b: defect [its state can't be told: Input/output error]",)


def test_a_file_step_changes_only_what_it_expects() -> None:
    host = RecordedHost(files={"/f": b"old"}, complete=True)
    step = WriteFile("/f", b"new", b"old")
    assert (step.describe(), step.disturbs) == ("write /f", None)
    assert step.observe(host) == "/f has its former content"
    step.perform(host)
    step.perform(host)
    assert (host.files["/f"], step.observe(host)) == (b"new", "/f has the new content")
    host.files["/f"] = b"someone's"
    with pytest.raises(StepError, match="changed by somebody else"):
        step.inverse().perform(host)
    assert (host.files["/f"], step.observe(host)) == (b"someone's", "/f has neither its former nor the new content")


def test_a_file_step_makes_and_removes() -> None:
    host = RecordedHost(complete=True)
    step = WriteFile("/f", b"new", None)
    assert step.observe(host) == "/f is not there"
    step.perform(host)
    assert host.files == {"/f": b"new"}
    assert step.inverse().describe() == "remove /f"
    step.inverse().perform(host)
    assert host.files == {}
    assert step.inverse().observe(host) == "/f is removed"


def test_a_file_that_does_not_keep_what_is_written_is_a_failure() -> None:
    class Forgetful(RecordedHost):
        def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
            pass

    host = Forgetful(files={"/f": b"old"}, complete=True)
    with pytest.raises(StepError, match="does not have the content"):
        WriteFile("/f", b"new", b"old").perform(host)


def test_a_file_that_can_t_be_read_is_observed_all_the_same() -> None:
    refusing = RefusingHost(RecordedHost(complete=True), 1)
    assert WriteFile("/f", b"", None).observe(refusing) == "/f can't be read (Input/output error)"


ADDRESSES = ("c3xxx@0000:01:00.0", "c6xxvf@0000:3d:01.2")
texts = st.text(max_size=20)
steps = st.one_of(
    st.builds(WriteFile, texts, st.none() | st.binary(max_size=50), st.none() | st.binary(max_size=50), st.integers()),
    st.builds(StartDevices, st.lists(texts).map(tuple), st.just(ADDRESSES), texts),
    st.builds(StopDevices, st.just(ADDRESSES), st.lists(texts).map(tuple), texts),
    st.builds(ReconfigureDevice, texts, texts, st.binary(max_size=50), st.binary(max_size=50), texts),
    st.builds(StartService, texts, texts),
    st.builds(StopService, texts, texts),
)


@given(st.builds(Plan, st.lists(steps, max_size=5).map(tuple), st.lists(texts, max_size=3).map(tuple)))
def test_a_plan_comes_back_from_its_text(plan: Plan) -> None:
    text = encode(plan)
    assert "\n" not in text
    assert decode(text) == plan


@given(steps)
def test_the_inverse_of_the_inverse_is_the_step(step: Step) -> None:
    assert step.inverse().inverse() == step
    assert undo_of((step,)).steps == (step.inverse(),)


def changed(**changes: object) -> str:
    content = json.loads(encode(Plan((WriteFile("/f", b"x", None),))))
    content["steps"][0].update(changes)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Expecting value"),
        ("[]", "a plan is an object"),
        ('{"version": 1, "steps": []}', "a plan is an object"),
        ('{"version": 2, "steps": [], "notes": []}', "version 2"),
        ('{"version": 1, "steps": {}, "notes": []}', "are a list"),
        ('{"version": 1, "steps": [1], "notes": []}', "step 1 is not an object"),
        ('{"version": 1, "steps": [], "notes": [1]}', "notes: int found"),
        (changed(kind="format-disk"), "unknown kind 'format-disk'"),
        (changed(kind=None), "unknown kind None"),
        (changed(extra=1), "has the fields"),
        (changed(path=1), "path: int found"),
        (changed(mode=True), "mode: bool found"),
        (changed(content="x"), "content: str found"),
        (changed(content={"base64": 1}), "content: int found"),
        (changed(content={"base64": "*"}), "base64"),
    ],
)
def test_anything_else_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        decode(text)


def test_a_value_that_no_text_can_hold_is_a_mistake() -> None:
    plan, _log = plan_of("a")
    with pytest.raises(TypeError, match="type list"):
        encode(plan)
