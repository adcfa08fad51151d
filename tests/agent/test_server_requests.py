"""One session: which request meets which error, and what the others do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.errors import NETCONF, operation_failed
from agent.messages import BASE_1_0, BASE_1_1
from tests.agent.server_bench import GET, MONITORING, N, Server, edit, run

if TYPE_CHECKING:
    from agent.model.load import Model


def test_malformed_messages(model: Model) -> None:
    """C017, C018, F19: one error each, then the session goes on; base:1.0 has no word for it and ends."""

    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        for message in (b"<rpc", b"\xff", b"<!DOCTYPE a><a/>", b"<rpc/>"):
            client.session.data_received(client.framed(message))
            (reply,) = client.replies()
            assert reply.items() == []
            assert (reply[0].findtext(f"{N}error-type"), reply[0].findtext(f"{N}error-tag")) == (
                "rpc",
                "malformed-message",
            )
        assert (await client.ask(GET)).tag == f"{N}data"
        old = server.client(BASE_1_0)
        old.session.data_received(b"<rpc]]>]]>")
        assert (old.wire.ends, old.replies()) == (["close"], [])

    run(scenario())


@pytest.mark.parametrize("base", [BASE_1_0, BASE_1_1])
@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("", ("rpc", "missing-element", {"bad-element": "operation"})),  # C040
        ("<get/><get/>", ("rpc", "unknown-element", {"bad-element": "get"})),
        ("<bogus/>", ("protocol", "operation-not-supported", {})),  # C039
        (
            '<bogus xmlns="urn:no"/>',  # C038
            ("protocol", "unknown-namespace", {"bad-element": "bogus", "bad-namespace": "urn:no"}),
        ),
        ('<ping xmlns="urn:example:t"><host>a</host></ping>', ("protocol", "operation-not-supported", {})),
        ("<get-config/>", ("protocol", "missing-element", {"bad-element": "source"})),  # C049
        ("<get-config><source><startup/></source></get-config>", ("protocol", "operation-not-supported", {})),  # C050
        (
            "<get-config><source><bogus/></source></get-config>",
            ("protocol", "unknown-element", {"bad-element": "bogus"}),
        ),
        ("<get><bogus/></get>", ("protocol", "unknown-element", {"bad-element": "bogus"})),
        (
            '<get><filter type="regex"/></get>',
            ("protocol", "bad-attribute", {"bad-attribute": "type", "bad-element": "filter"}),
        ),
        (
            "<edit-config><config/></edit-config>",
            ("protocol", "missing-element", {"bad-element": "target"}),
        ),  # C097, F23
        (
            "<edit-config><target><candidate/></target></edit-config>",  # C098
            ("protocol", "missing-element", {"bad-element": "config"}),
        ),
        (
            "<edit-config><target><running/></target><config/></edit-config>",  # C099
            ("protocol", "operation-not-supported", {}),
        ),
        (
            "<edit-config><target><candidate/></target><url>file:///x</url></edit-config>",  # C117
            ("protocol", "operation-not-supported", {}),
        ),
        (edit("x", "<default-operation>bogus</default-operation>"), ("protocol", "invalid-value", {})),
        (edit("x", "<error-option>bogus</error-option>"), ("protocol", "invalid-value", {})),
        (
            "<copy-config><target><candidate/></target><source><candidate/></source></copy-config>",  # C166
            ("protocol", "invalid-value", {}),
        ),
        (
            "<delete-config><target><candidate/></target></delete-config>",
            ("protocol", "operation-not-supported", {}),
        ),  # F25
        (
            "<delete-config><target><running/></target></delete-config>",
            ("protocol", "operation-not-supported", {}),
        ),  # C168
        ("<commit><persist>p</persist></commit>", ("protocol", "missing-element", {"bad-element": "confirmed"})),
        (
            "<commit><confirmed/><confirm-timeout>0</confirm-timeout></commit>",
            ("protocol", "invalid-value", {}),
        ),  # C164
        ("<commit><persist-id>p</persist-id></commit>", ("protocol", "invalid-value", {})),  # C160
        ("<cancel-commit/>", ("protocol", "invalid-value", {})),  # C161
        ("<kill-session><session-id>0</session-id></kill-session>", ("protocol", "invalid-value", {})),  # C147
        ("<kill-session><session-id>x</session-id></kill-session>", ("protocol", "invalid-value", {})),
        ("<kill-session><session-id>1</session-id></kill-session>", ("protocol", "invalid-value", {})),  # C146
        ("<lock/>", ("protocol", "missing-element", {"bad-element": "target"})),
    ],
)
def test_requests_that_are_refused(model: Model, base: str, operation: str, expected: tuple[str, str, Any]) -> None:
    async def scenario() -> None:
        server = Server(model)
        client = server.client(base)
        assert await client.refused(operation) == expected
        assert (await client.ask(GET)).tag == f"{N}data"

    run(scenario())


def test_edit_validate_commit_discard(model: Model) -> None:
    """C152, C154, C165, F41."""

    async def scenario() -> None:
        client = Server(model).client()
        await client.ok(edit("new"))
        assert (await client.config(), await client.config("running")) == ("new", "gate")
        await client.ok("<discard-changes/>")
        assert await client.config() == "gate"
        await client.ok(edit("new"))
        await client.ok("<validate><source><candidate/></source></validate>")
        await client.ok("<commit/>")
        assert await client.config("running") == "new"
        before = client.session._services.datastores.candidate
        await client.ok(edit("new", "<default-operation>replace</default-operation>"))
        assert client.session._services.datastores.candidate is before
        bad = edit("other").replace("</name>", "</name><ref>none</ref>")
        assert (await client.refused(bad))[1] == "data-missing"
        assert client.session._services.datastores.candidate is before
        await client.ok(bad.replace("<config>", "<test-option>set</test-option><config>"))
        for operation in ("<commit/>", "<validate><source><candidate/></source></validate>"):
            assert (await client.refused(operation))[:2] == ("application", "data-missing")
        assert (await client.config(), await client.config("running")) == ("other", "new")

    run(scenario())


def test_filters_and_widespread_spellings(model: Model) -> None:
    """C052, C053, F75, I08: a filter's type in the base namespace, a config in none."""

    async def scenario() -> None:
        client = Server(model).client()
        top = '<top xmlns="urn:example:t"/>'
        for filtered in (f"<filter>{top}</filter>", f'<filter xmlns:n="{NETCONF}" n:type="subtree">{top}</filter>'):
            content = await client.ask(f"<get>{filtered}</get>")
            assert [child.tag for child in content] == ["{urn:example:t}top"]
        for empty in ('<filter type="subtree"/>', '<filter><x xmlns="urn:no"/></filter>'):
            content = await client.ask(f"<get-config><source><running/></source>{empty}</get-config>")
            assert (content.tag, len(content)) == (f"{N}data", 0)
        await client.ok(edit("new").replace("<config>", '<config xmlns="">'))
        assert await client.config() == "new"

    run(scenario())


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("<identifier>t</identifier>", None),
        ("<identifier>t</identifier><version>2026-11-30</version><format>yang</format>", None),
        ("<identifier>t</identifier><version/>", None),  # C178, I11
        ('<identifier>t</identifier><format xmlns:x="{0}">x:yang</format>', None),  # C179, F59
        ("<identifier>none</identifier>", ("application", "invalid-value", {})),  # C176
        ("<identifier>t</identifier><version>2000-01-01</version>", ("application", "invalid-value", {})),
        ("<identifier>t</identifier><format>xsd</format>", ("application", "invalid-value", {})),
        ('<identifier>t</identifier><format xmlns:x="urn:no">x:yang</format>', ("application", "invalid-value", {})),
        ("", ("protocol", "missing-element", {"bad-element": "identifier"})),
    ],
)
def test_get_schema(model: Model, request_: str, expected: tuple[str, str, Any] | None) -> None:
    """C180, F107: the text as it is, escaped once."""

    async def scenario() -> None:
        client = Server(model).client()
        operation = f'<get-schema xmlns="{MONITORING}">{request_.format(MONITORING)}</get-schema>'
        if expected is not None:
            assert await client.refused(operation) == expected
            return
        content = await client.ask(operation)
        assert (content.tag, content.text) == (f"{{{MONITORING}}}data", model.modules["t"].text)

    run(scenario())


def test_an_error_has_its_path_with_prefixes(model: Model) -> None:
    """C044, C084."""

    async def scenario() -> None:
        client = Server(model).client()
        operation = edit("new").replace("<name>", f'<name xmlns:nc="{NETCONF}" nc:operation="create">')
        error = await client.ask(operation)
        assert error.findtext(f"{N}error-path") == "/t:top/t:name"
        assert error.nsmap["t"] == "urn:example:t"

    run(scenario())


def test_a_fault_of_ours_is_answered_and_logged(model: Model, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        server.engine.fault = ZeroDivisionError("secret detail")
        error = await client.ask(edit("new"))
        assert error.findtext(f"{N}error-tag") == "operation-failed"
        assert "secret" not in (error.findtext(f"{N}error-message") or "")
        server.engine.fault = operation_failed("as it is", path="/t:top", app_tag="tag")
        error = await client.ask(edit("new"))
        assert (error.findtext(f"{N}error-message"), error.findtext(f"{N}error-app-tag")) == ("as it is", "tag")
        assert await client.config() == "gate"

    run(scenario())
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]
