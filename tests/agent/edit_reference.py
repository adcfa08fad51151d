"""edit-config on plain data, slow and plain enough to be seen to be right (RFC 6241 7.2, RFC 7950 7.x.8)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

# What the reference knows of module t: the kind of each node that it edits, and what is below it.
LEAF: dict[str, Any] = {"kind": "leaf"}
TOP: dict[str, Any] = {
    "name": LEAF,
    "np": {"kind": "container", "d": LEAF, "deep": {"kind": "container", "e": LEAF}},
    "pres": {"kind": "presence", "z": LEAF},
    "item": {"kind": "list", "keys": ["id"], "id": LEAF, "v": LEAF, "w": LEAF},
    "pair": {"kind": "list", "keys": ["a", "b"], "a": LEAF, "b": LEAF, "c": LEAF},
    "rule": {"kind": "list", "keys": ["id"], "user": True, "id": LEAF, "act": LEAF},
    "ord": {"kind": "leaf-list", "user": True},
    "tag": {"kind": "leaf-list"},
    "a1": LEAF,
    "a2": LEAF,
    "b1": LEAF,
    "bc": {"kind": "container", "b2": LEAF},
    "i1": LEAF,
    "i2": LEAF,
    "o1x": LEAF,
    "o2x": LEAF,
}
SCHEMA = {"top": {"kind": "container", **TOP}}
CASES = {
    "a1": {"mode": "a"},
    "a2": {"mode": "a"},
    "b1": {"mode": "b"},
    "bc": {"mode": "b"},
    "i1": {"outer": "o1", "in": "i1"},
    "i2": {"outer": "o1", "in": "i2"},
    "o1x": {"outer": "o1"},
    "o2x": {"outer": "o2"},
}
VALUES = {"v": ["1", "2"], "e": ["-1", "3"], "ord": ["p", "q", "r", "s"]}
TEXTS = ["x", "y", "it's <b>\r\n"]

Operation = Literal["merge", "replace", "create", "delete", "remove"]
OPERATIONS: list[Operation] = ["merge", "replace", "create", "delete", "remove"]


@dataclass(frozen=True)
class Asked:
    """An element of an edit: ``value`` of a leaf, ``keys`` of an entry; ``place`` is (insert, key of the anchor)."""

    name: str
    operation: Operation | None
    value: str = ""
    keys: tuple[str, ...] = ()
    place: tuple[str, tuple[str, ...]] | None = None
    children: tuple[Asked, ...] = ()


class RefusedError(Exception):
    """The reference refuses an edit: which error-tag, at which path."""


def expected(data: dict[str, Any], asked: tuple[Asked, ...], default: str) -> dict[str, Any]:
    """Return what data becomes by an edit."""
    refuse_two_cases(asked, default)
    result = copy.deepcopy(data)
    change(result, asked, SCHEMA, default, "")
    return result


def refuse_two_cases(asked: tuple[Asked, ...], inherited: str) -> None:
    chosen: dict[str, str] = {}
    for one in asked:
        operation = one.operation or inherited
        if operation in {"delete", "remove"}:
            continue
        # Depth first, as errors are found: what is below comes before what is said of the node itself.
        refuse_two_cases(one.children, "none" if operation == "none" else "merge")
        if operation == "none":
            continue
        for choice, case in CASES.get(one.name, {}).items():
            if chosen.setdefault(choice, case) != case:
                raise RefusedError("bad-element", None)


def change(data: dict[str, Any], asked: tuple[Asked, ...], schema: dict[str, Any], inherited: str, path: str) -> None:
    for one in asked:
        below = schema[one.name]
        operation = one.operation or inherited
        here = f"{path}/{'t:' if not path else ''}{one.name}{predicates(one, below)}"
        found = instance(data, one, below)
        if operation == "create" and found is not None:
            raise RefusedError("data-exists", here)
        if operation in {"delete", "none"} and found is None:
            raise RefusedError("data-missing", here)
        if operation in {"delete", "remove"}:
            if found is not None:
                take_out(data, one, below)
            continue
        new = changed(found, one, below, operation, here)
        if below["kind"] == "container" and not new:
            take_out(data, one, below)
            continue
        put_in(data, one, below, new, None if operation == "none" else one.place, here)
        for other in list(data):
            if any(CASES.get(one.name, {}).get(choice, case) != case for choice, case in CASES.get(other, {}).items()):
                del data[other]


def changed(found: Any, one: Asked, schema: dict[str, Any], operation: str, path: str) -> Any:
    if schema["kind"] in {"leaf", "leaf-list"}:
        return found if operation == "none" else one.value
    new = {} if found is None or operation == "replace" else found
    new |= dict(zip(schema.get("keys", ()), one.keys, strict=True))
    change(new, one.children, schema, "none" if operation == "none" else "merge", path)
    return new


def predicates(one: Asked, schema: dict[str, Any]) -> str:
    if schema["kind"] == "list":
        return "".join(f"[{key}={literal(value)}]" for key, value in zip(schema["keys"], one.keys, strict=True))
    return f"[.={literal(one.value)}]" if schema["kind"] == "leaf-list" else ""


def instance(data: dict[str, Any], one: Asked, schema: dict[str, Any]) -> Any:
    if schema["kind"] not in {"list", "leaf-list"}:
        return data.get(one.name)
    return next((entry for entry in data.get(one.name, []) if key_of(entry, schema) == wanted(one, schema)), None)


def key_of(entry: Any, schema: dict[str, Any]) -> tuple[str, ...]:
    return (entry,) if schema["kind"] == "leaf-list" else tuple(entry[key] for key in schema["keys"])


def wanted(one: Asked, schema: dict[str, Any]) -> tuple[str, ...]:
    return (one.value,) if schema["kind"] == "leaf-list" else one.keys


def take_out(data: dict[str, Any], one: Asked, schema: dict[str, Any]) -> None:
    if schema["kind"] in {"list", "leaf-list"}:
        data[one.name] = [entry for entry in data[one.name] if key_of(entry, schema) != wanted(one, schema)]
        if data[one.name]:
            return
    data.pop(one.name, None)


def put_in(
    data: dict[str, Any],
    one: Asked,
    schema: dict[str, Any],
    new: Any,
    place: tuple[str, tuple[str, ...]] | None,
    path: str,
) -> None:
    if schema["kind"] not in {"list", "leaf-list"}:
        data[one.name] = new
        return
    entries = data.setdefault(one.name, [])
    keys = [key_of(entry, schema) for entry in entries]
    own = wanted(one, schema)
    insert, anchor = place or ("", ())
    if insert in {"before", "after"} and anchor not in keys:
        raise RefusedError("bad-attribute", path)
    if own in keys and (place is None or anchor == own):
        entries[keys.index(own)] = new
        return
    if own in keys:
        del entries[keys.index(own)]
        keys.remove(own)
    at = {"first": 0, "before": keys.index(anchor) if anchor in keys else 0}.get(insert, len(keys))
    entries.insert(keys.index(anchor) + 1 if insert == "after" else at, new)


def literal(value: str) -> str:
    return f'"{value}"' if "'" in value else f"'{value}'"
