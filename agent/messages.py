"""Messages as XML: the hardened parser, hello, rpc, rpc-reply (RFC 6241 sections 4 and 8.1).

All XML of the protocol is written here; data comes as bytes from the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from agent import errors
from agent.errors import NETCONF, YANG, CloseSession, NetconfError
from agent.paths import prefix_all
from agent.tree import cleaned, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lxml.etree import _Element as Element

    from agent.model.schema import Module

BASE_1_0: Final = "urn:ietf:params:netconf:base:1.0"
BASE_1_1: Final = "urn:ietf:params:netconf:base:1.1"
OK: Final = b"<ok/>"

_PARSER: Final = etree.XMLParser(
    resolve_entities=False,
    no_network=True,
    load_dtd=False,
    huge_tree=False,
    remove_comments=True,
    remove_pis=True,
)
# To look at an element's attributes takes as long as the square of their number.
MOST_ATTRIBUTES: Final = 100
_SMALL: Final = 1024
_CROWDED: Final = etree.XPath(f"boolean(//*[count(@*) > {MOST_ATTRIBUTES}])")
_ENCODINGS: Final = {None, "UTF-8", "US-ASCII", "ASCII"}
_MESSAGE_ID: Final = f"{{{NETCONF}}}message-id"


@dataclass(frozen=True, slots=True)
class Rpc:
    """A request: its operation element, and the attributes and prefixes that go back on the reply."""

    operation: Element
    echo: bytes


def parse(message: bytes) -> Element:
    """Return a message's root element. Raises NetconfError malformed-message.

    Documents with a DOCTYPE, another encoding than UTF-8, a NUL or too deep a nesting are refused; nothing is ever
    fetched and no entity expanded.
    """
    stripped = message.lstrip(b" \t\r\n")
    try:
        stripped.decode()
    except UnicodeDecodeError as error:
        raise errors.malformed_message(f"the message is not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        root = etree.fromstring(stripped, _PARSER)
    except etree.XMLSyntaxError as error:
        said = " ".join(str(error.msg).split())  # it may have line ends, and goes into the log
        raise errors.malformed_message(f"the message is not well-formed XML: {said}") from None
    if len(stripped) > _SMALL and _CROWDED(root):
        raise errors.malformed_message(f"an element has more than {MOST_ATTRIBUTES} attributes")
    about: Any = root.getroottree().docinfo  # the stubs lack doctype and encoding
    if about.doctype:
        raise errors.malformed_message("the message has a document type declaration, which is never accepted")
    if (about.encoding or "UTF-8").upper() not in _ENCODINGS:
        raise errors.malformed_message(f"the message declares the encoding {about.encoding}; it has to be UTF-8")
    return root


def hello(capabilities: Iterable[str], session_id: int) -> bytes:
    """Return the server's hello."""
    listed = "".join(f"<capability>{escape(uri)}</capability>" for uri in capabilities)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<hello xmlns="{NETCONF}"><capabilities>{listed}</capabilities>'
        f"<session-id>{session_id}</session-id></hello>"
    ).encode()


def read_hello(message: bytes) -> frozenset[str]:
    """Return the capabilities of a client's hello, parameters cut off. Raises CloseSession (bad-hello)."""
    try:
        root = parse(message)
    except NetconfError as error:
        raise CloseSession("bad-hello", error.message) from None
    if root.tag != f"{{{NETCONF}}}hello":
        raise CloseSession("bad-hello", "the first message is not a hello")
    if root.find(f"{{{NETCONF}}}session-id") is not None:
        raise CloseSession("bad-hello", "the client's hello has a session-id")
    listed = root.findall(f"{{{NETCONF}}}capabilities/{{{NETCONF}}}capability")
    offered = frozenset((one.text or "").strip().partition("?")[0] for one in listed)
    if not offered & {BASE_1_0, BASE_1_1}:
        raise CloseSession("bad-hello", "the client offers neither base:1.0 nor base:1.1")
    return offered


def read_rpc(message: bytes) -> Rpc:
    """Return the request in a message.

    Raises NetconfError for what can be answered, CloseSession where nothing says that it is a request.
    """
    root = parse(message)
    if root.tag != f"{{{NETCONF}}}rpc":
        if root.tag == f"{{{NETCONF}}}hello":
            raise CloseSession("other", "a second hello")
        raise errors.malformed_message(f"<{_local(root)}> is not an rpc in the namespace {NETCONF}")
    echo = _echo(root)
    if root.get("message-id") is None and root.get(_MESSAGE_ID) is None:
        raise AnswerableError(errors.missing_attribute("message-id", "rpc"), echo)
    if not len(root):
        raise AnswerableError(errors.missing_element("operation", type="rpc"), echo)
    if len(root) > 1:
        said = "an rpc holds exactly one operation"
        raise AnswerableError(errors.unknown_element(_local(root[1]), type="rpc", message=said), echo)
    return Rpc(root[0], echo)


def reply(echo: bytes, content: bytes) -> bytes:
    """Return an rpc-reply around its content, which is in the base namespace where it has no other."""
    return b"".join(
        [
            b'<?xml version="1.0" encoding="UTF-8"?>\n<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"',
            echo,
            b">",
            content,
            b"</rpc-reply>",
        ]
    )


def data(content: bytes) -> bytes:
    """Return the ``<data>`` of a retrieval."""
    return b"".join([b"<data>", content, b"</data>"]) if content else b"<data/>"


def error_reply(echo: bytes, error: NetconfError, modules: Mapping[str, Module]) -> tuple[bytes, bytes]:
    """Return the echo and the content of a reply that reports an error and its others.

    The prefixes of paths are declared on the reply: some clients look for ``<rpc-error>`` letter by letter.
    """
    prefixes: dict[str, str] = {}

    def prefix_of(name: str) -> str:
        nonlocal echo
        module = modules.get(name)
        if module is None or name in prefixes:
            return prefixes.get(name, name)
        prefix = module.prefix
        while (declaration := f" xmlns:{prefix}={_attribute(module.namespace)}".encode()) not in echo:
            if f" xmlns:{prefix}=".encode() not in echo:
                echo += declaration
            else:
                prefix += "_"
        return prefixes.setdefault(name, prefix)

    content = b"".join(_rpc_error(one, prefix_of) for one in _flat(error))
    return echo, content


def echo_of(error: NetconfError) -> bytes:
    """Return what a reply to a message echoes that could not be read as a request."""
    return error.echo if isinstance(error, AnswerableError) else b""


class AnswerableError(NetconfError):
    """An error in the envelope that is answered with what the envelope said."""

    def __init__(self, error: NetconfError, echo: bytes) -> None:
        super().__init__(error.type, error.tag, error.message, info=error.info)
        self.echo = echo


def _flat(error: NetconfError) -> Iterator[NetconfError]:
    yield error
    for other in error.others:
        yield from _flat(other)


def _rpc_error(error: NetconfError, prefix_of: Callable[[str], str]) -> bytes:
    """Return one rpc-error, its children in the order of RFC 6241's schema."""
    parts = [
        f"<error-type>{error.type}</error-type>",
        f"<error-tag>{error.tag}</error-tag>",
        "<error-severity>error</error-severity>",
    ]
    if error.app_tag:
        parts.append(f"<error-app-tag>{_text(error.app_tag)}</error-app-tag>")
    if error.path:
        parts.append(f"<error-path>{_text(prefix_all(error.path, prefix_of)[0])}</error-path>")
    parts.append(f'<error-message xml:lang="en">{_text(error.message)}</error-message>')
    if error.info:
        children = []
        for namespace, name, text in error.info:
            xmlns = "" if namespace == NETCONF else f' xmlns="{namespace}"'
            children.append(f"<{name}{xmlns}>{_info(namespace, text, prefix_of)}</{name}>")
        parts.append(f"<error-info>{''.join(children)}</error-info>")
    return f"<rpc-error>{''.join(parts)}</rpc-error>".encode()


def _info(namespace: str, content: str | bytes, prefix_of: Callable[[str], str]) -> str:
    if isinstance(content, bytes):
        return content.decode()
    return _text(prefix_all(content, prefix_of)[0] if namespace == YANG else content)


def _text(text: str) -> str:
    return escape(cleaned(text))


def _echo(root: Element) -> bytes:
    """Return the rpc element's prefixes and attributes as they go on the reply (RFC 6241 4.1)."""
    spaces = {prefix: uri for prefix, uri in root.nsmap.items() if prefix is not None}
    parts = [f" xmlns:{prefix}={_attribute(uri)}" for prefix, uri in spaces.items()]
    prefixes = {uri: prefix for prefix, uri in spaces.items()}
    for name, value in root.attrib.items():
        namespace, _brace, local = str(name).rpartition("}")
        prefix = "xml" if namespace[1:] == "http://www.w3.org/XML/1998/namespace" else prefixes.get(namespace[1:])
        parts.append(f" {prefix + ':' if prefix and namespace else ''}{local}={_attribute(str(value))}")
    return "".join(parts).encode()


def _attribute(value: str) -> str:
    """Return an attribute's value in double quotes; white space survives the reader's normalization."""
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return '"' + escaped.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;") + '"'


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
