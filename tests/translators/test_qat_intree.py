"""The switch of the kernel's driver: a model of adf_sysfs.c that refuses as the kernel does."""

import errno

import pytest

from tests.translators.in_tree import OLDER, Kernel
from translators import plans
from translators.apply import apply, unwind
from translators.base import Plan, Step, StepError
from translators.qat import intree
from translators.qat.devices import PCI_DEVICES
from translators.qat.ids import BY_DEVICE_ID
from translators.qat.intree import Switch
from translators.qat.intree_steps import BringDown, BringUp, SetAttribute
from translators.record import RecordedHost
from translators.sources import SourceError

ADDRESS = "0000:e8:00.0"
FOLDER = f"{PCI_DEVICES}/{ADDRESS}/qat"
OLDEST = ("sym;asym", "dc")


def kernel(*, state: str = "up", takes: tuple[str, ...] = OLDER, **files: str) -> Kernel:
    values = {"state": state, "cfg_services": "sym;asym", "pm_idle_enabled": "0", "auto_reset": "on", "num_rps": "64"}
    host = Kernel(complete=True, takes=takes)
    host.files = {f"{FOLDER}/{name}": f"{value}\n".encode() for name, value in {**values, **files}.items()}
    return host


def read(host: Kernel) -> Switch:
    switch = intree.read(host, ADDRESS)
    assert switch is not None
    return switch


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def test_a_switch_says_what_its_files_say() -> None:
    assert read(kernel()) == Switch(up=True, services="sym;asym", auto_reset=True, pm_idle=False, ring_pairs=64)


def test_an_older_kernel_has_fewer_files() -> None:
    host = kernel(state="down", cfg_services="dc")
    for name in ("pm_idle_enabled", "auto_reset", "num_rps"):
        del host.files[f"{FOLDER}/{name}"]
    assert read(host) == Switch(up=False, services="dc", auto_reset=None, pm_idle=None, ring_pairs=None)
    assert read(host).settings() == ()


def test_a_device_of_generation_2_has_no_switch_and_that_is_said() -> None:
    host = RecordedHost(complete=True, files={f"{PCI_DEVICES}/{ADDRESS}/vendor": b"0x8086\n"})
    assert intree.read(host, ADDRESS) is None
    for step in (BringUp(ADDRESS, (), "none"), BringDown(ADDRESS, (), "none"), SetAttribute(ADDRESS, "x", "1", "0")):
        with pytest.raises(StepError, match=r"has no switch .* generation 2"):
            step.perform(host)
        assert "has no switch" in step.observe(host)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("state", b"sideways\n", "'sideways' is neither up nor down"),
        ("state", b"", "'' is neither"),
        ("state", b"up\xff\n", "not UTF-8"),
        ("cfg_services", b"sym;tea\n", "unknown service"),
        ("pm_idle_enabled", b"2\n", "neither on nor off"),
        ("num_rps", b"many\n", "is no number"),
        ("num_rps", b"9" * 70_000, "larger than"),
        ("auto_reset", OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_a_file_that_says_anything_else_is_a_fault(name: str, content: bytes | OSError, reason: str) -> None:
    host = kernel()
    host.files[f"{FOLDER}/{name}"] = content
    with pytest.raises(SourceError, match=reason) as caught:
        intree.read(host, ADDRESS)
    assert caught.value.source == f"{FOLDER}/{name}"


def test_services_that_no_kernel_takes_are_refused_before_anything_is_written() -> None:
    fourth, sixth = BY_DEVICE_ID["4940"], BY_DEVICE_ID["4948"]
    assert "dcc" in (intree.refusal(frozenset({"dcc", "sym"}), fourth) or "")
    assert intree.refusal(frozenset(), fourth) is not None
    assert intree.refusal(frozenset({"dcc"}), fourth) is None
    assert intree.refusal(frozenset({"sym", "asym", "dc"}), sixth) is None
    assert "it takes 2 at the same time at most" in (intree.refusal(frozenset({"sym", "asym", "dc"}), fourth) or "")
    assert "it takes 3" in (intree.refusal(frozenset({"sym", "asym", "dc", "decomp"}), sixth) or "")
    assert "6xxx devices only" in (intree.refusal(frozenset({"decomp"}), fourth) or "")


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


def change(before: Switch, services: str) -> Plan:
    settings = before.settings()
    return Plan(
        (
            BringDown(ADDRESS, settings, "none"),
            SetAttribute(ADDRESS, "cfg_services", services, before.services or ""),
            BringUp(ADDRESS, settings, "none"),
        )
    )


def test_other_services_take_the_device_down_and_its_settings_come_back() -> None:
    host = kernel()
    undo = apply(change(read(host), "dc;sym"), host)
    assert read(host) == Switch(up=True, services="sym;dc", auto_reset=True, pm_idle=False, ring_pairs=64)
    assert unwind(undo, host) == ()
    assert read(host) == read(kernel())


def test_what_is_so_already_is_not_written() -> None:
    host = kernel()
    apply(Plan((SetAttribute(ADDRESS, "cfg_services", "asym;sym", "dc"), BringUp(ADDRESS, (), "none"))), host)
    apply(Plan((BringDown(ADDRESS, (), "none"),)), kernel(state="down"))
    assert host.written == []


@pytest.mark.parametrize("done", range(4))
def test_a_change_is_undone_from_wherever_it_stopped(done: int) -> None:
    host = kernel()
    plan = change(read(host), "dc")
    apply(Plan(plan.steps[:done]), host)
    assert unwind(Plan(tuple(step.inverse() for step in reversed(plan.steps))), host) == ()
    assert read(host) == read(kernel())


@pytest.mark.parametrize(
    ("takes", "services", "written"),
    [
        (OLDEST, "asym;sym", ["sym;asym"]),
        (("asym;sym",), "sym;asym", ["sym;asym", "asym;sym"]),
        (("decomp;sym;asym",), "asym;sym;decomp", ["sym;asym;decomp", "sym;decomp;asym", "asym;sym;decomp",
                                                   "asym;decomp;sym", "decomp;sym;asym"]),
        (("dcc",), "dcc", ["dcc"]),
    ],
)  # fmt: skip
def test_the_order_of_words_that_a_kernel_takes_is_found_out(
    takes: tuple[str, ...], services: str, written: list[str]
) -> None:
    host = kernel(state="down", cfg_services="dc", takes=takes)
    SetAttribute(ADDRESS, "cfg_services", services, "dc").perform(host)
    assert host.written == [f"cfg_services={words}" for words in written]


def test_an_unknown_word_and_a_device_that_is_up_are_told_apart() -> None:
    down = kernel(state="down", cfg_services="dc", takes=OLDEST)
    with pytest.raises(StepError, match=r"does not take 'sym;dc': Invalid argument: the device is down, so .* know"):
        SetAttribute(ADDRESS, "cfg_services", "sym;dc", "dc").perform(down)
    with pytest.raises(StepError, match="must be down to have its cfg_services set to sym;dc, and is up"):
        SetAttribute(ADDRESS, "cfg_services", "sym;dc", "dc").perform(kernel(cfg_services="dc"))
    with pytest.raises(StepError, match="Invalid argument: the device is up, and takes this while it is down only"):
        intree.write(kernel(), ADDRESS, "pm_idle_enabled", "1")


@pytest.mark.parametrize(("step", "state"), [(BringDown, "up"), (BringUp, "down")])
def test_a_busy_device_is_explained(step: type[BringDown] | type[BringUp], state: str) -> None:
    host = kernel(state=state)
    host.busy = True
    with pytest.raises(StepError, match="Device or resource busy: the device is in use or being reset"):
        step(ADDRESS, (), "none").perform(host)


def test_a_device_that_does_not_start_fails_the_step_and_can_be_undone() -> None:
    host = kernel(state="down")
    host.starts = False
    step = BringUp(ADDRESS, ("auto_reset=on",), "none")
    with pytest.raises(StepError, match="Bad address: the kernel log says why"):
        step.perform(host)
    assert step.observe(host) == f"QAT {ADDRESS} is down"
    step.inverse().perform(host)


def test_a_value_that_does_not_stay_fails_the_step() -> None:
    host = kernel()
    host.keeps = False
    with pytest.raises(StepError, match=r"state says 'up' after 'down' was written"):
        BringDown(ADDRESS, (), "none").perform(host)


def test_a_setting_that_did_not_come_back_fails_the_step() -> None:
    with pytest.raises(StepError, match="is up and pm_idle_enabled is 0, not 1"):
        BringUp(ADDRESS, ("pm_idle_enabled=1",), "none").perform(kernel())


def test_a_setting_that_the_kernel_does_not_have_is_explained() -> None:
    host = kernel(state="down")
    del host.files[f"{FOLDER}/auto_reset"]
    with pytest.raises(StepError, match="auto_reset does not take 'on': this kernel's driver has no such setting"):
        BringUp(ADDRESS, ("auto_reset=on",), "none").perform(host)


def test_steps_go_into_the_journal_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    known: tuple[type[Step], ...] = (BringUp, BringDown, SetAttribute)
    monkeypatch.setattr(plans, "STEPS", known)
    plan = change(read(kernel()), "dc")
    assert plans.decode(plans.encode(plan)) == plan


def test_steps_say_what_they_do_and_whom_they_disturb() -> None:
    down, set_services, up = change(read(kernel()), "dc").steps
    assert down.describe() == f"bring QAT {ADDRESS} down ({FOLDER}/state)"
    assert set_services.describe() == f"set cfg_services of QAT {ADDRESS} to dc ({FOLDER}/cfg_services)"
    assert up.describe() == f"bring QAT {ADDRESS} up with pm_idle_enabled=0, auto_reset=on ({FOLDER}/state)"
    assert [step.disturbs and step.disturbs.enabling for step in (down, set_services, up)] == [False, None, True]
    assert set_services.observe(kernel()) == f"QAT {ADDRESS} is up, its cfg_services is sym;asym"
