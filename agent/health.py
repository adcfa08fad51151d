"""Looks at the machine now and then, so that what changes by itself is seen, and acted on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from agent.errors import NetconfError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.commit import CommitEngine
    from agent.datastore import Datastores

log = logging.getLogger(__name__)

_UNTIL_VALID: Final = 60.0
"""Seconds between looks while what is stored as running does not fit the model: after an upgrade, say."""


class Health:
    """Runs the translators' looks, one interval after the other; a commit may change the interval."""

    def __init__(self, datastores: Datastores, engine: CommitEngine, looked: Callable[[], None]) -> None:
        """Call ``looked`` after each look."""
        self._engine = engine
        self._looked = looked
        self._waited = 0.0
        self._changed = asyncio.Event()
        datastores.on_moved.append(self._committed)

    async def run(self) -> None:
        """Look until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                await self._engine.look()
            except NetconfError as error:
                log.error("the machine can't be looked at, as running is not valid: %s", error.message)  # noqa: TRY400
            self._looked()
            looked = loop.time()
            self._waited = self._interval()
            while (left := self._waited - (loop.time() - looked)) > 0:
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), timeout=left)

    def _committed(self) -> None:
        if (interval := self._interval()) != self._waited:
            self._waited = interval
            self._changed.set()

    def _interval(self) -> float:
        try:
            return self._engine.look_interval()
        except NetconfError:
            return _UNTIL_VALID
