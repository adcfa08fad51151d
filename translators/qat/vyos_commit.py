"""The step that has VyOS commit that acceleration is on, or off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Disturbance, StepError
from translators.host import wait_until
from translators.qat import tool
from translators.qat.model import ENABLED
from translators.qat.state import Observer
from translators.qat.vyos import QAT, REFUSED, UNREACHABLE, Router, verb, words
from translators.vyos import VyosError, VyosRefusedError, VyosUnreachableError

if TYPE_CHECKING:
    from translators.base import Step
    from translators.host import Host

# A commit without an answer may still be under way: its effect is looked for as often, with a pause between.
_LOOKS: Final = 6
_PAUSE_SECONDS: Final = 2.0
# Its configuration can be ahead of a commit that is under way: VyOS still starts the devices.
_UNANSWERED_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class CommitVyos:
    """Bring ``system acceleration qat`` into VyOS's configuration, or out of it, in one commit.

    ``devices`` (``c3xxx@0000:01:00.0``) are to be up after it, or down; ``before`` are those for which that holds
    after it is undone. ``refresh`` is how IPsec was to be refreshed; ``restarts_ipsec`` is whether VyOS restarts it
    with the commit. ``timeout`` is in seconds; with ``save`` what VyOS boots with becomes what it has then.
    """

    kind: ClassVar[str] = "vyos-commit"

    present: bool
    devices: tuple[str, ...]
    before: tuple[str, ...]
    refresh: str
    restarts_ipsec: bool
    timeout: int
    save: bool

    @property
    def disturbs(self) -> Disturbance | None:
        return Disturbance("ipsec", self.refresh, enabling=self.present, by_itself=self.restarts_ipsec)

    def describe(self) -> str:
        saving = ", and save its configuration" if self.save else ""
        return f"have VyOS commit {self._command}{saving} (HTTP API)"

    def perform(self, host: Host) -> None:
        try:
            there = self._router.has(host, QAT)
        except VyosError as error:
            raise _failure(error) from error
        answered = there == self.present or self._commit(host)
        seconds = tool.SETTLING_SECONDS if answered else _UNANSWERED_SECONDS
        if not wait_until(host, lambda: self._is_effective(host), seconds=seconds):
            observed = tool.observed(host, self.devices)
            text = f"VyOS has committed {self._command}, and that was without effect: {observed}; see VyOS's log"
            raise StepError(text, path=ENABLED, app_tag=REFUSED)
        if self.save and there != self.present:
            self._keep(host)

    def inverse(self) -> Step:
        return CommitVyos(
            not self.present, self.before, self.devices, self.refresh, self.restarts_ipsec, self.timeout, self.save
        )

    def observe(self, host: Host) -> str:
        try:
            has = f"VyOS {'has' if self._router.has(host, QAT) else 'does not have'} {words(QAT)}"
        except VyosError as error:
            has = f"what VyOS has can't be told ({error})"
        return f"{has}, {tool.observed(host, self.devices or self.before)}"

    @property
    def _router(self) -> Router:
        return Router(self.timeout, self.save)

    @property
    def _command(self) -> str:
        return f"`{verb(present=self.present)} {words(QAT)}`"

    def _is_effective(self, host: Host) -> bool:
        observer = Observer(host)
        return all(map(observer.is_up if self.present else observer.is_down, self.devices))

    def _commit(self, host: Host) -> bool:
        """Have it committed, whatever VyOS answers: its configuration is what counts. Return whether it answered.

        Raises StepError.
        """
        failure: VyosError | None = None
        try:
            self._router.commit(host, present=self.present)
        except VyosUnreachableError as error:
            raise _failure(error) from error
        except VyosError as error:
            failure = error
        refused = isinstance(failure, VyosRefusedError)
        arrived = self._arrived(host, 1 if refused else _LOOKS)
        if arrived:
            return failure is None or refused
        if isinstance(failure, VyosRefusedError):
            raise StepError(f"VyOS refuses {self._command}: {failure.reason}", path=ENABLED, app_tag=REFUSED)
        has = "what its configuration has can't be told" if arrived is None else "its configuration is unchanged"
        if failure is not None:
            text = f"no answer from VyOS ({failure}): {has} so far, and it may still commit {self._command} later"
            raise StepError(text, path=ENABLED, app_tag=UNREACHABLE) from failure
        raise StepError(f"VyOS says that it committed {self._command}, and {has}", path=ENABLED, app_tag=REFUSED)

    def _arrived(self, host: Host, looks: int) -> bool | None:
        """Return whether VyOS's configuration has become what it is to be; None where that can't be told."""
        seen: bool | None = None
        for look in range(looks):
            if look:
                host.sleep(_PAUSE_SECONDS)
            try:
                seen = self._router.has(host, QAT) == self.present
            except VyosError:
                seen = None
            if seen:
                break
        return seen

    def _keep(self, host: Host) -> None:
        try:
            self._router.keep(host)
        except VyosError as error:
            text = f"VyOS has committed {self._command}, and has not saved its configuration: {error}"
            tag = REFUSED if isinstance(error, VyosRefusedError) else UNREACHABLE
            raise StepError(text, path=ENABLED, app_tag=tag) from error


def _failure(error: VyosError) -> StepError:
    return StepError(f"VyOS can't be asked: {error}", path=ENABLED, app_tag=UNREACHABLE)
