"""From the elements of a ``<config>`` to edits: everything that the schema alone can say is checked here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lxml import etree

from agent import errors
from agent.edit.order import ATTRIBUTES, read_place
from agent.edit.request import Edit
from agent.errors import MOST_ERRORS, NETCONF, NetconfError
from agent.tree import Node, escape, instance_path

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.edit.request import Operation
    from agent.model.load import Model
    from agent.model.schema import SchemaNode
    from agent.tree import Key

OPERATIONS: Final[dict[str, Operation]] = {name: name for name in ("merge", "replace", "create", "delete", "remove")}
_OPERATION: Final = f"{{{NETCONF}}}operation"
_DEFAULT: Final = "{urn:ietf:params:xml:ns:netconf:default:1.0}default"
_REMOVES: Final = {"delete", "remove"}
_MAKES: Final = {"merge", "replace", "create"}
_DATA: Final = {"container", "list", "leaf", "leaf-list", "anydata", "anyxml"}
_ANY: Final = {"anydata", "anyxml"}
_SPACE: Final = " \t\r\n"


def parse(model: Model, config: Element, default: Operation) -> list[Edit]:
    """Return the edits that a ``<config>`` asks for. Raises NetconfError, further ones in its ``others``."""
    reader = _Reader(model)
    edits = reader.children(list(config), None, default)
    reader.raise_found()
    return edits


class _Reader:
    """Turns elements into edits, collecting errors and, for the type check, every value that will be stored."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._errors: list[NetconfError] = []
        self._lines: list[bytes] = []
        self._edits: list[Edit] = []

    def raise_found(self) -> None:
        """Raise what was found; only when the schema fits are the values worth checking."""
        if not self._errors and self._lines:
            for line, error in self._model.validator.check_values(self._lines).items():
                error.path = self._edits[line].path
                error.others = ()
                self._errors.append(error)
        if self._errors:
            first, *others = self._errors
            first.others = tuple(others)
            raise first

    def children(self, elements: list[Element], parent: Edit | None, inherited: Operation) -> list[Edit]:
        """Return the edits that sibling elements ask for."""
        schema = self._model.root if parent is None else parent.schema
        keys = {leaf.tag for leaf in schema.keys}
        cases: dict[str, tuple[str, str]] = {}
        edits = []
        for element in elements:
            if len(self._errors) >= MOST_ERRORS:
                break
            try:
                if element.tag in keys:
                    _check_key(element, parent)
                    continue
                edit = self._edit(element, schema, parent, inherited)
                if edit.schema.cases and edit.operation in _MAKES:
                    _check_cases(cases, edit)
                edits.append(edit)
            except NetconfError as error:
                self._errors.append(error)
        return edits

    def _edit(self, element: Element, within: SchemaNode, parent: Edit | None, inherited: Operation) -> Edit:
        schema = self._schema(element, within, parent)
        attributes = element.keys()
        edit = Edit(schema, _operation(element, parent, inherited) if attributes else inherited, parent)
        if _DEFAULT in attributes and element.get(_DEFAULT) not in {"false", "0"}:
            _reset_to_default(element, edit)
        if not schema.config:
            message = f"<{schema.name}> is state and can't be edited"
            raise errors.invalid_value(message, type="application", path=edit.path)
        below = list(element)
        if schema.is_leaf:
            self._read_leaf(element, below, edit)
        elif schema.keys:
            edit.key = _entry_key(below, edit)
        if attributes:
            edit.place = read_place(element, edit)
        if not schema.is_leaf and edit.operation not in _REMOVES:
            self._read_children(element, below, edit)
        return edit

    def _read_leaf(self, element: Element, below: list[Element], edit: Edit) -> None:
        schema = edit.schema
        if below and schema.kind not in _ANY:
            raise errors.unknown_element(_local(below[0]), type="application", path=edit.path)
        if schema.kind != "leaf-list" and edit.operation in _REMOVES:
            return
        value = _inner_xml(element, below) if schema.kind in _ANY else _canonical(element, schema, edit)
        edit.leaf = Node(schema, value)
        if schema.kind == "leaf-list":
            edit.key = (value,)
        self._line(edit.leaf.xml(), edit)

    def _read_children(self, element: Element, below: list[Element], edit: Edit) -> None:
        if _has_text(element, below):
            message = f"text stands in <{edit.schema.name}>"
            self._errors.append(errors.bad_element(edit.schema.name, message, type="application", path=edit.path))
        self._line(edit.schema.open_tag, edit)
        keys = []
        for leaf, value in zip(edit.schema.keys, edit.key, strict=True):
            node = Node(leaf, value)
            keys.append(Edit(leaf, "merge", edit, leaf=node))
            self._line(node.xml(), keys[-1])
        nested: Operation = "merge" if edit.operation in _MAKES else edit.operation
        edit.children = keys + self.children(below, edit, nested)
        self._line(edit.schema.close_tag, edit)

    def _schema(self, element: Element, within: SchemaNode, parent: Edit | None) -> SchemaNode:
        schema = within.children.get(str(element.tag))
        if schema is not None and schema.kind in _DATA:
            return schema
        name, namespace = _local(element), str(element.tag).rpartition("}")[0].lstrip("{")
        path = None if parent is None else parent.path
        if namespace not in self._model.by_namespace:
            raise errors.unknown_namespace(name, namespace, type="application", path=path)
        raise errors.unknown_element(name, type="application", path=path)

    def _line(self, text: bytes, edit: Edit) -> None:
        self._lines.append(text)
        self._edits.append(edit)


def _check_cases(seen: dict[str, tuple[str, str]], edit: Edit) -> None:
    """Refuse nodes of two cases of one choice (RFC 7950 8.3.1)."""
    name = edit.schema.name
    for choice, case in edit.schema.cases:
        known, other = seen.setdefault(choice, (case, name))
        if known != case:
            message = f"<{name}> and <{other}> are of different cases of one choice"
            raise errors.bad_element(name, message, type="application", path=edit.path)


def _operation(element: Element, parent: Edit | None, inherited: Operation) -> Operation:
    """Return the operation that an element's attributes ask for."""
    operation = inherited
    for name, text in element.items():
        value = str(text)
        if name == _OPERATION and value in OPERATIONS:
            operation = OPERATIONS[value]
        elif name == _OPERATION:
            message = f'operation="{value}" is none of {", ".join(OPERATIONS)}'
            path = None if parent is None else parent.path
            raise errors.bad_attribute("operation", _local(element), message, path=path)
        elif name not in ATTRIBUTES and name != _DEFAULT:
            path = None if parent is None else parent.path
            local = str(name).rpartition("}")[2]
            raise errors.unknown_attribute(local, _local(element), type="application", path=path)
    return operation


def _reset_to_default(element: Element, edit: Edit) -> None:
    """Take a leaf that is marked as a default for a request to remove what is set (RFC 6243 4.5.2)."""
    name = edit.schema.name
    if not edit.schema.is_leaf or element.get(_DEFAULT) not in {"true", "1"}:
        message = f"the attribute default of <{name}> is true, and stands on a leaf"
        raise errors.bad_attribute("default", name, message, type="application", path=edit.path)
    if _canonical(element, edit.schema, edit) not in edit.schema.defaults:
        message = f"{name} is marked as a default, and has another value than that"
        raise errors.invalid_value(message, type="application", path=edit.path)
    edit.operation = "remove"


def _check_key(element: Element, entry: Edit | None) -> None:
    """Refuse to remove a key alone; its value was read already."""
    if element.keys() and _operation(element, entry, "merge") in _REMOVES:
        message = f"the key {_local(element)} can't be removed: remove the entry"
        path = None if entry is None else entry.path
        raise errors.bad_attribute("operation", _local(element), message, path=path)


def _entry_key(below: list[Element], edit: Edit) -> Key:
    values: list[str] = []
    for leaf in edit.schema.keys:
        tag = leaf.tag
        texts = {_canonical(element, leaf, edit) for element in below if element.tag == tag}
        if not texts:
            message = f"an entry of {edit.schema.name} needs its key {leaf.name}"
            raise errors.missing_element(leaf.name, type="application", path=edit.path, message=message)
        if len(texts) > 1:
            message = f"an entry of {edit.schema.name} has two different keys {leaf.name}"
            raise errors.bad_element(leaf.name, message, type="application", path=edit.path)
        values += texts
    return tuple(values)


def _canonical(element: Element, schema: SchemaNode, edit: Edit) -> str:
    """Return the value of an edit's leaf, or of a key of the list entry that it edits."""
    try:
        return schema.canonical(element.text or "", element)
    except ValueError as error:
        path = edit.path if schema is edit.schema else instance_path(edit.path, schema)
        raise errors.invalid_value(f"{schema.name}: {error}", type="application", path=path) from None


def _inner_xml(element: Element, below: list[Element]) -> str:
    """Return what an anydata or anyxml node holds, with the namespaces in scope declared on its children."""
    return "".join([escape(element.text or ""), *(etree.tostring(child, encoding="unicode") for child in below)])


def _has_text(element: Element, below: list[Element]) -> bool:
    text = element.text
    if text is not None and text.strip(_SPACE):
        return True
    return any((tail := child.tail) is not None and tail.strip(_SPACE) for child in below)


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
