"""I. Access control (RFC 8341) of operations, actions and notifications; whom it binds."""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING

import pytest

from tests.conformance.access import Guarded, denied, deny, path, permit, rules
from tests.conformance.agents import CLOSE
from tests.conformance.candidate import COMMIT
from tests.conformance.notifications import NOTIFICATION, create
from tests.conformance.session import edit, refusals, top
from tests.system.client import NACM, device, qat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from tests.conformance.session import Session

DENIED = "protocol/access-denied"
ADDRESS = "0000:3d:00.0"
COUNTERS = "<denied-operations/><denied-data-writes/><denied-notifications/>"


def name_of(message: Element) -> str:
    """Return the name of the event in a notification."""
    assert message.tag == f"{{{NOTIFICATION}}}notification"
    return str(message[1].tag).rpartition("}")[2]


def counters(session: Session) -> list[int]:
    """Return what was denied: operations, data-writes, notifications."""
    found = session.ask(f'<get><filter><nacm xmlns="{NACM}">{COUNTERS}</nacm></filter></get>')
    names = ("denied-operations", "denied-data-writes", "denied-notifications")
    return [int(found.findtext(f".//{{{NACM}}}{name}") or "") for name in names]


# Operations.


def test_c186_what_ends_others_sessions_and_startup_is_denied(gate: Guarded) -> None:
    ada, bob = gate.user("ada"), gate.user("bob")
    assert ada.outcome(f"<kill-session><session-id>{bob.id}</session-id></kill-session>") == DENIED
    assert ada.outcome("<delete-config><target><startup/></target></delete-config>") == DENIED
    # Before the input is looked at.
    assert ada.outcome("<kill-session><bogus/></kill-session>") == DENIED
    assert ada.outcome('<kill-session xmlns=""/>') == DENIED
    assert ada.outcome("<bogus/>") == "protocol/operation-not-supported"
    gate.configure(rules("l", permit("<rpc-name>kill-session</rpc-name>", operations="exec")))
    ada.ok(f"<kill-session><session-id>{bob.id}</session-id></kill-session>")


def test_c187_a_session_can_always_be_closed(gate: Guarded) -> None:
    gate.configure(rules("l", deny()))
    ada = gate.user()
    assert ada.outcome("<get/>") == DENIED
    ada.ok(CLOSE)
    assert ada.ends() == b""


def test_operations_in_another_namespace_take_the_same_right(gate: Guarded) -> None:
    gate.configure(rules("l", deny("<rpc-name>validate</rpc-name>")))
    ada = gate.user()
    for space in ("urn:ietf:params:xml:ns:netconf:capability:validate:1.0", ""):
        assert ada.outcome(f'<validate xmlns="{space}"><source><candidate/></source></validate>') == DENIED


# When there is no access control.


@pytest.mark.root
def test_c196_root_on_the_local_socket_is_bound_by_nothing(gate: Guarded) -> None:
    gate.configure(
        rules("l", deny(), group="*"), content=top("<name>x</name>"), more="<exec-default>deny</exec-default>"
    )
    gate.root.ok(
        edit(f'<nacm xmlns="{NACM}" xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="remove"/>')
    )
    assert gate.user().outcome("<get/>") == DENIED
    gate.root.ok(COMMIT)
    assert gate.user().config() == "<top><name>x</name></top>"


def test_c197_switched_off_it_denies_nothing(gate: Guarded) -> None:
    gate.configure(rules("l", deny()), more="<enable-nacm>false</enable-nacm>")
    ada, bob = gate.user("ada"), gate.user("bob")
    ada.ok(edit(top("<name>x</name>")), edit(f'<nacm xmlns="{NACM}"><read-default>deny</read-default></nacm>'))
    ada.ok(f"<kill-session><session-id>{bob.id}</session-id></kill-session>")


def test_c200_groups_of_the_machine_count_unless_they_are_switched_off(gate: Guarded) -> None:
    user = pwd.getpwnam("nobody")
    group = grp.getgrgid(os.getgrouplist(user.pw_name, user.pw_gid)[0]).gr_name
    own = rules("l", permit(path("/e:top/e:name")), group=group)
    gate.configure(own)
    nobody = gate.user("nobody")
    nobody.ok(edit(top("<name>x</name>")))
    gate.configure(own, more="<enable-external-groups>false</enable-external-groups>")
    assert nobody.outcome(edit(top("<name>x</name>"))) == denied("name")


def test_c201_a_change_of_the_rules_counts_for_the_next_operation(gate: Guarded) -> None:
    content = top("<name>x</name>")
    gate.configure(content=content)
    ada = gate.user()
    for action, shown in (("deny", ""), ("permit", "<top><name>x</name></top>")):
        rule = f"<rule><name>r</name>{path('/e:top')}<action>{action}</action></rule>"
        gate.root.ok(
            edit(f'<nacm xmlns="{NACM}"><rule-list><name>l</name><group>limited</group>{rule}</rule-list></nacm>'),
            COMMIT,
        )
        assert ada.config(source="running") == shown
    gate.configure(content=content)
    assert ada.outcome(edit(top("<name>y</name>"))) == denied("name")


def test_c199_what_is_denied_is_counted(gate: Guarded) -> None:
    ada = gate.user()
    operations, writes, notifications = counters(gate.root)
    ada.outcome("<kill-session><session-id>1</session-id></kill-session>")
    ada.outcome(edit(top("<name>y</name>")))
    ada.outcome(edit(top("<name>y</name>")))
    assert counters(gate.root) == [operations + 1, writes + 2, notifications]


def test_c198_notifications_of_a_kind_that_is_denied_are_dropped(gate: Guarded) -> None:
    gate.configure(rules("l", deny("<notification-name>netconf-session-start</notification-name>"), group="second"))
    ada, bob = gate.user("ada"), gate.user("bob")
    dropped = counters(gate.root)[2]
    starts = '<netconf-session-start xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"/>'
    for session in (ada, bob):
        session.ok(create(f"<filter>{starts}</filter>"))
    gate.user("nobody")
    assert name_of(ada.reply()) == "netconf-session-start"
    bob.ok("<discard-changes/>")
    assert counters(gate.root)[2] == dropped + 1


def test_c198_the_ends_of_a_replay_are_always_told(gate: Guarded) -> None:
    gate.configure(rules("l", deny("<notification-name>*</notification-name>")))
    ada = gate.user()
    ada.ok(create("<startTime>2020-01-01T00:00:00Z</startTime><stopTime>2020-01-02T00:00:00Z</stopTime>"))
    assert [name_of(ada.reply()), name_of(ada.reply())] == ["replayComplete", "notificationComplete"]


def test_an_action_that_may_not_be_invoked_is_called_that(gate: Guarded) -> None:
    restart = qat(device(ADDRESS, "<restart/>"))
    ada = gate.user()
    reply = ada.ask(f'<action xmlns="urn:ietf:params:xml:ns:yang:1">{restart}</action>')
    (refusal,) = refusals(reply)
    assert refusal == (
        f"application/access-denied @/ha:acceleration/ha:qat/ha:device[ha:address='{ADDRESS}']/ha:restart"
    )
    assert "restart may not be invoked" in "".join(map(str, reply.itertext()))
