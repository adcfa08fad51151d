"""What an operation gets, and how it reads its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent import errors
from agent.errors import NETCONF

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lxml.etree import _Element as Element

    from agent.commit import CommitEngine
    from agent.confirmed import ConfirmedCommits
    from agent.datastore import Datastores
    from agent.model.load import Model
    from agent.nacm import Access, Nacm
    from agent.operational import Operational
    from agent.session import Session, Sessions
    from agent.streams import Streams
    from agent.subscriptions import Subscriptions
    from agent.xpath import XPath


NMDA: Final = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
WITH_DEFAULTS: Final = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults"


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the agent that operations work on. ``now`` is the time of day.

    ``writable_running``: running is edited directly, too.
    """

    model: Model
    datastores: Datastores
    engine: CommitEngine
    confirmed: ConfirmedCommits
    xpath: XPath
    operational: Operational
    nacm: Nacm
    streams: Streams
    subscriptions: Subscriptions
    sessions: Sessions
    capabilities: tuple[str, ...]
    now: Callable[[], datetime]
    writable_running: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One operation asked for by one session."""

    services: Services
    session: Session
    element: Element

    @property
    def access(self) -> Access:
        """What the user may do now: asked for anew after each wait, as rules change."""
        return self.services.nacm.access(self.session.peer)

    def parameters(self, *names: str) -> dict[str, Element]:
        """Return the operation's parameters by name. Raises unknown-element, unknown-namespace, bad-element.

        A parameter in no namespace is taken for the operation's: a widespread client sends ``<config xmlns="">``.
        """
        namespace = _namespace(self.element) or NETCONF
        found: dict[str, Element] = {}
        for child in self.element:
            space, _brace, name = str(child.tag).rpartition("}")
            own = WITH_DEFAULTS if name == "with-defaults" and name in names else namespace
            # ncclient and others put the filter of create-subscription into the base namespace.
            if space and space.lstrip("{") not in {own, NETCONF if name == "filter" else own}:
                raise errors.unknown_namespace(name, space.lstrip("{"))
            if name not in names:
                raise errors.unknown_element(name)
            if name in found:
                raise errors.bad_element(name, f"<{name}> is there twice")
            found[name] = child
        return found

    def require(self, name: str, *names: str) -> Element:
        """Return one parameter that must be there, of those that may be (``names``)."""
        found = self.parameters(name, *names)
        if name not in found:
            raise errors.missing_element(name)
        return found[name]

    def datastore(self, element: Element, nmda: tuple[str, ...] = ()) -> str:
        """Return which datastore a ``<source>`` or ``<target>`` names. Raises missing-element, invalid-value.

        ``nmda`` are those that it may name by their identity, where it may (RFC 8526 3.2).
        """
        if len(element) == 0:
            raise errors.missing_element("running or candidate", message=f"<{local_name(element)}> names no datastore")
        if len(element) > 1:
            raise errors.bad_element(local_name(element[1]), f"<{local_name(element)}> names more than one datastore")
        name = local_name(element[0])
        space = _namespace(element[0])
        if nmda and (space, name) == (NMDA, "datastore"):
            return named_datastore(self.services.model, element[0], nmda)
        if space not in {"", NETCONF, _namespace(element)}:
            raise errors.unknown_namespace(name, space)
        if name in self.services.datastores.names:
            return name
        if name in {"startup", "url"}:
            raise errors.operation_not_supported(f"<{name}> is not supported: the capability :{name} is not offered")
        raise errors.unknown_element(name, message=f"there is no datastore {name}")


def named_datastore(model: Model, element: Element | None, names: tuple[str, ...]) -> str:
    """Return which of these datastores an identity of ietf-datastores names. Raises missing-element, invalid-value."""
    if element is None:
        raise errors.missing_element("datastore")
    leaf = model.node("/ietf-netconf-nmda:get-data/input/datastore")
    try:
        name = leaf.canonical(text(element, ""), element).removeprefix("ietf-datastores:")
    except ValueError as error:
        raise errors.invalid_value(f"datastore: {error}") from None
    if name not in names:
        raise errors.invalid_value(f"the datastore {name} is not one that this can be done with: {', '.join(names)}")
    return name


def text(element: Element | None, default: str, *allowed: str) -> str:
    """Return a parameter's value, white space trimmed. Raises invalid-value, or unknown-element for children."""
    if element is None:
        return default
    if len(element):
        raise errors.unknown_element(local_name(element[0]))
    value = (element.text or "").strip()
    if allowed and value not in allowed:
        raise errors.invalid_value(f"<{local_name(element)}> is {value!r}, which is none of {', '.join(allowed)}")
    return value


def local_name(element: Element) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _namespace(element: Element) -> str:
    return str(element.tag).rpartition("}")[0].lstrip("{")
