"""Passwords of users who may log in with one: kept as digests, compared in constant time."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from asyncssh.saslprep import SASLPrepError, saslprep

from agent.keys import is_safe_name
from agent.settings import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Passwords:
    """Passwords by user, in the form in which SSH clients send them (RFC 4252 section 8, RFC 4013)."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        """Take passwords by user. Raises StartError for a name or password that can't be used."""
        self._secret = secrets.token_bytes(32)
        self._nobody = secrets.token_bytes(32)
        self._digests = {
            _prepare(user, what="name"): self._digest(_prepare(password, what=f"password of {user!r}"))
            for user, password in passwords.items()
        }
        for user in self._digests:
            if not is_safe_name(user):
                raise StartError(f"{user!r} can't be a user's name: use letters, digits, '.', '-' and '_'")

    def __bool__(self) -> bool:
        return bool(self._digests)

    def match(self, username: str, password: str) -> bool:
        """Return whether it is the user's password; it takes as long for a user who doesn't exist."""
        expected = self._digests.get(username, self._nobody)
        return hmac.compare_digest(expected, self._digest(password))

    def _digest(self, password: str) -> bytes:
        # Of one length, whatever the password's.
        return hmac.digest(self._secret, password.encode(), "sha256")


def _prepare(text: str, *, what: str) -> str:
    try:
        prepared = saslprep(text)
    except SASLPrepError:
        raise StartError(f"the {what} has characters that SSH doesn't allow: change it") from None
    if not prepared:
        raise StartError(f"the {what} is empty: give one")
    return prepared
