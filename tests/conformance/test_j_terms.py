"""Section J: terms of subscriptions that can't be had, each with its reason (RFC 8640 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.access import Guarded, deny, path, rules
from tests.conformance.subscriptions import (
    CHANGES,
    FAILED,
    FLOWS,
    FUTURE,
    MODULES,
    ON_CHANGE,
    OPERATIONAL,
    PAST,
    RUNNING,
    STREAM,
    YP,
    begin,
    establish,
    named,
    periodic,
    quiet,
    refused,
)

if TYPE_CHECKING:
    from tests.conformance.session import Session

pytestmark = pytest.mark.usefixtures("agent")
STREAM_INFO = "establish-subscription-stream-error-info"
STORE_INFO = "establish-subscription-datastore-error-info"
UNSUPPORTED = f"{FAILED}/ietf-subscribed-notifications:filter-unsupported"
TOO_SHORT = "ietf-yang-push:period-unsupported"
INPUT = "@/sn:establish-subscription"
REFUSED = {
    "C223 unknown stream": (
        "<stream>SNMP</stream>",
        f"{FAILED}/ietf-subscribed-notifications:stream-unavailable",
    ),
    "C223 encoding": (
        f"{STREAM}<encoding>sn:encode-json</encoding>",
        f"{FAILED}/ietf-subscribed-notifications:encoding-unsupported {STREAM_INFO}/reason=encoding-unsupported",
    ),
    "C223 dscp": (
        f"{STREAM}<dscp>10</dscp>",
        f"{FAILED}/ietf-subscribed-notifications:dscp-unavailable {STREAM_INFO}/reason=dscp-unavailable",
    ),
    "C223 filter of a stream": (
        f"{STREAM}<stream-xpath-filter>a b</stream-xpath-filter>",
        f"{UNSUPPORTED} {STREAM_INFO}/reason=filter-unsupported {STREAM_INFO}/filter-failure-hint=Invalid expression",
    ),
    "C223 no filter of that name": (
        f"{STREAM}<stream-filter-name>none</stream-filter-name>",
        f"{UNSUPPORTED} {STREAM_INFO}/reason=filter-unsupported {STREAM_INFO}/filter-failure-hint=",
    ),
    "C223 filter of a datastore": (
        f"{RUNNING}<yp:datastore-xpath-filter>/t:top[</yp:datastore-xpath-filter>{ON_CHANGE}",
        f"{UNSUPPORTED} {STORE_INFO}/reason=sn:filter-unsupported {STORE_INFO}/filter-failure-hint=",
    ),
    "C223 no target": ("", "application/missing-element"),
    "C223 no trigger": (RUNNING, "application/missing-element"),
    "C223 replay of the future": (
        f"{STREAM}<replay-start-time>{FUTURE}</replay-start-time>",
        f"application/invalid-value {INPUT}/sn:replay-start-time",
    ),
    "C223 stop-time in the past": (
        f"{STREAM}<stop-time>{PAST}</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 stop-time before the start": (
        f"{STREAM}<replay-start-time>2020-01-02T00:00:00Z</replay-start-time><stop-time>{PAST}</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 no time": (
        f"{STREAM}<stop-time>tomorrow</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 stop-time after the last day": (
        f"{STREAM}<stop-time>9999-12-31T23:59:59-14:00</stop-time>",
        f"application/invalid-value {INPUT}/sn:stop-time",
    ),
    "C223 replay before the first day": (
        f"{STREAM}<replay-start-time>0001-01-01T00:00:00+14:00</replay-start-time>",
        f"application/invalid-value {INPUT}/sn:replay-start-time",
    ),
    "C226 anchor after the last day": (
        f"{RUNNING}{periodic(100, '9999-12-31T23:59:59-14:00')}",
        f"application/invalid-value {INPUT}/yp:periodic/yp:anchor-time",
    ),
    "C226 period": (
        f"{RUNNING}{periodic(9)}",
        f"{FAILED}/{TOO_SHORT} {STORE_INFO}/reason=period-unsupported {STORE_INFO}/period-hint=10",
    ),
    "C226 counters on change": (
        f"{OPERATIONAL}<yp:datastore-subtree-filter>{FLOWS}</yp:datastore-subtree-filter>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:on-change-unsupported {STORE_INFO}/reason=on-change-unsupported",
    ),
    "C226 candidate on change": (
        f"<yp:datastore>ds:candidate</yp:datastore>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:on-change-unsupported {STORE_INFO}/reason=on-change-unsupported",
    ),
    "C226 what never changes": (
        f"{OPERATIONAL}<yp:datastore-subtree-filter>{MODULES}</yp:datastore-subtree-filter>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:unchanging-selection {STORE_INFO}/reason=unchanging-selection",
    ),
    "C226 datastore": (
        f"<yp:datastore>ds:conventional</yp:datastore>{ON_CHANGE}",
        f"{FAILED}/ietf-yang-push:datastore-not-subscribable {STORE_INFO}/reason=datastore-not-subscribable",
    ),
    "C226 all changes excluded": (
        RUNNING
        + "<yp:on-change>"
        + "".join(
            f"<yp:excluded-change>{change}</yp:excluded-change>"
            for change in ("create", "delete", "insert", "move", "replace")
        )
        + "</yp:on-change>",
        f"{FAILED}/ietf-yang-push:cant-exclude {STORE_INFO}/reason=cant-exclude",
    ),
}


@pytest.mark.parametrize(("content", "wanted"), REFUSED.values(), ids=REFUSED)
def test_terms_that_can_not_be_had(session: Session, content: str, wanted: str) -> None:
    found = refused(session, establish(content))
    assert found.startswith(wanted) if wanted.endswith("=") else found == wanted
    quiet(session)


def test_a_user_with_limits_is_told_the_same(gate: Guarded) -> None:
    gate.configure(rules("l", deny(path("/e:top/e:secret"))))
    ada = gate.user()
    for name, (content, wanted) in REFUSED.items():
        found = refused(ada, establish(content))
        assert found.startswith(wanted) if wanted.endswith("=") else found == wanted, name
    no_such = f"{FAILED}/ietf-subscribed-notifications:no-such-subscription"
    for operation in ("delete", "modify"):
        asked = named(f"{operation}-subscription", 4711)
        assert refused(ada, asked).startswith(no_such), operation
    assert "no-such-subscription-resync" in refused(ada, named("resync-subscription", 4711, space=YP))


def test_c223_a_session_has_no_more_than_a_hundred(session: Session) -> None:
    for _ in range(100):
        begin(session, establish(STREAM + CHANGES))
    wanted = (
        f"{FAILED}/ietf-subscribed-notifications:insufficient-resources {STREAM_INFO}/reason=insufficient-resources"
    )
    assert refused(session, establish(STREAM)) == wanted
