"""Data of a reply as plain values, in the form of RFC 7951: objects are dicts, lists are lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lxml import etree

from agent.cli.schema import MODULE, NAMESPACE, Node, model

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Tree: TypeAlias = dict[str, Any]

_UNKNOWN: Final = Node("", "")
_BOOLEANS: Final = {"true": True, "false": False}


def data(element: Element, *, wide_as_text: bool = False) -> Tree:
    """Return what is in a ``<data>`` element; the names at the top have their module's name in front.

    ``wide_as_text``: numbers of 64 bits are strings, as RFC 7951 6.1 has it for programs that would round them.
    """
    return _values(element, Node("", "container", children=model()), wide_as_text=wide_as_text)


def output(element: Element, operation: str, *, wide_as_text: bool = False) -> Tree:
    """Return what an rpc of the model replied: ``element`` holds its output. All else is as in ``data``."""
    return _values(element, model()[operation].children["output"], wide_as_text=wide_as_text)


def event(notification: Element, name: str) -> Tree:
    """Return what a ``<notification>`` tells (RFC 5277 section 4): the content of one of the model's, by its name."""
    told = notification.find(f"{{{NAMESPACE}}}{name}")
    return {} if told is None else _values(told, model()[name], wide_as_text=False)


def unqualified(tree: Tree) -> Tree:
    """Return a tree whose names at the top are without their module's."""
    return {name.rpartition(":")[2]: value for name, value in tree.items()}


def acceleration(tree: Tree) -> Tree:
    """Return the model's part of what ``data`` returned; empty when it isn't there."""
    found: Tree = tree.get(f"{MODULE}:acceleration", {})
    return found


def _values(element: Element, node: Node, *, wide_as_text: bool) -> Tree:
    """Return an element's children by name. A child that the schema doesn't know becomes a list when it repeats."""
    found: dict[str, list[Any]] = {}
    schemas: dict[str, Node] = {}
    for child in element:
        if _is_element(child):
            name = _name(child, element)
            schemas[name] = node.children.get(name.rpartition(":")[2], _UNKNOWN)
            found.setdefault(name, []).append(_value(child, schemas[name], wide_as_text=wide_as_text))
    return {name: all_ if schemas[name].is_repeated or len(all_) > 1 else all_[0] for name, all_ in found.items()}


def _value(element: Element, node: Node, *, wide_as_text: bool) -> Any:  # noqa: ANN401 - any of JSON's types
    if len(element) or node.kind in {"container", "list"}:
        return _values(element, node, wide_as_text=wide_as_text)
    text = (element.text or "").strip() if node.type != "string" else element.text or ""
    if node.type == "boolean":
        return _BOOLEANS.get(text, text)
    if node.type == "identityref":
        return _identity(element, text)
    if node.is_number and not (wide_as_text and node.is_wide):
        try:
            return int(text)
        except ValueError:
            return text
    return text


def _identity(element: Element, text: str) -> str:
    """Return an identity with its module's name, the last part of the namespace of our modules and the IETF's."""
    prefix, _, name = text.rpartition(":")
    namespace = element.nsmap.get(prefix or None, NAMESPACE)
    return f"{namespace.rpartition(':')[2]}:{name}"


def _name(element: Element, parent: Element) -> str:
    """Return an element's name, with its module's in front where that is not its parent's (RFC 7951 4)."""
    name = etree.QName(element)
    space = name.namespace or ""
    same = space == etree.QName(parent).namespace
    return name.localname if same else f"{space.rpartition(':')[2]}:{name.localname}"


def _is_element(node: Element) -> bool:
    """Return whether it is an element: comments and processing instructions have no name."""
    return isinstance(node.tag, str)
