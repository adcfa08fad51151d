"""What the commands know of the model: the tree diagram is the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from agent.cli.schema import Node, model, parse
from agent.model.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.model.schema import SchemaNode

Outline: TypeAlias = tuple[str, bool, tuple[str, ...], str]

DIAGRAM = """\
module: orchard
  +--rw orchard
     +--rw tree* [row place]
     |  +--rw row        uint16
     |  +--rw place      string
     |  +--rw label*     string
     |  +--ro yield?     yang:counter64
     |  +---x shake
     +--ro season?   orc:season

  rpcs:
    +---x prune
       +---w input
       |  +---w depth?   uint8
       +--ro output
          +--ro branch*   string
"""


def test_a_diagram_has_kinds_keys_and_types() -> None:
    nodes = parse(DIAGRAM)

    assert list(nodes) == ["orchard", "prune"]
    tree = nodes["orchard"].children["tree"]
    assert (tree.kind, tree.keys, tree.config) == ("list", ("row", "place"), True)
    assert {name: node.kind for name, node in tree.children.items()} == {
        "row": "leaf",
        "place": "leaf",
        "label": "leaf-list",
        "yield": "leaf",
        "shake": "operation",
    }
    assert [name for name, node in tree.children.items() if node.is_number] == ["row", "yield"]
    assert not tree.children["yield"].config
    assert nodes["orchard"].children["season"] == Node("season", "leaf", type="orc:season")
    assert nodes["prune"].children["output"].children["branch"].is_repeated


@pytest.mark.parametrize("line", ["  +--rw tree* [row", "  |--rw tree", "  +--rw"])
def test_a_line_that_is_none_of_a_diagram_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"line 2 of the tree diagram can't be read"):
        parse(f"module: orchard\n{line}\n")


def test_lines_before_the_heading_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"line 1 of the tree diagram can't be read"):
        parse("  +--rw orchard\n")


def test_the_diagram_that_comes_along_is_the_model_that_is_served() -> None:
    served = load().node("/hardware-acceleration:acceleration")

    assert dict(_outline(model()["acceleration"])) == dict(_served_outline(served))


def _outline(node: Node, path: str = "") -> Iterator[tuple[str, Outline]]:
    for name, child in node.children.items():
        if child.kind != "operation":
            number = "wide" if child.is_wide else "number"
            meaning = number if child.is_number else child.type if child.type in {"boolean", "identityref"} else ""
            yield f"{path}/{name}", (child.kind, child.config, child.keys, meaning)
            yield from _outline(child, f"{path}/{name}")


def _served_outline(node: SchemaNode, path: str = "") -> Iterator[tuple[str, Outline]]:
    for child in node.children.values():
        if child.kind != "action":
            base = child.type.base if child.type else ""
            number = "wide" if base.endswith("int64") else "number"
            meaning = number if "int" in base else base if base in {"boolean", "identityref"} else ""
            yield f"{path}/{child.name}", (child.kind, child.config, tuple(key.name for key in child.keys), meaning)
            yield from _served_outline(child, f"{path}/{child.name}")
