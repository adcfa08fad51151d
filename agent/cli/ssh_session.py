"""A NETCONF session over SSH, as users of ssh(1) expect it: known_hosts, ssh-agent, keys, a password."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

from ncclient import NCClientError
from ncclient.transport import SSHSession
from ncclient.transport.errors import AuthenticationError
from paramiko import PasswordRequiredException, PKey, SSHException

from agent.cli.errors import CommandError
from agent.cli.known_hosts import KnownHosts
from agent.cli.password import first_line
from agent.cli.session import PromptEnd

if TYPE_CHECKING:
    from pathlib import Path

    from agent.cli.connection import Target


# By user and host: who sits there types it once, however many sessions a command opens.
_typed: dict[str, str] = {}


def open_ssh(where: Target, host: str, handler: object) -> Any:  # noqa: ANN401 - the library has no types
    """Connect, verify the server, log in. Return an ncclient session. Raises CommandError.

    Keys are tried first; when none is good and somebody sits there, the password is asked for.
    """
    password = None if where.password_file is None else first_line(where.password_file)
    encrypted = _check_key(where.key)
    try:
        return _open(where, host, handler, password)
    except AuthenticationError as error:
        login = f"{_user(where)}@{host}"
        if password is not None or (login not in _typed and not (where.ask and sys.stdin.isatty())):
            raise CommandError(_refused(where, encrypted=encrypted)) from error
    try:
        _typed[login] = _typed.get(login) or getpass.getpass(f"{login}'s password: ")
        return _open(where, host, handler, _typed[login])
    except (AuthenticationError, EOFError) as error:
        raise CommandError(_refused(where, encrypted=encrypted)) from error


class _Session(PromptEnd, SSHSession):  # type: ignore[misc]  # the library has no types
    """A session that takes what is known of the host from KnownHosts."""

    def __init__(self, handler: object, known: KnownHosts) -> None:
        super().__init__(handler)
        self._known = known

    def load_known_hosts(self, filename: str | None = None) -> None:  # noqa: ARG002 - the library's signature
        """Have the library ask the server for a key of a kind that is recorded for it."""
        self._host_keys = self._known


def _open(where: Target, host: str, handler: object, password: str | None) -> Any:  # noqa: ANN401
    known = KnownHosts(host, where.port)
    try:
        connection = socket.create_connection((host, where.port), timeout=where.timeout)
    except OSError as error:
        raise CommandError(f"no agent can be reached at {where}: {error.strerror or error}") from error
    session = _Session(handler, known)

    def verify(_host: str, _fingerprint: str) -> bool:
        known.accept(session.transport.get_remote_server_key(), new=where.accept_new_host_key)
        return True

    by_password_only = password is not None and where.key is None
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(connection.close)
        try:
            session.connect(
                host=host,
                port=where.port,
                sock=connection,
                timeout=where.timeout,
                unknown_host_cb=verify,
                username=_user(where),
                password=password,
                key_filename=None if where.key is None else os.fspath(where.key),
                allow_agent=not by_password_only,
                look_for_keys=where.key is None and not by_password_only,
            )
        except AuthenticationError:
            raise
        except (NCClientError, SSHException, OSError, EOFError) as error:
            reason = " ".join(str(error).split()) or "it ended the connection"
            if "no acceptable host key" in reason:
                reason += f": known_hosts has only {', '.join(known.lookup(known.name))} for it"
            raise CommandError(f"no NETCONF session with {where}: {reason}") from error
        on_failure.pop_all()
    return session


def _user(where: Target) -> str:
    return where.user or getpass.getuser()


def _refused(where: Target, *, encrypted: bool) -> str:
    if encrypted:
        return f"{where} refused {_user(where)}: {where.key} is encrypted, load it with ssh-add"
    return f"{where} refused {_user(where)}: give another --user, a --key that it knows, or a --password-file"


def _check_key(path: Path | None) -> bool:
    """Return whether a key file is encrypted. Raises CommandError when it can't be used."""
    if path is None:
        return False
    try:
        PKey.from_path(path)
    except (PasswordRequiredException, TypeError):  # the latter is how cryptography says it
        return True
    except OSError as error:
        raise CommandError(f"the key {path} can't be read: {error.strerror}") from error
    except Exception as error:  # a parser of keys raises what it likes
        raise CommandError(
            f"{path} is no private key that can be used: give one in OpenSSH's or PEM format, not the .pub beside it"
        ) from error
    return False
