"""One question over VICI: every way in which a daemon fails to answer has its own error, in time."""

import contextlib
import gc
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vici.protocol import Message, Packet

from translators.real_host import RealHost
from translators.vici import (
    ViciAbsentError,
    ViciBrokenError,
    ViciCommandError,
    ViciError,
    ViciStaleError,
    ViciTimeoutError,
)

SOCKET = "/run/charon.vici"
Behave = Callable[[socket.socket], None]
Serve = Callable[[Behave], None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of a machine, with a path that no socket's address can hold."""
    root = tmp_path / ("deep" * 30)
    (root / "run").mkdir(parents=True)
    return root


@pytest.fixture
def host(root: Path) -> RealHost:
    return RealHost(root)


@pytest.fixture
def serve(root: Path, tmp_path: Path) -> Iterator[Serve]:
    """Return the function that makes a daemon: it takes one connection, and behaves."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.settimeout(10)

        def start(behave: Behave) -> None:
            bind(listener, root)
            listener.listen()

            def run() -> None:
                connection, _ = listener.accept()
                # The other side may go at any time.
                with connection, contextlib.suppress(OSError, struct.error):
                    connection.settimeout(10)
                    behave(connection)

            thread = threading.Thread(target=run)
            thread.start()
            stack.callback(thread.join)

        yield start


def bind(listener: socket.socket, root: Path) -> None:
    with contextlib.chdir(root / "run"):
        listener.bind("charon.vici")


def ask(
    host: RealHost, *, timeout: float = 5.0, stream: str | None = None, silence: float | None = None
) -> list[dict[str, object]]:
    return host.vici(SOCKET, "version", {}, stream=stream, timeout=timeout, silence=silence)


def packet(content: bytes) -> bytes:
    return struct.pack("!I", len(content)) + content


def answer(message: dict[str, object], kind: int = Packet.CMD_RESPONSE) -> bytes:
    return packet(struct.pack("!B", kind) + Message.serialize(message))


def receive(connection: socket.socket) -> bytes:
    (length,) = struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))
    return connection.recv(length, socket.MSG_WAITALL)


def replying(*replies: bytes) -> Behave:
    def behave(connection: socket.socket) -> None:
        for reply in replies:
            receive(connection)
            connection.sendall(reply)
        connection.recv(1)

    return behave


def test_an_answer_is_text_that_xml_can_carry(host: RealHost, serve: Serve) -> None:
    serve(replying(answer({"daemon": b"ch\x00ar\xffon", "list": [b"a\x1b", b"b"], "in": {"x": "y\n"}})))
    assert ask(host) == [{"daemon": "ch�ar�on", "list": ["a�", "b"], "in": {"x": "y\n"}}]


def test_events_come_before_the_answer(host: RealHost, serve: Serve) -> None:
    confirm = packet(bytes([Packet.EVENT_CONFIRM]))
    event = packet(bytes([Packet.EVENT, 7]) + b"list-sa" + Message.serialize({"a": {"x": "1"}}))
    serve(replying(confirm, event + event + answer({}), confirm))
    assert ask(host, stream="list-sa") == [{"a": {"x": "1"}}, {"a": {"x": "1"}}, {}]


def test_no_socket_is_absent(host: RealHost) -> None:
    with pytest.raises(ViciAbsentError, match=r"/run/charon\.vici: there is no such socket: charon does not run"):
        ask(host)


def test_no_folder_is_absent(tmp_path: Path) -> None:
    with pytest.raises(ViciAbsentError):
        ask(RealHost(tmp_path))


def test_a_socket_that_was_left_behind_is_stale(host: RealHost, root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        bind(listener, root)
    with pytest.raises(ViciStaleError, match="nothing listens"):
        ask(host)


def test_a_file_is_no_socket(host: RealHost, root: Path) -> None:
    (root / "run/charon.vici").touch()
    with pytest.raises(ViciStaleError, match="is not a socket"):
        ask(host)


def test_a_daemon_that_accepts_and_says_nothing_is_given_up(host: RealHost, serve: Serve) -> None:
    serve(replying(b"", b""))
    with pytest.raises(ViciTimeoutError, match=r"did not answer version within 0\.2 s"):
        ask(host, timeout=0.2)


def test_a_daemon_that_goes_silent_in_the_middle_is_given_up(host: RealHost, serve: Serve) -> None:
    serve(replying(packet(bytes([Packet.EVENT_CONFIRM])), answer({"daemon": "charon"})[:-3], b""))
    with pytest.raises(ViciTimeoutError, match=r"did not answer version within 0\.2 s"):
        ask(host, timeout=600.0, stream="list-sa", silence=0.2)


def test_a_daemon_that_goes_on_is_waited_for(host: RealHost, serve: Serve) -> None:
    pause = threading.Event()

    def behave(connection: socket.socket) -> None:
        receive(connection)
        said = answer({"daemon": "charon"})
        for start in range(0, len(said), 5):
            connection.sendall(said[start : start + 5])
            pause.wait(0.25)

    serve(behave)
    assert ask(host, timeout=600.0, silence=1.0) == [{"daemon": "charon"}]


def test_a_daemon_that_never_accepts_is_given_up(host: RealHost, root: Path) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        bind(listener, root)
        listener.listen(0)
        for _ in range(2):
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError), contextlib.chdir(root / "run"):
                waiting.connect("charon.vici")
        with pytest.raises(ViciTimeoutError, match=r"within 0\.2 s"):
            ask(host, timeout=0.2)


def test_an_answer_that_drips_is_given_up(host: RealHost, serve: Serve) -> None:
    def drip(connection: socket.socket) -> None:
        receive(connection)
        connection.settimeout(0.02)
        for byte in struct.pack("!I", 60_000) + bytes(60_000):
            connection.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    return

    serve(drip)
    # It never was silent for so long as would be too long.
    with pytest.raises(ViciTimeoutError, match=r"did not answer version within 0\.3 s"):
        ask(host, timeout=0.3, silence=0.25)


def test_a_connection_that_ends_in_the_middle_is_broken(host: RealHost, serve: Serve) -> None:
    def die(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(answer({"daemon": "charon"})[:-3])

    serve(die)
    with pytest.raises(ViciBrokenError, match="ended the connection during version: did it die"):
        ask(host)


@pytest.mark.parametrize(
    "garbage",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        packet(b""),
        packet(b"\x09"),
        packet(bytes([Packet.CMD_RESPONSE, Message.SECTION_START])),
        packet(bytes([Packet.CMD_RESPONSE, Message.KEY_VALUE, 2, 0xFF, 0xFF, 0, 0])),
        packet(bytes([Packet.CMD_RESPONSE, Message.SECTION_END])),
        answer({"a": {str(i): {} for i in range(3)}})[:-1] + b"\x01",
        packet(bytes([Packet.CMD_RESPONSE]) + 2000 * (bytes([Message.SECTION_START, 1]) + b"s") + 2000 * b"\x02"),
        answer({"success": "no"}),
        struct.pack("!I", 2**31),
    ],
)
def test_what_is_no_vici_is_broken(host: RealHost, serve: Serve, garbage: bytes) -> None:
    serve(replying(garbage))
    with pytest.raises(ViciBrokenError, match="does not speak VICI"):
        ask(host)


def test_an_event_that_is_no_vici_leaves_nothing_behind(
    host: RealHost, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", left.append)
    confirm = packet(bytes([Packet.EVENT_CONFIRM]))
    nested = 2000 * (bytes([Message.SECTION_START, 1]) + b"s") + 2000 * bytes([Message.SECTION_END])
    serve(replying(confirm, packet(bytes([Packet.EVENT, 7]) + b"list-sa" + nested) + answer({}), confirm))
    with pytest.raises(ViciBrokenError, match="does not speak VICI"):
        ask(host, stream="list-sa")
    gc.collect()
    assert left == []


def test_events_without_end_are_broken(host: RealHost, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translators.vici.REPLY_LIMIT", 100_000)

    def flood(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(packet(bytes([Packet.EVENT_CONFIRM])))
        receive(connection)
        while True:
            connection.sendall(packet(bytes([Packet.EVENT, 7]) + b"list-sa" + Message.serialize({"a": "b" * 1000})))

    serve(flood)
    with pytest.raises(ViciBrokenError, match="an answer of more than 100000 bytes"):
        ask(host, stream="list-sa")


def test_a_refusal_has_the_daemons_words(host: RealHost, serve: Serve) -> None:
    serve(replying(answer({"success": "no", "errmsg": b"no matching \x1b SAs"})))
    with pytest.raises(ViciCommandError, match="version: Command failed: no matching � SAs"):
        ask(host)


def test_an_unknown_command_is_refused(host: RealHost, serve: Serve) -> None:
    serve(replying(packet(bytes([Packet.CMD_UNKNOWN]))))
    with pytest.raises(ViciCommandError, match="has no such command"):
        ask(host)


def test_a_socket_outside_of_the_root_is_not_reached(host: RealHost, root: Path) -> None:
    (root / "run/charon.vici").symlink_to("/run/elsewhere.vici")
    with pytest.raises(ViciError, match="no such socket"):
        ask(host)


def confirm(connection: socket.socket) -> None:
    """Take a registration and confirm it."""
    (length,) = struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))
    assert connection.recv(length, socket.MSG_WAITALL)[0] == Packet.EVENT_REGISTER
    connection.sendall(packet(bytes([Packet.EVENT_CONFIRM])))


def told(name: str, **content: object) -> bytes:
    said = bytes([Packet.EVENT, len(name)]) + name.encode()
    return packet(said + Message.serialize(content))


def test_events_come_one_by_one_with_pauses_between_them(host: RealHost, serve: Serve) -> None:
    go_on = threading.Event()

    def behave(connection: socket.socket) -> None:
        confirm(connection)
        connection.sendall(told("a", number="1"))
        confirm(connection)
        assert go_on.wait(10)
        connection.sendall(told("b", number="2") + told("a", number="3"))

    serve(behave)
    events = host.vici_events(SOCKET, ("a", "b"), pause=0.01)
    assert next(events) == ("a", {"number": "1"})
    assert next(events) is None
    assert next(events) is None
    go_on.set()
    heard = list(itertools.islice(filter(None, events), 2))
    assert heard == [("b", {"number": "2"}), ("a", {"number": "3"})]
    with pytest.raises(ViciBrokenError, match="charon ended the connection"):
        list(events)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (packet(bytes([Packet.EVENT_UNKNOWN])), "does not tell of a"),
        (packet(bytes([Packet.EVENT_CONFIRM])) + packet(bytes([Packet.CMD_RESPONSE])), "does not speak VICI"),
        (struct.pack("!I", 2**31), "does not speak VICI"),
    ],
)
def test_what_is_no_event_ends_the_listening(host: RealHost, serve: Serve, answer: bytes, said: str) -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(answer)
        connection.recv(100)

    serve(behave)
    with pytest.raises(ViciError, match=said):
        list(host.vici_events(SOCKET, ("a",), pause=0.01))


def test_without_a_socket_there_is_nothing_to_listen_to(host: RealHost) -> None:
    with pytest.raises(ViciAbsentError):
        list(host.vici_events(SOCKET, ("a",), pause=0.01))
