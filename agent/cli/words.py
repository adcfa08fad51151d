"""The words after ``set`` and ``delete``: a path in the model and a value, as an edit-config.

``qat device 0000:01:00.0 services asym sym`` are the containers, the list with its key, the leaf and its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lxml import etree

from agent.cli.parser import meant
from agent.cli.pci import canonical
from agent.cli.schema import NAMESPACE, NETCONF, Node, model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element as Element

_OPERATION: Final = f"{{{NETCONF}}}operation"


class WordsError(ValueError):
    """The words are no node of the model that can be configured, or no value for it."""


def edit(words: Sequence[str], *, delete: bool) -> Element:
    """Return the content of an edit-config that sets or deletes what the words name. Raises WordsError."""
    node = model()["acceleration"]
    element = etree.Element(_tag(node.name), nsmap={"ha": NAMESPACE, "nc": NETCONF})
    elements = [element]
    rest = list(words)
    try:
        while rest and not node.is_leaf:
            node = child(node, rest.pop(0))
            element = etree.SubElement(element, _tag(node.name))
            elements = [element]
            for key in node.keys:
                etree.SubElement(element, _tag(key)).text = _key(node, key, rest)
        if node.is_leaf:
            elements = _filled(node, element, rest, delete=delete)
        elif not delete and node.kind != "list":
            raise WordsError(f"{node.name} has no value of its own: name one of {_known(node)} in it")
    except WordsError:
        raise
    except ValueError as error:  # lxml, for what XML can't hold
        raise WordsError(f"a word has characters that can't be sent: {error}") from error
    if delete:
        for one in elements:
            one.set(_OPERATION, "delete")
    return _root(element)


def child(node: Node, name: str) -> Node:
    """Return a node below another that can be configured. Raises WordsError."""
    found = node.children.get(name)
    if found is None:
        raise WordsError(f"{node.name} has no {name!r}: {meant(name, configurable(node))}")
    if name in node.keys:
        raise WordsError(f"the {name} of {node.name} comes right after {node.name}, without the word {name}")
    if not found.config:
        what = "an operation: it can't be set" if found.kind == "operation" else "state: it can be shown, not set"
        raise WordsError(f"{node.name} {name} is {what}")
    return found


def configurable(node: Node) -> list[str]:
    """Return the names of what can be set below a node; the keys of a list are not among them."""
    return [name for name, below in node.children.items() if below.config and name not in node.keys]


def device_names(content: Element) -> list[Element]:
    """Return the elements of an edit that hold a device's name where its PCI address belongs."""
    return [key for key in content.iter(_tag("address")) if canonical(key.text or "") is None]


def suggestions(words: Sequence[str]) -> list[str]:
    """Return what may follow words, as far as the model says; for the shell's completion."""
    node, rest = model()["acceleration"], list(words)
    try:
        while rest and not node.is_leaf:
            node = child(node, rest.pop(0))
            if len(rest) < len(node.keys):
                return []
            rest = rest[len(node.keys) :]
    except WordsError:
        return []
    if node.is_leaf:
        return ["true", "false"] if node.type == "boolean" and not rest else []
    return configurable(node)


def _key(node: Node, key: str, rest: list[str]) -> str:
    if not rest:
        raise WordsError(f"{node.name} needs its {key}")
    word = rest.pop(0)
    return canonical(word) or word if node.children[key].type.endswith("pci-address") else word


def _filled(node: Node, element: Element, values: Sequence[str], *, delete: bool) -> list[Element]:
    """Give a leaf its value, or a leaf-list its values; return its elements."""
    if delete and node.kind == "leaf":
        if values:
            raise WordsError(f"{node.name} is deleted without its value: leave out {' '.join(values)}")
        return [element]
    if not values:
        raise WordsError(f"{node.name} needs {'the values to delete' if delete else 'a value'}")
    if node.kind == "leaf-list":
        parent = element.getparent()
        assert parent is not None  # noqa: S101 - the top of the model is a container
        elements = [element, *(etree.SubElement(parent, element.tag) for _ in values[1:])]
        for one, value in zip(elements, values, strict=True):
            one.text = value
        return elements
    if len(values) > 1 and not node.type.endswith("services"):
        raise WordsError(f"{node.name} takes one value, not {len(values)}: {' '.join(values)}")
    element.text = " ".join(values)
    return [element]


def _known(node: Node) -> str:
    return ", ".join(configurable(node))


def _root(element: Element) -> Element:
    return element.getroottree().getroot()


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"
