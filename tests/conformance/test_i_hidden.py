"""I. Access control: what may not be read leaves no trace (C046)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.access import ITEMS, Guarded, denied, deny, path, permit, rules
from tests.conformance.candidate import COMMIT
from tests.conformance.notifications import create
from tests.conformance.partial import partial, release
from tests.conformance.session import edit, refusals, top
from tests.system.client import MONITORING, enabled

if TYPE_CHECKING:
    from tests.conformance.session import Session


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        "<secret>s</secret>",
        "<secret>other</secret>",
        '<secret nc:operation="create">s</secret>',
        '<secret nc:operation="delete"/>',
        '<secret nc:operation="remove"/>',
        '<secret nc:operation="replace">s</secret>',
        "<item><id>a</id></item>",
        '<item nc:operation="delete"><id>a</id></item>',
        '<item nc:operation="create"><id>a</id></item>',
        '<rule y:insert="before" y:key="[t:id=\'1\']" xmlns:t="urn:example:t"><id>2</id><act>x</act></rule>',
    ],
)
def test_c046_the_outcome_does_not_tell_what_is_there(gate: Guarded, content: str, there: bool) -> None:
    hidden = [deny(path(f"/e:top/e:{name}")) for name in ("secret", "item[e:id='a']", "rule[e:id='1']")]
    gate.configure(
        rules("l", *hidden, permit(path("/e:top"))),
        content=top(
            "<name>x</name>"
            + ("<secret>s</secret><item><id>a</id></item>" if there else "")
            + ("<rule><id>1</id><act>x</act></rule>" if there else "")
        ),
    )
    assert gate.user().outcome(edit(top(content))) == denied()


HIDDEN_KEY = deny(path("/e:top/e:item/e:id"), operations="read")


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        '<item nc:operation="create"><id>a</id></item>',
        '<item nc:operation="delete"><id>a</id></item>',
        '<item nc:operation="remove"><id>a</id></item>',
        '<item nc:operation="replace"><id>a</id><w>x</w></item>',
        "<item><id>a</id></item>",
        "<item><id>a</id><w>x</w></item>",
        '<item><id>a</id><w nc:operation="delete"/></item>',
    ],
)
def test_c046_an_entry_with_a_hidden_key_is_hidden_whole(gate: Guarded, content: str, there: bool) -> None:
    gate.configure(
        rules("l", HIDDEN_KEY, permit(path("/e:top/e:name"))),
        content=top("<name>x</name>" + ("<item><id>a</id><w>x</w></item>" if there else "")),
    )
    ada = gate.user()
    assert ada.outcome(edit(top(content))) == denied()
    assert ada.config() == "<top><name>x</name></top>"


def changes_heard(gate: Guarded, *commits: str) -> list[list[str]]:
    """Return the targets of each netconf-config-change that ada gets of commits, and of a last one that she sees."""
    ada = gate.user()
    changes = '<netconf-config-change xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"/>'
    ada.ok(create(f"<filter>{changes}</filter>"))
    for content in (*commits, "<np><d>the last</d></np>"):
        gate.root.ok(edit(top(content), options="<test-option>set</test-option>"), COMMIT)
    found: list[list[str]] = []
    while not found or found[-1] != ["/t:top/t:np/t:d"]:
        found.append([target.text or "" for target in ada.reply().iter("{*}target")])
    return found[:-1]


def test_c046_a_change_of_entries_with_a_hidden_key_is_not_told(gate: Guarded) -> None:
    gate.configure(rules("l", HIDDEN_KEY), content=top("<name>x</name>"))
    assert changes_heard(gate, "<item><id>a</id><w>x</w></item>") == []


def test_c046_a_container_that_comes_with_hidden_content_only_does_not_come(gate: Guarded) -> None:
    gate.configure(rules("l", deny(path("/e:top/e:secret"))))
    assert changes_heard(gate, "<secret>s</secret>") == []
    gate.configure(rules("l", deny(path("/e:top/e:secret"))))
    assert changes_heard(gate, "<secret>s</secret><name>x</name>") == [["/t:top/t:name"]]


def test_c046_however_much_hidden_changes_nothing_is_told(gate: Guarded) -> None:
    many = "".join(f"<item><id>i{number}</id></item>" for number in range(300))
    gate.configure(rules("l", deny(path("/e:top/e:item"))), content=top("<name>x</name>"))
    assert changes_heard(gate, many, f"{many.replace('>i', '>j')}<name>y</name>") == [["/t:top", "/t:top/t:name"]]


def partial_locks(session: Session) -> list[tuple[int, list[str]]]:
    """Return the number of expressions, and the nodes, of each partial lock that a session sees."""
    wanted = f'<netconf-state xmlns="{MONITORING}"><datastores/></netconf-state>'
    reply = session.ask(f"<get><filter>{wanted}</filter></get>")
    return [
        (len(lock.findall("{*}select")), [node.text or "" for node in lock.iterfind("{*}locked-node")])
        for lock in reply.iter(f"{{{MONITORING}}}partial-lock")
    ]


def test_c046_partial_locks_do_not_name_what_is_hidden(gate: Guarded) -> None:
    hidden = rules("l", deny(path("/e:top/e:item[e:id='a']")))
    gate.configure(hidden, rules("b", deny(path("/e:top/e:secret")), group="second"), content=top(ITEMS))
    expressions = ["/t:top/t:item[t:id='a']", "/t:top/t:item[t:id='b']"]
    gate.root.ask(partial(*expressions))
    assert partial_locks(gate.root) == [(2, expressions)]
    ada = gate.user()
    assert partial_locks(ada) == [(0, expressions[1:])]
    gate.root.ok(release("1"))
    (number, *_nodes) = ada.ask(partial(expressions[1]))
    assert partial_locks(gate.user()) == [(1, expressions[1:])]
    assert partial_locks(gate.user("bob")) == [(0, expressions[1:])]
    ada.ok(release(number.text or ""))


def test_c046_an_error_about_hidden_data_names_nothing_of_it(gate: Guarded) -> None:
    gate.configure(
        rules("l", deny(path("/e:top/e:item"), operations="read"), permit(path("/e:top"))),
        content=top("<item><id>hush</id><v>1</v></item>"),
    )
    ada = gate.user()
    reply = ada.ask(edit(top("<item><id>mine</id><v>1</v></item>")))
    assert refusals(reply) == ["application/operation-failed/data-not-unique"]
    assert "hush" not in "".join(map(str, reply.itertext()))


def test_c046_a_schema_that_may_not_be_seen_in_the_list_does_not_exist(gate: Guarded) -> None:
    ask = f'<get-schema xmlns="{MONITORING}"><identifier>{{}}</identifier></get-schema>'
    gate.configure(rules("l", deny(f"<path xmlns:m='{MONITORING}'>/m:netconf-state/m:schemas/m:schema</path>")))
    ada = gate.user()
    assert ada.outcome(ask.format("t")) == ada.outcome(ask.format("nope")) == "application/invalid-value"
    gate.configure()
    assert ada.ask(ask.format("t"))[0].text


def test_c046_a_plan_has_no_steps_of_what_may_not_be_read(gate: Guarded) -> None:
    where = '<path xmlns:h="urn:accel-agent:hardware-acceleration">/h:acceleration/h:qat</path>'
    plan = '<plan xmlns="urn:accel-agent:hardware-acceleration"/>'
    gate.configure(rules("l", deny(where)))
    gate.root.ok(edit(enabled()))
    assert "step" in {str(child.tag).rpartition("}")[2] for child in gate.root.ask(plan)}
    (answer,) = gate.user().ask(plan)
    assert answer.text == "false"
    # Nor where some of a subtree may not be read: a step names devices.
    gate.configure(rules("l", deny(where.replace("h:qat<", "h:qat/h:device<"))))
    gate.root.ok(edit(enabled()))
    (answer,) = gate.user().ask(plan)
    assert str(answer.tag).rpartition("}")[2] == "changes-machine"
    assert answer.text == "false"


def test_c046_filters_of_others_subscriptions_are_not_shown(gate: Guarded) -> None:
    gate.configure(rules("l", deny(path("/e:top/e:secret")), group="second"))
    space = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
    wanted = "<stream-xpath-filter>/*[. = 'hidden']</stream-xpath-filter>"
    gate.root.ask(f'<establish-subscription xmlns="{space}"><stream>NETCONF</stream>{wanted}</establish-subscription>')
    listed = f'<get><filter><subscriptions xmlns="{space}"/></filter></get>'
    assert "hidden" in "".join(map(str, gate.root.ask(listed).itertext()))
    shown = "".join(map(str, gate.user("bob").ask(listed).itertext()))
    assert "NETCONF" in shown
    assert "hidden" not in shown
