"""Reading what is shown, interval by interval, over one session after another."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from agent.cli import reply
from agent.cli.client import connect
from agent.cli.errors import CommandError, RefusedError
from agent.cli.monitor import events
from agent.cli.monitor.picture import Sample
from agent.cli.query import query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event as Flag

    from lxml.etree import _Element as Element

    from agent.cli.client import Client
    from agent.cli.connection import Target

_WANTED: Final = (
    ("qat", ("configured", "active", "fallback-active")),
    ("qat/device", ("address", "name", "oper-status", "status-reason", "errors", "link-errors", "heartbeat")),
    ("qat/device/flows", ("requests", "in-flight", "request-rate", "discontinuity-time")),
    ("cpu/time", ("busy", "total")),
    ("ipsec/service", ("name", "state", "version")),
    ("ipsec/security-association", ()),
)
# What has been before the monitor was started, and is shown where there is room for it.
_PAST: Final = timedelta(hours=1)
# How long the events of the past may take before a picture is made without them, in seconds.
_REPLAY_SECONDS: Final = 2.0
_LONGEST_PAUSE: Final = 30


def watch(where: Target, *, interval: float, stop: Flag, past: bool) -> Iterator[Sample]:
    """Yield what an agent reports, each ``interval`` seconds, until ``stop`` is set.

    Where the session ends another one is tried, after longer and longer pauses, and each attempt that fails is a
    sample, too. ``past``: events of the last hour are asked for. Raises CommandError where nothing was ever reported.
    """
    since = _written(datetime.now(UTC) - _PAST) if past else None
    pause = 0
    reached = False
    while not stop.is_set():
        try:
            with connect(where) as client:
                for sample in _Session(client, since).samples(interval, stop):
                    reached, pause = True, 0
                    since = max((one.time for one in sample.events), default=since or _written(sample.time))
                    yield sample
        except CommandError as error:
            if not reached:
                raise
            # Nobody can type a password while pictures are drawn.
            where = replace(where, ask=False)
            pause = min(_LONGEST_PAUSE, pause * 2 or 1)
            yield _sample(None, problem=f"trying again in {pause} s: {error}")
            stop.wait(pause)


class _Session:
    """One session: it gets what is shown, and listens to events."""

    def __init__(self, client: Client, since: str | None) -> None:
        self._client = client
        self._note: str | None = None
        self._replaying = since is not None
        try:
            self._subscribe(since)
        except RefusedError as error:
            self._replaying = False
            self._note = f"no events: {error}"

    def samples(self, interval: float, stop: Flag) -> Iterator[Sample]:
        """Yield a sample at once, and after each interval. Raises CommandError when the session has ended."""
        due = time.monotonic()
        wanted = query(*_WANTED)
        while not stop.is_set():
            try:
                tree = reply.acceleration(reply.data(self._client.get(wanted)))
                sample = _sample(tree)
            except RefusedError as error:
                sample = _sample(None, problem=str(error))
            heard = self._heard()
            yield replace(sample, events=heard, note=self._note)
            # A time that has passed while the agent was slow is left out.
            due = max(due + interval, time.monotonic())
            stop.wait(due - time.monotonic())

    def _subscribe(self, since: str | None) -> None:
        try:
            self._client.call(events.subscription(since))
        except RefusedError:
            if since is None:
                raise
            # Its clock may be behind this one: what is in its future it can't have logged.
            self._replaying = False
            self._client.call(events.subscription(None))

    def _heard(self) -> tuple[events.Event, ...]:
        """Return the events that have come; once, those of the past are waited for."""
        heard = []
        until = time.monotonic() + (_REPLAY_SECONDS if self._replaying else 0)
        while (told := self._client.notification(wait=self._left(until))) is not None:
            kind = events.kind(told)
            if kind == events.REPLAYED:
                self._replaying = False
            elif kind == events.TERMINATED:
                self._note = f"no more events: the agent ended the subscription ({_reason(told)})"
            elif (one := events.event(told)) is not None:
                heard.append(one)
        self._replaying = False
        return tuple(heard)

    def _left(self, until: float) -> float:
        return max(0.0, until - time.monotonic()) if self._replaying else 0.0


def _sample(tree: reply.Tree | None, *, problem: str | None = None) -> Sample:
    return Sample(time.monotonic(), datetime.now(UTC), tree, problem=problem)


def _reason(told: Element) -> str:
    return (told.findtext(".//{*}reason") or "it did not say why").rpartition(":")[2]


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
