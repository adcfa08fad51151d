"""Subtree filters (RFC 6241 section 6) for what a command shows, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from agent.cli.schema import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element as Element

    from agent.cli.client import Client


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


def ask(client: Client, wanted: tuple[str, Iterable[str]], needed: str, *, device: str | None = None) -> Element:
    """Return the answer to a query. Raises CommandError also where the ``needed`` node can't be read anywhere.

    An agent serves what it can, and does not say then that something is broken. It does where nothing else was asked.
    """
    found = client.get(query(wanted, device=device))
    if found.find(f".//{{{NAMESPACE}}}{needed}") is None:
        client.get(query((wanted[0], (needed,)), device=device))
    return found


def _element(name: str, parent: Element | None = None) -> Element:
    tag = f"{{{NAMESPACE}}}{name}"
    return etree.Element(tag, nsmap={"ha": NAMESPACE}) if parent is None else etree.SubElement(parent, tag)
