"""Section K: the operational datastore, and how datastores differ (RFC 8342, RFC 9144)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.agents import Agent, serving
from tests.conformance.nmda import ADDRESS, COMPARE, SECOND, SPACES, WANTED, compare, data, differences, get_data
from tests.conformance.session import Session, edit, top
from tests.system.client import device, enabled, qat

if TYPE_CHECKING:
    from pathlib import Path

# ── operational ──────────────────────────────────────────────────────────────────────────────────


def test_c235_what_the_system_made_is_in_operational_only(agent: Agent) -> None:
    session = agent.session()
    wanted = qat("<device><address/></device>")
    found = f"<acceleration><qat><device><address>{ADDRESS}</address></device></qat></acceleration>"
    assert data(session, get_data("operational", wanted=wanted)) == found
    for name in ("running", "candidate", "intended"):
        assert data(session, get_data(name, wanted=wanted)) == ""


def test_c235_a_device_that_dies_is_a_difference_of_intended_and_operational(agent: Agent) -> None:
    session = agent.session()
    session.ok(edit(enabled(more=device(ADDRESS, "<services>asym sym</services>"))), "<commit/>")
    wanted = qat("<enabled/><device><enabled/><services/></device>")
    meant = (
        f"<acceleration><qat><enabled>true</enabled><device><address>{ADDRESS}</address>"
        "<services>asym sym</services></device></qat></acceleration>"
    )
    assert data(session, get_data("intended", wanted=wanted)) == meant
    agent.gateway.run("etc/init.d/qat_service", "stop")
    assert data(session, get_data("intended", wanted=wanted)) == meant
    assert data(session, get_data("operational", "<with-origin/>", wanted=wanted)) == (
        '<acceleration origin="or:intended"><qat><enabled origin="or:system">false</enabled>'
        f'<device><address>{ADDRESS}</address><enabled origin="or:system">false</enabled></device>'
        "</qat></acceleration>"
    )


def test_c235_of_missing_hardware_only_its_state_is_there(tmp_path: Path) -> None:
    with serving(tmp_path / "g") as agent:
        session = agent.session()
        session.ok(edit(enabled(more=device(ADDRESS, "<services>asym sym</services>"))), "<commit/>")
        agent.gateway.stop()
        agent.hang_up()
        agent.gateway.build("c6xx@3f:00.0")
        agent.start()
        session = agent.session()
        wanted = qat("<device><enabled/><services/><oper-status/></device>")
        assert data(session, get_data("intended", wanted=wanted)) == (
            f"<acceleration><qat><device><address>{ADDRESS}</address><services>asym sym</services></device></qat>"
            "</acceleration>"
        )
        assert data(session, get_data("operational", "<with-origin/>", wanted=wanted)) == (
            f'<acceleration origin="or:intended"><qat><device><address>{ADDRESS}</address>'
            f'<oper-status>unknown</oper-status></device><device origin="or:system"><address>{SECOND}</address>'
            "<enabled>true</enabled><services>asym sym</services><oper-status>up</oper-status></device></qat>"
            "</acceleration>"
        )


# ── compare ──────────────────────────────────────────────────────────────────────────────────────


def test_c236_datastores_that_are_the_same_do_not_differ(session: Session) -> None:
    for source, target in (("running", "candidate"), ("running", "running"), ("candidate", "intended")):
        assert differences(session, compare(source, target)) == []


def test_c236_the_differences_are_edits_of_the_source(session: Session) -> None:
    session.fill("<name>old</name><item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>")
    gone = '<item nc:operation="delete"><id>b</id></item>'
    session.ok(edit(top(f"<name>new</name><mtu>100</mtu>{gone}<item><id>c/d</id></item>")))
    assert differences(session, compare("running", "candidate")) == [
        (
            "<operation>replace</operation><target>/t:top/name</target><value><name>new</name></value>"
            "<source-value><name>old</name></source-value>"
        ),
        "<operation>create</operation><target>/t:top/mtu</target><value><mtu>100</mtu></value>",
        (
            "<operation>delete</operation><target>/t:top/item=b</target>"
            "<source-value><item><id>b</id><v>2</v></item></source-value>"
        ),
        "<operation>create</operation><target>/t:top/item=c%2Fd</target><value><item><id>c/d</id></item></value>",
    ]
    assert len(differences(session, compare("candidate", "running"))) == 4


def test_c236_values_are_in_their_namespace(session: Session) -> None:
    session.ok(edit(top("<name>new</name><np><d>y</d></np>")))
    (found,) = session.ask(compare("running", "candidate"))
    value, _other = found.iter(f"{{{COMPARE}}}value")
    assert value[0].tag == "{urn:example:t}name"
    session.ok("<commit/>", edit(top("<np><d>z</d></np>")))
    (found,) = session.ask(compare("running", "candidate"))
    assert [element[0].tag for element in found.iter(f"{{{COMPARE}}}value")] == ["{urn:example:t}d"]


def test_c236_a_container_that_only_holds_is_not_deleted_with_what_a_filter_leaves(session: Session) -> None:
    session.fill("<name>n</name><mtu>100</mtu><np><d>y</d></np>")
    session.ok(edit(top('<mtu nc:operation="delete"/><np><d nc:operation="delete"/></np>')))
    wanted = f"<subtree-filter>{top('<mtu/><np/>')}</subtree-filter>"
    found = differences(session, compare("running", "candidate", wanted))
    assert [one.partition("</target>")[0] for one in found] == [
        "<operation>delete</operation><target>/t:top/mtu",
        "<operation>delete</operation><target>/t:top/np/d",
    ]


def test_c236_entries_in_their_users_order_are_inserted_and_moved(session: Session) -> None:
    session.fill("".join(f"<rule><id>{n}</id><act>x</act></rule>" for n in "abc"))
    y = 'xmlns:y="urn:ietf:params:xml:ns:yang:1"'
    session.ok(
        edit(top(f'<rule {y} y:insert="first"><id>c</id></rule>')),
        edit(
            top(
                f'<rule {y} y:insert="after" y:key="[t:id=\'a\']" xmlns:t="urn:example:t"><id>n</id><act>x</act></rule>'
            )
        ),
    )
    assert differences(session, compare("running", "candidate")) == [
        (
            "<operation>move</operation><target>/t:top/rule=c</target><where>first</where>"
            "<source-value><rule><id>c</id><act>x</act></rule></source-value>"
        ),
        (
            "<operation>insert</operation><target>/t:top/rule=n</target><point>/t:top/rule=a</point><where>after</where>"
            "<value><rule><id>n</id><act>x</act></rule></value>"
        ),
    ]


def test_c236_filters_narrow_both_sides(session: Session) -> None:
    session.ok(edit(top("<name>new</name><mtu>100</mtu>")))
    wanted = f"<subtree-filter>{top('<mtu/>')}</subtree-filter>"
    (one,) = differences(session, compare("running", "candidate", wanted))
    assert "<target>/t:top/mtu</target><value><mtu>100</mtu></value>" in one
    (one,) = differences(session, compare("running", "candidate", "<xpath-filter>//t:name</xpath-filter>"))
    assert "<target>/t:top/name</target><value><name>new</name></value>" in one
    assert differences(session, compare("running", "candidate", "<xpath-filter>//t:pair</xpath-filter>")) == []


def test_c236_operational_with_origins_and_state_where_all_is_asked_for(agent: Agent) -> None:
    session = agent.session()
    session.ok(edit(enabled(more=device(ADDRESS, ""))), "<commit/>")
    wanted = f"<subtree-filter>{WANTED}</subtree-filter>"
    assert differences(session, compare("intended", "operational", wanted)) == []
    agent.gateway.run("etc/init.d/qat_service", "stop")
    enabled_now = (
        "<operation>replace</operation><target>/hardware-acceleration:acceleration/qat/enabled</target>"
        "<value><enabled{}>false</enabled></value><source-value><enabled>true</enabled></source-value>"
    )
    found = differences(session, compare("intended", "operational", wanted))
    assert len(found) == 2
    assert found[0] == enabled_now.format("")
    assert "/device=0000%3A3d%3A00.0/enabled</target>" in found[1]
    found = differences(session, compare("intended", "operational", f"{wanted}<report-origin/>"))
    assert found[0] == enabled_now.format(' origin="or:system"')
    found = differences(session, compare("intended", "operational", f"{wanted}<all/>"))
    assert [one for one in found if "<operation>create</operation>" in one and "/active</target>" in one]


def test_c236_an_origin_that_is_inherited_is_reported_too(session: Session) -> None:
    session.fill("<np><d>old</d></np>")
    session.ok(edit(top("<np><d>new</d></np>")))
    wanted = f"<subtree-filter>{top('')}</subtree-filter><report-origin/>"
    assert differences(session, compare("operational", "candidate", wanted)) == [
        (
            "<operation>replace</operation><target>/t:top/np/d</target>"
            '<value><d>new</d></value><source-value><d origin="or:intended">old</d></source-value>'
        )
    ]


def test_c236_what_is_no_datastore_here_is_an_invalid_value(session: Session) -> None:
    assert session.outcome(compare("running", "startup")) == "protocol/invalid-value"
    assert "missing-element {bad-element=target}" in session.outcome(
        f'<compare xmlns="{COMPARE}" {SPACES}><source>ds:running</source></compare>'
    )
