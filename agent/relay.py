"""Joins standard input and output with the agent's socket.

For OpenSSH's server: ``Subsystem netconf /usr/bin/accel-agent relay``. It is started for each session, so it
imports nothing that it doesn't need.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import sys

DEFAULT_SOCKET = "/run/accel-agent/netconf.sock"
"""What [listen] unix is where the settings don't say otherwise."""

_STDIN = 0
_STDOUT = 1
_CHUNK = 65536
_MOST_KEPT = 262144


def relay(path: str) -> int:
    """Copy both ways until the agent closes the session; after the end of input, replies still come.

    Return the exit status: 0 when the agent closed the session, 1 when there is no agent, when it broke the
    session off, or when nobody reads the output, 130 after Ctrl-C. Errors go to standard error, which sshd hands to
    the client.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        try:
            agent.connect(path)
        except PermissionError:
            return _fail(f"may not use {path}: join the group that [listen] unix-group names")
        except OSError as exc:
            return _fail(_reason(path, exc))
        agent.settimeout(0)
        try:
            return _Copy(agent).run()
        except KeyboardInterrupt:
            return 130


class _Copy:
    """The state of both directions.

    Standard input and output stay blocking, as other processes may share them: each is used only when ready.
    """

    def __init__(self, agent: socket.socket) -> None:
        self._agent = agent
        self._poll = select.poll()
        self._watched: set[int] = set()
        self._requests = bytearray()
        self._replies = bytearray()
        self._more_requests = True
        self._more_replies = True
        self._status = 0

    def run(self) -> int:
        while self._more_replies or self._replies:
            self._watch(_STDIN, self._room(self._requests, more=self._more_requests))
            self._watch(_STDOUT, select.POLLOUT if self._replies else 0)
            self._watch(
                self._agent.fileno(),
                self._room(self._replies, more=self._more_replies) | (select.POLLOUT if self._requests else 0),
            )
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            if _STDIN in ready:
                self._take_requests()
            if self._agent.fileno() in ready:
                self._pass_requests()
                self._take_replies()
            if _STDOUT in ready and not self._pass_replies():
                return 1
        return self._status

    def _room(self, kept: bytearray, *, more: bool) -> int:
        return select.POLLIN if more and len(kept) < _MOST_KEPT else 0

    def _watch(self, descriptor: int, events: int) -> None:
        """Wait for events; without any the descriptor is left out: its end would be reported for ever."""
        if events:
            self._poll.register(descriptor, events)
            self._watched.add(descriptor)
        elif descriptor in self._watched:
            self._poll.unregister(descriptor)
            self._watched.remove(descriptor)

    def _take_requests(self) -> None:
        try:
            data = os.read(_STDIN, _CHUNK)
        except OSError:
            data = b""
        self._requests += data
        if not data:
            self._more_requests = False
            self._pass_requests()

    def _pass_requests(self) -> None:
        try:
            if self._requests:
                del self._requests[: self._agent.send(self._requests)]
            if not self._requests and not self._more_requests:
                self._agent.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            # The agent takes no more; what it has answered may still be on its way.
            self._requests.clear()
            self._more_requests = False

    def _take_replies(self) -> None:
        if not self._more_replies:
            return
        try:
            data = self._agent.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
            self._status = 1
        self._replies += data
        self._more_replies = bool(data)

    def _pass_replies(self) -> bool:
        """Return False when nobody reads any more."""
        try:
            # A pipe that is ready takes this much without blocking.
            del self._replies[: os.write(_STDOUT, self._replies[: select.PIPE_BUF])]
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True


def _reason(path: str, error: OSError) -> str:
    if error.errno is None:
        return f"{path} is too long for a socket's path: give a shorter one"
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):  # noqa: PTH116 - pathlib takes its time to load
            return f"{path} is no socket: give the agent's, see [listen] unix"
    except OSError:
        pass  # what connecting to it said is told
    return f"no agent answers on {path} ({error.strerror}): start it, or see [listen] unix"


def _fail(problem: str) -> int:
    sys.stderr.write(f"accel-agent relay: {problem}\n")
    return 1
