"""Random configurations of module t and random edits of them, as data and as XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from hypothesis import strategies as st
from lxml import etree

from agent.errors import NETCONF
from agent.tree import Node, from_json
from tests.agent.edit_reference import CASES, OPERATIONS, SCHEMA, TEXTS, TOP, VALUES, Asked, literal

if TYPE_CHECKING:
    from agent.model.load import Model


def values(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(VALUES.get(name, TEXTS))


def instances(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return random children of a node, as JSON."""
    members: dict[str, st.SearchStrategy[Any]] = {}
    for name, below in schema.items():
        if not isinstance(below, dict) or name in schema.get("keys", ()):
            continue
        if below["kind"] == "leaf":
            members[name] = values(name)
        elif below["kind"] == "leaf-list":
            members[name] = st.lists(values(name), min_size=1, unique=True)
        elif below["kind"] == "list":
            keys = st.lists(st.tuples(*(values(key) for key in below["keys"])), min_size=1, max_size=4, unique=True)
            rest = st.lists(instances(below), min_size=4, max_size=4)
            members[name] = st.tuples(keys, rest).map(
                lambda both, names=below["keys"]: [  # type: ignore[misc]
                    {**dict(zip(names, key, strict=True)), **other}
                    for key, other in zip(both[0], both[1], strict=False)
                ]
            )
        else:
            members[name] = instances(below) if below["kind"] == "presence" else instances(below).filter(bool)
    return st.fixed_dictionaries({}, optional=members)


def one_case(top: dict[str, Any]) -> dict[str, Any]:
    """Return data with one case of each choice only."""
    chosen: dict[str, str] = {}
    return {
        name: value
        for name, value in top.items()
        if all(chosen.setdefault(choice, case) == case for choice, case in CASES.get(name, {}).items())
    }


@st.composite
def edits(draw: st.DrawFn, schema: dict[str, Any], least: int = 0, most: int = 3) -> tuple[Asked, ...]:
    names = [name for name, below in schema.items() if isinstance(below, dict) and name not in schema.get("keys", ())]
    ordered = [name for name in names if schema[name].get("user")]
    chosen = draw(st.lists(st.sampled_from(names + ordered * 2), min_size=least, max_size=most))
    return tuple(draw(edits_of(schema[name], name)) for name in chosen)


@st.composite
def edits_of(draw: st.DrawFn, schema: dict[str, Any], name: str) -> Asked:
    operation = draw(st.sampled_from([None, None, None, None, *OPERATIONS]))
    if schema["kind"] == "leaf":
        return Asked(name, operation, draw(values(name)))
    entry = tuple(values(key) for key in schema["keys"]) if schema["kind"] == "list" else (values(name),)
    place = None
    if schema.get("user") and draw(st.booleans()):
        insert = draw(st.sampled_from(["first", "last", "before", "after"]))
        place = (insert, draw(st.tuples(*entry)) if insert in {"before", "after"} else ())
    if schema["kind"] == "leaf-list":
        return Asked(name, operation, draw(values(name)), place=place)
    keys = draw(st.tuples(*entry)) if schema["kind"] == "list" else ()
    return Asked(name, operation, keys=keys, place=place, children=draw(edits(schema)))


TREES = instances(TOP).map(one_case).map(lambda top: {"top": top} if top else {})
EDITS = st.lists(
    st.builds(
        lambda operation, children: Asked("top", operation, children=children),
        st.sampled_from([None, None, None, None, None, None, "merge", "replace", "create", "remove"]),
        edits(TOP, 1, 6),
    ),
    min_size=1,
    max_size=2,
).map(tuple)


def xml(asked: tuple[Asked, ...], schema: dict[str, Any]) -> str:
    """Return edits as elements."""
    return "".join(xml_of(one, schema[one.name]) for one in asked)


def xml_of(one: Asked, schema: dict[str, Any]) -> str:
    attributes = f' nc:operation="{one.operation}"' if one.operation else ""
    if one.place is not None:
        insert, anchor = one.place
        attributes += f' y:insert="{insert}"'
        if anchor and schema["kind"] == "leaf-list":
            attributes += f' y:value="{text(anchor[0])}"'
        elif anchor:
            keys = "".join(f"[t:{key}={literal(value)}]" for key, value in zip(schema["keys"], anchor, strict=True))
            attributes += f' y:key="{text(keys)}"'
    if schema["kind"] in {"leaf", "leaf-list"}:
        return f"<{one.name}{attributes}>{text(one.value)}</{one.name}>"
    keys = "".join(f"<{key}>{text(value)}</{key}>" for key, value in zip(schema.get("keys", ()), one.keys, strict=True))
    return f"<{one.name}{attributes}>{keys}{xml(one.children, schema)}</{one.name}>"


def text(value: str) -> str:
    return escape(value, {"\r": "&#13;", "\n": "&#10;", '"': "&quot;"})


def config(asked: tuple[Asked, ...]) -> etree._Element:
    spaces = f'xmlns:nc="{NETCONF}" xmlns:y="urn:ietf:params:xml:ns:yang:1" xmlns:t="urn:example:t"'
    return etree.fromstring(f'<nc:config {spaces} xmlns="urn:example:t">{xml(asked, SCHEMA)}</nc:config>')


def tree(model: Model, data: dict[str, Any]) -> Node:
    return from_json(model.root, {f"t:{name}": value for name, value in data.items()})


def plain(element: etree._Element, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the children of an element as JSON."""
    found: dict[str, Any] = {}
    for child in element:
        name = str(child.tag).rpartition("}")[2]
        below = schema[name]
        value = (child.text or "") if below["kind"] in {"leaf", "leaf-list"} else plain(child, below)
        if below["kind"] in {"list", "leaf-list"}:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def as_json(root: Node) -> dict[str, Any]:
    return plain(etree.fromstring(b"<x>" + root.xml() + b"</x>"), SCHEMA)
