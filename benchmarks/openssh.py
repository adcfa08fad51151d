"""A raw client over OpenSSH's: it frames and counts, and parses nothing, so that the server is what is measured."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Self

from payload import END_OF_HELLO, END_OF_MESSAGE, HELLO
from servers import USER, BenchmarkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from servers import Place, Server

_READ: Final = 256 * 1024
_STOP: Final = 10.0
_ANSWER: Final = 60.0


class Session:
    """A NETCONF session in a process ``ssh -s netconf``; ``seconds`` from its start to the server's whole hello."""

    def __init__(self, place: Place, server: Server) -> None:
        command = ["ssh", "-F", "none", "-i", str(place.key), "-p", str(server.port), "-l", USER, "-T"]
        for option in (
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "GlobalKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
        ):
            command += ["-o", option]
        command += ["-s", "127.0.0.1", "netconf"]
        started = time.perf_counter()
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise BenchmarkError("ssh has no standard input and output")
        self._input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._rest = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.output, selectors.EVENT_READ)
        try:
            self._until(END_OF_HELLO)
            self.seconds = time.perf_counter() - started
            self.send(HELLO)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Write all of the data."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._input, view) :]

    def ask(self, request: bytes) -> bytes:
        """Send a request and return its framed reply. Raises BenchmarkError when it reports an error."""
        self.send(request)
        reply = self._until(END_OF_MESSAGE)
        _check(reply)
        return reply

    def timed(self, *requests: bytes) -> float:
        """Send requests, each when the one before is answered, and return the seconds that took."""
        started = time.perf_counter()
        for request in requests:
            self.ask(request)
        return time.perf_counter() - started

    def replies(self) -> int:
        """Read what is there, and return the number of replies that end in it."""
        data = self._read()
        _check(data)
        data[:0] = self._rest
        self._rest = data[-(len(END_OF_MESSAGE) - 1) :]
        return data.count(END_OF_MESSAGE)

    def close(self) -> None:
        """End the process."""
        self._selector.close()
        self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]
        self._process.stderr.close()  # type: ignore[union-attr]

    def _until(self, end: bytes) -> bytes:
        """Return what comes until it ends with ``end``: nothing more comes until the next request."""
        data = self._read()
        while not data.endswith(end):
            data += self._read()
        return bytes(data)

    def _read(self) -> bytearray:
        if not self._selector.select(_ANSWER):
            raise BenchmarkError(f"no answer within {_ANSWER:g} s")
        data = os.read(self.output, _READ)
        if not data:
            said = self._process.stderr.read() if self._process.stderr is not None else b""
            raise BenchmarkError(f"a session ended: {said.decode(errors='replace').strip() or 'nobody says why'}")
        return bytearray(data)


@contextmanager
def sessions(place: Place, server: Server, count: int) -> Iterator[list[Session]]:
    """Open sessions for as long as the context lasts."""
    with ExitStack() as stack:
        yield [stack.enter_context(Session(place, server)) for _ in range(count)]


def rate(opened: Sequence[Session], request: bytes, *, window: int, count: int) -> float:
    """Return how many requests a second are answered: ``count`` in each session, ``window`` of them under way."""
    unsent = dict.fromkeys(opened, count - window)
    unanswered = dict.fromkeys(opened, count)
    with selectors.DefaultSelector() as selector:
        for session in opened:
            selector.register(session.output, selectors.EVENT_READ, session)
        started = time.perf_counter()
        for session in opened:
            session.send(request * window)
        while unanswered:
            ready = selector.select(_ANSWER)
            if not ready:
                raise BenchmarkError(f"no answer within {_ANSWER:g} s")
            for key, _events in ready:
                session = key.data
                answered = session.replies()
                more = min(answered, unsent[session])
                session.send(request * more)
                unsent[session] -= more
                unanswered[session] -= answered
                if not unanswered[session]:
                    del unanswered[session]
        return len(opened) * count / (time.perf_counter() - started)


def _check(reply: bytes | bytearray) -> None:
    if b"<rpc-error" in reply:
        raise BenchmarkError(f"a request is refused: {reply.decode(errors='replace')[:1000]}")
