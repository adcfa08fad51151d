"""The data tree: made of JSON, merged, written as XML, and shared by edits."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent import filter as subtree
from agent.depth import shortened
from agent.model.load import Model
from agent.tree import Node, cleaned, escape, from_json, instance_path, merge
from translators.counts import Counts

T = "{urn:example:t}"
NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
TEXT = st.text(
    st.one_of(st.sampled_from("<>&\"'\r\n\t ]"), st.characters(codec="utf-8").filter(lambda c: c == cleaned(c))),
    max_size=12,
)


def top(model: Model, data: dict[str, Any]) -> Node:
    return from_json(model.root, {"t:top": data})


def parsed(root: Node) -> etree._Element:
    """Return the top-level element of a tree's XML."""
    (found,) = etree.fromstring(b"<x>" + root.xml() + b"</x>")
    return found


DATA: dict[str, Any] = {
    "t:top": {
        "name": "gate<way> & 'more'",
        "mtu": 1400,
        "np": {"deep": {"e": -5}},
        "pres": {},
        "item": [{"id": "a", "w": "x\ny"}, {"id": "b", "v": 2}],
        "pair": [{"a": "1", "b": "2", "c": "3"}],
        "rule": [{"id": "z", "act": "drop"}, {"id": "y", "act": "pass"}],
        "ord": ["2", "1"],
        "tag": ["a", "b"],
        "kind": "k1",
        "u:name": "another",
    },
    "u:types": {
        "truth": False,
        "nothing": [None],
        "money": "-1.5",
        "u64": "18446744073709551615",
        "id": "far",
        "either": "u:near",
        "where": "/t:top/item[id='b']/v",
        "order": [7, 3],
    },
}


def test_a_tree_made_of_json_says_what_the_json_says(wide: Model) -> None:
    found = wide.validator.validate(from_json(wide.root, DATA).xml())
    assert found["t:top"] | {"np": None} == DATA["t:top"] | {"np": None}
    assert found["t:top"]["np"] == {"d": "x", "deep": {"e": -5}}
    assert found["u:types"] | {"either": "u:near"} == DATA["u:types"]


def test_the_order_of_members_does_not_matter_but_that_of_entries_does(wide: Model) -> None:
    def turned(data: Any) -> Any:
        return {name: turned(data[name]) for name in reversed(data)} if isinstance(data, dict) else data

    assert from_json(wide.root, turned(DATA)).xml() == from_json(wide.root, DATA).xml()


def test_a_member_without_module_is_the_parents_own(wide: Model) -> None:
    root = from_json(wide.root, {"t:top": {"u:name": "augmented", "name": "own", "t:mtu": 70, "extra": 1}})
    assert [(child.tag, child.text) for child in parsed(root)] == [
        (f"{T}name", "own"),
        (f"{T}mtu", "70"),
        ("{urn:example:u}name", "augmented"),
        ("{urn:example:u}extra", "1"),
    ]


@pytest.mark.parametrize(
    "data",
    [{"t:none": {}}, {"top": {"none": 1}}, {"t:top": {"u:mtu": 1}}, {"t:top": {"item": [{"id": "a", "name": 1}]}}],
)
def test_a_member_that_the_schema_lacks(wide: Model, data: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        from_json(wide.root, data)


def test_entries_without_keys_are_numbered_and_stay_in_order(model: Model) -> None:
    root = top(model, {"state": {"log": [{"n": 9}, {"n": 1}, {"n": 9}] + [{"n": n} for n in range(10)]}})
    state = root.find("t:top", "state")
    assert state is not None
    assert [entry.find("n").value for entry in state.all()] == ["9", "1", "9", *map(str, range(10))]  # type: ignore[union-attr]
    again = merge(root, root.with_children(dict(root.children)))
    assert again.xml() == root.xml()


@settings(deadline=None)
@given(TEXT)
def test_any_text_survives_being_written(model: Model, text: str) -> None:
    """Escaping, carriage returns included; and what is written is one element."""
    element = parsed(top(model, {"secret": text, "ord": [text]}))
    assert [child.text or "" for child in element] == [text, text]


@settings(deadline=None)
@given(st.text())
def test_what_xml_cannot_hold_is_replaced(model: Model, text: str) -> None:
    found = parsed(top(model, {"secret": text})).findtext(f"{T}secret") or ""
    assert found == cleaned(text)
    assert len(found) == len(text)
    assert all(new in {old, "\ufffd"} for old, new in zip(text, found, strict=True))


def test_escape() -> None:
    assert escape("a&lt;<b>\r\n\"'") == "a&amp;lt;&lt;b&gt;&#13;\n\"'"


def test_elements_are_in_schema_order_with_keys_first(wide: Model) -> None:
    children = {"pair": [{"c": "3", "b": "2", "a": "1"}], "u:extra": 1, "name": "n"}
    assert from_json(wide.root, {"t:top": children}).xml() == (
        b'<top xmlns="urn:example:t"><name>n</name><pair><a>1</a><b>2</b><c>3</c></pair>'
        b'<extra xmlns="urn:example:u">1</extra></top>'
    )


def test_keys_come_first_in_the_order_of_the_key_statement(wide: Model) -> None:
    entry = {"value": "v", "first": "1", "second": "2"}
    assert from_json(wide.root, {"u:types": {"late": [entry]}}).xml() == (
        b'<types xmlns="urn:example:u"><late><second>2</second><first>1</first><value>v</value></late></types>'
    )


def test_keys_come_first_wherever_the_schema_has_them(wide: Model) -> None:
    for schema in wide.root.walk():
        siblings = sorted(schema.children.values(), key=lambda child: child.index)
        rest = [child for child in schema.children.values() if child not in schema.keys]
        assert siblings == [*schema.keys, *rest]


@pytest.mark.parametrize(
    ("leaf", "value", "text", "spaces"),
    [
        ("id", "u:near", "u:near", {"u": "urn:example:u"}),
        ("both", "u:far", "u:far", {"u": "urn:example:u"}),
        ("where", "/t:top/u:extra", "/t:top/u:extra", {"t": "urn:example:t", "u": "urn:example:u"}),
        ("where", "/t:top/item[id='a/b:c']/v", "/t:top/t:item[t:id='a/b:c']/t:v", {"t": "urn:example:t"}),
        ("either", "u:near", "u:near", {"u": "urn:example:u"}),
        ("either", "/t:top", "/t:top", {"t": "urn:example:t"}),
        ("either", "7", "7", {}),
        (
            "where",
            "/hardware-acceleration:acceleration/qat",
            "/ha:acceleration/ha:qat",
            {"ha": "urn:accel-agent:hardware-acceleration"},
        ),
    ],
)
def test_prefixes_in_values_are_declared(wide: Model, leaf: str, value: str, text: str, spaces: dict[str, str]) -> None:
    """C074, C116: and reading what was written gives the value again."""
    (element,) = parsed(from_json(wide.root, {"u:types": {leaf: value}}))
    assert element.text == text
    assert {prefix: uri for prefix, uri in element.nsmap.items() if prefix} == spaces
    assert wide.node(f"/u:types/{leaf}").canonical(element.text or "", element) == value


def test_anydata_and_anyxml_hold_markup(wide: Model) -> None:
    root = from_json(wide.root, {"u:types": {"xml": "a &amp; <b xmlns='urn:b'/>", "data": ""}})
    assert root.xml() == (b"<types xmlns=\"urn:example:u\"><data/><xml>a &amp; <b xmlns='urn:b'/></xml></types>")


def test_looking_into_a_tree(model: Model) -> None:
    root = top(model, {"np": {"deep": {"e": 1}}, "pair": [{"a": "1", "b": "2"}], "tag": ["x"], "mtu": 70})
    found = root.find("t:top", "np", "deep", "e")
    assert found is not None
    assert (found.value, found.schema.path) == ("1", "/t:top/np/deep/e")
    assert root.find("t:top", "name") is None
    assert root.find("t:top", "none", "e") is None
    assert root.find("t:top", "pair", "a") is None  # not through lists
    (element,) = root.all()
    pair, tag, mtu = (model.node(f"/t:top/{name}") for name in ("pair", "tag", "mtu"))
    assert [node.key() for node in element.entries(pair).values()] == [("1", "2")]
    assert [node.key() for node in element.entries(tag).values()] == [("x",)]
    assert element.one(pair) is None
    assert element.entries(mtu) == {}
    assert instance_path("/t:top", pair, ("1", "it's")) == "/t:top/pair[a='1'][b=\"it's\"]"
    assert instance_path("/t:top", tag, ("x",)) == "/t:top/tag[.='x']"
    assert instance_path("/t:top", tag) == "/t:top/tag"
    assert instance_path("", element.schema) == "/t:top"


# ── merge ────────────────────────────────────────────────────────────────────────────────────────

KEYS = st.sampled_from(["a", "b", "c", "d"])
ITEMS = st.dictionaries(KEYS, st.fixed_dictionaries({}, optional={"v": st.integers(0, 9), "w": TEXT}), max_size=4)
TREES = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXT.filter(bool),
        "np": st.fixed_dictionaries({}, optional={"d": TEXT, "deep": st.fixed_dictionaries({"e": st.integers(-9, 9)})}),
        "item": ITEMS.map(lambda items: [{"id": key, **rest} for key, rest in items.items()]),
        "rule": st.lists(KEYS, unique=True).map(lambda keys: [{"id": key, "act": "x"} for key in keys]),
        "ord": st.lists(KEYS, unique=True),
        "tag": st.lists(KEYS, unique=True),
    },
)


def merged(first: Any, second: Any, name: str = "") -> Any:
    """Return what merge should make of two JSON trees."""
    if isinstance(second, dict):
        both = {n: merged(first[n], second[n], n) if n in first and n in second else None for n in {**first, **second}}
        return {n: first.get(n, second.get(n)) if both[n] is None else both[n] for n in both}
    if not isinstance(second, list):
        return second
    if name in {"ord", "tag"}:
        union = [*first, *(value for value in second if value not in first)]
        return union if name == "ord" else sorted(union)
    entries = {entry["id"]: entry for entry in first}
    for entry in second:
        entries[entry["id"]] = merged(entries[entry["id"]], entry) if entry["id"] in entries else entry
    return list(entries.values()) if name == "rule" else [entries[key] for key in sorted(entries)]


@settings(deadline=None)
@given(TREES, TREES)
def test_merge(model: Model, first: dict[str, Any], second: dict[str, Any]) -> None:
    one, other = top(model, first), top(model, second)
    before = one.xml(), other.xml()
    both = merge(one, other)
    assert both.xml() == top(model, merged(first, second)).xml()
    assert merge(one, one) is one
    assert merge(Node(model.root), other).xml() == other.xml()
    assert (top(model, first).xml(), top(model, second).xml()) == before == (one.xml(), other.xml())


def test_merge_keeps_what_only_one_has(model: Model) -> None:
    one, other = top(model, {"item": [{"id": "a"}], "np": {"d": "1"}}), top(model, {"item": [{"id": "b"}], "pres": {}})
    both = merge(one, other)
    items = model.node("/t:top/item")
    top_of = [root.find("t:top") for root in (one, other, both)]
    a, b, ab = (node.entries(items) for node in top_of if node is not None)
    assert (ab[("a",)], ab[("b",)]) == (a[("a",)], b[("b",)])
    assert both.find("t:top", "np") is one.find("t:top", "np")
    assert both.find("t:top", "pres") is other.find("t:top", "pres")


# ── sharing ──────────────────────────────────────────────────────────────────────────────────────


def edited(model: Model, root: Node, config: str) -> Node:
    element = etree.fromstring(f'<config xmlns="{NETCONF}" xmlns:nc="{NETCONF}">{config}</config>')
    return edit.apply(root, edit.parse(model, element, "merge"))


def test_an_edit_keeps_all_that_it_does_not_touch(wide: Model) -> None:
    root = from_json(wide.root, DATA)
    after = edited(wide, root, '<top xmlns="urn:example:t"><item><id>b</id><w>new</w></item></top>')
    assert after is not root
    assert after.find("u:types") is root.find("u:types")
    old, new = root.find("t:top"), after.find("t:top")
    assert old is not None
    assert new is not None
    items = wide.node("/t:top/item")
    for schema, child in old.children.items():
        assert (new.children[schema] is child) == (schema is not items)
    assert new.entries(items)[("a",)] is old.entries(items)[("a",)]
    leaf = wide.node("/t:top/item/v")
    assert new.entries(items)[("b",)].one(leaf) is old.entries(items)[("b",)].one(leaf)
    assert root.xml() == from_json(wide.root, DATA).xml()


@pytest.mark.parametrize(
    "config",
    [
        "",
        "<mtu>+1400</mtu>",
        "<item><id>b</id><v>+2</v></item><tag>a</tag>",
        '<item nc:operation="replace"><id>b</id><v>2</v></item>',
        '<np nc:operation="replace"><deep><e>-5</e></deep></np>',
        '<a1 nc:operation="remove"/><pres/>',
        '<rule xmlns:y="urn:ietf:params:xml:ns:yang:1" y:insert="last"><id>y</id></rule>',
        '<ord xmlns:y="urn:ietf:params:xml:ns:yang:1" y:insert="after" y:value="2">1</ord>',
        '<np><deep nc:operation="merge"/></np>',
    ],
)
def test_an_edit_that_changes_nothing_gives_the_same_tree(wide: Model, config: str) -> None:
    """So that nothing is validated, committed or written again."""
    root = from_json(wide.root, DATA)
    assert edited(wide, root, f'<top xmlns="urn:example:t">{config}</top>') is root


def test_xml_is_written_once(model: Model) -> None:
    root = top(model, {"np": {"d": "x"}, "item": [{"id": "a"}]})
    assert root.xml() is root.xml()
    after = edited(model, root, '<top xmlns="urn:example:t"><mtu>70</mtu></top>')
    assert after.xml() != root.xml()
    before, now = root.find("t:top", "np"), after.find("t:top", "np")
    assert before is not None
    assert now is not None
    assert now.xml() is before.xml()


# Lists of counters become nodes when somebody looks at them.


def interrupts(model: Model, cpus: Any) -> Node:
    row = {"irq": 131, "name": "qat0-bundle1 & <more>", "total": 26, "cpu": cpus}
    device = {"address": "0000:01:00.0", "name": "qat_dev0", "interrupt": [row, {"irq": 130, "cpu": []}]}
    return from_json(model.root, {"hardware-acceleration:acceleration": {"qat": {"device": [device]}}})


def counting(model: Model) -> tuple[Node, Node]:
    """Return the same tree made of counters and made of trees."""
    counts = Counts("id", (0, 2, 77), "count", (b"0", b"17", b"9"))
    return interrupts(model, counts), interrupts(model, list(counts))


def said(node: Node) -> Any:
    """Return all that a tree says, by looking at each of its nodes."""
    return node.schema.name, node.value, [said(child) for child in node.all()]


def test_counters_are_written_as_the_list_that_they_stand_for(model: Model) -> None:
    counted, plain = counting(model)
    assert counted.xml() == plain.xml()
    assert (
        b"<total>26</total><cpu><id>0</id><count>0</count></cpu><cpu><id>2</id><count>17</count></cpu>" in plain.xml()
    )


def test_counters_are_nodes_to_whoever_looks_at_them(model: Model) -> None:
    counted, plain = counting(model)
    assert said(counted) == said(plain)
    assert counted.xml() == plain.xml()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<name/>",
        "<cpu/>",
        "<cpu><id>2</id></cpu>",
        "<cpu><id>2</id><count/></cpu>",
        "<cpu><count>9</count></cpu>",
        "<irq>131</irq><cpu><count/></cpu>",
    ],
)
def test_a_filter_finds_counters(model: Model, content: str) -> None:
    rows = f"<device><interrupt>{content}</interrupt></device>"
    filters = subtree.compile_subtree(
        etree.fromstring(
            f'<f><acceleration xmlns="urn:accel-agent:hardware-acceleration"><qat>{rows}</qat></acceleration></f>'
        ),
        model.root,
    )
    counted, plain = counting(model)
    assert subtree.apply(counted, filters).xml() == subtree.apply(plain, filters).xml() != b""


@pytest.mark.parametrize("depth", range(1, 8))
def test_counters_have_a_depth(model: Model, depth: int) -> None:
    counted, plain = counting(model)
    assert shortened(counted, counted, depth).xml() == shortened(plain, plain, depth).xml()


def test_counters_are_merged_with_what_else_there_is(model: Model) -> None:
    counted, plain = counting(model)
    other = interrupts(model, [{"id": 1, "count": 5}])
    assert merge(counted, other).xml() == merge(plain, other).xml() == merge(other, plain).xml()
    assert merge(other, counted).xml() == merge(other, plain).xml()


def test_counters_of_leafs_that_the_schema_lacks(model: Model) -> None:
    with pytest.raises(KeyError, match="interrupt/cpu/number"):
        interrupts(model, Counts("number", (0,), "count", (b"0",)))
