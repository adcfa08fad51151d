"""Whether the devices work: interrupts and counters between two samples, and the firmware's heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, none_up
from translators.qat import heartbeat
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from translators.doctor.look import Look
    from translators.qat.counters import Engine

_HUNG: Final = (
    "Look again; if the same requests still wait, switch QAT off (accel-agent set qat enabled false) and see the "
    "kernel log: a CPU may hang in the driver."
)
_NO_ANSWER: Final = "Restart the device; if that fails, switch the machine off and on again."


def interrupts(look: Look) -> Iterator[Finding]:
    """Return how many interrupts the devices raised. That there were none says nothing: programs may poll."""
    if not look.up:
        yield none_up(look)
        return
    first, second = look.samples
    for device in look.up:
        count = second.interrupts.get(device.address)
        if count is None:
            text = f"{device.address} is up, and no interrupt is named after it"
            yield Finding(UNKNOWN, text, "See the kernel log for interrupt vectors that could not be had.")
            continue
        grown = count - first.interrupts.get(device.address, 0)
        none = "; that is normal while nothing asks, or where programs poll" if grown <= 0 else ""
        yield Finding(OK, f"{device.address}: {max(grown, 0)} in {look.interval:g} s, {count} in all{none}")


def counters(look: Look) -> Iterator[Finding]:
    """Return how many requests the devices' firmware took and answered."""
    if not look.up:
        yield none_up(look)
        return
    first, second = look.samples
    for device in look.up:
        before, after = first.engines.get(device.address), second.engines.get(device.address)
        broken = next((found for found in (after, before) if isinstance(found, SourceError)), None)
        if broken is not None:
            yield Finding(UNKNOWN, f"{device.address}: {broken}")
        elif before is None or after is None or isinstance(before, SourceError) or isinstance(after, SourceError):
            yield Finding(
                NOT_APPLICABLE, f"{device.address}: its driver does not count requests, or has just stopped it"
            )
        else:
            yield _compared(look, device.address, before, after)


def beats(look: Look) -> Iterator[Finding]:
    """Return whether the firmware of each device answers; asked only by who wants it, and once."""
    if not look.heartbeat:
        yield Finding(
            NOT_APPLICABLE,
            "not asked for: a reading that fails by mistake makes some drivers stop the device's DMA",
            "--heartbeat asks each device once.",
        )
        return
    physical = [device for device in look.up if not device.id.virtual]
    if not physical:
        yield none_up(look)
        return
    # So that the reading of a run before this one is never too near, whoever made it.
    look.host.sleep(heartbeat.MINIMUM_SECONDS)
    for device in physical:
        folder = look.observer.folder(device.target)
        beat = None if folder is None else heartbeat.read(look.host, folder)
        if beat is None:
            yield Finding(NOT_APPLICABLE, f"{device.address}: its driver has no heartbeat")
        elif beat.status == "healthy":
            yield Finding(OK, f"{device.address}: the firmware answers")
        else:
            yield Finding(PROBLEM, f"{device.address}: the firmware does not answer", _NO_ANSWER)


def _compared(look: Look, address: str, before: Sequence[Engine], after: Sequence[Engine]) -> Finding:
    silent = [str(engine.number) for engine in after if engine.no_response]
    if silent:
        return Finding(PROBLEM, f"{address}: engines that do not answer: {', '.join(silent)}", _NO_ANSWER)
    old = {engine.number: (engine.requests or 0, engine.responses or 0) for engine in before}
    new = {engine.number: (engine.requests or 0, engine.responses or 0) for engine in after}
    grown = sum(requests for requests, _ in new.values()) - sum(requests for requests, _ in old.values())
    if old.keys() != new.keys() or grown < 0:
        return Finding(UNKNOWN, f"{address}: the counters began anew meanwhile: the device was restarted")
    hung = sum(
        requests - responses
        for number, (requests, responses) in new.items()
        if requests > responses and old[number][1] == responses and old[number][0] > responses
    )
    seconds = f"{look.interval:g} s"
    if hung:
        return Finding(PROBLEM, f"{address}: {hung} requests wait, and none of them was answered in {seconds}", _HUNG)
    total = sum(requests for requests, _ in new.values())
    if total == 0:
        text = f"{address}: no request since the device started"
        return Finding(OK, text, "If IPsec is to use it, see the checks of the algorithms and of IPsec.")
    return Finding(OK, f"{address}: {grown} requests in {seconds}, {total} since it started")
