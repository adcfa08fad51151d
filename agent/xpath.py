"""XPath filters (RFC 6241 8.9): simple paths become subtree filters, everything else is evaluated out of the way.

An expression can take a minute on a large tree, and nothing in this process could interrupt it. So a worker process
evaluates it, on the XML of the tree, and is killed when its time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from agent import errors
from agent.errors import NetconfError
from agent.filter import Filter
from agent.paths import quoted
from agent.tree import Children, Key, Node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.model.load import Model
    from agent.model.schema import SchemaNode

MOST_CHARACTERS: Final = 4096
_NO_NODE_SET: Final = " is not a node set."
# A prefix is the client's, and of whatever letters XML has: of all but what ends a name in an expression.
_NAME: Final = r"""[^\s\d.:/@$|,()\[\]<>=!*+'"-][^\s:/@$|,()\[\]<>=!*+'"]*+"""
_TOKEN: Final = re.compile(rf"""'[^']*'|"[^"]*"|(?P<prefix>{_NAME}):(?P<rest>\*|{_NAME})(?!\s*\()""")
_STEP: Final = re.compile(r"/([A-Za-z_][\w.-]*):([A-Za-z_][\w.-]*)((?:\[[^\]]*\])*)", re.ASCII)
_EQUAL: Final = re.compile(
    r"""\[\s*(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)\s*=\s*(?:'([^'\]]*)'|"([^"\]]*)")\s*\]""", re.ASCII
)
_PATH_STEP: Final = re.compile(
    r"""/(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)((?:\[(?:[^\]'"]|'[^']*'|"[^"]*")*\])*)"""
)
_PREDICATE: Final = re.compile(r"""\[(?:[^\]'"]|'[^']*'|"[^"]*")*\]""")


def as_filter(model: Model, expression: str, prefixes: Mapping[str | None, str]) -> list[Filter] | None:
    """Return the subtree filter that selects the same as a path of names with key equalities; None for any other."""
    steps: list[tuple[str, list[tuple[str, str]]]] = []
    at = 0
    while at < len(expression):
        match = _STEP.match(expression, at)
        if match is None or match[1] not in prefixes:
            return None
        matches = _equalities(match[3], prefixes)
        if matches is None:
            return None
        steps.append((f"{{{prefixes[match[1]]}}}{match[2]}", matches))
        at = match.end()
    return _filter(model.root, steps) if steps else None


def without_prefixes(expression: str, prefixes: Mapping[str | None, str]) -> str:
    """Return an expression that selects the same and needs no declarations where it stands."""

    def test(match: re.Match[str]) -> str:
        if match["prefix"] is None or match["prefix"] not in prefixes:
            return match[0]
        space = f"namespace-uri()={quoted(prefixes[match['prefix']])}"
        return f"*[{space}]" if match["rest"] == "*" else f"*[local-name()='{match['rest']}' and {space}]"

    return _TOKEN.sub(test, expression)


def instance(root: Node, path: str) -> list[Node]:
    """Return the nodes from the top to an instance, by its path as libyang writes it; empty where there is none."""
    chain: list[Node] = []
    node, at = root, 0
    while at < len(path):
        match = _PATH_STEP.match(path, at)
        schema = node.schema.member(f"{match[1]}:{match[2]}" if match[1] else match[2]) if match else None
        child = _instance(node, schema, _PREDICATE.findall(match[3])) if match and schema is not None else None
        if match is None or child is None:
            return []
        chain.append(child)
        node, at = child, match.end()
    return chain


class UndeclaredError(NetconfError):
    """An expression has a prefix that is not declared."""


class XPath:
    """Evaluates expressions in a worker process; ``seconds`` is all the time that one may take."""

    def __init__(self, model: Model, *, seconds: float) -> None:
        self._model = model
        self._seconds = seconds
        self._one_at_a_time = asyncio.Lock()
        self._asking: set[asyncio.Future[dict[str, Any]]] = set()
        self._process: asyncio.subprocess.Process | None = None

    async def select(self, root: Node, expression: str, prefixes: Mapping[str | None, str]) -> Node:
        """Return the nodes that an expression selects, with their ancestors and keys.

        Raises NetconfError as ``paths`` does, but bad-attribute where a prefix is not declared.
        """
        try:
            return _picked(root, await self.paths(root, expression, prefixes))
        except UndeclaredError as error:
            raise errors.bad_attribute("select", "filter", error.message) from None

    async def paths(
        self, root: Node, expression: str, prefixes: Mapping[str | None, str], *, no_node_set: str | None = None
    ) -> list[str]:
        """Return the instance paths of what an expression selects, as libyang writes them (see ``instance``).

        Raises NetconfError: invalid-value for what is no expression or, with ``no_node_set`` as app-tag, no node-set;
        operation-failed when it takes too long.
        """
        if len(expression) > MOST_CHARACTERS:
            raise errors.invalid_value(f"the expression is longer than {MOST_CHARACTERS} characters")
        translated = self._translated(expression, prefixes)
        answer = await self._ask({"expression": translated}, root.xml())
        if error := answer.get("error"):
            app_tag = no_node_set if error.endswith(_NO_NODE_SET) else None
            raise errors.invalid_value(f"select: {error}", app_tag=app_tag)
        found: list[str] = answer["paths"] if root.children else []  # libyang wants data: it was asked of some other
        return found

    async def holds(self, document: bytes, expression: str, prefixes: Mapping[str | None, str]) -> bool:
        """Return whether an expression is true of a document, or selects something of it.

        Raises NetconfError as ``select`` does, but for what is no node-set.
        """
        if len(expression) > MOST_CHARACTERS:
            raise errors.invalid_value(f"the expression is longer than {MOST_CHARACTERS} characters")
        spaces = {prefix: namespace for prefix, namespace in prefixes.items() if prefix is not None}
        answer = await self._ask({"test": expression, "prefixes": spaces}, document)
        if "error" in answer:
            raise errors.invalid_value(f"select: {answer['error']}")
        return bool(answer["holds"])

    async def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    async def _ask(self, question: dict[str, Any], data: bytes) -> dict[str, Any]:
        """Return the answer. It is taken even when its asker has gone: the next one is to the next question."""
        asking = asyncio.ensure_future(self._in_turn(question, data))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return await asyncio.shield(asking)

    async def _in_turn(self, question: dict[str, Any], data: bytes) -> dict[str, Any]:
        async with self._one_at_a_time:
            try:
                return await asyncio.wait_for(self._exchange(question, data), self._seconds)
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError) as error:
                await self.close()
                late = isinstance(error, TimeoutError)
                what = f"took longer than {self._seconds:g} s" if late else "could not be evaluated"
                raise errors.operation_failed(f"select: the expression {what}", type="protocol") from None

    async def _exchange(self, question: dict[str, Any], data: bytes) -> dict[str, Any]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "agent.xpath_worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=2**30,
            )
            await self._send(json.dumps(asdict(self._model.validator.sources)).encode(), b"")
        await self._send(json.dumps(question).encode(), data)
        if self._process.stdout is None:
            raise ConnectionError
        size = int.from_bytes(await self._process.stdout.readexactly(8), "big")
        answer: dict[str, Any] = json.loads(await self._process.stdout.readexactly(size))
        return answer

    async def _send(self, question: bytes, data: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            raise ConnectionError
        self._process.stdin.write(len(question).to_bytes(8, "big") + len(data).to_bytes(8, "big") + question + data)
        await self._process.stdin.drain()

    def _translated(self, expression: str, prefixes: Mapping[str | None, str]) -> str:
        """Return the expression with module names for the client's prefixes, as libyang takes them."""
        spaces = self._model.by_namespace

        def module(match: re.Match[str]) -> str:
            prefix = match["prefix"]
            if prefix is None or expression[match.end("prefix") : match.end("prefix") + 2] == "::":
                return match[0]
            if prefix not in prefixes:
                raise UndeclaredError("protocol", "invalid-value", f"select: the prefix {prefix} is not declared")
            known = spaces.get(prefixes[prefix])
            return f"{known.name if known is not None else 'no-such-module'}:{match['rest']}"

        return _TOKEN.sub(module, expression)


def _equalities(text: str, prefixes: Mapping[str | None, str]) -> list[tuple[str, str]] | None:
    """Return (qualified name, value) of each predicate; None where one is something else."""
    found, at = [], 0
    while at < len(text):
        match = _EQUAL.match(text, at)
        if match is None or (match[1] is None or match[1] not in prefixes):
            return None
        found.append((f"{{{prefixes[match[1]]}}}{match[2]}", match[3] if match[3] is not None else match[4]))
        at = match.end()
    return found


def _filter(parent: SchemaNode, steps: Sequence[tuple[str, list[tuple[str, str]]]]) -> list[Filter] | None:
    (tag, matches), *rest = steps
    schema = parent.children.get(tag)
    if schema is None:
        return []
    children = []
    for name, value in matches:
        leaf = schema.children.get(name)
        if leaf is None or leaf not in schema.keys or leaf.type is None or leaf.type.base != "string":
            return None  # values are compared as XPath does: only on plain text is that what a filter does
        children.append(Filter(leaf, match=value))
    below = _filter(schema, rest) if rest else []
    if below is None:
        return None
    if rest:
        return [Filter(schema, children=[*children, *below])] if below else []
    return [Filter(schema, children=children, narrow=False)] if children else [Filter(schema, whole=True)]


def _picked(root: Node, paths: Sequence[str]) -> Node:
    """Return the part of a tree at instance paths, as libyang writes them, with ancestors and keys."""
    picked: dict[int, set[int]] = {}
    whole: set[int] = set()
    for path in paths:
        chain = instance(root, path)
        if chain:
            whole.add(id(chain[-1]))
            for parent, child in zip([root, *chain], chain, strict=False):
                picked.setdefault(id(parent), set()).add(id(child))
    return _kept(root, picked, whole) or root.with_children({})


def _instance(node: Node, schema: SchemaNode, predicates: Sequence[str]) -> Node | None:
    if not schema.is_entry:
        return node.one(schema)
    entries = node.entries(schema)
    values = [_literal(predicate) for predicate in predicates]
    if len(values) == 1 and values[0].isdigit() and "=" not in predicates[0]:
        return next((entry for n, entry in enumerate(entries.values(), 1) if n == int(values[0])), None)
    return entries.get(tuple(values))


def _literal(predicate: str) -> str:
    _name, equals, value = predicate[1:-1].partition("=")
    return value.strip()[1:-1] if equals else predicate[1:-1].strip()


def _kept(node: Node, picked: dict[int, set[int]], whole: set[int]) -> Node | None:
    if id(node) in whole:
        return node
    wanted = picked.get(id(node))
    if wanted is None:
        return None
    children: Children = {leaf: key for leaf in node.schema.keys if (key := node.one(leaf)) is not None}
    for schema, child in node.children.items():
        if isinstance(child, Node):
            if id(child) in wanted and (kept := _kept(child, picked, whole)) is not None:
                children[schema] = kept
        else:
            entries: dict[Key, Node] = {
                key: kept
                for key, entry in child.items()
                if id(entry) in wanted and (kept := _kept(entry, picked, whole)) is not None
            }
            if entries:
                children[schema] = entries
    return node.with_children(children)
