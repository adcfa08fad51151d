"""Partial locks (RFC 5717): overlap, change, scope and limits; and what happens while one is being taken."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from agent import partial
from agent.datastore import Datastores
from agent.errors import NETCONF, NetconfError
from agent.link import Peer
from agent.partial import PartialLocks, path_of, place_of
from agent.session import Session
from agent.tree import Node, from_json
from agent.xpath import instance, without_prefixes
from tests.agent.server_bench import N, Server, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.load import Model
    from agent.partial import Place

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
T: dict[str | None, str] = {"t": "urn:example:t", "é": "urn:example:t"}
PARTIAL_LOCK = (
    '<partial-lock xmlns="urn:ietf:params:xml:ns:netconf:partial-lock:1.0">'
    '<select xmlns:t="urn:example:t">/t:top/t:name</select></partial-lock>'
)


def session(number: int) -> Session:
    return Session(number, Peer("ada", "ietf-netconf-monitoring:netconf-ssh"), NOW, lambda _reason: None)


def tree(model: Model, **data: Any) -> Node:
    return from_json(model.root, {"t:top": data})


def place(root: Node, path: str) -> Place:
    return place_of(instance(root, path))


def granted(locks: PartialLocks, who: Session, root: Node, *paths: str) -> partial.PartialLock:
    return locks.grant(who, NOW, ["/x"], [place(root, path) for path in paths])


PAIRS = {"pair": [{"a": "x", "b": "1", "c": "c"}, {"a": "x", "b": "2"}], "name": "n"}
FIRST, SECOND = "/t:top/pair[a='x'][b='1']", "/t:top/pair[a='x'][b='2']"


@pytest.mark.parametrize(
    ("held", "wanted", "denied"),
    [
        (FIRST, FIRST, True),
        (FIRST, FIRST + "/c", True),
        (FIRST + "/c", FIRST, True),
        (FIRST + "/b", "/t:top", True),
        (FIRST, SECOND, False),
        (FIRST + "/a", FIRST + "/c", False),
    ],
)
def test_what_lies_at_above_or_below_a_locked_node_overlaps(model: Model, held: str, wanted: str, denied: bool) -> None:
    root, locks, owner = tree(model, **PAIRS), PartialLocks(), session(4)
    granted(locks, owner, root, "/t:top/name", held)
    locks.release(granted(locks, owner, root, wanted).id, owner)  # a session's own may overlap
    if not denied:
        granted(locks, session(5), root, wanted)
        return
    with pytest.raises(NetconfError) as caught:
        granted(locks, session(5), root, wanted)
    assert (caught.value.tag, caught.value.info) == ("lock-denied", ((NETCONF, "session-id", "4"),))
    assert len(list(locks)) == 1


@pytest.mark.parametrize(
    ("locked", "change", "touched"),
    [
        (FIRST, {**PAIRS, "name": "other"}, False),
        (FIRST, {**PAIRS, "pair": PAIRS["pair"][::-1]}, False),
        ("/t:top", {**PAIRS, "pair": PAIRS["pair"][::-1]}, False),
        (FIRST, {"pair": [{"a": "x", "b": "1"}]}, True),
        (FIRST, {"pair": [{"a": "x", "b": "1", "c": "d"}]}, True),
        (FIRST + "/c", {"pair": [{"a": "x", "b": "1"}]}, True),
        (FIRST, {"pair": [{"a": "x", "b": "2"}]}, True),
        (FIRST, {}, True),
        ("/t:top", {**PAIRS, "pres": {}}, True),
    ],
)
def test_a_change_at_or_below_a_locked_node_is_refused(
    model: Model, locked: str, change: dict[str, Any], touched: bool
) -> None:
    root, locks, owner = tree(model, **PAIRS), PartialLocks(), session(4)
    granted(locks, owner, root, locked)
    locks.check(root, tree(model, **change), owner)
    locks.check(root, root, session(5))
    if not touched:
        locks.check(root, tree(model, **change), session(5))
        return
    with pytest.raises(NetconfError, match="partial lock 1 of session 4") as caught:
        locks.check(root, tree(model, **change), session(5))
    assert (caught.value.tag, caught.value.app_tag, caught.value.path) == ("in-use", "locked", locked)


def test_the_order_of_a_users_list_is_part_of_what_is_locked(model: Model) -> None:
    rules = [{"id": "1", "act": "x"}, {"id": "2", "act": "x"}]
    root, turned = tree(model, rule=rules), tree(model, rule=rules[::-1])
    locks, owner = PartialLocks(), session(4)
    granted(locks, owner, root, "/t:top/rule[id='1']")
    locks.check(root, turned, session(5))  # the entry is the same, wherever it is
    granted(locks, owner, root, "/t:top")
    with pytest.raises(NetconfError):
        locks.check(root, turned, session(5))


def test_a_lock_without_nodes_is_still_there(model: Model) -> None:
    stores, owner = Datastores(model, tree(model, **PAIRS)), session(4)
    taken = stores.lock_nodes(owner, NOW, ["/x"], [place(stores.running, FIRST)])
    stores.moved(tree(model, name="n"))
    assert (taken.paths(), list(stores.partial)) == ([], [taken])
    with pytest.raises(NetconfError) as caught:
        stores.lock("running", session(5), NOW)
    assert caught.value.tag == "lock-denied"
    stores.check_change(tree(model, **PAIRS), session(5))
    stores.release_all(owner)
    stores.lock("running", session(5), NOW)


def test_numbers_begin_anew_and_pass_over_those_in_use(model: Model) -> None:
    root, locks, owner = tree(model, **PAIRS), PartialLocks(), session(4)
    granted(locks, owner, root, FIRST)
    locks._last_id = 4294967294
    assert [granted(locks, owner, root, FIRST).id for _ in range(2)] == [4294967295, 2]


@pytest.mark.parametrize(
    ("limit", "most", "fits", "exceeds"),
    [
        ("MOST_LOCKS", 2, [[FIRST], [FIRST]], [SECOND]),
        ("MOST_NODES", 3, [[FIRST, SECOND], [FIRST]], [SECOND]),
        ("MOST_CHARACTERS", 4, [[FIRST], [FIRST]], [SECOND]),
    ],
)
def test_a_session_has_limits_of_its_own(
    model: Model, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, fits: list[list[str]], exceeds: list[str]
) -> None:
    monkeypatch.setattr(partial, limit, most)
    root, locks, owner = tree(model, **PAIRS), PartialLocks(), session(4)
    for paths in fits:
        granted(locks, owner, root, *paths)
    with pytest.raises(NetconfError) as caught:
        granted(locks, owner, root, *exceeds)
    assert caught.value.tag == "resource-denied"
    granted(locks, session(5), root, "/t:top/name")
    locks.release(1, owner)
    granted(locks, owner, root, *exceeds)


# Paths and expressions.


def test_an_instance_is_found_by_all_of_its_path_or_not_at_all(model: Model) -> None:
    both = "b'\"]/c"
    root = tree(model, pair=[{"a": both, "b": "1"}, {"a": "b'", "b": "1", "c": "c"}], name="n")
    assert path_of(place(root, "/t:top/pair[a=\"b'\"][b='1']/c")) == "/t:top/pair[a=\"b'\"][b='1']/c"
    for path in (f"/t:top/pair[a=\"{both}\"][b='1']", "/t:top/name]", "/t:top/none", "/t:top/pair", "top", "/t:top/"):
        assert instance(root, path) == [], path


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("/t:top", "/*[local-name()='top' and namespace-uri()='urn:example:t']"),
        ("//t:*[1]", "//*[namespace-uri()='urn:example:t'][1]"),
        ("//*[. = 't:top']/ancestor::node()", "//*[. = 't:top']/ancestor::node()"),
        ("child::t:top", "child::*[local-name()='top' and namespace-uri()='urn:example:t']"),
        ("/top", "/top"),
        ("/é:top", "/*[local-name()='top' and namespace-uri()='urn:example:t']"),
    ],
)
def test_an_expression_needs_no_prefixes(expression: str, same: str) -> None:
    assert without_prefixes(expression, T) == same


# While the expressions are evaluated.


def meanwhile(server: Server, *happens: Callable[[], object]) -> None:
    """Have something happen while expressions are evaluated: a function for each time."""
    left = iter(happens)

    async def paths(root: Node, *_: Any, **__: Any) -> list[str]:
        next(left, list)()
        return ["/t:top/name"] if root.find("t:top", "name") is not None else []

    server.services.xpath.paths = paths  # type: ignore[method-assign]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_nothing_is_locked_while_another_session_commits(model: Model, when: str) -> None:
    async def scenario() -> None:
        server = Server(model)
        committing, other = server.client(), server.client()

        def commit() -> None:
            server.engine.committing = committing.session._session

        meanwhile(server, *([commit] if when == "meanwhile" else []))
        if when == "before":
            commit()
        refused = ("protocol", "lock-denied", {"session-id": str(committing.id)})
        assert await other.refused(PARTIAL_LOCK) == refused
        assert list(server.stores.partial) == []

    run(scenario())


def test_what_is_locked_is_in_running_when_it_is_locked(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        meanwhile(server, lambda: server.stores.moved(tree(model, mtu=70)))
        error = await client.ask(PARTIAL_LOCK)
        assert error.findtext(f"{N}error-app-tag") == "no-matches"
        assert list(server.stores.partial) == []

    run(scenario())


def test_the_whole_locked_meanwhile_keeps_a_part_from_being_locked(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        owner, other = server.client(), server.client()
        meanwhile(server, lambda: server.stores.lock("running", owner.session._session, NOW))
        refused = ("protocol", "lock-denied", {"session-id": str(owner.id)})
        assert await other.refused(PARTIAL_LOCK) == refused

    run(scenario())


def test_a_session_that_ends_meanwhile_locks_nothing(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        victim = server.client()
        taken: list[object] = []
        lock_nodes = server.stores.lock_nodes

        def recorded(*arguments: Any) -> Any:
            taken.append(arguments)
            return lock_nodes(*arguments)

        server.stores.lock_nodes = recorded  # type: ignore[assignment, method-assign]
        meanwhile(server, lambda: victim.session._session.end("killed"))
        victim.send(PARTIAL_LOCK)
        await victim.idle()
        assert (taken, list(server.stores.partial)) == ([], [])

    run(scenario())
