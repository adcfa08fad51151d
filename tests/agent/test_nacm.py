"""Access control apart from the protocol: whose rules count when, and what errors may say."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from agent import errors
from agent.groups import groups_of
from agent.link import Peer
from agent.nacm import Nacm, initial
from agent.streams.event import Event, visible
from agent.tree import Node, from_json
from translators.counts import Counts

if TYPE_CHECKING:
    from agent.model.load import Model
    from agent.nacm import Access

T = {"t:top": {"name": "x", "secret": "s", "item": [{"id": "it's", "w": "1"}, {"id": "b", "w": "2"}]}}


def rule(path: str, action: str = "deny", operations: str = "*") -> dict[str, Any]:
    return {"path": path, "access-operations": operations, "action": action}


def running(model: Model, *rules: dict[str, Any], **more: Any) -> Node:
    named = [{"name": str(number), **one} for number, one in enumerate(rules)]
    lists = {"rule-list": [{"name": "l", "group": ["g"], "rule": named}]} if named else {}
    groups = {"group": [{"name": "g", "user-name": ["ada", "bob"]}]}
    return from_json(model.root, {"ietf-netconf-acm:nacm": {"groups": groups, **lists, **more}, **T})


def control(model: Model, *rules: dict[str, Any], **more: Any) -> Nacm:
    return Nacm(model, cast("Any", SimpleNamespace(running=running(model, *rules, **more))))


def peer(name: str = "ada", **more: Any) -> Peer:
    return Peer(name, "ietf-netconf-monitoring:netconf-ssh", **more)


def access(model: Model, *rules: dict[str, Any], **more: Any) -> Access:
    return control(model, *rules, **more).access(peer())


def test_rules_are_compiled_anew_when_they_have_changed_and_only_then(model: Model) -> None:
    stores = SimpleNamespace(running=running(model, rule("/t:top/secret")))
    nacm = Nacm(model, cast("Any", stores))
    first = nacm.access(peer())
    stores.running = from_json(model.root, {"t:top": {}}).with_children(dict(stores.running.children))
    assert nacm.access(peer()) is first
    stores.running = running(model)
    assert nacm.access(peer()) is not first
    assert nacm.access(peer()).may_see("/t:top/secret")


def test_users_of_the_same_rules_share_what_is_compiled_unless_their_names_count(model: Model) -> None:
    nacm = control(model, rule("/t:top/secret"))
    assert nacm.access(peer("ada")).key == nacm.access(peer("bob")).key
    assert nacm.access(peer("ada")).key != nacm.access(peer("eve")).key
    nacm = control(model, rule("/t:top/item[id=$USER]"))
    assert nacm.access(peer("ada")).key != nacm.access(peer("bob")).key


def test_what_is_left_of_a_configuration_is_remembered_and_what_has_state_in_it_is_not(model: Model) -> None:
    """Each reading of state is a tree of its own: a few of them would fill the memory."""
    path = "/hardware-acceleration:acceleration/qat/device"
    found = access(model, rule(f"{path}/interrupt", "permit", "read"), rule(f"{path}/enabled"))
    device = {"address": "0000:01:00.0", "enabled": True, "services": "sym"}
    counts = Counts("id", (0, 1), "count", (b"7", b"0"))
    for more, remembered in (({}, True), ({"interrupt": [{"irq": 131, "cpu": counts}]}, False)):
        data = {"hardware-acceleration:acceleration": {"qat": {"device": [device | more]}}}
        tree = from_json(model.root, data)
        first, second = (found.readable(tree).find("hardware-acceleration:acceleration") for _ in range(2))
        assert first is not None
        assert second is not None
        assert first.xml() == second.xml()
        assert b"<enabled>" not in first.xml()
        assert (b"<count>7</count>" in first.xml()) is not remembered
        assert (first is second) is remembered


def test_the_number_of_users_that_are_remembered_is_bounded(model: Model) -> None:
    nacm = control(model, rule("/t:top/item[id=$USER]"))
    for number in range(500):
        nacm.access(peer(f"user{number}"))
    assert len(nacm._known) <= 64


def test_who_may_do_everything_is_bound_by_nothing(model: Model) -> None:
    assert access(model, {"action": "permit"}, rule("/t:top")).unrestricted
    assert control(model, rule("/")).access(peer(recovery=True)).unrestricted
    assert access(model, rule("/"), **{"enable-nacm": False}).unrestricted
    assert not access(model, {"action": "permit", "access-operations": "read"}).unrestricted
    first = Nacm(model, cast("Any", SimpleNamespace(running=initial(model.root, ["ada"]))))
    assert first.access(peer("ada")).unrestricted
    assert not first.access(peer("bob")).unrestricted


def test_what_may_be_read_whole_is_the_same_object(model: Model) -> None:
    tree = from_json(model.root, T)
    assert access(model).readable(tree) is tree
    pruned = access(model, rule("/t:top/item[id='b']/w")).readable(tree)
    (before,), (after,) = tree.children.values(), pruned.children.values()
    assert isinstance(before, Node)
    assert isinstance(after, Node)
    (old,), (new,) = ([*top.entries(cast("Any", top.schema.member("item"))).items()][:1] for top in (before, after))
    assert old == new
    assert b"<w>2</w>" not in pruned.xml()


def test_what_was_pruned_last_is_not_pruned_again(model: Model) -> None:
    tree = from_json(model.root, T)
    found = access(model, rule("/t:top/secret"))
    first, second = (found.readable(tree).find("t:top") for _ in range(2))
    assert first is second is not None


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/t:top/name", True),
        ("/t:top/secret", False),
        ("/t:top/item[id='b']/w", True),
        ('/t:top/item[id="it\'s"]/w', False),
        ("/t:top/no-such-node", True),
        ("/t:ping/host", True),
        ("/ietf-netconf-acm:nacm/groups", False),
    ],
)
def test_what_may_be_seen_by_its_path(model: Model, path: str, seen: bool) -> None:
    found = access(model, rule("/t:top/secret"), rule('/t:top/item[id="it\'s"]'))
    assert found.may_see(path) == seen


def test_errors_keep_their_tag_and_lose_what_they_say_of_hidden_data(model: Model) -> None:
    found = access(model, rule("/t:top/secret"), rule("/t:top/item[id='b']"))
    plain = errors.operation_failed("no", path="/t:top/name")
    assert found.discreet(plain) is plain
    for told in (
        errors.operation_failed("no", app_tag="must-violation", path="/t:top/secret"),
        errors.operation_failed("data in \"/t:top/item[id='b']\" is not unique", app_tag="must-violation"),
        errors.operation_failed("no", app_tag="must-violation", info=(("u", "non-unique", "/t:top/item[id='b']/v"),)),
    ):
        shown = found.discreet(told)
        assert (shown.type, shown.tag, shown.app_tag) == ("application", "operation-failed", "must-violation")
        assert (shown.path, shown.info) == (None, ())
        assert "/t:" not in shown.message
    both = errors.NetconfError("application", "invalid-value", "bad", path="/t:top/name", others=(told,))
    shown = found.discreet(both)
    assert (shown.path, shown.message, shown.others[0].info) == ("/t:top/name", "bad", ())


def test_an_error_may_have_info_in_xml(model: Model) -> None:
    found = access(model, rule("/t:top/secret"))
    plain = errors.operation_failed("no", info=(("u", "info", b"<reason>r</reason><hint>/t:top/name</hint>"),))
    assert found.discreet(plain) is plain
    told = errors.operation_failed("no", info=(("u", "info", b"<hint>see /t:top/secret</hint>"),))
    assert found.discreet(told).info == ()


def test_an_entry_with_a_hidden_key_is_hidden_whole(model: Model) -> None:
    found = access(model, rule("/t:top/item/id", operations="read"), rule("/t:top/rule[id='a']/id"))
    tree = from_json(model.root, T)
    assert b"item" not in found.readable(tree).xml()
    for path in ("/t:top/item[id='b']", "/t:top/item", "/t:top/item[id='b']/w", "/t:top/rule[id='a']/act"):
        assert not found.may_see(path), path
    assert found.may_see("/t:top/rule[id='b']/act")


def test_all_configuration_below_a_path_is_seen_or_not(model: Model) -> None:
    found = access(model, rule("/t:top/item[id='b']"))
    seen = {
        path: found.may_see_configuration(path)
        for path in ("/t:top", "/t:top/item[id='c']", "/hardware-acceleration:acceleration", "/ietf-netconf-acm:nacm")
    }
    # A device's flows, which are no configuration, are for nobody without a rule.
    assert list(seen.values()) == [False, True, True, False]


def test_what_is_told_of_a_device_is_for_those_who_may_see_it(model: Model) -> None:
    def told(name: str, content: dict[str, Any], found: Access) -> Event | None:
        data = from_json(model.root, {f"hardware-acceleration:{name}": content})
        return visible(Event(1, datetime.now(UTC), data), found)

    first, second = "0000:3d:00.0", "0000:3f:00.0"
    found = access(model, rule(f"/hardware-acceleration:acceleration/qat/device[address='{first}']"))
    for name in ("device-state-change", "device-error"):
        assert told(name, {"address": first}, found) is None
        assert told(name, {"address": second}, found) is not None
    assert told("acceleration-change", {"active": True}, found) is not None


def test_tunnels_are_named_to_those_who_may_read_which_there_are(model: Model) -> None:
    missing = [{"name": "site/net", "reason": "the peer has not begun it again"}]
    content = {"method": "restart", "tunnels-before": 2, "tunnels-after": 1, "missing-tunnel": missing}

    def told(found: Access, content: dict[str, Any]) -> bytes:
        data = from_json(model.root, {"hardware-acceleration:ipsec-refresh": content})
        seen = visible(Event(1, datetime.now(UTC), data), found)
        assert seen is not None
        return seen.content.xml()

    hidden = told(access(model), content)
    assert b"site" not in hidden
    assert b"missing" not in hidden
    assert b"<tunnels-before>2</tunnels-before><tunnels-after>1</tunnels-after>" in hidden
    permitted = access(model, rule("/hardware-acceleration:acceleration/ipsec/security-association", "permit"))
    assert b"<name>site/net</name>" in told(permitted, content)
    # One in which there is nothing else is told all the same: how many there are is no secret.
    assert b"ipsec-refresh" in told(access(model), {"missing-tunnel": missing})


def test_an_edit_is_told_to_those_who_can_see_it_or_one_that_it_sums_up(model: Model) -> None:
    def told(found: Access, *edits: tuple[str, str]) -> list[str]:
        listed = [{"target": f"/t:top{path}", "operation": operation} for path, operation in edits]
        change = {"changed-by": {"server": [None]}, "datastore": "running", "edit": listed}
        data = from_json(model.root, {"ietf-netconf-notifications:netconf-config-change": change})
        seen = visible(Event(1, datetime.now(UTC), data), found)
        return [] if seen is None else re.findall(r"<target[^>]*>/t:top([^<]*)<", seen.content.xml().decode())

    found = access(model, rule("/t:top/secret"), rule("/t:top/rule/act"))
    assert told(found, ("", "replace"), ("/secret", "create")) == []
    assert told(found, ("", "replace"), ("/secret", "create"), ("/mtu", "delete")) == ["", "/t:mtu"]
    moved = "/rule[id='1']"
    assert told(found, (f"{moved}/act", "replace"), (moved, "merge")) == ["/t:rule[t:id='1']"]


def test_an_action_takes_its_right_and_that_to_read_what_it_is_in(model: Model) -> None:
    restart = model.node("/hardware-acceleration:acceleration/qat/device/restart")
    data = {"hardware-acceleration:acceleration": {"qat": {"device": [{"address": "0000:3d:00.0"}]}}}
    chain, node = [], from_json(model.root, data)
    while below := [child for child in node.all() if not child.schema.is_leaf]:
        node = below[0]
        chain.append(node)
    where = "/hardware-acceleration:acceleration/qat/device[address='0000:3d:00.0']"
    other = where.replace("3d", "3e")
    assert not access(model).may_invoke(restart, chain)
    assert access(model, rule(f"{where}/restart", "permit", "exec")).may_invoke(restart, chain)
    assert not access(model, rule(f"{other}/restart", "permit", "exec")).may_invoke(restart, chain)
    hidden = rule(where, "deny", "read")
    assert not access(model, hidden, rule(f"{where}/restart", "permit", "exec")).may_invoke(restart, chain)


def test_a_user_that_the_machine_does_not_know_is_in_no_group() -> None:
    assert asyncio.run(groups_of("no-such-user")) == ()
    assert "root" in asyncio.run(groups_of("root"))


def test_what_tells_of_tunnels_is_sent_to_those_only_whom_a_rule_permits_it(model: Model) -> None:
    module = "hardware-acceleration"
    change, refresh = (model.node(f"/{module}:ipsec-{name}") for name in ("tunnel-change", "refresh"))
    assert access(model).may_receive(refresh)
    assert not access(model).may_receive(change)
    permitted = {"module-name": module, "notification-name": "ipsec-tunnel-change", "action": "permit"}
    assert access(model, permitted).may_receive(change)
