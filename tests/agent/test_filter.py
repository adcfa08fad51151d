"""Subtree filters (RFC 6241 section 6): what is selected, and what readers are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from agent import filter as subtree
from agent.errors import NetconfError
from agent.tree import Node, from_json
from translators.base import ALL

if TYPE_CHECKING:
    from agent.filter import Filter
    from agent.model.load import Model

NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
SPACES = f'xmlns="{NETCONF}" xmlns:t="urn:example:t" xmlns:u="urn:example:u"'

DATA: dict[str, Any] = {
    "name": "gate",
    "mtu": 1500,
    "np": {"d": "1", "deep": {"e": 2}},
    "pres": {},
    "item": [{"id": "a", "v": 1, "w": "x"}, {"id": "b", "v": 2, "w": "x"}, {"id": "c"}],
    "pair": [{"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9"}],
    "tag": ["r", "s"],
    "kind": "t:k1",
    "state": {"up": True, "log": [{"n": 1}, {"n": 2}, {"n": 1}]},
}


def compiled(model: Model, config: str) -> list[Filter]:
    return subtree.compile_subtree(etree.fromstring(f"<filter {SPACES}>{config}</filter>"), model.root)


def selected(model: Model, config: str, data: dict[str, Any] | None = None) -> str:
    """Return what is selected inside top, as XML without its start and end."""
    root = from_json(model.root, {"t:top": DATA if data is None else data})
    found = subtree.apply(root, compiled(model, f'<top xmlns="urn:example:t">{config}</top>')).xml().decode()
    return found.removeprefix('<top xmlns="urn:example:t">').removesuffix("</top>")


A = "<item><id>a</id><v>1</v><w>x</w></item>"
B = "<item><id>b</id><v>2</v><w>x</w></item>"
C = "<item><id>c</id></item>"
UP = "<state><up>true</up><log><n>1</n></log><log><n>2</n></log><log><n>1</n></log></state>"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("<name/>", "<name>gate</name>"),  # C064
        ("<name> \n </name>", "<name>gate</name>"),
        ("<name/><mtu/>", "<name>gate</name><mtu>1500</mtu>"),
        ("<item/>", A + B + C),
        ("<item><id/></item>", "<item><id>a</id></item><item><id>b</id></item><item><id>c</id></item>"),
        ("<item><v/></item>", "<item><id>a</id><v>1</v></item><item><id>b</id><v>2</v></item>"),  # C072
        ("<item><need/></item>", ""),
        ("<item><id>a</id></item>", A),  # C065
        ("<item><id>z</id></item>", ""),
        ("<item><v>1</v></item>", A),  # F67, C071
        ("<item><v>+01</v></item>", A),
        ("<item><v>x</v></item>", ""),
        ("<item><id>a</id><v/></item>", "<item><id>a</id><v>1</v></item>"),  # F69, C066
        ("<item><v/><id>a</id></item>", "<item><id>a</id><v>1</v></item>"),  # F71
        ("<item><w>x</w><v/></item>", "<item><id>a</id><v>1</v><w>x</w></item><item><id>b</id><v>2</v><w>x</w></item>"),
        ("<item><id>a</id><v>1</v></item>", A),  # C067
        ("<item><id>a</id><v>2</v></item>", ""),
        ("<item><id>a</id><id>b</id></item>", ""),
        ("<item><id>a</id><v/></item><item><id>a</id><w/></item>", A),  # F65, C070
        (
            "<item><id>a</id><v/></item><item><id>b</id><w/></item>",
            "<item><id>a</id><v>1</v></item><item><id>b</id><w>x</w></item>",
        ),
        ("<item><id>b</id></item><item><id>a</id></item>", A + B),
        ("<item><id>a</id></item><item/>", A + B + C),
        ("<item><id>a</id></item><item><v>2</v></item>", A + B),
        ("<pair><a>1</a><b>9</b></pair>", "<pair><a>1</a><b>9</b></pair>"),
        ("<pair><a>1</a><b>8</b></pair>", ""),  # F63
        ("<pair><a>1</a><c/></pair>", "<pair><a>1</a><b>2</b><c>3</c></pair><pair><a>1</a><b>9</b></pair>"),
        ("<mtu>9</mtu><item/>", ""),  # C068
        ("<mtu>1500</mtu><name/>", "<name>gate</name><mtu>1500</mtu>"),
        ("<name> gate\n</name><mtu/>", "<name>gate</name><mtu>1500</mtu>"),  # C069
        ("<name>ga te</name><mtu/>", ""),
        ("<tag>r</tag><name/>", "<name>gate</name><tag>r</tag>"),
        ("<tag>z</tag><name/>", ""),
        ("<tag>r</tag><tag>s</tag><name/>", "<name>gate</name><tag>r</tag><tag>s</tag>"),
        ("<kind>k1</kind><name/>", '<name>gate</name><kind xmlns:t="urn:example:t">t:k1</kind>'),
        (
            "<t:kind xmlns='urn:no' xmlns:z='urn:example:t'>z:k1</t:kind><name/>",
            '<name>gate</name><kind xmlns:t="urn:example:t">t:k1</kind>',
        ),
        ("<kind>z:k1</kind><name/>", ""),
        ("<np><deep/></np>", "<np><deep><e>2</e></deep></np>"),
        ("<np><deep><e/></deep></np>", "<np><deep><e>2</e></deep></np>"),
        ("<np><d>1</d></np>", "<np><d>1</d><deep><e>2</e></deep></np>"),
        ("<np><d>2</d></np>", ""),
        ("<np>text</np>", ""),
        ("<np>text</np><name/>", ""),
        ("<pres/>", "<pres></pres>"),
        ("<pres><z/></pres>", ""),
        ("<bogus/><name/>", "<name>gate</name>"),
        ("<bogus>1</bogus><name/>", ""),  # what no data has is equal to nothing
        ("<x xmlns='urn:no'/><name/>", "<name>gate</name>"),  # C061
        ("<name a='b'/><mtu/>", "<mtu>1500</mtu>"),  # C063
        ("<name a='b'>gate</name><mtu/>", ""),
        ("<item a='b'><id>a</id></item>", ""),
        (f"<name n:operation='merge' xmlns:n='{NETCONF}'/>", "<name>gate</name>"),
        ("<name xmlns=''/>", "<name>gate</name>"),  # C060
        ("<item xmlns=''><id>a</id></item>", A),
        ("<t:name/><q:mtu xmlns:q='urn:example:t'/>", "<name>gate</name><mtu>1500</mtu>"),  # C062
        ("<name><x/></name>", ""),
        ("<state/>", UP),
        ("<state><log/></state>", UP.replace("<up>true</up>", "")),
        ("<state><log><n>2</n></log></state>", "<state><log><n>2</n></log></state>"),
        ("<state><up>true</up></state>", UP),
        ("<ping/><ev/>", ""),
    ],
)
def test_what_is_selected(model: Model, config: str, expected: str) -> None:
    assert selected(model, config) == expected


def test_the_top_level(model: Model) -> None:
    """C051, C052, C060, C070."""
    root = from_json(model.root, {"t:top": DATA})
    assert subtree.apply(root, compiled(model, "")).xml() == b""
    assert subtree.apply(root, compiled(model, "<t:top/>")).xml() == root.xml()
    assert subtree.apply(root, compiled(model, "<top xmlns=''/>")).xml() == root.xml()
    assert subtree.apply(root, compiled(model, "<top/><t:ping/><x xmlns='urn:no'/>")).xml() == b""
    twice = compiled(model, "<t:top><t:mtu/></t:top><t:top><t:name/></t:top>")
    assert subtree.apply(root, twice).xml() == b'<top xmlns="urn:example:t"><name>gate</name><mtu>1500</mtu></top>'


def test_without_a_namespace_a_name_stands_for_those_of_all_modules(wide: Model) -> None:
    """C060, F61: and one of them must be equal."""
    data = {"name": "one", "u:name": "two", "mtu": 70}
    own, other = "<name>one</name>", '<name xmlns="urn:example:u">two</name>'
    assert selected(wide, "<name xmlns=''/>", data) == own + other
    assert selected(wide, "<name/>", data) == own
    assert selected(wide, "<u:name/>", data) == other
    assert selected(wide, "<name xmlns=''>two</name><mtu/>", data) == f"<mtu>70</mtu>{other}"
    assert selected(wide, "<name xmlns=''>one</name>", data) == f"{own}<mtu>70</mtu>{other}"
    assert selected(wide, "<name xmlns=''>three</name><mtu/>", data) == ""


def test_a_key_without_a_namespace_stands_for_other_leafs_too(wide: Model) -> None:
    data = {"item": [{"id": "7"}, {"id": "b", "u:id": 7}, {"id": "c", "u:id": 8}]}
    own, other = "<item><id>7</id></item>", '<item><id>b</id><id xmlns="urn:example:u">7</id></item>'
    assert selected(wide, "<item><id xmlns=''>7</id></item>", data) == own + other
    assert selected(wide, "<item><id>7</id></item>", data) == own
    assert selected(wide, "<item><u:id>7</u:id></item>", data) == other


def test_what_is_whole_is_shared(model: Model) -> None:
    root = from_json(model.root, {"t:top": DATA})
    top = subtree.apply(root, compiled(model, '<top xmlns="urn:example:t"><np/><item><id>a</id></item></top>')).find(
        "t:top"
    )
    before = root.find("t:top")
    assert top is not None
    assert before is not None
    assert top.find("np") is before.find("np")
    item = model.node("/t:top/item")
    assert top.entries(item)[("a",)] is before.entries(item)[("a",)]


@pytest.mark.parametrize(
    ("config", "path", "wants", "not_wants"),
    [
        ("", "/t:top/state", None, ""),
        ("<state/>", "/t:top/state", "up log", ""),
        ("<state><up/></state>", "/t:top/state", "up", "log"),
        ("<state><up>true</up></state>", "/t:top/state", "up log", ""),
        ("<np/>", "/t:top/state", None, ""),
        ("<name>x</name>", "/t:top/state", "up log", ""),  # all matches: the whole of top
        ("<name>x</name><np/>", "/t:top/state", None, ""),
        ("<state odd='1'/>", "/t:top/state", None, ""),
        ("<state>x</state>", "/t:top/state", None, ""),
        ("<state><bogus/></state>", "/t:top/state", None, ""),
        ("<state xmlns=''><log/></state>", "/t:top/state", "log", "up"),
        ("<state><up/></state><state><log/></state>", "/t:top/state", "up log", ""),
        ("<item><id>a</id></item>", "/t:top", "item", "state np"),
    ],
)
def test_a_selection(model: Model, config: str, path: str, wants: str | None, not_wants: str) -> None:
    wanted = subtree.selection(
        compiled(model, f'<top xmlns="urn:example:t">{config}</top>' if config else ""), model.node(path)
    )
    if wants is None:
        assert wanted is None
        return
    assert wanted is not None
    assert all(wanted.wants(name) for name in wants.split())
    assert not any(wanted.wants(name) for name in not_wants.split())


def test_a_selection_of_entries(model: Model) -> None:
    config = "<item><id>a</id><v/></item><item><id>b</id></item><item><w>x</w><need/></item><pair><a>1</a></pair>"
    wanted = subtree.selection(compiled(model, f'<top xmlns="urn:example:t">{config}</top>'), model.node("/t:top"))
    assert wanted is not None
    a, b, c = (wanted.entry("item", {"id": key}) for key in "abc")
    assert b == ALL
    assert a is not None
    assert c is not None
    assert [name for name in ("v", "w", "need") if a.wants(name)] == ["v", "w", "need"]
    assert [name for name in ("v", "w", "need") if c.wants(name)] == ["w", "need"]
    assert wanted.entry("pair", {"a": "1", "b": "7"}) == ALL
    assert wanted.entry("pair", {"a": "2", "b": "7"}) is None
    assert wanted.entry("rule", {"id": "a"}) is None


def test_a_selection_by_a_name_that_stands_for_two_leafs(wide: Model) -> None:
    """No reader can know which of them is meant."""
    config = '<top xmlns="urn:example:t"><item><id xmlns="">a</id><v/></item></top>'
    wanted = subtree.selection(compiled(wide, config), wide.node("/t:top"))
    assert wanted is not None
    entry = wanted.entry("item", {"id": "a"})
    assert entry is not None
    assert entry.wants("v")


def test_entries_are_found_by_key(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that are named are looked at, each with the filters that name it."""
    looked: list[int] = []
    original = subtree._select

    def counted(node: Node, filters: Any) -> Node | None:
        looked.append(len(filters))
        return original(node, filters)

    monkeypatch.setattr(subtree, "_select", counted)
    data = {"item": [{"id": str(number)} for number in range(400)], "tag": [str(number) for number in range(400)]}
    config = "".join(f"<item><id>{number}</id></item>" for number in range(0, 400, 2))
    assert selected(model, config, data).count("<item>") == 200
    assert looked == [1] * 201
    looked.clear()
    assert selected(model, "<item><id>77</id></item>", data) == "<item><id>77</id></item>"
    assert looked == [1, 1]
    looked.clear()
    tags = "".join(f"<tag>{number}</tag>" for number in range(200)) + "<name/>"
    assert selected(model, tags, data).count("<tag>") == 200
    assert looked == [1] * 201


@pytest.mark.parametrize(("alternatives", "answered"), [(4, True), (5, False), (1, True)])
def test_comparisons_are_bounded(
    model: Model, monkeypatch: pytest.MonkeyPatch, alternatives: int, answered: bool
) -> None:
    """What is over the bound is refused before any entry is looked at; one filter alone always goes."""
    monkeypatch.setattr(subtree, "MOST_COMPARISONS", 400 if alternatives > 1 else 1)
    looked: list[Node] = []
    original = subtree._select

    def counted(node: Node, filters: Any) -> Node | None:
        looked.append(node)
        return original(node, filters)

    monkeypatch.setattr(subtree, "_select", counted)
    data = {"item": [{"id": str(number), "v": number} for number in range(100)]}
    config = "".join(f"<item><v>{number}</v></item>" for number in range(alternatives))
    if answered:
        assert selected(model, config, data).count("<item>") == alternatives
        assert len(looked) == 1 + 100
        return
    with pytest.raises(NetconfError) as caught:
        selected(model, config, data)
    assert (caught.value.type, caught.value.tag) == ("protocol", "resource-denied")
    assert "5 alternatives without keys for a list of 100 entries" in caught.value.message
    assert len(looked) == 1
