"""Looks at the machine now and then, so that what changes by itself is seen, and acted on."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.commit import CommitEngine
    from agent.datastore import Datastores


class Health:
    """Runs the translators' looks, one interval after the other; a commit may change the interval."""

    def __init__(self, datastores: Datastores, engine: CommitEngine, looked: Callable[[], None]) -> None:
        """Call ``looked`` after each look."""
        self._engine = engine
        self._looked = looked
        self._committed = asyncio.Event()
        datastores.on_moved.append(self._committed.set)

    async def run(self) -> None:
        """Look until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._engine.look()
            self._looked()
            looked = loop.time()
            while (left := self._engine.look_interval() - (loop.time() - looked)) > 0:
                self._committed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._committed.wait(), timeout=left)
