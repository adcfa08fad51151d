"""Access control (RFC 8341): who may see, change, call and receive what."""

from __future__ import annotations

from agent.nacm.access import Access
from agent.nacm.control import Nacm
from agent.nacm.initial import initial

__all__ = ["Access", "Nacm", "initial"]
