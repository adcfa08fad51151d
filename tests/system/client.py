"""The field's own client, and what is asked with it."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ncclient.transport.session
from lxml import etree
from ncclient import NCClientError, manager
from ncclient.operations import RaiseMode, RPCError
from ncclient.transport import UnixSocketSession

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lxml.etree import _Element as Element

# How long the library waits between two looks for something to send: its own 0.1 s is a tenth of each request.
ncclient.transport.session.TICK = 0.001

NACM = "urn:ietf:params:xml:ns:yang:ietf-netconf-acm"
# As tests connect as whoever runs them.
OPEN = f'<nacm xmlns="{NACM}"><enable-nacm>false</enable-nacm></nacm>'
DEADLINE = 30.0
HA = "urn:accel-agent:hardware-acceleration"
NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"
ENABLED = "/ha:acceleration/ha:qat/ha:enabled"
USER, PASSWORD = "admin", "a password of the test's own"
_INHERITED = f' xmlns:nc="{NETCONF}"'


def qat(content: str) -> str:
    """Return content below /acceleration/qat."""
    return f'<acceleration xmlns="{HA}"><qat>{content}</qat></acceleration>'


def enabled(value: bool = True, more: str = "") -> str:
    """Return the configuration that switches acceleration on or off."""
    return qat(f"<enabled>{str(value).lower()}</enabled>{more}")


def device(address: str, content: str) -> str:
    """Return a device's list entry."""
    return f"<device><address>{address}</address>{content}</device>"


def rpc(name: str, content: str = "") -> str:
    """Return an operation of the base protocol."""
    return f'<{name} xmlns="{NETCONF}">{content}</{name}>'


def until(condition: Callable[[], object], what: str, *, seconds: float = DEADLINE) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.002)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An rpc-error's fields: ``info`` by name; ``more`` are the further errors of the same reply."""

    type: str
    tag: str
    app_tag: str | None
    path: str | None
    message: str
    info: dict[str, str]
    more: tuple[Refusal, ...] = ()

    @property
    def kind(self) -> tuple[str, str, str | None, str | None]:
        return self.type, self.tag, self.app_tag, self.path


class Client:
    """A session of ncclient's."""

    def __init__(self, session: Any, transport: str) -> None:
        self.manager = session
        self.transport = transport

    @property
    def id(self) -> int:
        return int(self.manager.session_id)

    def edit(self, content: str, **options: Any) -> None:
        """Edit candidate."""
        config = f'<config xmlns="{NETCONF}">{content}</config>'
        self.manager.edit_config(target="candidate", config=config, **options)

    def commit(self) -> None:
        self.manager.commit()

    def apply(self, content: str) -> None:
        """Edit and commit."""
        self.edit(content)
        self.commit()

    def config(self, source: str = "running", content: str | None = None) -> Element:
        """Return a datastore's ``<data>``, narrowed to a subtree filter's content."""
        found = self.manager.get_config(source=source, filter=None if content is None else ("subtree", content))
        return _element(found.data_ele)

    def config_text(self, source: str = "running") -> str:
        """Return a datastore as text, but for who may do what."""
        found = self.config(source)
        for nacm in found.findall(f"{{{NACM}}}nacm"):
            found.remove(nacm)
        etree.cleanup_namespaces(found)
        return "".join(etree.tostring(child, encoding="unicode") for child in found).replace(_INHERITED, "")

    def get(self, content: str) -> Element:
        """Return the ``<data>`` of running and state."""
        return _element(self.manager.get(filter=("subtree", content)).data_ele)

    def leafs(self, content: str, *names: str) -> list[list[str | None]]:
        """Return the values of leafs in the reply to a filter, by name, in their order."""
        found = self.get(content)
        return [[leaf.text for leaf in found.iter(f"{{{HA}}}{name}")] for name in names]

    def rpc(self, content: str) -> Element:
        """Return the ``<rpc-reply>`` to any operation."""
        return etree.fromstring(self.manager.rpc(etree.fromstring(content)).xml.encode())

    def plan(self, source: str = "candidate") -> list[str | None]:
        """Return the descriptions of the steps that a commit would take."""
        reply = self.rpc(f'<plan xmlns="{HA}"><source>{source}</source></plan>')
        return [step.text for step in reply.iterfind(f"{{{HA}}}step/{{{HA}}}description")]

    def start(self, content: str) -> Future:
        """Send an operation and return without waiting for the reply."""
        self.manager.async_mode = True
        try:
            return Future(self.manager.rpc(etree.fromstring(content)))
        finally:
            self.manager.async_mode = False

    def start_commit(self) -> Future:
        return self.start(f'<commit xmlns="{NETCONF}"/>')

    def refused(self, operation: Callable[..., Any], *arguments: Any, **parameters: Any) -> Refusal:
        """Do what has to be refused, and return how it was."""
        try:
            operation(*arguments, **parameters)
        except RPCError as error:
            first, *others = [_refusal(one) for one in error.errlist or [error]]
            return replace(first, more=tuple(others))
        raise AssertionError("the operation was not refused")

    def refused_or_none(self, operation: Callable[..., Any], *arguments: Any) -> Refusal | None:
        """Do what may be refused."""
        try:
            operation(*arguments)
        except RPCError as error:
            return _refusal(error)
        return None

    def drop(self) -> None:
        """Vanish, as by a crash: without close-session."""
        session = self.manager._session
        connection = session._socket if self.transport == "unix" else session._transport.sock
        connection.shutdown(socket.SHUT_RDWR)
        session.join(DEADLINE)

    def close(self) -> None:
        """End the session, if it has not ended, and all that this side has of it."""
        session = self.manager._session
        if session.connected:
            with contextlib.suppress(NCClientError):  # the agent may be gone: that is a test's business
                self.manager.close_session()
        session.close()
        session.join(DEADLINE)
        assert not session.is_alive()
        if self.transport == "unix":
            session._socket.close()


class _UnixSession(UnixSocketSession):  # type: ignore[misc]  # the library has no types
    """The library's session, whose thread would look at a closed socket for ever."""

    def close(self) -> None:
        self._closing.set()
        self._connected = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class Future:
    """The reply to come."""

    def __init__(self, rpc: Any) -> None:
        self._rpc = rpc

    @property
    def done(self) -> bool:
        return bool(self._rpc.event.is_set())

    def result(self) -> Refusal | None:
        """Wait for the reply; return how it was refused, None for ok."""
        assert self._rpc.event.wait(DEADLINE), "no reply"
        assert self._rpc.error is None, self._rpc.error
        reply = self._rpc.reply
        return None if reply.ok else _refusal(reply.error)


def connect_unix(path: Path) -> Client:
    """Open a session on a local socket."""
    handler = manager.make_device_handler(None, [])
    session = _UnixSession(handler)
    try:
        session.connect(path=str(path))
    except BaseException:
        if session._socket is not None:
            session._socket.close()
        raise
    return _client(manager.Manager(session, handler, timeout=DEADLINE), "unix")


def connect_ssh(port: int, **login: str) -> Client:
    """Open a session over SSH on the loopback interface."""
    session = manager.connect_ssh(
        host="127.0.0.1",
        port=port,
        hostkey_verify=False,
        allow_agent=False,
        look_for_keys=False,
        manager_params={"timeout": DEADLINE},
        **login,
    )
    return _client(session, "ssh")


def _client(session: Any, transport: str) -> Client:
    session.raise_mode = RaiseMode.ALL
    return Client(session, transport)


def _element(found: Any) -> Element:
    assert found is not None
    element: Element = found
    return element


def _refusal(error: Any) -> Refusal:
    assert error.severity == "error"
    if error.path is not None:
        # A path is no use without the namespaces of its prefixes.
        prefixes = {step.rpartition(":")[0] for step in error.path.split("/")[1:2]}
        assert prefixes <= {str(prefix) for prefix in error.xml.nsmap}
    info = {etree.QName(child).localname: child.text for child in error.xml.iterfind(f"{{{NETCONF}}}error-info/*")}
    return Refusal(error.type, error.tag, error.app_tag, error.path, error.message, info)
