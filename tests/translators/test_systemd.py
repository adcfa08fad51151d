"""The service manager where it can't be talked to: an error in time, and never this machine's for another one."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from translators.real_host import RealHost
from translators.record import RecordedHost, RefusingHost
from translators.systemd import BUS, Manager, SystemdError
from translators.vici import ViciError


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[str]:
    """Return the address of a bus that takes connections and says nothing."""
    path = tmp_path / "bus"
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        with contextlib.chdir(tmp_path):
            listener.bind(path.name)
        listener.listen()
        yield f"unix:path={path}"


@pytest.fixture
def closing(tmp_path: Path) -> Iterator[str]:
    """Return the address of a bus that takes one connection and ends it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(10)
        with contextlib.chdir(tmp_path):
            listener.bind("bus")
        listener.listen()

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield f"unix:path={tmp_path / 'bus'}"
        thread.join()


def test_no_bus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemdError, match=r"strongswan\.service: .*No such file"):
        Manager(f"unix:path={tmp_path}/none").unit("strongswan.service")


def test_a_bus_that_says_nothing_is_given_up(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translators.systemd.CALL_SECONDS", 0.2)
    with pytest.raises(SystemdError, match=r"process 7: systemd did not answer within 0\.2 s"):
        Manager(silent).unit_of(7)
    with pytest.raises(SystemdError, match=r"start a\.service: systemd did not answer within 0\.1 s"):
        Manager(silent).job("a.service", "start", timeout=0.1)


def test_a_bus_that_hangs_up_is_an_error(closing: str) -> None:
    with pytest.raises(SystemdError, match=r"a\.service"):
        Manager(closing).unit("a.service")


def test_another_root_has_no_manager_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / BUS[1:]).parent.mkdir(parents=True)
    (tmp_path / BUS[1:]).touch()
    assert RealHost(tmp_path).systemd() is None


def test_a_host_that_refuses_refuses_vici_in_its_own_way() -> None:
    host = RefusingHost(RecordedHost(daemons={"/run/charon.vici": lambda *_: [{"x": "1"}]}), refused=1)
    with pytest.raises(ViciError, match=r"/run/charon\.vici: Input/output error"):
        host.vici("/run/charon.vici", "version", {}, timeout=1)
    assert host.vici("/run/charon.vici", "version", {}, timeout=1) == [{"x": "1"}]
    assert host.systemd() is None
