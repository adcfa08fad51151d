"""XPath filters (RFC 6241 8.9): simple paths become subtree filters, everything else is evaluated out of the way.

An expression can take a minute on a large tree, and nothing in this process could interrupt it. So a worker process
evaluates it, on the XML of the tree, and is killed when its time is over. It answers with places: which child of the
top, which child of that, and so on, in the order of the XML, which is that of the tree.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from agent import errors
from agent.errors import NetconfError
from agent.filter import Filter
from agent.model.expression import Token, tokens
from agent.paths import quoted
from agent.tree import Children, Key, Node, instance_path
from agent.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from agent.model.load import Model
    from agent.model.schema import SchemaNode

MOST_CHARACTERS: Final = 4096
_NO_NODE_SET: Final = " is not a node set"
_STEP: Final = re.compile(r"/([A-Za-z_][\w.-]*):([A-Za-z_][\w.-]*)((?:\[[^\]]*\])*)", re.ASCII)
_EQUAL: Final = re.compile(
    r"""\[\s*(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)\s*=\s*(?:'([^'\]]*)'|"([^"\]]*)")\s*\]""", re.ASCII
)
_PATH_STEP: Final = re.compile(r"""/([A-Za-z_][\w.:-]*)((?:\[(?:\.|[A-Za-z_][\w.:-]*)=(?:'[^']*'|"[^"]*")\])*)""")
_PREDICATE: Final = re.compile(r"""\[([^=]+)=(?:'([^']*)'|"([^"]*)")\]""")
_UP: Final = ["/", ".."]
# libxml2 only misses a function when it comes to call it.
_FUNCTIONS: Final = {
    "last", "position", "count", "id", "local-name", "namespace-uri", "name",
    "string", "concat", "starts-with", "contains", "substring-before", "substring-after", "substring",
    "string-length", "normalize-space", "translate", "boolean", "not", "true", "false", "lang",
    "number", "sum", "floor", "ceiling", "round",
    "re-match", "bit-is-set",
}  # fmt: skip
_CURRENT: Final = ["current", "(", ")"]
_ROOT: Final = (Token("other", "("), Token("operator", "/"), Token("other", ")"))


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

    def test(token: Token) -> str:
        if token.kind != "name" or token.prefix not in prefixes or token.prefix is None:
            return token.text
        space = f"namespace-uri()={quoted(prefixes[token.prefix])}"
        return f"*[{space}]" if token.local == "*" else f"*[local-name()='{token.local}' and {space}]"

    return "".join(token.before + test(token) for token in tokens(expression))


def instance(root: Node, path: str) -> list[Node]:
    """Return the nodes from the top to an instance, by its path in module-name form; empty where there is none."""
    chain: list[Node] = []
    node, at = root, 0
    while at < len(path):
        match = _PATH_STEP.match(path, at)
        schema = node.schema.member(match[1]) if match is not None else None
        child = _instance(node, schema, match[2]) if match is not None and schema is not None else None
        if match is None or child is None:
            return []
        chain.append(child)
        node, at = child, match.end()
    return chain


class UndeclaredError(NetconfError):
    """An expression has a prefix that is not declared."""


class XPath:
    """Evaluates expressions in a worker process; ``seconds`` is all the time that one may take.

    ``askers`` are the users for whom one is evaluated: who has taken much time of late waits for the others.
    """

    def __init__(self, *, seconds: float) -> None:
        self._seconds = seconds
        self._turns = Turns()
        self._asking: set[asyncio.Future[dict[str, Any]]] = set()
        self._process: asyncio.subprocess.Process | None = None

    async def select(
        self, root: Node, expression: str, prefixes: Mapping[str | None, str], askers: Collection[str] = ("",)
    ) -> Node:
        """Return the nodes that an expression selects, with their ancestors and keys.

        Raises NetconfError as ``paths`` does, but bad-attribute where a prefix is not declared.
        """
        try:
            chains = await self._chains(root, expression, prefixes, askers)
        except UndeclaredError as error:
            raise errors.bad_attribute("select", "filter", error.message) from None
        return _picked(root, chains)

    async def paths(
        self,
        root: Node,
        expression: str,
        prefixes: Mapping[str | None, str],
        askers: Collection[str] = ("",),
        *,
        no_node_set: str | None = None,
    ) -> list[str]:
        """Return the instance paths of what an expression selects, in module-name form (see ``instance``).

        The root of all data has none. Raises NetconfError: invalid-value for what is no expression or, with
        ``no_node_set`` as app-tag, no node-set; operation-failed when it takes too long.
        """
        chains = await self._chains(root, expression, prefixes, askers, no_node_set)
        return list(dict.fromkeys(_path(chain) for chain in chains if chain))

    async def holds(
        self, document: bytes, expression: str, prefixes: Mapping[str | None, str], askers: Collection[str] = ("",)
    ) -> bool:
        """Return whether an expression is true of a document, or selects something of it.

        Raises NetconfError as ``select`` does, but for what is no node-set.
        """
        if len(expression) > MOST_CHARACTERS:
            raise errors.invalid_value(f"the expression is longer than {MOST_CHARACTERS} characters")
        spaces = {prefix: namespace for prefix, namespace in prefixes.items() if prefix is not None}
        answer = await self._ask({"test": expression, "prefixes": spaces}, document, askers)
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

    async def _chains(
        self,
        root: Node,
        expression: str,
        prefixes: Mapping[str | None, str],
        askers: Collection[str],
        no_node_set: str | None = None,
    ) -> Iterator[list[Node]]:
        """Return what an expression selects: for each node, the nodes from the top down to it; none for the root."""
        if len(expression) > MOST_CHARACTERS:
            raise errors.invalid_value(f"the expression is longer than {MOST_CHARACTERS} characters")
        parts = [_absolute(part, prefixes) for part in _united(_with_root(tokens(expression)))]
        spaces = dict(zip(_short(prefixes).values(), prefixes.values(), strict=True))
        answer = await self._ask({"union": parts, "prefixes": spaces}, root.xml(), askers)
        if error := answer.get("error"):
            app_tag = no_node_set if error.endswith(_NO_NODE_SET) else None
            raise errors.invalid_value(f"select: {error}", app_tag=app_tag)
        return _nodes(root, answer["places"])

    async def _ask(self, question: dict[str, Any], data: bytes, askers: Collection[str]) -> dict[str, Any]:
        """Return the answer. It is taken even when its asker has gone: the next one is to the next question."""
        asking = asyncio.ensure_future(self._in_turn(question, data, askers))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return await asyncio.shield(asking)

    async def _in_turn(self, question: dict[str, Any], data: bytes, askers: Collection[str]) -> dict[str, Any]:
        async with self._turns.turn(askers):
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


def _united(found: Sequence[Token]) -> list[list[Token]]:
    """Return the expressions that an expression is a union of: libxml2 takes long to unite many nodes."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth += (token.text in {"[", "("}) - (token.text in {"]", ")"})
        if token.text == "|" and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _absolute(found: Sequence[Token], prefixes: Mapping[str | None, str]) -> dict[str, Any]:
    """Return an expression with the root of all data as its context node, in the form of the worker's questions.

    lxml can't take a document's root for the context node, but a path can start there, and only paths look at it. Nor
    does it take all letters in a prefix. And libxml2 takes long to find the parents of many nodes.
    """
    up = len(found) > len(_UP) and [token.text for token in found[-len(_UP) :]] == _UP
    found = found[: -len(_UP)] if up else found
    short = _short(prefixes)
    text: list[str] = []
    depth, top, begins = 0, False, True
    for token, following in pairwise([*found, Token("other", "")]):
        if token.kind == "variable" or (token.kind == "function" and token.text not in _FUNCTIONS):
            raise errors.invalid_value(f"select: there is no {token.kind} {token.text}")
        if token.prefix is not None and token.prefix not in prefixes:
            raise UndeclaredError("protocol", "invalid-value", f"select: the prefix {token.prefix} is not declared")
        depth += (token.text == "[") - (token.text == "]")
        if not depth:
            top = top or token.kind in {"step", "node-type"} or (token.text == "/" and not _is_step(following))
            text += "/" if begins and _is_step(token) else ""
        begins = token.text in {"(", ","} or (token.kind == "operator" and token.text not in {"/", "//"})
        text += token.before, token.text if token.prefix is None else f"{short[token.prefix]}:{token.local}"
    return {"expression": "".join(text), "top": top, "up": up}


def _short(prefixes: Mapping[str | None, str]) -> dict[str | None, str]:
    """Return other prefixes for the client's."""
    return {prefix: f"n{number}" for number, prefix in enumerate(prefixes)}


def _is_step(token: Token) -> bool:
    """Whether a step of a path begins with a token."""
    return token.kind in {"name", "axis", "node-type", "step"} or token.text == "@"


def _with_root(found: Sequence[Token]) -> list[Token]:
    """Return tokens with the root of all data in place of current(), which it always is here (RFC 7950 10.1.1)."""
    replaced = list(found)
    for at, token in enumerate(found):
        if token.kind == "function" and [one.text for one in found[at : at + 3]] == _CURRENT:
            replaced[at : at + 3] = (replace(_ROOT[0], before=token.before), *_ROOT[1:])
    return replaced


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
    required: dict[SchemaNode, str] = {}
    for number, (name, value) in enumerate(matches):
        leaf = schema.children.get(name)
        if leaf is None or leaf not in schema.keys or leaf.type is None or leaf.type.base != "string":
            return None  # values are compared as XPath does: only on plain text is that what a filter does
        if required.setdefault(leaf, value) != value:
            return []
        children.append(Filter(leaf, number, match=value))
    below = _filter(schema, rest) if rest else []
    if below is None:
        return None
    if rest:
        return [Filter(schema, children=[*children, *below], required=required)] if below else []
    return (
        [Filter(schema, children=children, narrow=False, required=required)]
        if children
        else [Filter(schema, whole=True)]
    )


def _nodes(root: Node, places: Iterable[Sequence[int]]) -> Iterator[list[Node]]:
    """Yield the nodes from the top down to each place; what an anydata or anyxml node holds is part of that node."""
    children: dict[int, list[Node]] = {}
    for place in places:
        chain, node = [], root
        for at in place:
            if node.schema.is_leaf:
                break
            if id(node) not in children:
                children[id(node)] = list(node.all())
            node = children[id(node)][at]
            chain.append(node)
        yield chain


def _path(chain: Iterable[Node]) -> str:
    path = ""
    for node in chain:
        path = instance_path(path, node.schema, node.key() if node.schema.is_entry else ())
    return path


def _picked(root: Node, chains: Iterable[Sequence[Node]]) -> Node:
    """Return the part of a tree with the nodes that chains from the top end at, with their ancestors and keys."""
    picked: dict[int, set[int]] = {}
    whole: set[int] = set()
    for chain in chains:
        whole.add(id([root, *chain][-1]))
        for parent, child in zip([root, *chain], chain, strict=False):
            picked.setdefault(id(parent), set()).add(id(child))
    return _kept(root, picked, whole) or root.with_children({})


def _instance(node: Node, schema: SchemaNode, predicates: str) -> Node | None:
    if not schema.is_entry:
        return node.one(schema) if not predicates else None
    keys = {name.rpartition(":")[2]: single or double for name, single, double in _PREDICATE.findall(predicates)}
    names = (".",) if schema.kind == "leaf-list" else tuple(leaf.name for leaf in schema.keys)
    return node.entries(schema).get(tuple(keys[name] for name in names)) if keys.keys() == set(names) else None


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
