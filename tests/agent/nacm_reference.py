"""Access control as RFC 8341 sections 3.4.4 and 3.4.5 tell it, step by step, on plain data of module t."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.agent.edit_reference import CASES, SCHEMA, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Steps = tuple[tuple[str, tuple[str, ...] | None], ...]
"""A way from the top level: names, each with an entry's key."""

DENY = {("top", "np"): "all", ("top", "pair"): "write", ("top", "rule", "act"): "all"}
"""What the tests make of module t: nodes with a default-deny extension."""
UNNAMED_DENIED = {"kill-session", "delete-config"}


@dataclass(frozen=True)
class Rule:
    module: str
    kind: str
    target: str
    steps: Steps
    operations: frozenset[str] | None
    permit: bool


@dataclass(frozen=True)
class RuleList:
    groups: frozenset[str]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Control:
    """The configuration of access control; ``groups`` are configured ones with their users."""

    enabled: bool = True
    read_default: bool = True
    write_default: bool = False
    exec_default: bool = True
    external: bool = True
    groups: dict[str, frozenset[str]] = field(default_factory=dict)
    lists: tuple[RuleList, ...] = ()


@dataclass(frozen=True)
class User:
    name: str
    groups: frozenset[str]


def may_execute(control: Control, user: User, module: str, name: str, *, denied: bool = False) -> bool:
    """Answer 3.4.4; ``denied``: the rpc has a default-deny-all extension."""
    if not control.enabled or name == "close-session":
        return True
    for rule in rules_for(control, user):
        if (
            rule.module in {"*", module}
            and (rule.kind == "any" or (rule.kind == "rpc" and rule.target in {"*", name}))
            and (rule.operations is None or "exec" in rule.operations)
        ):
            return rule.permit
    return not denied and name not in UNNAMED_DENIED and control.exec_default


def may_access(control: Control, user: User, operation: str, steps: Steps) -> bool:
    """Answer 3.4.5 for one data node of module t, but for what is above it."""
    if not control.enabled:
        return True
    for rule in rules_for(control, user):
        if (
            rule.module in {"*", "t"}
            and (rule.kind == "any" or (rule.kind == "path" and covers(rule.steps, steps, user)))
            and (rule.operations is None or operation in rule.operations)
        ):
            return rule.permit
    names = tuple(name for name, _key in steps)
    extensions = {DENY.get(names[:end]) for end in range(1, len(names) + 1)}
    if "all" in extensions or ("write" in extensions and operation != "read"):
        return False
    return control.read_default if operation == "read" else control.write_default


def rules_for(control: Control, user: User) -> Iterator[Rule]:
    groups = {name for name, users in control.groups.items() if user.name in users}
    if control.external:
        groups |= user.groups
    if not groups:
        return
    for found in control.lists:
        if "*" in found.groups or found.groups & groups:
            yield from found.rules


def covers(path: Steps, steps: Steps, user: User) -> bool:
    if len(path) > len(steps):
        return False
    for (name, key), (other, value) in zip(path, steps, strict=False):
        wanted = None if key is None else tuple(user.name if part == "$USER" else part for part in key)
        if name != other or (wanted is not None and wanted != value):
            return False
    return True


def readable(
    control: Control, user: User, data: dict[str, Any], schema: Any = SCHEMA, at: Steps = ()
) -> dict[str, Any]:
    """Return what of data may be read."""
    shown: dict[str, Any] = {}
    for name, value in data.items():
        below = schema[name]
        kind = below["kind"]
        if kind in {"list", "leaf-list"}:
            entries = [
                found for entry in value if (found := entry_of(control, user, entry, below, name, at)) is not None
            ]
            if entries:
                shown[name] = entries
            continue
        steps = (*at, (name, None))
        if not may_access(control, user, "read", steps):
            continue
        if kind == "leaf":
            shown[name] = value
        elif (found := readable(control, user, value, below, steps)) or kind == "presence":
            shown[name] = found
    return shown


def entry_of(control: Control, user: User, entry: Any, schema: Any, name: str, at: Steps) -> Any:
    steps = (*at, (name, key_of(entry, schema)))
    if not may_access(control, user, "read", steps):
        return None
    if schema["kind"] == "leaf-list":
        return entry
    if not all(may_access(control, user, "read", (*steps, (key, None))) for key in schema["keys"]):
        return None
    return readable(control, user, entry, schema, steps)


def denied(control: Control, user: User, before: Any, after: Any, schema: Any = SCHEMA, at: Steps = ()) -> list[Steps]:
    """Return the nodes whose change from one configuration to another is denied."""
    found: list[Steps] = []
    for name in {**(before or {}), **(after or {})}:
        below = schema[name]
        old, new = instances(before, name, below), instances(after, name, below)
        for key in {**old, **new}:
            steps = (*at, (name, key))
            operation = change(old.get(key), new.get(key), below)
            if operation == "delete" and replaced(name, after):
                continue
            if operation and below["kind"] != "container" and not may_access(control, user, operation, steps):
                found.append(steps)
            if below["kind"] not in {"leaf", "leaf-list"}:
                found += denied(control, user, old.get(key), new.get(key), below, steps)
        if below.get("user"):
            fixed = {k for k in old if k in new and not may_access(control, user, "update", (*at, (name, k)))}
            if [k for k in old if k in fixed] != [k for k in new if k in fixed]:
                found += [(*at, (name, key)) for key in fixed]
    return found


def change(old: Any, new: Any, schema: Any) -> str | None:
    if old is None:
        return "create"
    if new is None:
        return "delete"
    return "update" if schema["kind"] == "leaf" and old != new else None


def instances(data: Any, name: str, schema: Any) -> dict[Any, Any]:
    if data is None or name not in data:
        return {}
    if schema["kind"] in {"list", "leaf-list"}:
        return {key_of(entry, schema): entry for entry in data[name]}
    return {None: data[name]}


def replaced(name: str, after: Any) -> bool:
    """Whether a node of another case is there now."""
    return any(
        CASES.get(name, {}).get(choice, case) != case
        for other in after or {}
        for choice, case in CASES.get(other, {}).items()
    )


def shown_path(control: Control, user: User, steps: Steps) -> Steps:
    """Return the part of a way that may be told: as far as it may be read."""
    end = 0
    while end < len(steps) and may_access(control, user, "read", steps[: end + 1]):
        end += 1
    return steps[:end]
