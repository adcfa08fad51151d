"""Section K: the operations on NMDA's datastores (RFC 8526)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.agents import Agent, lock, serving
from tests.conformance.nmda import ADDRESS, NMDA, SPACES, WANTED, data, edit_data, get_data, named
from tests.conformance.session import Session, edit, get_config, top
from tests.system.client import device, enabled

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """Return an agent whose running is edited directly, and whose configuration survives as startup."""
    settings = "[datastore]\nwritable-running = true\npersistence = 'startup'\n"
    with serving(tmp_path_factory.mktemp("writable"), settings=settings) as own:
        yield own


# ── get-data ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("datastore", ["startup", "conventional", "dynamic"])
def test_c228_a_datastore_that_is_not_there_is_an_invalid_value(session: Session, datastore: str) -> None:
    assert session.outcome(get_data(datastore)) == "protocol/invalid-value"


def test_c228_what_is_no_datastore_at_all_is_an_invalid_value(session: Session) -> None:
    assert session.outcome(get_data("nowhere")) == "application/invalid-value @/ncds:get-data/ncds:datastore"


def test_c228_a_datastore_has_to_be_named(session: Session) -> None:
    outcome = session.outcome(f'<get-data xmlns="{NMDA}"/>')
    assert outcome == "application/missing-element {bad-element=datastore} @/ncds:get-data/ncds:datastore"


def test_c228_those_that_are_there_are_in_the_library(session: Session) -> None:
    library = '<yang-library xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-library"><datastore/></yang-library>'
    found = session.data(f"<get><filter>{library}</filter></get>")
    names = ("running", "candidate", "intended", "operational")
    for name in names:
        assert f"<name>ds:{name}</name>" in found
        assert data(session, get_data(name, wanted=top("<pres/>"))) == ""
    assert found.count("<name>") == len(names)


def test_c228_startup_where_it_is_there(writable: Agent) -> None:
    session = writable.session()
    assert data(session, get_data("startup", wanted=top("<pres/>"))) == ""
    writable.clear()


def test_c229_only_operational_has_origins(session: Session) -> None:
    for name in ("running", "candidate", "intended"):
        assert session.outcome(get_data(name, "<with-origin/>")) == "protocol/invalid-value"
        for kind in ("origin-filter", "negated-origin-filter"):
            outcome = session.outcome(get_data(name, f"<{kind}>or:intended</{kind}>"))
            assert outcome == "protocol/invalid-value", kind


def test_c229_operational_has_the_values_in_use_whatever_the_default(session: Session) -> None:
    assert session.outcome(get_data("operational", "<with-defaults>trim</with-defaults>")) == "protocol/invalid-value"
    assert "<mtu>1500</mtu>" in data(session, get_data("operational", wanted=top("<mtu/>")))


def test_c229_the_others_have_defaults_as_they_are_asked_for(session: Session) -> None:
    for name in ("running", "candidate", "intended"):
        assert data(session, get_data(name, wanted=top("<mtu/>"))) == ""
        found = data(session, get_data(name, "<with-defaults>report-all</with-defaults>", wanted=top("<mtu/>")))
        assert found == "<top><mtu>1500</mtu></top>"


def test_c230_config_filter(agent: Agent) -> None:
    session = agent.session()
    session.ok(edit(enabled(more=device(ADDRESS, ""))), "<commit/>")
    configuration = data(session, get_data("operational", "<config-filter>true</config-filter>", wanted=WANTED))
    assert configuration == (
        "<acceleration><qat><enabled>true</enabled><health><interval>10</interval></health>"
        f"<device><address>{ADDRESS}</address><enabled>true</enabled></device></qat></acceleration>"
    )
    state = data(session, get_data("operational", "<config-filter>false</config-filter>", wanted=WANTED))
    assert state == (
        f"<acceleration><qat><device><address>{ADDRESS}</address><oper-status>up</oper-status></device>"
        "<active>true</active></qat></acceleration>"
    )
    assert data(session, get_data("running", "<config-filter>false</config-filter>")) == ""


@pytest.mark.parametrize(
    ("depth", "found"),
    [
        ("1", "<top><item><id>a</id></item></top>"),
        ("2", "<top><item><id>a</id><v>1</v></item></top>"),
        ("unbounded", "<top><item><id>a</id><v>1</v></item></top>"),
    ],
)
def test_c230_max_depth_counts_from_what_is_selected(session: Session, depth: str, found: str) -> None:
    session.ok(edit(top("<name>n</name><item><id>a</id><v>1</v></item>")))
    asked = f"<max-depth>{depth}</max-depth>"
    assert data(session, get_data("candidate", asked, wanted=top("<item/>"))) == found
    expression = "<xpath-filter>/t:top/t:item[t:v + 1 = 2]</xpath-filter>"
    assert data(session, get_data("candidate", asked + expression)) == found


def test_c230_max_depth_without_a_filter_counts_from_the_top(session: Session) -> None:
    session.ok(edit(top("<name>n</name><item><id>a</id><v>1</v></item>")))
    assert data(session, get_data("candidate", "<max-depth>1</max-depth>")) == "<top/>"
    assert data(session, get_data("candidate", "<max-depth>2</max-depth>")) == (
        "<top><name>n</name><item><id>a</id></item></top>"
    )


@pytest.mark.parametrize("depth", ["0", "65536", "-1", "deep"])
def test_c230_max_depth_is_in_its_range(session: Session, depth: str) -> None:
    assert "invalid-value" in session.outcome(get_data("running", f"<max-depth>{depth}</max-depth>"))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("<origin-filter>or:intended</origin-filter>", {"enabled"}),
        ("<origin-filter>or:default</origin-filter>", {"interval"}),
        ("<origin-filter>or:system</origin-filter>", {"device"}),
        ("<origin-filter>or:system</origin-filter><origin-filter>or:default</origin-filter>", {"device", "interval"}),
        ("<negated-origin-filter>or:system</negated-origin-filter>", {"enabled", "interval"}),
        (
            (
                "<negated-origin-filter>or:system</negated-origin-filter>"
                "<negated-origin-filter>or:default</negated-origin-filter>"
            ),
            {"enabled"},
        ),
    ],
)
def test_c230_origin_filters_narrow_configuration(agent: Agent, asked: str, found: set[str]) -> None:
    session = agent.session()
    session.ok(edit(enabled()), "<commit/>")
    only = f"{asked}<config-filter>true</config-filter>"
    tags = etree.fromstring(f"<data>{data(session, get_data('operational', only, wanted=WANTED))}</data>")
    names = {
        "enabled": "acceleration/qat/enabled",
        "interval": "acceleration//interval",
        "device": "acceleration//device",
    }
    assert {name for name, path in names.items() if tags.find(path) is not None} == found
    # State is not filtered by origins.
    assert "<active>true</active>" in data(session, get_data("operational", asked, wanted=WANTED))


def test_c230_an_origin_filter_names_an_origin(session: Session) -> None:
    outcome = session.outcome(get_data("operational", "<origin-filter>or:thin-air</origin-filter>"))
    assert outcome == "application/invalid-value @/ncds:get-data/ncds:origin-filter"


def test_c230_two_filters_of_one_choice_exclude_each_other(session: Session) -> None:
    more = "<xpath-filter>/t:top</xpath-filter>"
    outcome = session.outcome(get_data("running", more, wanted=top("<name/>")))
    assert outcome == "application/bad-element {bad-element=xpath-filter} @/ncds:get-data/ncds:xpath-filter"


@pytest.mark.parametrize("expression", ["count(/t:top)", "1 + 1", "/t:top/t:name = 'n'", "string(/t:top)", "///"])
def test_c231_an_expression_that_gives_no_nodes_fails(session: Session, expression: str) -> None:
    outcome = session.outcome(get_data("running", f"<xpath-filter>{expression}</xpath-filter>"))
    assert "invalid-value" in outcome


def test_c231_one_that_gives_nodes_selects_them(session: Session) -> None:
    session.ok(edit(top("<name>n</name><item><id>a</id><v>1</v></item>")))
    for expression in ("/t:top/t:name | //t:v", "/t:top/*[. = 'n'] | /t:top/t:item/t:v"):
        found = data(session, get_data("candidate", f"<xpath-filter>{expression}</xpath-filter>"))
        assert found == "<top><name>n</name><item><id>a</id><v>1</v></item></top>"


def test_c231_prefixes_are_those_of_the_filter_element(session: Session) -> None:
    session.ok(edit(top("<name>n</name>")))
    found = data(session, get_data("candidate", '<xpath-filter xmlns:x="urn:example:t">//x:name</xpath-filter>'))
    assert found == "<top><name>n</name></top>"


def test_c232_origins_stand_at_the_top_and_where_they_differ(agent: Agent) -> None:
    session = agent.session()
    session.ok(edit(enabled()), "<commit/>")
    assert data(session, get_data("operational", "<with-origin/>", wanted=WANTED)) == (
        '<acceleration origin="or:intended"><qat><enabled>true</enabled>'
        '<health origin="or:default"><interval>10</interval></health>'
        f'<device origin="or:system"><address>{ADDRESS}</address><enabled>true</enabled><oper-status>up</oper-status>'
        "</device><active>true</active></qat></acceleration>"
    )
    assert "origin" not in data(session, get_data("operational", wanted=WANTED))


def test_c232_every_top_level_configuration_node_has_an_origin(agent: Agent) -> None:
    session = agent.session()
    session.ok(edit(top("<name>n</name>")), "<commit/>")
    (found,) = session.ask(get_data("operational", "<with-origin/><config-filter>true</config-filter>"))
    origins = {etree.QName(child).localname: list(child.attrib.values()) for child in found}
    assert origins["top"] == ["or:intended"]
    assert origins["acceleration"] == ["or:default"]
    assert all(origins.values())
    (found,) = session.ask(get_data("operational", "<with-origin/><config-filter>false</config-filter>"))
    state = found.find("{urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring}netconf-state")
    assert state is not None
    assert not any(element.attrib for element in state.iter())


# ── edit-data ────────────────────────────────────────────────────────────────────────────────────


def test_c233_candidate_is_edited(session: Session) -> None:
    session.ok(edit_data("candidate", top("<name>n</name>")))
    assert session.config() == "<top><name>n</name></top>"
    session.ok(edit_data("candidate", top("<mtu>100</mtu>"), "<default-operation>replace</default-operation>"))
    assert session.config() == "<top><mtu>100</mtu></top>"
    created = '<name xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="create">m</name>'
    session.ok(edit_data("candidate", top(created), "<default-operation>none</default-operation>"))
    assert session.config() == "<top><name>m</name><mtu>100</mtu></top>"


def test_c233_an_edit_that_fails_leaves_nothing_behind(session: Session) -> None:
    session.ok(edit_data("candidate", top("<name>n</name>")))
    wrong = '<pair xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="delete"><a>1</a><b>2</b></pair>'
    assert "data-missing" in session.outcome(edit_data("candidate", top(f"<name>m</name>{wrong}")))
    assert "invalid-value" in session.outcome(edit_data("candidate", top("<name>m</name><mtu>1</mtu>")))
    assert session.config() == "<top><name>n</name></top>"


@pytest.mark.parametrize("datastore", ["running", "intended", "operational", "startup", "conventional"])
def test_c233_a_datastore_that_is_not_writable_is_an_invalid_value(session: Session, datastore: str) -> None:
    assert session.outcome(edit_data(datastore, top("<name>n</name>"))) == "protocol/invalid-value"
    assert session.config(source="running") == ""


def test_c233_running_is_edited_where_it_is_writable(writable: Agent) -> None:
    session = writable.session()
    session.ok(edit_data("running", top("<name>n</name>")))
    assert session.config(top("<name/>"), source="running") == "<top><name>n</name></top>"
    assert "invalid-value" in session.outcome(edit_data("running", top("<name>m</name><mtu>1</mtu>")))
    assert session.config(top("<name/>"), source="running") == "<top><name>n</name></top>"
    assert session.outcome(edit_data("startup", top("<name>n</name>"))) == "protocol/invalid-value"
    writable.clear()


def test_c233_a_lock_of_another_session_holds(agent: Agent, other: Session) -> None:
    other.ok(lock("candidate"))
    assert agent.session().outcome(edit_data("candidate", top("<name>n</name>"))) == "protocol/in-use"


def test_c233_content_has_to_be_there_and_inline(session: Session) -> None:
    asked = f'<edit-data xmlns="{NMDA}" {SPACES}><datastore>ds:candidate</datastore>{{}}</edit-data>'
    assert session.outcome(asked.format("")) == "protocol/missing-element {bad-element=config}"
    assert "unknown-element {bad-element=url}" in session.outcome(asked.format("<url>file:///x</url>"))


# ── lock, unlock, validate ───────────────────────────────────────────────────────────────────────


def test_c234_locks_take_a_datastore_by_its_identity(agent: Agent, other: Session) -> None:
    session = agent.session()
    for name in ("running", "candidate"):
        session.ok(named("lock", name))
        assert other.outcome(lock(name)) == f"protocol/lock-denied {{session-id={session.id}}}"
        session.ok(named("unlock", name))
        other.ok(lock(name))


@pytest.mark.parametrize("operation", ["lock", "unlock"])
@pytest.mark.parametrize("datastore", ["operational", "intended", "startup", "dynamic", "nowhere"])
def test_c234_what_can_not_be_locked_is_an_invalid_value(session: Session, operation: str, datastore: str) -> None:
    assert session.outcome(named(operation, datastore)) == "protocol/invalid-value"


def test_c234_configuration_is_validated_by_its_identity(session: Session) -> None:
    session.ok(
        edit(
            top("<item><id>a</id><v>1</v></item><item><id>b</id><v>1</v></item>"),
            options="<test-option>set</test-option>",
        )
    )
    assert "data-not-unique" in session.outcome(named("validate", "candidate", parameter="source"))
    session.ok(named("validate", "running", parameter="source"), named("validate", "intended", parameter="source"))
    for name in ("operational", "startup", "nowhere"):
        assert session.outcome(named("validate", name, parameter="source")) == "protocol/invalid-value"


def test_c234_other_operations_have_no_such_leaf(session: Session) -> None:
    leaf = f'<datastore xmlns="{NMDA}" {SPACES}>ds:running</datastore>'
    assert "unknown-namespace" in session.outcome(get_config().replace("<candidate/>", leaf))
