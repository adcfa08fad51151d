"""I. Access control (RFC 8341) of data, and the field cases of it: F47, F97, F99, F101."""

from __future__ import annotations

import pytest

from tests.conformance.access import ITEMS, Guarded, denied, deny, path, permit, rules
from tests.conformance.candidate import COMMIT
from tests.conformance.session import edit, get_config, top
from tests.system.client import MONITORING, NACM, device, qat

ADDRESS = "0000:3d:00.0"
MODULE_T = "<module-name>t</module-name>"


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
