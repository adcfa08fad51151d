"""Host keys of SSH servers, as ssh(1) keeps them: known_hosts, of the user and of the machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paramiko.hostkeys import HostKeys, InvalidHostKey

from agent.cli.errors import CommandError

if TYPE_CHECKING:
    from paramiko import PKey

SYSTEM: Final = Path("/etc/ssh/ssh_known_hosts")
_SSH_PORT: Final = 22
# An RSA key is recorded by the name that its signatures had once (RFC 8332).
_KINDS: Final = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


class KnownHosts:
    """The keys that are known for one server, looked up as ssh(1) does.

    What is recorded for the port counts; what is recorded for the name alone, which is the key of port 22, is only
    good for a match: another server of the machine may have another key.
    """

    def __init__(self, host: str, port: int) -> None:
        """Read the files. Raises CommandError for one that can't be used."""
        self.name = host if port == _SSH_PORT else f"[{host}]:{port}"
        self._host = host
        self._keys = HostKeys()
        for path in (SYSTEM, _user_file()):
            _load(self._keys, path)

    # What the library asks, before and after it has the server's key.

    def lookup(self, name: str) -> dict[str, PKey]:
        """Return the kinds of key to ask the server for: those that are recorded for its name with its port."""
        recorded = self._keys.lookup(name) if name == self.name else None
        return {
            kind: key
            for recorded_as, key in (recorded or {}).items()
            for kind in _KINDS.get(recorded_as, [recorded_as])
        }

    def check(self, _name: str, _key: PKey) -> bool:
        """Return False: ``accept`` decides."""
        return False

    def accept(self, key: PKey, *, new: bool) -> None:
        """Return when a key is the server's. A key of an unknown server is recorded if ``new``, refused otherwise.

        Raises CommandError, also when another key is recorded: whatever ``new`` says.
        """
        recorded = self._keys.lookup(self.name) is not None
        if self._keys.check(self.name if recorded else self._host, key):
            return
        shown = f"{key.get_name()} {key.fingerprint}"
        if recorded:
            raise CommandError(
                f"the host key of {self.name} has changed to {shown}: somebody may be listening in; if it was changed "
                f"on purpose, remove the old one with: ssh-keygen -R '{self.name}'"
            )
        if not new:
            raise CommandError(
                f"the host key of {self.name} is not known: {shown}; compare it with the server's, then connect once "
                "with --accept-new-host-key"
            )
        _record(_user_file(), f"{self.name} {key.get_name()} {key.get_base64()}")


def _user_file() -> Path:
    return Path("~/.ssh/known_hosts").expanduser()


def _load(keys: HostKeys, path: Path) -> None:
    try:
        keys.load(os.fspath(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise CommandError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} can't be read: it is no text in UTF-8") from error
    except InvalidHostKey as error:
        bad: Any = error
        raise CommandError(f"{path} has a line that is no host key, correct it: {bad.line.strip()[:80]}") from error


def _record(path: Path, line: str) -> None:
    """Add a line to the user's file, which is made where there is none."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Only the user may write it, from its first moment on.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a+b") as file:
            file.seek(0)
            content = file.read()
            file.write((b"\n" if content and not content.endswith(b"\n") else b"") + line.encode() + b"\n")
    except OSError as error:
        raise CommandError(f"the host key can't be recorded in {path}: {error.strerror}") from error
