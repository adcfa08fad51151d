"""Candidate, running and their locks (RFC 6241 7.5, 8.3)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.datastore import Datastores
from agent.errors import NETCONF, NetconfError
from agent.link import Peer
from agent.model.load import Model
from agent.session import LAST_SESSION_ID, Session, SessionLimitError, Sessions
from agent.tree import Node, from_json

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


def session(number: int) -> Session:
    return Session(number, Peer("ada", "ietf-netconf-monitoring:netconf-ssh"), NOW, lambda _reason: None)


def tree(model: Model, **data: Any) -> Node:
    return from_json(model.root, {"t:top": data})


@pytest.fixture
def stores(model: Model) -> Datastores:
    return Datastores(model, tree(model, name="start"))


@pytest.mark.parametrize("name", ["running", "candidate"])
def test_a_lock_has_one_owner(stores: Datastores, name: str) -> None:
    """C135, C137, C140, C142."""
    one, other = session(4), session(5)
    stores.lock(name, one, NOW)
    assert stores.locks[name].since == NOW
    for who in (one, other):
        with pytest.raises(NetconfError) as caught:
            stores.lock(name, who, NOW)
        assert (caught.value.type, caught.value.tag) == ("protocol", "lock-denied")
        assert caught.value.info == ((NETCONF, "session-id", "4"),)
    stores.check_access(name, one)
    with pytest.raises(NetconfError) as caught:
        stores.check_access(name, other)
    assert (caught.value.type, caught.value.tag) == ("protocol", "in-use")
    with pytest.raises(NetconfError) as caught:
        stores.unlock(name, other)
    assert (caught.value.type, caught.value.tag) == ("protocol", "operation-failed")
    assert stores.locks[name].session is one
    stores.unlock(name, one)
    stores.check_access(name, other)
    with pytest.raises(NetconfError) as caught:
        stores.unlock(name, one)
    assert caught.value.tag == "operation-failed"
    stores.lock(name, other, NOW)


def test_a_changed_candidate_is_not_locked(model: Model, stores: Datastores) -> None:
    """C138: whoever changed it; running can be."""
    stores.candidate = tree(model, name="changed")
    with pytest.raises(NetconfError) as caught:
        stores.lock("candidate", session(1), NOW)
    assert (caught.value.tag, caught.value.info) == ("lock-denied", ((NETCONF, "session-id", "0"),))
    stores.lock("running", session(1), NOW)
    stores.candidate = stores.running
    stores.lock("candidate", session(1), NOW)


@pytest.mark.parametrize("how", ["unlock", "release"])
def test_giving_the_lock_back_discards_what_was_not_committed(model: Model, stores: Datastores, how: str) -> None:
    """C143, F85: by unlock, and by the session's end."""
    owner = session(1)
    stores.lock("running", owner, NOW)
    stores.lock("candidate", owner, NOW)
    stores.candidate = tree(model, name="changed")
    if how == "unlock":
        stores.unlock("running", owner)
        assert stores.candidate is not stores.running
        stores.unlock("candidate", owner)
    else:
        stores.release_all(session(2))
        assert set(stores.locks) == {"running", "candidate"}
        stores.release_all(owner)
    assert stores.locks == {}
    assert stores.candidate is stores.running


def test_a_session_without_the_lock_leaves_candidate_as_it_is(model: Model, stores: Datastores) -> None:
    changed = stores.candidate = tree(model, name="changed")
    stores.release_all(session(1))
    assert stores.get("candidate") is changed
    assert stores.get("running") is stores.running


def test_candidate_follows_running_unless_it_was_edited_meanwhile(model: Model, stores: Datastores) -> None:
    moved = []
    stores.on_moved.append(lambda: moved.append(stores.running))
    first = stores.candidate = tree(model, name="first")
    stores.moved(first)
    assert (stores.running, stores.candidate, moved) == (first, first, [first])
    second = tree(model, name="second")
    stores.moved(second)
    assert stores.candidate is second
    edited = stores.candidate = tree(model, name="edited")
    stores.moved(tree(model, name="third"))
    assert stores.candidate is edited


def test_a_tree_is_validated_once(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    original = model.validator.validate

    def counted(config: bytes) -> dict[str, Any]:
        asked.append(config)
        return original(config)

    monkeypatch.setattr(model.validator, "validate", counted)
    stores = Datastores(model, Node(model.root))
    stores.candidate, tried = tree(model, mtu=100), tree(model, mtu=101)
    for root in [stores.candidate, tried, tried, stores.candidate, stores.running, stores.candidate, stores.running]:
        data = stores.effective(root)
    assert data["t:top"]["mtu"] == 1500
    assert len(asked) == 3
    # What became no datastore's is forgotten: it may be large.
    assert stores.effective(tried)["t:top"]["mtu"] == 101
    assert len(asked) == 4


def test_what_is_not_valid_is_not_remembered(model: Model, stores: Datastores) -> None:
    for _ in range(2):
        with pytest.raises(NetconfError) as caught:
            stores.effective(tree(model, ref="none"))
        assert (caught.value.tag, caught.value.app_tag) == ("data-missing", "instance-required")


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────


def sessions(limit: int = 3, limit_per_user: int = 2) -> Sessions:
    return Sessions(limit=limit, limit_per_user=limit_per_user, started=NOW)


def opened(live: Sessions, user: str = "ada") -> Session:
    return live.open(Peer(user, "ietf-netconf-monitoring:netconf-ssh"), now=NOW, end=lambda _reason: None)


def test_session_ids_are_unique_and_stay_in_range() -> None:
    """C027."""
    live = sessions(limit=10, limit_per_user=10)
    first, second = opened(live), opened(live)
    assert (first.id, second.id) == (1, 2)
    live.close(second, dropped=False)
    assert opened(live).id == 3
    live._last_id = LAST_SESSION_ID - 1
    assert [opened(live).id for _ in range(3)] == [LAST_SESSION_ID, 2, 4]
    assert live.get(1) is first
    assert live.get(7) is None
    assert len(live) == len(list(live)) == 5


def test_limits() -> None:
    live = sessions()
    one, _two = opened(live), opened(live)
    with pytest.raises(SessionLimitError, match=r"ada has 2 sessions open.*sessions-per-user"):
        opened(live)
    opened(live, "bob")
    with pytest.raises(SessionLimitError, match=r"3 sessions are open"):
        opened(live, "eve")
    live.close(one, dropped=True)
    live.close(one, dropped=True)
    assert live.dropped_sessions == 1
    opened(live)
