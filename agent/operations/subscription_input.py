"""The parameters of the operations on subscriptions, as terms (RFC 8639 section 4, RFC 8641 section 5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent import errors
from agent.operations import invoke
from agent.operations.request import local_name
from agent.subscriptions import criteria as given
from agent.subscriptions import reasons
from agent.subscriptions.reasons import PUSH, SUBSCRIBED, Refused, filter_unsupported
from agent.subscriptions.subscription import ENCODING
from agent.subscriptions.terms import DatastoreTerms, OnChange, Periodic, StreamTerms

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.errors import NetconfError
    from agent.model.schema import SchemaNode
    from agent.operations.request import Request
    from agent.subscriptions.terms import Criteria, Terms


class Input:
    """The parameters of one operation. ``target`` is what is subscribed to: stream or datastore."""

    def __init__(self, request: Request) -> None:
        self.operation = local_name(request.element)
        self._request = request
        self._model = request.services.model
        self._element = request.element
        self._rpc = self._model.root.children[str(request.element.tag)]
        self.target = "stream" if self._element.find(f"{{{PUSH}}}datastore") is None else "datastore"

    @property
    def number(self) -> int:
        """The subscription that is named."""
        return int(self._value("id", space=self._rpc.module.namespace) or 0)

    def check(self) -> None:
        """Raise what is wrong with the input by its model."""
        invoke.check_input(self._model, self._rpc, self._element, self._rpc.path)

    def terms(self) -> Terms:
        """Return what is asked for. Raises NetconfError, Refused."""
        if self._element.find(f"{{{SUBSCRIBED}}}dscp") is not None:  # which is not in the model without its feature
            raise Refused(reasons.DSCP_UNAVAILABLE, "messages can't be marked with a DSCP: leave <dscp> out")
        self.check()
        if self._value("encoding") not in {None, ENCODING}:
            raise Refused(reasons.ENCODING_UNSUPPORTED, "notifications are encoded in XML: use encode-xml")
        now = self._request.services.now()
        found = self._criteria(self.target) or given.EVERYTHING
        if self.target == "datastore":
            trigger = self._trigger()
            if trigger is None:
                message = "an update-trigger is missing: <periodic> or <on-change>"
                raise self._missing("periodic", message)
            return DatastoreTerms(self._datastore(), found, trigger, self._stop(now))
        stream = self._value("stream")
        if stream is None:
            raise self._missing("stream", "the target is missing: <stream> or <datastore>")
        start = self._time("replay-start-time")
        if start is not None and start >= now:
            raise self._bad("replay-start-time", "<replay-start-time> is not in the past")
        return StreamTerms(stream, found, start, self._stop(start or now))

    def changed(self, terms: Terms) -> Terms:
        """Return terms with what is given in place of what was; it was checked. Raises NetconfError, Refused."""
        stop = self._stop(self._request.services.now()) or terms.stop
        found = self._criteria(terms.target) or terms.criteria
        if isinstance(terms, StreamTerms):
            return replace(terms, criteria=found, stop=stop)
        datastore = self._datastore() or terms.datastore
        trigger = self._trigger() or terms.trigger
        if isinstance(trigger, OnChange) and isinstance(terms.trigger, OnChange):
            trigger = replace(terms.trigger, dampening=trigger.dampening)
        return replace(terms, datastore=datastore, criteria=found, trigger=trigger, stop=stop)

    def _criteria(self, target: str) -> Criteria | None:
        """Return the filter that is given or named; None for none."""
        space = PUSH if target == "datastore" else SUBSCRIBED
        if (element := self._element.find(f"{{{space}}}{target}-subtree-filter")) is not None:
            return given.by_subtree(self._model, element)
        if (element := self._element.find(f"{{{space}}}{target}-xpath-filter")) is not None:
            return given.by_xpath(self._model, element)
        name = self._value("selection-filter-ref" if target == "datastore" else "stream-filter-name", space=space)
        if name is None:
            return None
        running = self._request.access.readable(self._request.services.datastores.running)
        found = given.by_name(self._model, running, target, name)
        if found is None:
            raise filter_unsupported(f"no filter {name} is configured below /ietf-subscribed-notifications:filters")
        return found

    def _datastore(self) -> str:
        return (self._value("datastore", space=PUSH) or "").removeprefix("ietf-datastores:")

    def _trigger(self) -> Periodic | OnChange | None:
        periodic, on_change = (self._element.find(f"{{{PUSH}}}{name}") for name in ("periodic", "on-change"))
        if periodic is not None:
            period = int(self._value("period", space=PUSH, within=periodic) or 0)
            return Periodic(period, self._time("anchor-time", space=PUSH, within=periodic))
        if on_change is None:
            return None
        dampening = int(self._value("dampening-period", space=PUSH, within=on_change) or 0)
        sync = self._value("sync-on-start", space=PUSH, within=on_change) != "false"
        excluded = frozenset(e.text or "" for e in on_change.iterfind(f"{{{PUSH}}}excluded-change"))
        return OnChange(dampening, sync, excluded)

    def _stop(self, after: datetime) -> datetime | None:
        stop = self._time("stop-time")
        if stop is not None and stop <= after:
            later = "now" if self._value("replay-start-time") is None else "<replay-start-time>"
            raise self._bad("stop-time", f"<stop-time> is not later than {later}")
        return stop

    def _time(self, name: str, *, space: str = SUBSCRIBED, within: Element | None = None) -> datetime | None:
        if self._value(name, space=space, within=within) is None:
            return None
        # As it was written: the canonical form would make another day of one that is not in the calendar.
        value = (self._element if within is None else within).findtext(f"{{{space}}}{name}") or ""
        where = name if within is None else f"ietf-yang-push:{local_name(within)}/{name}"
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None and "T" in value:
                return moment.astimezone(UTC)
        except OverflowError:
            raise self._bad(where, f"<{name}> is {value!r}, which is in UTC in no year from 1 to 9999") from None
        except ValueError:
            pass
        raise self._bad(where, f"<{name}> is {value!r}, which is no date-and-time with a time zone")

    def _value(self, name: str, *, space: str = SUBSCRIBED, within: Element | None = None) -> str | None:
        """Return a parameter's canonical value, which was checked; None where it is not given."""
        schema: SchemaNode | None = self._rpc.children[f"{{{self._rpc.module.namespace}}}input"]
        parent = self._element
        if within is not None and schema is not None:
            schema, parent = schema.children.get(str(within.tag)), within
        element = parent.find(f"{{{space}}}{name}")
        leaf = None if schema is None else schema.children.get(f"{{{space}}}{name}")
        return None if element is None or leaf is None else leaf.canonical(element.text or "", element)

    def _missing(self, name: str, message: str) -> NetconfError:
        return errors.missing_element(name, type="application", path=self._rpc.path, message=message)

    def _bad(self, where: str, message: str) -> NetconfError:
        return errors.invalid_value(message, type="application", path=f"{self._rpc.path}/{where}")
