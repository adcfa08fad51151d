"""The step that gives a file its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.base import StepError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Replace a file; None as ``content`` or ``before`` stands for no file. ``mode`` is that of a new file."""

    kind: ClassVar[str] = "write-file"

    path: str
    content: bytes | None
    before: bytes | None
    mode: int = 0o644

    @property
    def disturbs(self) -> Disturbance | None:
        """See Step."""
        return None

    def describe(self) -> str:
        """See Step."""
        return f"{'remove' if self.content is None else 'write'} {self.path}"

    def perform(self, host: Host) -> None:
        """See Step."""
        replace(host, self.path, self.content, before=self.before, mode=self.mode)

    def inverse(self) -> Step:
        """See Step."""
        return WriteFile(self.path, self.before, self.content, self.mode)

    def observe(self, host: Host) -> str:
        """See Step."""
        return f"{self.path} {compared(host, self.path, self.content, before=self.before)}"


def replace(host: Host, path: str, content: bytes | None, *, before: bytes | None, mode: int = 0o644) -> bool:
    """Bring a file from one content to another and return whether there was anything to do.

    Raises StepError where it has neither content: somebody else changed it, and that is not to be overwritten.
    """
    found = current(host, path)
    if found == content:
        return False
    if found != before:
        raise StepError(f"{path} has been changed by somebody else meanwhile and is left as it is")
    if content is None:
        host.remove(path)
    else:
        host.write(path, content, mode=mode)
    if current(host, path) != content:
        raise StepError(f"{path} does not have the content that was written")
    return True


def compared(host: Host, path: str, content: bytes | None, *, before: bytes | None) -> str:
    """Return in words which of two contents a file has."""
    try:
        found = current(host, path)
    except OSError as error:
        return f"can't be read ({error.strerror or error})"
    if found == content:
        return "is removed" if content is None else "has the new content"
    if found == before:
        return "is not there" if before is None else "has its former content"
    return "has neither its former nor the new content"


def current(host: Host, path: str) -> bytes | None:
    """Return a file's bytes, None where there is none. Raises OSError."""
    try:
        return host.read(path)
    except FileNotFoundError:
        return None
