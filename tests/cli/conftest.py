"""Agents for the commands to talk to: simulated gateways, and scripted ones that do what no good agent does."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.client import OPEN, enabled
from tests.system.gateway import Gateway as Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

DEADLINE = 30.0
DEVICE = "c6xx@0000:3d:00.0"
COMMAND = (sys.executable, "-m", "agent")
BASE = "urn:ietf:params:netconf:base:1.0"
CAPABILITY = "urn:ietf:params:netconf:capability:"
END = b"]]>]]>"

Result = subprocess.CompletedProcess[str]


def command(*words: str, home: Path, env: dict[str, str] | None = None) -> Result:
    """Run a command to its end, away from the checkout and from the caller's own ~/.ssh."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        [*COMMAND, *words],
        cwd=home,
        env={**kept, "HOME": str(home), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class Gateway:
    """A simulated gateway that is served: ``ready`` is its ready line, ``home`` where commands run."""

    ready: dict[str, Any]
    home: Path

    def __call__(self, *words: str) -> Result:
        """Run a command over the gateway's local socket."""
        return command(*words, "--unix-socket", self.ready["unix_socket"], home=self.home)

    def ssh(self, *words: str, home: Path) -> Result:
        """Run a command over SSH, with the known_hosts of a home."""
        password = home / "password"
        password.write_text(self.ready["password"] + "\n")
        address = self.ready["netconf"]
        flags = ("--host", address["host"], "--port", str(address["port"]), "--user", self.ready["user"])
        return command(*words, *flags, "--password-file", str(password), home=home)


@contextlib.contextmanager
def serving(home: Path, *flags: str) -> Iterator[Gateway]:
    """Serve a simulated gateway until the end of the block."""
    process = subprocess.Popen(
        [*COMMAND, "demo", "--json", *flags], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert select.select([process.stdout], [], [], DEADLINE)[0], "the agent is not ready in time"
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield Gateway(json.loads(line), home)
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Serve a gateway with one device, on which acceleration is off and stays so."""
    with serving(tmp_path_factory.mktemp("gateway"), "--device", DEVICE) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Serve a gateway with one device, on which acceleration is on and stays so."""
    with serving(tmp_path_factory.mktemp("up"), "--device", DEVICE) as gateway:
        for words in (("set", "qat", "enabled", "true"), ("commit",)):
            assert gateway(*words).returncode == 0
        yield gateway


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Gateway]:
    """Serve a gateway of the test's own: with one device, acceleration is off at first."""
    with serving(tmp_path, "--device", DEVICE) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def bare_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Serve a gateway without a device."""
    with serving(tmp_path_factory.mktemp("bare"), "--no-device") as gateway:
        yield gateway


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Serve a machine whose agent can be killed and started again: acceleration is on."""
    machine = Machine(tmp_path / "machine").build("c6xx@3d:00.0")
    machine.start()
    client = machine.connect()
    client.apply(OPEN)
    client.apply(enabled())
    machine.disconnect()
    yield machine
    machine.close()


@dataclass
class ScriptedAgent:
    """An agent that says what it is told to, to one client: ``asked`` are the requests that it got.

    ``greeting`` is sent at once, a hello unless given, and nothing follows an empty one; ``replies`` are the contents
    of the replies by operation (with its prefix unless that is nc), None to hang up instead; ``mute``: there are no
    replies, or none to the operations in ``silent``.
    """

    path: Path
    capabilities: Sequence[str] = ()
    greeting: bytes | None = None
    replies: dict[str, str | None] = field(default_factory=dict)
    mute: bool = False
    silent: Sequence[str] = ()
    asked: list[str] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, contextlib.suppress(OSError):
            client.sendall(self._hello() if self.greeting is None else self.greeting)
            if self.greeting == b"":
                return
            received = b""
            while data := client.recv(65536):
                received += data
                *messages, received = received.split(END)
                for message in messages:
                    reply = self._reply(message.decode())
                    if reply is None:
                        return
                    client.sendall(reply)

    def _hello(self) -> bytes:
        offered = "".join(
            f"<capability>{uri}</capability>" for uri in (BASE, f"{CAPABILITY}candidate:1.0", *self.capabilities)
        )
        return (
            '<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities>'
            f"{offered}</capabilities><session-id>7</session-id></hello>"
        ).encode() + END

    def _reply(self, message: str) -> bytes | None:
        if "<nc:hello" in message or "<hello" in message:
            return b""
        self.asked.append(message)
        if self.mute or any(f"<nc:{name}" in message for name in self.silent):
            return b""
        tags = {name: name if ":" in name else f"nc:{name}" for name in self.replies}
        content = next((text for name, text in self.replies.items() if f"<{tags[name]}" in message), "<ok/>")
        if content is None:
            return None
        identifier = message.partition('message-id="')[2].partition('"')[0]
        envelope = f'<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="{identifier}">'
        return f"{envelope}{content}</rpc-reply>".encode() + END


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., ScriptedAgent]]:
    """Return a function that starts a scripted agent on a socket."""
    running: list[tuple[socket.socket, threading.Thread]] = []

    def start(**script: Any) -> ScriptedAgent:
        agent = ScriptedAgent(tmp_path / "netconf.sock", **script)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(agent.path))
        listener.listen()
        thread = threading.Thread(target=agent.serve, args=(listener,))
        thread.start()
        running.append((listener, thread))
        return agent

    yield start
    for listener, thread in running:
        # shutdown wakes an accept that is waiting; close doesn't.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(DEADLINE)
        assert not thread.is_alive()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Return a function that runs a command with an empty home."""

    def run(*words: str, env: dict[str, str] | None = None) -> Result:
        return command(*words, home=tmp_path, env=env)

    return run
