"""The access control configuration as frozen values (RFC 8341 section 4: groups, rule-lists, defaults)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.tree import Node

Operation: TypeAlias = Literal["create", "read", "update", "delete", "exec"]
Kind: TypeAlias = Literal["any", "rpc", "notification", "path"]

ALL: Final = "*"
_KINDS: Final[dict[str, Kind]] = {"rpc-name": "rpc", "notification-name": "notification", "path": "path"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``kind`` is its rule-type, "any" where it has none, and ``target`` the name or path that this holds.

    ``module`` is ``*`` for all modules; ``operations`` is None for all operations.
    """

    name: str
    module: str
    kind: Kind
    target: str
    operations: frozenset[str] | None
    permit: bool

    def covers(self, operation: Operation, module: str) -> bool:
        """Return whether module-name and access-operations match."""
        return self.module in {ALL, module} and (self.operations is None or operation in self.operations)


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules of some groups, in order."""

    groups: frozenset[str]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """What /ietf-netconf-acm:nacm says; made of nothing it is RFC 8341's defaults.

    ``groups`` are the users of each configured group; the defaults say whether something is permitted that no rule
    is about.
    """

    enabled: bool = True
    read_default: bool = True
    write_default: bool = False
    exec_default: bool = True
    external_groups: bool = True
    groups: tuple[tuple[str, frozenset[str]], ...] = ()
    rule_lists: tuple[RuleList, ...] = ()

    def rules_of(self, username: str, external: Iterable[str]) -> tuple[Rule, ...]:
        """Return the rules that concern a user, in order; ``external`` are the groups that the transport knows of.

        A user of no group has none, not even those of rule-lists for all groups (RFC 8341 3.4.4, step 5).
        """
        groups = {name for name, users in self.groups if username in users}
        if self.external_groups:
            groups.update(external)
        if not groups:
            return ()
        lists = (found for found in self.rule_lists if ALL in found.groups or found.groups & groups)
        return tuple(rule for found in lists for rule in found.rules)


def policy(nacm: Node | None) -> Policy:
    """Return what the configuration below /ietf-netconf-acm:nacm says."""
    if nacm is None:
        return Policy()
    groups = nacm.find("groups")
    return Policy(
        enabled=_value(nacm, "enable-nacm", "true") == "true",
        read_default=_value(nacm, "read-default", "permit") == "permit",
        write_default=_value(nacm, "write-default", "deny") == "permit",
        exec_default=_value(nacm, "exec-default", "permit") == "permit",
        external_groups=_value(nacm, "enable-external-groups", "true") == "true",
        groups=tuple(
            (_value(group, "name", ""), _values(group, "user-name"))
            for group in (_entries(groups, "group") if groups is not None else ())
        ),
        rule_lists=tuple(
            RuleList(_values(found, "group"), tuple(_rule(rule) for rule in _entries(found, "rule")))
            for found in _entries(nacm, "rule-list")
        ),
    )


def _rule(rule: Node) -> Rule:
    operations = _value(rule, "access-operations", ALL)
    chosen = next((name for name in _KINDS if rule.find(name) is not None), None)
    return Rule(
        name=_value(rule, "name", ""),
        module=_value(rule, "module-name", ALL),
        kind=_KINDS[chosen] if chosen is not None else "any",
        target=_value(rule, chosen, "") if chosen is not None else "",
        operations=None if operations == ALL else frozenset(operations.split()),
        permit=_value(rule, "action", "deny") == "permit",
    )


def _value(node: Node, name: str, default: str) -> str:
    leaf = node.find(name)
    return default if leaf is None or leaf.value is None else leaf.value


def _entries(node: Node, name: str) -> Iterable[Node]:
    schema = node.schema.member(name)
    return node.entries(schema).values() if schema is not None else ()


def _values(node: Node, name: str) -> frozenset[str]:
    return frozenset(entry.value or "" for entry in _entries(node, name))
