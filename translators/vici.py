"""One question to strongSwan's charon over its VICI socket: a session of its own, a deadline, and bounds.

The package ``vici`` knows the protocol. Its transport waits for ever and takes any length, and after a timeout its
session is out of step: here every byte is read within one deadline for the whole question, what comes is bounded,
and the session ends with the question.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import socket
import stat
import struct
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import vici
from vici.exception import CommandException
from vici.protocol import Message as Heard
from vici.protocol import Packet, Transport

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

# A section: texts, lists of texts, and sections.
Message: TypeAlias = dict[str, Any]

REPLY_LIMIT: Final = 64 * 1024 * 1024
PACKET_LIMIT: Final = 512 * 1024  # strongSwan's own: src/libcharon/plugins/vici/vici_socket.h, VICI_MESSAGE_SIZE_MAX
_PACKET_SECONDS: Final = 10.0
_HEADER: Final = struct.Struct("!I")
# Characters outside of XML 1.0, section 2.2, and line ends that are none.
_NO_TEXT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class ViciError(Exception):
    """charon could not be asked: ``socket_path`` is its socket, ``reason`` what was wrong and what to do."""

    def __init__(self, socket_path: str, reason: str) -> None:
        super().__init__(f"{socket_path}: {reason}")
        self.socket_path = socket_path
        self.reason = reason


class ViciAbsentError(ViciError):
    """There is no socket: charon does not run, or is without the plugin vici."""


class ViciStaleError(ViciError):
    """Nothing listens at the socket: charon died, or another one took its place and was stopped."""


class ViciTimeoutError(ViciError):
    """charon did not answer in time."""


class ViciBrokenError(ViciError):
    """The answer is none: it broke off, or is not VICI."""


class ViciCommandError(ViciError):
    """charon answered that it can't; ``reason`` has its own words."""


def ask(
    place: str,
    path: str,
    command: str,
    message: Mapping[str, Any],
    *,
    stream: str | None,
    timeout: float,
    silence: float | None = None,
) -> list[Message]:
    """Return charon's answer: the events of ``stream``, then the answer itself; without a stream just that.

    It is given up after ``timeout`` seconds, and before that where nothing comes for ``silence`` seconds. ``place`` is
    where the socket ``path`` is found here. Texts hold no character that XML can't carry. Raises ViciError.
    """
    deadline = time.monotonic() + timeout
    patience = timeout if silence is None else min(timeout, silence)
    with _connected(place, path, patience) as connection:
        session = vici.Session(connection)
        session.transport = _Bounded(connection, deadline, patience)
        try:
            if stream is None:
                return [_decoded(session.request(command, dict(message)))]
            # All of it before any is looked at: the session unregisters its events when it has come to the end.
            events = [*session.streamed_request(command, stream, dict(message))]
            return [*map(_decoded, events), {}]
        except CommandException as error:
            raise ViciCommandError(path, f"{command}: {_text(str(error).encode())}") from error
        except TimeoutError as error:
            waited = patience if time.monotonic() < deadline else timeout
            raise ViciTimeoutError(path, f"charon did not answer {command} within {waited:g} s") from error
        except ConnectionError as error:
            raise ViciBrokenError(path, f"charon ended the connection during {command}: did it die?") from error
        # The package takes what it reads as it comes: anything can go wrong in what is no VICI.
        except Exception as error:
            raise ViciBrokenError(path, f"what answers {command} does not speak VICI ({_shown(error)})") from error


def listen(
    place: str, path: str, names: Sequence[str], *, pause: float
) -> Generator[tuple[str, Message] | None, None, None]:
    """Yield charon's events of these names as they come, and None where none came for ``pause`` seconds.

    ``place`` and texts are as in ask. Raises ViciError, also where charon ends.
    """
    with _connected(place, path, _PACKET_SECONDS) as connection:
        transport = _Bounded(connection, time.monotonic() + _PACKET_SECONDS)
        try:
            for name in names:
                transport.send(Packet.register_event(name))
                while (answer := Packet.parse(transport.receive())).response_type == Packet.EVENT:
                    yield _heard(answer)
                if answer.response_type != Packet.EVENT_CONFIRM:
                    raise ViciCommandError(path, f"this charon does not tell of {name}")
            yield None
            while True:
                if not _readable(connection, pause):
                    yield None
                    continue
                transport.renew(time.monotonic() + _PACKET_SECONDS)
                yield _heard(Packet.parse(transport.receive()))
        except TimeoutError as error:
            raise ViciTimeoutError(path, f"charon did not end a message within {_PACKET_SECONDS:g} s") from error
        except ConnectionError as error:
            raise ViciBrokenError(path, "charon ended the connection") from error
        except ViciError:
            raise
        except Exception as error:
            raise ViciBrokenError(path, f"what comes does not speak VICI ({_shown(error)})") from error


def _heard(event: Any) -> tuple[str, Message]:  # noqa: ANN401 - the package has no types
    if event.response_type != Packet.EVENT:
        raise ValueError(f"a packet of type {event.response_type}")
    return _text(event.event_type), _decoded(Heard.deserialize(event.payload))


def _readable(connection: socket.socket, seconds: float) -> bool:
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


class _Bounded(Transport):  # type: ignore[misc] # the package has no types
    """Reads within a deadline, without long pauses, and no more than is sensible."""

    def __init__(self, connection: socket.socket, deadline: float, silence: float = _PACKET_SECONDS) -> None:
        super().__init__(connection)
        self._deadline = deadline
        self._silence = silence
        self._left = REPLY_LIMIT
        self._failure: Exception | None = None

    def renew(self, deadline: float) -> None:
        """Take what comes now for the beginning of another answer."""
        self._deadline = deadline
        self._left = REPLY_LIMIT

    def send(self, packet: bytes) -> None:
        # After a failure the session unregisters its events: what it would read then is out of step.
        if self._failure is not None:
            raise self._failure
        self._limit_waiting()
        super().send(packet)

    def receive(self, timeout: object = None) -> bytes:  # noqa: ARG002 - the deadline is for the whole question
        try:
            return self._receive()
        except Exception as error:
            self._failure = error
            raise

    def _receive(self) -> bytes:
        (length,) = _HEADER.unpack(self._read(_HEADER.size))
        if not 0 < length <= PACKET_LIMIT:
            raise ValueError(f"a packet of {length} bytes")
        self._left -= length
        if self._left < 0:
            raise ValueError(f"an answer of more than {REPLY_LIMIT} bytes")
        packet = self._read(length)
        # The package takes it for a fault of the session.
        if packet[0] == Packet.CMD_UNKNOWN:
            raise CommandException("this charon has no such command")
        return packet

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._limit_waiting()
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError(errno.ECONNRESET, "the connection was closed")
            data += part
        return bytes(data)

    def _limit_waiting(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(min(left, self._silence))


@contextlib.contextmanager
def _connected(place: str, path: str, timeout: float) -> Any:  # noqa: ANN401 - a generator of one socket
    folder, name = os.path.split(place)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        # By its folder: a socket's address has no more than 107 bytes.
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not stat.S_ISSOCK(os.stat(name, dir_fd=descriptor).st_mode):
                raise ViciStaleError(path, "is not a socket: see [ipsec] vici in the settings")
            connection.connect(f"/proc/self/fd/{descriptor}/{name}")
        finally:
            os.close(descriptor)
        yield connection
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ViciAbsentError(
            path, "there is no such socket: charon does not run, or not with the plugin vici"
        ) from error
    except ConnectionRefusedError as error:
        raise ViciStaleError(
            path, "nothing listens at the socket: charon died, or its socket was taken over"
        ) from error
    # A full queue of connections that nobody accepts shows at once (EAGAIN) or never.
    except (BlockingIOError, TimeoutError) as error:
        raise ViciTimeoutError(path, f"charon did not take the connection within {timeout:g} s") from error
    except OSError as error:
        raise ViciError(path, error.strerror or str(error)) from error
    finally:
        connection.close()


def _decoded(section: Mapping[str, Any]) -> Message:
    """Return a section with texts for bytes. Raises ValueError for nesting that no answer has."""
    found: Message = {}
    for name, value in section.items():
        key = _text(name.encode("utf-8", "surrogatepass"))
        match value:
            case bytes():
                found[key] = _text(value)
            case list():
                found[key] = [_text(entry) for entry in value]
            case _:
                found[key] = _decoded(value)
    return found


def _text(value: bytes) -> str:
    return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", value.decode("utf-8", "replace"))


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}" if str(error) else type(error).__name__
