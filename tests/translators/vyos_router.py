"""A small VyOS: its HTTP API over TLS with one session and one lock, and its command line.

It behaves as vyos-1x does: one call of /configure is one commit, a node that has not changed runs no script, and what a
script says on failing is in the answer, escaped for HTML.
"""

from __future__ import annotations

import html
import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from translators.vyos import Api

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from socket import socket

KEY = "a key & of the test's own"
QAT = "system acceleration qat"
IPSEC = "vpn ipsec"
BUSY = "Configuration system temporarily locked due to another commit in progress"


class CommitError(Exception):
    """A commit failed, with what VyOS prints."""


@dataclass
class VyosRouter:
    """The router; ``script`` is run with each change of QAT, with whether it is there, and fails with CommitError.

    ``raw`` is answered to everything as it is, with ``endless`` again and again. ``held`` keeps answers to commits back
    until it is set, ``drip`` is the seconds between two bytes of an answer. With ``mute`` a commit is made, and the
    connection ends without an answer.
    """

    folder: Path
    script: Callable[[bool], None] = lambda _present: None
    config: set[str] = field(default_factory=set)
    saved: set[str] = field(default_factory=set)
    busy: bool = False
    raw: bytes | None = None
    endless: bool = False
    mute: bool = False
    drip: float = 0
    held: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    names: tuple[str, ...] = ("127.0.0.1",)

    def __post_init__(self) -> None:
        self.held.set()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key_file = self.folder / "vyos.key"
        self.key_file.touch(mode=0o600)
        self.key_file.write_text(f"{KEY}\n")
        self.certificate = self.folder / "router.pem"
        self.fingerprint = _certify(self.certificate, self.names)
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.held.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_port}"

    @property
    def api(self) -> Api:
        return Api(self.url, str(self.key_file), fingerprint=self.fingerprint)

    def settings(self, *lines: str) -> str:
        """Return the table of an agent's settings file that names this router."""
        keys = (f'url = "{self.url}"', f'key-file = "{self.key_file}"', f'fingerprint = "{self.fingerprint}"')
        return "\n".join(("[vyos]", *keys, *lines, ""))

    def asked(self, operation: str) -> int:
        """Return how often an operation was asked for."""
        return sum(message.get("op") == operation for _endpoint, message in list(self.requests))

    def command_line(self, *commands: str) -> None:
        """Commit commands such as ``delete system acceleration qat`` on VyOS's own command line."""
        self.commit([(line.partition(" ")[0], line.partition(" ")[2]) for line in commands])

    def commit(self, commands: list[tuple[str, str]]) -> None:
        """Make one commit. Raises CommitError, and then nothing has changed."""
        with self._lock:
            if self.busy:
                raise CommitError(f"{BUSY}\n")
            wanted = set(self.config)
            for operation, path in commands:
                if operation == "set":
                    wanted.add(path)
                else:
                    wanted.discard(path)
            if (QAT in wanted) != (QAT in self.config):
                self.script(QAT in wanted)
            self.config = wanted
            self.commits.append("; ".join(f"{operation} {path}" for operation, path in commands))

    def answer(self, endpoint: str, message: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of an answer."""
        if message.pop("key", None) != KEY:
            return 401, _error("Valid API key is required")
        self.requests.append((endpoint, message))
        try:
            return 200, {"success": True, "data": self._done(endpoint, message), "error": None}
        except CommitError as error:
            return 400, _error(html.escape(str(error), quote=False))
        except (KeyError, ValueError) as error:
            return 400, _error(f"Malformed command: {error}")

    def _done(self, endpoint: str, message: dict[str, Any]) -> object:
        match endpoint, message.get("op"):
            case "/retrieve", "exists":
                return " ".join(message["path"]) in self.config
            case "/configure", _:
                listed = message.get("commands", [message])
                self.commit([(command["op"], " ".join(command["path"])) for command in listed])
                return None
            case "/config-file", "save":
                self.saved = set(self.config)
                return "Saving configuration to '/config/config.boot'...\nDone\n"
        raise ValueError(endpoint)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, router: VyosRouter) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.router = router
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(router.certificate)

    def get_request(self) -> tuple[socket, Any]:
        plain, address = self.socket.accept()
        plain.settimeout(60)
        return self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave aside clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        router = self.server.router
        endpoint, text = self.path, self.rfile.read(int(self.headers["Content-Length"]))
        if router.raw is not None:
            router.requests.append((endpoint, {}))
            self.wfile.write(router.raw)
            while router.endless:
                self.wfile.write(router.raw)
            return
        status, body = router.answer(endpoint, json.loads(text))
        if router.mute and endpoint == "/configure":
            return
        if endpoint == "/configure":
            router.held.wait(60)
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for n in range(len(data)) if router.drip else ():
            time.sleep(router.drip)
            self.wfile.write(data[n : n + 1])
        self.wfile.write(b"" if router.drip else data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name for it
        """Print nothing."""


def _error(text: str) -> dict[str, Any]:
    return {"success": False, "error": text, "data": None}


def _certify(path: Path, names: tuple[str, ...]) -> str:
    """Write a self-signed certificate with its key; return the certificate's SHA-256 fingerprint."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vyos")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(one)) for one in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return certificate.fingerprint(hashes.SHA256()).hex()
