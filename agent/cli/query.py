"""Subtree filters (RFC 6241 section 6) for what a command shows, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from agent.cli.schema import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element as Element


def query(*wanted: tuple[str, Iterable[str]], device: str | None = None) -> Element:
    """Return a filter for nodes below a path, for each path: ``("qat/device", ("name", "flows"))``.

    No nodes: all that is below the path. ``device``: only that device, by its PCI address.
    """
    top = _element("acceleration")
    for path, leafs in wanted:
        parent = top
        for name in path.split("/"):
            found = parent.find(f"{{{NAMESPACE}}}{name}")
            parent = _element(name, parent) if found is None else found
        if device is not None and path == "qat/device":
            _element("address", parent).text = device
        for leaf in leafs:
            _element(leaf, parent)
    return top


def _element(name: str, parent: Element | None = None) -> Element:
    tag = f"{{{NAMESPACE}}}{name}"
    return etree.Element(tag, nsmap={"ha": NAMESPACE}) if parent is None else etree.SubElement(parent, tag)
