"""What a device has done: requests, what it measures of itself, and errors."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from translators.qat import ras, telemetry
from translators.qat.counted import counted
from translators.qat.device_source import without_none

if TYPE_CHECKING:
    from datetime import datetime

    from translators.base import Tree
    from translators.qat.counters import Engine
    from translators.qat.device_source import Source
    from translators.qat.measures import Read


def counters_of(source: Source) -> Tree | None:
    """Return the counters of the engines and their sums, None where there are none. Raises SourceError, OSError."""
    engines = counted(source.observer, source.device)
    if engines is None:
        return None
    flows: Tree = {"engine": [_engine(engine) for engine in engines]}
    # Without the engines that did not answer, the sums would be made up.
    requests = [engine.requests for engine in engines if engine.requests is not None]
    responses = [engine.responses for engine in engines if engine.responses is not None]
    if len(requests) == len(responses) == len(engines):
        flows |= {"requests": sum(requests), "responses": sum(responses)}
        # The two are not read at one instant: responses may be ahead.
        flows["in-flight"] = max(0, sum(requests) - sum(responses))
    return flows


def measured(source: Source) -> Tree | None:
    """Return what the device measures of itself, of the last second. Raises SourceError, OSError."""
    device = source.device
    if not device.id.later:
        return None
    found = telemetry.read(source.host, device.address, source.observer.folder(device.target))
    if found is None:
        return None
    slices = [{"slice": kind, "percent": percent} for kind, percent in found.kinds().items()]
    return without_none(
        {
            "throughput-in": found.throughput_in,
            "throughput-out": found.throughput_out,
            "latency": found.latency,
            "utilization": slices or None,
        }
    )


def metered(source: Source) -> Tree:
    """Return what only a look after another one tells."""
    meter = source.measures.meter(source.device.address)
    return without_none({"request-rate": meter.rate, "discontinuity-time": _time(meter.discontinuity)})


def errors(source: Source, read: Read) -> Tree | None:
    """Return the errors that ``ras.read`` or ``ras.read_link`` reads, added up; None for none. Raises SourceError."""
    found = source.measures.errors(source.host, source.device.address, read)
    counts = without_none(dict(zip(ras.KINDS, found.totals, strict=True)))
    return {**counts, "discontinuity-time": _time(found.since)} if counts else None


def _engine(engine: Engine) -> Tree:
    return without_none(
        {
            "id": engine.number,
            "requests": engine.requests,
            "responses": engine.responses,
            "ras-events": engine.ras_events,
            "no-response": engine.no_response or None,
        }
    )


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
