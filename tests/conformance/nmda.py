"""Requests of NMDA, and their replies without namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from tests.conformance.session import plain
from tests.system.client import HA, qat

if TYPE_CHECKING:
    from tests.conformance.session import Session

NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
COMPARE = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare"
SPACES = (
    'xmlns:ds="urn:ietf:params:xml:ns:yang:ietf-datastores" xmlns:or="urn:ietf:params:xml:ns:yang:ietf-origin" '
    f'xmlns:t="urn:example:t" xmlns:h="{HA}"'
)
ADDRESS, SECOND = "0000:3d:00.0", "0000:3f:00.0"
WANTED = qat("<enabled/><health><interval/></health><device><enabled/><oper-status/></device><active/>")


def get_data(datastore: str, more: str = "", *, wanted: str | None = None) -> str:
    """Return a get-data; ``wanted`` is a subtree filter's content, None for no filter."""
    narrowed = "" if wanted is None else f"<subtree-filter>{wanted}</subtree-filter>"
    return f'<get-data xmlns="{NMDA}" {SPACES}><datastore>ds:{datastore}</datastore>{narrowed}{more}</get-data>'


def edit_data(datastore: str, content: str, more: str = "") -> str:
    """Return an edit-data."""
    config = f"<config>{content}</config>"
    return f'<edit-data xmlns="{NMDA}" {SPACES}><datastore>ds:{datastore}</datastore>{more}{config}</edit-data>'


def compare(source: str, target: str, more: str = "") -> str:
    """Return a compare."""
    names = f"<source>ds:{source}</source><target>ds:{target}</target>"
    return f'<compare xmlns="{COMPARE}" {SPACES}>{names}{more}</compare>'


def named(operation: str, datastore: str, *, parameter: str = "target") -> str:
    """Return an operation on a datastore that is named by its identity."""
    leaf = f'<datastore xmlns="{NMDA}" {SPACES}>ds:{datastore}</datastore>'
    return f"<{operation}><{parameter}>{leaf}</{parameter}></{operation}>"


def data(session: Session, request: str) -> str:
    """Return what a get-data gives, without namespaces."""
    (found,) = session.ask(request)
    assert found.tag == f"{{{NMDA}}}data", etree.tostring(found)
    return plain(found)


def differences(session: Session, request: str) -> list[str]:
    """Return the edits of a compare, without namespaces; none where nothing differs."""
    (found,) = session.ask(request)
    if found.tag == f"{{{COMPARE}}}no-matches":
        return []
    assert found.tag == f"{{{COMPARE}}}differences", etree.tostring(found)
    edits = list(found.iter(f"{{{COMPARE}}}edit"))
    numbers = [one.findtext(f"{{{COMPARE}}}edit-id") for one in edits]
    assert numbers == [str(number) for number in range(1, len(edits) + 1)]
    return [plain(one).partition("</edit-id>")[2] for one in edits]
