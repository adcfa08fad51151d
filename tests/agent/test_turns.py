"""Turns: one at a time, those first who have used the least time of late."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agent.turns import Turns
from tests.agent.subscription_bench import Clock

if TYPE_CHECKING:
    from collections.abc import Coroutine


def run(scenario: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.run(scenario)


class Users:
    """Users of turns; ``had`` are who had one, and from when on."""

    def __init__(self, *, rests: bool = False) -> None:
        self.turns = Turns(rests=rests)
        self.had: list[tuple[str, float]] = []

    async def use(self, user: str, seconds: float) -> None:
        async with self.turns.turn([user]):
            self.had.append((user, asyncio.get_running_loop().time()))
            await asyncio.sleep(seconds)

    async def all(self, *wanted: tuple[str, float]) -> None:
        await asyncio.gather(*(self.use(user, seconds) for user, seconds in wanted))


def test_who_has_used_much_waits_for_who_has_used_little() -> None:
    async def scenario() -> None:
        users = Users()
        await users.all(*((user, 2) for user in "abcdef"))
        users.had.clear()
        await users.all(("a", 2), ("b", 2), ("c", 2), ("light", 0.1))
        assert [user for user, _time in users.had] == ["a", "light", "b", "c"]

    run(scenario())


def test_one_user_waits_behind_another_and_not_the_other_way_round() -> None:
    async def scenario() -> None:
        users = Users()
        await users.all(("hog", 2), ("hog", 2), ("hog", 2), ("light", 0.1))
        assert users.had == [("hog", 0), ("light", 2), ("hog", 2.1), ("hog", 4.1)]

    run(scenario())


def test_what_was_used_long_ago_counts_no_more() -> None:
    async def scenario() -> None:
        users = Users()
        await users.use("a", 8)
        await asyncio.sleep(60)
        await users.use("b", 1)
        users.had.clear()
        await users.all(("c", 1), ("b", 1), ("a", 1))
        assert [user for user, _time in users.had] == ["c", "a", "b"]

    run(scenario())


def test_a_turn_is_followed_by_as_long_a_rest() -> None:
    async def scenario() -> None:
        users = Users(rests=True)
        await users.all(("a", 1), ("b", 2), ("c", 1))
        assert users.had == [("a", 0), ("b", 2), ("c", 6)]

    run(scenario())


def test_who_gives_up_holds_up_nobody() -> None:
    async def scenario() -> None:
        users = Users()
        waiting = [asyncio.ensure_future(users.use(user, 2)) for user in "abcd"]
        for task in waiting[1:3]:
            asyncio.get_running_loop().call_later(1, task.cancel)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert users.had == [("a", 0), ("d", 2)]
        await users.use("a", 1)

    run(scenario())
