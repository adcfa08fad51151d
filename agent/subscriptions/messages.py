"""Notifications of subscriptions as XML (RFC 8640 section 6, RFC 8641 3.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent.streams.event import message
from agent.subscriptions.reasons import PUSH, SUBSCRIBED
from agent.subscriptions.terms import timestamp
from agent.tree import from_json

if TYPE_CHECKING:
    from datetime import datetime

    from agent.model.load import Model

_INCOMPLETE: Final = b"<incomplete-update/>"


def state_change(model: Model, time: datetime, name: str, number: int, **more: Any) -> bytes:  # noqa: ANN401 - RFC 7951 data
    """Return a notification of ietf-subscribed-notifications about a subscription."""
    data = {f"ietf-subscribed-notifications:{name}": {"id": number, **more}}
    return message(timestamp(time), from_json(model.root, data).xml())


def completed(time: datetime, number: int) -> bytes:
    """Return a subscription-completed, which the module has under a feature that is for configured ones only."""
    content = f'<subscription-completed xmlns="{SUBSCRIBED}"><id>{number}</id></subscription-completed>'
    return message(timestamp(time), content.encode())


class PushUpdate:
    """A push-update of the same contents for any number of subscriptions: only the id differs."""

    def __init__(self, time: datetime, contents: bytes, *, complete: bool) -> None:
        self._parts = _around(
            time, "push-update", b"<datastore-contents>" + contents + b"</datastore-contents>", complete
        )

    def to(self, number: int) -> bytes:
        """Return the notification for a subscription."""
        return (b"%d" % number).join(self._parts)


class PushChangeUpdate:
    """A push-change-update of the same edits for any number of subscriptions; only what it is told by differs."""

    def __init__(self, time: datetime, edits: bytes, *, complete: bool) -> None:
        patch = b"<datastore-changes><yang-patch><patch-id>\0</patch-id>" + edits + b"</yang-patch></datastore-changes>"
        before, after = _around(time, "push-change-update", patch, complete)
        self._parts = (before, *after.split(b"\0"))  # no XML holds that character

    def to(self, number: int, patch: int) -> bytes:
        """Return the notification for a subscription, of which it is the patch with this number."""
        before, between, after = self._parts
        return b"%b%d%b%d%b" % (before, number, between, patch, after)


def _around(time: datetime, name: str, content: bytes, complete: bool) -> tuple[bytes, bytes]:  # noqa: FBT001
    """Return what stands before and after the subscription's id in a notification."""
    rest = content if complete else content + _INCOMPLETE
    event = b'<%b xmlns="%b"><id>\0</id>%b</%b>' % (name.encode(), PUSH.encode(), rest, name.encode())
    before, _id, after = message(timestamp(time), event).partition(b"\0")
    return before, after
