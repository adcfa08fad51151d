"""establish-, modify-, delete-, kill- and resync-subscription (RFC 8639 2.4, RFC 8640, RFC 8641 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import errors
from agent.messages import OK
from agent.operations.subscription_input import Input
from agent.subscriptions import reasons
from agent.subscriptions.on_change import OnChangeSubscription
from agent.subscriptions.reasons import SUBSCRIBED, Refused
from agent.subscriptions.terms import StreamTerms, timestamp

if TYPE_CHECKING:
    from agent.operations.request import Request
    from agent.subscriptions.subscription import Subscription
    from agent.subscriptions.terms import Terms

_OTHER_MEANS: Final = "this session has a subscription by create-subscription: use another session (RFC 8640 section 2)"


async def establish(request: Request) -> bytes:
    """Begin to send the session events of a stream, or updates of a datastore."""
    if request.session.listens:
        raise errors.operation_not_supported(_OTHER_MEANS)
    asked = Input(request)
    try:
        terms = asked.terms()
        subscription = await request.services.subscriptions.establish(request.session, terms)
    except Refused as refused:
        raise refused.error("establish-subscription", asked.target) from refused
    return f'<id xmlns="{SUBSCRIBED}">{subscription.number}</id>{_revision(request, terms)}'.encode()


async def modify(request: Request) -> bytes:
    """Change the terms of a subscription of this session; what is not given stays as it is."""
    asked = _checked(request)
    subscription = _own(request, asked)
    try:
        modified = await request.services.subscriptions.modify(subscription, asked.changed)
    except Refused as refused:
        raise refused.error("modify-subscription", subscription.terms.target) from refused
    if not modified:
        raise reasons.no_such_subscription(asked.operation, asked.number)
    return OK


def delete(request: Request) -> bytes:
    """End a subscription of this session."""
    request.services.subscriptions.end(_own(request, _checked(request)), None)
    return OK


def kill(request: Request) -> bytes:
    """End a subscription, whosever it is."""
    asked = _checked(request)
    subscription = request.services.subscriptions.get(asked.number)
    if subscription is None:
        raise reasons.no_such_subscription(asked.operation, asked.number)
    request.services.subscriptions.end(subscription, reasons.NO_SUCH_SUBSCRIPTION)
    return OK


def resync(request: Request) -> bytes:
    """Send everything that an on-change subscription of this session selects."""
    subscription = _own(request, _checked(request))
    if not isinstance(subscription, OnChangeSubscription):
        message = f"the subscription {subscription.number} is not on change: there is nothing to bring up to date"
        raise reasons.cant_resync(message)
    subscription.synchronize()
    return OK


def _checked(request: Request) -> Input:
    asked = Input(request)
    asked.check()
    return asked


def _own(request: Request, asked: Input) -> Subscription:
    """Return the subscription that is named. Raises no-such-subscription where this session has no such one."""
    found = request.services.subscriptions.of(request.session, asked.number)
    if found is None:
        raise reasons.no_such_subscription(asked.operation, asked.number)
    return found


def _revision(request: Request, terms: Terms) -> str:
    """Return from when on old events are sent, where the log does not reach back as far as was asked."""
    streams = request.services.streams
    reaches = streams.aged or streams.created
    if not isinstance(terms, StreamTerms) or terms.start is None or terms.start >= reaches:
        return ""
    return f'<replay-start-time-revision xmlns="{SUBSCRIBED}">{timestamp(reaches)}</replay-start-time-revision>'
