"""The process in which XPath expressions are evaluated; it is killed when one takes too long.

Speaks on its standard input and output. A question is two lengths of 8 bytes, a JSON object and data; the first one
says which modules to load. An answer is a length and a JSON object with ``paths``, ``holds`` or ``error``.

An ``expression`` is evaluated on a datastore, by libyang; a ``test``, of a notification, on plain XML.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

from lxml import etree

from agent.model.validate import Sources, Validator

_MOST_MEMORY = 2 * 2**30


def main() -> None:
    """Answer until the other side closes."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    sources, _ = _read()
    validator = Validator(Sources(**sources))
    known, tree = b"", None
    while True:
        question, data = _read()
        if "test" in question:
            found = _test(question["test"], question["prefixes"], data)
        else:
            if data != known or tree is None:
                known, tree = data, validator.parse_only(data)
            found = validator.find(tree, question["expression"])
        answer = json.dumps(found).encode()
        sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
        sys.stdout.buffer.flush()


def _test(expression: str, prefixes: dict[str, str], data: bytes) -> dict[str, Any]:
    document = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    try:
        test = etree.XPath(f"boolean({expression})", namespaces=prefixes, regexp=False, smart_strings=False)
        return {"holds": test(document.getroottree())}
    except etree.XPathError as error:
        return {"error": str(error)}


def _read() -> tuple[dict[str, Any], bytes]:
    head = sys.stdin.buffer.read(16)
    if len(head) < 16:  # noqa: PLR2004 - two lengths
        sys.exit(0)
    question = sys.stdin.buffer.read(int.from_bytes(head[:8], "big"))
    return json.loads(question), sys.stdin.buffer.read(int.from_bytes(head[8:], "big"))


if __name__ == "__main__":
    main()
