"""What a netconf-config-change names: the nodes that differ, and of very many the places and some of each list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.streams.changes import MOST_EDITS, config_change
from agent.tree import from_json

if TYPE_CHECKING:
    from agent.model.load import Model

ITEMS = {"item": [{"id": f"i{number}"} for number in range(1000)]}
NAMES = {"tag": [f"n{number}" for number in range(1000)]}


def named(model: Model, before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
    """Return target and operation of each edit."""
    old, new = (from_json(model.root, {"t:top": content} if content else {}) for content in (before, after))
    change = config_change(old, new, None)
    if change is None:
        return []
    (content,) = change.values()
    return [(edit["target"], edit["operation"]) for edit in content["edit"]]


@pytest.mark.parametrize(
    ("content", "there"),
    [
        ({"name": "x"}, ["/t:top/name"]),
        ({"np": {"d": "x", "deep": {"e": 1}}, "name": "x"}, ["/t:top/name", "/t:top/np/d", "/t:top/np/deep/e"]),
        ({"pres": {}}, ["/t:top/pres"]),
        ({"np": {}}, []),
        ({"item": [{"id": "a", "w": "x"}]}, ["/t:top/item[id='a']"]),
    ],
)
def test_a_container_comes_and_goes_with_what_it_holds(model: Model, content: dict[str, Any], there: list[str]) -> None:
    assert named(model, {}, content) == [(path, "create") for path in there]
    assert named(model, content, {}) == [(path, "delete") for path in there]


def test_an_entry_in_another_place_is_merged(model: Model) -> None:
    def rules(ids: str) -> dict[str, Any]:
        return {"rule": [{"id": each, "act": "x"} for each in ids]}

    assert named(model, rules("abcd"), rules("dabc")) == [("/t:top/rule[id='d']", "merge")]
    assert named(model, rules("ab"), rules("cba")) == [
        ("/t:top/rule[id='c']", "create"),
        ("/t:top/rule[id='b']", "merge"),
    ]


@pytest.mark.parametrize("before", [{}, {"name": "x"}, {"tag": ["other"]}])
def test_of_very_many_there_are_some_of_each_list(model: Model, before: dict[str, Any]) -> None:
    found = named(model, before, {**ITEMS, **NAMES})
    assert len(found) <= MOST_EDITS
    assert len(set(found)) == len(found)
    assert found[0] == ("/t:top", "replace" if before else "create")
    for start in ("/t:top/item[", "/t:top/tag["):
        assert sum(path.startswith(start) for path, _kind in found) == 64
