"""Partial locks (RFC 5717): requests, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.conformance.session import Session, T, plain, text_of
from tests.system.client import MONITORING

PARTIAL = "urn:ietf:params:xml:ns:netconf:partial-lock:1.0"
P, M = f"{{{PARTIAL}}}", f"{{{MONITORING}}}"
XMLNS_AS_T, XMLNS_AS_X = f'xmlns:t="{T}"', f'xmlns:x="{T}"'
START = "<name>n</name><np><d>d</d></np><item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>"


@dataclass
class Granted:
    """A lock: its number, and its nodes as they stand in the reply."""

    id: str
    nodes: list[str]


def partial(*selects: str, spaces: str = XMLNS_AS_T) -> str:
    """Return a partial-lock request."""
    listed = "".join(f"<select {spaces}>{one}</select>" for one in selects)
    return f'<partial-lock xmlns="{PARTIAL}">{listed}</partial-lock>'


def release(number: str) -> str:
    """Return a partial-unlock request."""
    return f'<partial-unlock xmlns="{PARTIAL}"><lock-id>{number}</lock-id></partial-unlock>'


def granted(session: Session, *selects: str, **options: Any) -> Granted:
    """Take a partial lock; each node that the reply names is one in running."""
    reply = session.ask(partial(*selects, **options))
    number, *nodes = reply
    assert [child.tag for child in reply] == [f"{P}lock-id", *[f"{P}locked-node"] * len(nodes)], plain(reply)
    running: Any = session.ask("<get-config><source><running/></source></get-config>")[0]
    for node in nodes:
        spaces = {prefix: uri for prefix, uri in node.nsmap.items() if prefix}
        assert len(running.xpath(f".{node.text}", namespaces=spaces)) == 1, node.text
    return Granted(text_of(number), [text_of(node) for node in nodes])


def denied(session: Session) -> str:
    """Return how a lock is refused."""
    return f"protocol/lock-denied {{session-id={session.id}}}"


def locks(session: Session) -> Any:
    """Return netconf-state's locks of running."""
    wanted = f'<netconf-state xmlns="{MONITORING}"><datastores><datastore><name>running</name></datastore></datastores>'
    reply = session.ask(f"<get><filter>{wanted}</netconf-state></filter></get>")
    return reply.find(f".//{M}datastore")


def free(session: Session, select: str) -> bool:
    """Take a partial lock, if it can be had, and give it back."""
    reply = session.ask(partial(select))
    number = reply.findtext(f"{P}lock-id")
    if number is None:
        return False
    session.ok(release(number))
    return True
