"""The machine as the list sees it: whether it kept something from this user."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.host import Host


class Door:
    """A Host that notes, in ``denied``, whether one of its calls was refused for want of permission."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.denied = False

    @property
    def host(self) -> Host:
        """This object, as what it is used for."""
        return cast("Host", self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._host, name)

        def noted(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as the call
            try:
                found = call(*arguments, **options)
            except PermissionError:
                self.denied = True
                raise
            return self._noted(found) if isinstance(found, Generator) else found

        return noted

    def _noted(self, messages: Generator[Any, None, None]) -> Generator[Any, None, None]:
        try:
            yield from messages
        except PermissionError:
            self.denied = True
            raise
