"""Edits inside the container of module t, and what they make of it."""

from typing import Any

import pytest
from lxml import etree

from agent import edit
from agent.edit import Operation
from agent.errors import NETCONF, NetconfError
from agent.model.load import Model
from agent.tree import Node, from_json

SPACES = f'xmlns="{NETCONF}" xmlns:nc="{NETCONF}" xmlns:y="urn:ietf:params:xml:ns:yang:1" xmlns:q="urn:example:t"'
Info = tuple[tuple[str, str, str], ...]


def tree(model: Model, **data: Any) -> Node:
    """Return a datastore with these children of top."""
    return from_json(model.root, {"t:top": data}) if data else Node(model.root)


def element(config: str) -> etree._Element:
    return etree.fromstring(f"<config {SPACES}>{config}</config>")


def run(model: Model, root: Node, config: str, default: Operation = "merge") -> Node:
    """Return a tree after an edit inside top."""
    inside = element(f'<top xmlns="urn:example:t">{config}</top>')
    return edit.apply(root, edit.parse(model, inside, default))


def data(root: Node) -> dict[str, Any]:
    """Return the children of top by name: leafs as text, entries in their order."""
    (top,) = etree.fromstring(b"<x>" + (root.xml() or b"<top/>") + b"</x>")
    found: dict[str, Any] = {}
    for child in top:
        value = {leaf.tag.rpartition("}")[2]: leaf.text for leaf in child} if len(child) else child.text
        found.setdefault(child.tag.rpartition("}")[2], []).append(value)
    return found


def refused(model: Model, root: Node, config: str, default: Operation = "merge") -> NetconfError:
    """Return the error of an edit that must leave the tree alone."""
    before, shape = root.xml(), dict(root.children)
    with pytest.raises(NetconfError) as caught:
        run(model, root, config, default)
    assert (root.xml(), root.children) == (before, shape)
    return caught.value


def bad(**names: str) -> Info:
    return tuple((NETCONF, f"bad-{what}", name) for what, name in names.items())
