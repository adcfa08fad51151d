"""Requests of candidate and commit, and what running is afterwards: for section G."""

from __future__ import annotations

from tests.conformance.agents import confirmed, until
from tests.conformance.session import Session, edit, top

COMMIT, CANCEL, DISCARD = "<commit/>", "<cancel-commit/>", "<discard-changes/>"
PERSIST = "<persist>token</persist>"
PERSIST_ID = "<persist-id>token</persist-id>"
NAME = "urn:ietf:params:netconf:capability:{}"
UNPENDING = "protocol/invalid-value"
STARTUP = "[datastore]\npersistence = 'startup'\n"
WRITABLE = "[datastore]\nwritable-running = true\n"


def named(name: str) -> str:
    """Return an edit of candidate."""
    return edit(top(f"<name>{name}</name>"))


def running(session: Session) -> str:
    """Return the name in running, which is the only thing there; "" where there is none."""
    found = session.config(source="running")
    return found.removeprefix("<top><name>").removesuffix("</name></top>")


def restored(session: Session, name: str) -> None:
    """Wait until running has the name again, and look whether nothing is pending."""
    until(lambda: running(session) == name, "running is restored")
    until(lambda: session.outcome(CANCEL) == UNPENDING, "nothing is pending")


def within(seconds: int, more: str = "") -> str:
    """Return a confirmed commit with a timeout."""
    return confirmed(f"<confirm-timeout>{seconds}</confirm-timeout>{more}")
