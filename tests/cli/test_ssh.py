"""The commands with a real agent over SSH: whom they trust, and who may log in."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import socket
import stat
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh
import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.cli.conftest import Gateway, Result

    Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give an empty home."""
    return tmp_path


def known_hosts(home: Path, *lines: str) -> Path:
    """Write a home's known_hosts."""
    (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
    path = home / ".ssh/known_hosts"
    path.write_text("\n".join(lines))
    return path


def server(gateway: Gateway) -> str:
    """Return the gateway's name in known_hosts."""
    address = gateway.ready["netconf"]
    return f"[{address['host']}]:{address['port']}"


def host_key(gateway: Gateway) -> str:
    """Return the gateway's public host key: kind and key."""
    key = asyncssh.read_private_key(Path(gateway.ready["state_dir"]) / "ssh_host_ed25519_key")
    return " ".join(key.export_public_key().decode().split()[:2])


def public(kind: str) -> str:
    """Return a public key of somebody else."""
    return " ".join(asyncssh.generate_private_key(kind).export_public_key().decode().split()[:2])


def failed(result: Result) -> str:
    """Return the one line of a command that failed."""
    assert (result.returncode, result.stdout) == (1, ""), result
    (line,) = result.stderr.splitlines()
    return line.removeprefix("accel-agent: ")


def test_a_host_key_that_is_not_known_is_refused(gateway: Gateway, home: Path) -> None:
    line = failed(gateway.ssh("show", "qat", home=home))

    fingerprint = asyncssh.import_public_key(host_key(gateway)).get_fingerprint()
    assert line == (
        f"the host key of {server(gateway)} is not known: ssh-ed25519 {fingerprint}; compare it with the server's, "
        "then connect once with --accept-new-host-key"
    )
    assert not (home / ".ssh").exists()


def test_a_new_host_key_is_recorded_once(gateway: Gateway, home: Path) -> None:
    first = gateway.ssh("show", "cpu", "--accept-new-host-key", home=home)
    second = gateway.ssh("show", "cpu", home=home)

    assert (first.returncode, first.stderr) == (0, "")
    assert second.stdout == first.stdout == gateway("show", "cpu").stdout
    path = home / ".ssh/known_hosts"
    assert path.read_text() == f"{server(gateway)} {host_key(gateway)}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_recorded_key_stands_on_a_line_of_its_own(gateway: Gateway, home: Path) -> None:
    path = known_hosts(home, "# mine", f"gateway.example {public('ssh-ed25519')}")

    assert gateway.ssh("plan", "--accept-new-host-key", home=home).returncode == 0

    assert path.read_text().splitlines()[2:] == [f"{server(gateway)} {host_key(gateway)}"]


@pytest.mark.parametrize("flags", [(), ("--accept-new-host-key",)])
def test_a_host_key_that_has_changed_is_always_refused(gateway: Gateway, home: Path, flags: tuple[str, ...]) -> None:
    path = known_hosts(home, f"{server(gateway)} {public('ssh-ed25519')}")
    before = path.read_text()

    line = failed(gateway.ssh("show", "qat", *flags, home=home))

    assert line.startswith(f"the host key of {server(gateway)} has changed to ssh-ed25519 SHA256:")
    assert line.endswith(f"ssh-keygen -R '{server(gateway)}'")
    assert path.read_text() == before


def test_a_recorded_key_of_another_kind_is_not_passed_over(gateway: Gateway, home: Path) -> None:
    known_hosts(home, f"{server(gateway)} {public('ecdsa-sha2-nistp256')}")

    line = failed(gateway.ssh("show", "qat", "--accept-new-host-key", home=home))

    assert "known_hosts has only ecdsa-sha2-nistp256 for it" in line


def test_the_machines_other_ssh_server_may_have_another_key(gateway: Gateway, home: Path) -> None:
    known_hosts(home, f"127.0.0.1 {public('ecdsa-sha2-nistp256')}")

    assert "is not known" in failed(gateway.ssh("show", "cpu", home=home))
    assert gateway.ssh("show", "cpu", "--accept-new-host-key", home=home).returncode == 0


def test_a_key_that_is_recorded_for_the_name_alone_is_good(gateway: Gateway, home: Path) -> None:
    known_hosts(home, f"127.0.0.1 {host_key(gateway)}")

    assert gateway.ssh("show", "cpu", home=home).returncode == 0


@pytest.mark.needs("ssh-keygen")
def test_hashed_names_are_understood(gateway: Gateway, home: Path) -> None:
    path = known_hosts(home, f"{server(gateway)} {host_key(gateway)}")
    program = shutil.which("ssh-keygen")
    assert program is not None
    subprocess.run([program, "-H", "-f", path], check=True, capture_output=True)
    assert "127.0.0.1" not in path.read_text()

    assert gateway.ssh("show", "cpu", home=home).returncode == 0


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"gateway.example ssh-rsa AAA\n", "has a line that is no host key, correct it: gateway.example ssh-rsa AAA"),
        (b"gateway.example \xff\n", "can't be read: "),
    ],
)
def test_a_broken_known_hosts_is_told(gateway: Gateway, home: Path, content: bytes, problem: str) -> None:
    path = known_hosts(home)
    path.write_bytes(content)

    assert failed(gateway.ssh("show", "cpu", home=home)).startswith(f"{path} {problem}")


@pytest.fixture
def trusted(gateway: Gateway, home: Path) -> Path:
    """Give a home that knows the gateway."""
    known_hosts(home, f"{server(gateway)} {host_key(gateway)}\n")
    return home


def connection(gateway: Gateway, user: str = "admin") -> tuple[str, ...]:
    """Return the flags of a connection, without a proof of who it is."""
    address = gateway.ready["netconf"]
    return ("--host", address["host"], "--port", str(address["port"]), "--user", user)


def test_without_a_proof_nobody_gets_in(gateway: Gateway, trusted: Path, run: Run) -> None:
    assert failed(run("show", "cpu", *connection(gateway))) == (
        f"127.0.0.1 port {gateway.ready['netconf']['port']} refused admin: give another --user, "
        "a --key that it knows, or a --password-file"
    )


def test_a_wrong_password(gateway: Gateway, trusted: Path, run: Run) -> None:
    password = trusted / "wrong"
    password.write_text("guess\n")

    line = failed(run("show", "cpu", *connection(gateway), "--password-file", str(password)))

    assert " refused admin: " in line
    assert "guess" not in line


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "has no first line: write the password there"), (b"\n", "has no first line: write the password there")],
)
def test_an_empty_password_file(gateway: Gateway, trusted: Path, run: Run, content: bytes, problem: str) -> None:
    password = trusted / "empty"
    password.write_bytes(content)

    line = failed(run("show", "cpu", *connection(gateway), "--password-file", str(password)))

    assert line == f"{password} {problem}"


def authorize(gateway: Gateway, key: asyncssh.SSHKey) -> None:
    """Let a key in as admin."""
    folder = Path(gateway.ready["unix_socket"]).parent / "authorized_keys"
    folder.mkdir(exist_ok=True)
    (folder / "admin").write_bytes(key.export_public_key())


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ssh-rsa"])
def test_a_key_gets_in(gateway: Gateway, trusted: Path, run: Run, kind: str) -> None:
    key = asyncssh.generate_private_key(kind)
    authorize(gateway, key)
    file = trusted / "key"
    file.write_bytes(key.export_private_key())

    result = run("show", "cpu", *connection(gateway), "--key", str(file))

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == gateway("show", "cpu").stdout


def test_a_key_of_the_home_is_tried(gateway: Gateway, trusted: Path, run: Run) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    authorize(gateway, key)
    (trusted / ".ssh/id_ed25519").write_bytes(key.export_private_key())

    assert run("show", "cpu", *connection(gateway)).returncode == 0


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "can't be read: No such file or directory"), (b"\xff\n", "is no text in UTF-8")]
)
def test_a_password_file_that_cannot_be_read(
    gateway: Gateway, trusted: Path, run: Run, content: bytes | None, problem: str
) -> None:
    password = trusted / "broken"
    if content is not None:
        password.write_bytes(content)

    line = failed(run("show", "cpu", *connection(gateway), "--password-file", str(password)))

    assert line == f"the password file {password} {problem}"


@pytest.mark.parametrize(("form", "cipher"), [("openssh", "aes256-ctr"), ("pkcs1-pem", "aes256-cbc")])
def test_an_encrypted_key_is_for_the_ssh_agent(
    gateway: Gateway, trusted: Path, run: Run, form: str, cipher: str
) -> None:
    key = asyncssh.generate_private_key("ssh-rsa")
    authorize(gateway, key)
    file = trusted / "key"
    file.write_bytes(key.export_private_key(form, passphrase="open sesame", cipher_name=cipher))

    line = failed(run("show", "cpu", *connection(gateway), "--key", str(file)))

    assert line.endswith(f"refused admin: {file} is encrypted, load it with ssh-add")


@pytest.mark.parametrize("content", [None, b"no key"])
def test_a_key_that_is_none(gateway: Gateway, trusted: Path, run: Run, content: bytes | None) -> None:
    file = trusted / "key"
    if content is not None:
        file.write_bytes(content)

    line = failed(run("show", "cpu", *connection(gateway), "--key", str(file)))

    told = {
        None: f"the key {file} can't be read: No such file or directory",
        b"no key": (
            f"{file} is no private key that can be used: give one in OpenSSH's or PEM format, not the .pub beside it"
        ),
    }
    assert line == told[content]


def in_terminal(home: Path, *words: str, prompt: str = "", typed: str = "") -> tuple[int, str]:
    """Run a command in a terminal where somebody types when prompted; return its exit status and what is seen."""
    script = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    with subprocess.Popen(
        [sys.executable, "-c", script, sys.executable, "-m", "agent", *words],
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "70"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = b""
        # What is typed before the prompt is thrown away with the echo.
        while not seen.endswith(prompt.encode()) or not prompt:
            assert select.select([process.stdout], [], [], 30)[0], seen
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                break
            seen += data
        rest, _ = process.communicate(typed.encode(), timeout=30)
    return process.returncode, (seen + rest).decode()


def test_a_password_is_asked_for_where_somebody_sits(gateway: Gateway, trusted: Path) -> None:
    password = gateway.ready["password"]
    prompt = "admin@127.0.0.1's password: "

    status, seen = in_terminal(trusted, "show", "cpu", *connection(gateway), prompt=prompt, typed=f"{password}\n")

    assert status == 0, seen
    assert "AES-NI" in seen.partition(prompt)[2]
    assert password not in seen


def test_a_wrong_password_is_asked_for_once(gateway: Gateway, trusted: Path) -> None:
    prompt = "admin@127.0.0.1's password: "

    status, seen = in_terminal(trusted, "show", "cpu", *connection(gateway), prompt=prompt, typed="guess\n")

    assert status == 1
    assert " refused admin: " in seen
    assert seen.count(prompt) == 1


def test_a_terminal_has_colours_and_a_pipe_has_none(gateway: Gateway, home: Path, run: Run) -> None:
    words = ("show", "qat", "--unix-socket", gateway.ready["unix_socket"])

    status, seen = in_terminal(home, *words)

    assert status == 0
    assert "\x1b[33mdown" in seen
    assert "\x1b" not in run(*words, env={"FORCE_COLOR": "1", "TERM": "xterm-256color"}).stdout


def test_an_address_where_nobody_listens(run: Run) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        line = failed(run("show", "cpu", "--host", "127.0.0.1", "--port", str(port)))

    assert line == f"no agent can be reached at 127.0.0.1 port {port}: Connection refused"


def test_a_name_that_does_not_exist(run: Run) -> None:
    assert failed(run("show", "cpu", "--host", "gateway.invalid")).startswith(
        "no agent can be reached at gateway.invalid port 830: "
    )


@asynccontextmanager
async def ssh_server(key: asyncssh.SSHKey) -> AsyncIterator[int]:
    """Serve SSH, and not NETCONF, with one host key and without a way to log in."""
    async with asyncssh.listen("127.0.0.1", 0, server_host_keys=[key], password_auth=False) as listener:
        yield listener.get_port()


def test_an_rsa_key_is_known_by_its_old_name(home: Path, run: Run) -> None:
    async def attempt() -> str:
        key = asyncssh.generate_private_key("ssh-rsa")
        async with ssh_server(key) as port:
            recorded = key.export_public_key().decode().strip()
            known_hosts(home, f"[127.0.0.1]:{port} {recorded}\n")
            return failed(await asyncio.to_thread(run, "show", "cpu", "--host", "127.0.0.1", "--port", str(port)))

    # It came to logging in: the host key was good.
    assert " refused " in asyncio.run(attempt())


def test_what_speaks_no_ssh(run: Run) -> None:
    async def attempt() -> str:
        async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 mail.example\r\n")
            writer.close()

        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            return failed(await asyncio.to_thread(run, "show", "cpu", "--host", "127.0.0.1", "--port", str(port)))

    assert asyncio.run(attempt()).startswith("no NETCONF session with 127.0.0.1 port ")
