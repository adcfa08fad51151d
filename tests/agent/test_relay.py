"""The relay that OpenSSH's server starts for each session."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh
import pytest

import agent
from agent import relay as agent_relay
from agent.relay import DEFAULT_SOCKET
from agent.settings import Settings
from tests.agent.echo import DEADLINE, until
from tests.agent.unix_gateway import Gateway, run

if TYPE_CHECKING:
    from collections.abc import Callable

# -I: the agent's folder, and nothing of this one, is found.
FOLDER = str(Path(agent.__path__[0]).parent)
RELAY = f"import sys; sys.path.insert(0, {FOLDER!r}); from agent.relay import relay; sys.exit(relay(sys.argv[1]))"


async def relay(
    path: Path, *, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", RELAY, str(path), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE
    )


def test_the_relay_copies_both_ways_and_passes_the_end_of_input_on(short: Path) -> None:
    gateway = Gateway(short / "n.sock")
    data = os.urandom(5 * 1024 * 1024)

    async def scenario() -> None:
        process = await relay(gateway.path)
        output, errors = await asyncio.wait_for(process.communicate(data), DEADLINE)
        assert output == data + b"bye"
        assert (process.returncode, errors) == (0, b"")
        assert gateway.sessions[0].received == data

    run(gateway, scenario)


def test_the_relay_ends_with_the_session_while_its_input_is_open(short: Path) -> None:
    gateway = Gateway(short / "n.sock", b"hello")

    async def scenario() -> None:
        process = await relay(gateway.path)
        assert process.stdin is not None
        assert process.stdout is not None
        assert await process.stdout.readexactly(5) == b"hello"
        gateway.sessions[0].transport.write(b"x" * 1_000_000)
        gateway.sessions[0].transport.close()
        assert await process.stdout.read() == b"x" * 1_000_000
        assert await asyncio.wait_for(process.wait(), DEADLINE) == 0
        process.stdin.close()

    run(gateway, scenario)


def test_the_relay_ends_when_its_reader_is_gone(short: Path) -> None:
    gateway = Gateway(short / "n.sock", b"h" * 1_000_000)

    async def scenario() -> None:
        reading, writing = os.pipe()
        process = await relay(gateway.path, stdout=writing)
        os.close(writing)
        os.close(reading)
        assert await asyncio.wait_for(process.wait(), DEADLINE) == 1
        await until(lambda: gateway.sessions[0].events[-1:] == ["lost"])

    run(gateway, scenario)


def test_the_relay_with_one_socket_for_input_and_output(short: Path) -> None:
    # As sshd starts a subsystem where it uses a socket pair in place of pipes.
    gateway = Gateway(short / "n.sock")
    data = os.urandom(3_000_000)

    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        process = await relay(gateway.path, stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(data)
        writer.write_eof()
        assert await reader.read() == data + b"bye"
        assert await asyncio.wait_for(process.wait(), DEADLINE) == 0
        writer.close()

    run(gateway, scenario)


def test_the_relay_without_an_agent(short: Path) -> None:
    path = short / "n.sock"
    completed = subprocess.run(
        [sys.executable, "-I", "-c", RELAY, str(path)], capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    assert completed.returncode == 1
    assert completed.stdout == ""
    assert completed.stderr == (
        f"accel-agent relay: no agent answers on {path} (No such file or directory): start it, or see [listen] unix\n"
    )


def test_the_relay_imports_little() -> None:
    code = (
        f"import sys; sys.path.insert(0, {FOLDER!r}); import agent; before = set(sys.modules);"
        "import agent.relay; print(*sorted(set(sys.modules) - before))"
    )
    completed = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=DEADLINE
    )
    modules = completed.stdout.split()
    assert [name for name in modules if name.startswith("agent")] == ["agent.relay"]
    assert not {"asyncio", "logging", "typing", "re", "ssl", "subprocess", "threading"}.intersection(modules)


def test_the_command_loads_no_more_than_the_relay(short: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {FOLDER!r}); sys.argv[0] = 'accel-agent'; from agent.__main__ import main;"
        "status = main(); print(status, *sys.modules)"
    )
    for flags in (["--unix-socket", str(short / "n.sock")], [f"--unix-socket={short / 'n.sock'}"]):
        completed = subprocess.run(
            [sys.executable, "-I", "-c", code, "relay", *flags],
            capture_output=True, text=True, check=True, timeout=DEADLINE,
        )  # fmt: skip
        status, *modules = completed.stdout.split()
        assert status == "1"
        assert f"no agent answers on {short / 'n.sock'} " in completed.stderr
        assert not {"asyncio", "argparse", "typing", "re", "agent.cli"}.intersection(modules)


def test_the_relays_default_is_the_settings() -> None:
    assert str(Settings().listen.unix) == DEFAULT_SOCKET


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda folder: folder / "file", "is no socket: give the agent's, see [listen] unix"),
        (lambda folder: folder / ("x" * 120), "is too long for a socket's path: give a shorter one"),
    ],
)
def test_the_relay_with_a_path_that_is_no_agents(
    short: Path, make: Callable[[Path], Path], problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (short / "file").touch()
    path = make(short)

    assert agent_relay.relay(str(path)) == 1
    assert capfd.readouterr().err == f"accel-agent relay: {path} {problem}\n"


@pytest.mark.needs("sshd", "ssh", "ssh-keygen")
def test_the_relay_as_a_subsystem_of_openssh(short: Path, require: Callable[..., None]) -> None:
    require("root")
    gateway = Gateway(short / "n.sock", b"hello")
    sshd = _sshd(short, gateway.path)
    data = os.urandom(1_000_000)

    async def scenario() -> None:
        process = await asyncio.create_subprocess_exec(
            "ssh", "-F", "/dev/null", "-i", str(short / "user"), "-o", f"ProxyCommand={sshd}",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes",
            "-s", f"{pwd.getpwuid(os.getuid()).pw_name}@gateway", "netconf",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        output, errors = await asyncio.wait_for(process.communicate(data), DEADLINE)
        assert output == b"hello" + data + b"bye", errors
        assert process.returncode == 0

    run(gateway, scenario)


def _sshd(folder: Path, path: Path) -> str:
    """Write what a private sshd needs; return the command that serves one connection on its input and output."""
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        (folder / name).touch(mode=0o600)
        key.write_private_key(folder / name)
        key.write_public_key(folder / f"{name}.pub")
    relay_program = folder / "relay"
    relay_program.write_text(f"#!{sys.executable} -I\n{RELAY}\n")
    relay_program.chmod(0o755)
    config = folder / "sshd_config"
    config.write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\n"
        f"PermitRootLogin yes\nPidFile none\nSubsystem netconf {relay_program} {path}\n"
    )
    program = shutil.which("sshd", path=f"{os.environ.get('PATH')}:/usr/sbin:/sbin")
    return f"{program} -i -f {config}"
