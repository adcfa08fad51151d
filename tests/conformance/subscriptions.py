"""Dynamic subscriptions and what is heard (RFC 8639, RFC 8641): for section J."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lxml import etree

from tests.conformance.session import N, Session, chunked, edit, plain, refusals, rpc
from tests.system.client import HA, qat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from tests.conformance.agents import Agent

SN = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
YP = "urn:ietf:params:xml:ns:yang:ietf-yang-push"
DS = "urn:ietf:params:xml:ns:yang:ietf-datastores"
LIBRARY = "urn:ietf:params:xml:ns:yang:ietf-yang-library"
SERVER = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
SPACES = (
    f'xmlns="{SN}" xmlns:yp="{YP}" xmlns:ds="{DS}" xmlns:sn="{SN}" xmlns:h="{HA}" xmlns:n="{SERVER}" '
    'xmlns:t="urn:example:t"'
)
STREAM = "<stream>NETCONF</stream>"
CHANGES = f'<stream-subtree-filter><netconf-config-change xmlns="{SERVER}"/></stream-subtree-filter>'
MODULES = f'<yang-library xmlns="{LIBRARY}"/>'
FLOWS = qat("<device><flows/></device>")
ON_CHANGE = "<yp:on-change/>"
OPERATIONAL = "<yp:datastore>ds:operational</yp:datastore>"
RUNNING = "<yp:datastore>ds:running</yp:datastore>"
FUTURE, PAST = "2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


def establish(content: str) -> str:
    """Return an establish-subscription."""
    return f"<establish-subscription {SPACES}>{content}</establish-subscription>"


def push(datastore: str, trigger: str, wanted: str = "") -> str:
    """Return an establish-subscription to a datastore."""
    selected = f"<yp:datastore-subtree-filter>{wanted}</yp:datastore-subtree-filter>" if wanted else ""
    return establish(f"<yp:datastore>ds:{datastore}</yp:datastore>{selected}{trigger}")


def periodic(period: int, anchor: str = "") -> str:
    """Return an update-trigger."""
    anchored = f"<yp:anchor-time>{anchor}</yp:anchor-time>" if anchor else ""
    return f"<yp:periodic><yp:period>{period}</yp:period>{anchored}</yp:periodic>"


def named(operation: str, number: int, content: str = "", space: str = SN) -> str:
    """Return an operation on a subscription."""
    return f'<x:{operation} xmlns:x="{space}" {SPACES}><x:id>{number}</x:id>{content}</x:{operation}>'


def begin(session: Session, operation: str) -> int:
    """Establish a subscription; its reply comes before its first notification."""
    reply = session.ask(operation)
    found = reply.findtext(f"{{{SN}}}id")
    assert found is not None, etree.tostring(reply)
    assert len(reply) == 1
    return int(found)


def hear(session: Session) -> Element:
    """Return the next notification's content; there is one in a message, with its time."""
    time, content = session.reply()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", time.text or "")
    return content


def heard(session: Session) -> str:
    """Return the next notification's name, and what is in it, without namespaces."""
    content = hear(session)
    return f"{etree.QName(content).localname} {plain(content)}"


def among(session: Session, operation: str) -> Element:
    """Ask in a session that gets notifications, and return the reply."""
    session.send(chunked(rpc(operation, "among")))
    while (message := session.reply()).tag != f"{N}rpc-reply":
        pass
    return message


def refused(session: Session, operation: str) -> str:
    """Return a refusal's fields, and its error-info as ``structure/leaf=value``."""
    reply = among(session, operation)
    (refusal,) = refusals(reply)
    parts = [
        f"{etree.QName(structure).localname}/{etree.QName(leaf).localname}={leaf.text}"
        for structure in reply.iterfind(f"{N}rpc-error/{N}error-info/*")
        for leaf in structure
    ]
    return " ".join([refusal.partition(" {")[0], *parts])


def edits(update: Element) -> list[str]:
    """Return the edits of a push-change-update."""
    found = []
    for one in update.iter(f"{{{YP}}}edit"):
        value = one.find(f"{{{YP}}}value")
        found.append(
            f"{one.findtext(f'{{{YP}}}operation')} {one.findtext(f'{{{YP}}}target')}"
            + ("" if value is None else f" {plain(value)}")
        )
    return found


def quiet(session: Session) -> None:
    """Look whether nothing was sent: a reply comes after what was sent before."""
    session.ok("<discard-changes/>")


def state(agent: Agent, name: str) -> str:
    """Return the module's state below a container."""
    return agent.session().data(f'<get><filter><{name} xmlns="{SN}"/></filter></get>')


def soon(seconds: float) -> str:
    """Return a time."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


FAILED = "application/operation-failed"


def stream_filter(content: str, operation: str = "replace") -> str:
    """Return the edit of the configured stream filter f."""
    nc = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"'
    return edit(
        f'<filters xmlns="{SN}"><stream-filter {nc} nc:operation="{operation}"><name>f</name>{content}</stream-filter>'
        "</filters>"
    )


def expression(kind: str, namespace: str, text: str, operation: str = "replace") -> str:
    """Return the edit of the configured filter f of a kind, an expression with the prefix own."""
    nc = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"'
    space, entry, key = (SN, "stream-filter", "name") if kind == "stream" else (YP, "selection-filter", "filter-id")
    filtered = f'<{kind}-xpath-filter xmlns:own="{namespace}">{text}</{kind}-xpath-filter>' if text else ""
    return edit(
        f'<filters xmlns="{SN}"><{entry} xmlns="{space}" {nc} nc:operation="{operation}"><{key}>f</{key}>{filtered}'
        f"</{entry}></filters>"
    )
