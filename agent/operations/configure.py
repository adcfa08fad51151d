"""edit-config, copy-config, delete-config (RFC 6241 7.2 to 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import edit, errors
from agent.messages import OK
from agent.operations.request import datastore, local_name, text
from agent.tree import Node

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.edit import Edit, Operation
    from agent.operations.request import Request

_DEFAULTS: Final[dict[str, Operation]] = {"merge": "merge", "replace": "replace", "none": "none"}


async def edit_config(request: Request) -> bytes:
    """Change candidate, whole or not at all.

    Every error-option is carried out as rollback-on-error, which is what each of them allows: an edit that fails
    leaves candidate as it was. The default test-option validates first, by YANG and by the machine (8.6.4.1).
    """
    found = request.parameters("target", "default-operation", "test-option", "error-option", "config", "url")
    _require_target(found)
    default = _DEFAULTS[text(found.get("default-operation"), "merge", *_DEFAULTS)]
    test = text(found.get("test-option"), "test-then-set", "test-then-set", "set", "test-only")
    text(found.get("error-option"), "stop-on-error", "stop-on-error", "continue-on-error", "rollback-on-error")
    edits = edit.parse(request.services.model, _config(found), "merge" if default == "replace" else default)
    stores, engine = request.services.datastores, request.services.engine
    while True:
        stores.check_access("candidate", request.session)
        before = stores.candidate
        after = _edited(request, before, edits, whole=default == "replace")
        if test != "set" and after is not before:
            await engine.check(after)
        if test == "test-only":
            return OK
        if stores.candidate is before:
            stores.candidate = after
            return OK
        # another session edited candidate while the machine was asked: the edit is made again on what is there now


def copy_config(request: Request) -> bytes:
    """Replace candidate by running or by a configuration in the request."""
    found = request.parameters("target", "source")
    if "target" not in found:
        raise errors.missing_element("target")
    if "source" not in found:
        raise errors.missing_element("source")
    target, source = datastore(found["target"]), found["source"]
    stores = request.services.datastores
    inline = source[0] if len(source) == 1 and local_name(source[0]) == "config" else None
    if inline is None and datastore(source) == target:
        raise errors.invalid_value("source and target are the same datastore")
    _require_candidate(target)
    stores.check_access("candidate", request.session)
    if inline is None:
        stores.candidate = stores.running
        return OK
    edits = edit.parse(request.services.model, inline, "merge")
    stores.candidate = _edited(request, stores.candidate, edits, whole=True)
    return OK


def delete_config(request: Request) -> bytes:
    """Refuse: running can't be deleted (7.4), candidate is emptied by discard-changes, and there is no startup."""
    name = datastore(request.require("target"))
    raise errors.operation_not_supported(f"{name} can't be deleted")


def inline_config(request: Request, element: Element) -> Node:
    """Return the configuration in a request's ``<config>`` as a tree of its own."""
    return edit.apply(Node(request.services.model.root), edit.parse(request.services.model, element, "merge"))


def _edited(request: Request, before: Node, edits: list[Edit], *, whole: bool) -> Node:
    """Return a tree after edits; ``whole``: they are all that is to be in it."""
    if not whole:
        return edit.apply(before, edits)
    after = edit.apply(Node(request.services.model.root), edits)
    return before if after.xml() == before.xml() else after


def _require_target(found: dict[str, Element]) -> None:
    if "target" not in found:
        raise errors.missing_element("target")
    _require_candidate(datastore(found["target"]))


def _require_candidate(target: str) -> None:
    if target != "candidate":
        message = "running is changed by editing candidate and commit: the capability :writable-running is not offered"
        raise errors.operation_not_supported(message)


def _config(found: dict[str, Element]) -> Element:
    if "url" in found:
        raise errors.operation_not_supported("<url> is not supported: the capability :url is not offered")
    if "config" not in found:
        raise errors.missing_element("config")
    return found["config"]
