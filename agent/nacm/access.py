"""What one user may do, compiled against the schema (RFC 8341 section 3.4)."""

from __future__ import annotations

import re
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeAlias

from agent.errors import NETCONF, NetconfError
from agent.nacm.paths import known_steps, steps
from agent.nacm.rights import DATA, DataRule, Defaults, Right
from agent.nacm.rules import ALL
from agent.nacm.secrets import check_edits
from agent.nacm.writes import Place, Rights, check

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from agent.edit import Edit
    from agent.model.schema import SchemaNode
    from agent.nacm.prune import Pruner
    from agent.nacm.rules import Kind, Operation, Policy, Rule
    from agent.tree import Key, Node

    Way: TypeAlias = list[tuple[SchemaNode, Key]]

_CLOSE: Final = f"{{{NETCONF}}}close-session"
_DENIED: Final = {f"{{{NETCONF}}}kill-session", f"{{{NETCONF}}}delete-config"}
"""Denied where no rule permits them: RFC 8341 3.4.4 names them, as ietf-netconf has none of its extensions."""
_NOTIFICATIONS: Final = "urn:ietf:params:xml:ns:netmod:notification"
_NEVER_DROPPED: Final = {f"{{{_NOTIFICATIONS}}}replayComplete", f"{{{_NOTIFICATIONS}}}notificationComplete"}
_PATH: Final = re.compile(r"/[A-Za-z_][\w.-]*:(?:[^\s\"'\[]|\[(?:[^\]'\"]|'[^']*'|\"[^\"]*\")*\])*")
_HIDDEN: Final = "what is wrong concerns data that the access control rules do not permit to read"


class Access:
    """What a user may do; this one everything. ``key`` is equal for users who see the same.

    ``unrestricted``: there are no limits to what the user may do.
    """

    key: Hashable = None
    unrestricted = True

    def may_execute(self, operation: SchemaNode) -> bool:  # noqa: ARG002
        """Return whether the user may call an rpc (3.4.4)."""
        return True

    def may_invoke(self, action: SchemaNode, chain: Sequence[Node]) -> bool:  # noqa: ARG002
        """Return whether the user may invoke an action (3.4.4).

        ``chain`` are the instances that it is in, from the top level down.
        """
        return True

    def may_receive(self, notification: SchemaNode, chain: Sequence[Node] = ()) -> bool:  # noqa: ARG002
        """Return whether the user may get a kind of notification (3.4.6); ``chain`` as with actions."""
        return True

    def may_see(self, path: str) -> bool:  # noqa: ARG002
        """Return whether the user may read what is at an instance path in module-name form, or might be there."""
        return True

    def may_see_configuration(self, path: str) -> bool:  # noqa: ARG002
        """Return whether the user may read all configuration that is, or might be, at an instance path and below."""
        return True

    def readable(self, tree: Node) -> Node:
        """Return what of a tree the user may read; the same object where that is all of it (3.4.5)."""
        return tree

    def check_write(self, before: Node, after: Node) -> None:
        """Raise access-denied with the path of the first change from one tree to another that the user may not make."""

    def check_edits(self, before: Node, edits: Iterable[Edit]) -> None:
        """Raise access-denied for an edit whose outcome would tell of data that the user may neither read nor write."""

    def discreet(self, error: NetconfError) -> NetconfError:
        """Return an error without what it says of data that the user may not read; the very same where that is none."""
        return error


class Restricted(Access):
    """What a user may do by some rules."""

    unrestricted = False

    def __init__(
        self,
        root: SchemaNode,
        policy: Policy,
        rules: Sequence[Rule],
        user: str,
        *,
        pruner: Pruner,
        on_denied_write: Callable[[], None],
    ) -> None:
        """``rules`` are those that concern ``user``; ``on_denied_write`` is called for each change that is denied."""
        self.key = self
        self._rules = rules
        self._policy = policy
        self._user = user
        self._pruner = pruner
        self._on_denied_write = on_denied_write

        def right(operation: Operation, *extensions: str, default: bool) -> Right:
            pending = [(rule, 0) for rule in _data_rules(root, rules, operation, user)]
            return Right(root, pending, Defaults(default, frozenset(extensions)), denied=False)

        self._exec = right("exec", "all", default=policy.exec_default)
        self._rights = Rights(
            right("read", "all", default=policy.read_default),
            right("create", "all", "write", default=policy.write_default),
            right("update", "all", "write", default=policy.write_default),
            right("delete", "all", "write", default=policy.write_default),
        )
        self._root = Place(root, self._rights)

    def rests_on(self, rules: Sequence[Rule], user: str) -> bool:
        """Return whether this is what rules come to for a user."""
        return self._user == user and self._rules == rules

    def may_execute(self, operation: SchemaNode) -> bool:
        """Return whether the user may call an rpc (3.4.4)."""
        if operation.tag == _CLOSE:
            return True
        for rule in self._rules:
            if rule.covers("exec", operation.module.name) and _names(rule, "rpc", operation):
                return rule.permit
        return operation.deny != "all" and operation.tag not in _DENIED and self._policy.exec_default

    def may_invoke(self, action: SchemaNode, chain: Sequence[Node]) -> bool:
        """Return whether the user may read all that an action is in, and invoke it (3.4.4)."""
        way = _way(action, chain)
        right = self._exec
        for schema, key in way:
            right = right.enter(schema, key)
        return right.permitted and _visible(self._rights.read, way[:-1]) is not None

    def may_receive(self, notification: SchemaNode, chain: Sequence[Node] = ()) -> bool:
        """Return whether the user may get a kind of notification, and read all that it is in (3.4.6)."""
        if notification.tag in _NEVER_DROPPED:
            return True
        way = _way(notification, chain)
        if _visible(self._rights.read, way[:-1]) is None:
            return False
        for rule in self._rules:
            if not rule.covers("read", notification.module.name):
                continue
            nested = rule.kind == "path" and len(way) > 1
            if _names(rule, "notification", notification) or (nested and self._leads_to(rule, way)):
                return rule.permit
        return self._policy.read_default and not any(schema.deny == "all" for schema, _key in way)

    def may_see(self, path: str) -> bool:
        """Return whether the user may read what is at an instance path in module-name form, or might be there."""
        return self._seen(path) is not None

    def may_see_configuration(self, path: str) -> bool:
        """Return whether the user may read all configuration that is, or might be, at an instance path and below."""
        seen = self._seen(path)
        return seen is not None and seen.whole_configuration

    def readable(self, tree: Node) -> Node:
        """Return what of a tree the user may read; the same object where that is all of it (3.4.5)."""
        return self._pruner.readable(tree, self._rights.read)

    def check_write(self, before: Node, after: Node) -> None:
        """Raise access-denied with the path of the first change from one tree to another that the user may not make."""
        with self._counted():
            check(before, after, self._root)

    def check_edits(self, before: Node, edits: Iterable[Edit]) -> None:
        """Raise access-denied for an edit whose outcome would tell of data that the user may neither read nor write."""
        with self._counted():
            check_edits(before, edits, self._root)

    def discreet(self, error: NetconfError) -> NetconfError:
        """Return an error without what it says of data that the user may not read; the very same where that is none."""
        others = tuple(self.discreet(other) for other in error.others)
        info = (text if isinstance(text, str) else text.decode() for _space, _name, text in error.info)
        told = [error.path or "", *(path for text in (error.message, *info) for path in _PATH.findall(text))]
        if not all(map(self.may_see, told)):
            return NetconfError(error.type, error.tag, _HIDDEN, app_tag=error.app_tag, others=others)
        if all(mine is other for mine, other in zip(others, error.others, strict=True)):
            return error
        return NetconfError(
            error.type,
            error.tag,
            error.message,
            app_tag=error.app_tag,
            path=error.path,
            info=error.info,
            others=others,
        )

    def _seen(self, path: str) -> Right | None:
        """Return the right to read what is at an instance path, None where that is not visible.

        What an operation, action or notification consists of is no data: what it is in counts.
        """
        way = [(step.schema, step.key or ()) for step in known_steps(self._root.schema, path)]
        return _visible(self._rights.read, takewhile(lambda step: step[0].kind in DATA, way))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        try:
            yield
        except NetconfError:
            self._on_denied_write()
            raise

    def _leads_to(self, rule: Rule, way: Way) -> bool:
        """Return whether a rule's path is that of something, or of what it is in."""
        found = steps(self._root.schema, rule.target, self._user)
        return (
            found is not None
            and len(found) <= len(way)
            and all(
                step.schema is schema and step.key in {None, key}
                for step, (schema, key) in zip(found, way, strict=False)
            )
        )


def _data_rules(root: SchemaNode, rules: Iterable[Rule], operation: Operation, user: str) -> Iterator[DataRule]:
    for rule in rules:
        if rule.kind not in {"any", "path"} or not rule.covers(operation, rule.module):
            continue
        found = () if rule.kind == "any" else steps(root, rule.target, user)
        if found is not None:
            yield DataRule(found, rule.module, rule.permit)


def _names(rule: Rule, kind: Kind, node: SchemaNode) -> bool:
    """Return whether a rule's type and name match an operation or notification."""
    return rule.kind == "any" or (rule.kind == kind and rule.target in {ALL, node.name})


def _way(node: SchemaNode, chain: Sequence[Node]) -> Way:
    """Return the way to an action or notification from the top level; without instances that are known, any of them."""
    known = {instance.schema: instance for instance in chain}
    way: Way = []
    schema: SchemaNode | None = node
    while schema is not None and schema.kind != "root":
        found = known.get(schema)
        way.insert(0, (schema, found.key() if found is not None and schema.is_entry else ()))
        schema = schema.parent
    return way


def _visible(right: Right, way: Iterable[tuple[SchemaNode, Key]]) -> Right | None:
    """Return the right at the end of a way, None where something on it is not visible."""
    for schema, key in way:
        right = right.enter(schema, key)
        if not right.visible:
            return None
    return right
