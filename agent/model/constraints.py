"""From pyang's statements to what the validity of a node depends on: other nodes, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.model.reach import ANYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.model.schema import SchemaNode

    Statement = Any  # pyang has no types


def states(statement: Statement, keyword: str, value: str) -> bool:
    """Return whether a statement has a substatement with this argument."""
    found = statement.search_one(keyword)
    return found is not None and found.arg == value


def whens(statement: Statement) -> Iterator[tuple[str, bool]]:
    """Yield the conditions of a node, and whether each is evaluated at the node itself or at the one above.

    They are its own, and those of a choice or case around it and of its augment; pyang has copied a uses statement's
    own to the nodes that it brings.
    """
    at_node = True
    while statement is not None:
        for when in statement.search("when"):
            yield when.arg, at_node and getattr(when, "i_origin", None) != "uses"
        if (augment := _augment(statement)) is not None:
            yield from ((when.arg, False) for when in augment.search("when"))
        statement = statement.parent if statement.parent.keyword in {"choice", "case"} else None
        at_node = False


def _augment(statement: Statement) -> Statement | None:
    """Return the augment that brings a statement; of a case that is not written, pyang notes it at the node in it."""
    found = getattr(statement, "i_augment", None)
    if found is None and statement.keyword == "case":
        within = next((one for one in statement.i_children if one.arg == statement.arg), None)
        found = getattr(within, "i_augment", None)
    return found


def constraints(statement: Statement, node: SchemaNode, parent: SchemaNode) -> Iterator[tuple[str, SchemaNode]]:
    """Yield what a node's validity depends on: expressions, each with the node that it is evaluated at."""
    yield from ((must.arg, node) for must in statement.search("must"))
    yield from ((when, node if at_node else parent) for when, at_node in whens(statement))
    types = statement.search("type")
    while types:
        type_ = types.pop()
        if type_.arg == "instance-identifier":
            yield ANYWHERE, node
        typedef = getattr(type_, "i_typedef", None)
        types += type_.search("type") if typedef is None else typedef.search("type")
        yield from ((path.arg, node) for path in type_.search("path"))


def least(statement: Statement) -> int:
    """Return the least number of a node's entries."""
    found = statement.search_one("min-elements")
    return 0 if found is None else int(found.arg)


def is_bounded(statement: Statement) -> bool:
    """Return whether a node has a least or greatest number of entries."""
    most = statement.search_one("max-elements")
    return least(statement) > 0 or (most is not None and most.arg != "unbounded")


def is_demanded(statement: Statement) -> bool:
    """Return whether a node's absence can be an error: by its least number, or as it or its choice is mandatory."""
    if least(statement) > 0:
        return True
    while not states(statement, "mandatory", "true"):
        if statement.parent.keyword not in {"choice", "case"}:
            return False
        statement = statement.parent
    return True


def unique(entry: SchemaNode, statement: Statement, leafs: str) -> tuple[tuple[SchemaNode, ...], ...]:
    """Return the leafs that a list's unique statement names, each as the nodes that lead to it (RFC 7950 7.8.3).

    Those that depend on a feature which is not offered are not among them.
    """
    paths = (_down(entry, statement, path.split("/")) for path in leafs.split())
    return tuple(path for path in paths if path)


def _down(entry: SchemaNode, statement: Statement, names: list[str]) -> tuple[SchemaNode, ...]:
    nodes, within, at = [], entry, statement
    for name in (step.rpartition(":")[2] for step in names):
        at = next((child for child in at.i_children if child.arg == name), None)
        if at is None:
            return ()
        if at.keyword not in {"choice", "case"}:  # they stand in the path, and are no nodes
            tag = (at.i_module.i_modulename, name)
            found = next((node for node in within.children.values() if (node.module.name, node.name) == tag), None)
            if found is None:
                return ()
            within = found
            nodes.append(within)
    return tuple(nodes)
