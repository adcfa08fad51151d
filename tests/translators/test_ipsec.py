"""Who runs charon, and what is done about it."""

import errno
from typing import Any

import pytest

from tests.translators.charon import FakeSystemd
from translators.base import ALL, Branch, Change, Disturbance, Plan, Selection, StepError, TranslatorError
from translators.ipsec.service import StartService, StopService
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.vici import SOCKET
from translators.record import RecordedHost
from translators.systemd import Unit
from translators.vici import Message, ViciTimeoutError

IPSEC = "/usr/sbin/ipsec"
RESTART = (Disturbance("ipsec", "restart", enabling=True),)
REKEY = (Disturbance("ipsec", "rekey", enabling=True),)
NONE = (Disturbance("ipsec", "none", enabling=True),)


def machine(*processes: str, installed: str | None = IPSEC, **pid_files: str) -> RecordedHost:
    """Make a machine with these processes (``501:starter``) and pid files."""
    host = RecordedHost(complete=True, folders={"/proc"})
    for process in processes:
        pid, _, name = process.partition(":")
        host.files[f"/proc/{pid}/comm"] = f"{name}\n".encode()
    for name, pid in pid_files.items():
        host.files[{"starter": "/run/starter.charon.pid", "charon": "/run/charon.pid"}[name]] = f"{pid}\n".encode()
    if installed is not None:
        host.programs[installed] = lambda _host, _argv: (0, "")
    return host


def running(**options: Any) -> RecordedHost:
    return machine("501:starter", "502:charon", starter="501", charon="502", **options)


def service(host: RecordedHost, control: str = "auto") -> object:
    reading = IpsecTranslator(control).operational(host, ALL, {})
    assert reading.faults == ()
    assert host.ran == [] or control.startswith("program:")
    return reading.tree["service"]


def test_states_under_the_starter() -> None:
    assert service(running()) == {"name": "strongswan-starter", "state": "running"}
    assert service(machine()) == {"name": "strongswan-starter", "state": "stopped"}
    assert service(machine(installed=None)) == {"state": "not-installed"}
    assert service(running(installed="/usr/local/sbin/ipsec")) == {"name": "strongswan-starter", "state": "running"}


def test_states_under_the_starter_of_the_settings() -> None:
    assert service(running(), "starter") == {"name": "strongswan-starter", "state": "running"}
    assert service(machine(), "starter") == {"name": "strongswan-starter", "state": "stopped"}
    assert service(machine(installed=None), "starter") == {"state": "not-installed"}
    host = machine()
    host.manager = FakeSystemd(host, {"strongswan.service": Unit("strongswan.service", "loaded", "inactive", "dead")})
    assert service(host) == {"name": "strongswan.service", "state": "stopped"}
    assert service(host, "starter") == {"name": "strongswan-starter", "state": "stopped"}


@pytest.mark.parametrize(
    "host",
    [
        machine("501:starter", "502:bash", starter="501", charon="502"),
        machine("501:starter", starter="501", charon="502"),
        machine("501:starter", starter="501"),
    ],
)
def test_a_starter_without_charon_is_neither(host: RecordedHost) -> None:
    assert service(host) == {"name": "strongswan-starter", "state": "unknown"}
    before, after = IpsecTranslator().around(RESTART, host)
    assert (before.steps, after.steps) == ((), ())
    assert "without charon" in before.notes[0]


@pytest.mark.parametrize(
    "host",
    [
        machine(starter="501", charon="502"),
        machine("501:bash", "502:bash", starter="501", charon="502"),
        machine(starter="", charon=""),
    ],
)
def test_pid_files_that_were_left_behind_show_nothing(host: RecordedHost) -> None:
    assert service(host) == {"name": "strongswan-starter", "state": "stopped"}
    assert IpsecTranslator().around(RESTART, host) == (Plan(), Plan())


def test_a_process_without_a_name_is_taken_for_what_its_pid_file_says() -> None:
    host = machine(starter="501", charon="502")
    host.folders |= {"/proc/501", "/proc/502"}
    assert service(host) == {"name": "strongswan-starter", "state": "running"}


def test_a_pid_file_that_has_no_number_is_a_fault() -> None:
    host = machine(starter="many")
    reading = IpsecTranslator().operational(host, ALL, {})
    assert reading.tree == {}
    (fault,) = reading.faults
    assert fault.path == "/hardware-acceleration:acceleration/ipsec/service/state"
    assert fault.message == "/run/starter.charon.pid: has no process number"
    with pytest.raises(TranslatorError, match="can't be told"):
        IpsecTranslator().around(RESTART, host)


def test_only_what_is_wanted_is_looked_at() -> None:
    state = Selection(everything=False, branches=(Branch("state", (), ALL),))
    wanted = Selection(everything=False, branches=(Branch("service", (), state),))
    assert IpsecTranslator().operational(running(), wanted, {}).tree == {"service": {"state": "running"}}
    associations = Selection(everything=False, branches=(Branch("security-association", (), ALL),))
    assert IpsecTranslator().operational(machine(), associations, {}).tree == {}


def test_a_running_service_is_stopped_before_and_started_after() -> None:
    expected = (Plan((StopService("starter", IPSEC),)), Plan((StartService("starter", IPSEC),)))
    assert IpsecTranslator().around(RESTART, running()) == expected
    assert IpsecTranslator().around((*NONE, *RESTART), running()) == expected
    assert IpsecTranslator("starter").around(RESTART, running()) == expected


def test_a_charon_without_vici_can_not_be_rekeyed() -> None:
    with pytest.raises(TranslatorError, match="there is no such socket") as caught:
        IpsecTranslator().around(REKEY, running())
    assert "Have charon restarted by strongswan-starter, or set ipsec-refresh to restart" in caught.value.message
    off = (Disturbance("ipsec", "rekey", enabling=False),)
    before, after = IpsecTranslator().around(off, running())
    assert (before.steps, after.steps) == ((StopService("starter", IPSEC),), (StartService("starter", IPSEC),))
    assert "IPsec is restarted instead" in before.notes[0]


def test_none_leaves_it_alone() -> None:
    assert IpsecTranslator().around(NONE, RecordedHost()) == (Plan(), Plan())
    assert IpsecTranslator().around((), RecordedHost()) == (Plan(), Plan())


@pytest.mark.parametrize(
    "host",
    [
        machine("700:charon-systemd"),
        machine("700:charon", charon="700"),
        machine("700:charon-systemd", installed=None),
        machine("700:charon-systemd", starter="501", charon="502"),
    ],
)
def test_a_charon_of_somebody_else_is_not_touched(host: RecordedHost) -> None:
    assert IpsecTranslator().operational(host, ALL, {}).tree == {"service": {"state": "running"}}
    with pytest.raises(TranslatorError, match="program:PATH") as caught:
        IpsecTranslator().around(RESTART, host)
    assert caught.value.path == "/hardware-acceleration:acceleration/qat/ipsec-refresh"
    assert IpsecTranslator().around(NONE, host) == (Plan(), Plan())


def test_a_charon_in_a_container_is_none_of_this_machine() -> None:
    host = machine("700:charon")
    host.links["/proc/self/ns/pid"] = "pid:[1]"
    host.links["/proc/700/ns/pid"] = "pid:[2]"
    assert service(host) == {"name": "strongswan-starter", "state": "stopped"}
    assert IpsecTranslator().around(RESTART, host) == (Plan(), Plan())


@pytest.mark.parametrize(("status", "state"), [(0, "running"), (3, "stopped"), (1, "stopped")])
def test_a_program_tells_the_state_itself(status: int, state: str) -> None:
    host = machine(installed=None)
    host.programs["/opt/ike"] = lambda _host, argv: (status if argv[1] == "status" else 0, "")
    assert service(host, "program:/opt/ike") == {"name": "/opt/ike", "state": state}
    before, after = IpsecTranslator("program:/opt/ike").around(RESTART, host)
    assert before.steps == ((StopService("program", "/opt/ike"),) if state == "running" else ())
    assert after.steps == ((StartService("program", "/opt/ike"),) if state == "running" else ())


def test_a_program_that_is_not_there_refuses() -> None:
    translator = IpsecTranslator("program:/opt/none")
    with pytest.raises(TranslatorError, match="No such file"):
        translator.around(RESTART, machine())
    assert "No such file" in translator.operational(machine(), ALL, {}).faults[0].message


def starting(*answers: bool) -> RecordedHost:
    """Make a machine whose charon, once it is started, answers as is said, and then no more or always."""
    host = machine()
    said = list(answers)

    def answer(_host: RecordedHost, command: str, _message: dict[str, Any]) -> list[Message]:
        if not (said.pop(0) if len(said) > 1 else said[0]):
            raise ViciTimeoutError(SOCKET, f"charon did not answer {command} within 1 s")
        return [{"daemon": "charon"}]

    def start(_host: RecordedHost, _argv: tuple[str, ...]) -> tuple[int, str]:
        found = running()
        host.files |= found.files
        return 0, "Starting strongSwan\n"

    host.programs[IPSEC] = start
    host.daemons[SOCKET] = answer
    return host


def test_a_charon_that_is_started_has_to_answer_where_it_can_be_asked() -> None:
    host = starting(False, False, True)
    StartService("starter", IPSEC, SOCKET).perform(host)
    assert [command for command, _message in host.asked] == ["version"] * 3
    host = starting(False)
    with pytest.raises(StepError, match=r"IPsec started, and charon does not answer at /run/charon\.vici") as caught:
        StartService("starter", IPSEC, SOCKET).perform(host)
    assert caught.value.output == "Starting strongSwan\n"
    assert StopService("starter", IPSEC, SOCKET).inverse() == StartService("starter", IPSEC, SOCKET)


def test_a_charon_that_can_not_be_asked_has_to_stay_for_a_moment() -> None:
    host = starting(False)
    StartService("starter", IPSEC).perform(host)
    assert host.asked == []
    assert host.elapsed == 0.2


@pytest.mark.parametrize("setting", ["systemd:strongswan", "program:ike", "program:", "", "yes"])
def test_other_settings_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match="program:PATH"):
        IpsecTranslator(setting)


def test_nothing_of_it_can_be_configured() -> None:
    assert IpsecTranslator().prepare(Change({}, {}), RecordedHost()) == Plan()


def test_steps_are_observed_whatever_happens() -> None:
    host = machine()
    host.files["/run/starter.charon.pid"] = OSError(errno.EIO, "Input/output error")
    observed = StopService("starter", IPSEC).observe(host)
    assert observed == "whether IPsec runs can't be told (/run/starter.charon.pid: Input/output error)"
    assert StartService("starter", IPSEC).observe(running()) == "IPsec is running"
