"""Subscriptions by create-subscription, and what is heard (RFC 5277): for section J."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lxml import etree

from tests.conformance.session import Session, plain

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

NOTIFICATION = "urn:ietf:params:xml:ns:netconf:notification:1.0"
STREAM = "urn:ietf:params:xml:ns:netmod:notification"
SERVER = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
HA = "urn:accel-agent:hardware-acceleration"
PAST = "<startTime>2020-01-01T00:00:00Z</startTime>"
PREFIXES = f'xmlns:s="{SERVER}" xmlns:t="urn:example:t" xmlns:h="{HA}"'
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
CHANGES = f'<filter type="subtree"><netconf-config-change xmlns="{SERVER}"/></filter>'
ENDS = f'<filter type="subtree"><netconf-session-end xmlns="{SERVER}"/></filter>'
COMMITS = f'<filter type="subtree"><netconf-confirmed-commit xmlns="{SERVER}"/></filter>'
MACHINE = (
    '<filter type="subtree">'
    + "".join(f'<{name} xmlns="{HA}"/>' for name in ("device-state-change", "acceleration-change", "ipsec-refresh"))
    + "</filter>"
)


def create(content: str = "", attributes: str = "") -> str:
    """Return a create-subscription."""
    return f'<create-subscription xmlns="{NOTIFICATION}" {attributes}>{content}</create-subscription>'


def xpath(select: str) -> str:
    """Return an XPath filter with the prefixes s, t and h."""
    return f'<filter {PREFIXES} type="xpath" select="{select}"/>'


def heard(message: Element) -> tuple[str, Element]:
    """Return the time and the content of a notification, of which there is one in a message."""
    assert message.tag == f"{{{NOTIFICATION}}}notification", etree.tostring(message)
    assert None in message.nsmap
    time, content = message
    assert time.tag == f"{{{NOTIFICATION}}}eventTime"
    assert TIME.fullmatch(time.text or "")
    return time.text or "", content


def hear(session: Session) -> str:
    """Return the content of the next notification, without namespaces."""
    return shown(heard(session.reply())[1])


def shown(content: Element) -> str:
    """Return an element without namespaces."""
    around = etree.Element("around")
    around.append(content)
    return plain(around)


def name_of(content: str) -> str:
    """Return the name of the outermost element."""
    found = re.match(r"<([\w-]+)", content)
    assert found
    return found[1]


def quiet(session: Session) -> None:
    """Look whether nothing was sent: a reply comes after what was sent before."""
    session.ok("<discard-changes/>")


def by(session: Session) -> str:
    """Return who a session is, in a notification; the local socket has no address."""
    return f"<username>root</username><session-id>{session.id}</session-id>"


def change(who: str, *edits: tuple[str, str], datastore: str = "running") -> str:
    """Return a netconf-config-change."""
    told = "".join(f"<edit><target>{path}</target><operation>{kind}</operation></edit>" for path, kind in edits)
    return (
        f"<netconf-config-change><changed-by>{who}</changed-by><datastore>{datastore}</datastore>{told}"
        "</netconf-config-change>"
    )


def before(seconds: float) -> str:
    """Return a time that is some seconds ago."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def end(session: Session, reason: str, killed_by: str = "") -> str:
    """Return a netconf-session-end."""
    return (
        f"<netconf-session-end>{by(session)}{killed_by}<termination-reason>{reason}</termination-reason>"
        "</netconf-session-end>"
    )
