"""edit-config: what each edit makes of module t, and which error it is, exactly."""

from typing import Any

import pytest
from lxml import etree

import agent.edit.order
import agent.edit.request
from agent import edit
from agent.edit import Operation
from agent.errors import MOST_ERRORS, NETCONF, NetconfError
from agent.model.load import Model
from agent.tree import Node, from_json

SPACES = f'xmlns="{NETCONF}" xmlns:nc="{NETCONF}" xmlns:y="urn:ietf:params:xml:ns:yang:1" xmlns:q="urn:example:t"'
Info = tuple[tuple[str, str, str], ...]


def tree(model: Model, **data: Any) -> Node:
    """Return a datastore with these children of top."""
    return from_json(model.root, {"t:top": data}) if data else Node(model.root)


def element(config: str) -> etree._Element:
    return etree.fromstring(f"<config {SPACES}>{config}</config>")


def run(model: Model, root: Node, config: str, default: Operation = "merge") -> Node:
    """Return a tree after an edit inside top."""
    inside = element(f'<top xmlns="urn:example:t">{config}</top>')
    return edit.apply(root, edit.parse(model, inside, default))


def data(root: Node) -> dict[str, Any]:
    """Return the children of top by name: leafs as text, entries in their order."""
    (top,) = etree.fromstring(b"<x>" + (root.xml() or b"<top/>") + b"</x>")
    found: dict[str, Any] = {}
    for child in top:
        value = {leaf.tag.rpartition("}")[2]: leaf.text for leaf in child} if len(child) else child.text
        found.setdefault(child.tag.rpartition("}")[2], []).append(value)
    return found


def refused(model: Model, root: Node, config: str, default: Operation = "merge") -> NetconfError:
    """Return the error of an edit that must leave the tree alone."""
    before, shape = root.xml(), dict(root.children)
    with pytest.raises(NetconfError) as caught:
        run(model, root, config, default)
    assert (root.xml(), root.children) == (before, shape)
    return caught.value


def bad(**names: str) -> Info:
    return tuple((NETCONF, f"bad-{what}", name) for what, name in names.items())


# ── the five operations ──────────────────────────────────────────────────────────────────────────

FULL: dict[str, Any] = {
    "name": "n",
    "np": {"d": "1"},
    "pres": {},
    "item": [{"id": "a", "v": 1, "w": "x"}, {"id": "b", "v": 2}],
    "pair": [{"a": "1", "b": "2", "c": "3"}],
    "tag": ["s", "r"],
}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ('<name nc:operation="{}">n</name>', "/t:top/name"),
        ('<np nc:operation="{}"><d>1</d></np>', "/t:top/np"),
        ('<pres nc:operation="{}"/>', "/t:top/pres"),
        ('<item nc:operation="{}"><id>a</id></item>', "/t:top/item[id='a']"),
        ('<pair nc:operation="{}"><b>2</b><a>1</a></pair>', "/t:top/pair[a='1'][b='2']"),
        ('<tag nc:operation="{}">s</tag>', "/t:top/tag[.='s']"),
        ('<np><d nc:operation="{}">1</d></np>', "/t:top/np/d"),
        ('<item><id>a</id><w nc:operation="{}">x</w></item>', "/t:top/item[id='a']/w"),
    ],
)
def test_create_needs_absence_and_delete_presence(model: Model, config: str, path: str) -> None:
    """C084 to C087: the error names the node."""
    full, empty = tree(model, **FULL), tree(model)
    error = refused(model, full, config.format("create"))
    assert (error.type, error.tag, error.path, error.info) == ("application", "data-exists", path, ())
    error = refused(model, empty, config.format("delete"))
    assert (error.type, error.tag, error.path, error.info) == ("application", "data-missing", path, ())
    without = run(model, full, config.format("delete"))
    assert run(model, full, config.format("remove")).xml() == without.xml() != full.xml()
    assert run(model, without, config.format("remove")) is without
    made = run(model, without, config.format("create"))
    assert (
        run(model, without, config.format("merge")).xml()
        == made.xml()
        == run(model, without, config.format("replace")).xml()
    )


def test_removing_from_an_empty_datastore_leaves_it_empty(model: Model) -> None:
    empty = tree(model)
    assert (
        run(model, empty, '<item nc:operation="remove"><id>a</id></item><np><deep nc:operation="remove"/></np>')
        is empty
    )


def test_replace_of_an_entry_leaves_its_siblings(model: Model) -> None:
    """C088."""
    after = run(model, tree(model, **FULL), '<item nc:operation="replace"><id>a</id><need>y</need></item>')
    assert data(after)["item"] == [{"id": "a", "need": "y"}, {"id": "b", "v": "2"}]


def test_replace_of_a_container(model: Model) -> None:
    after = run(model, tree(model, np={"d": "1", "deep": {"e": 2}}), '<np nc:operation="replace"><d>3</d></np>')
    assert data(after) == {"np": [{"d": "3"}]}
    assert run(model, after, '<np nc:operation="replace"/>').xml() == b""


def test_default_operation_none(model: Model) -> None:
    """C090, C091, F35: it changes nothing, and every level must be there."""
    full = tree(model, **FULL)
    assert run(model, full, "<name>else</name><item><id>a</id><v>9</v></item>", "none") is full
    for config, path in (
        ("<mtu>1400</mtu>", "/t:top/mtu"),
        ("<item><id>z</id></item>", "/t:top/item[id='z']"),
        ("<item><id>b</id><w>x</w></item>", "/t:top/item[id='b']/w"),
        ("<np><deep/></np>", "/t:top/np/deep"),
        ("<tag>q</tag>", "/t:top/tag[.='q']"),
        ('<item><id>z</id><w nc:operation="remove"/></item>', "/t:top/item[id='z']"),
    ):
        error = refused(model, full, config, "none")
        assert (error.tag, error.path) == ("data-missing", path)
    after = run(model, full, '<item><id>a</id><w nc:operation="delete"/></item>', "none")
    assert data(after)["item"] == [{"id": "a", "v": "1"}, {"id": "b", "v": "2"}]
    replace = '<item nc:operation="replace"><id>a</id><v>1</v></item>'
    assert refused(model, tree(model), replace, "none").path == "/t:top"
    assert data(run(model, tree(model, name="n"), replace, "none"))["item"] == [{"id": "a", "v": "1"}]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('<item nc:operation="create"><id>z</id><w nc:operation="delete"/></item>', "/t:top/item[id='z']/w"),
        ('<item nc:operation="replace"><id>a</id><w nc:operation="delete"/></item>', "/t:top/item[id='a']/w"),
        ('<item nc:operation="replace"><id>a</id><w nc:operation="create">new</w></item>', [("a", "new"), ("b", None)]),
        ('<item nc:operation="replace"><id>a</id><w nc:operation="remove"/></item>', [("a", None), ("b", None)]),
        ('<item nc:operation="delete"><id>a</id><w nc:operation="create">y</w></item>', [("b", None)]),
        ('<item nc:operation="delete"><id>a</id><bogus/><v>999</v></item>', [("b", None)]),  # C095
        ('<item nc:operation="merge"><id>a</id><w nc:operation="replace">y</w></item>', [("a", "y"), ("b", None)]),
    ],
)
def test_operations_inside_operations(model: Model, config: str, expected: Any) -> None:
    """C094: what is inside is done to what the outside leaves."""
    full = tree(model, **FULL)
    if isinstance(expected, str):
        error = refused(model, full, config)
        assert (error.tag, error.path) == ("data-missing", expected)
    else:
        after = run(model, full, config)
        assert [(item["id"], item.get("w")) for item in data(after)["item"]] == expected


def test_the_same_node_twice_in_one_edit(model: Model) -> None:
    """C096, F37, F43: edits are made one after the other."""
    config = (
        '<top xmlns="urn:example:t"><pres nc:operation="delete"/></top>'
        '<top xmlns="urn:example:t"><pres><z>1</z></pres></top>'
    )
    edits = edit.parse(model, element(config), "merge")
    assert data(edit.apply(tree(model, pres={"z": "0"}), edits)) == {"pres": [{"z": "1"}]}
    with pytest.raises(NetconfError) as caught:
        edit.apply(tree(model), edits)
    assert (caught.value.tag, caught.value.path) == ("data-missing", "/t:top/pres")
    after = run(model, tree(model), "<tag>a</tag><tag>b</tag><tag>a</tag><tag>c</tag><name>x</name><name>y</name>")
    assert data(after) == {"tag": ["a", "b", "c"], "name": ["y"]}
    assert run(model, after, "<tag>a</tag><tag>b</tag><tag>c</tag>") is after
    error = refused(model, after, '<tag nc:operation="create">d</tag><tag nc:operation="create">d</tag>')
    assert error.path == "/t:top/tag[.='d']"


def test_entries_go_one_by_one_and_the_list_with_the_last(model: Model) -> None:
    """F51."""
    root = tree(model, item=[{"id": "a"}, {"id": "b"}])
    root = run(model, root, '<item nc:operation="delete"><id>a</id></item>')
    assert data(root) == {"item": [{"id": "b"}]}
    root = run(model, root, '<item nc:operation="delete"><id>b</id></item>')
    assert (root.xml(), root.children) == (b"", {})


def test_containers_without_presence_are_there_by_their_content(model: Model) -> None:
    """C113, F33: an empty one is none, so create finds nothing; with its last child it goes."""
    empty = tree(model)
    assert run(model, empty, '<np nc:operation="create"/>') is empty
    assert run(model, empty, '<np nc:operation="create">\n  <deep>\n </deep>\n</np>') is empty
    assert refused(model, empty, '<np nc:operation="delete"/>').path == "/t:top/np"
    root = tree(model, np={"deep": {"e": 1}})
    assert refused(model, root, '<np nc:operation="create"/>').tag == "data-exists"
    assert run(model, root, '<np><deep><e nc:operation="delete"/></deep></np>').children == {}


def test_a_presence_container_is_data(model: Model) -> None:
    """C114."""
    root = run(model, tree(model), '<pres nc:operation="create"/>')
    assert root.xml() == b'<top xmlns="urn:example:t"><pres></pres></top>'
    assert refused(model, root, '<pres nc:operation="create"/>').tag == "data-exists"
    assert (
        run(model, run(model, root, "<pres><z>1</z></pres>"), '<pres><z nc:operation="delete"/></pres>').xml()
        == root.xml()
    )
    assert run(model, root, '<pres nc:operation="delete"/>').children == {}


# ── choices ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "config", "after"),
    [
        ({"a1": "1", "a2": "2"}, "<b1>3</b1>", {"b1"}),  # C109
        ({"a1": "1"}, "<a2>2</a2>", {"a1", "a2"}),
        ({"b1": "1"}, "<bc><b2>2</b2></bc>", {"b1", "bc"}),
        ({"b1": "1", "bc": {"b2": "2"}}, "<a1>3</a1>", {"a1"}),
        ({"a1": "1"}, '<b1 nc:operation="remove"/>', {"a1"}),  # F45
        ({"a1": "1"}, "<bc/>", {"a1"}),
        ({"a1": "1"}, '<b1 nc:operation="create">2</b1>', {"b1"}),
        ({"a1": "1"}, '<a1 nc:operation="delete"/><b1>2</b1>', {"b1"}),
        ({"b1": "1", "name": "n", "o2x": "x"}, "<a1>2</a1>", {"a1", "name", "o2x"}),
        ({"i1": "1", "o1x": "x"}, "<i2>2</i2>", {"i2", "o1x"}),
        ({"i1": "1", "o1x": "x"}, "<o2x>2</o2x>", {"o2x"}),
        ({"o2x": "1"}, "<i1>2</i1>", {"i1"}),
        ({"i1": "1"}, "<o1x>2</o1x>", {"i1", "o1x"}),
    ],
)
def test_a_node_of_another_case_takes_the_old_ones_away(
    model: Model, before: dict[str, Any], config: str, after: set[str]
) -> None:
    assert set(data(run(model, tree(model, **before), config))) == after


@pytest.mark.parametrize(
    ("config", "element_", "path"),
    [
        ("<a1>1</a1><b1>2</b1>", "b1", "/t:top/b1"),  # C107
        ("<bc/><a2>2</a2>", "a2", "/t:top/a2"),
        ("<i1>1</i1><i2>2</i2>", "i2", "/t:top/i2"),
        ("<i1>1</i1><name>n</name><o2x>2</o2x>", "o2x", "/t:top/o2x"),
        ('<a1 nc:operation="replace">1</a1><b1 nc:operation="create">2</b1>', "b1", "/t:top/b1"),
    ],
)
def test_nodes_of_two_cases_in_one_edit(model: Model, config: str, element_: str, path: str) -> None:
    error = refused(model, tree(model), config)
    assert (error.type, error.tag, error.path, error.info) == (
        "application",
        "bad-element",
        path,
        bad(element=element_),
    )


def test_deleting_the_absent_case(model: Model) -> None:
    """F45."""
    error = refused(model, tree(model, a1="1"), '<b1 nc:operation="delete"/>')
    assert (error.tag, error.path) == ("data-missing", "/t:top/b1")


def test_cases_of_one_name_in_two_modules_are_two(wide: Model) -> None:
    """F61: u augments t's choice with a case of its own, called as one of t's."""
    root = tree(wide, a1="1")
    after = run(wide, root, '<a3 xmlns="urn:example:u">3</a3>')
    assert after.xml() == b'<top xmlns="urn:example:t"><a3 xmlns="urn:example:u">3</a3></top>'
    error = refused(wide, root, '<a1>1</a1><a3 xmlns="urn:example:u">3</a3>')
    assert (error.tag, error.path) == ("bad-element", "/t:top/u:a3")


def test_nodes_of_one_name_in_two_modules_are_two(wide: Model) -> None:
    """F61."""
    root = run(wide, tree(wide), '<name xmlns="urn:example:u">u</name>')
    assert root.xml() == b'<top xmlns="urn:example:t"><name xmlns="urn:example:u">u</name></top>'
    both = run(wide, root, "<name>t</name>")
    assert run(wide, both, '<name nc:operation="delete"/>').xml() == root.xml()


# ── what the schema alone refuses ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("config", "tag", "path", "info"),
    [
        ("<bogus/>", "unknown-element", "/t:top", bad(element="bogus")),  # C103
        ("<np><bogus/></np>", "unknown-element", "/t:top/np", bad(element="bogus")),
        ("<item><id>a</id><bogus/></item>", "unknown-element", "/t:top/item[id='a']", bad(element="bogus")),
        ("<name><x/></name>", "unknown-element", "/t:top/name", bad(element="x")),
        ('<x xmlns="urn:no"/>', "unknown-namespace", "/t:top", bad(element="x", namespace="urn:no")),  # C104
        ('<name xmlns=""/>', "unknown-namespace", "/t:top", bad(element="name", namespace="")),
        ("<nc:name/>", "unknown-element", "/t:top", bad(element="name")),
        ("<item><v>1</v></item>", "missing-element", "/t:top/item", bad(element="id")),  # C106
        ("<pair><b>1</b></pair>", "missing-element", "/t:top/pair", bad(element="a")),
        ('<item nc:operation="delete"><v>1</v></item>', "missing-element", "/t:top/item", bad(element="id")),
        ("<item><id>a</id><id>b</id></item>", "bad-element", "/t:top/item", bad(element="id")),  # C112
        ('<item><id nc:operation="delete">a</id></item>', "bad-attribute", "/t:top/item[id='a']", None),
        ("<np>text</np>", "bad-element", "/t:top/np", bad(element="np")),
        ("<np><d>1</d>text</np>", "bad-element", "/t:top/np", bad(element="np")),
        ("<state/>", "invalid-value", "/t:top/state", ()),  # C111
        ("<state><up>true</up></state>", "invalid-value", "/t:top/state", ()),
        ("<mtu>text</mtu>", "invalid-value", "/t:top/mtu", ()),  # C105, C115
        ("<mtu>67</mtu>", "invalid-value", "/t:top/mtu", ()),
        ("<mtu>70000</mtu>", "invalid-value", "/t:top/mtu", ()),
        ("<mtu/>", "invalid-value", "/t:top/mtu", ()),
        ("<name/>", "invalid-value", "/t:top/name", ()),
        (f"<name>{'x' * 65}</name>", "invalid-value", "/t:top/name", ()),
        ("<item><id/></item>", "invalid-value", "/t:top/item[id='']/id", ()),  # F49
        ("<item><id>a</id><v>x</v></item>", "invalid-value", "/t:top/item[id='a']/v", ()),
        ("<kind>k</kind>", "invalid-value", "/t:top/kind", ()),  # C116: not derived
        ("<kind>r:k1</kind>", "invalid-value", "/t:top/kind", ()),  # undeclared prefix
        ("<q:kind xmlns='urn:no'>k1</q:kind>", "invalid-value", "/t:top/kind", ()),  # another default namespace
        (
            '<name nc:operation="destroy">n</name>',
            "bad-attribute",
            "/t:top",
            bad(attribute="operation", element="name"),
        ),
        ('<item operation="delete"><id>a</id></item>', "unknown-attribute", "/t:top", None),  # C093, F39
        ('<name a="b">n</name>', "unknown-attribute", "/t:top", bad(attribute="a", element="name")),
        ('<name y:x="b">n</name>', "unknown-attribute", "/t:top", bad(attribute="x", element="name")),
        ('<item><id a="b">a</id></item>', "unknown-attribute", "/t:top/item[id='a']", bad(attribute="a", element="id")),
    ],
)
def test_errors_of_the_schema(model: Model, config: str, tag: str, path: str, info: Info | None) -> None:
    error = refused(model, tree(model), config)
    assert (error.tag, error.path) == (tag, path)
    assert error.type == ("protocol" if tag == "bad-attribute" else "application")
    assert error.others == ()
    if info is not None:
        assert error.info == info


@pytest.mark.parametrize(
    ("config", "tag", "info"),
    [
        ('<top xmlns="urn:no"><x/></top>', "unknown-namespace", bad(element="top", namespace="urn:no")),  # F21
        ('<bogus xmlns="urn:example:t"/>', "unknown-element", bad(element="bogus")),
        ('<ping xmlns="urn:example:t"/>', "unknown-element", bad(element="ping")),  # an rpc
        ('<ev xmlns="urn:example:t"/>', "unknown-element", bad(element="ev")),  # a notification
        ("<top/>", "unknown-element", bad(element="top")),
    ],
)
def test_errors_on_the_top_level(model: Model, config: str, tag: str, info: Info) -> None:
    with pytest.raises(NetconfError) as caught:
        edit.parse(model, element(config), "merge")
    assert (caught.value.type, caught.value.tag, caught.value.path) == ("application", tag, None)
    assert caught.value.info == info


def test_several_errors_come_together_and_not_without_end(model: Model) -> None:
    """C043."""
    error = refused(model, tree(model), "<bogus/><item/><mtu>x</mtu><name>n</name>")
    assert [one.tag for one in (error, *error.others)] == ["unknown-element", "missing-element", "invalid-value"]
    error = refused(model, tree(model), "<bogus/>" * 1000)
    assert len(error.others) == MOST_ERRORS - 1


def test_canonical_values_are_stored(model: Model) -> None:
    root = run(model, tree(model), "<mtu>+0x5DC</mtu><kind>q:k1</kind><np><deep><e>-0</e></deep></np>")
    assert root.xml() == (
        b'<top xmlns="urn:example:t"><mtu>1500</mtu><np><deep><e>0</e></deep></np>'
        b'<kind xmlns:t="urn:example:t">t:k1</kind></top>'
    )
    assert run(model, root, '<mtu>1500</mtu><kind xmlns="urn:example:t">k1</kind>') is root


def test_white_space_around_elements_means_nothing(model: Model) -> None:
    """F33; but a space that is none of XML's is text."""
    assert data(run(model, tree(model), "\n <item>\r\n\t<id>a</id> <w> x </w>\n </item>\n")) == {
        "item": [{"id": "a", "w": " x "}]
    }
    assert refused(model, tree(model), "<np>\xa0</np>").tag == "bad-element"


def test_anydata_and_anyxml(wide: Model) -> None:
    """Markup is kept, with the namespaces that it needs."""
    config = (
        '<types xmlns="urn:example:u"><data><a xmlns="urn:a">1</a><q:c><b xmlns=""/></q:c></data>'
        "<xml><b xmlns='urn:b'>&amp;</b></xml></types>"
    )
    root = edit.apply(Node(wide.root), edit.parse(wide, element(config), "merge"))
    (types,) = etree.fromstring(b"<x>" + root.xml() + b"</x>")
    assert [(child.tag, child.text) for child in types.iter()] == [
        ("{urn:example:u}types", None),
        ("{urn:example:u}data", None),
        ("{urn:a}a", "1"),
        ("{urn:example:t}c", None),
        ("b", None),
        ("{urn:example:u}xml", None),
        ("{urn:b}b", "&"),
    ]
    text = '<types xmlns="urn:example:u"><xml>&lt;b&gt;</xml></types>'
    root = edit.apply(root, edit.parse(wide, element(text), "merge"))
    assert b"<xml>&lt;b&gt;</xml>" in root.xml()


# ── order ────────────────────────────────────────────────────────────────────────────────────────

RULES = [{"id": key, "act": "x"} for key in ("r1", "r2", "r3")]


def order(root: Node) -> list[str]:
    return [rule["id"] for rule in data(root)["rule"]]


@pytest.mark.parametrize(
    ("key", "insert", "anchor", "expected"),
    [
        ("r0", "", "", "r1 r2 r3 r0"),  # C126
        ("r0", "first", "", "r0 r1 r2 r3"),
        ("r0", "last", "", "r1 r2 r3 r0"),
        ("r0", "before", "r2", "r1 r0 r2 r3"),
        ("r0", "before", "r1", "r0 r1 r2 r3"),
        ("r0", "after", "r2", "r1 r2 r0 r3"),
        ("r0", "after", "r3", "r1 r2 r3 r0"),
        ("r1", "", "", "r1 r2 r3"),
        ("r3", "first", "", "r3 r1 r2"),
        ("r1", "last", "", "r2 r3 r1"),
        ("r3", "before", "r1", "r3 r1 r2"),
        ("r1", "after", "r3", "r2 r3 r1"),
        ("r1", "before", "r2", "r1 r2 r3"),
        ("r1", "before", "r1", "r1 r2 r3"),  # F53
        ("r2", "after", "r2", "r1 r2 r3"),
    ],
)
@pytest.mark.parametrize("operation", ["merge", "replace", "create"])
def test_where_entries_go(model: Model, operation: str, key: str, insert: str, anchor: str, expected: str) -> None:
    if operation == "create" and key != "r0":
        return
    place = f'y:insert="{insert}"' if insert else ""
    by_key = f"y:key=\"[id='{anchor}']\"" if anchor else ""
    by_value = f'y:value="{anchor}"' if anchor else ""
    root = tree(model, rule=RULES, ord=["r1", "r2", "r3"])
    rule = f'<rule nc:operation="{operation}" {place} {by_key}><id>{key}</id><act>x</act></rule>'
    assert order(run(model, root, rule)) == expected.split()
    value = f'<ord nc:operation="{operation}" {place} {by_value}>{key}</ord>'
    assert data(run(model, root, value))["ord"] == expected.split()


@pytest.mark.parametrize("anchor", ["[q:id='r3']", '[q:id="r3"]', "[ q:id = 'r3' ]", "[id='r3']"])
def test_the_prefixes_of_an_anchor_are_the_elements(model: Model, anchor: str) -> None:
    """F57, C128."""
    quote = "'" if '"' in anchor else '"'
    config = f"<rule y:insert='after' y:key={quote}{anchor}{quote}><id>r1</id></rule>"
    assert order(run(model, tree(model, rule=RULES), config)) == ["r2", "r3", "r1"]


def test_anchors_may_come_in_the_same_edit(model: Model) -> None:
    config = "".join(
        f'<ord y:insert="{insert}" y:value="{anchor}">{value}</ord>'
        for value, insert, anchor in (
            ("c", "first", ""),
            ("b", "before", "c"),
            ("d", "after", "c"),
            ("a", "before", "b"),
        )
    )
    assert data(run(model, tree(model), config.replace(' y:value=""', "")))["ord"] == ["a", "b", "c", "d"]


def test_an_entry_that_leaves_and_comes_back_is_last(model: Model) -> None:
    config = '<ord nc:operation="delete">a</ord><ord y:insert="first">c</ord><ord>a</ord>'
    assert data(run(model, tree(model, ord=["a", "b", "c"]), config))["ord"] == ["c", "b", "a"]
    config = '<ord y:insert="first">c</ord><ord nc:operation="delete">a</ord><ord>a</ord>'
    assert data(run(model, tree(model, ord=["a", "b", "c"]), config))["ord"] == ["c", "b", "a"]


def test_replacing_a_list_as_a_whole_keeps_the_order_of_the_request(model: Model) -> None:
    """C129."""
    config = "".join(f"<ord>{value}</ord>" for value in "cab")
    top = f'<top xmlns="urn:example:t" nc:operation="replace">{config}</top>'
    after = edit.apply(tree(model, ord=["a", "b", "c"]), edit.parse(model, element(top), "merge"))
    assert data(after)["ord"] == ["c", "a", "b"]


def test_default_operation_none_moves_nothing(model: Model) -> None:
    root = tree(model, ord=["a", "b"])
    assert run(model, root, '<ord y:insert="first">b</ord>', "none") is root


@pytest.mark.parametrize(
    ("config", "tag", "app_tag", "attribute"),
    [
        ('<rule y:insert="after" y:key="[q:id=\'zz\']"><id>r0</id></rule>', "bad-attribute", "missing-instance", "key"),
        ('<rule y:insert="before" y:key="[id=\'r0\']"><id>r0</id></rule>', "bad-attribute", "missing-instance", "key"),
        ('<ord y:insert="after" y:value="zz">a</ord>', "bad-attribute", "missing-instance", "value"),  # C124, F55
        ('<rule y:insert="after"><id>r0</id></rule>', "bad-attribute", None, "key"),  # C127
        ('<ord y:insert="before">a</ord>', "bad-attribute", None, "value"),
        ('<ord y:insert="before" y:key="[id=\'a\']">a</ord>', "unknown-attribute", None, "key"),
        ('<rule y:insert="before" y:value="r1"><id>r0</id></rule>', "unknown-attribute", None, "value"),
        ('<rule y:insert="middle"><id>r0</id></rule>', "bad-attribute", None, "insert"),
        ("<rule y:key=\"[id='r1']\"><id>r0</id></rule>", "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key="r1"><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key="[act=\'x\']"><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key="[no:id=\'r1\']"><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key=""><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<tag y:insert="first">a</tag>', "unknown-attribute", None, "insert"),
        ('<item y:insert="first"><id>a</id></item>', "unknown-attribute", None, "insert"),
        ("<item y:key=\"[id='b']\"><id>a</id></item>", "unknown-attribute", None, "key"),
        ('<name y:insert="first">n</name>', "unknown-attribute", None, "insert"),
        ('<np y:value="x"/>', "unknown-attribute", None, "value"),
    ],
)
def test_errors_of_order(model: Model, config: str, tag: str, app_tag: str | None, attribute: str) -> None:
    error = refused(model, tree(model, rule=RULES), config)
    assert (error.type, error.tag, error.app_tag) == ("application", tag, app_tag)
    assert error.info == bad(
        attribute=attribute, element=etree.fromstring(f"<x {SPACES}>{config}</x>")[0].tag.split("}")[1]
    )


def test_a_key_of_two_leafs_is_named_in_any_order(wide: Model) -> None:
    """No list of two keys is ordered by the user in t: the anchor's key is read by itself."""
    schema = wide.node("/t:top/pair")
    entry = edit.Edit(schema, "merge", None, ("1", "2"))
    anchored = etree.fromstring(f"<pair {SPACES} y:insert='after' y:key=\"[q:b='4'][a='3']\"/>")
    try:
        schema.user_ordered = True
        assert agent.edit.order.read_place(anchored, entry) == ("after", ("3", "4"))
    finally:
        schema.user_ordered = False


# ── work ─────────────────────────────────────────────────────────────────────────────────────────


def test_no_path_is_made_where_nothing_is_wrong(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long key is in the path of everything below its entry."""

    def never(*_: object) -> str:
        raise AssertionError

    monkeypatch.setattr(agent.edit.request, "instance_path", never)
    config = f"<pair><a>{'k' * 100_000}</a><b>1</b>{'<c>x</c>' * 500}</pair>"
    assert data(run(model, tree(model), config))["pair"][0]["c"] == "x"


def test_many_insertions_cost_no_more_than_one_each(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is taken apart once and put together once, whatever is put where."""
    calls = {"_link": 0, "result": 0}

    def counted(name: str) -> None:
        original = getattr(agent.edit.order.Entries, name)

        def count(self: object) -> object:
            calls[name] += 1
            return original(self)

        monkeypatch.setattr(agent.edit.order.Entries, name, count)

    counted("_link")
    counted("result")
    root = tree(model, ord=[str(number) for number in range(300)])
    config = "".join(f'<ord y:insert="before" y:value="{number}">x{number}</ord>' for number in range(300))
    after = data(run(model, root, config))["ord"]
    assert after == [value for number in range(300) for value in (f"x{number}", str(number))]
    assert calls == {"_link": 1, "result": 1}


def test_a_single_edit_in_a_long_list_looks_at_one_entry(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(model, item=[{"id": str(number)} for number in range(5000)])
    root.xml()
    made: list[Node] = []
    original = Node.__init__

    def counting(self: Node, *arguments: Any) -> None:
        made.append(self)
        original(self, *arguments)

    monkeypatch.setattr(Node, "__init__", counting)
    after = run(model, root, "<item><id>77</id><w>x</w></item>")
    after.xml()
    assert [node.schema.kind for node in made if node._xml is not None] == ["leaf", "leaf", "list", "container", "root"]
