"""Rate limits and telemetry of the kernel's driver, which going down loses: read before, brought back after it."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.translators.commits import OFF, ON
from tests.translators.in_tree import FOURTH, Kernel, gateway, on, says
from translators.apply import apply, unwind
from translators.base import Change, Invocation, Plan, StepError
from translators.plans import decode, encode
from translators.qat import ratelimit
from translators.qat.devices import PCI_DEVICES
from translators.qat.intree_steps import BringUp
from translators.qat.ratelimit import Limit
from translators.qat.state import DEBUGFS
from translators.qat.translator import QatTranslator
from translators.sources import SourceError

ADDRESS = FOURTH.partition("@")[2]
REGISTERS = f"{PCI_DEVICES}/{ADDRESS}/qat_rl"
CONTROL = f"{DEBUGFS}/qat_4xxx_{ADDRESS}/telemetry/control"
REFUSED = OSError(errno.EINVAL, "Invalid argument")
SYM, ASYM = Limit("sym", 0xA, 250, 500), Limit("asym", 0x5, 0, 1000)
KEPT = ("pm_idle_enabled", "auto_reset")


@dataclass(slots=True)
class Limiting(Kernel):
    """A device with rate limits and telemetry, by adf_sysfs_rl.c: ``limits`` by number; ``full``: it takes no more."""

    limits: dict[int, Limit] = field(default_factory=dict)
    full: bool = False
    operations: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Have the files that are there while the device is up, as nobody has used them."""
        names: dict[str, bytes | OSError] = {
            "rp": b"0\n",
            "id": b"0\n",
            "cir": b"0\n",
            "pir": b"0\n",
            "srv": REFUSED,
            "sla_op": b"",
        }
        self.files |= {f"{REGISTERS}/{name}": content for name, content in names.items()}
        self.files[CONTROL] = b"0\n"

    def end(self) -> None:
        """Lose them."""
        self.limits = {}
        for path in [path for path in self.files if path.startswith(f"{REGISTERS}/")]:
            del self.files[path]
        del self.files[CONTROL]

    def assign(self, path: str, data: bytes) -> None:
        folder, _, name = path.rpartition("/")
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        if folder == REGISTERS:
            self.operations.append(f"{name}={data.decode().strip()}")
            if name == "sla_op":
                self._operate(data.decode().strip())
            else:
                self.files[path] = data
        elif path == CONTROL:
            self.files[path] = data
        else:
            before = self.files[f"{PCI_DEVICES}/{ADDRESS}/qat/state"]
            Kernel.assign(self, path, data)
            now = self.files[f"{PCI_DEVICES}/{ADDRESS}/qat/state"]
            if (before, now) == (b"up\n", b"down\n"):
                self.end()
            elif (before, now) == (b"down\n", b"up\n"):
                self.begin()

    def _operate(self, verb: str) -> None:
        held = {name: self.files[f"{REGISTERS}/{name}"] for name in ("srv", "rp", "cir", "pir", "id")}
        if verb == "get":
            limit = self.limits.get(int(str(held["id"], "ascii")))  # type: ignore[arg-type]
            if limit is None:
                raise REFUSED
            values = {
                "srv": limit.service,
                "rp": f"{limit.ring_pairs:#x}",
                "cir": limit.guaranteed,
                "pir": limit.highest,
            }
            self.files |= {f"{REGISTERS}/{name}": f"{value}\n".encode() for name, value in values.items()}
        elif verb == "add":
            if self.full:
                raise REFUSED
            srv, rp, cir, pir = (str(held[name], "ascii").strip() for name in ("srv", "rp", "cir", "pir"))  # type: ignore[arg-type]
            number = next(number for number in range(4, 84) if number not in self.limits)
            self.limits[number] = Limit(srv, int(rp, 16), int(cir), int(pir))
            self.files[f"{REGISTERS}/id"] = f"{number}\n".encode()


def limiting(limits: dict[int, Limit] | None = None, *, telemetry: bytes = b"0\n") -> Limiting:
    made = gateway(FOURTH, state="up", pm_idle_enabled="0", auto_reset="on")
    host = Limiting(made.files, made.links, made.folders, complete=True, limits=limits or {})
    host.begin()
    host.files[CONTROL] = telemetry
    if limits:  # somebody set them
        host.files |= {f"{REGISTERS}/{name}": value for name, value in held().items()}
    return host


def held() -> dict[str, bytes]:
    return {"srv": b"asym\n", "rp": b"0x5\n", "cir": b"17\n", "pir": b"18\n", "id": b"9\n"}


def plan(host: Limiting, before: object, after: object) -> Plan:
    return QatTranslator().prepare(Change(before, after), host)  # type: ignore[arg-type]


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def test_limits_are_found_by_their_numbers_and_the_registers_are_as_before() -> None:
    host = limiting({4: SYM, 83: ASYM})
    assert ratelimit.read(host, ADDRESS) == (SYM, ASYM)
    assert {name: host.files[f"{REGISTERS}/{name}"] for name in held()} == held()
    assert {"add", "update", "rm", "rm_all"}.isdisjoint(text.partition("=")[2] for text in host.operations)


def test_where_nobody_has_used_the_registers_nothing_is_written() -> None:
    host = limiting()
    assert ratelimit.read(host, ADDRESS) == ()
    assert host.operations == []


def test_without_the_files_there_are_no_limits() -> None:
    assert ratelimit.read(gateway(FOURTH, state="up"), ADDRESS) == ()


@pytest.mark.parametrize("limit", [SYM, ASYM, Limit("dc", 2**64 - 1, 0, 0)])
def test_a_limit_is_a_word_and_back(limit: Limit) -> None:
    assert ratelimit.parse(str(limit)) == limit


@pytest.mark.parametrize("text", ["", "sym", "sym 5 1 2", "sym 0x5 1", "sym 0x5 -1 2", "sym 0x5 1 2 3", "SYM 0x5 1 2"])
def test_other_words_are_no_limits(text: str) -> None:
    with pytest.raises(ValueError, match="no rate limit"):
        ratelimit.parse(text)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("rp", b"many\n", "'many' is no number"),
        ("cir", OSError(errno.EIO, "Input/output error"), "Input/output error"),
        ("srv", b"tea\n", "'tea' is no service"),
        ("srv", OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_registers_that_say_anything_else(name: str, content: bytes | OSError, reason: str) -> None:
    host = limiting({4: SYM})
    host.files[f"{REGISTERS}/{name}"] = content
    with pytest.raises(SourceError, match=reason) as caught:
        ratelimit.read(host, ADDRESS)
    assert caught.value.source == f"{REGISTERS}/{name}"


# ── what a change makes of them ──────────────────────────────────────────────────────────────────


def test_a_restart_brings_limits_and_telemetry_back() -> None:
    host = limiting({4: SYM, 7: ASYM}, telemetry=b"3\n")
    change = QatTranslator().act(Invocation("device/restart", (ADDRESS,)), ON, host)
    assert decode(encode(change)) == change
    apply(change, host)
    assert says(host, FOURTH, "state", *KEPT) == ["up", "0", "on"]
    assert sorted(host.limits.values(), key=str) == [ASYM, SYM]
    assert host.files[CONTROL] == b"3\n"


def test_telemetry_that_is_off_is_left_alone() -> None:
    host = limiting()
    change = QatTranslator().act(Invocation("device/restart", (ADDRESS,)), ON, host)
    assert "telemetry" not in change.steps[1].describe()


def test_what_a_device_loses_that_stays_down_is_told_and_undone_with_it() -> None:
    host = limiting({4: SYM}, telemetry=b"1\n")
    change = plan(host, ON, OFF)
    (note,) = change.notes
    assert f"loses pm_idle_enabled=0, auto_reset=on, rate-limit=sym 0xa 250 500, {CONTROL}=1 by going down" in note
    undo = apply(change, host)
    assert (host.limits, CONTROL in host.files) == ({}, False)
    assert unwind(undo, host) == ()
    assert (list(host.limits.values()), host.files[CONTROL]) == ([SYM], b"1\n")


def test_other_services_keep_telemetry_and_lose_the_limits_which_is_told() -> None:
    host = limiting({4: SYM}, telemetry=b"1\n")
    change = plan(host, ON, on((FOURTH, {"services": "sym dc"})))
    (note,) = change.notes
    assert "loses rate-limit=sym 0xa 250 500 by getting other services" in note
    undo = apply(change, host)
    assert (host.limits, host.files[CONTROL]) == ({}, b"1\n")
    assert unwind(undo, host) == ()
    assert list(host.limits.values()) == [SYM]


def test_what_can_not_be_read_is_told_and_keeps_nobody_from_going_down() -> None:
    host = limiting({4: SYM}, telemetry=b"1\n")
    host.files[f"{REGISTERS}/rp"] = b"many\n"
    host.files[CONTROL] = PermissionError(errno.EPERM, "Operation not permitted", CONTROL)
    first, limits, telemetry = plan(host, ON, OFF).notes
    assert "loses pm_idle_enabled=0, auto_reset=on by going down" in first
    assert f"may lose by going down what can't be read of it: its rate limits ({REGISTERS}/rp: 'many'" in limits
    assert f"whether telemetry is on ({CONTROL}: Operation not permitted)" in telemetry


def test_a_limit_that_the_kernel_does_not_take_back_fails_the_step() -> None:
    host = limiting()
    host.full = True
    step = BringUp(ADDRESS, ("rate-limit=sym 0xa 250 500",), "none")
    with pytest.raises(StepError, match=r"the rate limit sym 0xa 250 500 of QAT .* can't be set: Invalid argument"):
        step.perform(host)


def test_limits_that_are_there_are_not_set_again() -> None:
    host = limiting({4: SYM})
    BringUp(ADDRESS, ("rate-limit=sym 0xa 250 500",), "none").perform(host)
    assert "sla_op=add" not in host.operations


@pytest.mark.parametrize(
    ("control", "said"),
    [
        (None, "control does not take '2': No such file or directory"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_telemetry_that_does_not_come_back_fails_the_step(control: Any, said: str) -> None:
    host = limiting()
    del host.files[CONTROL]
    if control is not None:
        host.files[CONTROL] = control
    with pytest.raises(StepError, match=said):
        BringUp(ADDRESS, (f"{CONTROL}=2",), "none").perform(host)
