"""Section F, the locks on parts of running (RFC 5717): what is locked, for whom, and how it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from agent.model.load import load
from tests.conformance.agents import CLOSE, Agent, confirmed, live, lock, unlock, until
from tests.conformance.partial import PARTIAL, XMLNS_AS_X, M, denied, free, granted, locks, partial, release
from tests.conformance.session import N, Session, T, chunked, edit, refusals, rpc, top
from tests.system.client import MONITORING
from tests.system.gateway import T_MODULE

COMMIT = "<commit/>"
PENDING = "protocol/in-use/outstanding-confirmed-commit"
SLOW = "//*[//*[//*[. = ../t:no]]]"


def test_c150_hello_offers_it(owner: Session) -> None:
    offered = [one.text for one in owner.hello.iter(f"{N}capability")]
    assert "urn:ietf:params:netconf:capability:partial-lock:1.0" in offered
    assert f"{PARTIAL}?module=ietf-netconf-partial-lock&revision=2009-10-19" in offered


def test_c150_the_locked_nodes_are_named(owner: Session) -> None:
    assert granted(owner, "/t:top/t:item[t:v > 1] | /t:top/t:np/t:d", "/t:top/t:none").nodes == [
        "/t:top/t:item[t:id='b']",
        "/t:top/t:np/t:d",
    ]
    first, second = granted(owner, "/t:top/t:name"), granted(owner, "/x:top", spaces=XMLNS_AS_X)
    assert first.id != second.id
    assert second.nodes == ["/t:top"]
    assert granted(owner, "/é:top/é:np", spaces=XMLNS_AS_X.replace(":x", ":é")).nodes == ["/t:top/t:np"]


@pytest.mark.parametrize(
    ("selects", "refused"),
    [
        (["/t:top/t:none"], "protocol/operation-failed/no-matches"),
        (["/t:top/t:none", "/t:top/t:pres"], "protocol/operation-failed/no-matches"),
        (["/"], "protocol/operation-failed/no-matches"),
        (["1+1"], "protocol/invalid-value/not-a-node-set"),
        (["/t:top", "string(/t:top)"], "protocol/invalid-value/not-a-node-set"),
        (["/t:top["], "protocol/invalid-value"),
        (["/undeclared:top"], "protocol/invalid-value"),
        ([""], "protocol/invalid-value"),
        (["/t:top" + " " * 4096 + "| /t:top"], "protocol/invalid-value"),
        ([], "protocol/missing-element {bad-element=select}"),
        (["/t:top"] * 101, "protocol/resource-denied"),
    ],
)
def test_c150_what_selects_nothing_locks_nothing(
    owner: Session, other: Session, selects: list[str], refused: str
) -> None:
    assert owner.outcome(partial(*selects)) == refused
    assert other.outcome(lock("running")) == "ok"


@pytest.mark.parametrize(
    ("held", "wanted", "overlap"),
    [
        ("/t:top/t:item[t:id='a']", "/t:top/t:item[t:id='a']", True),
        ("/t:top/t:item[t:id='a']", "/t:top/t:item/t:v", True),
        ("/t:top/t:item/t:v", "/t:top", True),
        ("/t:top/t:item[t:id='a']", "/t:top/t:item[t:id='b']", False),
        ("/t:top/t:np", "/t:top/t:name", False),
    ],
)
def test_c150_what_overlaps_another_sessions_lock_is_denied(
    owner: Session, other: Session, held: str, wanted: str, overlap: bool
) -> None:
    granted(owner, held)
    granted(owner, wanted)  # one session's own may overlap
    assert other.outcome(partial(wanted, "/t:top/t:none")) == denied(owner)
    third = granted(owner, held)
    owner.ok(*(release(str(number)) for number in (int(third.id) - 1, third.id)))
    assert free(other, wanted) is not overlap


def test_c150_there_is_nothing_to_lock_in_an_empty_running(agent: Agent) -> None:
    # Access control that is switched off is in it, though.
    for select in ("/t:*", "//t:*"):
        assert agent.session().outcome(partial(select)) == "protocol/operation-failed/no-matches"


def test_c150_what_no_instance_identifier_names_is_not_locked(owner: Session) -> None:
    owner.fill("<item><id>a'b\"c</id></item>")
    assert owner.outcome(partial("/t:top/t:name", "/t:top/t:item")) == "protocol/operation-failed"
    assert granted(owner, "/t:top").nodes == ["/t:top"]


def test_c150_all_is_locked_or_nothing(owner: Session, other: Session) -> None:
    granted(owner, "/t:top/t:name")
    assert other.outcome(partial("/t:top/t:np", "/t:top/t:name")) == denied(owner)
    assert free(owner, "/t:top/t:np")


def test_c150_the_whole_and_a_part_exclude_each_other(owner: Session, other: Session) -> None:
    part = granted(owner, "/t:top/t:name")
    assert owner.outcome(lock("running")) == denied(owner)
    assert other.outcome(lock("running")) == denied(owner)
    other.ok(lock("candidate"), unlock("candidate"))
    owner.ok(release(part.id), lock("running"))
    for session in (owner, other):
        assert session.outcome(partial("/t:top/t:name")) == denied(owner)
    owner.ok(unlock("running"))
    assert free(other, "/t:top/t:name")


def test_c150_nothing_is_locked_while_a_commit_is_unconfirmed(owner: Session, other: Session) -> None:
    owner.ok(edit(top("<name>m</name>")), confirmed())
    for session in (owner, other):
        assert session.outcome(partial("/t:top/t:np")) == PENDING
    owner.ok(COMMIT)
    assert free(other, "/t:top/t:np")


@pytest.mark.parametrize("how", ["unlock", "close", "drop", "kill"])
def test_c150_a_lock_goes_with_its_session(owner: Session, other: Session, how: str) -> None:
    number = granted(owner, "/t:top").id
    assert not free(other, "/t:top/t:name")
    if how == "unlock":
        owner.ok(release(number))
    elif how == "close":
        owner.ok(CLOSE)
    elif how == "drop":
        owner.close()
    else:
        other.ok(f"<kill-session><session-id>{owner.id}</session-id></kill-session>")
    until(lambda: free(other, "/t:top/t:name"), "the lock is free")
    assert locks(other).find(f"{M}locks") is None


def test_c151_only_a_lock_of_the_sessions_own_is_given_back(owner: Session, other: Session) -> None:
    number = granted(owner, "/t:top/t:name").id
    assert other.outcome(release(number)) == "protocol/invalid-value"
    assert owner.outcome(release(str(int(number) + 1))) == "protocol/invalid-value"
    assert not free(other, "/t:top/t:name")
    owner.ok(release(number))
    assert owner.outcome(release(number)) == "protocol/invalid-value"


@pytest.mark.parametrize("number", ["0", "4294967295", "4294967296", "-1", "x", ""])
def test_c151_what_is_no_lock_is_not_given_back(owner: Session, number: str) -> None:
    granted(owner, "/t:top/t:name")
    (refused,) = refusals(owner.ask(release(number)))
    assert refused.split()[0].split("/")[1] == "invalid-value"


def test_c151_a_number_has_many_spellings(owner: Session) -> None:
    number = int(granted(owner, "/t:top/t:name").id)
    owner.ok(release(f" 0{number} "))


def test_c151_partial_unlock_needs_a_number(owner: Session) -> None:
    assert owner.outcome(f'<partial-unlock xmlns="{PARTIAL}"/>') == "protocol/missing-element {bad-element=lock-id}"


def test_c150_monitoring_shows_the_locks(owner: Session, other: Session) -> None:
    first = granted(owner, "/x:top/x:item[x:id = 'a:b' or x:v &gt; 1]", spaces=XMLNS_AS_X)
    second = granted(other, "/t:top/t:*[1]", "/t:top/t:*[1]", "/t:top/t:np")
    entry = locks(other)
    shown = entry.findall(f"{M}locks/{M}partial-lock")
    assert [one.findtext(f"{M}lock-id") for one in shown] == [first.id, second.id]
    assert [one.findtext(f"{M}locked-by-session") for one in shown] == [str(owner.id), str(other.id)]
    assert [[node.text for node in one.iter(f"{M}locked-node")] for one in shown] == [first.nodes, second.nodes]
    assert [len(one.findall(f"{M}select")) for one in shown] == [1, 2]
    # An expression means the same where it stands now, with the prefixes that are declared there.
    running: Any = other.ask("<get-config><source><running/></source></get-config>")[0]
    for one in shown:
        found = [node for select in one.iter(f"{M}select") for node in running.xpath(f".{select.text}")]
        named = [
            node for path in one.iter(f"{M}locked-node") for node in running.xpath(f".{path.text}", namespaces={"t": T})
        ]
        assert set(found) == set(named)
    load([T_MODULE]).validator.parse_only(etree.tostring(entry.getparent().getparent()))
    wanted = f'xmlns:m="{MONITORING}" type="xpath" select="//m:partial-lock[2]/m:lock-id"'
    assert f"<lock-id>{second.id}</lock-id>" in other.data(f"<get><filter {wanted}/></get>")


# Limits.


def test_c150_an_expression_that_takes_too_long_locks_nothing(owner: Session, other: Session) -> None:
    owner.fill("".join(f"<item><id>{n}</id></item>" for n in range(300)))
    assert owner.outcome(partial("/t:top/t:name", SLOW)) == "protocol/operation-failed"
    assert other.outcome(lock("running")) == "ok"


def test_c150_a_session_that_ends_meanwhile_locks_nothing(agent: Agent, owner: Session, other: Session) -> None:
    owner.fill("".join(f"<item><id>{n}</id></item>" for n in range(300)))
    # The first expression keeps the one evaluator busy, so the second session's request waits when it is killed.
    owner.send(chunked(rpc(partial(SLOW))))
    victim = agent.session()
    victim.send(chunked(rpc(partial("/t:top/t:name"))))
    other.ok(f"<kill-session><session-id>{victim.id}</session-id></kill-session>")
    assert refusals(owner.reply()) == ["protocol/operation-failed"]
    until(lambda: victim.id not in live(other), "the session is gone")
    assert other.outcome(lock("running")) == "ok"


def test_c150_a_session_has_so_many_locks(owner: Session, other: Session) -> None:
    for _ in range(100):
        number = granted(owner, "/t:top/t:name").id
    assert owner.outcome(partial("/t:top/t:name")) == "protocol/resource-denied"
    assert free(other, "/t:top/t:np")
    owner.ok(release(number))
    assert free(owner, "/t:top/t:name")


def test_c150_a_session_locks_so_many_nodes(owner: Session) -> None:
    owner.fill("".join(f"<item><id>{n}</id></item>" for n in range(600)))
    assert owner.outcome(partial("/t:top/t:item | /t:top/t:item/t:id")) == "protocol/resource-denied"
    assert len(granted(owner, "/t:top/t:item").nodes) == 602
    assert owner.outcome(partial("/t:top/t:item")) == "protocol/resource-denied"
    assert free(owner, "/t:top")
