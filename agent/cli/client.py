"""A NETCONF session of a command: what it asks the agent, and every failure as one line."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ncclient.transport.session
from lxml import etree
from ncclient import NCClientError, manager
from ncclient.operations import RPCError
from ncclient.operations.errors import TimeoutExpiredError
from ncclient.transport import UnixSocketSession
from ncclient.transport.errors import UnixSocketError

from agent.cli.errors import AgentError, CommandError, RefusedError
from agent.cli.output import plain
from agent.cli.schema import NAMESPACE, NETCONF
from agent.cli.session import PromptEnd
from agent.errors import OUTSTANDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element as Element

    from agent.cli.connection import Target

STARTUP: Final = ":startup"
CONFIRMED_COMMIT: Final = ":confirmed-commit:1.1"
# RFC 9144 and RFC 8342.
_COMPARE: Final = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare"
_DATASTORES: Final = "urn:ietf:params:xml:ns:yang:ietf-datastores"
# How long an agent may take to end a session, in seconds. All that was asked for is done by then.
_END_TIMEOUT: Final = 5
# What to do about an error whose cause is another session, or who asks, by error-app-tag or error-tag (RFC 6241
# appendix A).
_WAIT: Final = "try again when that session is done; kill-session ends it"
_ADVICE: Final = {
    "in-use": _WAIT,
    "lock-denied": _WAIT,
    "access-denied": "docs/access-control.md says who may what; over SSH, --user says who asks",
    OUTSTANDING: "confirm it with --persist-id and the token that it printed, or undo it with --cancel --persist-id",
}

# How often the library looks for something to send, in seconds. Its own 0.1 is what every request would take.
ncclient.transport.session.TICK = 0.005
# Without a handler its warnings, tracebacks among them, would be printed besides our one line.
logging.getLogger("ncclient").addHandler(logging.NullHandler())


class Client:
    """One session. Every method raises CommandError."""

    def __init__(self, session: Any, where: Target) -> None:  # noqa: ANN401 - the library has no types
        self._manager = manager.Manager(session, manager.make_device_handler(None, []), timeout=where.timeout)
        self._session = session
        self._where = where

    def offers(self, capability: str) -> bool:
        """Return whether the agent has a capability, in short form: ``:startup``."""
        return capability in self._manager.server_capabilities

    def get(self, wanted: Element) -> Element:
        """Return the ``<data>`` of running and state, narrowed by a subtree filter's content."""
        found: Element | None = self._ask(self._manager.get, filter=("subtree", wanted)).data_ele
        if found is None:
            raise CommandError("the agent's reply has no data")
        return found

    def edit(self, *content: Element, default_operation: str) -> None:
        """Edit candidate, with the default test-option: the agent checks first."""
        config = etree.Element(f"{{{NETCONF}}}config", nsmap={"nc": NETCONF})
        config.extend(content)
        self._ask(self._manager.edit_config, config=config, default_operation=default_operation)

    def plan(self, source: str) -> Element:
        """Return the reply that says what a commit of a datastore would do."""
        rpc = etree.Element(f"{{{NAMESPACE}}}plan", nsmap={"ha": NAMESPACE})
        etree.SubElement(rpc, f"{{{NAMESPACE}}}source").text = source
        return etree.fromstring(self._ask(self._manager.rpc, rpc).xml.encode())

    def is_running(self) -> bool | None:
        """Return whether candidate is what running is, as far as the user may read them; None: the agent can't tell."""
        rpc = etree.Element(f"{{{_COMPARE}}}compare", nsmap={"cp": _COMPARE, "ds": _DATASTORES})
        for side, datastore in (("source", "running"), ("target", "candidate")):
            etree.SubElement(rpc, f"{{{_COMPARE}}}{side}").text = f"ds:{datastore}"
        try:
            found = etree.fromstring(self._ask(self._manager.rpc, rpc).xml.encode())
        except RefusedError:
            return None
        if found.find(f"{{{_COMPARE}}}no-matches") is not None:
            return True
        return None if found.find(f"{{{_COMPARE}}}differences") is None else False

    def call(self, rpc: Element) -> None:
        """Carry out an rpc whose reply says nothing more than that it was."""
        self._ask(self._manager.rpc, rpc)

    def notification(self, *, wait: float = 0) -> Element | None:
        """Return the next ``<notification>``; None where none is there, or comes within so many seconds."""
        taken = self._manager.take_notification(block=wait > 0, timeout=wait)
        return None if taken is None else taken.notification_ele

    def commit(self, *, persist_id: str | None = None) -> None:
        """Make candidate running; with ``persist_id`` confirm the commit that has this token."""
        self._ask(self._manager.commit, persist_id=persist_id)

    def commit_for(self, seconds: int, *, persist: str) -> None:
        """Make candidate running until it is confirmed with the token; undone after so many seconds."""
        self._ask(self._manager.commit, confirmed=True, timeout=str(seconds), persist=persist)

    def cancel_commit(self, *, persist_id: str | None = None) -> None:
        """Restore what was running before the confirmed commit that is pending; ``persist_id`` is its token."""
        self._ask(self._manager.cancel_commit, persist_id=persist_id)

    def discard(self) -> None:
        """Make candidate what running is."""
        self._ask(self._manager.discard_changes)

    def save(self) -> None:
        """Copy running to startup."""
        self._ask(self._manager.copy_config, source="running", target="startup")

    def close(self) -> None:
        """End the session in order."""
        self._manager.timeout = min(self._where.timeout, _END_TIMEOUT)
        # A session that is over already needs no end, and what was asked for has been answered.
        with contextlib.suppress(NCClientError, OSError, EOFError):
            self._manager.close_session()
        self.drop()

    def drop(self) -> None:
        """End the connection, and the session with it (RFC 6241 section 7.8): nothing is asked and waited for."""
        with contextlib.suppress(NCClientError, OSError, EOFError):
            self._session.close()

    def _ask(self, operation: Callable[..., Any], *args: Any, **parameters: Any) -> Any:  # noqa: ANN401
        try:
            return operation(*args, **parameters)
        except RPCError as error:
            raise RefusedError([_read(one) for one in error.errlist or [error]]) from error
        except TimeoutExpiredError as error:
            raise CommandError(
                f"the agent did not answer within {self._where.timeout} s and may still be at work: "
                "look at it again, or give a longer --timeout"
            ) from error
        except (NCClientError, OSError, EOFError) as error:
            raise CommandError(f"the agent ended the session ({self._where}): see its log") from error
        except etree.XMLSyntaxError as error:
            raise CommandError(f"the agent's reply is no XML: {error.msg}") from error


@contextlib.contextmanager
def connect(where: Target) -> Iterator[Client]:
    """Open a session for a ``with`` block. Raises CommandError."""
    handler = manager.make_device_handler(None, [])
    if where.host is None:
        session = _open_unix(where, handler)
    else:
        # paramiko takes as long to load as all the rest together.
        from agent.cli.ssh_session import open_ssh

        session = open_ssh(where, where.host, handler)
    client = Client(session, where)
    try:
        yield client
    except BaseException:
        # An agent that is busy or gone would not answer, and who pressed Ctrl-C doesn't wait.
        client.drop()
        raise
    client.close()


class _UnixSession(PromptEnd, UnixSocketSession):  # type: ignore[misc]  # the library has no types
    """A session whose wait for the agent's hello is as long as any other, and whose thread ends with it."""

    def __init__(self, handler: object, timeout: float) -> None:
        super().__init__(handler)
        self._hello_timeout = timeout

    def _post_connect(self, timeout: float | None = None) -> None:
        super()._post_connect(timeout or self._hello_timeout)

    def close(self) -> None:
        """End the connection. The thread that reads from it sees that: at a closed socket it would wait for ever."""
        self._closing.set()
        self._connected = False
        # The agent may have been faster.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Read until the connection ends."""
        with self._socket:
            super().run()


def _open_unix(where: Target, handler: object) -> Any:  # noqa: ANN401
    path = os.fspath(where.unix_socket or "")
    session = _UnixSession(handler, where.timeout)
    try:
        session.connect(path=path, timeout=where.timeout)
    except UnixSocketError as error:
        # The library leaves the reason in the context.
        raise CommandError(_no_socket(path, error.__context__)) from error
    except (NCClientError, OSError) as error:
        session.close()
        raise CommandError(
            f"what listens on {path} refused the session, or is no NETCONF agent: see the agent's log"
        ) from error
    return session


def _no_socket(path: str, reason: BaseException | None) -> str:
    code = reason.errno if isinstance(reason, OSError) else None
    if isinstance(reason, OSError) and str(reason) == "AF_UNIX path too long":
        return f"{path} is too long for a socket's path: give a shorter one, such as one from this directory"
    if code in {errno.ENOENT, errno.ENOTDIR}:
        return f"there is no socket {path}: start accel-agent serve, or give --unix-socket or --host"
    if code in {errno.EACCES, errno.EPERM}:
        return f"may not use {path}: become root, or join the group that [listen] unix-group names"
    if code == errno.ECONNREFUSED and not Path(path).is_socket():
        return f"{path} is no socket: give the agent's with --unix-socket, or --host"
    if code == errno.ECONNREFUSED:
        return f"no agent answers on {path}: start accel-agent serve, or give --unix-socket or --host"
    return f"no agent can be reached on {path}: {getattr(reason, 'strerror', None) or reason}"


def _read(error: Any) -> AgentError:  # noqa: ANN401
    """Return what the library has of an rpc-error."""
    raw = error.xml
    path = raw.find(f"{{{NETCONF}}}error-path")
    element, attribute = (
        raw.findtext(f"{{{NETCONF}}}error-info/{{{NETCONF}}}bad-{kind}") for kind in ("element", "attribute")
    )
    spaces = {} if path is None else {prefix: space for prefix, space in path.nsmap.items() if prefix is not None}
    return AgentError(_described(error), error.tag, error.path, spaces, element, attribute)


def _described(error: Any) -> str:  # noqa: ANN401
    """Return an rpc-error in one line: message, app-tag or else tag, path."""
    message = " ".join(plain(error.message or "the agent gave no reason").split())
    details = [plain(text).strip() for text in (error.app_tag or error.tag, error.path) if text]
    told = f"{message} ({', '.join(details)})" if details else message
    advice = _ADVICE.get(error.app_tag) or _ADVICE.get(error.tag)
    return f"{told}: {advice}" if advice else told
