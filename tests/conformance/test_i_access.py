"""I. Access control (RFC 8341), and the field cases of it: F47, F97, F99, F101."""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING

import pytest

from tests.conformance.access import Guarded, deny, guarded, path, permit, rules
from tests.conformance.agents import CLOSE
from tests.conformance.partial import partial, release
from tests.conformance.session import edit, get_config, refusals, top
from tests.system.client import MONITORING, NACM, device, enabled, qat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

    from tests.conformance.session import Session

COMMIT = "<commit/>"
NOTIFICATION = "urn:ietf:params:xml:ns:netconf:notification:1.0"
ADDRESS = "0000:3d:00.0"
DENIED = "protocol/access-denied"
MODULE_T = "<module-name>t</module-name>"
ITEMS = "<item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>"
COUNTERS = "<denied-operations/><denied-data-writes/><denied-notifications/>"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Return an agent with users."""
    with guarded(tmp_path_factory.mktemp("access")) as served:
        yield served


@pytest.fixture
def gate(machine: Guarded) -> Iterator[Guarded]:
    """Return that agent without rules for the users, and none of their sessions afterwards."""
    machine.configure()
    yield machine
    machine.close()


def denied(where: str = "") -> str:
    """Return access-denied for data below module t's ``top``."""
    return f"application/access-denied @/t:top{''.join(f'/t:{name}' for name in where.split('/') if name)}"


def create_subscription(content: str = "") -> str:
    """Return a create-subscription."""
    return f'<create-subscription xmlns="{NOTIFICATION}">{content}</create-subscription>'


def name_of(message: Element) -> str:
    """Return the name of the event in a notification."""
    assert message.tag == f"{{{NOTIFICATION}}}notification"
    return str(message[1].tag).rpartition("}")[2]


def counters(session: Session) -> list[int]:
    """Return what was denied: operations, data-writes, notifications."""
    found = session.ask(f'<get><filter><nacm xmlns="{NACM}">{COUNTERS}</nacm></filter></get>')
    names = ("denied-operations", "denied-data-writes", "denied-notifications")
    return [int(found.findtext(f".//{{{NACM}}}{name}") or "") for name in names]


# What may be read.


def test_c185_without_rules_reading_and_calling_is_permitted_and_writing_is_not(gate: Guarded) -> None:
    gate.configure(content=top("<name>x</name>"))
    ada = gate.user()
    assert ada.config(source="running") == "<top><name>x</name></top>"
    assert ada.outcome("<validate><source><candidate/></source></validate>") == "ok"
    assert ada.outcome(edit(top("<name>y</name>"))) == denied("name")


def test_c188_what_may_not_be_read_is_left_out(gate: Guarded) -> None:
    gate.configure(
        rules("l", deny(path("/e:top/e:secret")), deny(path("/e:top/e:item[e:id='a']"))),
        content=top(f"<secret>s</secret><name>x</name>{ITEMS}"),
    )
    ada = gate.user()
    shown = "<top><name>x</name><item><id>b</id><v>2</v></item></top>"
    assert ada.config(source="running") == ada.config(source="candidate") == shown
    whole = ada.ask("<get/>")
    assert [e.text for e in whole.iter("{urn:example:t}id")] == ["b"]
    assert not [*whole.iter("{urn:example:t}secret")]
    assert ada.config(top("<secret/>")) == ""
    assert ada.config(top("<name/><secret>s</secret>")) == ""
    xpath = '<filter type="xpath" xmlns:t="urn:example:t" select="/t:top[t:secret=\'s\']/t:name"/>'
    assert ada.data(f"<get-config><source><running/></source>{xpath}</get-config>") == ""


def test_c188_defaults_of_what_may_not_be_read_are_left_out(gate: Guarded) -> None:
    gate.configure(rules("l", deny(path("/e:top/e:mtu"))), content=top("<name>x</name>"))
    with_defaults = (
        '<with-defaults xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults">report-all</with-defaults>'
    )
    found = gate.user().data(get_config(top("<mtu/><np/>"), more=with_defaults))
    assert found == "<top><np><d>x</d><deep><e>0</e></deep></np></top>"


def test_c194_the_rules_are_seen_by_those_only_whom_a_rule_permits_it(gate: Guarded) -> None:
    ada = gate.user()
    wanted = f'<nacm xmlns="{NACM}"/>'
    assert not len(ada.ask(f"<get><filter>{wanted}</filter></get>")[0])
    open_it = f'<nacm xmlns="{NACM}"><write-default>permit</write-default></nacm>'
    assert ada.outcome(edit(open_it)) == "application/access-denied"
    gate.configure(more="<write-default>permit</write-default>")
    assert ada.outcome(edit(open_it.replace("write", "exec"))) == "application/access-denied"
    gate.configure(rules("l", permit(f'<path xmlns:n="{NACM}">/n:nacm</path>')))
    assert len(ada.ask(f"<get><filter>{wanted}</filter></get>")[0])
    ada.ok(edit(open_it), "<discard-changes/>")


# What may be written.


def test_c189_a_write_that_is_denied_changes_nothing(gate: Guarded) -> None:
    gate.configure(rules("l", permit(path("/e:top/e:name"))), content=top("<name>x</name><mtu>70</mtu>"))
    ada = gate.user()
    assert ada.outcome(edit(top("<name>y</name><mtu>80</mtu>"))) == denied("mtu")
    assert ada.config() == "<top><name>x</name><mtu>70</mtu></top>"
    ada.ok(edit(top("<name>y</name>")), COMMIT)
    assert ada.config(source="running") == "<top><name>y</name><mtu>70</mtu></top>"


def test_c189_commit_asks_for_the_rights_to_exactly_what_differs(gate: Guarded) -> None:
    gate.configure(rules("l", permit(path("/e:top/e:name"))), content=top("<name>x</name><mtu>70</mtu>"))
    ada = gate.user()
    gate.root.ok(edit(top("<mtu>80</mtu>")))
    ada.ok(edit(top("<name>y</name>")))
    assert ada.outcome(COMMIT) == denied("mtu")
    assert ada.outcome("<commit><confirmed/></commit>") == denied("mtu")
    gate.root.ok(edit(top("<mtu>70</mtu>")))
    ada.ok(COMMIT)


def test_c189_copy_config_takes_the_rights_to_what_it_changes(gate: Guarded) -> None:
    seen = permit(f'<path xmlns:n="{NACM}">/n:nacm</path>', operations="read")
    name = permit(path("/e:top/e:name"))
    gate.configure(rules("l", seen, name), content=top("<name>x</name><mtu>70</mtu>"))
    ada = gate.user()
    gate.root.ok(edit(top("<name>z</name><mtu>80</mtu>")))
    copy = "<copy-config><target><candidate/></target><source><running/></source></copy-config>"
    assert ada.outcome(copy) == denied("mtu")
    gate.root.ok(edit(top("<mtu>70</mtu>")))
    ada.ok(copy)
    assert ada.config() == "<top><name>x</name><mtu>70</mtu></top>"
    # What may not be read is not copied, so that here copying would delete it from the target.
    gate.configure(rules("l", seen, deny(path("/e:top/e:mtu"), operations="read"), name), content=top("<mtu>70</mtu>"))
    assert ada.outcome(copy) == denied()


@pytest.mark.parametrize(
    ("missing", "request_", "where"),
    [
        ("create", "<item><id>c</id></item>", "t:item[t:id='c']"),
        ("update", "<item><id>a</id><v>9</v></item>", "t:item[t:id='a']/t:v"),
        ("delete", '<item nc:operation="delete"><id>a</id></item>', "t:item[t:id='a']"),
        ("delete", '<item nc:operation="replace"><id>a</id></item>', "t:item[t:id='a']/t:v"),
        ("create", '<item nc:operation="replace"><id>a</id><v>1</v><w>x</w></item>', "t:item[t:id='a']/t:w"),
        ("update", '<rule y:insert="first"><id>2</id></rule>', "t:rule[t:id='2']"),
        ("create", "<ord>n</ord>", "t:ord[.='n']"),
    ],
)
def test_c190_only_the_right_that_is_missing_is_missed(gate: Guarded, missing: str, request_: str, where: str) -> None:
    content = top(ITEMS + "<rule><id>1</id><act>x</act></rule><rule><id>2</id><act>y</act></rule>")
    everything = ("create", "update", "delete")
    change = edit(top(request_), options="<test-option>set</test-option>")
    for right in everything:
        rest = " ".join(other for other in everything if other != right)
        gate.configure(rules("l", permit(path("/e:top"), operations=rest)), content=content)
        expected = f"application/access-denied @/t:top/{where}" if right == missing else "ok"
        assert gate.user().outcome(change) == expected, right


def test_c191_what_a_merge_does_not_change_takes_no_right(gate: Guarded) -> None:
    gate.configure(rules("l", permit(path("/e:top/e:item/e:w"))), content=top(f"<name>x</name>{ITEMS}"))
    ada = gate.user()
    ada.ok(edit(top("<name>x</name><item><id>a</id><v>1</v><w>new</w></item>")), COMMIT)
    ada.ok(edit(top('<name>x</name><item nc:operation="replace"><id>a</id><v>1</v><w>newer</w></item>')))


def test_f47_a_container_without_presence_takes_no_right(gate: Guarded) -> None:
    gate.configure(rules("l", permit(path("/e:top/e:item"), operations="create")))
    gate.user().ok(edit(top("<item><id>a</id></item>")), COMMIT)


def test_what_an_edit_removes_as_a_side_effect_takes_no_right(gate: Guarded) -> None:
    gate.configure(rules("l", permit(path("/e:top/e:b1"), operations="create")), content=top("<a1>x</a1>"))
    ada = gate.user()
    ada.ok(edit(top("<b1>y</b1>")), COMMIT)
    assert ada.config(source="running") == "<top><b1>y</b1></top>"


# Which rule counts.


def test_c192_the_first_rule_that_matches_in_every_respect_counts(gate: Guarded) -> None:
    gate.configure(
        rules(
            "l",
            deny("<module-name>u</module-name>"),
            deny("<rpc-name>validate</rpc-name>", operations="read"),
            deny("<notification-name>name</notification-name>"),
            permit(MODULE_T + path("/e:top/e:name"), operations="create update"),
            deny(MODULE_T),
            permit(),
        ),
        content=top("<mtu>70</mtu>"),
    )
    ada = gate.user()
    assert ada.outcome("<validate><source><candidate/></source></validate>") == "ok"
    assert ada.config() == ""
    ada.ok(edit(top("<name>x</name>")))
    assert ada.outcome(edit(top('<name nc:operation="remove"/>'))) == "application/access-denied"


def test_f101_the_first_of_several_rule_lists_counts(gate: Guarded) -> None:
    name, mtu = path("/e:top/e:name"), path("/e:top/e:mtu")
    gate.configure(
        rules("first", permit(name), group="second"),
        rules("second", deny(name), permit(mtu), group="*"),
        rules("third", deny(mtu), permit(path("/e:top/e:secret")), group="limited"),
    )
    ada, bob, nobody = gate.user("ada"), gate.user("bob"), gate.user("nobody")
    assert ada.outcome(edit(top("<name>x</name>"))) == denied()
    bob.ok(edit(top("<name>x</name><mtu>70</mtu><secret>x</secret>")))
    assert ada.outcome(edit(top('<name nc:operation="remove"/>'))) == denied()
    ada.ok(edit(top("<mtu>80</mtu><secret>y</secret>")))
    # Of the machine's group only: the list for all groups is for nobody, too.
    nobody.ok(edit(top("<mtu>90</mtu>")))


@pytest.mark.parametrize("where", ["/e:top/e:item", "/e:top/e:item[e:id=$USER]", "/e:top/e:item[e:id='ada']", "/"])
def test_c193_a_path_covers_entries_and_descendants(gate: Guarded, where: str) -> None:
    gate.configure(rules("l", permit(path(where))), content=top(ITEMS))
    ada = gate.user()
    ada.ok(edit(top("<item><id>ada</id><w>x</w></item>")))
    narrow = "[" in where
    assert ada.outcome(edit(top("<item><id>a</id><w>x</w></item>"))) == (
        "application/access-denied @/t:top/t:item[t:id='a']/t:w" if narrow else "ok"
    )


def test_f99_the_prefixes_of_a_path_are_those_where_it_stands(gate: Guarded) -> None:
    gate.configure(
        rules("l", permit(path("/e:top/e:mtu"), operations="update")), content=top("<mtu>70</mtu><name>x</name>")
    )
    ada = gate.user()
    ada.ok(edit(top("<mtu>80</mtu>")))
    assert ada.outcome(edit(top("<name>y</name>"))) == denied("name")
    shown = gate.root.ask(
        f'<get-config><source><running/></source><filter><nacm xmlns="{NACM}"/></filter></get-config>'
    )
    (rule,) = shown.iter(f"{{{NACM}}}path")
    prefix = (rule.text or "").partition(":")[0].lstrip("/")
    assert rule.nsmap[prefix] == "urn:example:t"
    assert rule.text == f"/{prefix}:top/{prefix}:mtu"


def test_c195_what_the_model_protects_takes_a_rule_to_be_written(gate: Guarded) -> None:
    permitted = "<write-default>permit</write-default>"
    section = edit(qat(device(ADDRESS, "<section><name>SSL</name><processes>2</processes></section>")))
    gate.configure(more=permitted, content=qat(device(ADDRESS, "<section><name>IPSEC</name></section>")))
    ada = gate.user()
    assert "IPSEC" in ada.config(qat("<device/>"))
    assert ada.outcome(section).startswith("application/access-denied @/ha:acceleration/ha:qat/ha:device")
    ada.ok(edit(top("<name>x</name>")), edit(qat("<health><interval>17</interval></health>")))
    where = '<path xmlns:h="urn:accel-agent:hardware-acceleration">/h:acceleration/h:qat/h:device/h:section</path>'
    gate.configure(rules("l", permit(where)), more=permitted)
    ada.ok(section, "<discard-changes/>")


def test_f97_access_control_stays_on_after_a_get(gate: Guarded) -> None:
    ada = gate.user()
    for _ in range(2):
        assert ada.outcome(edit(top("<name>x</name>"))) == denied("name")
        ada.ask("<get/>")


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
        session.ok(create_subscription(f"<filter>{starts}</filter>"))
    gate.user("nobody")
    assert name_of(ada.reply()) == "netconf-session-start"
    bob.ok("<discard-changes/>")
    assert counters(gate.root)[2] == dropped + 1


def test_c198_the_ends_of_a_replay_are_always_told(gate: Guarded) -> None:
    gate.configure(rules("l", deny("<notification-name>*</notification-name>")))
    ada = gate.user()
    ada.ok(create_subscription("<startTime>2020-01-01T00:00:00Z</startTime><stopTime>2020-01-02T00:00:00Z</stopTime>"))
    assert [name_of(ada.reply()), name_of(ada.reply())] == ["replayComplete", "notificationComplete"]


# What may not be read leaves no trace.


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
    ada.ok(create_subscription(f"<filter>{changes}</filter>"))
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


def test_c193_a_key_may_hold_a_prefix_itself(gate: Guarded) -> None:
    schema = "/m:netconf-state/m:schemas/m:schema[m:identifier='t'][m:version='2026-11-30'][m:format='m:yang']"
    gate.configure(rules("l", deny(f'<path xmlns:m="{MONITORING}">{schema}</path>')))
    wanted = f'<netconf-state xmlns="{MONITORING}"><schemas><schema><identifier/></schema></schemas></netconf-state>'
    for session, seen in ((gate.root, True), (gate.user(), False)):
        shown = session.ask(f"<get><filter>{wanted}</filter></get>")
        assert ("t" in {one.text for one in shown.iter(f"{{{MONITORING}}}identifier")}) == seen
    rule = gate.root.ask(f'<get-config><source><running/></source><filter><nacm xmlns="{NACM}"/></filter></get-config>')
    (shown,) = rule.iter(f"{{{NACM}}}path")
    (prefix,) = {name for name, space in shown.nsmap.items() if space == MONITORING}
    assert (shown.text or "").endswith(f"[{prefix}:format='{prefix}:yang']")


def test_an_action_that_may_not_be_invoked_is_called_that(gate: Guarded) -> None:
    restart = qat(device(ADDRESS, "<restart/>"))
    ada = gate.user()
    reply = ada.ask(f'<action xmlns="urn:ietf:params:xml:ns:yang:1">{restart}</action>')
    (refusal,) = refusals(reply)
    assert refusal == (
        f"application/access-denied @/ha:acceleration/ha:qat/ha:device[ha:address='{ADDRESS}']/ha:restart"
    )
    assert "restart may not be invoked" in "".join(map(str, reply.itertext()))


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
