"""Random edits of module t against a slow implementation that is plain enough to be seen to be right."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent.errors import NETCONF, NetconfError
from agent.tree import Node, from_json

if TYPE_CHECKING:
    from agent.model.load import Model

# What the reference knows of module t: the kind of each node that it edits, and what is below it.
LEAF: dict[str, Any] = {"kind": "leaf"}
TOP: dict[str, Any] = {
    "name": LEAF,
    "np": {"kind": "container", "d": LEAF, "deep": {"kind": "container", "e": LEAF}},
    "pres": {"kind": "presence", "z": LEAF},
    "item": {"kind": "list", "keys": ["id"], "id": LEAF, "v": LEAF, "w": LEAF},
    "pair": {"kind": "list", "keys": ["a", "b"], "a": LEAF, "b": LEAF, "c": LEAF},
    "rule": {"kind": "list", "keys": ["id"], "user": True, "id": LEAF, "act": LEAF},
    "ord": {"kind": "leaf-list", "user": True},
    "tag": {"kind": "leaf-list"},
    "a1": LEAF,
    "a2": LEAF,
    "b1": LEAF,
    "bc": {"kind": "container", "b2": LEAF},
    "i1": LEAF,
    "i2": LEAF,
    "o1x": LEAF,
    "o2x": LEAF,
}
SCHEMA = {"top": {"kind": "container", **TOP}}
CASES = {
    "a1": {"mode": "a"},
    "a2": {"mode": "a"},
    "b1": {"mode": "b"},
    "bc": {"mode": "b"},
    "i1": {"outer": "o1", "in": "i1"},
    "i2": {"outer": "o1", "in": "i2"},
    "o1x": {"outer": "o1"},
    "o2x": {"outer": "o2"},
}
VALUES = {"v": ["1", "2"], "e": ["-1", "3"], "ord": ["p", "q", "r", "s"]}
TEXTS = ["x", "y", "it's <b>\r\n"]

Operation = Literal["merge", "replace", "create", "delete", "remove"]
OPERATIONS: list[Operation] = ["merge", "replace", "create", "delete", "remove"]


@dataclass(frozen=True)
class Asked:
    """An element of an edit: ``value`` of a leaf, ``keys`` of an entry; ``place`` is (insert, key of the anchor)."""

    name: str
    operation: Operation | None
    value: str = ""
    keys: tuple[str, ...] = ()
    place: tuple[str, tuple[str, ...]] | None = None
    children: tuple[Asked, ...] = ()


class RefusedError(Exception):
    """The reference refuses an edit: which error-tag, at which path."""


# ── the reference ────────────────────────────────────────────────────────────────────────────────


def expected(data: dict[str, Any], asked: tuple[Asked, ...], default: str) -> dict[str, Any]:
    """Return what data becomes by an edit."""
    refuse_two_cases(asked, default)
    result = copy.deepcopy(data)
    change(result, asked, SCHEMA, default, "")
    return result


def refuse_two_cases(asked: tuple[Asked, ...], inherited: str) -> None:
    chosen: dict[str, str] = {}
    for one in asked:
        operation = one.operation or inherited
        if operation in {"delete", "remove"}:
            continue
        # Depth first, as errors are found: what is below comes before what is said of the node itself.
        refuse_two_cases(one.children, "none" if operation == "none" else "merge")
        if operation == "none":
            continue
        for choice, case in CASES.get(one.name, {}).items():
            if chosen.setdefault(choice, case) != case:
                raise RefusedError("bad-element", None)


def change(data: dict[str, Any], asked: tuple[Asked, ...], schema: dict[str, Any], inherited: str, path: str) -> None:
    for one in asked:
        below = schema[one.name]
        operation = one.operation or inherited
        here = f"{path}/{'t:' if not path else ''}{one.name}{predicates(one, below)}"
        found = instance(data, one, below)
        if operation == "create" and found is not None:
            raise RefusedError("data-exists", here)
        if operation in {"delete", "none"} and found is None:
            raise RefusedError("data-missing", here)
        if operation in {"delete", "remove"}:
            if found is not None:
                take_out(data, one, below)
            continue
        new = changed(found, one, below, operation, here)
        if below["kind"] == "container" and not new:
            take_out(data, one, below)
            continue
        put_in(data, one, below, new, None if operation == "none" else one.place, here)
        for other in list(data):
            if any(CASES.get(one.name, {}).get(choice, case) != case for choice, case in CASES.get(other, {}).items()):
                del data[other]


def changed(found: Any, one: Asked, schema: dict[str, Any], operation: str, path: str) -> Any:
    if schema["kind"] in {"leaf", "leaf-list"}:
        return found if operation == "none" else one.value
    new = {} if found is None or operation == "replace" else found
    new |= dict(zip(schema.get("keys", ()), one.keys, strict=True))
    change(new, one.children, schema, "none" if operation == "none" else "merge", path)
    return new


def predicates(one: Asked, schema: dict[str, Any]) -> str:
    if schema["kind"] == "list":
        return "".join(f"[{key}={literal(value)}]" for key, value in zip(schema["keys"], one.keys, strict=True))
    return f"[.={literal(one.value)}]" if schema["kind"] == "leaf-list" else ""


def instance(data: dict[str, Any], one: Asked, schema: dict[str, Any]) -> Any:
    if schema["kind"] not in {"list", "leaf-list"}:
        return data.get(one.name)
    return next((entry for entry in data.get(one.name, []) if key_of(entry, schema) == wanted(one, schema)), None)


def key_of(entry: Any, schema: dict[str, Any]) -> tuple[str, ...]:
    return (entry,) if schema["kind"] == "leaf-list" else tuple(entry[key] for key in schema["keys"])


def wanted(one: Asked, schema: dict[str, Any]) -> tuple[str, ...]:
    return (one.value,) if schema["kind"] == "leaf-list" else one.keys


def take_out(data: dict[str, Any], one: Asked, schema: dict[str, Any]) -> None:
    if schema["kind"] in {"list", "leaf-list"}:
        data[one.name] = [entry for entry in data[one.name] if key_of(entry, schema) != wanted(one, schema)]
        if data[one.name]:
            return
    data.pop(one.name, None)


def put_in(
    data: dict[str, Any],
    one: Asked,
    schema: dict[str, Any],
    new: Any,
    place: tuple[str, tuple[str, ...]] | None,
    path: str,
) -> None:
    if schema["kind"] not in {"list", "leaf-list"}:
        data[one.name] = new
        return
    entries = data.setdefault(one.name, [])
    keys = [key_of(entry, schema) for entry in entries]
    own = wanted(one, schema)
    insert, anchor = place or ("", ())
    if insert in {"before", "after"} and anchor not in keys:
        raise RefusedError("bad-attribute", path)
    if own in keys and (place is None or anchor == own):
        entries[keys.index(own)] = new
        return
    if own in keys:
        del entries[keys.index(own)]
        keys.remove(own)
    at = {"first": 0, "before": keys.index(anchor) if anchor in keys else 0}.get(insert, len(keys))
    entries.insert(keys.index(anchor) + 1 if insert == "after" else at, new)


def literal(value: str) -> str:
    return f'"{value}"' if "'" in value else f"'{value}'"


# ── random data and edits ────────────────────────────────────────────────────────────────────────


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


# ── the properties ───────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, max_examples=600)
@given(TREES, EDITS, st.sampled_from(["merge", "merge", "none"]))
def test_an_edit_makes_what_the_reference_makes(
    model: Model, data: dict[str, Any], asked: tuple[Asked, ...], default: Literal["merge", "none"]
) -> None:
    before = tree(model, data)
    written, children = before.xml(), dict(before.children)
    try:
        wanted_data = expected(data, asked, default)
    except RefusedError as refused:
        tag, path = refused.args
        try:
            edit.apply(before, edit.parse(model, config(asked), default))
        except NetconfError as error:
            assert (error.tag, error.path if path else None) == (tag, path)  # noqa: PT017 - beside "accepted"
        else:
            raise AssertionError(f"accepted, though {tag} at {path}") from None
    else:
        after = edit.apply(before, edit.parse(model, config(asked), default))
        assert as_json(after) == wanted_data
        assert_shared(before, after, asked, default)
    assert (before.xml(), before.children) == (written, children)


@settings(deadline=None, max_examples=150)
@given(TREES, EDITS)
def test_default_operation_replace_makes_the_datastore_anew(
    model: Model, data: dict[str, Any], asked: tuple[Asked, ...]
) -> None:
    """C089: as if there had been nothing before; what is inside is merged (RFC 6241 7.2)."""
    try:
        wanted_data: Any = expected({}, asked, "merge")
    except RefusedError as refused:
        wanted_data = refused.args[0]
    try:
        found: Any = as_json(edit.apply(Node(model.root), edit.parse(model, config(asked), "merge")))
    except NetconfError as error:
        found = error.tag
    assert found == wanted_data


ORDERS = st.lists(st.sampled_from(VALUES["ord"]), unique=True).map(lambda found: {"ord": found} if found else {})


@settings(deadline=None, max_examples=300)
@given(ORDERS, st.lists(edits_of(TOP["ord"], "ord"), min_size=1, max_size=6).map(tuple))
def test_entries_in_the_users_order_go_where_the_reference_puts_them(
    model: Model, top: dict[str, Any], asked: tuple[Asked, ...]
) -> None:
    data = {"top": {"name": "x", **top}}
    asked = (Asked("top", None, children=asked),)
    try:
        wanted_data: Any = expected(data, asked, "merge")
    except RefusedError as refused:
        wanted_data = refused.args
    try:
        found: Any = as_json(edit.apply(tree(model, data), edit.parse(model, config(asked), "merge")))
    except NetconfError as error:
        found = (error.tag, error.path)
    assert found == wanted_data


@settings(deadline=None, max_examples=100)
@given(TREES)
def test_what_is_read_can_be_sent_again(model: Model, data: dict[str, Any]) -> None:
    """F41: it makes the same datastore of nothing, and changes nothing where it is."""
    root = tree(model, data)
    element = etree.fromstring(b"<config>" + root.xml() + b"</config>")
    edits_ = edit.parse(model, element, "merge")
    assert edit.apply(Node(model.root), edits_).xml() == root.xml()
    assert edit.apply(root, edits_) is root


def assert_shared(before: Node, after: Node, asked: tuple[Asked, ...], default: str) -> None:
    """Nodes that no edit names are the very same, and so is all where nothing is changed and nothing twice."""
    every = walk(asked)
    twice = len({(one.name, one.keys, one.value if one.name in {"ord", "tag"} else "") for one in every}) < len(every)
    gentle = not twice and all(one.operation in {None, "merge", "replace"} for one in every)
    if gentle and as_json(before) == as_json(after):
        assert after is before
    old, new = before.find("t:top"), after.find("t:top")
    if old is None or new is None or any(one.operation not in {None, "merge"} for one in asked):
        return
    named = {child.name for one in asked for child in one.children}
    for schema, child in new.children.items():
        if schema.name not in named:
            assert child is old.children[schema]


def walk(asked: tuple[Asked, ...]) -> list[Asked]:
    return [found for one in asked for found in (one, *walk(one.children))]
