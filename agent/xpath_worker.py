"""The process in which XPath expressions are evaluated; it is killed when one takes too long.

Speaks on its standard input and output. A question is two lengths of 8 bytes, a JSON object and the XML of the data:
the ``prefixes``, and the expressions of which all that they select is wanted, the ``union``. Each of these is an
``expression``, whether it can select the ``top``, which stands for all data, and whether the parents of what it selects
are wanted instead, ``up``. An answer is a length and a JSON object with ``places`` or ``error``. A place is the number
of a child of the top, of a child of that, and so on; the top's own is empty. Or the question is a ``test`` of a
document of its own, a notification, and the answer ``holds`` or ``error``.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element as Element

_MOST_MEMORY: Final = 2 * 2**30
_PARSER: Final = etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True)
_NO_DATA: Final = b"<nothing/>"
# Data has several elements on its top, XML only one: an XPath has to see the former, and a stylesheet can make it.
_UNWRAP: Final = etree.XSLT(
    etree.XML(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
        '<xsl:template match="/"><xsl:copy-of select="/*/*"/></xsl:template></xsl:stylesheet>'
    )
)


def main() -> None:
    """Answer until the other side closes."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    known, first = b"", parsed(b"")
    while True:
        question, data = _read()
        if "test" in question:
            said = holds(data, question)
        else:
            if data != known:
                known, first = data, parsed(data)
            said = found(first, question, empty=not data)
        answer = json.dumps(said).encode()
        sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
        sys.stdout.buffer.flush()


def holds(document: bytes, question: dict[str, Any]) -> dict[str, Any]:
    """Return whether an expression is true of a document, or selects something of it, or what is wrong with it."""
    root = etree.fromstring(document, _PARSER)
    try:
        test = etree.XPath(
            f"boolean({question['test']})", namespaces=question["prefixes"], regexp=False, smart_strings=False
        )
        return {"holds": test(root.getroottree())}
    except etree.LxmlError as error:
        return {"error": str(error)}


def parsed(data: bytes) -> Element:
    """Return the first of the elements on the top."""
    first: Element = _UNWRAP(etree.fromstring(b"<data>%b</data>" % (data or _NO_DATA), _PARSER)).getroot()
    return first


def found(first: Element, question: dict[str, Any], *, empty: bool) -> dict[str, Any]:
    """Return the places that an expression selects, or what is wrong with it."""
    try:
        evaluate = etree.XPathElementEvaluator(
            first, namespaces=question["prefixes"], extensions=_FUNCTIONS, regexp=False, smart_strings=False
        )
        selected: dict[Element | None, None] = {}
        for part in question["union"]:
            selected |= _selected(evaluate, **part)
    except etree.LxmlError as error:
        return {"error": f"{error}: correct the expression"}
    except TypeError:
        return {"error": "the expression is not a node set"}
    if empty:
        return {"places": []}
    return {"places": sorted(_places(first, selected))}


def _selected(
    evaluate: etree.XPathElementEvaluator, expression: str, *, top: bool, up: bool
) -> dict[Element | None, None]:
    """Return the elements that an expression selects; None for the top. Raises TypeError where that's no node set."""
    nodes = evaluate(expression)
    if not isinstance(nodes, list):
        raise TypeError
    elements: list[Element] = [node for node in nodes if isinstance(node, etree._Element)]  # noqa: SLF001 - has no public name
    if up:
        parents = dict.fromkeys(element.getparent() for element in elements)
        if len(elements) < len(nodes):  # lxml doesn't know the parents of texts
            parents.update(_selected(evaluate, f"({expression})/..", top=False, up=False))
        return parents
    is_top = top and evaluate(f"boolean(({expression})[not(parent::node())][not(self::*)])")
    return {**dict.fromkeys(elements), **({None: None} if is_top else {})}


def _places(first: Element, elements: Iterable[Element | None]) -> list[list[int]]:
    places: dict[Element | None, list[int]] = {None: []}
    places.update({element: [n] for n, element in enumerate([first, *first.itersiblings()])})

    def place(element: Element | None) -> list[int]:
        parent = None if element is None else element.getparent()
        if element not in places and parent is not None:
            above = place(parent)
            places.update({child: [*above, n] for n, child in enumerate(parent)})
        return places[element]

    return [place(element) for element in elements]


def _re_match(_context: object, text: object, pattern: object) -> bool:
    """Whether a regular expression of XML Schema matches all of a string (RFC 7950 10.2.1)."""
    schema = etree.XML(
        '<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="a"><simpleType><restriction base="string">'
        '<pattern value=""/></restriction></simpleType></element></schema>'
    )
    schema[0][0][0][0].set("value", _string(pattern))
    value = etree.Element("a")
    value.text = _string(text)
    try:
        return etree.XMLSchema(schema).validate(value)
    except etree.XMLSchemaParseError:
        raise etree.XPathFunctionError(f"{_string(pattern)!r} is no regular expression") from None


def _bit_is_set(_context: object, nodes: object, name: object) -> bool:
    """Whether the first node of a node-set has a bit (RFC 7950 10.6.1)."""
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    return _string(name) in _string(first).split() if first is not None else False


def _string(value: object) -> str:
    """Return what XPath's string() makes of a node-set or string (XPath 1.0 section 4.2)."""
    first = (value[0] if value else "") if isinstance(value, list) else value
    if isinstance(first, etree._Element):  # noqa: SLF001 - as above
        return str(first.xpath("string()"))
    return str(first)


_FUNCTIONS: Final[Any] = {(None, "re-match"): _re_match, (None, "bit-is-set"): _bit_is_set}


def _read() -> tuple[dict[str, Any], bytes]:
    head = sys.stdin.buffer.read(16)
    if len(head) < 16:  # noqa: PLR2004 - two lengths
        sys.exit(0)
    question = sys.stdin.buffer.read(int.from_bytes(head[:8], "big"))
    return json.loads(question), sys.stdin.buffer.read(int.from_bytes(head[8:], "big"))


if __name__ == "__main__":
    main()
