"""Event streams (RFC 5277): what happened, logged durably, and sent to those who subscribed."""

from __future__ import annotations

from agent.streams.delivery import Delivery, Ending, Span
from agent.streams.event import Event
from agent.streams.streams import Streams

__all__ = ["Delivery", "Ending", "Event", "Span", "Streams"]
