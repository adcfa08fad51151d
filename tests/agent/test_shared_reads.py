"""What several ask for at the same time is read once, and each question has its own answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agent.nacm import Access
from agent.operational import faults
from agent.tree import from_json
from agent.xpath import XPath
from tests.agent.subscription_bench import Bench, run
from translators.base import Fault

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.load import Model


def test_requests_at_the_same_time_share_a_read(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        async def get() -> bytes:
            return (await bench.operational.in_use(None, Access())).xml()

        answers = await asyncio.gather(*(get() for _ in range(9)))
        assert len(bench.source.asked) == 1
        assert len(set(answers)) == 1
        # What is asked for later is read later: an answer is never older than its question.
        bench.source.tree = {"up": False}
        assert b"<up>false</up>" in await get()
        assert len(bench.source.asked) == 2

    run(model, tmp_path, scenario)


def test_one_that_goes_away_does_not_take_the_read_along(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        tasks = [asyncio.ensure_future(bench.operational.in_use(None, Access())) for _ in range(2)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        assert b"<up>true</up>" in (await tasks[1]).xml()

    run(model, tmp_path, scenario)


def test_faults_are_told_to_who_shares_the_read(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        bench.source.faults = (Fault("/t:top/state/log", "no such file"),)

        async def collect() -> list[Fault]:
            with faults() as found:
                await bench.operational.in_use(None, Access())
            return found

        assert list(await asyncio.gather(collect(), collect())) == [list(bench.source.faults)] * 2

    run(model, tmp_path, scenario)


def test_a_question_that_nobody_waits_for_does_not_answer_the_next_one(model: Model) -> None:
    async def main() -> None:
        xpath = XPath(seconds=30)
        tree: Any = from_json(model.root, {"t:top": {"name": "a", "mtu": 1400}})
        prefixes: dict[str | None, str] = {"t": "urn:example:t"}
        try:
            await xpath.select(tree, "/t:top/t:name", prefixes)
            given_up = asyncio.ensure_future(xpath.select(tree, "/t:top/t:name", prefixes))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            given_up.cancel()
            found = await xpath.select(tree, "//*[local-name() = 'mtu']", prefixes)
            assert found.xml() == b'<top xmlns="urn:example:t"><mtu>1400</mtu></top>'
        finally:
            await xpath.close()

    asyncio.run(main())
