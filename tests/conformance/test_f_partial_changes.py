"""Section F, the locks on parts of running (RFC 5717): what other sessions change all the same, and what they can't."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.agents import confirmed, serving, until
from tests.conformance.partial import START, M, granted, locks, release
from tests.conformance.session import Session, T, edit, top

if TYPE_CHECKING:
    from pathlib import Path

COMMIT, DISCARD = "<commit/>", "<discard-changes/>"


def in_use(path: str) -> str:
    """Return how a change of what is locked is refused."""
    return f"protocol/in-use/locked @{path}"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ("<item><id>a</id><v>3</v></item>", "/t:top/t:item[t:id='a']"),
        ("<item nc:operation='delete'><id>a</id></item>", "/t:top/t:item[t:id='a']"),
        ("<np><deep><e>1</e></deep></np>", "/t:top/t:np"),
        ("<np nc:operation='delete'/>", "/t:top/t:np"),
        ("<item><id>b</id><v>3</v></item>", None),
        ("<item><id>c</id></item>", None),
        ("<name>m</name>", None),
    ],
)
def test_c150_a_commit_changes_what_no_other_session_has_locked(
    owner: Session, other: Session, change: str, path: str | None
) -> None:
    granted(owner, "/t:top/t:item[t:id='a']", "/t:top/t:np")
    before = other.config(source="running")
    other.ok(edit(top(change)))
    assert [other.outcome(COMMIT), other.outcome(confirmed())] == ([in_use(path)] * 2 if path else ["ok", "ok"])
    if path:
        assert other.config(source="running") == before != other.config()
        owner.ok(COMMIT)  # its own lock is in nobody's way
    else:
        other.ok(COMMIT)
    assert other.config(source="running") == other.config() != before


def test_c150_an_ancestor_of_what_is_locked_stays(owner: Session, other: Session) -> None:
    granted(owner, "/t:top/t:item[t:id='a']/t:v")
    other.ok(edit(f"<top xmlns='{T}'/>", default="replace"))
    assert other.outcome(COMMIT) == in_use("/t:top/t:item[t:id='a']/t:v")
    other.ok(DISCARD, edit(top(START.replace("<name>n</name>", "")), default="replace"), COMMIT)
    assert "<name>" not in other.config(source="running")


def test_c150_what_its_owner_deletes_is_locked_no_more(owner: Session, other: Session) -> None:
    granted(owner, "/t:top/t:item")
    owner.ok(edit(top("<item nc:operation='delete'><id>a</id></item>")), COMMIT)
    assert [node.text for node in locks(other).iter(f"{M}locked-node")] == ["/t:top/t:item[t:id='b']"]
    other.ok(edit(top("<item><id>a</id><v>7</v></item>")), COMMIT)
    other.ok(edit(top("<item nc:operation='delete'><id>b</id></item>")))
    assert other.outcome(COMMIT) == in_use("/t:top/t:item[t:id='b']")


def test_c150_what_is_made_later_is_not_locked(owner: Session, other: Session) -> None:
    granted(owner, "/t:top/t:item")
    other.ok(edit(top("<item><id>c</id><v>3</v></item>")), COMMIT)
    other.ok(edit(top("<item><id>c</id><v>4</v></item>")), COMMIT)


def test_c150_a_confirmed_commit_is_undone_around_locks_and_not_cancelled_through_them(
    owner: Session, other: Session
) -> None:
    mine = granted(owner, "/t:top/t:name")
    owner.ok(edit(top("<name>mine</name>")), confirmed("<persist>p</persist>"))
    assert other.outcome("<cancel-commit><persist-id>p</persist-id></cancel-commit>") == in_use("/t:top/t:name")
    owner.ok("<cancel-commit><persist-id>p</persist-id></cancel-commit>")
    assert owner.config(source="running", wanted=top("<name/>")) == "<top><name>n</name></top>"
    owner.ok(edit(top("<name>mine</name>")), confirmed("<confirm-timeout>1</confirm-timeout>"))
    until(lambda: "mine" not in owner.config(source="running"), "running is restored")
    until(lambda: owner.outcome(release(mine.id)) == "ok", "the lock is still there")


def test_c150_edits_of_running_keep_out_of_a_lock(tmp_path: Path) -> None:
    with serving(tmp_path, settings="[datastore]\nwritable-running = true\n") as agent:
        owner, other = agent.session(), agent.session()
        owner.fill(START)
        granted(owner, "/t:top/t:name")
        path = in_use("/t:top/t:name")
        whole = "<copy-config><target><running/></target><source>{}</source></copy-config>"
        assert other.outcome(edit(top("<name>m</name>"), target="running")) == path
        assert other.outcome(whole.format("<config/>")) == path
        other.ok(edit(top("<np><d>e</d></np>"), target="running"))
        owner.ok(edit(top("<name>m</name>"), target="running"))
        granted(owner, "/t:top")
        again = "<np><d>e</d></np><item><id>b</id><v>2</v></item><item><id>a</id><v>1</v></item><name>m</name>"
        other.ok(whole.format(f"<config>{top(again)}</config>"))  # the same, in another order
        assert other.outcome(whole.format(f"<config>{top(again)[:-6]}<mtu>70</mtu></top></config>")) == in_use("/t:top")
