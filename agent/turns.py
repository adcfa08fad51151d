"""One thing at a time, and nobody in the way of the others: first comes who has used the least time of late."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

_HALF_LIFE: Final = 10.0
"""Seconds after which what somebody has used counts half."""


class Turns:
    """Turns of users. ``rests``: between two of them, the rest of the process has as long a time as the last took."""

    def __init__(self, *, rests: bool = False) -> None:
        self._rests = rests
        self._taken = False
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._used: dict[str, tuple[float, float]] = {}

    @asynccontextmanager
    async def turn(self, users: Iterable[str]) -> AsyncIterator[None]:
        """Wait for a turn for some users; it is the one's of them who has used the least, and on that one's account."""
        loop = asyncio.get_running_loop()
        user = min(users, key=self._recent)
        await self._take(user)
        began = loop.time()
        try:
            yield
        finally:
            ended = loop.time()
            self._used[user] = (self._recent(user) + ended - began, ended)
            if self._rests:
                loop.call_later(ended - began, self._next)
            else:
                self._next()

    async def _take(self, user: str) -> None:
        if not self._taken:
            self._taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((user, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had come already
                self._next()
            raise

    def _next(self) -> None:
        self._waiting = [(user, turn) for user, turn in self._waiting if not turn.done()]
        self._taken = bool(self._waiting)
        if self._waiting:
            first = min(self._waiting, key=lambda waiting: self._recent(waiting[0]))
            self._waiting.remove(first)
            first[1].set_result(None)

    def _recent(self, user: str) -> float:
        """Return the seconds that a user has used, older ones less."""
        seconds, at = self._used.get(user, (0.0, 0.0))
        return seconds * math.exp2((at - asyncio.get_running_loop().time()) / _HALF_LIFE)
