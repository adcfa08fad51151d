"""What differs between two trees, as the edits of a YANG patch (RFC 8072 2.5, RFC 8641 3.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.difference import PLACED, changes
from agent.tree import alone, escape

if TYPE_CHECKING:
    from collections.abc import Container

    from agent.difference import Change
    from agent.tree import Node


def xml(before: Node, after: Node, *, excluded: Container[str] = ()) -> bytes:
    """Return what makes one tree the other as the content of a yang-patch, without the edits of excluded operations."""
    wanted = (change for change in changes(before, after) if change.operation not in excluded)
    return b"".join(_edit(number, change) for number, change in enumerate(wanted, 1))


def _edit(number: int, change: Change) -> bytes:
    parts = [f"<edit><edit-id>edit{number}</edit-id><operation>{change.operation}</operation>"]
    parts.append(f"<target>{escape(change.target)}</target>")
    if change.point_target is not None:
        parts.append(f"<point>{escape(change.point_target)}</point><where>after</where>")
    elif change.operation in PLACED:
        parts.append("<where>first</where>")
    node = change.value
    value = b"" if node is None else b"<value>" + alone(node.schema, node.xml()) + b"</value>"
    return "".join(parts).encode() + value + b"</edit>"
