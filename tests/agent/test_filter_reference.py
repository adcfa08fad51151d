"""Random filters: RFC 6241 section 6 on XML alone is the reference; readers are asked for all that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import filter as subtree
from agent.tree import Node, from_json

if TYPE_CHECKING:
    from agent.filter import Filter
    from agent.model.load import Model
    from translators.base import Selection

NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
SPACES = f'xmlns="{NETCONF}" xmlns:t="urn:example:t" xmlns:u="urn:example:u"'
KEYS = {"item": ["id"], "pair": ["a", "b"], "rule": ["id"]}


def compiled(model: Model, config: str) -> list[Filter]:
    return subtree.compile_subtree(etree.fromstring(f"<filter {SPACES}>{config}</filter>"), model.root)


def local(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def same_name(one: etree._Element, node: etree._Element) -> bool:
    return one.tag == node.tag or (not str(one.tag).startswith("{") and one.tag == local(node))


def is_match(one: etree._Element) -> bool:
    return not len(one) and bool((one.text or "").strip())


def equal(one: etree._Element, node: etree._Element) -> bool:
    """Whether a content match node names a node and holds its value (in module t: numbers and texts)."""
    if not same_name(one, node) or len(node) or one.attrib:
        return False
    text, value = (one.text or "").strip(), node.text or ""
    return value == (text.lstrip("+") if local(node) in {"v", "n", "e"} else text)


def reference(node: etree._Element, filters: list[etree._Element]) -> etree._Element | None:
    """Return the part of a node that filter elements of its name select, by RFC 6241 section 6 on XML alone."""
    filters = [one for one in filters if not one.attrib]
    if any(not len(one) and not is_match(one) for one in filters):
        return node
    if any(is_match(one) and equal(one, node) for one in filters):
        return node
    sets = [list(one) for one in filters if len(one)]
    passing = [one for one in sets if all(any(equal(m, child) for child in node) for m in one if is_match(m))]
    if any(all(is_match(one) for one in siblings) for siblings in passing):
        return node
    found = etree.Element(node.tag)
    for child in node:
        named = [one for siblings in passing for one in siblings if same_name(one, child)]
        part = reference(child, named) if named else None
        if part is not None:
            found.append(copied(part))
    if not len(found):
        return None
    for key in node:
        if local(key) in KEYS.get(local(node), []) and found.find(str(key.tag)) is None:
            found.append(copied(key))
    return found


def copied(element: etree._Element) -> etree._Element:
    return etree.fromstring(etree.tostring(element))


def shape(element: etree._Element) -> Any:
    """Return an element as nested tuples; siblings in any order, but entries of one name in theirs."""
    children = sorted((shape(child) for child in element), key=lambda found: found[0])
    return (local(element), (element.text or "").strip(), children)


TEXTS = st.sampled_from(["x", "y", "1"])
NUMBERS = st.integers(0, 2)
ITEM = st.fixed_dictionaries({}, optional={"v": NUMBERS, "w": TEXTS, "need": TEXTS})
TREES = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={
        "np": st.fixed_dictionaries({"d": TEXTS}, optional={"deep": st.fixed_dictionaries({"e": NUMBERS})}),
        "pres": st.fixed_dictionaries({}, optional={"z": TEXTS}),
        "item": st.dictionaries(TEXTS, ITEM, min_size=1).map(
            lambda d: [{"id": key, **rest} for key, rest in d.items()]
        ),
        "pair": st.dictionaries(
            st.tuples(TEXTS, TEXTS), st.fixed_dictionaries({}, optional={"c": TEXTS}), min_size=1
        ).map(lambda d: [{"a": key[0], "b": key[1], **rest} for key, rest in d.items()]),
        "tag": st.lists(TEXTS, min_size=1, unique=True),
        "state": st.fixed_dictionaries(
            {"up": st.booleans()}, optional={"log": st.lists(st.fixed_dictionaries({"n": NUMBERS}), min_size=1)}
        ),
    },
)
SHAPE: dict[str, Any] = {
    "name": None,
    "np": {"d": None, "deep": {"e": None}},
    "pres": {"z": None},
    "item": {"id": None, "v": None, "w": None, "need": None},
    "pair": {"a": None, "b": None, "c": None},
    "tag": None,
    "state": {"up": None, "log": {"n": None}},
    "bogus": None,
}


@st.composite
def elements(draw: st.DrawFn, name: str, below: Any) -> str:
    attributes = draw(st.sampled_from(["", "", "", "", "", "", ' xmlns=""', ' xmlns="urn:no"', ' odd="1"']))
    how = draw(st.sampled_from(["select", "match", "into", "into", "into"]))
    if how == "into" and below:
        content = "".join(
            draw(elements(child, below[child]))
            for child in draw(st.lists(st.sampled_from(sorted(below)), min_size=1, max_size=3))
        )
    elif how == "select":
        content = draw(st.sampled_from(["", " \n"]))
    else:
        content = draw(st.sampled_from(["x", "y", "1", " 1 ", "+1", "2", "true", "z"]))
    return f"<{name}{attributes}>{content}</{name}>"


FILTERS = st.lists(elements("top", SHAPE), min_size=1, max_size=2).map(
    lambda found: "".join(found).replace("<top>", '<top xmlns="urn:example:t">')
)


@settings(deadline=None, max_examples=300)
@given(TREES, FILTERS)
def test_the_reference_selects_the_same(model: Model, data: dict[str, Any], config: str) -> None:
    root = from_json(model.root, {"t:top": data})
    found = etree.fromstring(b"<x>" + subtree.apply(root, compiled(model, config)).xml() + b"</x>")
    (top,) = etree.fromstring(b"<x>" + root.xml() + b"</x>")
    named = [one for one in etree.fromstring(f"<filter {SPACES}>{config}</filter>") if same_name(one, top)]
    expected = reference(top, named) if named else None
    assert [shape(one) for one in found] == ([] if expected is None else [shape(expected)])


def pruned(node: Node, wanted: Selection | None) -> Node | None:
    """Return what a reader gives that reads no more than is wanted; it always has an entry's keys."""
    if wanted is None or wanted.everything:
        return node if wanted else None
    children: dict[Any, Any] = {key: leaf for key in node.schema.keys if (leaf := node.one(key)) is not None}
    for schema, child in node.children.items():
        if not wanted.wants(schema.name):
            continue
        if isinstance(child, Node):
            part = child if schema.is_leaf else pruned(child, wanted.into(schema.name))
            if part is not None:
                children[schema] = part
            continue
        entries = {}
        for key, entry in child.items():
            keys = dict(zip((leaf.name for leaf in schema.keys), key, strict=False))
            below = wanted.entry(schema.name, keys)
            part = entry if schema.is_leaf and below else pruned(entry, below)
            if part is not None:
                entries[key] = part
        if entries:
            children[schema] = entries
    return node.with_children(children)


@settings(deadline=None, max_examples=300)
@given(TREES, FILTERS, st.sampled_from(["/t:top", "/t:top/np", "/t:top/state", "/t:top/np/deep"]))
def test_reading_only_what_is_wanted_changes_nothing(
    model: Model, data: dict[str, Any], config: str, path: str
) -> None:
    """The reader of one subtree is asked for all that the reply keeps of it, and for all that decides."""
    root = from_json(model.root, {"t:top": data})
    filters = compiled(model, config)
    wanted = subtree.selection(filters, model.node(path))
    names = path.strip("/").split("/")
    node = root.find(*names)
    if node is None:
        return
    less = replaced(root, names, pruned(node, wanted))
    assert subtree.apply(less, filters).xml() == subtree.apply(root, filters).xml()


def replaced(root: Node, names: list[str], node: Node | None) -> Node:
    """Return a tree with another node in one place; None for none."""
    schema = root.schema.member(names[0])
    assert schema is not None
    child = root.one(schema)
    assert child is not None
    new = node if len(names) == 1 else replaced(child, names[1:], node)
    rest = {other: found for other, found in root.children.items() if other is not schema}
    return root.with_children(rest if new is None else {**rest, schema: new})
