"""SSH keys on disk: the server's own, and those with which users log in."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import asyncssh

from agent.settings import StartError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LARGEST_FILE: Final = 256 * 1024
LONGEST_NAME: Final = 64
_RSA_BITS: Final = 3072
# What the name of a missing file asks for; OpenSSH names its files so, too.
_KINDS: Final = {"ed25519": "ssh-ed25519", "ecdsa": "ecdsa-sha2-nistp256", "rsa": "ssh-rsa"}

log = logging.getLogger(__name__)


class _UnfitError(Exception):
    """A file that is there and can be read, but must not be used. The text goes after the file's name."""


@dataclass(frozen=True, slots=True)
class AuthorizedKeys:
    """The users' public keys: a file a user, as sshd's authorized_keys; ``%u`` stands for the user's name."""

    pattern: str

    def allow(self, username: str, key: asyncssh.SSHKey, *, address: str) -> bool:
        """Return whether the user may log in with the key from the IP address; ``from=`` is honoured.

        A file that others can write, or that is neither root's nor the agent's, holds no key that counts.
        """
        if not is_safe_name(username):
            return False
        path = self.pattern.replace("%u", username)
        try:
            text = _read(path, forbidden=0o022, owners=(0, os.geteuid())).decode()
        except FileNotFoundError:
            return False
        except (OSError, UnicodeDecodeError, _UnfitError) as exc:
            log.warning("no key in %s is used: %s", path, exc)
            return False
        return any(_line_allows(line, key, address=address) for line in text.splitlines())


def is_safe_name(username: str) -> bool:
    """Return whether a user's name is no more than a name in a path, in a log line and in XML."""
    return (
        0 < len(username) <= LONGEST_NAME
        and username.isprintable()
        and username[0] not in ".-"
        and ".." not in username
        and not any(character in "/\\%\"'" or character.isspace() for character in username)
    )


def load_host_keys(paths: Iterable[Path]) -> list[asyncssh.SSHKey]:
    """Return the host keys; a missing file is made, of the kind that its name says. Raises StartError."""
    found: dict[str, tuple[Path, asyncssh.SSHKey]] = {}
    for path in paths:
        key = _load_host_key(path)
        kind = key.get_algorithm()
        if kind in found:
            raise StartError(
                f"the host keys {found[kind][0]} and {path} are of one kind: take one out of [ssh] host-keys"
            )
        found[kind] = (path, key)
    return [key for _, key in found.values()]


def _load_host_key(path: Path) -> asyncssh.SSHKey:
    try:
        try:
            data = _read(path, forbidden=0o077)
        except FileNotFoundError:
            data = _make_host_key(path)
        return asyncssh.import_private_key(data)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        raise StartError(
            f"the host key {path} is no private key without a passphrase: move it away, and a new one is made"
        ) from None
    except _UnfitError as exc:
        raise StartError(f"the host key {path} {exc}: make it a file of mode 600, or move it away") from None
    except OSError as exc:
        raise StartError(
            f"cannot read or make the host key {path} ({exc.strerror}): correct that, or [ssh] host-keys"
        ) from None


def _make_host_key(path: Path) -> bytes:
    """Make a key file that is whole, and nobody else's, from its first moment."""
    kind = next((kind for word, kind in _KINDS.items() if word in path.name), None)
    if kind is None:
        raise StartError(f"there is no host key {path}: make it with ssh-keygen -t ed25519 -N '' -f {path}")
    if kind == "ssh-rsa":
        key = asyncssh.generate_private_key(kind, key_size=_RSA_BITS)
    else:
        key = asyncssh.generate_private_key(kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - opened with its mode
            file.write(key.export_private_key("openssh"))
            file.flush()
            os.fsync(descriptor)
        # A link, unlike a rename, replaces nothing: another agent that is starting may have been first.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
            log.debug("made the host key %s, %s", path, key.get_fingerprint())
    finally:
        draft.unlink()
    _sync(path.parent)
    return _read(path, forbidden=0o077)


def _line_allows(line: str, key: asyncssh.SSHKey, *, address: str) -> bool:
    line = line.strip()
    if not line or line.startswith("#"):
        return False
    try:
        options = asyncssh.import_authorized_keys(line).validate(key, address, address)
    except ValueError:
        # As sshd does: a line of a kind unknown here leaves the others valid.
        return False
    # command= ties a key to one program, and no program is run here.
    return options is not None and "command" not in options


def _read(path: Path | str, *, forbidden: int, owners: tuple[int, ...] | None = None) -> bytes:
    """Return a regular file's bytes. Raises OSError, _UnfitError: ``forbidden`` mode bits, other owners."""
    # O_NONBLOCK: opening a named pipe would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _UnfitError("is not a regular file")
        if status.st_mode & forbidden:
            raise _UnfitError(f"is open to others (mode {stat.S_IMODE(status.st_mode):04o})")
        if owners is not None and status.st_uid not in owners:
            raise _UnfitError(f"belongs to uid {status.st_uid}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST_FILE + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST_FILE:
        raise _UnfitError(f"is larger than {LARGEST_FILE} bytes")
    return data


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
