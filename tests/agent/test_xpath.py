"""XPath filters (RFC 6241 8.9): what is selected, in which context, and how it is found in the tree."""

import asyncio
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent import filter as subtree
from agent.errors import NetconfError
from agent.filter import selection
from agent.model.load import Model, load
from agent.tree import Node, from_json
from agent.xpath import XPath, as_filter, instance
from tests.agent.conftest import modules_in

X: dict[str | None, str] = {"x": "urn:x", "y": "urn:x", "no": "urn:no", "é𐀀": "urn:x", None: "urn:x"}
DATA = (
    '<c xmlns="urn:x"><s><k>a</k><v>1</v></s><s><k>b</k><v>2</v></s><p><a>1</a><b>1</b></p><p><a>1</a><b>2</b></p>'
    "<p><a>2</a><b>2</b></p><bits>one two</bits><any><z xmlns='urn:z'>in</z></any></c>"
    '<t xmlns="urn:x">top</t><l xmlns="urn:x">1</l><l xmlns="urn:x">2</l>'
)
C = "/x:c"
ALL = [C, "/x:t", "/x:l[.='1']", "/x:l[.='2']"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Model:
    text = (
        "container c { list s { key k; leaf k { type string; } leaf v { type string; } }"
        "  list p { key 'a b'; leaf a { type string; } leaf b { type string; } leaf c { type string; } }"
        "  leaf bits { type bits { bit one; bit two; } } anydata any; }"
        "leaf t { type string; } leaf-list l { type string; }"
        "container state { config false; list n { leaf v { type string; } } }"
    )
    return load(modules_in(tmp_path_factory.mktemp("modules"), x=text))


@pytest.fixture(scope="module")
def root(small: Model) -> Node:
    return tree(small, DATA)


class Evaluator:
    """An XPath on a loop of its own."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._xpath = XPath(seconds=20)

    def paths(self, root: Node, expression: str) -> list[str]:
        return self._runner.run(self._xpath.paths(root, expression, X))

    def select(self, root: Node, expression: str, prefixes: dict[str | None, str] = X) -> str:
        return self._runner.run(self._xpath.select(root, expression, prefixes)).xml().decode()

    def close(self) -> None:
        self._runner.run(self._xpath.close())
        self._runner.close()


@pytest.fixture(scope="module")
def xpath() -> Iterator[Evaluator]:
    evaluator = Evaluator()
    yield evaluator
    evaluator.close()


def tree(model: Model, content: str) -> Node:
    return edit.apply(Node(model.root), edit.parse(model, etree.fromstring(f"<config>{content}</config>"), "merge"))


SELECTED = [
    # The context node is the root of all data.
    ("x:c", [C]),
    ("./x:c", [C]),
    ("child::x:c/x:bits", ["/x:c/bits"]),
    ("current()/x:t", ["/x:t"]),
    ("x:t | x:l", ALL[1:]),
    ("(x:c)/x:bits", ["/x:c/bits"]),
    ("x:c[current()/x:t]", [C]),
    ("x:c[count(/*) = 4]", [C]),
    ("descendant::x:v", ["/x:c/s[k='a']/v", "/x:c/s[k='b']/v"]),
    ("..", []),
    ("../x:c", []),
    ("@x:c", []),
    ("*[2]", ["/x:t"]),
    ("x:c[position() = last()]", [C]),
    # The root is no element, and top-level nodes are siblings.
    ("//x:v/ancestor::*", [C, "/x:c/s[k='a']", "/x:c/s[k='b']"]),
    ("//x:v/ancestor::*[2]", [C]),
    ("//x:bits/preceding-sibling::*[1]", ["/x:c/p[a='2'][b='2']"]),
    ("/x:l/preceding-sibling::*", ALL[:-1]),
    ("/x:c/following-sibling::x:l[1]", ["/x:l[.='1']"]),
    ("/x:t/preceding::x:v", ["/x:c/s[k='a']/v", "/x:c/s[k='b']/v"]),
    ("//x:v/..", ["/x:c/s[k='a']", "/x:c/s[k='b']"]),
    ("//text()/..", ["/x:c/s[k='a']/k", "/x:c/s[k='a']/v", "/x:c/s[k='b']/k", "/x:c/s[k='b']/v",
     "/x:c/p[a='1'][b='1']/a", "/x:c/p[a='1'][b='1']/b", "/x:c/p[a='1'][b='2']/a", "/x:c/p[a='1'][b='2']/b",
     "/x:c/p[a='2'][b='2']/a", "/x:c/p[a='2'][b='2']/b", "/x:c/bits", "/x:c/any", *ALL[1:]]),
    ("/..", []),
    ("(/)/..", []),
    ("//x:v[../x:k = 'a' or ../x:k = 'c']/..", ["/x:c/s[k='a']"]),
    # A union is in the order of the data.
    ("x:t | //x:v[. = 2]/.. | x:c/x:s", ["/x:c/s[k='a']", "/x:c/s[k='b']", "/x:t"]),
    ("x:c[x:t | x:s]/x:bits | (x:t | x:l)[2]", ["/x:c/bits", "/x:l[.='1']"]),
    # Names have the namespaces that are declared; without a prefix they have none.
    ("y:c", [C]),
    ("é𐀀:c", [C]),
    ("c", []),
    ("/x:c/s", []),
    ("//no:c", []),
    ("//no:*", []),
    ("/x:c/no:s | x:t", ["/x:t"]),
    # Predicates all hold.
    ("//x:p[x:a='1'][x:b='2']", ["/x:c/p[a='1'][b='2']"]),
    ("//x:p[x:a='1'][2]", ["/x:c/p[a='1'][b='2']"]),
    # What is no data node selects nothing; what anydata holds is part of it.
    ("//text()", []),
    ("//@*", []),
    ("//*[. = 'in']", ["/x:c/any"]),
    ("id('a')", []),
    # RFC 7950's functions, where they need no schema.
    ("//*[re-match(., '[12]')]", ["/x:c/s[k='a']/v", "/x:c/s[k='b']/v", "/x:c/p[a='1'][b='1']/a",
     "/x:c/p[a='1'][b='1']/b", "/x:c/p[a='1'][b='2']/a", "/x:c/p[a='1'][b='2']/b", "/x:c/p[a='2'][b='2']/a",
     "/x:c/p[a='2'][b='2']/b", *ALL[2:]]),
    ("x:c[bit-is-set(x:bits, 'two')]", [C]),
    ("x:c[bit-is-set(x:bits, 'tw')] | x:c[bit-is-set(x:nothing, 'two')]", []),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "paths"), SELECTED, ids=[expression for expression, _paths in SELECTED])
def test_an_expression_selects(xpath: Evaluator, root: Node, expression: str, paths: list[str]) -> None:
    assert xpath.paths(root, expression) == paths
    for path in paths:
        assert instance(root, path), path


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x:c[", "Invalid expression"),
        ("x:no()", "there is no function x:no"),
        ("x:c[no-such()]", "there is no function no-such"),
        ("$v", "there is no variable v"),
        ("document('/etc/passwd')", "there is no function document"),
        ("1", "is not a node set"),
        ("x:c | x:t = 1", "is not a node set"),
        ("x:c |", "Invalid expression"),
        ("| x:c", "Invalid expression"),
        ("1/..", "is not a node set"),
        ("string(.)", "is not a node set"),
        ("x:c[re-match(x:bits, '(')]", "is no regular expression"),
        ("x:c[derived-from(x:bits, 'x:b')]", "there is no function derived-from"),
    ],
)
@pytest.mark.parametrize("content", [DATA, ""])
def test_what_is_no_node_set_is_refused(
    xpath: Evaluator, small: Model, content: str, expression: str, words: str
) -> None:
    if content or "re-match" not in expression:  # without data no predicate is looked at
        with pytest.raises(NetconfError) as caught:
            xpath.paths(tree(small, content), expression)
        assert caught.value.tag == "invalid-value"
        assert words in caught.value.message


@pytest.mark.parametrize("expression", ["/", ".", "/.", "current()", "//.", "//node()/..", "/x:t/..", "//.."])
def test_the_root_is_all_data_and_has_no_path(xpath: Evaluator, root: Node, expression: str) -> None:
    assert xpath.select(root, expression) == root.xml().decode()
    assert all(instance(root, path) for path in xpath.paths(root, expression))


@pytest.mark.parametrize("expression", ["/", ".", "//*", "x:c", "/x:l/.."])
def test_without_data_nothing_is_selected(xpath: Evaluator, small: Model, expression: str) -> None:
    assert xpath.paths(Node(small.root), expression) == []
    assert xpath.select(Node(small.root), expression) == ""


keys = st.text(st.sampled_from("ab'\"[]/=.:&< x\t\n\r"), max_size=8) | st.just("x\"]/v['a'=\"b")


@settings(deadline=None)
@given(st.lists(st.tuples(keys, keys), min_size=1, unique=True), st.data())
def test_every_entry_is_found_whatever_its_keys_are(
    small: Model, xpath: Evaluator, entries: list[tuple[str, str]], data: st.DataObject
) -> None:
    items = [{"a": a, "b": b, "c": str(n)} for n, (a, b) in enumerate(entries)]
    root = from_json(small.root, {"x:c": {"p": items}})
    wanted = data.draw(st.integers(0, len(entries) - 1))
    expected = from_json(small.root, {"x:c": {"p": [items[wanted]]}})
    assert xpath.select(root, f"//x:p[x:c = {wanted}]") == expected.xml().decode()
    (path,) = xpath.paths(root, f"//x:c[. = {wanted}]/..")
    found = instance(root, path)
    if any("'" in key and '"' in key for key in entries[wanted]):
        assert found == []  # there is no such instance-identifier (RFC 7950 9.13)
    else:
        assert found[-1].xml() in expected.xml()


def test_entries_without_keys_are_found(xpath: Evaluator, small: Model) -> None:
    root = from_json(small.root, {"x:state": {"n": [{"v": "1"}, {"v": "2"}, {"v": "1"}]}})
    assert xpath.select(root, "//x:n[x:v = 1]") == '<state xmlns="urn:x"><n><v>1</v></n><n><v>1</v></n></state>'


def test_an_entry_comes_with_its_keys_and_no_more(xpath: Evaluator, root: Node) -> None:
    expected = '<c xmlns="urn:x"><s><k>b</k><v>2</v></s></c>'
    assert xpath.select(root, "//x:v[. = '2']") == expected
    assert xpath.select(root, "//x:v[. = '2'] | //x:s[2]") == expected


@pytest.mark.parametrize(
    ("expression", "keys"),
    [
        ("/x:c/x:p[x:a='1'][x:b='2']", [("1", "2")]),
        ("/x:c/x:p[x:b='2'][x:a='1']", [("1", "2")]),
        ("/x:c/x:p[x:a='1']", [("1", "1"), ("1", "2")]),
        ("/x:c/x:p[x:a='1'][x:a='2']", []),
        ("/x:c/x:p[x:a='1'][x:a='1'][x:b='1']", [("1", "1")]),
        ("/x:c/x:p[x:a='3'][x:b='2']", []),
    ],
)
@pytest.mark.parametrize("below", ["", "/x:a"])
def test_the_predicates_of_a_plain_path_all_hold(
    small: Model, root: Node, expression: str, keys: list[Any], below: str
) -> None:
    filters = as_filter(small, expression + below, X)
    assert filters is not None
    found = subtree.apply(root, filters).find("x:c")
    schema = small.node("/x:c/p")
    assert (list(found.entries(schema)) if found is not None else []) == keys


def test_a_reader_of_state_is_told_the_keys_of_a_plain_path(small: Model) -> None:
    filters = as_filter(small, "/x:c/x:p[x:a='1'][x:b='2']", X)
    assert filters is not None
    wanted = selection(filters, small.node("/x:c"))
    assert wanted is not None
    assert [(one.name, one.matches) for one in wanted.branches] == [("p", (("a", "1"), ("b", "2")))]


def test_an_answer_that_nobody_waits_for_is_not_the_next_ones(small: Model, root: Node) -> None:
    async def scenario() -> str:
        xpath = XPath(seconds=20)
        await xpath.select(root, "//x:t", X)
        given_up = asyncio.create_task(xpath.select(root, "//x:l[. = 1]", X))
        while not xpath._turns._taken:  # noqa: ASYNC110 - in the loop's next round or the one after
            await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        try:
            return (await xpath.select(root, "//x:t[. = 'top']", X)).xml().decode()
        finally:
            await xpath.close()

    assert asyncio.run(scenario()) == '<t xmlns="urn:x">top</t>'


def test_values_are_compared_as_they_are_shown(xpath: Evaluator, small: Model) -> None:
    shown = tree(small, f"<c xmlns='urn:x'><s><k>{escape('<é&>')}</k></s></c>")
    assert xpath.paths(shown, "//x:s[x:k = '<é&>']") == ["/x:c/s[k='<é&>']"]


def test_who_asks_much_waits_for_who_asks_little(root: Node) -> None:
    async def scenario() -> list[str]:
        xpath, order = XPath(seconds=20), list[str]()

        async def ask(user: str) -> None:
            await xpath.select(root, "//x:t", X, (user,))
            order.append(user)

        try:
            await asyncio.gather(*(ask(user) for user in ("much", "much", "much", "little")))
        finally:
            await xpath.close()
        return order

    assert asyncio.run(scenario()) == ["much", "little", "much", "much"]
