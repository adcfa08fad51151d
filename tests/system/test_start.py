"""An agent that can't start says so in one line, and leaves nothing behind; one that can is ready soon."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh
import pytest

from tests.system.client import DEADLINE
from tests.system.gateway import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.system.gateway import Gateway

# What lets root write where the permissions say that nobody may.
AS_ANYBODY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh")
LOG_LEVELS = (" INFO ", " WARNING ", " ERROR ")


@pytest.fixture
def served(gateway: Gateway) -> Gateway:
    """Return a machine whose agent has a host key."""
    gateway.build("c3xxx").state.mkdir()
    key = gateway.state / "ssh_host_ed25519_key"
    key.touch(mode=0o600)
    key.write_bytes(HOST_KEY)
    return gateway


def failure(gateway: Gateway, *flags: str, under: Sequence[str] = ()) -> str:
    """Start the agent, which must fail with one line; return the line."""
    done = subprocess.run(
        [*under, *gateway.arguments(*flags)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
        cwd=gateway.folder,
        env=environment(gateway.folder),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert not gateway.socket.exists()
    (line,) = done.stderr.splitlines()
    assert line.startswith("accel-agent: ")
    # What is wrong and where, and after a colon what to do about it.
    assert line.count(": ") >= 2
    return line


def test_a_port_that_is_taken(served: Gateway) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        line = failure(served, "--listen", address)
    assert line.startswith(f"accel-agent: cannot listen on {address}: the port is taken: stop what uses it")
    assert line.endswith(", or change --listen")
    served.start()


def test_the_ready_line_has_absolute_paths(served: Gateway) -> None:
    served.start("--unix-socket", "here.sock", "--state-dir", "state-here")
    assert served.ready["unix_socket"] == str(served.folder / "here.sock")
    assert served.ready["state_dir"] == str(served.folder / "state-here")


def test_a_local_socket_that_another_agent_serves(served: Gateway) -> None:
    served.start()
    line = _refused(served, "--state-dir", str(served.folder / "another"))
    assert line == f"accel-agent: an agent is already running, on {served.socket}: stop it, or change --unix-socket"
    assert served.connect().config_text() == ""


def test_a_state_directory_that_another_agent_has(served: Gateway) -> None:
    served.start()
    line = _refused(served, "--unix-socket", str(served.folder / "another.sock"))
    assert line.startswith(f"accel-agent: {served.state}: another accel-agent uses this state directory: stop it, or ")
    assert not (served.folder / "another.sock").exists()


@pytest.mark.needs(*AS_ANYBODY[:1])
def test_a_state_directory_that_is_not_writable(gateway: Gateway) -> None:
    gateway.build("c3xxx")
    gateway.state.mkdir(mode=0o555)
    line = failure(gateway, under=AS_ANYBODY)
    assert line.startswith(f"accel-agent: {gateway.state}: the state directory can't be written: Permission denied: ")
    assert "--state-dir" in line
    assert list(gateway.state.iterdir()) == []
    gateway.state.chmod(0o755)
    gateway.start()


def test_a_state_directory_that_is_a_file(gateway: Gateway) -> None:
    gateway.build("c3xxx").state.write_text("")
    line = failure(gateway)
    assert line.startswith(f"accel-agent: {gateway.state}: the state directory can't be written: ")


@pytest.mark.needs(*AS_ANYBODY[:1])
def test_a_host_key_that_is_unreadable(served: Gateway) -> None:
    key = served.state / "ssh_host_ed25519_key"
    key.chmod(0)
    line = failure(served, under=AS_ANYBODY)
    assert line.startswith(f"accel-agent: cannot read or make the host key {key} (Permission denied): ")
    key.chmod(0o644)
    assert f"the host key {key} is open to others (mode 0644): make it a file of mode 600" in failure(served)
    key.chmod(0o600)
    served.start()


def test_a_host_key_that_is_none(served: Gateway) -> None:
    key = served.state / "ssh_host_ed25519_key"
    for content in ("", "not a key\n", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"):
        key.write_text(content)
        line = failure(served)
        assert line.startswith(f"accel-agent: the host key {key} is no private key without a passphrase: move it away")
        assert key.read_text() == content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"module x {\n  namespace 'urn:example:x';\n  prefix x;\n  leaf a {\n    type nonsense;\n  }\n}\n", ":5: "),
        (b"module x {\n  namespace 'urn:example:x';\n  prefix x;\n  leaf a { type string;\n", ":"),
        (b"module x {\n  namespace 'urn:example:x';\n  prefix x;\n  import nowhere { prefix n; }\n}\n", "nowhere"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"", ":"),
        (None, "can't be read: No such file or directory"),
    ],
    ids=["type", "cut off", "import", "not text", "empty", "absent"],
)
def test_a_yang_module_that_is_broken(gateway: Gateway, content: bytes | None, said: str) -> None:
    module = gateway.build("c3xxx").folder / "x.yang"
    if content is not None:
        module.write_bytes(content)
    line = failure(gateway, "--module", str(module))
    assert line.startswith(f"accel-agent: {module}")
    assert said in line
    # Nothing was made before the modules were read.
    assert not gateway.state.exists()


def test_running_that_is_damaged(served: Gateway) -> None:
    running = served.state / "running.xml"
    for content in (b"<config", b"<config xmlns='urn:ietf:params:xml:ns:netconf:base:1.0'><x xmlns='urn:n'/></config>"):
        running.write_bytes(content)
        line = failure(served)
        assert line.startswith(f"accel-agent: {running}: the configuration can't be used: ")
        assert line.endswith(": mend the file, or move it away to begin anew")
        assert running.read_bytes() == content


def test_a_record_of_a_commit_that_is_damaged(served: Gateway) -> None:
    journal = served.state / "journal.json"
    journal.write_text('{"plan": ')
    line = failure(served)
    assert line.startswith(f"accel-agent: {journal}: the record of a broken-off commit can't be used: ")
    assert journal.exists()


def test_ready_is_said_within_3_seconds_in_one_line_of_json(gateway: Gateway) -> None:
    gateway.build("c3xxx")
    begun = time.monotonic()
    gateway.start()
    assert time.monotonic() - begun < 3
    assert gateway.ready == {
        "ready": True,
        "netconf": {"host": "127.0.0.1", "port": gateway.port},
        "user": "admin",
        "unix_socket": str(gateway.socket),
        "state_dir": str(gateway.state),
        "sysroot": str(gateway.root),
        "pid": gateway.pid,
    }
    assert Path(f"/proc/{gateway.pid}").exists()
    gateway.stop()
    assert not gateway.socket.exists()
    assert sorted(path.name for path in gateway.state.iterdir()) == [
        "agent.lock",
        "offered.json",
        "running.xml",
        "ssh_host_ed25519_key",
    ]
    assert all(any(level in line for level in LOG_LEVELS) for line in gateway.log.read_text().splitlines())


def _refused(gateway: Gateway, *flags: str) -> str:
    """Start a second agent beside one that serves, which must fail; return its one line."""
    done = subprocess.run(
        gateway.arguments(*flags), capture_output=True, text=True, check=False, timeout=DEADLINE, cwd=gateway.folder,
        env=environment(gateway.folder),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert gateway.socket.exists()
    return line
