"""Node-instance-identifiers: paths in which a list's keys may be left out (RFC 8341 section 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent.paths import unquoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.schema import SchemaNode
    from agent.tree import Key

_LITERAL: Final = r"""'[^']*'|"[^"]*"|concat\((?:'[^']*'|"[^"]*"|[\s,])*\)"""
_STEP: Final = re.compile(rf"/(?P<name>[A-Za-z_][\w.:-]*)(?P<predicates>(?:\[(?:{_LITERAL}|[^\]'\"])*\])*)")
_PREDICATE: Final = re.compile(
    rf"\[\s*(?:(?P<position>[0-9]+)|(?P<name>\.|[A-Za-z_][\w.:-]*)\s*=\s*(?P<value>\$USER|{_LITERAL}))\s*\]"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path: a schema node, and which of its entries; ``key`` is None for all of them."""

    schema: SchemaNode
    key: Key | None = None


def steps(root: SchemaNode, path: str, user: str) -> tuple[Step, ...] | None:
    """Return the steps of a path in module-name form, with ``$USER`` replaced; none for ``/``, which is everything.

    None where the path names nothing that the schema has.
    """
    if path == "/":
        return ()
    found, rest = _walked(root, path, user)
    return None if rest else tuple(found)


def known_steps(root: SchemaNode, path: str) -> list[Step]:
    """Return the steps of an instance path as far as they name what the schema has."""
    return _walked(root, path, "")[0]


def _walked(root: SchemaNode, path: str, user: str) -> tuple[list[Step], str]:
    """Return the steps that are known, and the rest of the path."""

    def value(text: str) -> str:
        return user if text == "$USER" else unquoted(text)

    found: list[Step] = []
    schema, at = root, 0
    while match := _STEP.match(path, at):
        child = schema.member(match["name"])
        key = _key(child, match["predicates"], value) if child is not None and match["predicates"] else None
        if child is None or (match["predicates"] and key is None):
            break
        found.append(Step(child, key))
        schema, at = child, match.end()
    return found, path[at:]


def _key(schema: SchemaNode, text: str, value: Callable[[str], str]) -> Key | None:
    found: dict[str, str] = {}
    for match in _PREDICATE.finditer(text):
        if match["position"] is not None:
            # Entries of a list without keys are numbered from 0.
            return None if schema.keys else (str(int(match["position"]) - 1),)
        found[match["name"].rpartition(":")[2]] = value(match["value"])
    names = ["."] if schema.kind == "leaf-list" else [leaf.name for leaf in schema.keys]
    return tuple(found[name] for name in names) if found.keys() == set(names) else None
