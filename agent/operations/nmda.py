"""get-data and edit-data (RFC 8526 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import edit, errors, nmda, origin
from agent.messages import OK
from agent.operations.configure import change
from agent.operations.content import selected
from agent.operations.request import NMDA, named_datastore, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.etree import _Element as Element

    from agent.edit import Operation
    from agent.operations.request import Request

_DEEPEST: Final = 65535
_ORIGINS: Final = "ietf-origin:"
_DEFAULTS: Final[dict[str, Operation]] = {"merge": "merge", "replace": "replace", "none": "none"}


async def get_data(request: Request) -> bytes:
    """Return what a datastore holds of what all filters select."""
    name = named_datastore(request.services.model, _one(request, "datastore"), nmda.names(request.services.datastores))
    wanted = _wanted(request, name)
    depth = _depth(_one(request, "max-depth"))
    if _one(request, "with-origin") is not None and name != nmda.OPERATIONAL:
        raise errors.invalid_value(f"with-origin is for operational; nothing in {name} has an origin")
    mode = _one(request, "with-defaults")
    if mode is not None and name == nmda.OPERATIONAL:
        raise errors.invalid_value("with-defaults is not supported for operational, which has the values in use")
    tree = await selected(request, name, NMDA, mode=text(mode, "explicit"), depth=depth)
    if wanted is not None:
        tree = origin.narrowed(tree, wanted) or tree.with_children({})
    if _one(request, "with-origin") is None:
        return b"".join([f'<data xmlns="{NMDA}">'.encode(), tree.xml(), b"</data>"])
    start = f'<data xmlns="{NMDA}" xmlns:or="{origin.NAMESPACE}">'
    return b"".join([start.encode(), origin.xml(tree), b"</data>"])


async def edit_data(request: Request) -> bytes:
    """Change a datastore, whole or not at all."""
    stores = request.services.datastores
    name = named_datastore(request.services.model, _one(request, "datastore"), nmda.names(stores))
    if name != "candidate" and not (name == "running" and request.services.writable_running):
        raise errors.invalid_value(f"{name} is not edited by clients")
    default = _DEFAULTS[text(_one(request, "default-operation"), "merge", *_DEFAULTS)]
    config = _one(request, "config")
    if config is None:
        raise errors.missing_element("config")
    edits = edit.parse(request.services.model, config, "merge" if default == "replace" else default)
    await change(request, name, edits, whole=default == "replace")
    return OK


def _wanted(request: Request, name: str) -> Callable[[str | None], bool] | None:
    """Return which nodes config-filter and the origin filters let through, by their origin, None for state.

    It is None itself where that is all.
    """
    config = text(_one(request, "config-filter"), "")
    listed = {kind: _all(request, kind) for kind in ("origin-filter", "negated-origin-filter")}
    for kind, found in listed.items():
        if found and name != nmda.OPERATIONAL:
            raise errors.invalid_value(f"{kind} is for operational; nothing in {name} has an origin")
    if not config and not any(listed.values()):
        return None
    asked, negated = (_origins(request, found) for found in listed.values())

    def wanted(of: str | None) -> bool:
        if of is None:
            return config != "true"
        return config != "false" and of not in negated and (not asked or of in asked)

    return wanted


def _origins(request: Request, found: list[Element]) -> set[str]:
    leaf = request.services.model.node("/ietf-netconf-nmda:get-data/input/origin-filter")
    return {leaf.canonical(element.text or "", element).removeprefix(_ORIGINS) for element in found}


def _depth(element: Element | None) -> int | None:
    value = text(element, "unbounded")
    if value == "unbounded":
        return None
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= _DEEPEST):
        raise errors.invalid_value(f"max-depth is {value!r}, which is neither unbounded nor in 1 to {_DEEPEST}")
    return int(value)


def _all(request: Request, name: str) -> list[Element]:
    return request.element.findall(f"{{{NMDA}}}{name}")


def _one(request: Request, name: str) -> Element | None:
    return request.element.find(f"{{{NMDA}}}{name}")
