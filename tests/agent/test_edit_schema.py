"""edit-config: what the schema alone refuses, and the values that are stored."""

import pytest
from lxml import etree

from agent import edit
from agent.errors import MOST_ERRORS, NetconfError
from agent.model.load import Model
from agent.tree import Node
from tests.agent.edit_bench import Info, bad, data, element, refused, run, tree


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
    root = run(model, tree(model), "<mtu>+01500</mtu><kind>q:k1</kind><np><deep><e>-0</e></deep></np>")
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
