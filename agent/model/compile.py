"""From pyang's statements to the agent's schema tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pyang.types import LengthTypeSpec, PatternTypeSpec, RangeTypeSpec

from agent.model.constraints import constraints, is_bounded, is_demanded, least, states, unique, whens
from agent.model.schema import Module, SchemaNode
from agent.model.typedefs import CANONICAL, HOLD_PREFIXES
from agent.model.values import ValueType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Statement = Any  # pyang has no types

NACM: Final = "ietf-netconf-acm"
_DENY: Final = {"default-deny-write": "write", "default-deny-all": "all"}
_KINDS: Final = {
    "container", "list", "leaf", "leaf-list", "anydata", "anyxml", "rpc", "action", "notification", "input", "output",
}  # fmt: skip


class Identities:
    """Which identities derive from which, over all modules (RFC 7950 7.18.2)."""

    def __init__(self, modules: Iterable[Statement]) -> None:
        self._bases: dict[str, set[str]] = {}
        for module in modules:
            for identity in module.i_identities.values():
                bases = {_qualified(base.i_identity) for base in identity.search("base")}
                self._bases.setdefault(_qualified(identity), set()).update(bases)  # a module may have revisions

    def derived(self, base: str) -> frozenset[str]:
        """Return every identity that is derived from ``base``, directly or not; not ``base`` itself."""
        found: set[str] = set()
        while fresh := {name for name, bases in self._bases.items() if bases & (found | {base})} - found:
            found |= fresh
        return frozenset(found)


class Compiler:
    """Builds the tree for a set of modules that pyang has validated."""

    def __init__(self, modules: Mapping[str, Module], identities: Identities) -> None:
        self._modules = modules
        self._identities = identities
        mains = [module for module in modules.values() if module.belongs_to is None]
        self._module_of = {module.namespace: module.name for module in mains}
        self._prefix_of = _prefixes(mains)
        self._root: SchemaNode | None = None

    def root(self, statements: Iterable[Statement]) -> SchemaNode:
        """Return a root whose children are the top-level nodes of the implemented modules."""
        statements = list(statements)
        first = self._modules[statements[0].i_modulename]
        self._root = root = SchemaNode("", first, "root")
        for statement in statements:
            self._add_children(root, statement.i_children, cases=())
        return root

    def _add_children(
        self, parent: SchemaNode, statements: Iterable[Statement], *, cases: tuple[tuple[str, str], ...]
    ) -> None:
        for statement in statements:
            # pyang leaves in what an if-feature takes out of an augment of another module, and what a module
            # adds that is only imported.
            if hasattr(statement, "i_not_implemented") or not self._is_implemented(statement):
                continue
            if statement.keyword == "choice":
                _note_default_case(parent, statement)
                for case in statement.i_children:
                    chosen = (_qualified(statement), _qualified(case))
                    self._add_children(parent, case.i_children, cases=(*cases, chosen))
            elif statement.keyword in _KINDS:
                self._add(parent, statement, cases)

    def _is_implemented(self, statement: Statement) -> bool:
        return self._modules[statement.i_module.i_modulename].implemented

    def _add(self, parent: SchemaNode, statement: Statement, cases: tuple[tuple[str, str], ...]) -> None:
        module = self._modules[statement.i_module.i_modulename]
        node = SchemaNode(
            statement.arg,
            module,
            statement.keyword,
            parent=parent,
            config=bool(getattr(statement, "i_config", None)) if parent.config else False,
            cases=cases,
            presence=statement.search_one("presence") is not None,
            mandatory=states(statement, "mandatory", "true"),
            user_ordered=states(statement, "ordered-by", "user"),
            deny=_deny(statement),
            conditional=next(whens(statement), None) is not None,
        )
        if statement.keyword in {"rpc", "action", "notification", "input", "output"}:
            node.config = False
        parent.add(node)
        above: SchemaNode | None = parent
        while node.conditional and node.config and above is not None and not above.has_conditional:
            above.has_conditional = True
            above = above.parent
        node.constraints = tuple(constraints(statement, node, parent))
        node.bounded = is_bounded(statement)
        node.demanded = is_demanded(statement)
        if (type_ := statement.search_one("type")) is not None:
            node.type = self._type(type_, statement)
        if statement.keyword in {"leaf", "leaf-list"}:
            node.defaults = tuple(self._canonical(node.type, default) for default in _defaults(statement))
            return
        self._add_children(node, getattr(statement, "i_children", ()), cases=())
        keys = getattr(statement, "i_key", None) or ()
        node.keys = tuple(node.children[f"{{{module.namespace}}}{key.arg}"] for key in keys)
        for place, leaf in enumerate(node.keys, -len(node.keys)):
            leaf.index = place
            leaf.defaults = ()  # a key's, or its type's, is ignored (7.8.2)
        if not node.keys and not node.config:
            node.user_ordered = True
        node.unique = tuple(unique(node, statement, leafs.arg) for leafs in statement.search("unique"))

    def _canonical(self, type_: ValueType | None, default: Statement) -> str:
        """Return a default value in canonical form; prefixes in it are those of the module that it is written in."""
        if type_ is None:
            return str(default.arg)
        origin = default.i_orig_module
        own = self._modules[origin.i_modulename].namespace
        imports = origin.search("import")
        imported = {i.search_one("prefix").arg: self._modules[i.arg].namespace for i in imports}
        return _in_module(type_).canonical(default.arg, {None: own, origin.i_prefix: own, **imported})

    def _type(self, type_: Statement, leaf: Statement) -> ValueType:
        type_, leaf, written, typedef = _resolved(type_, leaf)
        base = type_.arg
        accepts = _accepts(written)
        if base == "union":
            return ValueType(base, members=tuple(self._type(member, leaf) for member in type_.search("type")))
        if base == "enumeration":
            return ValueType(base, names=tuple(enum.arg for enum in type_.search("enum")))
        if base == "bits":
            bits = sorted(type_.search("bit"), key=lambda bit: bit.i_position)
            return ValueType(base, names=tuple(bit.arg for bit in bits))
        if base == "identityref":
            sets = [self._identities.derived(_qualified(b.i_identity)) for b in type_.search("base")]
            return ValueType(
                base,
                identities=frozenset.intersection(*sets),
                module_of=self._module_of,
                prefix_of=self._prefix_of,
            )
        if base == "instance-identifier":
            return ValueType(base, module_of=self._module_of, prefix_of=self._prefix_of, root=self._root)
        if base == "decimal64":
            digits = int(type_.search_one("fraction-digits").arg)
            return ValueType(base, accepts=accepts, fraction_digits=digits)
        if typedef in HOLD_PREFIXES:
            return ValueType(
                base, typedef, accepts, module_of=self._module_of, prefix_of=self._prefix_of, root=self._root
            )
        return ValueType(base, typedef, accepts)


def _in_module(type_: ValueType) -> ValueType:
    """Return a type as it takes the values that stand in a module."""
    return replace(type_, any_base=True, members=tuple(_in_module(member) for member in type_.members))


def _prefixes(modules: list[Module]) -> dict[str, tuple[str, str]]:
    """Return each module's prefix, made unique, with its namespace."""
    taken: dict[str, str] = {}
    for module in modules:
        taken.setdefault(module.prefix, module.name)
    return {m.name: (m.prefix if taken[m.prefix] == m.name else m.name, m.namespace) for m in modules}


def _resolved(type_: Statement, leaf: Statement) -> tuple[Statement, Statement, Statement, tuple[str, str] | None]:
    """Return the built-in type that typedefs and leafrefs lead to, the leaf that has it, and how that is written there.

    The last is the typedef among them that has a canonical form of its own. A leafref inside a union stays one: its
    values are kept as they are written.
    """
    written, found = type_, None
    while True:
        if (typedef := getattr(type_, "i_typedef", None)) is not None:
            name = (typedef.i_module.i_modulename, typedef.arg)
            found = name if found is None and (name in CANONICAL or name in HOLD_PREFIXES) else found
            type_ = typedef.search_one("type")
        elif type_.arg == "leafref" and (target := getattr(leaf, "i_leafref_ptr", None)):
            leaf = target[0]
            type_ = written = leaf.search_one("type")
            found = None
        else:
            return type_, leaf, written, found


def _accepts(type_: Statement) -> Callable[[str], bool] | None:
    """Return whether a type's ranges, lengths and patterns hold of a value; None where it has none."""
    spec = type_.i_type_spec
    if not isinstance(spec, LengthTypeSpec | PatternTypeSpec | RangeTypeSpec):
        return None

    def accepts(text: str) -> bool:
        value = spec.str_to_val([], None, text, None)
        return value is not None and bool(spec.validate([], None, value, None))

    return accepts


def _qualified(statement: Statement) -> str:
    return f"{statement.i_module.i_modulename}:{statement.arg}"


def _deny(statement: Statement) -> Any:  # noqa: ANN401 - a literal, out of untyped statements
    for sub in statement.substmts:
        if isinstance(sub.keyword, tuple) and sub.keyword[0] == NACM:
            return _DENY.get(sub.keyword[1])
    return None


def _note_default_case(parent: SchemaNode, choice: Statement) -> None:
    default = choice.search_one("default")
    if default is not None:
        case = next(case for case in choice.i_children if case.arg == default.arg)
        parent.default_cases[_qualified(choice)] = _qualified(case)


def _defaults(statement: Statement) -> list[Statement]:
    """Return a leaf's or leaf-list's default, or its type's where it may be absent (RFC 7950 7.6.1, 7.7.2)."""
    if states(statement, "mandatory", "true") or least(statement) > 0:
        return []
    found: list[Statement] = statement.search("default")
    type_ = statement.search_one("type")
    while not found and (typedef := getattr(type_, "i_typedef", None)) is not None:
        found = typedef.search("default")
        type_ = typedef.search_one("type")
    return found
