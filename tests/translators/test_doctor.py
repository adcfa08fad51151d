"""The list as a whole: its order, and that no check can stop it, take for ever, or change the machine."""

import errno
import itertools
import threading
from collections.abc import Callable, Generator, Iterator

import pytest

from translators.doctor.examination import CHECKS, examine
from translators.doctor.finding import OK, UNKNOWN, Check, Finding
from translators.doctor.look import Look
from translators.host import READ_LIMIT, ProgramTimeoutError
from translators.record import RecordedHost, RefusingHost
from translators.sources import SourceError

PF = "c3xxx@0000:01:00.0"
QAT_SERVICE = "/etc/init.d/qat_service"
MakeGateway = Callable[..., RecordedHost]


def listed(look: Look, *checks: Check, root: bool = True) -> list[tuple[str, str, str, str | None]]:
    found = examine(look, root=root, checks=checks or CHECKS)
    return [(check.name, finding.verdict, finding.text, finding.action) for check, finding in found]


def test_the_checks_have_names_of_their_own_and_all_say_something(gateway: MakeGateway) -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    for host in (gateway(), gateway(PF)):
        assert list(dict.fromkeys(name for name, *_ in listed(Look(host)))) == names


def test_causes_come_before_effects() -> None:
    names = [check.name for check in CHECKS]
    order = ["hardware", "driver", "firmware-file", "configuration-file", "device-state", "services"]
    order += ["kernel-algorithms", "ipsec", "counters"]
    assert sorted(order, key=names.index) == order


def test_a_device_that_does_not_answer_keeps_nobody_waiting(gateway: MakeGateway) -> None:
    released = threading.Event()

    class Stuck(RecordedHost):
        def read(self, path: str, *, limit: int = READ_LIMIT) -> bytes:
            if path.endswith("fw_counters"):
                released.wait()
            return super().read(path, limit=limit)

    made = gateway(PF)
    look = Look(Stuck(made.files, made.links, made.folders, made.programs, complete=True), interval=0)
    found = [(check.name, finding) for check, finding in examine(look, root=True, seconds=0.3)]
    released.set()

    assert list(dict.fromkeys(name for name, _ in found)) == [check.name for check in CHECKS]
    state = next(finding for name, finding in found if name == "device-state")
    assert (state.verdict, "did not end" in state.text) == (UNKNOWN, True)


@pytest.mark.parametrize("up", [False, True])
def test_nothing_is_changed_and_no_program_is_run(
    gateway: MakeGateway, snapshot: Callable[[RecordedHost], dict[str, object]], up: bool
) -> None:
    host = gateway(PF, "c6xxvf@0000:3d:01.0")
    if up:
        host.run((QAT_SERVICE, "start"), timeout=1)
    before, host.ran = snapshot(host), []

    listed(Look(host, heartbeat=True))

    assert snapshot(host) == before
    assert host.ran == []


def test_the_heartbeat_is_read_on_request_only(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.run((QAT_SERVICE, "start"), timeout=1)
    host.files["/sys/kernel/debug/qat_c3xxx_0000:01:00.0/heartbeat"] = b"0\n\0"

    listed(Look(host))

    assert not [path for path in host.read_paths if "heartbeat" in path]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SourceError("/proc/x", "is broken"), "/proc/x: is broken"),
        (PermissionError(errno.EACCES, "Permission denied", "/proc/x"), "/proc/x: Permission denied"),
        (OSError("no number"), "no number"),
        (ProgramTimeoutError(("/bin/x",), 3, ""), "/bin/x did not end within 3 s and was killed"),
        (KeyError("x"), "a fault of this program (KeyError: 'x')"),
    ],
)
def test_a_check_that_fails_keeps_what_it_found_and_lets_the_next_one_go_on(error: Exception, text: str) -> None:
    def failing(_look: Look) -> Iterator[Finding]:
        yield Finding(OK, "first")
        raise error

    well = Check("well", "Well", lambda _look: [Finding(OK, "fine")])
    found = listed(Look(RecordedHost(complete=True)), Check("failing", "Failing", failing), well)

    assert [(name, verdict, said) for name, verdict, said, _ in found] == [
        ("failing", OK, "first"),
        ("failing", UNKNOWN, text),
        ("well", OK, "fine"),
    ]


def test_a_check_that_hangs_is_given_up() -> None:
    released = threading.Event()

    def hanging(_look: Look) -> Iterator[Finding]:
        yield Finding(OK, "first")
        released.wait()

    checks = (Check("hanging", "Hanging", hanging), Check("well", "Well", lambda _look: [Finding(OK, "fine")]))
    look = Look(RecordedHost(complete=True), interval=0)
    found = [(check.name, finding.verdict) for check, finding in examine(look, root=True, checks=checks, seconds=1)]
    released.set()

    assert found[-2:] == [("hanging", UNKNOWN), ("well", OK)]


def test_any_file_may_fail(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.run((QAT_SERVICE, "start"), timeout=1)
    for refused in itertools.count(1):
        failing = RefusingHost(host, refused)
        found = listed(Look(failing))

        assert list(dict.fromkeys(name for name, *_ in found)) == [check.name for check in CHECKS]
        assert not [text for _, _, text, _ in found if "fault of this program" in text]
        if failing.calls < refused:
            break


def test_without_root_the_checks_that_lack_it_say_so(gateway: MakeGateway) -> None:
    host = gateway(PF)
    denied = PermissionError(errno.EACCES, "Permission denied")
    host.files["/sys/kernel/debug/qat_c3xxx_0000:01:00.0/fw_counters"] = denied
    host.files["/dev/kmsg"] = PermissionError(errno.EPERM, "Operation not permitted")
    host.files["/proc/interrupts"] = denied

    found = listed(Look(host), root=False)

    lacking = {name for name, _, _, action in found if action is not None and "as root" in action}
    assert {"device-state", "counters", "kernel-algorithms", "kernel-log"} <= lacking
    assert "hardware" not in lacking
    assert not [row for row in listed(Look(host), root=True) if row[3] is not None and "as root" in row[3]]


def test_root_is_advised_only_where_something_was_kept_back(gateway: MakeGateway) -> None:
    look = Look(gateway(PF))  # it has no kernel log
    found = listed(look, root=False)

    assert ("kernel-log", UNKNOWN, None) in [(name, verdict, action) for name, verdict, _, action in found]
    assert not look.denied


def test_what_is_kept_back_while_it_is_read_is_noted_too(gateway: MakeGateway) -> None:
    class Log(RecordedHost):
        def messages(self, path: str) -> Generator[bytes, None, None]:
            yield from ()
            raise PermissionError(errno.EPERM, "Operation not permitted", path)

    made = gateway(PF)
    files = made.files | {"/dev/kmsg": b""}
    look = Look(Log(files, made.links, made.folders, made.programs, complete=True), interval=0)
    found = {name: action for name, _, _, action in listed(look, root=False)}

    assert look.denied
    assert "as root" in (found["kernel-log"] or "")


def test_a_device_is_known_to_be_up_without_root(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.run((QAT_SERVICE, "start"), timeout=1)
    host.files["/sys/kernel/debug/qat_c3xxx_0000:01:00.0/fw_counters"] = PermissionError(errno.EACCES, "denied")

    found = {name: (verdict, text) for name, verdict, text, _ in listed(Look(host), root=False)}

    assert found["device-state"] == (OK, "up: 0000:01:00.0")
    assert found["interrupts"][0] == OK
    assert found["counters"][0] == UNKNOWN
