"""Constraints that look far, by ways that are not easily seen: no entry that one of them looks at is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.model.load import load
from agent.recheck import Recheck
from agent.tree import from_json
from tests.agent.recheck_bench import sharing, verdict

if TYPE_CHECKING:
    from agent.model.load import Model

ENTRY = "key id; leaf id { type string; } leaf v { type string; }"
BAD = [{"id": "a", "v": "x"}, {"id": "b", "v": "bad"}]
MORE = [*BAD, {"id": "c", "v": "y"}]
UNION = "type union { type leafref { path '../x'; require-instance false; } type string; }"
DECIMAL = "type decimal64 { fraction-digits 2; }"
DEEP = [{"id": "a", "c": {"v": 1}}]

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    # The text of a node that holds the list, by a step to itself, by the root, by a function without argument.
    "by-dot": (f"""list d {{ {ENTRY} }} leaf w {{ type string; must "not(contains(/s:by-dot/., 'bad'))"; }}""",
        {"d": BAD}, {"d": MORE, "w": ""}),
    "by-root": (f"""list o {{ {ENTRY} }} leaf w {{ type string; must "not(contains(/, 'bad'))"; }}""",
        {"o": BAD}, {"o": MORE, "w": ""}),
    "by-root-dot": (f"""list p {{ {ENTRY} }} leaf w {{ type string; must "not(contains(/., 'bad'))"; }}""",
        {"p": BAD}, {"p": MORE, "w": ""}),
    "by-function": (
        f"""presence p; must "not(on) or not(contains(normalize-space ( ), 'bad'))"; leaf on {{ type empty; }}
        list f {{ {ENTRY} }}""",
        {"f": BAD}, {"f": MORE, "on": [None]}),
    # Further up than the last path in brackets leads.
    "by-union": (
        """leaf most { type uint8; } list u { key id; leaf id { type string; }
        container c { leaf v { type uint8; must "not((../.. | .)/../most > 5)"; } } }""",
        {"most": 1, "u": DEEP}, {"most": 9, "u": [*DEEP, {"id": "b"}]}),
    "by-node-type": (
        """leaf most { type uint8; } list n { key id; leaf id { type string; }
        container c { leaf v { type uint8; must "not(../../node()/../../most > 5)"; } } }""",
        {"most": 1, "n": DEEP}, {"most": 9, "n": [*DEEP, {"id": "b"}]}),
    # What is not there, and would have to be.
    "missing-leaf": (
        f"""list ml {{ {ENTRY} }} leaf m {{ when "count(../ml) > 2"; mandatory true; type string; }}""",
        {"ml": BAD}, {"ml": MORE}),
    "missing-leaf-list": (
        f"""list mll {{ {ENTRY} }} leaf-list m {{ when "count(../mll) > 2"; min-elements 1; type string; }}""",
        {"mll": BAD}, {"mll": MORE}),
    "missing-choice": (
        f"""list mc {{ {ENTRY} }} choice c {{ when "count(mc) > 2"; mandatory true; leaf m {{ type string; }}
        leaf n {{ type string; }} }}""",
        {"mc": BAD}, {"mc": MORE}),
    # Entries that clash: by a leaf that only the schema's names tell from another, and written in different ways.
    "same-names": (
        """list sn { key id; unique ch/x/x/v; leaf id { type string; } choice ch { case x { container x {
        leaf v { type string; } container x { leaf v { type string; } } } } } }""",
        {"sn": [{"id": "a", "x": {"v": "1", "x": {"v": "1"}}}]},
        {"sn": [{"id": "a", "x": {"v": "1", "x": {"v": "1"}}}, {"id": "b", "x": {"v": "1", "x": {"v": "2"}}}]}),
    "key-by-reference": (
        f"list kr {{ key id; leaf id {{ {UNION} }} leaf x {{ {DECIMAL} }} }}",
        {"kr": [{"id": "1.5"}]}, {"kr": [{"id": "1.5"}, {"id": "1.50"}]}),
    "unique-by-reference": (
        f"list ur {{ key id; unique v; leaf id {{ type string; }} leaf v {{ {UNION} }} leaf x {{ {DECIMAL} }} }}",
        {"ur": [{"id": "a", "v": "1.5"}]}, {"ur": [{"id": "a", "v": "1.5"}, {"id": "b", "v": "1.50"}]}),
    "unique-decimal": (
        f"""list ud {{ key id; unique v; leaf id {{ type string; }} leaf v {{ type union {{ {DECIMAL} type string; }} }}
        }}""",
        {"ud": [{"id": "a", "v": "-0.5"}]}, {"ud": [{"id": "a", "v": "-0.5"}, {"id": "b", "v": "-.5"}]}),
    "unique-address": (
        """list ua { key id; unique v; leaf id { type string; } leaf v { type union { type inet:ipv6-address;
        type string; } } }""",
        {"ua": [{"id": "a", "v": "::1%"}]}, {"ua": [{"id": "a", "v": "::1%"}, {"id": "b", "v": "0::1%"}]}),
    "key-expression": (
        "list ke { key id; leaf id { type yang:xpath1.0; } }",
        {"ke": [{"id": "/s:by-dot"}]}, {"ke": [{"id": "/s:by-dot"}, {"id": "/ s:by-dot"}]}),
    # A condition of a case that is not written stands at the augment that brings the node in it.
    "by-case": (f"list bc {{ {ENTRY} }} choice c {{ leaf m {{ type string; }} }}",
        {"bc": MORE, "sb:added": ""}, {"bc": [*MORE, {"id": "d"}], "sb:added": ""}),
}  # fmt: skip

HEAD = 'module {0} {{ yang-version 1.1; namespace "urn:example:{0}"; prefix {0}; '
MODULES = {
    "s": "import ietf-inet-types { prefix inet; } import ietf-yang-types { prefix yang; }"
    + "".join(f"container {name} {{ {body} }}" for name, (body, _before, _after) in CASES.items()),
    "sa": 'import s { prefix s; } augment /s:by-case/s:c { when "count(s:bc) < 4"; leaf brought { type string; } }',
    "sb": """import s { prefix s; } import sa { prefix sa; }
        augment /s:by-case/s:c/sa:brought { leaf added { type string; } }""",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("modules")
    for name, text in MODULES.items():
        (folder / f"{name}.yang").write_text(HEAD.format(name) + text + "}")
    return load(sorted(folder.iterdir()))


@pytest.mark.parametrize("name", CASES)
def test_what_is_looked_at_is_not_left_out(model: Model, name: str) -> None:
    _body, *data = CASES[name]
    before, after = (from_json(model.root, {f"s:{name}": content}) for content in data)
    assert not verdict(model, before)
    root = sharing(before, after)
    assert verdict(model, root)

    part = Recheck(model.root).part(before, root)

    assert verdict(model, part) == verdict(model, root)


def test_a_leaf_that_no_feature_brings_is_not_unique(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("modules") / "f.yang"
    body = 'feature f; list l { key id; unique "v w"; leaf id { type string; } leaf v { type string; } '
    file.write_text(HEAD.format("f") + body + 'leaf w { if-feature "not f"; type string; } } }')
    schema = load([file]).node("/f:l")

    assert [[[node.name for node in path] for path in leafs] for leafs in schema.unique] == [[["v"]]]
