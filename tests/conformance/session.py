"""A NETCONF session of bytes on the agent's local socket, and its replies as the matrix writes them."""

from __future__ import annotations

import contextlib
import re
import socket
from typing import TYPE_CHECKING, Any

from lxml import etree

from tests.system.client import DEADLINE, NACM, NETCONF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lxml.etree import _Element as Element

END = b"]]>]]>"
N = f"{{{NETCONF}}}"
T = "urn:example:t"
XMLNS_T = f'xmlns="{T}"'
BASE = "urn:ietf:params:netconf:base:"
_MEBIBYTE = 1024 * 1024


def hello(*capabilities: str, more: str = "") -> bytes:
    """Return a client's hello in its framing; without capabilities that of base:1.1."""
    listed = "".join(f"<capability>{uri}</capability>" for uri in capabilities or (f"{BASE}1.1",))
    return f'<hello xmlns="{NETCONF}"><capabilities>{listed}</capabilities>{more}</hello>'.encode() + END


def rpc(content: str, message_id: str = "1") -> bytes:
    """Return a request; ``content`` is in the base namespace where it has no other."""
    return f'<rpc xmlns="{NETCONF}" message-id="{message_id}">{content}</rpc>'.encode()


def chunked(*chunks: bytes) -> bytes:
    """Return a message of some chunks."""
    return b"".join(b"\n#%d\n%b" % (len(chunk), chunk) for chunk in chunks) + b"\n##\n"


def top(content: str, attributes: str = "") -> str:
    """Return content below module t's ``top``; the prefixes nc and y are declared."""
    spaces = f'xmlns="{T}" xmlns:nc="{NETCONF}" xmlns:y="urn:ietf:params:xml:ns:yang:1"'
    return f"<top {spaces} {attributes}>{content}</top>"


def edit(content: str, *, default: str = "", options: str = "", target: str = "candidate") -> str:
    """Return an edit-config."""
    default = default and f"<default-operation>{default}</default-operation>"
    return f"<edit-config><target><{target}/></target>{default}{options}<config>{content}</config></edit-config>"


def get_config(wanted: str | None = None, *, source: str = "candidate", more: str = "") -> str:
    """Return a get-config; ``wanted`` is a subtree filter's content, None for no filter."""
    narrowed = "" if wanted is None else f'<filter type="subtree">{wanted}</filter>'
    return f"<get-config><source><{source}/></source>{narrowed}{more}</get-config>"


def refusals(reply: Element) -> list[str]:
    """Return a reply's errors as ``type/tag[/app-tag] {info} @path``; check what holds for every error."""
    found = []
    for error in reply.iterfind(f"{N}rpc-error"):
        names = [etree.QName(child).localname for child in error]
        order = ["type", "tag", "severity", "app-tag", "path", "message", "info"]
        assert names == [f"error-{name}" for name in order if f"error-{name}" in names]
        assert error.findtext(f"{N}error-severity") == "error"
        assert "Traceback" not in (error.findtext(f"{N}error-message") or "")
        kind = [error.findtext(f"{N}error-{name}") for name in ("type", "tag", "app-tag")]
        info = [f"{etree.QName(child).localname}={child.text}" for child in error.iterfind(f"{N}error-info/*")]
        path = error.findtext(f"{N}error-path")
        if path is not None:
            assert path.startswith("/")
            assert {step.partition(":")[0] for step in re.findall(r"/([\w.-]+:)", path)} <= set(error.nsmap)
        shown = f" {{{','.join(info)}}}" if info else ""
        found.append("/".join(part for part in kind if part) + shown + (f" @{path}" if path else ""))
    assert found, etree.tostring(reply)
    return found


def text_of(element: Element) -> str:
    """Return all text in an element."""
    return "".join(str(part) for part in element.itertext())


def plain(element: Element) -> str:
    """Return what is in an element, without namespaces: enough where the names say which it is.

    Who may do what is left out: it is there in every configuration, and only some tests are about it.
    """
    return "".join(_plain(child) for child in element if child.tag != f"{{{NACM}}}nacm")


class Session:
    """One connection; chunked framing unless it is told another ``base``, ``base=None`` says nothing at all."""

    def __init__(self, path: Path | None, *, base: str | None = "1.1", channel: Any = None) -> None:
        self.channel = channel or socket.socket(socket.AF_UNIX)
        if path is not None:
            self.channel.connect(str(path))
        self.channel.settimeout(DEADLINE)
        self.received = b""
        self._chunks = base == "1.1"
        self.hello = etree.fromstring(self.until(END))
        self.id = int(self.hello.findtext(f"{N}session-id") or "")
        self._serial = 0
        if base is not None:
            self.send(hello(f"{BASE}{base}"))

    def send(self, data: bytes) -> None:
        """Send, or find out that the other side takes no more."""
        with contextlib.suppress(OSError):
            self.channel.sendall(data)

    def until(self, mark: bytes) -> bytes:
        """Return what comes up to a mark, without it."""
        while mark not in self.received:
            data = self.channel.recv(_MEBIBYTE)
            assert data, f"the connection ended after {self.received!r}"
            self.received += data
        found, _, self.received = self.received.partition(mark)
        return found

    def _take(self, size: int) -> bytes:
        while len(self.received) < size:
            data = self.channel.recv(_MEBIBYTE)
            assert data, f"the connection ended after {self.received!r}"
            self.received += data
        taken, self.received = self.received[:size], self.received[size:]
        return taken

    def ends(self) -> bytes:
        """Wait for the end of the connection and return what came before it."""
        with contextlib.suppress(ConnectionResetError):  # what was sent and not read makes it one
            while data := self.channel.recv(_MEBIBYTE):
                self.received += data
        return self.received

    def reply_bytes(self) -> bytes:
        """Return the next reply. A chunked one is taken apart to the letter."""
        if not self._chunks:
            return self.until(END)
        message = b""
        while True:
            assert self._take(2) == b"\n#"
            size = self.until(b"\n")
            if size == b"#":
                return message
            assert re.fullmatch(rb"[1-9][0-9]*", size)
            chunk = self._take(int(size))
            chunk.decode()  # no character is split
            message += chunk

    def reply(self) -> Element:
        """Return the next reply, parsed."""
        return etree.fromstring(self.reply_bytes())

    def message(self, message: bytes) -> Element:
        """Send a message and return the reply."""
        self.send(chunked(message) if self._chunks else message + END)
        return self.reply()

    def ask(self, content: str) -> Element:
        """Send an operation and return the reply, which is this operation's."""
        self._serial += 1
        reply = self.message(rpc(content, str(self._serial)))
        assert reply.tag == f"{N}rpc-reply"
        assert reply.get("message-id") == str(self._serial)
        return reply

    def outcome(self, content: str) -> str:
        """Return ``ok``, or the error, of which there is one."""
        reply = self.ask(content)
        if [child.tag for child in reply] == [f"{N}ok"]:
            assert not reply[0].text
            assert not len(reply[0])
            return "ok"
        (refusal,) = refusals(reply)
        return refusal

    def ok(self, *contents: str) -> None:
        """Do what has to succeed."""
        for content in contents:
            outcome = self.outcome(content)
            assert outcome == "ok", f"{outcome} to {content}"

    def data(self, content: str) -> str:
        """Return what a retrieval gives, without namespaces."""
        (data,) = self.ask(content)
        assert data.tag == f"{N}data", etree.tostring(data)
        return plain(data)

    def config(self, wanted: str | None = None, *, source: str = "candidate") -> str:
        """Return a datastore, narrowed to a subtree filter's content, without namespaces."""
        return self.data(get_config(wanted, source=source))

    def fill(self, content: str) -> None:
        """Make content what candidate and running have below module t's ``top``."""
        self.ok(edit(top(content)), "<commit/>")

    def close(self) -> None:
        """End the connection."""
        self.channel.close()


def _plain(element: Element) -> str:
    name = etree.QName(element).localname
    inner = "".join(_parts(element))
    attributes = "".join(f' {etree.QName(key).localname}="{value!s}"' for key, value in element.attrib.items())
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"


def _parts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield _plain(child)
        yield child.tail or ""
