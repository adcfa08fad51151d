"""Canonical forms of YANG's types (RFC 7950 section 9).

Only what makes two spellings one value is here: whether a value is *allowed* (ranges, lengths, patterns) is
libyang's to say, but for the member of a union that a value belongs to. Identities, paths and expressions are kept in
module-name form (RFC 7951 6.8, 6.11), so that a stored value never depends on a prefix.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agent.model.expression import renamed
from agent.model.typedefs import CANONICAL, HOLD_PREFIXES, NODE_INSTANCE, XPATH
from agent.paths import STEP, prefix_all, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.model.schema import SchemaNode

    Prefixes = Mapping[str | None, str]

INTEGER_RANGES: Final = {
    f"{sign}int{bits}": (-(2 ** (bits - 1)) if not sign else 0, 2 ** (bits if sign else bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_ANY_BASE: Final = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_NAME: Final = re.compile(r"([A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*")
_SPACE: Final = " \t\r\n"
_DECIMAL_DIGITS: Final = 19


@dataclass(frozen=True, slots=True)
class ValueType:
    """A leaf's type, resolved: ``base`` is the built-in type's name.

    ``typedef`` is the (module, name) of what it is derived from, where that has a canonical form of its own.
    ``any_base``: integers are octal and hexadecimal too, as they may be in a module, but not in data (RFC 7950 9.2.1).
    ``accepts`` says whether the type's ranges, lengths and patterns hold of a value; None where there are none.
    ``names`` are an enumeration's values, or a bits type's in their order; ``identities`` the ``module:name`` of
    every identity that an identityref takes; ``members`` a union's types. ``fraction_digits`` is of decimal64.
    ``module_of`` gives a namespace's module name, ``prefix_of`` a module's prefix and namespace; both are set where
    values hold prefixes; ``root`` is the schema's where they are paths. ``has_prefixes``: a value may name modules, so
    that written XML must declare prefixes. ``is_exact``: two canonical values are the same value only if they are the
    same text. That is not so of expressions, and where it is open to which member of a union a value belongs.
    """

    base: str
    typedef: tuple[str, str] | None = None
    accepts: Callable[[str], bool] | None = None
    any_base: bool = False
    names: tuple[str, ...] = ()
    identities: frozenset[str] = frozenset()
    members: tuple[ValueType, ...] = ()
    fraction_digits: int = 0
    module_of: Mapping[str, str] | None = None
    prefix_of: Mapping[str, tuple[str, str]] | None = None
    root: SchemaNode | None = field(default=None, repr=False)
    has_prefixes: bool = field(init=False)
    is_exact: bool = field(init=False)

    def __post_init__(self) -> None:
        own = self.base in {"identityref", "instance-identifier"} or self.typedef in HOLD_PREFIXES
        object.__setattr__(self, "has_prefixes", own or any(member.has_prefixes for member in self.members))
        exact = self.base not in {"leafref", "instance-identifier"} and self.typedef not in HOLD_PREFIXES
        certain = (m.is_exact and m.base != "decimal64" and m.typedef is None for m in self.members)
        object.__setattr__(self, "is_exact", exact and all(certain))

    def canonical(self, text: str, prefixes: Prefixes) -> str:
        """Return the canonical form of a value as it stands in XML. Raises ValueError with a sentence.

        ``prefixes`` are the XML namespace declarations in scope; None is the default namespace.
        """
        convert = _CONVERT.get(self.typedef or self.base)
        return text if convert is None else convert(self, text, prefixes)

    def prefixed(self, value: str) -> tuple[dict[str, str], str]:
        """Return a canonical value as it stands in XML, and the namespaces by the prefixes that are in it."""
        if not self.has_prefixes:
            return {}, value
        if self.base == "union":
            return next((member.prefixed(value) for member in self.members if _is_of(member, value)), ({}, value))
        known = self.prefix_of or {}
        used: dict[str, str] = {}

        def prefix(module: str) -> str:
            if module not in known:
                return module
            used.update([known[module]])
            return known[module][0]

        if self.base == "identityref":
            module, colon, name = value.partition(":")
            return used, prefix(module) + colon + name
        if self.typedef == XPATH:
            return used, renamed(value, prefix)

        def key(kind: ValueType, text: str) -> str:
            spaces, shown = kind.prefixed(text)
            used.update(spaces)
            return shown

        return used, prefix_all(_with_keys(self.root, value, key), prefix)[0]


def _integer(kind: ValueType, text: str, _: Prefixes) -> str:
    stripped = text.strip(_SPACE)
    if not (_ANY_BASE if kind.any_base else _INTEGER).fullmatch(stripped):
        raise ValueError(f'"{text}" is not an integer')
    digits = stripped.lstrip("+-")
    base = 10
    if kind.any_base and len(digits) > 1 and digits[0] == "0":
        base = 16 if digits[1] in "xX" else 8
    try:
        number = int(stripped, base)
    except ValueError:
        raise ValueError(f'"{text}" is not an integer') from None
    low, high = INTEGER_RANGES[kind.base]
    if not low <= number <= high:
        raise ValueError(f'"{text}" is out of the range of {kind.base}, {low}..{high}')
    return str(number)


def _decimal64(kind: ValueType, text: str, _: Prefixes) -> str:
    stripped = text.strip(_SPACE)
    if not _DECIMAL.fullmatch(stripped):
        raise ValueError(f'"{text}" is not a decimal number')
    sign = "-" if stripped[0] == "-" else ""
    whole, _dot, fraction = stripped.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0") or "0"
    digits = kind.fraction_digits
    if len(fraction) > digits:
        raise ValueError(f'"{text}" has more than {digits} fraction digits')
    if len(whole) > _DECIMAL_DIGITS or not -(2**63) <= int(sign + whole + fraction.ljust(digits, "0")) < 2**63:
        raise ValueError(f'"{text}" is out of the range of decimal64')
    number = f"{whole}.{fraction}"
    return number if number == "0.0" else sign + number


def _boolean(_kind: ValueType, text: str, _: Prefixes) -> str:
    if text not in {"true", "false"}:
        raise ValueError(f'"{text}" is neither true nor false')
    return text


def _empty(_kind: ValueType, text: str, _: Prefixes) -> str:
    if text.strip(_SPACE):
        raise ValueError(f'"{text}" stands where there can be no value (type empty)')
    return ""


def _enumeration(kind: ValueType, text: str, _: Prefixes) -> str:
    if text not in kind.names:
        raise ValueError(f'"{text}" is none of {", ".join(kind.names)}')
    return text


def _bits(kind: ValueType, text: str, _: Prefixes) -> str:
    words = text.split()
    for word in words:
        if word not in kind.names:
            raise ValueError(f'"{word}" is none of {", ".join(kind.names)}')
    if len(set(words)) != len(words):
        raise ValueError(f'"{text}" names a bit twice')
    return " ".join(name for name in kind.names if name in words)


def _identityref(kind: ValueType, text: str, prefixes: Prefixes) -> str:
    stripped = text.strip(_SPACE)
    if not _NAME.fullmatch(stripped):
        raise ValueError(f'"{text}" is not the name of an identity')
    prefix, _colon, name = stripped.rpartition(":")
    namespace = prefixes.get(prefix or None)
    if namespace is None and prefix:
        raise ValueError(f'"{text}" has the prefix {prefix}, which is not declared')
    module = (kind.module_of or {}).get(namespace or "", "")
    identity = f"{module}:{name}"
    if identity not in kind.identities:
        raise ValueError(f'"{text}" is none of {", ".join(sorted(kind.identities))}')
    return identity


def _instance_identifier(kind: ValueType, text: str, prefixes: Prefixes) -> str:
    stripped = text.strip(_SPACE)
    if not stripped.startswith("/"):
        raise ValueError(f'"{text}" is not an instance-identifier')
    last = ""

    def qualified(match: re.Match[str]) -> str:
        nonlocal last
        if match["name"] is None:
            return quoted(match[0][1:-1])
        if match["module"] is None:
            raise ValueError(f'"{text}": every name in an instance-identifier has a prefix')
        module = (kind.module_of or {}).get(prefixes.get(match["module"], ""))
        if module is None:
            raise ValueError(f'"{text}" has the prefix {match["module"]}, which is not declared or of no module')
        shown = match["name"] if module == last else f"{module}:{match['name']}"
        if match["before"] == "/":
            last = module
        return match["before"] + shown

    return _with_keys(kind.root, STEP.sub(qualified, stripped), lambda key, value: key.canonical(value, prefixes))


def _with_keys(root: SchemaNode | None, path: str, converted: Callable[[ValueType, str], str]) -> str:
    """Return a path in module-name form with the keys in it converted that hold prefixes themselves."""
    node = leaf = root

    def step(match: re.Match[str]) -> str:
        nonlocal node, leaf
        if match["name"] is None:
            kind = None if leaf is None else leaf.type
            if kind is None or not kind.has_prefixes or not path[: match.start()].rstrip(_SPACE).endswith("="):
                return match[0]
            return quoted(converted(kind, match[0][1:-1]))
        name = match["name"] if match["module"] is None else f"{match['module']}:{match['name']}"
        leaf = None if node is None else node.member(name)
        if match["before"] == "/":
            node = leaf
        return match[0]

    return STEP.sub(step, path)


def _union(kind: ValueType, text: str, prefixes: Prefixes) -> str:
    for member in kind.members:
        try:
            value = member.canonical(text, prefixes)
        except ValueError:
            continue
        if member.accepts is None or member.accepts(text if member.base == "string" else value):
            return value
    raise ValueError(f'"{text}" is of none of the types that are allowed here')


def _is_of(member: ValueType, value: str) -> bool:
    """Return whether a union's canonical value is of a member."""
    spaces: Prefixes = dict((member.prefix_of or {}).values())
    try:
        return _union(ValueType("union", members=(member,)), member.prefixed(value)[1], spaces) == value
    except ValueError:
        return False


def _xpath(kind: ValueType, text: str, prefixes: Prefixes) -> str:
    def module(prefix: str) -> str:
        name = (kind.module_of or {}).get(prefixes.get(prefix, ""))
        if name is None:
            raise ValueError(f'"{text}" has the prefix {prefix}, which is not declared or of no module')
        return name

    return renamed(text.strip(_SPACE), module)


def _by_typedef(convert: Callable[[str], str]) -> Callable[[ValueType, str, Prefixes], str]:
    return lambda _kind, text, _prefixes: convert(text)


def _binary(_kind: ValueType, text: str, _: Prefixes) -> str:
    try:
        return b64encode(b64decode("".join(text.split()), validate=True)).decode()
    except ValueError:
        raise ValueError(f'"{text}" is not base64') from None


_CONVERT: Final[dict[str | tuple[str, str], Callable[[ValueType, str, Prefixes], str]]] = {
    **dict.fromkeys(INTEGER_RANGES, _integer),
    "decimal64": _decimal64,
    "boolean": _boolean,
    "empty": _empty,
    "enumeration": _enumeration,
    "bits": _bits,
    "identityref": _identityref,
    "instance-identifier": _instance_identifier,
    "union": _union,
    "binary": _binary,
    **{typedef: _by_typedef(convert) for typedef, convert in CANONICAL.items()},
    XPATH: _xpath,
    NODE_INSTANCE: _instance_identifier,
}
