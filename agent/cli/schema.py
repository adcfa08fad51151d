"""What the commands know of the model: its tree diagram, which comes with it.

The commands talk to agents that may be elsewhere, so they don't load the model itself. The diagram has what they
need: which nodes there are, which are lists and by which keys, which leafs are numbers.
"""

from __future__ import annotations

import importlib.resources
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODULE: Final = "hardware-acceleration"
NAMESPACE: Final = f"urn:accel-agent:{MODULE}"
NETCONF: Final = "urn:ietf:params:xml:ns:netconf:base:1.0"
_NUMBER: Final = re.compile(r"u?int(8|16|32|64)|(yang:)?(counter|gauge|zero-based-counter)(32|64)")
_LINE: Final = re.compile(
    r"(?P<lead>[ |]*)\+--(?P<flags>[-a-z]{2}) (?P<name>[\w.-]+)(?P<mark>[?*]?)"
    r"(?: \[(?P<keys>[^\]]*)\])?(?: +(?P<type>[\w.:-]+|-> \S+))?$"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the model. ``kind`` is container, list, leaf, leaf-list or operation; ``type`` is of a leaf."""

    name: str
    kind: str
    config: bool = False
    type: str = ""
    keys: tuple[str, ...] = ()
    children: Mapping[str, Node] = field(default_factory=dict)

    @property
    def is_leaf(self) -> bool:
        """Whether the node has a value."""
        return self.kind in {"leaf", "leaf-list"}

    @property
    def is_repeated(self) -> bool:
        """Whether there can be several of it."""
        return self.kind in {"list", "leaf-list"}

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return _NUMBER.fullmatch(self.type) is not None

    @property
    def is_wide(self) -> bool:
        """Whether its values are numbers of 64 bits."""
        return self.is_number and self.type.endswith("64")


@cache
def model() -> Mapping[str, Node]:
    """Return the model's top-level nodes by name: data, rpcs, notifications."""
    return parse(importlib.resources.files("yang").joinpath(f"{MODULE}.tree").read_text(encoding="utf-8"))


def parse(diagram: str) -> dict[str, Node]:
    """Return the top-level nodes of a tree diagram (RFC 8340) by name. Raises ValueError for a line it can't read."""
    # Data, rpcs and notifications each begin with a heading, and at a column of their own.
    parts: list[list[re.Match[str]]] = []
    for number, line in enumerate(diagram.splitlines(), 1):
        if line.endswith(":") or line.startswith("module: "):
            parts.append([])
        elif line:
            found = _LINE.match(line)
            if found is None or not parts:
                raise ValueError(f"line {number} of the tree diagram can't be read: {line.strip()}")
            parts[-1].append(found)
    return {name: node for part in parts for name, node in _nodes(part).items()}


def _nodes(rows: Sequence[re.Match[str]]) -> dict[str, Node]:
    """Return the nodes of the first row's column, each with what stands below it further to the right."""
    if not rows:
        return {}
    starts = [n for n, row in enumerate(rows) if len(row["lead"]) <= len(rows[0]["lead"])]
    return {
        rows[start]["name"]: _node(rows[start], _nodes(rows[start + 1 : end]))
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)
    }


def _node(row: re.Match[str], children: dict[str, Node]) -> Node:
    keys = tuple((row["keys"] or "").split())
    return Node(row["name"], _kind(row), row["flags"] in {"rw", "-w"}, row["type"] or "", keys, children)


def _kind(row: re.Match[str]) -> str:
    if row["flags"] in {"-x", "-n"}:
        return "operation"
    if row["type"]:
        return "leaf-list" if row["mark"] == "*" else "leaf"
    return "container" if row["keys"] is None else "list"
