"""Which lists can be checked entry by entry: what the constraints in them, and those of other nodes, look at.

A must, a when or a leafref's path looks at other nodes; how far is found out from its text, once, and rather too far
than not far enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.model.expression import Token, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from agent.model.schema import SchemaNode

ANYWHERE: Final = "//*"
"""An expression that looks everywhere: what an instance-identifier can."""

_PART_OF_PATH: Final = {"name", "step", "node-type"}
_RESULTS: Final = {")", "]"}
_ELSEWHERE: Final = {"deref", "id"}
_TAKE_TEXT: Final = {"normalize-space", "number", "string", "string-length"}


def separable(root: SchemaNode, whole: Collection[SchemaNode] = ()) -> Mapping[SchemaNode, tuple[SchemaNode, ...]]:
    """Return the lists whose entries are valid or not by themselves, each with the nodes that refer to its entries.

    Once an entry of such a list is valid, it stays so whatever changes elsewhere; and as long as none of those nodes is
    there, nothing else is valid or not by what the entry holds, unless it is in ``unique``. Lists in the subtrees
    ``whole`` are left out.
    """
    constrained = [node for node in root.walk() if node.config and node.constraints]
    found = {}
    for node in root.walk():
        if node.kind == "list" and node.config and _is_simple(node) and not _is_in(node, whole):
            inside = [one for one in constrained if _is_in(one, (node,))]
            if all(_stays_in(node, text, context) for one in inside for text, context in one.constraints):
                outside = (one for one in constrained if one not in inside)
                found[node] = tuple(one for one in outside if any(_may_see(node, *c) for c in one.constraints))
    return found


def _is_simple(entry: SchemaNode) -> bool:
    """Whether how many entries there are does not matter, and which of them clash is seen from the text of values."""
    through = [node for leafs in entry.unique for path in leafs for node in path]
    if entry.bounded or any(node.is_entry for node in through):
        return False
    return all(node.type is None or node.type.is_exact for node in (*entry.keys, *through))


def _is_in(node: SchemaNode, subtrees: Collection[SchemaNode]) -> bool:
    return any(above in subtrees for above in _up(node))


def _up(node: SchemaNode) -> Iterator[SchemaNode]:
    above: SchemaNode | None = node
    while above is not None:
        yield above
        above = above.parent


def _stays_in(entry: SchemaNode, expression: str, context: SchemaNode) -> bool:
    """Whether an expression, evaluated at a node, looks at nothing outside of the list entry that it is in."""
    levels = next((n for n, above in enumerate(_up(context)) if above is entry), -1)
    climbed = 0  # levels up so far in this path
    brackets = [(0, 0)]  # the open ones: where paths inside start from, and the furthest up that one led
    last = Token("other", "")
    for token in tokens(expression):
        start, furthest = brackets[-1]
        if _looks_anywhere(token) or (token.text == "/" and not _is_path(last)):
            return False
        if token.text in {"(", "["}:
            brackets.append((climbed, climbed))
        elif token.text in {")", "]"} and len(brackets) > 1:
            brackets.pop()
            climbed = start if token.text == "]" else furthest
            brackets[-1] = (brackets[-1][0], max(brackets[-1][1], climbed))
        elif token.text == "..":
            climbed += 1
            brackets[-1] = (start, max(furthest, climbed))
        elif not _is_path(token) and token.text not in {"/", "@"}:
            climbed = start
        if climbed > levels:
            return False
        last = token
    return levels >= 0


def _may_see(entry: SchemaNode, expression: str, context: SchemaNode) -> bool:
    """Whether an expression, evaluated at a node outside of a list, may look at the list's entries.

    It does if it names the list, or asks for everything there is somewhere, or for the text of a node that holds it.
    """
    above = list(_up(entry))
    names = {node.name for node in above}
    last = Token("other", "")
    found = tokens(expression)
    for token, following in zip(found, [*found[1:], Token("other", "")], strict=True):
        on = following.text == "/"
        if _looks_anywhere(token) or token.kind == "node-type":
            return True
        if token.kind == "name" and (token.local in {"*", entry.name} or (token.local in names and not on)):
            return True
        if token.text == "/" and not (_is_path(following) or following.text == "@"):
            return True  # the root
        if not on and (token.text == ".." or (token.text == "." and last.text == "/")):
            return True
        if context in above and not on and (token.text in {".", "current"} or _is_empty_call(last, token, following)):
            return True
        last = token
    return False


def _is_empty_call(name: Token, bracket: Token, following: Token) -> bool:
    """Whether a function is called without what it takes the text of, which is the context node then."""
    return name.kind == "function" and name.text in _TAKE_TEXT and (bracket.text, following.text) == ("(", ")")


def _looks_anywhere(token: Token) -> bool:
    return token.kind == "axis" or token.text == "//" or (token.kind == "function" and token.text in _ELSEWHERE)


def _is_path(token: Token) -> bool:
    return token.kind in _PART_OF_PATH or token.text in _RESULTS
