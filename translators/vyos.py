"""One question to VyOS's HTTP API: a connection of its own, a deadline, and bounds.

A question is a POST of JSON with the API's key, the answer ``{success, data, error}``. One call of /configure is one
commit; all calls share one session and one lock there (vyos-1x: src/services/api/rest). Every byte is read within one
deadline, redirects are not followed, and the key is sent to nobody whose certificate was not accepted before.
"""

from __future__ import annotations

import html
import http.client
import json
import os
import re
import stat
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from translators import https

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ANSWER_LIMIT: Final = 1024 * 1024
TEXT_LIMIT: Final = 2000
_KEY_LIMIT: Final = 4096
_SHOWN: Final = 120
_HEADERS: Final = {"Content-Type": "application/json", "Accept": "*/*", "Connection": "close"}
# Control characters, those that turn the direction of writing, and what XML 1.0 section 2.2 leaves out.
_NO_TEXT: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]+"
)
# How a text is in an answer that repeats it; http.client takes the bytes of status and headers for Latin-1.
_QUOTES: Final[tuple[Callable[[str], str], ...]] = (
    str,
    html.escape,
    lambda text: repr(text)[1:-1],
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: text.encode().decode("latin-1"),
)
# What answers in front of the API, or in place of it: nothing of the question has reached VyOS.
_NOT_ASKED: Final = {
    HTTPStatus.UNAUTHORIZED: "the key in {key_file} is refused: it has to be one of `service https api keys`",
    HTTPStatus.FORBIDDEN: "this machine is not let in: see `service https allow-client`",
    HTTPStatus.NOT_FOUND: "there is no such API: see [vyos] url, and `set service https api rest` from VyOS 1.5 on",
    HTTPStatus.SERVICE_UNAVAILABLE: "the API is not enabled: set service https api keys id … key …",
}


@dataclass(frozen=True, slots=True)
class Api:
    """Where the API is (``https://HOST[:PORT]``), and the file that has its key.

    Its certificate is the one with the SHA-256 ``fingerprint`` (64 hex digits), or it is signed by one of ``ca_file``,
    or of the system's authorities where neither is given.
    """

    url: str
    key_file: str
    ca_file: str | None = None
    fingerprint: str | None = None


class VyosError(Exception):
    """VyOS could not be asked, or refuses: ``url`` is its API, ``reason`` what was wrong and what to do."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url}: {reason}" if url else reason)
        self.url = url
        self.reason = reason


class VyosUnreachableError(VyosError):
    """The question did not reach VyOS: nobody there, nobody who is trusted, or nobody who takes the key."""


class VyosRefusedError(VyosError):
    """VyOS answered that it can't; ``reason`` has its own words."""


class VyosUnansweredError(VyosError):
    """The question was sent, and what came back is no answer: what VyOS has done, or will do, is not known."""


def ask(api: Api, endpoint: str, message: Mapping[str, Any], *, timeout: float) -> Any:  # noqa: ANN401 - JSON
    """Return the ``data`` of VyOS's answer to a message. Raises VyosError."""
    deadline = time.monotonic() + timeout
    key = _key(api)
    body = json.dumps({"key": key, **message}).encode()
    sent = False
    try:
        with https.connected(
            api.url, ca_file=api.ca_file, fingerprint=api.fingerprint, deadline=deadline
        ) as connection:
            connection.request("POST", endpoint, body, _HEADERS)
            sent = True
            response = connection.getresponse()
            data = response.read(ANSWER_LIMIT + 1)
    except https.ConnectError as error:
        raise VyosUnreachableError(api.url, f"{error}: see [vyos] in the settings") from error
    except TimeoutError as error:
        reason = f"no answer to {endpoint} within {timeout:g} s" if sent else f"no connection within {timeout:g} s"
        raise (VyosUnansweredError if sent else VyosUnreachableError)(api.url, reason) from error
    # http.client takes some of what it reads as it comes: the size of a chunk may be -5.
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = f"the connection broke during {endpoint} ({_shown(error, key)})"
        raise (VyosUnansweredError if sent else VyosUnreachableError)(api.url, reason) from error
    return _data(api, key, response, data)


def _data(api: Api, key: str, response: http.client.HTTPResponse, data: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the data of an answer. Raises VyosError for any other."""
    status = response.status
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        where = _text(response.headers.get("Location", "nowhere"), key)
        raise VyosUnreachableError(api.url, f"redirects to {where}: set [vyos] url to where the API itself is")
    answer = _parsed(data)
    if status in _NOT_ASKED and (answer is None or status == HTTPStatus.UNAUTHORIZED):
        hint = _NOT_ASKED[HTTPStatus(status)].format(key_file=api.key_file)
        raise VyosUnreachableError(api.url, f"HTTP {status}: {hint}")
    if answer is None:
        size = f"more than {ANSWER_LIMIT} bytes" if len(data) > ANSWER_LIMIT else repr(_begin(data, key))
        raise VyosUnansweredError(api.url, f"HTTP {status} with {size}, which is no answer of VyOS's API")
    if not answer["success"]:
        raise VyosRefusedError(api.url, _text(answer.get("error"), key) or f"refused without a reason (HTTP {status})")
    return answer.get("data")


def _parsed(data: bytes) -> dict[str, Any] | None:
    """Return an answer of the API; None for what is none."""
    if len(data) > ANSWER_LIMIT:
        return None
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) and isinstance(answer.get("success"), bool) else None


def _key(api: Api) -> str:
    """Return the key. Raises VyosUnreachableError for a file that can't be read, or that others can."""

    def unfit(reason: str) -> VyosUnreachableError:
        return VyosUnreachableError(api.url, f"the key file {api.key_file} {reason}")

    try:
        # O_NONBLOCK: opening a named pipe would wait for its writer.
        descriptor = os.open(api.key_file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise unfit("is not a regular file")
            if status.st_mode & 0o077:
                raise unfit(f"is open to others (mode {stat.S_IMODE(status.st_mode):04o}): chmod 600")
            data = file.read(_KEY_LIMIT + 1)
    except OSError as error:
        raise unfit(f"can't be read ({error.strerror or error}): see [vyos] key-file") from None
    try:
        key = data.decode().strip()
    except UnicodeDecodeError:
        raise unfit("is not UTF-8: it has the key of the API and nothing else") from None
    if not key or not key.isprintable() or len(data) > _KEY_LIMIT:
        raise unfit("does not have one line of text: it has the key of the API and nothing else")
    return key


def _text(value: object, key: str) -> str:
    """Return VyOS's words in one line, bounded, without control characters, and without the key."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    words = " ".join(_NO_TEXT.sub(" ", _without(key, html.unescape(_without(key, text)))).split())
    return words if len(words) <= TEXT_LIMIT else f"{words[:TEXT_LIMIT]}…"


def _without(key: str, text: str) -> str:
    """Return a text without the key, also where it is in quotes of JSON or Python, as a text or within one."""
    once = [quote(key) for quote in _QUOTES]
    for form in sorted({quote(text) for text in once for quote in _QUOTES}, key=len, reverse=True):
        text = text.replace(form, "[the key]")
    return text


def _begin(data: bytes, key: str) -> str:
    return _text(data[:ANSWER_LIMIT].decode("utf-8", "replace"), key)[:_SHOWN]


def _shown(error: Exception, key: str) -> str:
    text = _text(str(error), key)[:_SHOWN]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
