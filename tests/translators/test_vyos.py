"""One question to VyOS's HTTP API: what it answers, and everything that can be wrong with whoever answers."""

from __future__ import annotations

import html
import json
import os
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.translators.vyos_router import BUSY, KEY, QAT, CommitError, VyosRouter
from translators.real_host import RealHost
from translators.vyos import (
    ANSWER_LIMIT,
    TEXT_LIMIT,
    Api,
    VyosError,
    VyosRefusedError,
    VyosUnansweredError,
    VyosUnreachableError,
    ask,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXISTS: dict[str, Any] = {"op": "exists", "path": ["system", "acceleration", "qat"]}
SET: dict[str, Any] = {"commands": [{"op": "set", "path": ["system", "acceleration", "qat"]}]}
SOON = 20.0


@pytest.fixture
def router(tmp_path: Path) -> Iterator[VyosRouter]:
    with VyosRouter(tmp_path / "router") as made:
        yield made


def exists(api: Api, timeout: float = SOON) -> object:
    return ask(api, "/retrieve", EXISTS, timeout=timeout)


def failure(kind: type[VyosError], api: Api, timeout: float = SOON) -> str:
    with pytest.raises(VyosError) as caught:
        exists(api, timeout)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{api.url}: ")
    return caught.value.reason


def refusal(router: VyosRouter, text: str) -> str:
    def script(_present: bool) -> None:
        raise CommitError(text)

    router.script = script
    with pytest.raises(VyosRefusedError) as caught:
        ask(router.api, "/configure", SET, timeout=SOON)
    assert router.config == set()
    return caught.value.reason


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


def test_what_exists_and_one_commit(router: VyosRouter) -> None:
    assert exists(router.api) is False
    assert ask(router.api, "/configure", SET, timeout=SOON) is None
    assert exists(router.api) is True
    assert router.commits == [f"set {QAT}"]
    assert router.requests == [("/retrieve", EXISTS), ("/configure", SET), ("/retrieve", EXISTS)]


def test_a_refusal_has_vyos_own_words_as_they_were_meant(router: VyosRouter) -> None:
    said = (
        "No QAT <acceleration> device & found\n\n[[system acceleration qat]] failed\r\nCommit failed\x1b[0m\x07\u202e"
    )
    assert refusal(router, said) == (
        "No QAT <acceleration> device & found [[system acceleration qat]] failed Commit failed [0m"
    )


def test_a_long_refusal_is_cut_and_an_empty_one_says_so(router: VyosRouter) -> None:
    assert refusal(router, "x" * 5000) == f"{'x' * TEXT_LIMIT}…"
    assert refusal(router, " \n") == "refused without a reason (HTTP 400)"


def test_an_answer_that_repeats_the_question_does_not_give_the_key_away(router: VyosRouter) -> None:
    assert refusal(router, f"{{'input': {{'key': '{KEY}'}}}}") == "{'input': {'key': '[the key]'}}"


@pytest.mark.parametrize("key", ['a "key" \\ & more', 'it\'s & "both"', "clé <7>", "a&amp;b"])
def test_the_key_is_hidden_however_an_answer_quotes_it(router: VyosRouter, key: str) -> None:
    router.key_file.write_text(key)
    question = {"detail": [{"input": {"key": key}}]}
    hidden = '{"detail": [{"input": {"key": "[the key]"}}]}'
    said = {
        json.dumps(question): f"HTTP 422 with {hidden!r}",
        json.dumps(question, ensure_ascii=False): f"HTTP 422 with {hidden!r}",
        json.dumps({"success": False, "error": question}): hidden,
        json.dumps({"success": False, "error": html.escape(json.dumps(question), quote=False)}): hidden,
        json.dumps({"success": False, "error": f"no {key}"}): "no [the key]",
        json.dumps({"success": False, "error": f"no {[key]}"}): "no [",
        json.dumps({"error": f"no {[key]}"}): "HTTP 422 with",
    }
    for body, begin in said.items():
        router.raw = http("422 Unprocessable Entity", body.encode())
        with pytest.raises(VyosError) as caught:
            exists(router.api)
        assert caught.value.reason.startswith(begin)
        assert "[the key]" in caught.value.reason
    for raw in (f"NONE {key}\r\n\r\n", f"HTTP/1.1 301 Moved\r\nLocation: /{key}\r\n\r\n"):
        router.raw = raw.encode()
        with pytest.raises(VyosError, match=r"\[the key\]"):
            exists(router.api)


def test_another_commit_that_is_under_way(router: VyosRouter) -> None:
    router.busy = True
    with pytest.raises(VyosRefusedError, match=BUSY):
        ask(router.api, "/configure", SET, timeout=SOON)


# ── the key ──────────────────────────────────────────────────────────────────────────────────────


def test_a_key_that_is_refused_is_told_with_its_file(router: VyosRouter) -> None:
    router.key_file.write_text("an older key\n")
    reason = failure(VyosUnreachableError, router.api)
    assert reason.startswith(f"HTTP 401: the key in {router.key_file} is refused")
    assert "an older key" not in reason


@pytest.mark.parametrize(
    ("mode", "content", "said"),
    [
        (0o640, KEY, "is open to others (mode 0640): chmod 600"),
        (0o604, KEY, "is open to others (mode 0604): chmod 600"),
        (0o600, " \n", "does not have one line of text"),
        (0o600, f"{KEY}\nsecond line", "does not have one line of text"),
        (0o600, "x" * 5000, "does not have one line of text"),
    ],
)
def test_a_key_file_that_is_not_used(router: VyosRouter, mode: int, content: str, said: str) -> None:
    router.key_file.write_text(content)
    router.key_file.chmod(mode)
    assert failure(VyosUnreachableError, router.api).startswith(f"the key file {router.key_file} {said}")
    assert router.requests == []


def test_a_key_file_that_is_none(router: VyosRouter) -> None:
    router.key_file.write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in failure(VyosUnreachableError, router.api)
    router.key_file.unlink()
    assert "can't be read (No such file or directory): see [vyos] key-file" in failure(VyosUnreachableError, router.api)
    os.mkfifo(router.key_file, 0o600)
    assert "is not a regular file" in failure(VyosUnreachableError, router.api)


# ── who answers ──────────────────────────────────────────────────────────────────────────────────


def test_the_certificate_may_be_one_of_an_authority(router: VyosRouter) -> None:
    assert exists(replace(router.api, fingerprint=None, ca_file=str(router.certificate))) is False


def test_a_certificate_that_nobody_vouches_for_gets_no_key(router: VyosRouter) -> None:
    reason = failure(VyosUnreachableError, replace(router.api, fingerprint=None))
    assert reason.startswith("its certificate is not trusted (self")
    assert "set its fingerprint, or ca-file: see [vyos] in the settings" in reason
    assert router.requests == []


def test_another_certificate_than_the_pinned_one_gets_no_key(router: VyosRouter) -> None:
    reason = failure(VyosUnreachableError, replace(router.api, fingerprint="ab" * 32))
    assert reason.startswith(f"its certificate has the SHA-256 fingerprint {router.fingerprint}, not the one")
    assert router.requests == []


def test_a_certificate_of_another_host_gets_no_key(tmp_path: Path) -> None:
    with VyosRouter(tmp_path, names=("192.0.2.1",)) as router:
        api = replace(router.api, fingerprint=None, ca_file=str(router.certificate))
        assert "its certificate is not trusted (IP address mismatch" in failure(VyosUnreachableError, api)
        assert router.requests == []


def test_a_ca_file_that_is_none(router: VyosRouter) -> None:
    api = replace(router.api, fingerprint=None)
    assert "/nowhere can't be used (No such file" in failure(VyosUnreachableError, replace(api, ca_file="/nowhere"))
    assert "can't be used" in failure(VyosUnreachableError, replace(api, ca_file=str(router.key_file)))


def test_nobody_listens(router: VyosRouter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    reason = failure(VyosUnreachableError, replace(router.api, url=f"https://127.0.0.1:{port}"))
    assert reason.startswith("nothing listens there")


def test_a_port_without_tls(router: VyosRouter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        assert failure(VyosUnreachableError, replace(router.api, url=url)).startswith("it does not speak TLS")
        thread.join()


def test_somebody_who_takes_the_connection_and_says_nothing(router: VyosRouter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        assert failure(VyosUnreachableError, replace(router.api, url=url), 0.2) == "no connection within 0.2 s"


# ── what is no answer ────────────────────────────────────────────────────────────────────────────


def http(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(lines).encode() + body


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (http("301 Moved", b"", "Location: https://192.0.2.9/\x1b[1m"),
         "redirects to https://192.0.2.9/ [1m: set [vyos] url"),
        (http("301 Moved"), "redirects to nowhere"),
        (http("401 Unauthorized", b"<html>"), "HTTP 401: the key in"),
        (http("403 Forbidden", b"<html>"), "HTTP 403: this machine is not let in"),
        (http("404 Not Found", b'{"detail":"Not Found"}'), "HTTP 404: there is no such API"),
        (http("503 Unavailable", b"<html>"), "HTTP 503: the API is not enabled"),
    ],
)  # fmt: skip
def test_what_answers_in_front_of_vyos(router: VyosRouter, raw: bytes, said: str) -> None:
    router.raw = raw
    assert failure(VyosUnreachableError, router.api).startswith(said)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "the connection broke during /retrieve (RemoteDisconnected"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the connection broke during /retrieve (BadStatusLine: SSH-2.0"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "the connection broke during /retrieve (HTTPException"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx\r\n0\r\n\r\n",
         "the connection broke during /retrieve (ValueError"),
        (http("200 OK", b"<html>\x00"), "HTTP 200 with '<html>', which is no answer of VyOS's API"),
        (http("200 OK", b"[" * 100_000), "HTTP 200 with '[[[["),
        (http("200 OK", b'{"success": "yes"}'), "HTTP 200 with '{\"success\": \"yes\"}'"),
        (http("200 OK", b"[true]"), "HTTP 200 with '[true]'"),
        (http("200 OK", b"{}")[:-1], "HTTP 200 with '{'"),
        (http("200 OK", b"x" * (ANSWER_LIMIT + 1)), f"HTTP 200 with more than {ANSWER_LIMIT} bytes"),
        (http("502 Bad Gateway", b"<html>nginx"), "HTTP 502 with '<html>nginx'"),
        (http("504 Gateway Time-out", b"<html>nginx"), "HTTP 504 with '<html>nginx'"),
        (http("200 OK", KEY.encode()), "HTTP 200 with '[the key]'"),
    ],
)  # fmt: skip
def test_what_is_no_answer_leaves_open_what_vyos_did(router: VyosRouter, raw: bytes, said: str) -> None:
    router.raw = raw
    assert failure(VyosUnansweredError, router.api).startswith(said)


def test_no_answer_in_time(router: VyosRouter) -> None:
    router.held.clear()
    with pytest.raises(VyosUnansweredError, match=r"no answer to /configure within 0\.3 s$"):
        ask(router.api, "/configure", SET, timeout=0.3)


def test_an_answer_that_comes_byte_by_byte_has_no_more_time(router: VyosRouter) -> None:
    """Each byte would renew the waiting of a socket with a timeout."""
    router.drip = 0.05
    assert failure(VyosUnansweredError, router.api, 0.5) == "no answer to /retrieve within 0.5 s"


def test_an_answer_that_never_begins_though_bytes_come_all_the_time(router: VyosRouter) -> None:
    router.raw, router.endless = b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, True
    assert failure(VyosUnansweredError, router.api, 0.5) == "no answer to /retrieve within 0.5 s"


# ── the door ─────────────────────────────────────────────────────────────────────────────────────


def test_the_real_host_asks_whom_the_settings_name(router: VyosRouter, tmp_path: Path) -> None:
    assert RealHost(tmp_path, vyos=router.api).vyos("/retrieve", EXISTS, timeout=SOON) is False
    with pytest.raises(VyosUnreachableError, match=r"^the settings have no \[vyos\] url$"):
        RealHost(tmp_path).vyos("/retrieve", EXISTS, timeout=SOON)
