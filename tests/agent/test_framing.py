"""RFC 6242's framings: any split of the bytes gives the same messages, every fault ends the session."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.errors import CloseSession
from agent.framing import END_OF_MESSAGE, Decoder, MessageTooBig, chunked, end_of_message

LIMIT = 1000
# Bytes of which much of a delimiter or a chunk header can come together.
TEXT = st.lists(st.sampled_from([b"]", b">", b"]]>", b"\n", b"#", b"##", b"1", b"x", "é€😀".encode()])).map(b"".join)


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places)]


def decode(*parts: bytes, chunks: bool = False, limit: int = LIMIT) -> list[bytes]:
    """Return the messages in some bytes; in chunked framing from the start, or after an empty hello."""
    decoder = Decoder(limit=limit)
    if chunks:
        decoder.use_chunks()
    found: list[bytes] = []
    for part in parts:
        decoder.feed(part)
        found += decoder.messages()
    return found


def in_chunks(message: bytes, cuts: Iterable[int]) -> bytes:
    return b"".join(b"\n#%d\n%b" % (len(piece), piece) for piece in pieces(message, cuts)) + b"\n##\n"


CUTS = st.lists(st.integers(0, 300), max_size=8)


@given(st.lists(TEXT.filter(lambda text: END_OF_MESSAGE not in text + END_OF_MESSAGE[:-1]), max_size=4), CUTS)
@example([b"", b"a"], [1, 6])
@example([b"]]>]]", b"]"], [5, 6, 7, 8])
def test_messages_up_to_a_delimiter_whatever_the_split(sent: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(message + END_OF_MESSAGE for message in sent)
    assert decode(*pieces(stream, cuts)) == sent


@given(st.lists(st.tuples(TEXT.filter(bool), CUTS), max_size=4), CUTS)
@example([(b"a]]>]]>\n##\nb", [2]), (b"\n#1\nx", [])], [1, 2, 3])
def test_messages_in_chunks_whatever_the_split_and_the_chunks(
    sent: list[tuple[bytes, list[int]]], cuts: list[int]
) -> None:
    """C007, C014, C016: chunks of any size, which may part a character; delimiters inside them are text."""
    stream = b"".join(in_chunks(message, chunk_cuts) for message, chunk_cuts in sent)
    assert decode(*pieces(stream, cuts), chunks=True) == [message for message, _cuts in sent]


@given(TEXT.map(lambda text: b"<a>" + text + b"</a>"), CUTS)
def test_what_we_send_is_what_a_peer_reads(message: bytes, cuts: list[int]) -> None:
    """C015: the delimiter never stands in a reply."""
    assert decode(*pieces(chunked(message), cuts), chunks=True) == [message]
    assert decode(*pieces(end_of_message(message), cuts)) == [message.replace(b"]]>]]>", b"]]&gt;]]&gt;")]


@pytest.mark.parametrize("cut", range(30))
def test_the_framing_changes_inside_one_buffer(cut: int) -> None:
    """C006, F17: hello and the first request in one packet, or parted anywhere."""
    decoder = Decoder(limit=LIMIT)
    found: list[bytes] = []
    for piece in pieces(b"<hello/>]]>]]>\n#3\n<a>\n#4\n</a>\n##\n\n#2\nhi\n##\n", [cut]):
        decoder.feed(piece)
        for message in decoder.messages():
            if not found:
                decoder.use_chunks()
            found.append(message)
    assert found == [b"<hello/>", b"<a></a>", b"hi"]


def test_the_largest_chunk_that_a_header_can_announce_is_legal() -> None:
    """C011: it is over this server's limit, which is seen before a byte of it comes."""
    with pytest.raises(MessageTooBig):
        decode(b"\n#4294967295\n", chunks=True)
    assert decode(b"\n#4294967295\nfew bytes", chunks=True, limit=4294967295) == []


@pytest.mark.parametrize(
    "stream",
    [
        b"\n#0\n",  # C008
        b"\n#0123\n",  # C009
        b"\n#4294967296\n",  # C010
        b"\n#9999999999\n",
        b"\n#12345678901\n",
        b"\n#" + b"9" * 5000,
        b"#3\nabc\n##\n",  # C012: no LF before #
        b"x\n#3\nabc",
        b"\n\n#3\nabc",
        b"\r\n#3\r\nabc",
        b"\n#3\r\nabc",
        b"\n#x\n",
        b"\n#-3\n",
        b"\n#+3\n",
        b"\n# 3\n",
        b"\n#3 \nabc",
        b"\n#3a\nabc",
        b"\n##\n",  # no chunk before the end
        b"\n###\n",
        b"\n#3\nabc\n##x",
        b"\n#\n",
        b"\n#3\nabcdef\n##\n",  # C013: more data than announced
        b"\n#40\n" + b"x" * 50 + b"\n##\n",  # F11
        b"<rpc/>]]>]]>",
    ],
)
@pytest.mark.parametrize("bytewise", [False, True])
def test_a_framing_error_ends_the_session(stream: bytes, bytewise: bool) -> None:
    parts = [stream[at : at + 1] for at in range(len(stream))] if bytewise else [stream]
    with pytest.raises(CloseSession) as caught:
        decode(*parts, chunks=True, limit=10**10)
    assert caught.value.reason == "other"


def test_messages_before_a_framing_error_are_given_out() -> None:
    decoder = Decoder(limit=LIMIT)
    decoder.use_chunks()
    decoder.feed(b"\n#3\nabc\n##\n\n#0\n")
    messages = decoder.messages()
    assert next(messages) == b"abc"
    with pytest.raises(CloseSession):
        next(messages)


@given(st.integers(0, 40), CUTS)
def test_the_limit_counts_the_message_and_not_its_framing(extra: int, cuts: list[int]) -> None:
    """C048: a message as long as the limit is taken, one byte more is not, however the bytes come."""
    message = b"]" * (20 + extra)
    for stream, chunks in ((message + END_OF_MESSAGE, False), (in_chunks(message, cuts), True)):
        if extra:
            with pytest.raises(MessageTooBig):
                decode(*pieces(stream, cuts), chunks=chunks, limit=20)
        else:
            assert decode(*pieces(stream, cuts), chunks=chunks, limit=20) == [message]


def test_each_message_has_the_limit_for_itself() -> None:
    assert decode(b"\n#9\n123456789\n##\n" * 3, chunks=True, limit=9) == [b"123456789"] * 3
    assert decode(b"123456789]]>]]>" * 3, limit=9) == [b"123456789"] * 3


def test_a_chunk_over_the_limit_is_refused_before_its_bytes_are_kept() -> None:
    decoder = Decoder(limit=100)
    decoder.use_chunks()
    decoder.feed(b"\n#60\n" + b"x" * 60 + b"\n#41\n")
    with pytest.raises(MessageTooBig):
        next(decoder.messages())
    decoder = Decoder(limit=100)
    decoder.feed(b"x" * 106)
    with pytest.raises(MessageTooBig):
        next(decoder.messages())


class CountingArray(bytearray):
    """A buffer that counts the bytes which are looked at or moved."""

    work = 0

    def find(self, sub: bytes, start: int = 0) -> int:  # type: ignore[override]
        CountingArray.work += len(self) - start
        return super().find(sub, start)

    def __iadd__(self, other: bytes) -> Self:  # type: ignore[override,misc]
        CountingArray.work += len(other)
        super().__iadd__(other)
        return self

    def __delitem__(self, key: object) -> None:
        assert isinstance(key, slice)
        CountingArray.work += key.stop or 0
        super().__delitem__(key)


@pytest.mark.parametrize("chunks", [False, True])
def test_a_large_message_byte_by_byte_costs_linear_work(chunks: bool) -> None:
    size = 50_000
    decoder = Decoder(limit=size)
    decoder._buffer, decoder._message = CountingArray(), CountingArray()
    CountingArray.work = 0
    stream = b"\n#%d\n%b\n##\n" % (size, b"x" * size) if chunks else b"x" * size + END_OF_MESSAGE
    if chunks:
        decoder.use_chunks()
    found: list[bytes] = []
    for at in range(len(stream)):
        decoder.feed(stream[at : at + 1])
        found += decoder.messages()
    assert found == [b"x" * size]
    assert len(decoder._buffer) == 0
    assert CountingArray.work < 20 * size
