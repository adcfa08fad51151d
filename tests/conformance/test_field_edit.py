"""Field cases: edit-config, order, values and namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.cases import Case, change, table
from tests.conformance.memory import memory
from tests.conformance.session import N, Session, T, chunked, edit, get_config, rpc, top
from tests.system.client import MONITORING

if TYPE_CHECKING:
    from tests.system.gateway import Gateway

A1 = "<item><id>a</id><v>1</v></item>"
RULES = "".join(f"<rule><id>r{n}</id><act>x</act></rule>" for n in (1, 2, 3))
MISSING = "application/data-missing @"
RULE = "/t:top/t:rule[t:id='r{}']"


def rules(*numbers: int) -> str:
    """Return rules in an order."""
    return "".join(f"<rule><id>r{n}</id><act>x</act></rule>" for n in numbers)


def insert(where: str, key: str, content: str = "<id>r1</id>") -> str:
    """Return a rule that is put somewhere."""
    return change(f'<rule y:insert="{where}" y:key="{key}">{content}</rule>')


CASES = [
    Case("F35 the parent is absent", change(f'<item nc:operation="replace">{A1[6:-7]}</item>', "none"),
         MISSING + "/t:top"),
    Case("F35 the parent is there", change(f'<item nc:operation="replace">{A1[6:-7]}</item>', "none"),
         before="<name>n</name>", after=f"<name>n</name>{A1}"),
    Case("F37 delete and merge of one container",
         edit(top('<pres nc:operation="delete"/>') + top("<pres><z>1</z></pres>")),
         before="<pres><z>0</z></pres>", after="<pres><z>1</z></pres>"),
    Case("F37 in one parent", change('<pres nc:operation="delete"/><pres><z>1</z></pres>'),
         before="<pres/>", after="<pres><z>1</z></pres>"),
    Case("F37 of one that is not there", change('<pres nc:operation="delete"/><pres><z>1</z></pres>'),
         MISSING + "/t:top/t:pres", "<name>n</name>"),
    Case("F39 an operation without prefix", change('<item operation="delete"><id>a</id></item>'),
         "application/unknown-attribute {bad-attribute=operation,bad-element=item} @/t:top", A1),
    Case("F39 on a leaf", change('<name operation="delete"/>'),
         "application/unknown-attribute {bad-attribute=operation,bad-element=name} @/t:top", "<name>n</name>"),
    Case("F41 replaced by itself", change(A1 + "<name>n</name>", "replace"), before=A1 + "<name>n</name>",
         after="<name>n</name>" + A1),
    Case("F45 remove of an absent leaf of another case", change('<b1 nc:operation="remove"/>'), before="<a1>x</a1>",
         after="<a1>x</a1>"),
    Case("F45 delete of it", change('<b1 nc:operation="delete"/>'), MISSING + "/t:top/t:b1", "<a1>x</a1>"),
    Case("F45 below a container of it", change('<bc><b2 nc:operation="remove"/></bc>'), before="<a1>x</a1>",
         after="<a1>x</a1>"),
    Case("F45 an empty container of it", change("<bc/>"), before="<a1>x</a1>", after="<a1>x</a1>"),
    Case("F45 of an outer choice", change('<o2x nc:operation="remove"/>'), before="<i1>x</i1>", after="<i1>x</i1>"),
    Case("F49 an empty key", change("<item><id/></item>"), "application/invalid-value @/t:top/t:item[t:id='']/t:id"),
    Case("F53 before itself", insert("before", "[id='r1']"), before=RULES, after=RULES),
    Case("F53 after itself", insert("after", "[id='r2']", "<id>r2</id>"), before=RULES, after=RULES),
    Case("F53 a leaf-list entry", change('<ord y:insert="before" y:value="a">a</ord>'),
         before="<ord>a</ord><ord>b</ord>",
         after="<ord>a</ord><ord>b</ord>"),
    Case("F53 before itself, and there is none", insert("before", "[id='r9']", "<id>r9</id><act>x</act>"),
         "application/bad-attribute/missing-instance {bad-attribute=key,bad-element=rule} @" + RULE.format(9), RULES),
    Case("F57 no prefix", insert("after", "[id='r3']"), before=RULES, after=rules(2, 3, 1)),
    Case("F57 a prefix of an ancestor",
         edit(f'<q:top xmlns:q="{T}" xmlns:y="urn:ietf:params:xml:ns:yang:1"><q:rule y:insert="after" '
         'y:key="[q:id=\'r2\']"><q:id>r1</q:id></q:rule></q:top>'), before=RULES, after=rules(2, 1, 3)),
    Case("F57 double quotes", insert("after", "[id=&quot;r2&quot;]"), before=RULES, after=rules(2, 1, 3)),
    Case("F57 blanks", insert("after", "[ id = 'r2' ]"), before=RULES, after=rules(2, 1, 3)),
    Case("F57 undeclared", insert("after", "[zz:id='r2']"),
         "application/bad-attribute {bad-attribute=key,bad-element=rule} @" + RULE.format(1), RULES),
]  # fmt: skip


@table(CASES)
def test_field(session: Session, case: Case) -> None:
    case.check(session)


def test_f37_the_outcome_is_the_same_each_time(session: Session) -> None:
    session.fill("<pres><z>0</z></pres>")
    request = edit(top('<pres nc:operation="delete"/>') + top('<pres nc:operation="create"><z>1</z></pres>'))
    for _ in range(5):
        session.ok(request)
        assert session.config() == "<top><pres><z>1</z></pres></top>"


def test_f43_the_same_leaf_list_twice(session: Session) -> None:
    for _ in range(2):
        session.ok(change("<tag>a</tag><tag>b</tag><tag>c</tag>"))
        assert session.config() == "<top><tag>a</tag><tag>b</tag><tag>c</tag></top>"
        session.ok("<commit/>")


def test_f51_a_delete_leaves_nothing(session: Session) -> None:
    session.fill("<item><id>a</id></item><item><id>b</id></item>")
    for name, left in (("a", "<top><item><id>b</id></item></top>"), ("b", "")):
        session.ok(change(f'<item nc:operation="delete"><id>{name}</id></item>'), "<commit/>")
        assert session.config() == session.config(source="running") == left


def test_f55_an_absent_key_and_flat_memory(session: Session, served: Gateway) -> None:
    request = insert("after", "[t:id='zz']")
    request = request.replace("<top ", f'<top xmlns:t="{T}" ', 1)
    refused = "application/bad-attribute/missing-instance {bad-attribute=key,bad-element=rule} @" + RULE.format(1)
    session.fill(RULES)
    message = chunked(rpc(request))

    def many(count: int) -> None:
        for _ in range(count // 100):
            session.send(message * 100)
            for _ in range(100):
                assert b"missing-instance" in session.reply_bytes()

    assert session.outcome(request) == refused
    many(1000)
    before = memory(served.pid)
    many(10_000)
    assert memory(served.pid) - before < 4 * 1024 * 1024
    assert session.config() == f"<top>{RULES}</top>"


@pytest.mark.parametrize("written", ["x:yang", "yang", " x:yang ", "\nyang\n"])
def test_f59_an_identity_with_a_prefix(session: Session, written: str) -> None:
    spaces = f'xmlns="{MONITORING}" xmlns:x="{MONITORING}"'
    reply = session.ask(f"<get-schema {spaces}><identifier>t</identifier><format>{written}</format></get-schema>")
    assert reply[0].tag == f"{{{MONITORING}}}data"
    assert (reply[0].text or "").startswith("module t {")


@pytest.mark.parametrize("written", ["x:yang", "y:yang", "x:yin", "yin"])
def test_f59_an_identity_that_is_not_served(session: Session, written: str) -> None:
    spaces = f'xmlns="{MONITORING}" xmlns:x="urn:no"'
    content = f"<get-schema {spaces}><identifier>t</identifier><format>{written}</format></get-schema>"
    assert session.outcome(content) == "application/invalid-value"


def test_f61_one_name_in_two_modules(session: Session) -> None:
    def names() -> dict[str | None, str | None]:
        data = session.ask(get_config())[0]
        return {etree.QName(one).namespace: one.text for one in data.iterfind(f"{{{T}}}top/{{*}}extra")}

    session.fill('<extra xmlns="urn:example:u">1</extra><extra xmlns="urn:example:v">2</extra>')
    session.ok(change('<extra xmlns="urn:example:v">3</extra>'))
    assert names() == {"urn:example:u": "1", "urn:example:v": "3"}
    session.ok(change('<extra xmlns="urn:example:u" nc:operation="delete"/>'))
    assert names() == {"urn:example:v": "3"}
    selected = session.ask(get_config(top('<extra xmlns="urn:example:v"/>')))[0]
    assert [one.tag for one in selected[0]] == ["{urn:example:v}extra"]
    assert session.ask(change("<extra>1</extra>"))[0].findtext(f"{N}error-tag") == "unknown-element"
