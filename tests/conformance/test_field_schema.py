"""Field cases of YANG's edges, schemas and monitoring: F53 to F61, F103 to F109."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.agents import E_MODULE, F_MODULE, MODULES, NEWER, OLDER, SHARED, Agent, serving
from tests.conformance.memory import memory
from tests.conformance.session import Session, chunked, edit, rpc, top
from tests.system.client import MONITORING
from tests.system.gateway import T_MODULE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("agent")
AGENT_MODULES = (E_MODULE, F_MODULE)
M = f"{{{MONITORING}}}"
COMMIT = "<commit/>"
RULES = top("<rule><id>r1</id><act>a</act></rule><rule><id>r2</id><act>b</act></rule>")
E = "urn:example:e"


def every(content: str) -> str:
    """Return content of module e."""
    return f'<all xmlns="{E}">{content}</all>'


def rules(session: Session) -> list[str]:
    """Return the keys of the rules."""
    reply = session.ask("<get-config><source><candidate/></source></get-config>")
    return [e.text or "" for e in reply.iterfind(".//{urn:example:t}rule/{urn:example:t}id")]


def put(attributes: str, key: str) -> str:
    """Return an edit that puts a rule somewhere."""
    return edit(top(f"<rule {attributes}><id>{key}</id></rule>"))


@pytest.mark.parametrize("where", ["before", "after"])
def test_f53_an_entry_beside_itself_stays(session: Session, where: str) -> None:
    session.ok(edit(RULES))
    for key in ("r1", "r2"):
        session.ok(put(f"""y:insert="{where}" y:key="[id='{key}']" """, key))
        assert rules(session) == ["r1", "r2"]
    session.ok(edit(top("<ord>a</ord><ord>b</ord>")), edit(top(f'<ord y:insert="{where}" y:value="a">a</ord>')))
    assert session.config().endswith("<ord>a</ord><ord>b</ord></top>")
    missing = (
        "application/bad-attribute/missing-instance {bad-attribute=key,bad-element=rule} @/t:top/t:rule[t:id='new']"
    )
    assert session.outcome(put(f"""y:insert="{where}" y:key="[id='new']" """, "new")) == missing


def test_f55_an_anchor_that_is_not_there_costs_no_memory(agent: Agent, session: Session) -> None:
    session.ok(edit(RULES))
    request = put("""y:insert="after" y:key="[t:id='zz']" xmlns:t="urn:example:t" """, "r1")
    expected = (
        "application/bad-attribute/missing-instance {bad-attribute=key,bad-element=rule} @/t:top/t:rule[t:id='r1']"
    )
    for _ in range(1000):
        assert session.outcome(request) == expected
    before = memory(agent.gateway.pid)
    for _ in range(5000):
        assert session.outcome(request) == expected
    assert memory(agent.gateway.pid) - before < 4 * 1024 * 1024
    assert rules(session) == ["r1", "r2"]


def test_f57_a_prefix_in_a_key_may_be_declared_anywhere_above(session: Session) -> None:
    session.ok(edit(RULES))
    request = put("""y:insert="before" y:key="[q:id='r1']" """, "r2")
    session.ok(request.replace("<edit-config>", '<edit-config xmlns:q="urn:example:t">'))
    assert rules(session) == ["r2", "r1"]
    session.ok(put("""xmlns:q="urn:example:t" y:insert="after" y:key="[ q:id = &quot;r1&quot; ]" """, "r2"))
    assert rules(session) == ["r1", "r2"]
    assert session.outcome(request).startswith("application/bad-attribute {bad-attribute=key")


@pytest.mark.parametrize("value", ["yang", "x:yang", " yang "])
def test_f59_the_format_is_taken_with_a_prefix_or_without(session: Session, value: str) -> None:
    form = f'<format xmlns:x="{MONITORING}">{value}</format>'
    (data,) = session.ask(f'<get-schema xmlns="{MONITORING}"><identifier>t</identifier>{form}</get-schema>')
    assert data.text == T_MODULE.read_text()


@pytest.mark.parametrize(
    ("value", "stored"), [("k1", None), ("t:k1", "k1"), ("z:k1", "k1"), ("7", "7"), ("unlimited", "unlimited")]
)
def test_f59_a_value_of_a_union_has_any_prefix(session: Session, value: str, stored: str | None) -> None:
    request = edit(every(f'<mixed xmlns:t="urn:example:t" xmlns:z="urn:example:t">{value}</mixed>'))
    if stored is None:
        assert session.outcome(request) == "application/invalid-value @/e:all/e:mixed"
        return
    session.ok(request, COMMIT)
    reply = session.ask("<get-config><source><running/></source></get-config>")
    found = reply.find(f".//{{{E}}}mixed")
    assert found is not None
    prefix, _colon, name = (found.text or "").rpartition(":")
    assert name == stored
    assert not prefix or found.nsmap[prefix] == "urn:example:t"


def test_f61_leafs_of_one_name_are_told_apart(session: Session) -> None:
    both = '<x xmlns="urn:example:e">of e</x><x xmlns="urn:example:f">of f</x>'
    session.ok(edit(top(both)), COMMIT)
    session.ok(edit(top('<x xmlns="urn:example:e" nc:operation="delete"/>')), COMMIT)
    reply = session.ask("<get-config><source><running/></source></get-config>")
    assert [(e.tag, e.text) for e in reply.iter("{*}x")] == [("{urn:example:f}x", "of f")]
    narrowed = '<filter><top xmlns="urn:example:t"><x xmlns="urn:example:e"/></top></filter>'
    reply = session.ask(f"<get-config><source><running/></source>{narrowed}</get-config>")
    assert reply.find(".//{*}x") is None
    assert session.outcome(edit(top("<x>of t</x>"))) == "application/unknown-element {bad-element=x} @/t:top"


def test_deviations_hold(session: Session) -> None:
    assert session.outcome(edit(every("<dropped>d</dropped>"))) == (
        "application/unknown-element {bad-element=dropped} @/e:all"
    )
    assert session.outcome(edit(every("<narrowed>6</narrowed>"))) == "application/invalid-value @/e:all/e:narrowed"
    session.ok(edit(every("<narrowed>5</narrowed>")), COMMIT)


def test_features_decide_what_is_there(session: Session) -> None:
    session.ok(edit(every("<featured>f</featured>")), COMMIT)
    assert session.outcome(edit(every("<unfeatured>f</unfeatured>"))) == (
        "application/unknown-element {bad-element=unfeatured} @/e:all"
    )


def test_a_when_decides_what_is_there(session: Session) -> None:
    refused = "application/unknown-element {bad-element=only-x} @/e:all/e:only-x"
    assert session.outcome(edit(every("<only-x>o</only-x>"))) == refused
    session.ok(edit(every("<only-x>o</only-x><kind>x</kind>")), COMMIT)
    assert session.outcome(edit(every("<only-x>p</only-x><kind>y</kind>"))) == refused
    session.ok(edit(every("<kind>y</kind>")), COMMIT)
    assert session.config(source="running") == "<all><kind>y</kind></all>"


def test_a_submodules_nodes_are_its_modules(session: Session) -> None:
    session.ok(edit('<part xmlns="urn:example:e"><p>text</p></part>'), COMMIT)
    assert session.config(source="running") == "<part><p>text</p></part>"


@pytest.mark.parametrize(
    "content",
    [
        '<any><free xmlns="urn:free"><b c="d">a</b></free></any>',
        '<any><f:free xmlns:f="urn:free"><f:x/></f:free></any>',
        '<xml><free xmlns="urn:free">text &amp; more</free></xml>',
    ],
)
def test_anything_is_kept_as_it_is(agent: Agent, session: Session, content: str) -> None:
    session.ok(edit(every(content)), COMMIT)

    def stored(one: Session) -> bytes:
        found = one.ask("<get-config><source><running/></source></get-config>").find(".//{urn:free}free")
        assert found is not None
        return etree.tostring(found, method="c14n", exclusive=True)

    sent = etree.fromstring(f"<r>{content}</r>")[0][0]
    assert stored(session) == etree.tostring(sent, method="c14n", exclusive=True)
    agent.restart()
    assert stored(agent.session()) == etree.tostring(sent, method="c14n", exclusive=True)


def test_anydata_has_no_mixed_content(session: Session) -> None:
    mixed = every('<any><free xmlns="urn:free">text<b/>more</free></any>')
    assert session.outcome(edit(mixed)) == "application/invalid-value @/e:all/e:any"


def test_f103_submodules_are_listed_and_served(session: Session) -> None:
    reply = session.ask(f'<get><filter><netconf-state xmlns="{MONITORING}"><schemas/></netconf-state></filter></get>')
    listed = {e.findtext(f"{M}identifier"): e.findtext(f"{M}version") for e in reply.iter(f"{M}schema")}
    assert listed["e-part"] == "2026-11-29"
    for version in ("", "<version/>", "<version>2026-11-29</version>"):
        (data,) = session.ask(f'<get-schema xmlns="{MONITORING}"><identifier>e-part</identifier>{version}</get-schema>')
        assert data.text == (MODULES / "e-part.yang").read_text()


def test_f105_each_of_two_revisions_is_itself(tmp_path: Path) -> None:
    with serving(tmp_path / "g", OLDER, NEWER) as served:
        session = served.session()
        wanted = f'<get-schema xmlns="{MONITORING}"><identifier>shared</identifier>'
        assert session.outcome(f"{wanted}</get-schema>") == "application/operation-failed/data-not-unique"
        for path in SHARED:
            (data,) = session.ask(f"{wanted}<version>{path.stem.partition('@')[2]}</version></get-schema>")
            assert data.text == path.read_text()
        for name, right, wrong, leaf in (("older", "abc", "123", "letters"), ("newer", "123", "abc", "digits")):
            config = f'<{name} xmlns="urn:example:{name}"><word>%s</word><{leaf}>{right}</{leaf}></{name}>'
            session.ok(edit(config % right), COMMIT)
            assert session.outcome(edit(config % wrong)) == f"application/invalid-value @/{name}:{name}/{name}:word"


def test_f107_a_schema_is_escaped_once(session: Session) -> None:
    request = f'<get-schema xmlns="{MONITORING}"><identifier>e-part</identifier></get-schema>'
    session.send(chunked(rpc(request)))
    reply = session.reply_bytes()
    assert b"&lt;, &amp; and ]]&gt; stand in its text" in reply
    assert b"&amp;lt;" not in reply
    assert b"CDATA" not in reply


def test_f109_schemas_hold_nothing_foreign(session: Session) -> None:
    reply = session.ask(f'<get><filter><netconf-state xmlns="{MONITORING}"/></filter></get>')
    state = reply.find(f".//{M}netconf-state")
    assert state is not None
    assert {etree.QName(e).namespace for e in state.iter()} == {MONITORING}
