"""What is validated again: the verdict on a part is that on the whole, with the same errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent.datastore import Datastores
from agent.errors import NetconfError
from agent.model.load import load
from agent.model.reach import separable
from agent.recheck import Recheck
from agent.tree import Node, from_json
from tests.agent.recheck_bench import sharing, verdict

if TYPE_CHECKING:
    from agent.model.load import Model

MODULE = Path(__file__).parent / "modules" / "r.yang"

ids = st.sampled_from("abcd")
numbers = st.integers(1, 7)


def entries(**leafs: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    entry = st.fixed_dictionaries({"id": ids}, optional=leafs)
    return st.lists(entry, max_size=4, unique_by=lambda one: one["id"])


inner = st.lists(
    st.fixed_dictionaries({"n": numbers}, optional={"m": numbers}), max_size=3, unique_by=lambda one: one["n"]
)
contents = st.fixed_dictionaries(
    {},
    optional={
        "limit": numbers,
        "free": entries(low=numbers, high=numbers, kind=st.sampled_from("ab"), extra=ids, inner=inner),
        "only": entries(v=numbers, y=numbers, box=st.fixed_dictionaries({}, optional={"x": numbers})),
        "named": entries(note=st.sampled_from("xy")),
        "first": ids,
        "user": entries(of=st.one_of(ids, numbers.map(str))),
        "capped": entries(under=numbers),
        "watch": st.just({}),
        "few": entries(),
        "gated": st.fixed_dictionaries({"entry": entries()}),
        "left": entries(need=ids),
        "right": ids.map("/r:r/r:free[r:id='{}']".format),
    },
)


@pytest.fixture(scope="module")
def model() -> Model:
    return load([MODULE])


def tree(model: Model, content: dict[str, Any]) -> Node:
    content = {name: value for name, value in content.items() if value or value == {}}
    return from_json(model.root, {"r:r": content})


@given(
    before=contents, after=contents, mixed=st.sets(st.sampled_from(["free", "only", "named", "user", "capped", "left"]))
)
@settings(deadline=None)
def test_a_part_is_as_valid_as_the_whole(
    model: Model, before: dict[str, Any], after: dict[str, Any], mixed: set[str]
) -> None:
    valid = tree(model, before)
    assume(not verdict(model, valid))
    # Much of what was there stays, with entries of its own beside it.
    for name in mixed & before.keys():
        kept = [one for one in before[name] if one["id"] not in {other["id"] for other in after.get(name, [])}]
        after = {**after, name: [*kept, *after.get(name, [])]}
    assume(not ({"left", "right"} <= after.keys() and after["left"]))  # no edit makes nodes of two cases
    root = sharing(valid, tree(model, after))

    part = Recheck(model.root).part(valid, root)

    assert verdict(model, part) == verdict(model, root)


def test_lists_that_reach_no_further_than_their_entries(model: Model) -> None:
    found = {
        schema.name: sorted(node.name for node in referrers if node.module.name == "r")
        for schema, referrers in separable(model.root).items()
        if schema.module.name == "r"
    }

    assert found == {
        "free": ["right"],
        "inner": ["right"],
        "only": ["right"],
        "named": ["first", "of", "right", "watch"],
        "entry": ["right"],
        "left": ["right"],
    }


def entry_ids(root: Node, name: str) -> list[str]:
    container = root.find("r:r")
    assert container is not None
    schema = container.schema.member(name)
    assert schema is not None
    return [key for (key,) in container.entries(schema)]


def test_unchanged_entries_are_left_out(model: Model) -> None:
    many = [{"id": str(n), "low": n % 9} for n in range(1000)]
    before = tree(model, {"free": many})
    after = sharing(before, tree(model, {"free": [*many[:500], {"id": "500", "low": 77}, *many[501:]]}))

    assert entry_ids(Recheck(model.root).part(before, after), "free") == ["500"]
    assert entry_ids(Recheck(model.root).part(before, before), "free") == ["0"]


def test_an_entry_that_may_clash_is_not_left_out(model: Model) -> None:
    before = tree(model, {"only": [{"id": "a", "v": 1}, {"id": "b", "v": 2}]})
    after = sharing(before, tree(model, {"only": [{"id": "a", "v": 1}, {"id": "b", "v": 2}, {"id": "c", "v": 1}]}))

    assert entry_ids(Recheck(model.root).part(before, after), "only") == ["a", "c"]


def test_what_somebody_refers_to_is_not_left_out(model: Model) -> None:
    entries = [{"id": "a"}, {"id": "b"}]
    before = tree(model, {"named": entries, "first": "a"})
    after = sharing(before, tree(model, {"named": [*entries, {"id": "c"}], "first": "b"}))

    assert entry_ids(Recheck(model.root).part(before, after), "named") == ["a", "b", "c"]


def test_a_subtree_can_be_kept_whole(model: Model) -> None:
    entries = [{"id": "a"}, {"id": "b"}]
    before = tree(model, {"free": entries})
    after = sharing(before, tree(model, {"free": [*entries, {"id": "c"}]}))

    part = Recheck(model.root, [model.node("/r:r")]).part(before, after)

    assert entry_ids(part, "free") == ["a", "b", "c"]


def test_of_a_large_tree_the_datastores_look_at_what_is_not_known(model: Model) -> None:
    many = [{"id": str(number), "low": number % 9} for number in range(1000)]
    before, few = tree(model, {"free": many}), tree(model, {"free": many[:3]})
    after, wrong = (
        sharing(before, tree(model, {"free": [*many, {"id": "new", "low": low, "high": 5}]})) for low in (4, 6)
    )
    stores = Datastores(model, before, managed=[])
    assert stores.part(after) is after

    stores.managed(before)

    assert entry_ids(stores.part(after), "free") == ["new"]
    assert stores.part(few) is few
    stores.managed(after)
    with pytest.raises(NetconfError) as caught:
        stores.managed(wrong)
    assert caught.value.path == "/r:r/free[id='new']/low"
