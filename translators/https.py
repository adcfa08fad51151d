"""A connection to an HTTPS server that is who it is to be, on which everything happens within a deadline.

http.client waits for each read anew: a server that sends a byte now and then would keep it for ever.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import ssl
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Generator

    from _typeshed import WriteableBuffer

_PORT: Final = 443


class ConnectError(Exception):
    """There is no connection, or none to whom it is to be: the text says why, and what to do."""


@contextlib.contextmanager
def connected(
    url: str, *, ca_file: str | None, fingerprint: str | None, deadline: float
) -> Generator[http.client.HTTPConnection, None, None]:
    """Connect to the server of a URL; ``deadline`` (time.monotonic) holds for all that is done with the connection.

    Its certificate is the one with the SHA-256 ``fingerprint`` (64 hex digits), or it is signed by one of ``ca_file``,
    or of the system's authorities where neither is given. What is late raises TimeoutError, here and later.
    Raises ConnectError, TimeoutError.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORT
    context = _context(ca_file, fingerprint)
    try:
        secure = _secured(_dialled(host, port, deadline), host, context, deadline)
    except TimeoutError:
        raise
    except ssl.SSLCertVerificationError as error:
        text = f"its certificate is not trusted ({error.verify_message}): set its fingerprint, or ca-file"
        raise ConnectError(text) from error
    except ssl.SSLError as error:
        raise ConnectError(f"it does not speak TLS ({error.reason or error}): is the port right?") from error
    except ConnectionRefusedError as error:
        raise ConnectError("nothing listens there") from error
    except OSError as error:
        raise ConnectError(f"it can't be reached ({error.strerror or error})") from error
    with contextlib.closing(secure):
        found = sha256(secure.getpeercert(binary_form=True) or b"").hexdigest()
        if fingerprint is not None and found != fingerprint:
            raise ConnectError(f"its certificate has the SHA-256 fingerprint {found}, not the one in the settings")
        connection = http.client.HTTPSConnection(host, port, context=context)
        connection.sock = _Bounded(secure, deadline)
        yield connection


def _context(ca_file: str | None, fingerprint: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if fingerprint is not None:
            # The certificate itself is compared, before anything is sent: who signed it for which name says no more.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif ca_file is not None:
            context.load_verify_locations(ca_file)
        else:
            context.load_default_certs()
    except OSError as error:  # ssl.SSLError is one
        raise ConnectError(f"the ca-file {ca_file} can't be used ({error.strerror or error})") from error
    return context


def _dialled(host: str, port: int, deadline: float) -> socket.socket:
    """Return a connection to the first of a host's addresses that takes one. Raises OSError."""
    failure: OSError = OSError("it has no address")
    for family, kind, protocol, _name, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_left(deadline))
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


def _secured(plain: socket.socket, host: str, context: ssl.SSLContext, deadline: float) -> ssl.SSLSocket:
    """Return a connection with TLS. Raises OSError."""
    try:
        plain.settimeout(_left(deadline))
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _left(deadline: float) -> float:
    """Return the seconds that are left. Raises TimeoutError where none are."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Bounded:
    """A socket, as http.client uses one, that sends and receives within a deadline."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        """Send all of it. Raises TimeoutError, OSError."""
        self._connection.settimeout(_left(self._deadline))
        self._connection.sendall(data)

    def recv_into(self, buffer: WriteableBuffer) -> int:
        """Receive some. Raises TimeoutError, OSError."""
        self._connection.settimeout(_left(self._deadline))
        return self._connection.recv_into(buffer)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what is received as a file."""
        return io.BufferedReader(_Received(self))

    def close(self) -> None:
        """Leave it open: http.client is through with it before all is read."""


class _Received(io.RawIOBase):
    """What a bounded socket receives."""

    def __init__(self, connection: _Bounded) -> None:
        super().__init__()
        self._connection = connection

    def readable(self) -> bool:
        """See io.RawIOBase."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """See io.RawIOBase."""
        return self._connection.recv_into(buffer)
