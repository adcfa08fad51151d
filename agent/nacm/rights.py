"""One kind of access, compiled against the schema: what is known of a node once the way to it is walked.

The rules about one kind of access make an automaton. Its state at a node is which rules cover the node and which lead
further down; every state says whether the node may be accessed, and whether all that can be below it may be, too.
Walking a tree asks nothing of the rules any more, and a subtree that is permitted whole need not be walked at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from agent.nacm.rules import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.model.schema import SchemaNode
    from agent.nacm.paths import Step
    from agent.tree import Key

DATA: Final = {"container", "list", "leaf", "leaf-list", "anydata", "anyxml"}
"""The kinds of data nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class DataRule:
    """A rule about data: where its path leads, the module that it is about (``*`` for all), and what it says."""

    steps: tuple[Step, ...]
    module: str
    permit: bool


Pending: TypeAlias = "tuple[DataRule, int]"
"""A rule, and how many of its steps lead to the node in hand: with all of them it covers the node."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where no rule does: ``permit``, unless one of the schema's ``extensions`` denies it."""

    permit: bool
    extensions: frozenset[str]


class Right:
    """What the rules say of a node (``permitted``) and of what is below it.

    A default-deny extension holds for what is below its node, too: no rule has made an exception.
    """

    def __init__(self, schema: SchemaNode, pending: Sequence[Pending], defaults: Defaults, *, denied: bool) -> None:
        """``denied``: a default-deny extension stands above."""
        self.schema = schema
        self._defaults = defaults
        self._denied = denied or schema.deny in defaults.extensions
        self._pending = _needed(pending)
        self.permitted = self._decide()
        self._children: dict[SchemaNode, _Child] = {}

    def enter(self, schema: SchemaNode, key: Key = ()) -> Right:
        """Return the right of a child; ``key`` is a list or leaf-list entry's."""
        return self._child(schema).right(key)

    def all_entries(self, schema: SchemaNode) -> Right | None:
        """Return the right of every entry of a list or leaf-list; None where it depends on the entry's key."""
        child = self._child(schema)
        return None if child.named else child.right(())

    @cached_property
    def visible(self) -> bool:
        """Whether the node may be accessed and can be shown: a list entry is nothing without its keys."""
        return self.permitted and all(self.enter(leaf).permitted for leaf in self.schema.keys)

    @cached_property
    def whole(self) -> bool:
        """Whether the node and all that can be below it may be accessed."""
        return self.permitted and all(
            (below := self.all_entries(child)) is not None and below.whole for child in self._data()
        )

    @cached_property
    def whole_configuration(self) -> bool:
        """Whether the node and all configuration that can be below it may be accessed."""
        return self.permitted and all(
            (below := self.all_entries(child)) is not None and below.whole_configuration
            for child in self._data()
            if child.config
        )

    @cached_property
    def left_out(self) -> frozenset[SchemaNode] | None:
        """The children that may not be accessed, where all others may be, whole; None where it is not as simple."""
        found = set()
        for child in self.schema.children.values():
            below = self.all_entries(child)
            if below is None or (below.visible and not below.whole):
                return None
            if not below.visible:
                found.add(child)
        return frozenset(found)

    def _data(self) -> Iterator[SchemaNode]:
        return (child for child in self.schema.children.values() if child.kind in DATA)

    def _child(self, schema: SchemaNode) -> _Child:
        child = self._children.get(schema)
        if child is None:
            child = self._children[schema] = _Child(schema, self._defaults, denied=self._denied)
            for order, (rule, done) in enumerate(self._pending):
                if done == len(rule.steps):
                    child.add(None, (order, rule, done))
                elif rule.steps[done].schema is schema:
                    child.add(rule.steps[done].key, (order, rule, done + 1))
        return child

    def _decide(self) -> bool:
        if self.schema.kind == "root":
            return True
        module = self.schema.module.name
        for rule, done in self._pending:
            if done == len(rule.steps) and rule.module in {ALL, module}:
                return rule.permit
        return self._defaults.permit and not self._denied


class _Child:
    """The instances of one child: those with a key that rules name, and all others, which have one right."""

    def __init__(self, schema: SchemaNode, defaults: Defaults, *, denied: bool) -> None:
        self.named: dict[Key, list[tuple[int, DataRule, int]]] = {}
        self._any: list[tuple[int, DataRule, int]] = []
        self._schema = schema
        self._defaults = defaults
        self._denied = denied
        self._rights: dict[Key | None, Right] = {}

    def add(self, key: Key | None, ordered: tuple[int, DataRule, int]) -> None:
        """Add a rule, with its place in the order, for the instance with a key, or for all."""
        (self._any if key is None else self.named.setdefault(key, [])).append(ordered)

    def right(self, key: Key) -> Right:
        """Return the right of an instance."""
        named = key if key in self.named else None
        right = self._rights.get(named)
        if right is None:
            found = self._any if named is None else sorted([*self._any, *self.named[named]], key=_order)
            pending = [(rule, done) for _place, rule, done in found]
            right = self._rights[named] = Right(self._schema, pending, self._defaults, denied=self._denied)
        return right


def _order(ordered: tuple[int, DataRule, int]) -> int:
    return ordered[0]


def _needed(pending: Sequence[Pending]) -> list[Pending]:
    """Return the rules up to the first that decides about all there is below."""
    found = []
    for rule, done in pending:
        found.append((rule, done))
        if done == len(rule.steps) and rule.module == ALL:
            break
    return found
