"""edit-config, copy-config, delete-config (RFC 6241 7.2 to 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import edit, errors
from agent.conditions import settle
from agent.messages import OK
from agent.operations.request import local_name, text
from agent.operations.retrieve import completed
from agent.tree import Node

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.edit import Edit, Operation
    from agent.operations.request import Request

_DEFAULTS: Final[dict[str, Operation]] = {"merge": "merge", "replace": "replace", "none": "none"}


async def edit_config(request: Request) -> bytes:
    """Change candidate, or running where that is offered, whole or not at all.

    Every error-option is carried out as rollback-on-error, which is what each of them allows: an edit that fails
    leaves its target as it was. The default test-option validates first, by YANG and by the machine (8.6.4.1).
    """
    found = request.parameters("target", "default-operation", "test-option", "error-option", "config", "url")
    if "target" not in found:
        raise errors.missing_element("target")
    target = _editable(request, found["target"])
    default = _DEFAULTS[text(found.get("default-operation"), "merge", *_DEFAULTS)]
    test = text(found.get("test-option"), "test-then-set", "test-then-set", "set", "test-only")
    text(found.get("error-option"), "stop-on-error", "stop-on-error", "continue-on-error", "rollback-on-error")
    edits = edit.parse(request.services.model, _config(found), "merge" if default == "replace" else default)
    await change(request, target, edits, whole=default == "replace", test=test)
    return OK


async def change(request: Request, target: str, edits: list[Edit], *, whole: bool, test: str = "test-then-set") -> None:
    """Edit a datastore; ``whole``: the edits are all that is to be in it. ``test`` is a test-option."""
    stores, engine = request.services.datastores, request.services.engine
    while True:
        stores.check_access(target, request.session)
        before = stores.get(target)
        after = _edited(request, before, edits, whole=whole)
        if test != "set" and after is not before:
            await engine.check(after, complete=target == "running")
            # A lock may have been taken meanwhile, and the session killed.
            stores.check_access(target, request.session)
            if request.session.ended:
                raise errors.operation_failed("the session has ended", type="protocol")
        if test == "test-only":
            return
        if await _put(request, target, before, after):
            return
        # another session edited it while the machine was asked: the edit is made again on what is there now


async def copy_config(request: Request) -> bytes:
    """Replace a datastore by another one or by a configuration in the request."""
    found = request.parameters("target", "source", "with-defaults")
    for name in ("target", "source"):
        if name not in found:
            raise errors.missing_element(name)
    target, source = request.datastore(found["target"]), found["source"]
    inline = source[0] if len(source) == 1 and local_name(source[0]) == "config" else None
    if inline is None and request.datastore(source) == target:
        raise errors.invalid_value("source and target are the same datastore")
    if target != "startup":
        _editable(request, found["target"])
    stores = request.services.datastores
    edits = None if inline is None else edit.parse(request.services.model, inline, "merge")
    while True:
        stores.check_access(target, request.session)
        before = stores.get(target)
        after = _copied(request, found, before) if edits is None else _edited(request, before, edits, whole=True)
        if target == "startup":
            stores.managed(after)  # the next agent starts with it (RFC 7950 8.3.3)
        if await _put(request, target, before, after):
            return OK


def _copied(request: Request, found: dict[str, Element], before: Node) -> Node:
    """Return what copy-config makes of its target, out of another datastore."""
    mode = text(found.get("with-defaults"), "explicit")
    # What is tagged as a default is not set where it is copied to (RFC 6243 4.5.2).
    mode = "explicit" if mode == "report-all-tagged" else mode
    source = request.datastore(found["source"])
    after = completed(request, request.services.datastores.get(source), mode)
    # From running to startup it only takes the right to call copy-config (RFC 8341 3.2.7).
    if (source, request.datastore(found["target"])) != ("running", "startup"):
        after = request.access.readable(after)
        request.access.check_write(before, after)
    return after


async def delete_config(request: Request) -> bytes:
    """Delete startup; running can't be deleted (7.4), and candidate is emptied by discard-changes."""
    name = request.datastore(request.require("target"))
    if name != "startup":
        raise errors.operation_not_supported(f"{name} can't be deleted")
    request.services.datastores.check_access(name, request.session)
    await request.services.engine.save_startup(None, request.session)
    return OK


async def _put(request: Request, target: str, before: Node, after: Node) -> bool:
    """Make a tree the content of a datastore, unless that was changed meanwhile; a change of running is a commit."""
    stores = request.services.datastores
    if target == "running":
        return await request.services.confirmed.change(before, after, request.session)
    if stores.get(target) is not before:
        return False
    if target == "candidate":
        stores.candidate = after
    else:
        await request.services.engine.save_startup(after, request.session)
    return True


def inline_config(request: Request, element: Element) -> Node:
    """Return the configuration in a request's ``<config>`` as a tree of its own."""
    return edit.apply(Node(request.services.model.root), edit.parse(request.services.model, element, "merge"))


def _edited(request: Request, before: Node, edits: list[Edit], *, whole: bool) -> Node:
    """Return a tree after edits; ``whole``: they are all that is to be in it."""
    base = Node(request.services.model.root) if whole else before
    access = request.access
    access.check_edits(before, edits)
    edited = edit.apply(base, edits)
    # What goes because its when becomes false takes no right (RFC 8341 3.2.5).
    access.check_write(before, edited)
    after = settle(request.services.model, before, edited, request.services.datastores.part)
    return before if whole and after.xml() == before.xml() else after


def _editable(request: Request, element: Element) -> str:
    """Return the datastore that a ``<target>`` names, which must be one that clients edit."""
    target = request.datastore(element)
    if target == "running" and not request.services.writable_running:
        message = "running is changed by editing candidate and commit: the capability :writable-running is not offered"
        raise errors.operation_not_supported(message)
    if target == "startup":
        raise errors.operation_not_supported("startup is not edited: it is replaced by copy-config")
    return target


def _config(found: dict[str, Element]) -> Element:
    if "url" in found:
        raise errors.operation_not_supported("<url> is not supported: the capability :url is not offered")
    if "config" not in found:
        raise errors.missing_element("config")
    return found["config"]
