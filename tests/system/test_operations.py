"""Retrieval, sessions, schemas and plan, asked by the field's own client, over SSH and over the local socket."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.system.client import DEADLINE, HA, MONITORING, enabled, qat, rpc
from tests.system.gateway import T_MODULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.system.client import Client
    from tests.system.gateway import Gateway

T = "urn:example:t"


def top(content: str) -> str:
    return f'<top xmlns="{T}">{content}</top>'


# get and get-config.


def test_get_has_configuration_and_state(client: Client) -> None:
    client.apply(top("<name>both</name>"))
    found = client.manager.get().data_ele
    assert found.findtext(f"{{{T}}}top/{{{T}}}name") == "both"
    assert found.findtext(f".//{{{HA}}}device/{{{HA}}}oper-status") == "down"
    names = {etree.QName(child).localname for child in found}
    server = {"nacm", "netconf", "netconf-state", "streams", "yang-library", "modules-state"}
    assert names == {"top", "acceleration", *server}
    one = client.get(qat("<device><address>0000:3d:00.0</address><pci><device-id/></pci></device>"))
    assert [leaf.text for leaf in one.iter() if not len(leaf)] == ["0000:3d:00.0", "37c8"]
    assert len(client.get(qat("<device><address>0000:3e:00.0</address></device>"))) == 0
    assert len(client.get('<nothing xmlns="urn:example:unknown"/>')) == 0


def test_get_tells_of_the_session_itself(client: Client) -> None:
    state = client.get(f'<netconf-state xmlns="{MONITORING}"><sessions/></netconf-state>')
    prefix = f"{{{MONITORING}}}"
    (own,) = [e for e in state.iter(f"{prefix}session") if e.findtext(f"{prefix}session-id") == str(client.id)]
    assert str(own.findtext(f"{prefix}transport")).rpartition(":")[2] == f"netconf-{client.transport}"
    assert own.findtext(f"{prefix}in-rpcs") == "1"
    assert own.findtext(f"{prefix}source-host") == ("127.0.0.1" if client.transport == "ssh" else None)


def test_get_config_reads_one_datastore(client: Client) -> None:
    client.apply(top("<name>running</name><mtu>1400</mtu>"))
    client.edit(top("<name>candidate</name>"))
    assert client.config_text("running") == top("<name>running</name><mtu>1400</mtu>")
    assert client.config_text("candidate") == top("<name>candidate</name><mtu>1400</mtu>")
    narrowed = client.config("running", top("<mtu/>"))
    assert [leaf.text for leaf in narrowed.iter() if not len(leaf)] == ["1400"]
    assert len(client.config("running", top("<name>candidate</name>"))) == 0
    refusal = client.refused(client.rpc, rpc("get-config", "<source><startup/></source>"))
    assert refusal.kind == ("protocol", "operation-not-supported", None, None)
    refusal = client.refused(client.rpc, rpc("get-config"))
    assert refusal.kind == ("protocol", "missing-element", None, None)
    xpath = '<source><running/></source><filter type="xpath" select="1+1"/>'
    refusal = client.refused(client.rpc, rpc("get-config", xpath))
    assert (refusal.type, refusal.tag) == ("protocol", "invalid-value")


# lock and unlock.


@pytest.mark.parametrize("target", ["running", "candidate"])
def test_a_lock_keeps_the_others_out_until_it_is_given_back(
    client: Client, connect: Callable[[str], Client], target: str
) -> None:
    other = connect("unix")
    client.manager.lock(target)
    refusal = other.refused(other.manager.lock, target)
    assert refusal.kind == ("protocol", "lock-denied", None, None)
    assert refusal.info == {"session-id": str(client.id)}
    assert client.refused(client.manager.lock, target).tag == "lock-denied"
    assert other.refused(other.commit).kind == ("protocol", "in-use", None, None)
    if target == "candidate":
        assert other.refused(other.edit, top("")).kind == ("protocol", "in-use", None, None)
        assert other.refused(other.manager.discard_changes).tag == "in-use"
        assert other.refused(other.manager.copy_config, source="running", target="candidate").tag == "in-use"
    assert other.refused(other.manager.unlock, target).kind == ("protocol", "operation-failed", None, None)
    client.apply(top("<name>mine</name>"))
    client.manager.unlock(target)
    assert client.refused(client.manager.unlock, target).kind == ("protocol", "operation-failed", None, None)
    other.manager.lock(target)
    assert other.config_text("running") == top("<name>mine</name>")


def test_candidate_with_changes_can_not_be_locked_and_unlock_discards_them(client: Client) -> None:
    client.edit(top("<name>changed</name>"))
    refusal = client.refused(client.manager.lock, "candidate")
    assert refusal.tag == "lock-denied"
    assert refusal.info == {"session-id": "0"}
    client.manager.discard_changes()
    client.manager.lock("candidate")
    client.edit(top("<name>changed</name>"))
    client.manager.unlock("candidate")
    assert client.config_text("candidate") == ""


# close-session and kill-session.


def test_close_session_answers_and_ends_the_session(client: Client, connect: Callable[[str], Client]) -> None:
    client.manager.lock("candidate")
    assert client.manager.close_session().ok
    client.manager._session.join(DEADLINE)
    assert not client.manager.connected
    connect("unix").manager.lock("candidate")


def test_kill_session_ends_another_session_and_frees_its_lock(
    client: Client, connect: Callable[[str], Client], transport: str
) -> None:
    victim = connect(transport)
    victim.manager.lock("running")
    for number in (str(client.id), "0", "4294967295", "none", ""):
        refusal = client.refused(client.rpc, rpc("kill-session", f"<session-id>{number}</session-id>"))
        assert (number, refusal.type, refusal.tag) == (number, "protocol", "invalid-value")
    client.rpc(rpc("kill-session", f"<session-id>{victim.id}</session-id>"))
    victim.manager._session.join(DEADLINE)
    assert not victim.manager.connected
    client.manager.lock("running")
    refusal = client.refused(client.rpc, rpc("kill-session", f"<session-id>{victim.id}</session-id>"))
    assert refusal.tag == "invalid-value"


# get-schema and plan.


def test_get_schema_returns_the_modules_text(client: Client) -> None:
    for name, path in {
        "t": T_MODULE,
        "hardware-acceleration": next(Path(str(importlib.resources.files("yang"))).glob("hardware-acceleration@*")),
    }.items():
        assert client.manager.get_schema(name).data == path.read_text()
    assert client.manager.get_schema("hardware-acceleration", version="2026-11-30", format="yang").ok
    for parameters in ({"version": "1999-01-01"}, {"format": "yin"}):
        refusal = client.refused(client.manager.get_schema, "hardware-acceleration", **parameters)
        assert (refusal.type, refusal.tag) == ("application", "invalid-value")
    assert client.refused(client.manager.get_schema, "none").tag == "invalid-value"


def test_every_schema_that_is_announced_can_be_fetched(client: Client) -> None:
    listed = client.get(f'<netconf-state xmlns="{MONITORING}"><schemas/></netconf-state>')
    entries = list(listed.iter(f"{{{MONITORING}}}schema"))
    assert len(entries) > 10
    for entry in entries:
        name, version = (entry.findtext(f"{{{MONITORING}}}{leaf}") for leaf in ("identifier", "version"))
        text = client.manager.get_schema(name, version=version).data
        assert text.split()[0] in {"module", "submodule", "//", "/*"}
        assert f"module {name} " in text


def test_plan_tells_what_a_commit_would_do_and_touches_nothing(client: Client, shared: Gateway) -> None:
    before = shared.condition(), shared.commands()
    client.edit(enabled())
    reply = client.rpc(f'<plan xmlns="{HA}"/>')
    assert reply.findtext(f"{{{HA}}}changes-machine") == "true"
    steps = [
        [step.findtext(f"{{{HA}}}{leaf}") for leaf in ("number", "description", "disruptive", "disturbs")]
        for step in reply.iter(f"{{{HA}}}step")
    ]
    assert steps == [
        ["1", "stop IPsec (/usr/sbin/ipsec stop)", "true", "ipsec"],
        ["2", "start QAT 0000:3d:00.0 (/etc/init.d/qat_service start)", "true", "ipsec"],
        ["3", "start IPsec (/usr/sbin/ipsec start)", "true", "ipsec"],
    ]
    assert client.plan("running") == []
    refusal = client.refused(client.plan, "startup")
    assert refusal.tag == "invalid-value"
    assert (shared.condition(), shared.commands()) == before


def test_an_operation_that_there_is_not(client: Client) -> None:
    for operation in (rpc("create-subscription"), f'<ping xmlns="{T}"><host>x</host></ping>'):
        refusal = client.refused(client.rpc, operation)
        assert refusal.kind == ("protocol", "operation-not-supported", None, None)
    refusal = client.refused(client.rpc, '<x xmlns="urn:example:none"/>')
    assert (refusal.type, refusal.tag) == ("protocol", "unknown-namespace")
