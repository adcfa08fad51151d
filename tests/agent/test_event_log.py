"""The log of past events: bounded, in order, and intact whatever happens to the agent or the disk."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from agent.streams import Streams
from agent.streams.log import SEGMENTS

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.load import Model

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MANY = 10_000
LARGE = 8 * 1024 * 1024


class Clock:
    """A clock that goes on a second with each look, unless it is told otherwise."""

    def __init__(self) -> None:
        self.time = BEGIN

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def event(text: str = "x") -> dict[str, Any]:
    return {"t:ev": {"m": text}}


def opened(model: Model, folder: Path, clock: Clock, *, entries: int = MANY, size: int = LARGE) -> Streams:
    return Streams(model, folder, now=clock, entries=entries, size=size)


def told(streams: Streams, number: int = 0) -> list[str]:
    found = []
    for one in streams.after(number):
        leaf = one.content.find("t:ev", "m")
        assert leaf is not None
        found.append(leaf.value or "")
    return found


def lines(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "notifications").glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def test_an_event_is_in_the_file_before_anybody_is_woken(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock)
    found: list[list[Any]] = []
    streams.follow(lambda: found.append([line.get("data") for line in lines(tmp_path)]))
    streams.publish(event("first"))
    assert found == [[None, event("first")]]


def test_a_successor_goes_on_with_the_numbers_and_has_all_events(model: Model, tmp_path: Path, clock: Clock) -> None:
    first = opened(model, tmp_path, clock)
    for text in "ab":
        first.publish(event(text))
    # Not closed: a crash does not close it either.
    second = opened(model, tmp_path, clock)
    assert (second.last, told(second), second.created) == (2, ["a", "b"], first.created)
    second.publish(event("c"))
    assert [(one.number, one.time) for one in second.after(2)] == [(3, clock.time)]
    assert told(opened(model, tmp_path, clock)) == ["a", "b", "c"]


UNREAL = [
    b'{"number":Infinity,"time":"2026-01-01T00:00:09+00:00","data":{}}\n',
    b'{"number":99999999999999999999,"time":"2026-01-01T00:00:09+00:00","data":{}}\n',
    b'{"number":9,"time":"9999-12-31T23:59:59-14:00","data":{}}\n',
    b'{"number":9,"time":"0001-01-01T00:00:00+14:00","data":{}}\n',
    b'{"created":"9999-12-31T23:59:59-14:00","dropped":0}\n',
]


@pytest.mark.parametrize(
    "torn", [b'{"number":3,"ti', b'{"number":3', b"\xff\xfe", b"", b"[]\n", b'{"number":"x"}\n', *UNREAL]
)
def test_a_torn_line_is_no_event_and_the_next_one_is_whole(
    model: Model, tmp_path: Path, clock: Clock, torn: bytes
) -> None:
    streams = opened(model, tmp_path, clock)
    for text in "ab":
        streams.publish(event(text))
    (path,) = (tmp_path / "notifications").iterdir()
    path.write_bytes(path.read_bytes() + torn)
    after = opened(model, tmp_path, clock)
    assert told(after) == ["a", "b"]
    after.publish(event("c"))
    assert told(opened(model, tmp_path, clock)) == ["a", "b", "c"]


def test_an_event_of_another_schema_is_left_out_and_its_number_is_not_given_again(
    model: Model, tmp_path: Path, clock: Clock
) -> None:
    streams = opened(model, tmp_path, clock)
    streams.publish(event("a"))
    (path,) = (tmp_path / "notifications").iterdir()
    unknown: list[Any] = [{"gone:ev": {}}, {"t:ev": {"gone": 1}}, {"t:ev": 5}, [], 7]
    for data in unknown:
        number = len(path.read_bytes().splitlines())
        line = {"number": number, "time": clock().isoformat(), "data": data}
        path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")
    after = opened(model, tmp_path, clock)
    assert (told(after), after.last) == (["a"], 6)
    after.publish(event("b"))
    assert [one.number for one in after.after(0)] == [1, 7]


def test_the_oldest_events_go_when_there_are_too_many(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock, entries=8)
    times = []
    for number in range(1, 31):
        streams.publish(event(str(number)))
        times.append(clock.time)
        kept = [one.number for one in streams.after(0)]
        assert kept == list(range(streams.dropped + 1, number + 1))
        assert number <= 6 or 6 < len(kept) <= 8
    assert streams.aged == times[streams.dropped - 1]
    assert len(list((tmp_path / "notifications").iterdir())) == SEGMENTS
    after = opened(model, tmp_path, clock, entries=8)
    assert told(after) == told(streams)
    assert (after.dropped, after.aged, after.created) == (streams.dropped, streams.aged, streams.created)


def test_the_oldest_events_go_when_they_take_too_much(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock, size=8192)
    for number in range(200):
        streams.publish(event(f"{number} " + "x" * 300))
        size = sum(path.stat().st_size for path in (tmp_path / "notifications").iterdir())
        assert size <= 8192 + SEGMENTS * 200  # and the head of each file
    assert 8 < len(told(streams)) < 25
    streams.publish(event("y" * 20_000))
    assert told(streams)[-1] == "y" * 20_000


def test_a_smaller_log_than_before_is_made_smaller_at_once(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock, entries=400)
    for number in range(350):
        streams.publish(event(str(number)))
    after = opened(model, tmp_path, clock, entries=40)
    assert after.last == 350
    assert after.dropped == 350 - len(told(after)) > 0
    assert len(told(after)) <= 100


def test_events_are_found_by_their_time(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock, entries=12)
    assert streams.since(BEGIN) == 0
    for number in range(1, 21):
        streams.publish(event(str(number)))
    all_of_them = list(streams.after(0))
    for one in all_of_them:
        assert streams.since(one.time) == one.number - 1
        assert streams.since(one.time + timedelta(milliseconds=1)) == one.number
    assert streams.since(BEGIN) == streams.dropped
    assert streams.since(clock.time + timedelta(days=1)) == 20


def test_time_does_not_go_back(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock)
    streams.publish(event("a"))
    clock.time = BEGIN - timedelta(days=1)
    streams.publish(event("b"))
    times = [one.time for one in streams.after(0)]
    assert times[1] == times[0] > BEGIN
    successor = opened(model, tmp_path, clock)
    clock.time = times[1] - timedelta(seconds=2)
    assert successor.now() == times[1] - timedelta(seconds=1)


def test_an_event_of_the_future_was_before_the_next_one(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock)
    for text in "abc":
        streams.publish(event(text))
    (path,) = (tmp_path / "notifications").iterdir()
    head, a, b, c = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + a + b.replace(b"2026-", b"9026-") + c)
    times = [one.time for one in opened(model, tmp_path, clock).after(0)]
    assert times[1] == times[2] > times[0]
    path.write_bytes(head + a + b + c.replace(b"2026-", b"9026-"))
    successor = opened(model, tmp_path, clock)
    assert successor.since(clock.time) == 2
    assert successor.now() == clock.time


def test_files_that_are_deleted_are_written_anew(
    model: Model, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    streams = opened(model, tmp_path, clock, entries=8)
    for text in "abcd":
        streams.publish(event(text))
    shutil.rmtree(tmp_path / "notifications")
    for text in "ef":
        streams.publish(event(text))
    assert [record.message.partition(": ")[2] for record in caplog.records] == [
        "files of events were deleted: they are written anew"
    ]
    assert told(opened(model, tmp_path, clock)) == [*"abcdef"]


def test_a_full_disk_is_told_once_and_events_reach_those_who_listen(
    model: Model, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    streams = opened(model, tmp_path, clock)
    streams.publish(event("a"))
    write, room = os.write, [10]

    def full(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken, room[0] = min(room[0], len(data)), 0
        return write(file, data[:taken])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        for text in "bcd":
            streams.publish(event(text))
    assert told(streams) == ["a", "b", "c", "d"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "No space left" in caplog.text
    streams.publish(event("e"))
    assert "durably again" in caplog.text
    assert told(opened(model, tmp_path, clock)) == ["a", "e"]


def test_where_nothing_can_be_written_there_is_a_log_in_memory(
    model: Model, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "notifications").write_text("no folder")
    streams = opened(model, tmp_path, clock, entries=8)
    for number in range(20):
        streams.publish(event(str(number)))
    assert told(streams)[-1] == "19"
    assert len(told(streams)) <= 8
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1


def test_text_that_xml_can_not_hold_is_logged(model: Model, tmp_path: Path, clock: Clock) -> None:
    streams = opened(model, tmp_path, clock)
    streams.publish(event("a\udcff\n\0b\u2028"))
    assert told(streams) == told(opened(model, tmp_path, clock)) == ["a\ufffd\n\ufffdb\u2028"]
