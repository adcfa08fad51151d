"""A file with configuration: its elements, and the lines on which the agent finds something wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from agent.cli.errors import CommandError
from agent.cli.schema import NETCONF
from agent.paths import STEP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lxml.etree import _Element as Element

    from agent.cli.errors import AgentError

# The last line that libxml2 can tell of every element: it may stand for any that follows.
_LAST_LINE: Final = 65535
_DOCTYPE: Final = b"<!DOCTYPE"


def read(path: Path) -> list[Element]:
    """Return the top-level elements in a file. Raises OSError, CommandError with file, line and column."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    text = path.read_bytes()
    try:
        root = etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        said = str(error.msg).removesuffix(f", line {line}, column {column}")
        what = "JSON, and load takes XML" if text.lstrip()[:1] in {b"{", b"["} else f"no XML: {said}"
        raise CommandError(f"{path}:{line}:{column}: {what}: correct the file") from error
    if root.getroottree().docinfo.internalDTD is not None:
        line = text[: text.find(_DOCTYPE)].count(b"\n") + 1
        raise CommandError(f"{path}:{line}: a document type declaration, which no agent takes: take it out")
    return list(root) if root.tag in {f"{{{NETCONF}}}config", "config"} else [root]


def located(path: Path, content: Sequence[Element], errors: Sequence[AgentError]) -> CommandError:
    """Return what an agent says of a file's elements, each error with the line that it is about, where there is one."""
    config = etree.Element("config")
    config.extend(content)
    lines = [_line(config, error) for error in errors]
    return CommandError(
        "; ".join(
            error.text if line is None else f"{path}:{line}: {error.text}"
            for line, error in zip(lines, errors, strict=True)
        )
    )


def _line(config: Element, error: AgentError) -> int | None:
    """Return the line of the element that an error is about; of what is not in the file, that of its parent."""
    path = error.path or ""
    steps = [match.start() for match in STEP.finditer(path) if match["before"] == "/"]
    places = _instances(config, path, error) or _instances(config, path[: steps[-1]] if steps else "", error)
    if error.tag == "missing-element":
        places = [place for place in places if not _named(place, error)]
    else:
        places = [child for place in places for child in _named(place, error)] or places
    line: Any = places[0].sourceline if places else None  # the stubs have no number
    return None if line == _LAST_LINE else line


def _instances(config: Element, path: str, error: AgentError) -> list[Element]:
    try:
        found: Any = config.xpath(f".{path}", namespaces=dict(error.namespaces))
    except etree.XPathError:
        # Another agent may write something else there.
        return []
    return [one for one in found if etree.iselement(one)] if isinstance(found, list) else []


def _named(parent: Element, error: AgentError) -> list[Element]:
    """Return the children that an error's error-info names, by name or by name and attribute."""
    return [
        child
        for child in parent
        if etree.QName(child).localname == error.element
        and (error.attribute is None or error.attribute in {etree.QName(name).localname for name in child.attrib})
    ]
