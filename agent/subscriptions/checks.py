"""Which terms a subscription can be had on (RFC 8639 2.4.2, RFC 8641 4.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import nmda
from agent.subscriptions import reasons
from agent.subscriptions.reader import MOST_BYTES
from agent.subscriptions.reasons import Refused
from agent.subscriptions.terms import CHANGES, Periodic, StreamTerms

if TYPE_CHECKING:
    from agent.datastore import Datastores
    from agent.subscriptions.reader import Reading
    from agent.subscriptions.terms import DatastoreTerms, Terms
    from agent.subscriptions.volatile import Volatile

NETCONF_STREAM: Final = "NETCONF"
LEAST_PERIOD: Final = 10
"""The shortest period that is taken, in centiseconds."""


def check(terms: Terms, datastores: Datastores, volatile: Volatile) -> None:
    """Raise Refused for terms that nobody can have."""
    if isinstance(terms, StreamTerms):
        if terms.stream != NETCONF_STREAM:
            message = f"there is no event stream {terms.stream}: {NETCONF_STREAM} is the one that there is"
            raise Refused(reasons.STREAM_UNAVAILABLE, message)
        return
    known = nmda.names(datastores)
    if terms.datastore not in known:
        message = f"the datastore {terms.datastore} can't be subscribed to; these can be: {', '.join(known)}"
        raise Refused(reasons.DATASTORE_NOT_SUBSCRIBABLE, message)
    if isinstance(terms.trigger, Periodic):
        if terms.trigger.period < LEAST_PERIOD:
            message = f"a period of {terms.trigger.period} centiseconds is too short: the shortest is {LEAST_PERIOD}"
            raise Refused(reasons.PERIOD_UNSUPPORTED, message, {"period-hint": str(LEAST_PERIOD)})
        return
    if terms.datastore == "candidate":
        message = "changes of candidate are not pushed: subscribe to running, or with <periodic>"
        raise Refused(reasons.ON_CHANGE_UNSUPPORTED, message)
    if terms.trigger.excluded.issuperset(CHANGES):
        raise Refused(reasons.CANT_EXCLUDE, "all kinds of changes are excluded: nothing would ever be sent")
    volatile.check(terms.criteria.filters)


def check_size(terms: DatastoreTerms, reading: Reading) -> None:
    """Raise Refused where a subscription selects more than is sent at a time."""
    if not reading.too_big:
        return
    kilobytes, most = (size // 1024 for size in (len(reading.tree.xml()), MOST_BYTES))
    reason = reasons.UPDATE_TOO_BIG
    if not isinstance(terms.trigger, Periodic) and terms.trigger.sync:
        reason = reasons.SYNC_TOO_BIG
    message = f"the filter selects {kilobytes} KiB, and no more than {most} KiB are sent at a time: select less"
    raise Refused(reason, message, {"kilobytes-estimate": str(kilobytes), "kilobytes-limit": str(most)})
