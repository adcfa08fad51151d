"""Data of a reply as plain values: objects are dicts, lists are lists, in the form of RFC 7951.

One difference, for the sake of programs that count: 64-bit numbers are numbers here, where RFC 7951 has strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent.cli.schema import MODULE, NAMESPACE, Node, model

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Tree: TypeAlias = dict[str, Any]

_UNKNOWN: Final = Node("", "")
_BOOLEANS: Final = {"true": True, "false": False}


def data(element: Element) -> Tree:
    """Return what is in a ``<data>`` element; the names at the top have their module's name in front."""
    values = _values(element, Node("", "container", children=model()))
    return {_qualified(child): values[_name(child)] for child in element if _is_element(child)}


def output(element: Element, operation: str) -> Tree:
    """Return what an rpc of the model replied: ``element`` holds its output. The names are as in ``data``."""
    values = _values(element, model()[operation].children["output"])
    return {_qualified(child): values[_name(child)] for child in element if _is_element(child)}


def event(notification: Element, name: str) -> Tree:
    """Return what a ``<notification>`` tells (RFC 5277 section 4): the content of one of the model's, by its name."""
    told = notification.find(f"{{{NAMESPACE}}}{name}")
    return {} if told is None else _values(told, model()[name])


def unqualified(tree: Tree) -> Tree:
    """Return a tree whose names at the top are without their module's."""
    return {name.rpartition(":")[2]: value for name, value in tree.items()}


def acceleration(tree: Tree) -> Tree:
    """Return the model's part of what ``data`` returned; empty when it isn't there."""
    found: Tree = tree.get(f"{MODULE}:acceleration", {})
    return found


def _values(element: Element, node: Node) -> Tree:
    """Return an element's children by name. A child that the schema doesn't know becomes a list when it repeats."""
    found: dict[str, list[Any]] = {}
    schemas: dict[str, Node] = {}
    for child in element:
        if _is_element(child):
            name = _name(child)
            schemas[name] = node.children.get(name, _UNKNOWN)
            found.setdefault(name, []).append(_value(child, schemas[name]))
    return {name: all_ if schemas[name].is_repeated or len(all_) > 1 else all_[0] for name, all_ in found.items()}


def _value(element: Element, node: Node) -> Any:  # noqa: ANN401 - any of JSON's types
    if len(element) or node.kind in {"container", "list"}:
        return _values(element, node)
    text = (element.text or "").strip() if node.type != "string" else element.text or ""
    if node.type == "boolean":
        return _BOOLEANS.get(text, text)
    if node.type == "identityref":
        return _identity(element, text)
    if node.is_number:
        try:
            return int(text)
        except ValueError:
            return text
    return text


def _identity(element: Element, text: str) -> str:
    """Return an identity with its module's name. The last part of our namespaces is the module's name."""
    prefix, _, name = text.rpartition(":")
    namespace = element.nsmap.get(prefix or None, NAMESPACE)
    return f"{namespace.rpartition(':')[2]}:{name}"


def _qualified(element: Element) -> str:
    return f"{str(element.tag).rpartition('}')[0].rpartition(':')[2]}:{_name(element)}"


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _is_element(node: Element) -> bool:
    """Return whether it is an element: comments and processing instructions have no name."""
    return isinstance(node.tag, str)
