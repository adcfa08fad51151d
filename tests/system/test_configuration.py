"""What changes candidate and running, asked by the field's own client, over SSH and over the local socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.client import qat, rpc

if TYPE_CHECKING:
    from tests.system.client import Client
    from tests.system.gateway import Gateway

T = "urn:example:t"
BASE = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"'


def top(content: str) -> str:
    return f'<top xmlns="{T}">{content}</top>'


def candidate(client: Client) -> str:
    """Return what is in candidate's top."""
    return client.config_text("candidate").removeprefix(f'<top xmlns="{T}">').removesuffix("</top>")


# edit-config.


def test_edit_config_merges_by_default(client: Client) -> None:
    client.edit(top("<name>one</name><item><id>a</id><v>1</v></item>"))
    client.edit(top("<mtu>01280</mtu><item><id>a</id><w>x</w></item>"))
    assert candidate(client) == "<name>one</name><mtu>1280</mtu><item><id>a</id><v>1</v><w>x</w></item>"
    assert client.config_text("running") == ""


@pytest.mark.parametrize(
    ("operation", "there", "after"),
    [
        ("merge", True, "<v>1</v><w>new</w>"),
        ("replace", True, "<w>new</w>"),
        ("create", True, "data-exists"),
        ("delete", True, None),
        ("remove", True, None),
        ("merge", False, "<w>new</w>"),
        ("replace", False, "<w>new</w>"),
        ("create", False, "<w>new</w>"),
        ("delete", False, "data-missing"),
        ("remove", False, None),
    ],
)
def test_each_operation_of_edit_config(client: Client, operation: str, there: bool, after: str | None) -> None:
    client.edit(top("<name>kept</name>" + ("<item><id>a</id><v>1</v></item>" if there else "")))
    before = candidate(client)
    content = "" if operation in {"delete", "remove"} else "<w>new</w>"
    edit = top(f'<item {BASE} nc:operation="{operation}"><id>a</id>{content}</item>')
    if after in {"data-exists", "data-missing"}:
        refusal = client.refused(client.edit, edit)
        assert refusal.kind == ("application", after, None, "/t:top/t:item[t:id='a']")
        assert candidate(client) == before
    else:
        client.edit(edit)
        entry = "" if after is None else f"<item><id>a</id>{after}</item>"
        assert candidate(client) == f"<name>kept</name>{entry}"


def test_the_three_default_operations(client: Client) -> None:
    client.edit(top("<name>old</name><mtu>1400</mtu>"))
    client.edit(top("<name>merged</name>"), default_operation="merge")
    assert candidate(client) == "<name>merged</name><mtu>1400</mtu>"
    refusal = client.refused(client.edit, top("<tag>x</tag>"), default_operation="none")
    assert (refusal.type, refusal.tag) == ("application", "data-missing")
    client.edit(top(f'<mtu {BASE} nc:operation="delete">1400</mtu>'), default_operation="none")
    assert candidate(client) == "<name>merged</name>"
    client.edit(top("<tag>only</tag>"), default_operation="replace")
    assert candidate(client) == "<tag>only</tag>"
    refusal = client.refused(client.rpc, rpc("edit-config", "<target><candidate/></target><default-operation>x"
        "</default-operation><config/>"))  # fmt: skip
    assert (refusal.type, refusal.tag) == ("protocol", "invalid-value")


def test_the_three_test_options(client: Client) -> None:
    invalid = top("<low>58</low><high>60</high>")
    wrong = ("application", "operation-failed", "must-violation", "/t:top/t:low")
    for options in ({}, {"test_option": "test-then-set"}, {"test_option": "test-only"}):
        refusal = client.refused(client.edit, invalid, **options)
        assert refusal.kind == wrong
        assert candidate(client) == ""
    client.edit(top("<name>fine</name>"), test_option="test-only")
    assert candidate(client) == ""
    client.edit(invalid, test_option="set")
    assert client.config_text("candidate") == invalid
    refusal = client.refused(client.commit)
    assert refusal.kind == wrong
    assert client.config_text("candidate") == invalid


@pytest.mark.parametrize("option", ["stop-on-error", "continue-on-error", "rollback-on-error"])
def test_with_each_error_option_an_edit_that_fails_changes_nothing(client: Client, option: str) -> None:
    client.edit(top("<name>before</name>"))
    edit = top(f'<name>after</name><item {BASE} nc:operation="delete"><id>none</id></item><mtu>1400</mtu>')
    refusal = client.refused(client.edit, edit, error_option=option)
    assert refusal.kind == ("application", "data-missing", None, "/t:top/t:item[t:id='none']")
    assert candidate(client) == "<name>before</name>"


def test_edit_config_refuses_what_the_model_does_not_have(client: Client) -> None:
    cases = {
        top("<mtu>9001</mtu>"): ("application", "invalid-value", None, "/t:top/t:mtu"),
        top("<mtu>many</mtu>"): ("application", "invalid-value", None, "/t:top/t:mtu"),
        top("<nothing/>"): ("application", "unknown-element", None, "/t:top"),
        top("<state><up>true</up></state>"): ("application", "invalid-value", None, "/t:top/t:state"),
        '<x xmlns="urn:example:none"/>': ("application", "unknown-namespace", None, None),
        qat("<health><interval>0</interval></health>"): (
            "application", "invalid-value", None, "/ha:acceleration/ha:qat/ha:health/ha:interval"
        ),
    }  # fmt: skip
    for edit, expected in cases.items():
        refusal = client.refused(client.edit, edit)
        assert (edit, *refusal.kind) == (edit, *expected)
    assert candidate(client) == ""
    to_running = rpc("edit-config", f"<target><running/></target><config>{top('')}</config>")
    assert client.refused(client.rpc, to_running).kind == ("protocol", "operation-not-supported", None, None)
    no_target = rpc("edit-config", f"<config>{top('')}</config>")
    assert client.refused(client.rpc, no_target).kind == ("protocol", "missing-element", None, None)


# validate, commit, discard-changes, copy-config, delete-config.


def test_validate_checks_candidate_running_and_a_configuration_in_the_request(client: Client) -> None:
    client.apply(top("<name>fine</name>"))
    client.edit(top("<ref>nowhere</ref>"), test_option="set")
    refusal = client.refused(client.manager.validate, source="candidate")
    assert refusal.kind == ("application", "data-missing", "instance-required", "/t:top/t:ref")
    client.manager.validate(source="running")
    inline = "<source><config>{}</config></source>"
    client.rpc(rpc("validate", inline.format(top("<ref>a</ref><item><id>a</id></item>"))))
    refusal = client.refused(client.rpc, rpc("validate", inline.format(top("<low>9</low><high>10</high>"))))
    assert (refusal.type, refusal.tag, refusal.app_tag) == ("application", "operation-failed", "must-violation")
    assert refusal.message == "low must be 5% under high"
    assert client.config_text("running") == top("<name>fine</name>")
    assert candidate(client) == "<name>fine</name><ref>nowhere</ref>"


def test_commit_makes_candidate_running_and_discard_changes_the_other_way_round(
    client: Client, shared: Gateway
) -> None:
    client.edit(top("<name>new</name>"))
    client.commit()
    assert client.config_text("running") == client.config_text("candidate") == top("<name>new</name>")
    assert top("<name>new</name>").encode() in shared.stored
    client.edit(top("<mtu>1400</mtu>"))
    client.manager.discard_changes()
    assert client.config_text("candidate") == top("<name>new</name>")
    refusal = client.refused(client.rpc, rpc("commit", "<persist-id>x</persist-id>"))
    assert refusal.kind == ("protocol", "invalid-value", None, None)


def test_copy_config_replaces_candidate(client: Client) -> None:
    client.apply(top("<name>running</name>"))
    client.edit(top("<name>candidate</name><tag>x</tag>"))
    client.manager.copy_config(source="running", target="candidate")
    assert candidate(client) == "<name>running</name>"
    inline = f"<target><candidate/></target><source><config>{top('<mtu>1400</mtu>')}</config></source>"
    client.rpc(rpc("copy-config", inline))
    assert candidate(client) == "<mtu>1400</mtu>"
    assert client.config_text("running") == top("<name>running</name>")
    refusal = client.refused(client.manager.copy_config, source="candidate", target="running")
    assert refusal.kind == ("protocol", "operation-not-supported", None, None)
    refusal = client.refused(client.manager.copy_config, source="candidate", target="candidate")
    assert refusal.kind == ("protocol", "invalid-value", None, None)


def test_delete_config_deletes_neither_datastore(client: Client) -> None:
    client.apply(top("<name>kept</name>"))
    for target in ("running", "candidate"):
        refusal = client.refused(client.manager.delete_config, target)
        assert refusal.kind == ("protocol", "operation-not-supported", None, None)
    assert client.config_text("running") == client.config_text("candidate") == top("<name>kept</name>")
