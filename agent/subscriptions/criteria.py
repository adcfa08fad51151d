"""Filters of subscriptions: given in the operation, or configured below ``filters`` and named (RFC 8639 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lxml import etree

from agent import filter as subtree
from agent.model.expression import renamed
from agent.subscriptions.reasons import filter_unsupported
from agent.subscriptions.terms import Criteria
from agent.tree import escape
from agent.xpath import MOST_CHARACTERS, as_filter

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from lxml.etree import _Element as Element

    from agent.filter import Filter
    from agent.model.load import Model
    from agent.tree import Node

EVERYTHING: Final = Criteria()
MOST_KEPT: Final = 64 * 1024
"""Characters of a subtree filter, which a subscription keeps as long as it lasts."""
_LISTS: Final = {
    "stream": ("stream-filter", "stream-subtree-filter", "stream-xpath-filter"),
    "datastore": (
        "ietf-yang-push:selection-filter",
        "ietf-yang-push:datastore-subtree-filter",
        "ietf-yang-push:datastore-xpath-filter",
    ),
}


def by_subtree(model: Model, element: Element, *, reference: str | None = None) -> Criteria:
    """Return a subtree filter (RFC 6241 section 6). Raises Refused for one that is too long."""
    content = escape(element.text or "") + "".join(etree.tostring(child, encoding="unicode") for child in element)
    if len(content) > MOST_KEPT:
        raise filter_unsupported(f"the filter is kept, and has more than {MOST_KEPT} characters")
    filters = subtree.compile_subtree(element, model.root)
    return Criteria(_same(filters), filters=filters, content=content.strip(), reference=reference)


def by_xpath(model: Model, element: Element, *, reference: str | None = None) -> Criteria:
    """Return an XPath filter, in module-name form. Raises Refused for one that is too long."""
    select = (element.text or "").strip()
    if not select:
        raise filter_unsupported("the XPath expression is empty")
    if len(select) > MOST_CHARACTERS:
        raise filter_unsupported(f"the XPath expression is longer than {MOST_CHARACTERS} characters")
    prefixes: dict[str | None, str] = {m.name: m.namespace for m in model.by_namespace.values()}

    def module(prefix: str) -> str:
        found = model.by_namespace.get(element.nsmap.get(prefix, ""))
        if found is None and prefix not in prefixes:
            raise filter_unsupported(f"the prefix {prefix} is declared for no module's namespace")
        return prefix if found is None else found.name

    select = renamed(select, module)
    simple = as_filter(model, select, prefixes)
    same = select if simple is None else _same(simple)
    return Criteria(same, filters=simple, select=select, prefixes=prefixes, content=select, reference=reference)


def by_name(model: Model, running: Node, target: str, name: str) -> Criteria | None:
    """Return the configured filter of a name, for a stream or a datastore; None where there is none to be seen.

    Raises Refused for one that can't be evaluated.
    """
    configured, tree, path = _LISTS[target]
    filters = running.find("ietf-subscribed-notifications:filters")
    schema = None if filters is None else filters.schema.member(configured)
    entry = filters.entries(schema).get((name,)) if filters is not None and schema is not None else None
    if entry is None:
        return None
    if (found := entry.find(tree)) is not None:
        return by_subtree(model, etree.fromstring(found.xml()), reference=name)
    if (found := entry.find(path)) is not None:
        return by_xpath(model, etree.fromstring(found.xml()), reference=name)
    return Criteria(reference=name)


def _same(filters: Sequence[Filter]) -> Hashable:
    """Return what is equal for filters that select the same, as they were compiled: prefixes have gone into that."""
    return tuple((one.schema, one.number, one.match, one.whole, one.narrow, _same(one.children)) for one in filters)
