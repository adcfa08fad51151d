"""What the library's sessions lack: requests that come while a session ends are told so, and don't wait."""

from __future__ import annotations


class PromptEnd:
    """For a class that is derived from this one and from ncclient's session.

    The library tells its requests that a session ended, and only then has the session refuse new ones: one that is
    made in between would wait for its whole timeout.
    """

    def _dispatch_error(self, err: Exception) -> None:
        self._connected = False
        super()._dispatch_error(err)  # type: ignore[misc]  # the class beside this one has it
