"""The schema tree as the agent needs it: data nodes and operations, with everything looked up once at start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

    from agent.model.values import ValueType

Kind: TypeAlias = Literal[
    "root",
    "container",
    "list",
    "leaf",
    "leaf-list",
    "anydata",
    "anyxml",
    "rpc",
    "action",
    "notification",
    "input",
    "output",
]
Deny: TypeAlias = Literal["write", "all"]


@dataclass(frozen=True, slots=True)
class Module:
    """A module or submodule that the agent serves.

    ``revision`` is empty where the text has none. ``implemented`` is False for modules that are only imported
    (RFC 7950 5.6.5). ``belongs_to`` names a submodule's module, ``submodules`` are (name, revision), ``deviations``
    the modules that deviate this one.
    """

    name: str
    revision: str
    namespace: str
    prefix: str
    text: str
    implemented: bool
    yang_version: str
    features: tuple[str, ...] = ()
    belongs_to: str | None = None
    submodules: tuple[tuple[str, str], ...] = ()
    deviations: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class SchemaNode:
    """A data node, operation or notification. Choices and cases are not nodes: ``cases`` tells which ones hold it.

    ``children`` are in schema order, by qualified name as lxml writes it (``{namespace}name``), which is a child's
    ``tag``. ``qualified`` is the name as RFC 7951 writes a member: with its module where the parent's is another one.
    ``index`` sorts siblings as XML is written: a list's keys first (RFC 7950 7.8.5). ``cases`` is the chain of
    (choice, case) names from the parent down. ``is_leaf``: the node holds a value rather than children;
    ``is_entry``: there can be several instances below one parent. ``deny`` is the node's own NACM default-deny
    extension (RFC 8341 3.7). ``conditional``: a ``when`` decides whether the node can be there;
    ``has_conditional``: whether one below it can. ``default_cases`` are
    the default case of each choice below the node. ``constraints`` are the XPath expressions of the node's must, when
    and leafref, each with the node that it is evaluated at; ``bounded``: it has a least or greatest number of entries;
    ``demanded``: that it is absent can be an error, as it or a choice around it is mandatory, or as it has a least
    number of entries. ``unique`` are the list's unique statements, each leaf as the nodes that lead to it.
    """

    name: str
    module: Module
    kind: Kind
    parent: SchemaNode | None = None
    config: bool = True
    children: dict[str, SchemaNode] = field(default_factory=dict)
    index: int = 0
    keys: tuple[SchemaNode, ...] = ()
    user_ordered: bool = False
    presence: bool = False
    mandatory: bool = False
    defaults: tuple[str, ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
    type: ValueType | None = None
    deny: Deny | None = None
    conditional: bool = False
    has_conditional: bool = False
    default_cases: dict[str, str] = field(default_factory=dict)
    constraints: tuple[tuple[str, SchemaNode], ...] = ()
    bounded: bool = False
    demanded: bool = False
    unique: tuple[tuple[tuple[SchemaNode, ...], ...], ...] = ()
    tag: str = field(init=False)
    qualified: str = field(init=False)
    is_leaf: bool = field(init=False)
    is_entry: bool = field(init=False)
    open_tag: bytes = field(init=False)
    close_tag: bytes = field(init=False)
    _members: dict[str, SchemaNode] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        inherits = self.parent is not None and self.parent.kind != "root" and self.parent.module is self.module
        self.tag = f"{{{self.module.namespace}}}{self.name}"
        self.qualified = self.name if inherits else f"{self.module.name}:{self.name}"
        self.is_leaf = self.kind in {"leaf", "leaf-list", "anydata", "anyxml"}
        self.is_entry = self.kind in {"list", "leaf-list"}
        # What an operation puts out stands in the reply itself, in another namespace (RFC 7950 7.14.4, 7.15.2).
        declared = not inherits or (self.parent is not None and self.parent.kind == "output")
        namespace = f" xmlns={quoteattr(self.module.namespace)}" if declared else ""
        self.open_tag = f"<{self.name}{namespace}>".encode()
        self.close_tag = f"</{self.name}>".encode()

    @property
    def path(self) -> str:
        """The path from the root, without keys, in module-name form."""
        if self.parent is None:
            return ""
        return f"{self.parent.path}/{self.qualified}"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags from the top level down to this node's own."""
        return () if self.parent is None else (*self.parent.tags, self.tag)

    def add(self, child: SchemaNode) -> None:
        """Put a node below this one, last."""
        child.index = len(self.children)
        self.children[child.tag] = child
        self._members[f"{child.module.name}:{child.name}"] = child
        if self.kind != "root" and (child.module is self.module or child.name not in self._members):
            self._members[child.name] = child

    def member(self, name: str) -> SchemaNode | None:
        """Return a child by its name. Without its module's, this node's module comes first; the root needs it."""
        return self._members.get(name)

    def canonical(self, text: str, element: Element) -> str:
        """Return the canonical form of a leaf's value as it stands in an element. Raises ValueError with a sentence."""
        kind = self.type
        if kind is None:
            return text
        return kind.canonical(text, element.nsmap if kind.has_prefixes else {})

    def walk(self) -> Iterator[SchemaNode]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children.values():
            yield from child.walk()
