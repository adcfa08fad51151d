"""compare: how two datastores differ (RFC 9144)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import nmda, origin
from agent.difference import PLACED, changes
from agent.operations.content import selected
from agent.operations.request import named_datastore
from agent.tree import alone, escape, with_origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.difference import Change
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
    found = list(changes(before, after)) if source != target else []
    if not found:
        return f'<no-matches xmlns="{NAMESPACE}"/>'.encode()
    reported = request.element.find(f"{{{NAMESPACE}}}report-origin") is not None
    sides = {"value": (after, _inherited(target)), "source-value": (before, _inherited(source))} if reported else {}
    about = f"<patch-id>{source}-{target}</patch-id><comment>what makes {source} (source) what {target} is</comment>"
    return b"".join(
        [
            f'<differences xmlns="{NAMESPACE}" xmlns:or="{origin.NAMESPACE}"><yang-patch>{about}'.encode(),
            *(part for number, one in enumerate(found, 1) for part in _edit(number, one, sides)),
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


def _edit(number: int, one: Change, sides: Mapping[str, tuple[Node, str | None]]) -> Iterator[bytes]:
    """Yield an edit. ``sides`` are the trees that its values are of, and what is inherited there: their origins."""
    yield f"<edit><edit-id>{number}</edit-id><operation>{one.operation}</operation>".encode()
    yield f"<target>{escape(one.target)}</target>".encode()
    if one.point_target is not None:
        yield f"<point>{escape(one.point_target)}</point><where>after</where>".encode()
    elif one.operation in PLACED:
        yield b"<where>first</where>"
    values = {"value": one.value, "source-value": one.before}
    for name, node in values.items():
        if node is not None:
            written = _with_origins(node, one, *sides[name]) if sides else node.xml()
            yield f"<{name}>".encode() + alone(node.schema, written) + f"</{name}>".encode()
    yield b"</edit>"


def _with_origins(node: Node, one: Change, tree: Node, top: str | None) -> bytes:
    """Return a node's XML with origins, the one that it inherits in its tree included."""
    marked = with_origin(node, node.origin or origin.inherited(tree, one.path, top))
    return node.xml() if marked.origin is None else origin.xml(marked)
