"""The door to the machine: bounded reads, whole writes, paths that stay below the root, programs that end."""

import errno
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from translators import real_host as door
from translators.host import Host, ProgramTimeoutError, wait_until
from translators.real_host import RealHost, wait_for_programs


def script(root: Path, name: str, text: str, *, mode: int = 0o755) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return f"/{name}"


@pytest.fixture
def host(tmp_path: Path) -> RealHost:
    return RealHost(tmp_path)


def test_it_is_a_host(host: RealHost) -> None:
    door: Host = host
    assert door.now().utcoffset() is not None
    assert door.monotonic() <= door.monotonic()


def test_reading_gives_bytes_up_to_the_limit(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert host.read("/f") == b"12345"
    assert host.read("/f", limit=5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes") as caught:
        host.read("/f", limit=4)
    assert caught.value.errno == errno.EFBIG


def test_an_absent_file_is_not_found(host: RealHost) -> None:
    with pytest.raises(FileNotFoundError):
        host.read("/none")
    with pytest.raises(FileNotFoundError):
        host.names("/none")
    with pytest.raises(FileNotFoundError):
        host.link("/none")
    assert not host.exists("/none")
    assert not host.executable("/none")
    host.remove("/none")


def test_a_fifo_does_not_hang(tmp_path: Path, host: RealHost) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        host.read("/pipe")
    with pytest.raises(OSError, match="not replaced"):
        host.write("/pipe", b"x")
    with pytest.raises(IsADirectoryError):
        host.read("/")


def test_a_piece_of_a_file_is_read_from_an_offset_on(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "log").write_bytes(b"0123456789")
    piece = host.piece("/log", 7, limit=2)
    assert (piece.data, piece.size, piece.inode) == (b"78", 10, (tmp_path / "log").stat().st_ino)
    assert host.piece("/log", 99, limit=2).data == b""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        host.piece("/pipe", 0, limit=1)
    with pytest.raises(FileNotFoundError):
        host.piece("/none", 0, limit=1)


def test_messages_of_a_device_come_one_by_one_and_none_is_waited_for() -> None:
    # A terminal gives a line a read, and EAGAIN when there is none, as /dev/kmsg does with its records.
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"one\ntwo\nunfinished")
        assert list(RealHost().messages(os.ttyname(theirs))) == [b"one\n", b"two\n"]
        assert list(RealHost().messages(os.ttyname(theirs))) == []
    finally:
        os.close(ours)
        os.close(theirs)


def test_messages_go_on_after_those_that_were_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bytes | OSError] = [b"1", BrokenPipeError(errno.EPIPE, "overrun"), b"9", BlockingIOError()]

    def read(_descriptor: int, _size: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, "read", read)
    assert list(RealHost().messages("/dev/null")) == [b"1", b"9"]


def test_what_is_no_device_gives_no_messages(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "f").write_bytes(b"x")
    with pytest.raises(OSError, match="not a device that gives messages") as caught:
        next(host.messages("/f"))
    assert caught.value.errno == errno.ENODEV
    with pytest.raises(FileNotFoundError):
        next(host.messages("/none"))


def test_an_attribute_is_written_in_place(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "state").write_bytes(b"something long\n")
    before = (tmp_path / "state").stat().st_ino
    host.assign("/state", b"up\n")
    assert (tmp_path / "state").read_bytes() == b"up\n"
    assert (tmp_path / "state").stat().st_ino == before
    with pytest.raises(FileNotFoundError):
        host.assign("/none", b"x")
    assert not (tmp_path / "none").exists()


def test_what_the_kernel_says_to_a_value_comes_through(
    tmp_path: Path, host: RealHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.EBUSY, "Device or resource busy")

    (tmp_path / "state").write_bytes(b"up\n")
    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(OSError, match="Device or resource busy") as caught:
        host.assign("/state", b"down\n")
    assert caught.value.filename == "/state"
    with pytest.raises(OSError, match="is not an attribute"):
        RealHost().assign("/dev/null", b"x")


def test_a_relative_path_is_a_mistake(host: RealHost) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        host.read("etc/passwd")


def test_no_path_leads_out_of_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/name").write_bytes(b"inside")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/name").write_bytes(b"outside")
    (root / "absolute").symlink_to("/etc/name")
    (root / "up").symlink_to("../../../etc/name")
    (root / "folder").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    host = RealHost(root)
    for path in ("/absolute", "/up", "/folder/name", "/../../etc/name", "//etc/./name"):
        assert host.read(path) == b"inside"
    assert host.link("/absolute") == "/etc/name"
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number below says which
        host.read("/loop")
    assert caught.value.errno == errno.ELOOP


def test_writing_replaces_a_file_whole_and_keeps_its_mode(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(0o640)
    before = (tmp_path / "f").stat().st_ino
    host.write("/f", b"new", mode=0o600)
    assert (tmp_path / "f").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640
    assert (tmp_path / "f").stat().st_ino != before
    assert os.listdir(tmp_path) == ["f"]  # noqa: PTH208 - nothing else is left


def test_a_new_file_has_the_mode_asked_for(tmp_path: Path, host: RealHost) -> None:
    host.write("/f", b"x", mode=0o664)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o664


@pytest.mark.root
def test_writing_keeps_the_owner(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "f").write_bytes(b"old")
    os.chown(tmp_path / "f", 1234, 2345)
    host.write("/f", b"new")
    status = (tmp_path / "f").stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)


def test_a_link_is_not_written_through(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError, match="not replaced"):
        host.write("/link", b"new")
    assert (tmp_path / "target").read_bytes() == b"old"


def test_a_failed_write_leaves_nothing(tmp_path: Path, host: RealHost, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        host.write("/f", b"new")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]  # noqa: PTH208 - nothing else is left


def test_what_a_killed_writer_left_is_replaced(tmp_path: Path, host: RealHost) -> None:
    (tmp_path / ".f.accel-agent").write_bytes(b"half")
    host.write("/f", b"new")
    assert os.listdir(tmp_path) == ["f"]  # noqa: PTH208 - the left-over is gone


def test_removing_and_listing(tmp_path: Path, host: RealHost) -> None:
    for name in ("b", "a", "c"):
        host.write(f"/{name}", b"")
    host.remove("/b")
    assert host.names("/") == ("a", "c")
    (tmp_path / "l").symlink_to("nowhere")
    assert not host.exists("/l")
    host.remove("/l")
    assert host.names("/") == ("a", "c")


def test_executable_means_a_program(tmp_path: Path, host: RealHost) -> None:
    assert host.executable(script(tmp_path, "usr/sbin/yes", "exit 0"))
    assert not host.executable(script(tmp_path, "usr/sbin/no", "exit 0", mode=0o644))
    assert not host.executable("/usr/sbin")


def test_a_program_is_run_below_the_root_with_both_streams_in_order(tmp_path: Path, host: RealHost) -> None:
    program = script(tmp_path, "etc/init.d/p", 'echo "one $1"; echo two >&2; echo "$0"; cat; exit 3')
    completed = host.run((program, "a b"), timeout=10)
    assert completed.argv == (program, "a b")
    assert completed.returncode == 3
    assert completed.output == f"one a b\ntwo\n{tmp_path}/etc/init.d/p\n"


def test_a_program_sees_a_small_environment(tmp_path: Path, host: RealHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "xyzzy")
    output = host.run((script(tmp_path, "p", "env"),), timeout=10).output
    names = {line.partition("=")[0] for line in output.splitlines()}
    assert {"PATH", "LANG"} <= names <= {"PATH", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}


def test_a_missing_program_and_a_plain_file_are_refused(tmp_path: Path, host: RealHost) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        host.run(("/usr/bin/none", "start"), timeout=10)
    assert missing.value.filename == "/usr/bin/none"
    with pytest.raises(PermissionError):
        host.run((script(tmp_path, "p", "exit 0", mode=0o644),), timeout=10)


def test_a_program_in_time_out_is_killed_with_its_children(tmp_path: Path, host: RealHost) -> None:
    program = script(tmp_path, "p", f"echo begun; sleep 60 & echo $! > {tmp_path}/child; wait")
    begun = time.monotonic()
    with pytest.raises(ProgramTimeoutError, match=r"did not end within 0\.5 s") as caught:
        host.run((program,), timeout=0.5)
    assert time.monotonic() - begun < 10
    assert caught.value.output == "begun\n"
    child = int((tmp_path / "child").read_text())
    assert wait_until(host, lambda: _ended(child), seconds=10)


def test_a_daemon_left_behind_does_not_hold_the_caller(tmp_path: Path, host: RealHost) -> None:
    program = script(tmp_path, "p", f"setsid sleep 60 & echo $! > {tmp_path}/daemon; echo started")
    begun = time.monotonic()
    completed = host.run((program,), timeout=30)
    assert time.monotonic() - begun < 10
    assert completed.output == "started\n"
    daemon = int((tmp_path / "daemon").read_text())
    assert not _ended(daemon)
    os.kill(daemon, 9)


def test_endless_output_is_cut_in_the_middle(tmp_path: Path, host: RealHost) -> None:
    program = script(tmp_path, "p", "echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last")
    output = host.run((program,), timeout=30).output
    assert output.startswith("first\nxxx")
    assert output.endswith("xxx\nlast\n")
    left_out = 200012 - door.OUTPUT_LIMIT
    assert f"\n[{left_out} bytes left out]\n" in output
    assert len(output) < door.OUTPUT_LIMIT + 100


def test_output_is_printable_text(tmp_path: Path, host: RealHost) -> None:
    program = script(tmp_path, "p", "printf 'a\\000b\\377c\\033d\\te\\r\\n'")
    assert host.run((program,), timeout=10).output == "a\ufffdb\ufffdc\ufffdd\te\n"


@pytest.mark.needs("flock")
def test_a_running_program_holds_the_lock_and_its_daemon_does_not(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    host = RealHost(tmp_path, program_lock=lock)
    program = script(tmp_path, "p", f"touch {tmp_path}/begun; setsid sleep 60 & echo $!; sleep 1; exit 5")
    outputs = []
    thread = threading.Thread(target=lambda: outputs.append(host.run((program,), timeout=30)))
    thread.start()
    assert wait_until(host, (tmp_path / "begun").exists, seconds=10)
    with pytest.raises(TimeoutError, match="former agent holds"):
        wait_for_programs(lock, timeout=0)
    thread.join(timeout=30)
    assert outputs[0].returncode == 5
    daemon = int(outputs[0].output)
    assert not _ended(daemon)
    wait_for_programs(lock, timeout=0)
    os.kill(daemon, 9)


def test_nothing_ran_before_the_first_agent(tmp_path: Path) -> None:
    wait_for_programs(tmp_path / "none", timeout=0)


def test_waiting_ends_at_the_deadline(host: RealHost) -> None:
    assert wait_until(host, lambda: True, seconds=0)
    assert not wait_until(host, lambda: False, seconds=0.1)


def _ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"
