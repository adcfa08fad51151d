"""Bytes that no good client sends: an error reply or a clean end of the session, and the agent serves on."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paramiko
import pytest

from tests.system.client import DEADLINE, MONITORING, NETCONF, PASSWORD, USER, until
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1024 * 1024
END = b"]]>]]>"
ASK = b'<rpc message-id="1" xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">%b</rpc>'
GET_CONFIG = ASK % b"<get-config><source><running/></source><filter/></get-config>"
LAUGHS = b"".join(b'<!ENTITY l%d "%b">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
# Each is well framed, and not well-formed or not to be read.
MESSAGES = {
    "not XML": b"not XML at all",
    "cut off": GET_CONFIG[:-9],
    "wrong end tag": GET_CONFIG.replace(b"</running>", b"</candidate>").replace(b"<running/>", b"<running></x>"),
    "two roots": GET_CONFIG * 2,
    "unknown prefix": ASK % b"<nc:get/>",
    "DOCTYPE": b"<!DOCTYPE rpc>" + GET_CONFIG,
    "entity bomb": b'<!DOCTYPE rpc [<!ENTITY l0 "ha">' + LAUGHS + b"]>" + ASK % b"<get>&l9;</get>",
    "external entity": b'<!DOCTYPE rpc [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + ASK % b"<get>&e;</get>",
    "external DTD": b'<!DOCTYPE rpc SYSTEM "http://127.0.0.1:9/x.dtd">' + GET_CONFIG,
    "10000 nested elements": ASK % (b"<x>" * 10_000 + b"</x>" * 10_000),
    "not UTF-8": ASK % b"<get><!-- \xc3\x28 \xff --></get>",
    "Latin-1": b'<?xml version="1.0" encoding="ISO-8859-1"?>' + ASK % b"<get><!-- \xe4 --></get>",
    "UTF-16": '<?xml version="1.0" encoding="UTF-16"?><rpc/>'.encode("utf-16"),
    "another encoding declared": b'<?xml version="1.0" encoding="ISO-8859-1"?>' + GET_CONFIG,
    "NUL": ASK % b"<get>\0</get>",
    "control character": ASK % b"<get>\x08</get>",
    "character reference to NUL": ASK % b"<get>&#0;</get>",
    "no rpc": b'<nonsense xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"/>',
}


class Wire:
    """A connection of bytes: ``channel`` is a socket or looks like one."""

    def __init__(self, channel: Any, *, close: Callable[[], object]) -> None:
        self._channel = channel
        self._received = b""
        self.close = close
        channel.settimeout(DEADLINE)

    def send(self, data: bytes) -> None:
        """Send, or find out that the other side takes no more."""
        with contextlib.suppress(OSError):
            self._channel.sendall(data)

    def until(self, mark: bytes) -> bytes:
        """Return what comes up to a mark, without it."""
        while mark not in self._received:
            data = self._channel.recv(65536)
            assert data, f"the connection ended after {self._received!r}"
            self._received += data
        found, _, self._received = self._received.partition(mark)
        return found

    def ends(self) -> bytes:
        """Wait for the end of the connection and return what came before it."""
        with contextlib.suppress(ConnectionResetError):  # what was sent and not read makes it one
            while data := self._channel.recv(65536):
                self._received += data
        return self._received

    def greet(self, base: str = "1.1") -> Wire:
        """Exchange hellos."""
        assert b"<hello" in self.until(END)
        capability = f"<capability>urn:ietf:params:netconf:base:{base}</capability>"
        self.send(f'<hello xmlns="{NETCONF}"><capabilities>{capability}</capabilities></hello>'.encode() + END)
        return self

    def ask(self, message: bytes) -> bytes:
        """Send a message in chunked framing and return the reply."""
        self.send(b"\n#%d\n%b\n##\n" % (len(message), message))
        return re.sub(rb"^\n#\d+\n", b"", self.until(b"\n##\n"))


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine whose agent waits 2 s for a hello, and takes more sessions than are opened here."""
    gateway = Gateway(tmp_path_factory.mktemp("hostile")).build("c3xxx")
    gateway.settings.write_text("[limits]\nhello-timeout = 2\nsessions = 512\nsessions-per-user = 512\n")
    try:
        yield gateway.start()
    finally:
        gateway.close()


@pytest.fixture
def dial(agent: Gateway, transport: str) -> Iterator[Callable[[], Wire]]:
    """Return the function that opens a connection with nothing said on it."""
    made: list[Wire] = []

    def connect() -> Wire:
        made.append(_unix(agent) if transport == "unix" else _ssh(agent))
        return made[-1]

    yield connect
    for wire in made:
        wire.close()
    assert serves(agent)


def serves(agent: Gateway) -> bool:
    """Return whether a well-behaved client is served, and is the only one left."""
    # This waits until those who came before have been seen; the library would give up at once.
    with socket.socket(socket.AF_UNIX) as local:
        local.connect(str(agent.socket))
        assert local.recv(65536).startswith(b"<?xml")
    client = agent.connect()
    until(lambda: _sessions(client) == 1, "the other sessions are gone")
    found = client.config_text() == ""
    agent.disconnect()
    return found


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_that_can_not_be_read_is_answered_and_the_session_goes_on(
    dial: Callable[[], Wire], name: str
) -> None:
    wire = dial().greet()
    reply = wire.ask(MESSAGES[name])
    assert b"<rpc-error>" in reply
    assert b"<error-type>rpc</error-type><error-tag>malformed-message</error-tag>" in reply
    assert b"message-id" not in reply
    assert Path("/etc/hostname").read_bytes().strip() not in reply or name != "external entity"
    assert b"<data/></rpc-reply>" in wire.ask(GET_CONFIG)


@pytest.mark.parametrize("name", ["not XML", "DOCTYPE", "10000 nested elements", "not UTF-8", "NUL"])
def test_for_a_client_of_base_1_0_it_ends_the_session(dial: Callable[[], Wire], name: str) -> None:
    wire = dial().greet("1.0")
    wire.send(MESSAGES[name] + END)
    assert wire.ends() == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"\n#%d\n" % (17 * MIB),
        b"\n#%d\n" % MIB + b" " * MIB,
        b"\n#99999999999\n",
        b"\n#0\n",
        b"\n##\n",
        b"\n#+5\nabcde\n##\n",
        b"#5\nabcde\n##\n",
        GET_CONFIG + END,
        b"\0" * 100,
    ],
    ids=["17 MiB", "17 times 1 MiB", "huge", "0", "empty", "sign", "no line feed", "old framing", "NULs"],
)
def test_a_broken_frame_ends_the_session(dial: Callable[[], Wire], sent: bytes) -> None:
    wire = dial().greet()
    for _ in range(17 if sent.startswith(b"\n#%d\n" % MIB) else 1):
        wire.send(sent)
    assert wire.ends() == b""


def test_17_mib_without_an_end_end_the_session(dial: Callable[[], Wire]) -> None:
    for greet in (True, False):
        wire = dial()
        if greet:
            wire.greet("1.0")
        else:
            wire.until(END)
        for _ in range(17):
            wire.send(b"x" * MIB)
        assert wire.ends() == b""


def test_a_message_of_nearly_16_mib_is_answered(dial: Callable[[], Wire]) -> None:
    padding = (b"<!--" + b"x" * (MIB - 7) + b"-->") * 15
    wire = dial().greet()
    assert b"<data/></rpc-reply>" in wire.ask(GET_CONFIG.replace(b"<get-config>", padding + b"<get-config>"))


@pytest.mark.parametrize(
    "greeting",
    [b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n", MESSAGES["DOCTYPE"], MESSAGES["NUL"], GET_CONFIG, b"", b"\xff" * 1000],
    ids=["HTTP", "DOCTYPE", "NUL", "rpc", "nothing", "not text"],
)
def test_garbage_for_a_hello_ends_the_session_and_is_counted(
    agent: Gateway, dial: Callable[[], Wire], greeting: bytes
) -> None:
    before = _bad_hellos(agent)
    wire = dial()
    wire.until(END)
    wire.send(greeting + END)
    assert wire.ends() == b""
    until(lambda: _bad_hellos(agent) == before + 1, "it is counted")


def test_a_client_that_never_says_hello_is_let_go(dial: Callable[[], Wire]) -> None:
    silent, slow = dial(), dial()
    begun = time.monotonic()
    assert b"<hello" in silent.until(END)
    slow.until(END)
    slow.send(b"<hello")
    assert silent.ends() == b""
    assert slow.ends() == b""
    assert 1.5 < time.monotonic() - begun < 2 + DEADLINE / 2


def test_200_connections_that_are_cut_leave_nothing_behind(agent: Gateway) -> None:
    before = _descriptors(agent)
    for number in range(200):
        with socket.socket(socket.AF_UNIX) as local, socket.create_connection(("127.0.0.1", agent.port)) as remote:
            local.connect(str(agent.socket))
            # Some say nothing, some are cut in the middle of what they say.
            if number % 2:
                local.sendall(b"<hello"[: number % 7])
                remote.sendall(b"SSH-2.0-x\r\n\0\0"[: number % 14])
    assert serves(agent)
    until(lambda: _descriptors(agent) <= before, "all descriptors are closed")


def test_memory_is_flat_after_all_that(agent: Gateway) -> None:
    def everything() -> None:
        for message in MESSAGES.values():
            wire = _unix(agent).greet()
            wire.ask(message)
            wire.close()
            old = _unix(agent).greet("1.0")
            old.send(message + END)
            old.ends()
            old.close()
        for _ in range(2):
            wire = _unix(agent).greet("1.0")
            wire.send(b"x" * (17 * MIB))
            wire.ends()
            wire.close()
        for _ in range(200):
            with socket.socket(socket.AF_UNIX) as local:
                local.connect(str(agent.socket))
        assert serves(agent)

    everything()
    before = _memory(agent)
    for _ in range(3):
        everything()
    # One message of a round that were kept would be more.
    assert _memory(agent) - before < 12 * MIB


def _unix(agent: Gateway) -> Wire:
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(str(agent.socket))
    return Wire(channel, close=channel.close)


def _ssh(agent: Gateway) -> Wire:
    transport = paramiko.Transport(("127.0.0.1", agent.port))
    transport.connect(username=USER, password=PASSWORD)
    channel = transport.open_session()
    channel.invoke_subsystem("netconf")
    return Wire(channel, close=transport.close)


def _sessions(client: Any) -> int:
    found = client.get(f'<netconf-state xmlns="{MONITORING}"><sessions/></netconf-state>')
    return len(list(found.iter(f"{{{MONITORING}}}session")))


def _bad_hellos(agent: Gateway) -> int:
    client = agent.connect()
    found = client.get(f'<netconf-state xmlns="{MONITORING}"><statistics/></netconf-state>')
    client.close()
    return int(found.findtext(f".//{{{MONITORING}}}in-bad-hellos") or "")


def _descriptors(agent: Gateway) -> int:
    return len(os.listdir(f"/proc/{agent.pid}/fd"))  # noqa: PTH208 - only their number


def _memory(agent: Gateway) -> int:
    """Return the agent's resident memory in bytes."""
    pages = int(Path(f"/proc/{agent.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
