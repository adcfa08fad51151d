"""One session: bytes → message → operation → reply. The only place that catches whatever goes wrong."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from agent import errors, messages
from agent.errors import CloseSession, NetconfError
from agent.framing import Decoder, chunked, end_of_message
from agent.operations import Request, find
from agent.streams import changes

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from agent.link import Peer, Transport
    from agent.operations import Services
    from agent.settings import Limits

log = logging.getLogger(__name__)

_READ_AHEAD = 1024 * 1024
_WRITE_TOGETHER = 64 * 1024
_TURN = 64
_CLOSE_TIMEOUT = 5.0


class NetconfSession:
    """The receiving half of one connection (agent.link.Receiver). Raises SessionLimitError when too many are open."""

    def __init__(self, services: Services, limits: Limits, peer: Peer, transport: Transport) -> None:
        self._services = services
        self._transport = transport
        self._session = services.sessions.open(peer, now=services.now(), end=self._end)
        self._session.notify = self._notify
        self._decoder = Decoder(limit=limits.message_size)
        self._frame = end_of_message
        self._greeted = False
        self._ending: str | None = None
        self._eof = False
        self._lost = False
        self._busy: asyncio.Task[None] | None = None
        self._write_paused = False
        self._unread = 0
        self._replies: list[bytes] = []
        self._waiting = 0
        self._modules = services.model.modules
        self._idle_timeout = limits.idle_timeout
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(limits.hello_timeout, self._no_hello, limits.hello_timeout)
        host = f" from {peer.source_host}" if peer.source_host else ""
        log.info("session %d: %s%s, %s", self._session.id, peer.username, host, peer.transport.partition(":")[2])
        transport.write(end_of_message(messages.hello(services.capabilities, self._session.id)))
        services.sessions.in_sessions += 1
        services.streams.publish(changes.session_start(self._session))

    def data_received(self, data: bytes) -> None:
        """Take bytes, and answer every request that is whole."""
        if self._ending is not None:
            return
        self._decoder.feed(data)
        if self._busy is not None or self._write_paused:
            self._unread += len(data)
            if self._unread > _READ_AHEAD:
                self._transport.pause_reading()
            return
        self._pump()

    def eof_received(self) -> None:
        """Take the end of what the peer sends for the end of the session, once the last request is answered."""
        self._eof = True
        if self._busy is None:
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free what the session holds; an operation that is under way is finished first."""
        self._lost = True
        self._timer.cancel()
        self._ending = self._ending or "dropped"
        self._session.ended = True
        if exc is not None:
            log.debug("session %d: connection lost: %s", self._session.id, exc)
        if self._busy is None:
            self._release()

    def pause_writing(self) -> None:
        """Answer no more requests while the peer does not read the replies."""
        self._write_paused = True
        self._session.writable = False

    def resume_writing(self) -> None:
        """Go on answering."""
        self._write_paused = False
        self._session.writable = True
        self._tell_drained()
        if self._busy is None:
            self._go_on()

    def _go_on(self) -> None:
        """Do what waited for the operation that was under way."""
        if self._lost:
            self._release()
            return
        if self._write_paused:
            return
        if self._unread:
            self._unread = 0
            self._transport.resume_reading()
        if self._ending is None:
            self._pump()
        if self._eof and self._busy is None and not self._write_paused:
            self._end("dropped")

    def _pump(self) -> None:
        """Answer the messages that are whole, one after the other; after some, let other sessions have a turn."""
        handled = 0
        try:
            for message in self._decoder.messages():
                if self._greeted:
                    self._request(message)
                else:
                    self._hello(message)
                handled += 1
                if self._busy is not None or self._write_paused or self._ending is not None:
                    break
                if handled == _TURN and not self._eof:
                    self._loop.call_soon(self._next_turn)
                    break
            self._flush()
        except CloseSession as reason:
            log.info("session %d ends: %s", self._session.id, reason)
            if not self._greeted:
                self._services.sessions.in_bad_hellos += 1
            self._end(reason.reason)

    def _next_turn(self) -> None:
        if self._busy is None:
            self._go_on()

    def _hello(self, message: bytes) -> None:
        offered = messages.read_hello(message)
        self._greeted = True
        self._restart_timer()
        if messages.BASE_1_1 in offered:
            self._decoder.use_chunks()
            self._frame = chunked

    def _request(self, message: bytes) -> None:
        self._restart_timer()
        try:
            rpc = messages.read_rpc(message)
        except NetconfError as error:
            for counters in (self._session.counters, self._services.sessions.totals):
                counters.in_bad_rpcs += 1
            if error.tag == "malformed-message" and self._frame is end_of_message:
                raise CloseSession("other", error.message) from None  # a 1.0 client does not know that error
            self._refuse(messages.echo_of(error), error)
            return
        for counters in (self._session.counters, self._services.sessions.totals):
            counters.in_rpcs += 1
        request = Request(self._services, self._session, rpc.operation)
        try:
            result = find(request)(request)
            if isinstance(result, bytes):
                self._answer(rpc.echo, result)
            else:
                self._busy = asyncio.ensure_future(self._answer_later(rpc.echo, result))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a reply
            self._fail(rpc.echo, error)

    async def _answer_later(self, echo: bytes, result: Awaitable[bytes]) -> None:
        try:
            self._answer(echo, await result)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a reply
            self._fail(echo, error)
        self._busy = None
        self._flush()
        self._go_on()

    def _fail(self, echo: bytes, error: Exception) -> None:
        if not isinstance(error, NetconfError):
            log.error("session %d: an operation failed unexpectedly", self._session.id, exc_info=error)
            error = errors.operation_failed("an error inside the agent: its log says more")
        self._refuse(echo, error)

    def _refuse(self, echo: bytes, error: NetconfError) -> None:
        for counters in (self._session.counters, self._services.sessions.totals):
            counters.out_rpc_errors += 1  # replies, however many errors are in one (RFC 6022)
        self._answer(*messages.error_reply(echo, error, self._modules))

    def _answer(self, echo: bytes, content: bytes) -> None:
        """Put a reply with those that are sent together: one write for many replies is what makes pipelining fast."""
        reply = self._frame(messages.reply(echo, content))
        self._replies.append(reply)
        self._waiting += len(reply)
        if self._waiting > _WRITE_TOGETHER:
            self._flush()
        if self._session.closing:
            self._end("closed")

    def _notify(self, notification: bytes) -> None:
        """Send a notification with what else waits; the caller minds whether the session is writable."""
        if self._ending is not None:
            return
        for counters in (self._session.counters, self._services.sessions.totals):
            counters.out_notifications += 1
        if not self._replies:
            self._loop.call_soon(self._flush)
        framed = self._frame(notification)
        self._replies.append(framed)
        self._waiting += len(framed)
        if self._waiting > _WRITE_TOGETHER:
            self._flush()

    def _tell_drained(self) -> None:
        for tell in tuple(self._session.drained):
            tell()

    def _flush(self) -> None:
        if self._replies and not self._lost:
            self._transport.write(b"".join(self._replies))
        self._replies.clear()
        self._waiting = 0

    def _end(self, reason: str) -> None:
        """Close the connection; ``reason`` is one of RFC 6470's termination reasons."""
        if self._ending is not None:
            return
        self._ending = reason
        self._session.ended = True
        self._timer.cancel()
        self._flush()
        if self._busy is None:
            # At once: nobody is to wait for the locks until the connection's end is through (RFC 6241 7.8, 7.9).
            self._services.datastores.release_all(self._session)
        if reason == "killed":
            self._transport.abort()
            return
        self._transport.close()
        self._timer = self._loop.call_later(_CLOSE_TIMEOUT, self._transport.abort)

    def _release(self) -> None:
        self._tell_drained()
        self._services.confirmed.session_ended(self._session)
        self._services.datastores.release_all(self._session)
        reason = self._ending or "dropped"
        log.info("session %d: ended, %s", self._session.id, reason)
        self._services.streams.publish(changes.session_end(self._session, reason))
        self._services.sessions.close(self._session, dropped=reason not in {"closed", "killed"})

    def _no_hello(self, seconds: int) -> None:
        log.info("session %d ends: no hello within %d s", self._session.id, seconds)
        self._services.sessions.in_bad_hellos += 1
        self._end("bad-hello")

    def _restart_timer(self) -> None:
        """Begin to count idle time anew."""
        self._timer.cancel()
        if self._idle_timeout:
            self._timer = self._loop.call_later(self._idle_timeout, self._idle)

    def _idle(self) -> None:
        if self._busy is not None or self._session.subscriptions:
            self._restart_timer()
            return
        log.info("session %d ends: idle for %d s", self._session.id, self._idle_timeout)
        self._end("timeout")
