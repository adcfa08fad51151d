"""What an edit makes impossible goes, and what never was possible is refused (RFC 7950 8.3.1, 8.3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.conditions import settle
from agent.errors import NetconfError
from agent.model.load import load
from agent.recheck import Recheck
from agent.tree import Node, from_json
from tests.agent.recheck_bench import sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.model.load import Model

MODULE = """module w {
  yang-version 1.1; namespace "urn:example:w"; prefix w;
  container w {
    leaf on { type boolean; }
    container box {
      when "../on = 'true'";
      leaf deep { type empty; }
      leaf other { when "../deep"; type string; }
    }
    leaf last { when "../box/other"; type string; }
    list entry {
      key id;
      leaf id { type string; }
      leaf kind { type string; }
      leaf extra { when "../kind = 'a'"; type string; }
      leaf-list tag { when "../kind = 'a'"; type string; }
    }
  }
}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    file = tmp_path_factory.mktemp("modules") / "w.yang"
    file.write_text(MODULE)
    return load([file])


@pytest.fixture(params=["whole", "part"])
def settled(request: pytest.FixtureRequest, model: Model) -> Callable[[Node, Node], Node]:
    """Return settle, with all of a tree or no more than is needed to be looked at."""
    recheck = Recheck(model.root)

    def settled(before: Node, after: Node) -> Node:
        whole = request.param == "whole"
        return settle(model, before, after, lambda root: root if whole else recheck.part(before, root))

    return settled


def tree(model: Model, **content: Any) -> Node:
    return from_json(model.root, {"w:w": content})


def entry(name: str, kind: str = "a", **leafs: Any) -> dict[str, Any]:
    return {"id": name, "kind": kind, **leafs}


FULL: dict[str, Any] = {"extra": "x", "tag": ["s", "t"]}


def test_what_an_edit_makes_impossible_goes(model: Model, settled: Callable[[Node, Node], Node]) -> None:
    before = tree(model, entry=[entry("1", **FULL), entry("2", **FULL), entry("3", **FULL)])
    after = sharing(before, tree(model, entry=[entry("1", **FULL), entry("2", "b", **FULL), entry("3", **FULL)]))

    found = settled(before, after)

    assert found.xml() == tree(model, entry=[entry("1", **FULL), entry("2", "b"), entry("3", **FULL)]).xml()


def test_what_is_below_it_goes_with_it(model: Model, settled: Callable[[Node, Node], Node]) -> None:
    before = tree(model, on=True, box={"deep": [None], "other": "x"}, entry=[entry("1")])
    after = sharing(before, tree(model, on=False, box={"deep": [None], "other": "x"}, entry=[entry("1")]))

    assert settled(before, after).xml() == tree(model, on=False, entry=[entry("1")]).xml()


def test_one_may_depend_on_another(model: Model, settled: Callable[[Node, Node], Node]) -> None:
    before = tree(model, on=True, box={"deep": [None], "other": "x"}, last="z")
    after = sharing(before, tree(model, on=True, box={"other": "x"}, last="z"))

    assert settled(before, after).xml() == tree(model, on=True, box={}).xml()


def test_what_never_was_possible_is_refused(model: Model, settled: Callable[[Node, Node], Node]) -> None:
    before = tree(model, entry=[entry("1", **FULL), entry("2", "b")])
    after = sharing(before, tree(model, entry=[entry("1", **FULL), entry("2", "b", extra="x")]))

    with pytest.raises(NetconfError) as caught:
        settled(before, after)

    assert (caught.value.tag, caught.value.path) == ("unknown-element", "/w:w/entry[id='2']/extra")


def test_a_tree_without_fault_stays_the_very_same(model: Model, settled: Callable[[Node, Node], Node]) -> None:
    before = tree(model, entry=[entry("1", **FULL)])
    after = sharing(before, tree(model, entry=[entry("1", **FULL), entry("2", "b")]))

    assert settled(before, after) is after


def test_a_value_of_another_type_is_for_validation_to_refuse(
    model: Model, settled: Callable[[Node, Node], Node]
) -> None:
    after = tree(model, on="perhaps", box={"deep": [None]})

    assert settled(tree(model), after) is after


def test_only_what_has_changed_is_looked_at(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(number) for number in range(100)]
    before = tree(model, entry=[entry(name, extra="x") for name in names])
    after = sharing(before, tree(model, entry=[entry(name, "b" if name == "50" else "a", extra="x") for name in names]))
    impossible = model.validator.impossible
    asked = []

    def noting(config: bytes, paths: Sequence[str]) -> set[str]:
        asked.append(paths)
        return impossible(config, paths)

    monkeypatch.setattr(model.validator, "impossible", noting)
    found = settle(model, before, after, lambda root: Recheck(model.root).part(before, root))

    assert asked[0] == ["/w:w/entry[id='50']/extra"]
    assert len(before.xml()) - len(found.xml()) == len("<extra>x</extra>")
