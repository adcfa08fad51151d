"""Dynamic subscriptions to event streams and to datastores (RFC 8639, RFC 8640, RFC 8641)."""

from __future__ import annotations

from agent.subscriptions.reader import Parts
from agent.subscriptions.registry import Subscriptions

__all__ = ["Parts", "Subscriptions"]
