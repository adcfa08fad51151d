"""The log of past notifications, bounded and durable (RFC 5277 section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from agent.tree import Node


@dataclass(frozen=True, slots=True)
class Event:
    """A notification: a root node with the one notification below it, or with its ancestors (RFC 7950 7.16.2).

    ``number`` counts from 1 and goes on where the agent that ran before ended.
    """

    number: int
    time: datetime
    content: Node
