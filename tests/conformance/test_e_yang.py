"""Section E: what YANG demands, in what order entries stand, actions and operations (RFC 7950)."""

from __future__ import annotations

import pytest

from tests.conformance.agents import E_MODULE, F_MODULE, Agent
from tests.conformance.session import Session, edit, refusals, top
from tests.system.client import HA, enabled

pytestmark = pytest.mark.usefixtures("agent")
AGENT_MODULES = (E_MODULE, F_MODULE)
COMMIT = "<commit/>"
VALIDATE = "<validate><source><candidate/></source></validate>"
YANG = "urn:ietf:params:xml:ns:yang:1"
RULES = top(
    "<rule><id>r1</id><act>a</act></rule><rule><id>r2</id><act>b</act></rule><rule><id>r3</id><act>c</act></rule>"
)
TWO = "/e:all/e:two[e:id='1']"


def every(content: str) -> str:
    """Return content of module e."""
    return f'<all xmlns="urn:example:e">{content}</all>'


def put(config: str) -> str:
    """Return an edit that checks nothing that the whole configuration has to fulfil."""
    return edit(config, options="<test-option>set</test-option>")


def refused(session: Session, config: str) -> str:
    """Put a configuration into candidate that validate and commit refuse alike, and return how."""
    session.ok(put(config))
    before = session.config(source="running")
    outcome = session.outcome(VALIDATE)
    assert session.outcome(COMMIT) == outcome
    assert session.config(source="running") == before
    return outcome


def order(session: Session, source: str = "candidate") -> list[str]:
    """Return the keys of module t's rules in their order."""
    reply = session.ask(f"<get-config><source><{source}/></source></get-config>")
    return [e.text or "" for e in reply.iterfind(".//{urn:example:t}rule/{urn:example:t}id")]


def move(attributes: str, key: str = "r3") -> str:
    """Return an edit that puts a rule somewhere."""
    return edit(top(f'<rule xmlns:y="{YANG}" {attributes}><id>{key}</id><act>c</act></rule>'))


def test_c118_what_is_not_unique_is_named_leaf_by_leaf(session: Session) -> None:
    entry = "<two><id>{}</id><a>same</a><in><b>same</b></in></two>"
    outcome = refused(session, every(entry.format(1) + entry.format(2)))
    kind, _, rest = outcome.partition(" ")
    assert kind == "application/operation-failed/data-not-unique"
    named = {f"non-unique=/e:all/e:two[e:id='{n}']/e:{leaf}" for n in "12" for leaf in ("a", "in/e:b")}
    assert set(rest[1 : rest.index("}")].split(",")) == named
    session.ok(edit(every("<two><id>2</id><a>other</a></two>")), COMMIT)
    without = "<two><id>{}</id><a>lonely</a></two>"  # an entry that lacks one of the leafs is not compared
    session.ok(edit(every(without.format(1) + without.format(3))).replace("<id>1", "<id>3", 1))
    session.ok(COMMIT)


def test_c119_too_many_elements_is_said_once_of_the_list(session: Session) -> None:
    entries = "".join(f"<two><id>{n}</id></two>" for n in range(5))
    assert refused(session, every(entries)) == "application/operation-failed/too-many-elements @/e:all/e:two"
    session.ok("<discard-changes/>")
    listed = every(
        "<some><least><id>1</id></least><least><id>2</id></least><few>1</few><few>2</few><few>3</few></some>"
    )
    assert refused(session, listed) == "application/operation-failed/too-many-elements @/e:all/e:some/e:few"


def test_c120_too_few_elements_is_said_once_of_the_list(session: Session) -> None:
    short = "application/operation-failed/too-few-elements @/e:all/e:some/e:least"
    assert refused(session, every("<some/>")) == short
    assert refused(session, every("<some><least><id>1</id></least></some>")) == short


def test_c121_a_false_must_has_its_own_words(session: Session) -> None:
    session.ok(put(top("<low>58</low><high>60</high>")))
    reply = session.ask(COMMIT)
    assert refusals(reply) == ["application/operation-failed/must-violation @/t:top/t:low"]
    assert reply.findtext(".//{*}error-message") == "low must be 5% under high"
    session.ok("<discard-changes/>", put(every("<checked>8</checked>")))
    reply = session.ask(VALIDATE)
    assert refusals(reply) == ["application/operation-failed/too-low @/e:all/e:checked"]
    assert reply.findtext(".//{*}error-message") == "must be over 10%"
    assert refused(session, every("<checked>13</checked>")) == (
        "application/operation-failed/must-violation @/e:all/e:checked"
    )
    # Each edit but with test-option set is checked at once.
    assert refusals(session.ask(edit(every("<checked>9</checked>")))) == [
        "application/operation-failed/too-low @/e:all/e:checked",
        "application/operation-failed/must-violation @/e:all/e:checked",
    ]


def test_c122_what_a_reference_names_must_be_there(session: Session) -> None:
    assert refused(session, top("<ref>gone</ref>")) == "application/data-missing/instance-required @/t:top/t:ref"
    session.ok("<discard-changes/>")
    target = every('<target xmlns:q="urn:example:t">/q:top/q:item[q:id="gone"]</target>')
    assert refused(session, target) == "application/data-missing/instance-required @/e:all/e:target"
    session.ok(edit(top("<item><id>gone</id></item>")), COMMIT)
    assert session.outcome(edit(top('<item nc:operation="delete"><id>gone</id></item>'))) == (
        "application/data-missing/instance-required @/e:all/e:target"
    )


def test_c123_a_choice_that_has_to_be_made_is_named(session: Session) -> None:
    assert refused(session, every("<picked/>")) == (
        "application/data-missing/missing-choice {missing-choice=pick} @/e:all/e:picked"
    )
    session.ok(edit(every("<picked><this/></picked>")), COMMIT)


@pytest.mark.parametrize("where", ["before", "after"])
def test_c124_an_entry_that_is_not_there_is_no_place(session: Session, where: str) -> None:
    session.fill(RULES[len(top("")) - len("</top>") : -len("</top>")])
    assert session.outcome(move(f"""y:insert="{where}" y:key="[t:id='zz']" xmlns:t="urn:example:t" """)) == (
        "application/bad-attribute/missing-instance {bad-attribute=key,bad-element=rule} @/t:top/t:rule[t:id='r3']"
    )
    assert session.outcome(edit(top(f'<ord y:insert="{where}" y:value="zz">a</ord>'))) == (
        "application/bad-attribute/missing-instance {bad-attribute=value,bad-element=ord} @/t:top/t:ord[.='a']"
    )
    assert order(session) == ["r1", "r2", "r3"]


def test_c125_candidate_may_lack_what_is_mandatory(session: Session) -> None:
    session.ok(edit(top("<rule><id>r1</id></rule>")))
    missing = "application/data-missing @/t:top/t:rule[t:id='r1']/t:act"
    assert session.outcome(VALIDATE) == missing
    assert session.outcome(COMMIT) == missing
    assert session.config(source="running") == ""
    session.ok(edit(top("<name>later</name>")))  # nor is a further edit held up
    session.ok(edit(top("<rule><id>r1</id><act>a</act></rule>")), COMMIT)


@pytest.mark.parametrize("operation", ["merge", "create", "replace"])
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('y:insert="first"', ["r4", "r1", "r2", "r3"]),
        ('y:insert="last"', ["r1", "r2", "r3", "r4"]),
        ("""y:insert="before" y:key="[id='r2']" """, ["r1", "r4", "r2", "r3"]),
        ("""y:insert="after" y:key="[id='r2']" """, ["r1", "r2", "r4", "r3"]),
        ("", ["r1", "r2", "r3", "r4"]),
    ],
)
def test_c126_an_entry_goes_where_it_is_put(
    session: Session, operation: str, attributes: str, expected: list[str]
) -> None:
    session.ok(
        edit(RULES),
        COMMIT,
        move(f'{attributes} nc:operation="{operation}"', "r4").replace(
            "<edit-config>", '<edit-config xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0">'
        ),
    )
    assert order(session) == expected
    session.ok(COMMIT)
    assert order(session, "running") == expected


def test_c126_an_entry_is_moved(session: Session) -> None:
    session.ok(edit(RULES), COMMIT, move('y:insert="first"'))
    assert order(session) == ["r3", "r1", "r2"]
    session.ok(move("""y:insert="after" y:key="[id='r1']" """))
    assert order(session) == ["r1", "r3", "r2"]
    session.ok(edit(top('<ord>a</ord><ord>b</ord><ord y:insert="before" y:value="b">c</ord>')))
    assert "<ord>a</ord><ord>c</ord><ord>b</ord>" in session.config()
    session.ok(edit(top('<ord y:insert="first">b</ord>')))
    assert "<ord>b</ord><ord>a</ord><ord>c</ord>" in session.config()


def test_c127_an_insert_needs_its_anchor_and_an_order(session: Session) -> None:
    session.ok(edit(RULES), COMMIT)
    at = "@/t:top/t:rule[t:id='r3']"
    bad = "application/bad-attribute {{bad-attribute={},bad-element={}}} {}"
    for attributes, name in (
        ('y:insert="before"', "key"),
        ('y:insert="after"', "key"),
        ("""y:insert="upside-down" """, "insert"),
        ("""y:key="[id='r1']" """, "key"),
        ("""y:insert="after" y:key="r1" """, "key"),
        ("""y:insert="after" y:key="[act='a']" """, "key"),
    ):
        assert session.outcome(move(attributes)) == bad.format(name, "rule", at), attributes
    unknown = "application/unknown-attribute {{bad-attribute={},bad-element={}}} @{}"
    assert session.outcome(move("""y:insert="after" y:value="r1" """)).startswith(
        "application/unknown-attribute {bad-attribute=value"
    )
    outcome = session.outcome(edit(top('<item y:insert="first"><id>a</id></item>')))
    assert outcome == unknown.format("insert", "item", "/t:top/t:item[t:id='a']")
    outcome = session.outcome(edit(top('<tag y:insert="first">a</tag>')))
    assert outcome == unknown.format("insert", "tag", "/t:top/t:tag[.='a']")
    outcome = session.outcome(edit(top('<ord y:insert="before">a</ord>')))
    assert outcome == bad.format("value", "ord", "@/t:top/t:ord[.='a']")
    assert order(session) == ["r1", "r2", "r3"]


def test_c128_prefixes_in_a_key_are_those_in_scope(session: Session) -> None:
    session.ok(edit(RULES), COMMIT)
    inner = """<rule y:insert="before" y:key="[q:id='r1']"><id>{}</id><act>n</act></rule>"""
    session.ok(edit(top(inner.format("r4"), 'xmlns:q="urn:example:t"')))
    assert order(session) == ["r4", "r1", "r2", "r3"]
    wrong = "application/bad-attribute {bad-attribute=key,bad-element=rule} @/t:top/t:rule[t:id='r5']"
    assert session.outcome(edit(top(inner.format("r5")))) == wrong
    assert session.outcome(edit(top(inner.format("r5"), 'xmlns:q="urn:example:u"'))) == wrong


def test_c129_the_users_order_is_kept(agent: Agent, session: Session) -> None:
    listed = "".join(f"<rule><id>{key}</id><act>a</act></rule>" for key in ("z", "a", "m"))
    session.ok(
        edit(RULES), COMMIT, edit(top(listed + "<ord>9</ord><ord>1</ord><ord>5</ord>", 'nc:operation="replace"'))
    )
    assert order(session) == ["z", "a", "m"]
    session.ok(COMMIT)
    agent.restart()
    again = agent.session()
    assert order(again, "running") == ["z", "a", "m"]
    assert again.config(source="running").endswith("<ord>9</ord><ord>1</ord><ord>5</ord></top>")
    reply = again.ask("<get/>")
    assert [e.text for e in reply.iterfind(".//{urn:example:t}rule/{urn:example:t}id")] == ["z", "a", "m"]


def act(content: str) -> str:
    """Return an action request."""
    return f'<action xmlns="{YANG}">{content}</action>'


def test_c130_an_action_that_is_not_carried_out_is_not_supported(session: Session) -> None:
    session.ok(edit(every("<two><id>1</id></two>")), COMMIT)
    asked = act(every("<two><id>1</id><reset><hard>true</hard></reset></two>"))
    assert session.outcome(asked) == "application/operation-not-supported @/e:all/e:two[e:id='1']/e:reset"


def test_c131_an_action_request_has_one_action(session: Session) -> None:
    session.ok(edit(every("<two><id>1</id></two>")), COMMIT)
    for content in (
        "",
        every("<two><id>1</id></two>"),
        every("<two><id>1</id><reset><hard>true</hard></reset><reset><hard>true</hard></reset></two>"),
        every("<two><id>1</id><reset><hard>true</hard></reset></two><two><id>2</id><reset/></two>"),
        every("<two><id>1</id><reset><hard>true</hard></reset></two>") * 2,
    ):
        assert session.outcome(act(content)).startswith("application/bad-element {bad-element="), content
    assert session.outcome(act('<all xmlns="urn:no"/>')).startswith("application/unknown-namespace {bad-element=all")
    assert session.outcome(act(every("<two><id>1</id><no/></two>"))).startswith(
        "application/unknown-element {bad-element=no}"
    )


def test_c132_an_action_needs_its_instance(session: Session) -> None:
    asked = act(every("<two><id>9</id><reset><hard>true</hard></reset></two>"))
    assert session.outcome(asked) == "application/data-missing @/e:all/e:two[e:id='9']"
    asked = act(every("<two><reset><hard>true</hard></reset></two>"))
    assert session.outcome(asked).startswith("application/missing-element {bad-element=id}")


def test_c133_the_input_of_an_operation_is_checked(session: Session) -> None:
    ping = '<ping xmlns="urn:example:t">{}</ping>'
    assert session.outcome(ping.format("")) == "application/missing-element {bad-element=host} @/t:ping/t:host"
    assert (
        session.outcome(ping.format("<host>h</host><no/>")) == "application/unknown-element {bad-element=no} @/t:ping"
    )
    echo = '<echo xmlns="urn:example:e">{}</echo>'
    assert (
        session.outcome(echo.format("<text>t</text><times>256</times>")) == "application/invalid-value @/e:echo/e:times"
    )
    plan = f'<plan xmlns="{HA}">{{}}</plan>'
    assert session.outcome(plan.format("<source>nowhere</source>")).startswith("application/invalid-value")
    # What is asked for rightly is refused because this agent does not do it.
    assert session.outcome(ping.format("<host>h</host>")) == "protocol/operation-not-supported"


def test_c134_a_default_of_the_input_is_applied(session: Session) -> None:
    plan = f'<plan xmlns="{HA}">{{}}</plan>'
    session.ok(edit(enabled()))
    changes = {}
    for asked in ("", "<source>candidate</source>", "<source>running</source>"):
        reply = session.ask(plan.format(asked))
        changes[asked] = reply.findtext(f"{{{HA}}}changes-machine")
    assert changes == {"": "true", "<source>candidate</source>": "true", "<source>running</source>": "false"}
