"""Section J: subscriptions to datastores, periodic and on change (RFC 8641)."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.conformance.access import Guarded, deny, path, rules
from tests.conformance.agents import Agent, confirmed
from tests.conformance.memory import memory
from tests.conformance.session import Session, edit, top
from tests.conformance.subscriptions import (
    FAILED,
    FLOWS,
    MODULES,
    ON_CHANGE,
    RUNNING,
    SN,
    YP,
    begin,
    edits,
    establish,
    expression,
    hear,
    heard,
    named,
    periodic,
    push,
    quiet,
    refused,
    state,
)
from tests.system.client import qat

pytestmark = pytest.mark.usefixtures("agent")


def test_c226_periodic_updates_begin_at_once(session: Session) -> None:
    number = begin(session, push("operational", periodic(10), qat("<configured/>")))
    for _ in range(4):
        assert heard(session) == (
            f"push-update <id>{number}</id><datastore-contents><acceleration><qat><configured>false</configured></qat>"
            "</acceleration></datastore-contents>"
        )


def test_c226_an_anchor_time_says_when(agent: Agent) -> None:
    fractions = []
    for anchor in (0.75, 0.25):
        session = agent.session()
        begin(session, push("running", periodic(100, f"2020-01-01T00:00:0{anchor}Z")))
        hear(session)
        times = [datetime.fromisoformat(session.reply()[0].text or "") for _ in range(3)]
        late = [(time.microsecond / 1e6 - anchor) % 1 for time in times]
        fractions += [min(behind, 1 - behind) for behind in late]
    assert max(fractions) < 0.25, fractions


def test_c226_a_commit_of_fifty_edits_is_one_update(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.fill("<name>old</name>")
    number = begin(session, push("running", ON_CHANGE, top("")))
    assert "<name>old</name>" in heard(session)
    items = "".join(f"<item><id>{n}</id><need>n</need></item>" for n in range(48))
    other.ok(edit(top(f"<name>new</name><mtu>1400</mtu>{items}")), "<commit/>")
    update = hear(session)
    assert update.findtext(f"{{{YP}}}id") == str(number)
    assert sorted(edits(update)) == sorted(
        [
            "replace /t:top/name <name>new</name>",
            "create /t:top/mtu <mtu>1400</mtu>",
            *(f"create /t:top/item={n} <item><id>{n}</id><need>n</need></item>" for n in range(48)),
        ]
    )
    other.ok("<commit/>")
    quiet(session)


def test_c226_an_undone_confirmed_commit_is_a_change_too(agent: Agent, session: Session) -> None:
    begin(session, push("intended", ON_CHANGE, top("")))
    hear(session)
    other = agent.session()
    other.ok(edit(top("<name>x</name>")), confirmed(), "<cancel-commit/>")
    assert edits(hear(session)) == ["create /t:top/name <name>x</name>"]
    assert edits(hear(session)) == ["delete /t:top/name"]


def test_c226_filters_that_match_nothing_are_valid(agent: Agent, session: Session) -> None:
    number = begin(session, push("running", periodic(10), '<nowhere xmlns="urn:example:nowhere"/>'))
    for _ in range(2):
        assert heard(session) == f"push-update <id>{number}</id><datastore-contents/>"
    begin(other := agent.session(), push("running", ON_CHANGE, qat("<enabled/>")))
    assert heard(other).endswith("<datastore-contents/>")
    agent.session().fill("<name>x</name>")
    quiet(other)


def test_c226_updates_are_what_the_user_may_read_now(gate: Guarded) -> None:
    content = top("<name>x</name><secret>s</secret><mtu>1400</mtu>")
    gate.configure(rules("l", deny(path("/e:top/e:secret"))), content=content)
    ada = gate.user()
    begin(ada, push("running", ON_CHANGE, top("")))
    assert heard(ada).endswith("<datastore-contents><top><name>x</name><mtu>1400</mtu></top></datastore-contents>")
    gate.configure(rules("l", deny(path("/e:top/e:name"))), content=content)
    assert sorted(edits(hear(ada))) == ["create /t:top/secret <secret>s</secret>", "delete /t:top/name"]
    begin(ada, push("operational", periodic(10), FLOWS))
    assert "<flows>" not in heard(ada)


def test_c226_an_expression_selects(agent: Agent, session: Session) -> None:
    agent.session().fill("<item><id>1</id><need>ab</need></item><item><id>2</id><need>bb</need></item>")
    selected = "<yp:datastore-xpath-filter>/t:top/t:item[starts-with(t:need, 'b')]/t:need</yp:datastore-xpath-filter>"
    begin(session, establish(f"{RUNNING}{selected}{ON_CHANGE}"))
    assert "<datastore-contents><top><item><id>2</id><need>bb</need></item></top></datastore-contents>" in heard(
        session
    )
    agent.session().ok(edit(top("<item><id>1</id><need>bc</need></item>")), "<commit/>")
    assert edits(hear(session)) == ["create /t:top/item=1 <item><id>1</id><need>bc</need></item>"]


def test_c226_a_configured_expression_keeps_its_prefixes(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.fill("<name>x</name><mtu>1400</mtu>")
    other.ok(expression("datastore", "urn:example:t", "/own:top/own:name[. != 'y']"), "<commit/>")
    number = begin(session, establish(f"{RUNNING}<yp:selection-filter-ref>f</yp:selection-filter-ref>{ON_CHANGE}"))
    assert heard(session).endswith("<datastore-contents><top><name>x</name></top></datastore-contents>")
    other.ok(edit(top("<name>z</name>")), "<commit/>")
    assert edits(hear(session)) == ["replace /t:top/name <name>z</name>"]
    other.ok(expression("datastore", "urn:example:t", "//own:mtu[1]"), "<commit/>")
    assert heard(session).startswith(f"subscription-modified <id>{number}</id>")
    assert heard(session).endswith("<datastore-contents><top><mtu>1400</mtu></top></datastore-contents>")
    other.ok(expression("datastore", "urn:example:t", "", "delete"), "<commit/>")
    assert heard(session) == f"subscription-terminated <id>{number}</id><reason>sn:filter-unavailable</reason>"


def test_c226_a_listed_expression_declares_its_prefixes(agent: Agent, session: Session) -> None:
    selected = '<yp:datastore-xpath-filter xmlns:own="urn:example:t">/own:top/own:name[1]</yp:datastore-xpath-filter>'
    begin(session, establish(f"{RUNNING}{selected}{ON_CHANGE}"))
    reply = agent.session().ask(f'<get><filter><subscriptions xmlns="{SN}"/></filter></get>')
    (listed,) = reply.iter(f"{{{YP}}}datastore-xpath-filter")
    prefixes = re.findall(r"([a-z]+):", listed.text or "")
    assert len(prefixes) == 2
    assert {listed.nsmap.get(prefix) for prefix in prefixes} == {"urn:example:t"}


def test_c226_a_device_that_goes_down_by_itself_is_pushed(agent: Agent, session: Session) -> None:
    other = agent.session()
    other.ok(edit(qat("<enabled>true</enabled><health><interval>1</interval></health>")), "<commit/>")
    begin(session, push("operational", ON_CHANGE, qat("<device><oper-status/><flows/></device>")))
    assert "<oper-status>up</oper-status><flows>" in heard(session)
    agent.gateway.run("etc/init.d/qat_service", "stop", "qat_dev0")
    found = edits(hear(session))
    leaf = "/hardware-acceleration:acceleration/qat/device=0000%3A3d%3A00.0/oper-status"
    assert found == [f"replace {leaf} <oper-status>down</oper-status>"]


def test_c226_modified_terms_hold_from_then_on(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>x</name><mtu>1400</mtu>")
    number = begin(session, push("running", periodic(360000), top("<name/>")))
    assert "<name>x</name></top>" in heard(session)
    selected = f"<yp:datastore-subtree-filter>{top('<mtu/>')}</yp:datastore-subtree-filter>"
    session.ok(named("modify-subscription", number, f"{RUNNING}{selected}{periodic(10)}"))
    for _ in range(3):
        assert "<datastore-contents><top><mtu>1400</mtu></top></datastore-contents>" in heard(session)
    assert refused(session, named("modify-subscription", number, f"{RUNNING}{periodic(1)}")) == (
        f"{FAILED}/ietf-yang-push:period-unsupported modify-subscription-datastore-error-info/reason=period-unsupported"
        " modify-subscription-datastore-error-info/period-hint=10"
    )


def test_c226_who_never_reads_costs_little_and_holds_up_nobody(agent: Agent, session: Session) -> None:
    stuck = agent.session()
    begin(stuck, push("operational", periodic(10), MODULES))
    begin(session, push("operational", periodic(10), qat("<configured/>")))
    for _ in range(10):
        hear(session)
    before = memory(agent.gateway.pid)
    for _ in range(50):
        hear(session)
    assert memory(agent.gateway.pid) - before < 4 * 1024 * 1024
    assert "<state>active</state>" in state(agent, "subscriptions")


def test_c227_everything_is_sent_again(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>x</name>")
    number = begin(session, push("running", ON_CHANGE, top("")))
    first = heard(session)
    session.ok(named("resync-subscription", number, space=YP))
    assert heard(session) == first
    quiet(session)


def test_c227_there_has_to_be_something_to_resync(agent: Agent, session: Session) -> None:
    number = begin(session, push("running", periodic(360000)))
    hear(session)
    assert refused(session, named("resync-subscription", number, space=YP)) == (
        f"{FAILED}/ietf-yang-push:on-change-sync-unsupported"
    )
    wanted = (
        f"{FAILED}/ietf-yang-push:no-such-subscription-resync"
        " resync-subscription-error/reason=no-such-subscription-resync"
    )
    assert refused(agent.session(), named("resync-subscription", number, space=YP)) == wanted
    assert refused(session, named("resync-subscription", 4294967295, space=YP)) == wanted
