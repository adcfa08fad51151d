"""The errors of RFC 7950 section 15 that validation finds, in configurations and in values."""

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent.errors import MOST_ERRORS, NETCONF, YANG, NetconfError
from agent.model.load import Model, load
from agent.settings import StartError
from agent.tree import Node, from_json
from tests.agent.conftest import modules_in

# ── validation of a configuration ────────────────────────────────────────────────────────────────


def found(model: Model, **data: Any) -> list[tuple[Any, ...]]:
    """Return (tag, app-tag, path, info) of each error that validation finds in u's constraints."""
    root = from_json(model.root, {"u:constraints": data})
    return errors_of(model, root)


def errors_of(model: Model, root: Node) -> list[tuple[Any, ...]]:
    try:
        model.validator.validate(root.xml())
    except NetconfError as error:
        every = (error, *error.others)
    else:
        return []
    assert {one.type for one in every} == {"application"}
    assert all(one.others == () for one in every[1:])
    return [(one.tag, one.app_tag, one.path, one.info) for one in every]


GOOD: dict[str, Any] = {"needed": "x", "this": "x", "pair": [{"name": "a", "wanted": "x"}], "few": ["1", "2"]}


def test_what_is_valid_comes_back_with_defaults(wide: Model) -> None:
    data = wide.validator.validate(from_json(wide.root, {"u:constraints": GOOD}).xml())
    assert data["u:constraints"] == GOOD
    assert data["t:top"] == {"mtu": 1500, "np": {"d": "x", "deep": {"e": 0}}}
    assert data["u:types"] == {"order": [2, 1]}
    assert wide.validator.validate(b"")["t:top"]["mtu"] == 1500


def test_data_not_unique(wide: Model) -> None:
    """15.1, C118, F29: every leaf of every entry that is not unique, by instance path."""
    pairs = [
        {"name": "a\n/b", "number": 1, "inner": {"text": "t"}, "wanted": "x", "alone": "1"},
        {"name": "it's", "number": 1, "inner": {"text": "t"}, "wanted": "x", "alone": "2"},
    ]
    first, second = "/u:constraints/pair[name='a\n/b']", '/u:constraints/pair[name="it\'s"]'
    leafs = [f"{entry}/{leaf}" for entry in (first, second) for leaf in ("number", "inner/text")]
    info = tuple((YANG, "non-unique", leaf) for leaf in leafs)
    assert found(wide, **{**GOOD, "pair": pairs}) == [("operation-failed", "data-not-unique", second, info)]
    pairs[1] |= {"number": 2, "alone": "1"}
    info = tuple((YANG, "non-unique", f"{entry}/alone") for entry in (first, second))
    assert found(wide, **{**GOOD, "pair": pairs}) == [("operation-failed", "data-not-unique", second, info)]
    pairs[1] |= {"alone": "2"}
    assert found(wide, **{**GOOD, "pair": pairs}) == []


def test_too_many_and_too_few_elements(wide: Model) -> None:
    """15.2, 15.3, C119, C120: once, with the path of the list."""
    many = [{"name": str(number), "wanted": "x"} for number in range(6)]
    lists = ["/u:constraints/pair", "/u:constraints/few"]
    assert found(wide, **{**GOOD, "pair": many, "few": ["1", "2", "3", "4", "5"]}) == [
        ("operation-failed", "too-many-elements", path, ()) for path in lists
    ]
    assert found(wide, **{**GOOD, "pair": [], "few": ["1"]}) == [
        ("operation-failed", "too-few-elements", path, ()) for path in lists
    ]


def test_must(wide: Model) -> None:
    """15.4, C121: with the must's own app-tag and message, as they stand."""
    crowded = {**GOOD, "few": ["1", "2", "3"], "checked": "x"}
    path = "/u:constraints/checked"
    assert found(wide, **crowded) == [("operation-failed", "too-crowded", path, ())]
    with pytest.raises(NetconfError, match=r'^no more than 50% of "few"$'):
        wide.validator.validate(from_json(wide.root, {"u:constraints": crowded}).xml())
    low = {"t:top": {"low": 58, "high": 60}}
    assert errors_of(wide, from_json(wide.root, low)) == [("operation-failed", "must-violation", "/t:top/low", ())]
    with pytest.raises(NetconfError, match=r"^low must be 5% under high$"):  # F27
        wide.validator.validate(from_json(wide.root, low).xml())


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"t:top": {"ref": "z", "item": [{"id": "a"}]}}, "/t:top/ref"),
        ({"u:types": {"reference": 5}}, "/u:types/reference"),
        ({"u:types": {"there": "/t:top/item[id='z']"}}, "/u:types/there"),
    ],
)
def test_an_instance_that_is_required(wide: Model, data: dict[str, Any], path: str) -> None:
    """15.5, C122."""
    assert errors_of(wide, from_json(wide.root, data)) == [("data-missing", "instance-required", path, ())]


def test_an_instance_that_is_not_required(wide: Model) -> None:
    data = {"u:types": {"loose": 5, "where": "/t:top/item[id='z']"}}
    assert errors_of(wide, from_json(wide.root, data)) == []


def test_mandatory_leafs_and_choices(wide: Model) -> None:
    """15.6, C123, C125: of a choice its name, at the path of its parent."""
    assert found(wide, **{name: GOOD[name] for name in ("pair", "few")}) == [
        ("data-missing", "missing-choice", "/u:constraints", ((YANG, "missing-choice", "one"),)),
        ("data-missing", None, "/u:constraints/needed", ()),
    ]
    pairs = [{"name": "a"}, {"name": "b", "wanted": "x"}]
    assert found(wide, **{**GOOD, "pair": pairs}) == [
        ("data-missing", None, "/u:constraints/pair[name='a']/wanted", ())
    ]


def test_a_condition_that_does_not_hold(wide: Model) -> None:
    """8.3.1, C108: as if the node were not in the schema."""
    data = {"u:types": {"conditional": "x"}}
    info = ((NETCONF, "bad-element", "conditional"),)
    assert errors_of(wide, from_json(wide.root, data)) == [("unknown-element", None, "/u:types/conditional", info)]
    data["u:types"]["truth"] = True  # type: ignore[assignment]
    assert errors_of(wide, from_json(wide.root, data)) == []


def test_state_is_no_part_of_a_configuration(wide: Model) -> None:
    (error,) = errors_of(wide, from_json(wide.root, {"t:top": {"state": {"up": True}}}))
    assert error[:3] == ("invalid-value", None, "/t:top/state")


def test_one_fault_does_not_hide_another_nor_spoil_what_comes_next(wide: Model) -> None:
    """F29, C043."""
    bad = {"rule": [{"id": "1"}], "low": 5, "high": 5, "item": [{"id": "a", "v": 1}, {"id": "b", "v": 1}]}
    root = from_json(wide.root, {"t:top": bad})
    assert [(tag, app_tag) for tag, app_tag, _path, _info in errors_of(wide, root)] == [
        ("operation-failed", "must-violation"),
        ("operation-failed", "data-not-unique"),
        ("data-missing", None),
    ]
    assert errors_of(wide, from_json(wide.root, {"t:top": {"rule": [{"id": "1", "act": "x"}]}})) == []


def test_errors_do_not_come_without_end(wide: Model) -> None:
    root = from_json(wide.root, {"t:top": {"rule": [{"id": str(number)} for number in range(200)]}})
    assert len(errors_of(wide, root)) == MOST_ERRORS


# ── validation of values ─────────────────────────────────────────────────────────────────────────


def refused(model: Model, config: str) -> NetconfError:
    element = etree.fromstring(f'<config xmlns:t="urn:example:t">{config}</config>')
    with pytest.raises(NetconfError) as caught:
        edit.parse(model, element, "merge")
    return caught.value


@pytest.mark.parametrize(
    ("leaf", "value", "app_tag", "message"),
    [
        ("limited", "11", "out-of-range", "from 1 to 10, or 20"),
        ("short", "long", "out-of-length", "one to three characters"),
        ("hex", "xyz", "not-hex", "100% hexadecimal"),
        ("i8", "x", None, 'i8: "x" is not an integer'),
    ],
)
def test_a_types_own_tag_and_message(wide: Model, leaf: str, value: str, app_tag: str | None, message: str) -> None:
    """C105."""
    error = refused(wide, f'<types xmlns="urn:example:u"><{leaf}>{value}</{leaf}></types>')
    assert (error.type, error.tag, error.app_tag) == ("application", "invalid-value", app_tag)
    assert (error.path, error.message) == (f"/u:types/{leaf}", message)


LINES = st.text(st.sampled_from("ab\n\r<&>'\" "), min_size=1, max_size=8)
ENTRIES = st.dictionaries(st.tuples(LINES, LINES), LINES, max_size=3)


@settings(deadline=None)
@given(ENTRIES, LINES, ENTRIES, st.sampled_from(["name", "key", "leaf", "leaf-list"]))
def test_an_error_in_a_value_has_the_path_of_its_node(
    wide: Model, before: dict[tuple[str, str], str], wrong: str, after: dict[tuple[str, str], str], where: str
) -> None:
    """Though libyang tells only lines, and values have any number of them."""

    def written(entries: dict[tuple[str, str], str]) -> str:
        return "".join(
            f"<pair><c>{text(value)}</c><b>{text(key[1])}</b><a>{text(key[0])}</a></pair><np/><tag>{text(value)}</tag>"
            for key, value in entries.items()
        )

    long = f"{wrong}{'x' * 64}\n"
    fault, path = {
        "name": (f"<name>{text(long)}</name>", "/t:top/name"),
        "key": (f"<item><w>1</w><id>{text(long)}</id></item>", f"/t:top/item[id={quoted(long)}]/id"),
        "leaf": ("<u:types xmlns:u='urn:example:u'/><low>1</low><mtu>67</mtu>", "/t:top/mtu"),
        "leaf-list": (f"<tag>{text(wrong)}</tag><high>\n7\n</high><name/>", "/t:top/name"),
    }[where]
    fault = fault.replace("<u:types xmlns:u='urn:example:u'/>", "")
    config = f'<top xmlns="urn:example:t">{written(before)}{fault}{written(after)}</top>'
    assert refused(wide, config).path == path


def text(value: str) -> str:
    return escape(value).replace("\r", "&#13;")


def quoted(value: str) -> str:
    if "'" in value and '"' in value:
        parts = [f"'{part}'" for part in value.split("'")]
        return "concat(" + ', "\'", '.join(parts) + ")"
    return f'"{value}"' if "'" in value else f"'{value}'"


def test_values_are_checked_without_the_rest_of_the_configuration(wide: Model) -> None:
    """8.3.1 only: what else a configuration must keep is for validate and commit."""
    config = etree.fromstring(
        '<config><constraints xmlns="urn:example:u"><few>1</few></constraints>'
        '<top xmlns="urn:example:t"><ref>none</ref><low>5</low><high>5</high><rule><id>1</id></rule></top></config>'
    )
    assert edit.apply(Node(wide.root), edit.parse(wide, config, "merge")).xml()
    assert wide.validator.check_values([b'<top xmlns="urn:example:t">', b"</top>"]) == {}
    assert wide.validator.check_values([]) == {}


def test_a_warning_is_no_error(tmp_path: Path) -> None:
    """What is unusual in a module is kept beside the errors that come later."""
    unusual = "container box { leaf v { type string; } must \"not(contains(., 'bad'))\"; }"
    a, broken = modules_in(tmp_path, a=unusual, b="container no { when 'v'; leaf v { type string; } }")
    model = load([a])

    found = errors_of(model, from_json(model.root, {"a:box": {"v": "bad"}}))

    assert found == [("operation-failed", "must-violation", "/a:box", ())]

    with pytest.raises(StartError, match=r"b\.yang: When condition"):
        load([a, broken])
