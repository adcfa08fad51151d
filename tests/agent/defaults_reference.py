"""with-defaults on plain data, slow and plain enough to be seen to be right (RFC 6243 2 and 3, RFC 7950 7.5 to 7.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    When = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class Value:
    """A leaf's value as it is reported; ``default``: nobody has set it."""

    text: str
    default: bool = False


def leaf(default: str | None = None, *values: str, when: When | None = None) -> dict[str, Any]:
    """Describe a leaf; ``values`` are those that tests give it besides its default."""
    return {
        "kind": "leaf",
        "default": default,
        "values": [v for v in (default, *values) if v is not None],
        "when": when,
    }


def leaf_list(*defaults: str, values: tuple[str, ...]) -> dict[str, Any]:
    return {"kind": "leaf-list", "default": list(defaults), "values": list(values), "when": None}


def node(kind: str, below: dict[str, Any], when: When | None = None, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "below": below, "when": when, **more}


def choice(default: str | None, **cases: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "choice", "default": default, "cases": cases}


def on(data: dict[str, Any]) -> bool:
    return bool(data.get("mode", "off") == "on")


INNER = choice("i1", i1={"i1": leaf("1", "6")}, i2={"i2": leaf("2", "6"), "i2x": leaf(None, "s")})
WITHIN = choice("j2", i1x={"i1x": leaf(None, "s")}, j2={"j2": leaf("2", "6")})
# What the reference knows of module d.
ALL: dict[str, Any] = {
    "plain": leaf("7", "8"),
    "bare": leaf(None, "s"),
    "typed": leaf("3", "4"),
    "mode": leaf("off", "on", "on", "on"),
    "kind": leaf("t:k1"),
    "broken": leaf(None, "s"),
    "conditional": leaf("5", "6", when=on),
    "many": leaf_list("2", "1", values=("1", "2", "9")),
    "some": leaf_list("3", values=("3", "4")),
    "several": {**leaf_list("b", "a", values=("a", "b", "c")), "system": True},
    "np": node(
        "container",
        {
            "d": leaf("x", "y"),
            "deep": node("container", {"e": leaf("0", "-1")}),
            "hollow": node("container", {"s": leaf(None, "s")}),
        },
    ),
    "guarded": node("container", {"f": leaf("1", "2"), "g": leaf(None, "s")}, on),
    "pres": node(
        "presence",
        {
            "z": leaf("z", "y"),
            "needed": {**leaf(None, "3", "4"), "mandatory": True},
            "least": {**leaf_list(values=("3", "4")), "mandatory": True},
        },
    ),
    "c": choice(
        "a",
        a={
            "a1": leaf("1", "2"),
            "a2": leaf(None, "s"),
            "a4": leaf("4", "5", when=on),
            "ac": node("container", {"a3": leaf("3", "4")}),
        },
        b={"b1": leaf("1", "2"), "b2": leaf(None, "s"), "bc": node("container", {"b3": leaf("3", "4")})},
    ),
    "outer": choice("o1", o1={"in": INNER, "o1x": leaf("x", "y")}, o2={"o2": leaf(None, "s")}),
    "other": choice(None, p={"within": WITHIN, "px": leaf(None, "s")}, q={"q": leaf("9", "8")}),
    "entry": node(
        "list",
        {
            "id": leaf(None, "3", "4", "5"),
            "v": leaf("1", "2"),
            "on": leaf(None, "true", "false"),
            "w": leaf("2", "3", when=lambda data: data.get("on") == "true"),
            "c": node("container", {"x": leaf("x", "y")}),
        },
        keys=["id"],
    ),
    "keyed": node(
        "list",
        {
            "kind": leaf(None, "t:k1"),
            "truth": leaf(None, "true", "false"),
            "cents": leaf(None, "1.0", "-0.25"),
            "w": leaf("2", "3", when=lambda data: data["truth"] == "true"),
        },
        keys=["kind", "truth", "cents"],
    ),
}
SCHEMA = {"all": node("container", ALL)}


def expected(data: dict[str, Any], mode: str) -> dict[str, Any]:
    """Return what is reported of a configuration in a mode: leafs as Value, a leaf-list's as a list of them."""
    found: dict[str, Any]
    if mode == "explicit":
        found = explicit(data)
        return found
    if mode == "trim":
        return trimmed(data, SCHEMA)
    valid = "broken" not in data.get("all", {})
    found = completed(data, SCHEMA, valid=valid)
    return found if mode == "report-all-tagged" else untagged(found)


def explicit(data: Any) -> Any:
    """RFC 6243 2.3 and 3.3: what was set, be it to the default."""
    if isinstance(data, dict):
        return {name: explicit(value) for name, value in data.items()}
    return [explicit(entry) for entry in data] if isinstance(data, list) else Value(data)


def trimmed(data: dict[str, Any], schema: dict[str, Any], keys: tuple[str, ...] = ()) -> dict[str, Any]:
    """RFC 6243 2.2 and 3.2: nothing that has its schema default. A key's is ignored (RFC 7950 7.8.2)."""
    found: dict[str, Any] = {}
    known = flat(schema)
    for name, value in data.items():
        below = known[name]
        if below["kind"] in {"leaf", "leaf-list"}:
            same = sorted(value) == sorted(below["default"]) if below.get("system") else value == below["default"]
            if name in keys or not same:
                found[name] = explicit(value)
        elif below["kind"] == "list":
            found[name] = [trimmed(entry, below["below"], tuple(below["keys"])) for entry in value]
        elif (rest := trimmed(value, below["below"])) or below["kind"] == "presence":
            found[name] = rest
    return found


def completed(data: dict[str, Any], schema: dict[str, Any], *, valid: bool) -> dict[str, Any]:
    """RFC 6243 2.1 and 3.1: what was set, and each default in use (RFC 7950 7.6.1, 7.7.2).

    The closest ancestor that is no container without presence is there (else nobody comes here); where that is a case,
    it is the one that is chosen, or the default and no other is (7.9.3); no ``when`` is false. Of a configuration that
    is not ``valid`` no condition is known to be true.
    """
    found: dict[str, Any] = {}
    for name, below in schema.items():
        if below["kind"] == "choice":
            there = [case for case, nodes in below["cases"].items() if any(one in data for one in flat(nodes))]
            chosen = there[0] if there else below["default"]
            found |= completed(data, below["cases"].get(chosen, {}), valid=valid)
        elif name in data:
            found[name] = completed_one(data[name], below, valid=valid)
        elif below["when"] is None or (valid and below["when"](data)):
            if below["kind"] == "leaf" and below["default"] is not None:
                found[name] = Value(below["default"], default=True)
            elif below["kind"] == "leaf-list" and below["default"]:
                found[name] = [Value(text, default=True) for text in below["default"]]
            elif below["kind"] == "container" and (rest := completed({}, below["below"], valid=valid)):
                found[name] = rest
    return found


def completed_one(data: Any, schema: dict[str, Any], *, valid: bool) -> Any:
    if schema["kind"] in {"leaf", "leaf-list"}:
        return explicit(data)
    if schema["kind"] == "list":
        return [completed(entry, schema["below"], valid=valid) for entry in data]
    return completed(data, schema["below"], valid=valid)


def untagged(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: untagged(value) for name, value in found.items()}
    return [untagged(entry) for entry in found] if isinstance(found, list) else Value(found.text)


def flat(schema: dict[str, Any]) -> dict[str, Any]:
    """Return data nodes by name, those in cases too."""
    found: dict[str, Any] = {}
    for name, below in schema.items():
        if below["kind"] == "choice":
            for nodes in below["cases"].values():
                found |= flat(nodes)
        else:
            found[name] = below
    return found
