"""compare: how two datastores differ (RFC 9144)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import nmda, origin
from agent.differences import differences
from agent.operations.content import selected
from agent.operations.request import named_datastore
from agent.tree import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.differences import Difference
    from agent.operations.request import Request
    from agent.tree import Node

NAMESPACE: Final = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare"


async def compare(request: Request) -> bytes:
    """Return the edits that make the source datastore what the target is, as the user may read them.

    State, which only operational has, counts where ``all`` is asked for; a default value that is in use is no
    difference from a configuration that leaves it to the default.
    """
    names = nmda.names(request.services.datastores)
    model = request.services.model
    source, target = (
        named_datastore(model, request.element.find(f"{{{NAMESPACE}}}{name}"), names) for name in ("source", "target")
    )
    mixed = (source == nmda.OPERATIONAL) != (target == nmda.OPERATIONAL)
    every = request.element.find(f"{{{NAMESPACE}}}all") is not None
    before, after = [await _content(request, name, mixed=mixed, every=every) for name in (source, target)]
    inherited = (_inherited(source), _inherited(target))
    found = differences(before, after, inherited) if source != target else []
    if not found:
        return f'<no-matches xmlns="{NAMESPACE}"/>'.encode()
    reported = request.element.find(f"{{{NAMESPACE}}}report-origin") is not None
    about = f"<patch-id>{source}-{target}</patch-id><comment>what makes {source} (source) what {target} is</comment>"
    return b"".join(
        [
            f'<differences xmlns="{NAMESPACE}" xmlns:or="{origin.NAMESPACE}"><yang-patch>{about}'.encode(),
            *(part for number, one in enumerate(found, 1) for part in _edit(number, one, reported=reported)),
            b"</yang-patch></differences>",
        ]
    )


async def _content(request: Request, name: str, *, mixed: bool, every: bool) -> Node:
    """Return what is compared of a datastore; ``mixed``: with operational on one side only."""
    tree = await selected(request, name, NAMESPACE, mode="report-all" if mixed else "explicit")
    if every or not mixed:
        return tree
    return origin.narrowed(tree, lambda of: of is not None) or tree


def _inherited(name: str) -> str | None:
    return origin.INTENDED if name == nmda.OPERATIONAL else None


def _edit(number: int, one: Difference, *, reported: bool) -> Iterator[bytes]:
    yield f"<edit><edit-id>{number}</edit-id><operation>{one.operation}</operation>".encode()
    yield f"<target>{escape(one.target)}</target>".encode()
    if one.point is not None:
        yield f"<point>{escape(one.point)}</point>".encode()
    if one.where is not None:
        yield f"<where>{one.where}</where>".encode()
    for name, node in (("value", one.after), ("source-value", one.before)):
        if node is not None:
            yield f"<{name}>".encode() + _alone(node, reported=reported) + f"</{name}>".encode()
    yield b"</edit>"


def _alone(node: Node, *, reported: bool) -> bytes:
    """Return a node as XML that declares its namespace."""
    written = origin.xml(node) if reported and node.origin is not None else node.xml()
    start = f"<{node.schema.name}".encode()
    declared = f' xmlns="{node.schema.module.namespace}"'.encode()
    if node.schema.open_tag.startswith(start + declared):
        return written
    return start + declared + written[len(start) :]
