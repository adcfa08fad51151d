"""Plans as text, for the journal of a commit: what an agent was doing, for the one that comes after it.

A plan is written before it is carried out. A step's inverse does no harm where the step was not done, so the
successor of a killed agent undoes all steps of the plan.
"""

from __future__ import annotations

import base64
import json
import types
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

from translators.base import Plan
from translators.registry import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.base import Step

VERSION = 1


def encode(plan: Plan) -> str:
    """Return a plan as one line of JSON."""
    steps = [{"kind": step.kind, **_fields(step)} for step in plan.steps]
    return json.dumps({"version": VERSION, "steps": steps, "notes": list(plan.notes)})


def decode(text: str) -> Plan:
    """Return the plan that ``encode`` made a text of.

    Raises ValueError for anything else: another version, an unknown kind of step, a field that is missing, unknown
    or of another type.
    """
    content = json.loads(text)
    if not isinstance(content, dict) or content.keys() != {"version", "steps", "notes"}:
        raise ValueError("a plan is an object of version, steps and notes")
    if content["version"] != VERSION:
        raise ValueError(f"version {content['version']!r} of a plan is not known, only {VERSION}")
    steps = content["steps"]
    if not isinstance(steps, list):
        raise ValueError("the steps of a plan are a list")
    notes = cast("tuple[str, ...]", _decoded(tuple[str, ...], content["notes"], "notes"))
    return Plan(tuple(_step(number, step) for number, step in enumerate(steps, start=1)), notes)


def _step(number: int, content: object) -> Step:
    if not isinstance(content, dict):
        raise ValueError(f"step {number} is not an object")
    kind = content.get("kind")
    for candidate in STEPS:
        if candidate.kind == kind:
            break
    else:
        raise ValueError(f"step {number} is of the unknown kind {kind!r}")
    names = {field.name for field in fields(cast("Any", candidate))}
    if content.keys() - {"kind"} != names:
        raise ValueError(f"step {number} ({kind}) has the fields {sorted(content)}, not {sorted(names)}")
    hints = get_type_hints(candidate)
    values = {name: _decoded(hints[name], content[name], f"step {number}, {name}") for name in names}
    return cast("Callable[..., Step]", candidate)(**values)


def _fields(step: Step) -> dict[str, object]:
    return {field.name: _encoded(getattr(step, field.name)) for field in fields(cast("Any", step))}


def _encoded(value: object) -> object:
    match value:
        case bytes():
            return {"base64": base64.b64encode(value).decode("ascii")}
        case tuple():
            return [_encoded(entry) for entry in value]
        case None | bool() | int() | str():
            return value
    raise TypeError(f"a step has a value of type {type(value).__name__}, which the journal can't hold")


def _decoded(hint: object, value: object, where: str) -> object:
    """Return a value of the type that the hint names. Raises ValueError."""
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        (hint,) = (option for option in get_args(hint) if option is not types.NoneType)
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_decoded(get_args(hint)[0], entry, where) for entry in value)
    if hint is bytes and isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(str(_decoded(str, value["base64"], where)), validate=True)
    if type(value) is hint:
        return value
    raise ValueError(f"{where}: {type(value).__name__} found, where {hint} belongs")
