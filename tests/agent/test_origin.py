"""Origins of configuration in use: where they come from, how they are written, and filters by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent import origin
from agent.defaults import in_use
from agent.tree import Node, from_json, merge

if TYPE_CHECKING:
    from agent.model.load import Model

T = "urn:example:t"


def tree(model: Model, data: dict[str, Any]) -> Node:
    return from_json(model.root, {"t:top": data})


def written(root: Node) -> str:
    return origin.xml(root).decode().replace(f' xmlns="{T}"', "")


def used(model: Model, meant: dict[str, Any], found: dict[str, Any]) -> Node:
    """Return ``top`` as a machine has it in use that was told what is ``meant``, defaults left out."""
    wanted = tree(model, meant)
    top = tree(model, found).find("t:top")
    assert top is not None
    return origin.replaced(wanted, ["t:top"], origin.attributed(top, wanted.find("t:top")))


def test_defaults_in_use_have_their_origin_and_are_written_where_it_differs(model: Model) -> None:
    found = in_use(tree(model, {"name": "n", "item": [{"id": "a"}]}), None).find("t:top")
    assert found is not None
    assert origin.xml(found).decode() == (
        f'<top xmlns="{T}" or:origin="or:intended"><name>n</name><mtu or:origin="or:default">1500</mtu>'
        '<np or:origin="or:default"><d>x</d><deep><e>0</e></deep></np><item><id>a</id></item></top>'
    )


def test_what_is_not_configured_at_all_is_a_default_from_the_top(model: Model) -> None:
    found = in_use(Node(model.root), None).find("t:top")
    assert found is not None
    assert origin.xml(found).startswith(f'<top xmlns="{T}" or:origin="or:default"><mtu>'.encode())


@pytest.mark.parametrize(
    ("meant", "found", "xml"),
    [
        ({"name": "n"}, {"name": "n"}, "<name>n</name>"),
        ({"name": "n"}, {"name": "m"}, '<name or:origin="or:system">m</name>'),
        ({"name": "n"}, {"mtu": 9}, '<mtu or:origin="or:system">9</mtu>'),
        ({"item": [{"id": "a", "v": 1}]}, {"item": [{"id": "a"}]}, "<item><id>a</id></item>"),
        (
            {"item": [{"id": "a"}]},
            {"item": [{"id": "a", "v": 2}, {"id": "b", "v": 3}]},
            (
                '<item><id>a</id><v or:origin="or:system">2</v></item>'
                '<item or:origin="or:system"><id>b</id><v>3</v></item>'
            ),
        ),
        ({}, {"np": {"d": "y"}}, '<np or:origin="or:system"><d>y</d></np>'),
        ({"name": "n"}, {"name": "n", "state": {"up": True}}, "<name>n</name><state><up>true</up></state>"),
    ],
)
def test_what_is_as_meant_is_intended_and_all_else_the_systems(
    model: Model, meant: dict[str, Any], found: dict[str, Any], xml: str
) -> None:
    assert written(used(model, meant, found)) == f'<top or:origin="or:intended">{xml}</top>'


def test_without_origins_the_xml_is_the_same_as_ever(model: Model) -> None:
    found = used(model, {"name": "n"}, {"name": "m"})
    assert found.xml() == tree(model, {"name": "m"}).xml()
    origin.xml(found)
    assert found.xml() == tree(model, {"name": "m"}).xml()


def test_what_only_the_system_has_is_marked_when_trees_are_merged(model: Model) -> None:
    configured = tree(model, {"item": [{"id": "a"}]})
    state = tree(model, {"item": [{"id": "a"}, {"id": "b"}], "state": {"up": True}})
    merged = merge(configured, state, origin=origin.SYSTEM)
    assert written(merged) == (
        '<top or:origin="or:intended"><item><id>a</id></item><item or:origin="or:system"><id>b</id></item>'
        "<state><up>true</up></state></top>"
    )
    assert merged.xml() == merge(configured, state).xml()


@pytest.mark.parametrize(
    ("wanted", "xml"),
    [
        ({"system"}, "<item><id>a</id><v>2</v></item><item><id>b</id></item>"),
        ({"intended"}, "<name>n</name><pres></pres><item><id>a</id></item>"),
        ({None}, "<state><up>true</up></state>"),
        (set(), None),
    ],
)
def test_filters_keep_ancestors_and_keys(model: Model, wanted: set[str | None], xml: str | None) -> None:
    meant = {"name": "n", "item": [{"id": "a", "v": 1}], "pres": {}}
    found = {
        "name": "n",
        "pres": {},
        "item": [{"id": "a", "v": 2}, {"id": "b"}],
        "state": {"up": True},
    }
    top = used(model, meant, found).find("t:top")
    assert top is not None
    kept = origin.narrowed(top, lambda of: of in wanted)
    assert (None if kept is None else kept.xml().decode()) == (xml and f'<top xmlns="{T}">{xml}</top>')
