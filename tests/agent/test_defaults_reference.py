"""Random configurations of module d in every with-defaults mode: the agent shows what the reference shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent.datastore import Datastores
from agent.defaults import MODES
from agent.model.load import Model, load
from agent.operations.retrieve import completed
from agent.tree import Node, from_json
from tests.agent.conftest import MODULES
from tests.agent.defaults_reference import ALL, SCHEMA, Value, expected, flat

if TYPE_CHECKING:
    from agent.operations import Request

TAG = "{urn:ietf:params:xml:ns:netconf:default:1.0}default"


@pytest.fixture(scope="module")
def defaults() -> Model:
    """Return the served modules, t, and d, which has defaults everywhere."""
    return load([MODULES / "t.yang", MODULES / "d.yang"])


def members(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return random children of a node, of one case of each choice."""
    optional: dict[str, st.SearchStrategy[Any]] = {}
    cases: list[st.SearchStrategy[dict[str, Any]]] = []
    mandatory: dict[str, st.SearchStrategy[Any]] = {}
    for name, below in schema.items():
        if below["kind"] == "choice":
            cases.append(st.one_of(st.just({}), *(members(nodes) for nodes in below["cases"].values())))
        else:
            (mandatory if below.get("mandatory") else optional)[name] = content(below)
    plain = st.fixed_dictionaries(mandatory, optional=optional)
    return st.tuples(plain, *cases).map(lambda found: {k: v for one in found for k, v in one.items()})


def content(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    kind = schema["kind"]
    if kind == "leaf":
        return st.sampled_from(schema["values"])
    if kind == "leaf-list":
        defaults = [st.permutations(schema["default"])] if schema["default"] else []
        return st.one_of(*defaults, st.lists(st.sampled_from(schema["values"]), min_size=1, unique=True))
    if kind == "list":
        keys = st.tuples(*(content(schema["below"][key]) for key in schema["keys"]))
        entries = st.dictionaries(keys, members(schema["below"]), min_size=1, max_size=3)
        return entries.map(
            lambda found: [
                possible({**one, **dict(zip(schema["keys"], key, strict=True))}, schema["below"])
                for key, one in found.items()
            ]
        )
    return members(schema["below"]) if kind == "presence" else members(schema["below"]).filter(bool)


def possible(data: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return data without what a false condition forbids."""
    known = flat(schema)
    return {name: value for name, value in data.items() if known[name]["when"] is None or known[name]["when"](data)}


CONFIGURATIONS = members(ALL).map(lambda data: possible(data, ALL)).map(lambda data: {"all": data} if data else {})


@settings(deadline=None, max_examples=500)
@given(CONFIGURATIONS, st.sampled_from(MODES))
def test_a_mode_shows_what_the_reference_shows(defaults: Model, data: dict[str, Any], mode: str) -> None:
    root = from_json(defaults.root, {f"d:{name}": value for name, value in data.items()})
    written = root.xml()
    assert shown(answer(defaults, root, mode), SCHEMA) == expected(data, mode)
    assert root.xml() == written


def answer(model: Model, root: Node, mode: str) -> etree._Element:
    request = SimpleNamespace(services=SimpleNamespace(datastores=Datastores(model, root)))
    return etree.fromstring(b"<x>" + completed(cast("Request", request), root, mode).xml() + b"</x>")


def shown(element: etree._Element, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the children of an element as the reference writes them."""
    found: dict[str, Any] = {}
    known = flat(schema)
    for child in element.iterchildren("{urn:example:d}*"):
        name = etree.QName(child).localname
        below = known[name]
        value: Any = Value(child.text or "", child.get(TAG) == "true")
        if below["kind"] not in {"leaf", "leaf-list"}:
            value = shown(child, below["below"])
        if below["kind"] in {"list", "leaf-list"}:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found
