"""The schema tree of the modules that are served."""

import pytest

from agent.model.load import STANDARD, Model, load
from tests.agent.conftest import MODULES

# ── loading ──────────────────────────────────────────────────────────────────────────────────────


def test_modules_are_known_by_name_and_by_namespace(model: Model) -> None:
    t = model.modules["t"]
    assert (t.revision, t.namespace, t.prefix, t.yang_version) == ("2026-11-30", "urn:example:t", "t", "1.1")
    assert (t.implemented, t.belongs_to, t.submodules, t.features) == (True, None, (), ())
    assert t.text == (MODULES / "t.yang").read_text(encoding="utf-8")
    assert model.by_namespace["urn:example:t"] is t
    assert all(model.modules[name].implemented for name in STANDARD)
    assert not model.modules["ietf-yang-types"].implemented
    assert model.modules["ietf-netconf"].features == (
        "candidate",
        "confirmed-commit",
        "rollback-on-error",
        "validate",
        "xpath",
    )


def test_the_schema_of_t(model: Model) -> None:
    top = model.node("/t:top")
    kinds = {name: model.node(f"/t:top/{name}").kind for name in ("name", "np", "item", "ord", "state")}
    assert kinds == {"name": "leaf", "np": "container", "item": "list", "ord": "leaf-list", "state": "container"}
    pair, rule, log = (model.node(path) for path in ("/t:top/pair", "/t:top/rule", "/t:top/state/log"))
    assert [key.name for key in pair.keys] == ["a", "b"]
    assert (pair.user_ordered, rule.user_ordered, log.user_ordered, log.keys) == (False, True, True, ())
    assert (top.config, model.node("/t:top/state").config, log.config) == (True, False, False)
    assert (top.presence, model.node("/t:top/pres").presence) == (False, True)
    assert (model.node("/t:top/rule/act").mandatory, top.mandatory) == (True, False)
    assert (model.node("/t:top/mtu").defaults, model.node("/t:top/name").defaults) == (("1500",), ())
    assert (model.node("/t:ping").kind, model.node("/t:ping/input/host").mandatory) == ("rpc", True)
    assert model.node("/t:ev").kind == "notification"
    assert [node.name for node in model.node("/t:top/np").walk()] == ["np", "d", "deep", "e"]
    assert model.node("/t:top/i1").cases == (("t:outer", "t:o1"), ("t:in", "t:i1"))
    assert (pair.path, pair.qualified, top.qualified) == ("/t:top/pair", "pair", "t:top")


def test_the_schema_of_what_u_adds(wide: Model) -> None:
    name, case = wide.node("/t:top/u:name"), wide.node("/t:top/u:a3")
    assert (name.qualified, name.open_tag) == ("u:name", b'<name xmlns="urn:example:u">')
    assert case.cases == (("t:mode", "u:a"),)
    assert wide.node("/u:types/order").defaults == ("2", "1")
    reference, hexadecimal = wide.node("/u:types/reference").type, wide.node("/u:types/hex").type
    assert reference is not None
    assert hexadecimal is not None
    assert (reference.base, hexadecimal.base) == ("int8", "string")


@pytest.mark.parametrize("path", ["/t:none", "/t:top/none", "/top", "/t:top/u:name", "/t:top/name/x"])
def test_a_path_that_leads_nowhere(model: Model, path: str) -> None:
    with pytest.raises(KeyError):
        model.node(path)


def test_access_annotations_are_kept() -> None:
    """RFC 8341 3.7."""
    denied = {node.path: node.deny for node in load().root.walk() if node.deny is not None}
    device = "/hardware-acceleration:acceleration/qat/device"
    assert (denied[f"{device}/section"], denied[f"{device}/flows"]) == ("write", "all")
    assert device not in denied
