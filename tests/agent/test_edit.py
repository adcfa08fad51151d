"""edit-config: what each operation makes of module t, and which error it is, exactly."""

from typing import Any

import pytest

import agent.edit.order
import agent.edit.request
from agent import edit
from agent.errors import NetconfError
from agent.model.load import Model
from agent.tree import Node, from_json
from tests.agent.edit_bench import bad, data, element, refused, run, tree

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


def test_a_list_goes_with_its_case_whatever_else_happens_to_it(wide: Model) -> None:
    root = from_json(wide.root, {"u:types": {"several": [1, 2, 3], "i8": 0}})
    config = '<types xmlns="urn:example:u"><several nc:operation="delete">2</several><single>7</single></types>'
    after = edit.apply(root, edit.parse(wide, element(config), "merge"))
    assert after.xml() == b'<types xmlns="urn:example:u"><i8>0</i8><single>7</single></types>'
    config = '<types xmlns="urn:example:u"><single nc:operation="delete"/><several>5</several></types>'
    again = edit.apply(after, edit.parse(wide, element(config), "merge"))
    assert again.xml() == b'<types xmlns="urn:example:u"><i8>0</i8><several>5</several></types>'


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

    def counting(self: Node, *arguments: Any, **named: Any) -> None:
        made.append(self)
        original(self, *arguments, **named)

    monkeypatch.setattr(Node, "__init__", counting)
    after = run(model, root, "<item><id>77</id><w>x</w></item>")
    after.xml()
    assert [node.schema.kind for node in made if node._xml is not None] == ["leaf", "leaf", "list", "container", "root"]
