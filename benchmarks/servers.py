"""The servers that are measured, each in a process of its own: the agent, and the floor of its SSH library."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import asyncssh
from payload import framed

import simulator
from agent.ssh import ENCRYPTION, KEY_EXCHANGE, MAC, PACKET, WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USER: Final = "bench"
SESSIONS: Final = 256
_HERE: Final = Path(__file__).resolve().parent
_MODULE: Final = _HERE.parent / "tests" / "agent" / "modules" / "t.yang"
_READY: Final = 60.0
_STOP: Final = 20.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_OK: Final = framed(b'<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="1"><ok/></rpc-reply>')


class BenchmarkError(Exception):
    """A figure can't be measured. The text says what went wrong."""


@dataclass(frozen=True, slots=True)
class Place:
    """A directory with what all servers and clients of a run use: the user's key, the agent's settings."""

    folder: Path
    key: Path
    authorized_keys: Path
    settings: Path
    password: Path


@dataclass(frozen=True, slots=True)
class Server:
    """A server that accepts sessions; ``seconds`` from the start of its process to its ready line."""

    port: int
    pid: int
    seconds: float


def prepare(folder: Path) -> Place:
    """Make the keys and the settings file."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    place = Place(folder, folder / "id_ed25519", folder / "keys" / USER, folder / "agent.toml", folder / "password")
    place.authorized_keys.parent.mkdir()
    place.key.touch(mode=0o600)
    place.key.write_bytes(key.export_private_key())
    place.authorized_keys.write_bytes(key.export_public_key())
    place.authorized_keys.chmod(0o644)
    place.password.touch(mode=0o600)
    place.password.write_text(secrets.token_hex() + "\n")
    place.settings.write_text(
        f'[listen]\nunix = ""\n'
        f'[ssh]\nhost-keys = ["{folder}/host_ed25519"]\nauthorized-keys = "{folder}/keys/%u"\n'
        f"[limits]\nsessions = {SESSIONS}\nsessions-per-user = {SESSIONS}\n"
    )
    return place


@contextmanager
def gateway(place: Place, name: str, devices: Sequence[str] = ("c3xxx",), *, cpus: int = 4) -> Iterator[Path]:
    """Make a simulated machine for as long as the context lasts."""
    folder = place.folder / name
    simulator.build(folder, [simulator.parse_device(device) for device in devices], cpus=cpus)
    try:
        yield folder
    finally:
        simulator.stop(folder)


@contextmanager
def agent(place: Place, *, machine: Path, state: Path) -> Iterator[Server]:
    """Run ``accel-agent serve`` on a simulated machine for as long as the context lasts."""
    command = [sys.executable, "-P", "-m", "agent", "serve", "--json", "--listen", "127.0.0.1:0"]
    command += ["--config", str(place.settings), "--sysroot", str(machine), "--state-dir", str(state)]
    # Who has a password is an administrator of an agent that starts for the first time.
    command += ["--module", str(_MODULE), "--user", USER, "--password-file", str(place.password)]
    with running(command, place.folder / f"{state.name}.log") as server:
        yield server


@contextmanager
def floor(place: Place, reply: bytes = _OK) -> Iterator[Server]:
    """Run the server that answers everything with one framed reply, for as long as the context lasts."""
    file = place.folder / "reply"
    file.write_bytes(reply)
    options: dict[str, Any] = {
        "reply": str(file),
        "key": str(place.key),
        "authorized_keys": str(place.authorized_keys),
        "encryption_algs": ENCRYPTION,
        "mac_algs": MAC,
        "kex_algs": KEY_EXCHANGE,
        "compression_algs": None,
        "window": WINDOW,
        "max_pktsize": PACKET,
    }
    with running([sys.executable, str(_HERE / "floor.py"), json.dumps(options)], place.folder / "floor.log") as server:
        yield server


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Server]:
    """Run a server until the context ends. Raises BenchmarkError when it does not start, or ended by itself."""
    started = time.perf_counter()
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    try:
        line = _first_line(process, log)
        seconds = time.perf_counter() - started
        yield Server(int(json.loads(line)["netconf"]["port"]), process.pid, seconds)
        if process.poll() is not None:
            raise BenchmarkError(f"a server ended while it was measured: {_tail(log)}")
    finally:
        process.terminate()
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def resident(server: Server) -> float:
    """Return a server's resident memory in MB (10⁶ bytes)."""
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise BenchmarkError(f"the server {server.pid} has ended")


def cpu_seconds(server: Server) -> float:
    """Return the CPU time that a server has used, in user and kernel mode."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _first_line(process: subprocess.Popen[bytes], log: Path) -> bytes:
    output = process.stdout
    with selectors.DefaultSelector() as selector:
        if output is not None:
            selector.register(output, selectors.EVENT_READ)
        line = output.readline() if output is not None and selector.select(_READY) else b""
    if not line:
        raise BenchmarkError(f"a server does not start: {_tail(log)}")
    return line


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "it said nothing"
