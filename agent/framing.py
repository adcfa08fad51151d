"""RFC 6242's two framings, as decoders that take bytes and give messages. No I/O here.

The decoder switches from end-of-message to chunked framing between two messages, inside the buffer: a client may
send its hello and its first chunked rpc in one packet. Every limit is checked before the bytes are kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent.errors import CloseSession

if TYPE_CHECKING:
    from collections.abc import Iterator

END_OF_MESSAGE: Final = b"]]>]]>"
END_OF_CHUNKS: Final = b"\n##\n"
MAX_CHUNK_DIGITS: Final = 10
MAX_CHUNK: Final = 4294967295

_HEADER = re.compile(rb"\n#(?:([1-9][0-9]{0,9})|#)\n")
_HEADER_START = re.compile(rb"\n(?:#(?:#|[1-9][0-9]{0,9})?)?")


class MessageTooBig(CloseSession):
    """A message is longer than the limit. The session can't be brought back into step, so it ends."""

    def __init__(self, limit: int) -> None:
        super().__init__("other", f"a message is longer than {limit} bytes")


def end_of_message(message: bytes) -> bytes:
    """Return a message in base:1.0 framing. The delimiter must not occur in it (RFC 6242 section 4.3)."""
    return message.replace(END_OF_MESSAGE, b"]]&gt;]]&gt;") + END_OF_MESSAGE


def chunked(message: bytes) -> bytes:
    """Return a message in base:1.1 framing, as one chunk: so that no character is ever split."""
    return b"\n#%d\n%b\n##\n" % (len(message), message)


class Decoder:
    """Bytes in, whole messages out; starts in end-of-message framing, as every session does."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._chunked = False
        self._chunk_left = 0
        self._message = bytearray()

    def use_chunks(self) -> None:
        """Switch to chunked framing (RFC 6242 4.1): from the next byte that was not yet given out."""
        self._chunked = True
        self._searched = 0

    def feed(self, data: bytes) -> None:
        """Take bytes from the peer."""
        self._buffer += data

    def messages(self) -> Iterator[bytes]:
        """Yield the messages that are whole. Raises CloseSession on a framing error, MessageTooBig on a long one."""
        while (message := self._chunked_message() if self._chunked else self._delimited_message()) is not None:
            yield message

    def _delimited_message(self) -> bytes | None:
        end = self._buffer.find(END_OF_MESSAGE, self._searched)
        # Without a delimiter, what the buffer ends with can be the first part of one.
        surely = end if end >= 0 else max(0, len(self._buffer) - len(END_OF_MESSAGE) + 1)
        if surely > self._limit:
            raise MessageTooBig(self._limit)
        if end < 0:
            self._searched = surely
            return None
        message = bytes(self._buffer[:end])
        del self._buffer[: end + len(END_OF_MESSAGE)]
        self._searched = 0
        return message

    def _chunked_message(self) -> bytes | None:
        buffer, at = self._buffer, 0
        try:
            while True:
                if self._chunk_left:
                    taken = min(self._chunk_left, len(buffer) - at)
                    self._message += memoryview(buffer)[at : at + taken]
                    at += taken
                    self._chunk_left -= taken
                    if self._chunk_left:
                        return None
                header = _HEADER.match(buffer, at)
                if header is None:
                    self._check_partial_header(at)
                    return None
                at = header.end()
                if header[1] is None:
                    return self._take_message()
                self._chunk_left = int(header[1])
                if self._chunk_left > MAX_CHUNK:
                    raise CloseSession(
                        "other", f"a chunk of {self._chunk_left} bytes is announced; {MAX_CHUNK} is the most"
                    )
                if len(self._message) + self._chunk_left > self._limit:
                    raise MessageTooBig(self._limit)
        finally:
            del buffer[:at]

    def _take_message(self) -> bytes:
        if not self._message:
            raise CloseSession("other", "a message ends before its first chunk")
        message = bytes(self._message)
        self._message.clear()
        return message

    def _check_partial_header(self, at: int) -> None:
        rest = bytes(self._buffer[at : at + MAX_CHUNK_DIGITS + 3])
        if rest and not _HEADER_START.fullmatch(rest):
            raise CloseSession("other", f"no chunk header where one must be: {rest!r}")
