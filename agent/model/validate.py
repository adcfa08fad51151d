"""The only file that knows libyang: validation of whole configurations and of values, errors as rpc-errors."""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence  # noqa: TC003 - a dataclass keeps them
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import oopt_gnpy_libyang as ly
from lxml import etree

from agent.errors import MOST_ERRORS, YANG, NetconfError, operation_failed, unknown_element
from agent.paths import without_last_keys
from agent.settings import StartError

_STRICT: Final = ly.ParseOptions.Strict | ly.ParseOptions.NoState
_WHOLE: Final = ly.PrintFlags.WithDefaultsAll | ly.PrintFlags.Shrink
_MANDATORY: Final = re.compile(r'Mandatory node "([^"]+)" instance')
_MANDATORY_CHOICE: Final = re.compile(r'Mandatory choice "([^"]+)"')
_UNIQUE: Final = re.compile(r'Unique data leaf\(s\) "([^"]+)" not satisfied in "(.+)" and "(.+)"\.', re.DOTALL)
_WHEN: Final = re.compile(r"When condition .* not satisfied", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sources:
    """What a validator is made of.

    ``folder`` holds the standard modules, of which those in ``standard`` are implemented. ``texts`` are further modules
    to implement, (file, text), in any order; ``beside`` are these and what they import or include, (name@revision,
    text). ``features`` are by module.
    """

    folder: str
    standard: Sequence[str]
    texts: Sequence[tuple[str, str]]
    beside: Sequence[tuple[str, str]]
    features: Mapping[str, Sequence[str]]


class Validator:
    """One libyang context over the served modules.

    ``opaque`` are the anydata and anyxml nodes, by their tags from the top.
    """

    def __init__(self, sources: Sources) -> None:
        self.opaque: Collection[tuple[str, ...]] = ()
        self._one_at_a_time = threading.Lock()  # the context keeps the last errors
        ly.set_log_options(ly.LogOptions.Store)
        options = ly.ContextOptions.NoYangLibrary | ly.ContextOptions.DisableSearchCwd
        # libyang searches folders to their depths, and a module may lie in a large one: it gets one of its own.
        with tempfile.TemporaryDirectory(prefix="accel-agent-yang-") as own:
            for name, text in sources.beside:
                (Path(own) / f"{name}.yang").write_text(text, encoding="utf-8")
            self._context = ly.Context(f"{sources.folder}:{own}", options)
            for name in sources.standard:
                self._context.load_module(name, features=list(sources.features.get(name, ())))
            for file, text in sources.texts:
                self._add(file, text)

    def _add(self, file: str, text: str) -> None:
        try:
            self._context.parse_module(text, ly.SchemaFormat.YANG).set_implemented_all_features()
        except ly.Error as error:
            faults = self._faults()
            said = (_text(faults[0], "message") if faults else str(error)).rstrip(".")
            raise StartError(f"{file}: {said}: correct the module") from error

    def validate(self, config: bytes, names: Collection[str] | None = None) -> dict[str, Any]:
        """Check a whole configuration (RFC 7950 section 8) and return it as RFC 7951 data, defaults filled in.

        Only the top-level nodes of these names, in module-name form, are returned; None for all of them.
        What anydata and anyxml nodes hold is left out, as libyang makes no JSON of everything that can be in there.
        Raises NetconfError, further ones in its ``others``.
        """
        tree = self._parse(
            self._hollow(config), _STRICT, ly.ValidationOptions.NoState | ly.ValidationOptions.MultiError
        )
        if tree is None:
            return {}
        if names is None:
            printed = tree.print(ly.DataFormat.JSON, _WHOLE | ly.PrintFlags.WithSiblings)
            return json.loads(printed) if printed else {}
        data: dict[str, Any] = {}
        for node in tree.siblings():
            if node.path.lstrip("/") in names and (printed := node.print(ly.DataFormat.JSON, _WHOLE)):
                data |= json.loads(printed)
        return data

    def impossible(self, config: bytes, paths: Sequence[str]) -> set[str]:
        """Return which of these instances have a false ``when``; none where values are no values of their types.

        One whose ``when`` looks at another of these may be among them only once that is not there any more. libyang
        could remove them itself, and crashes where one is in another.
        """
        options = ly.ValidationOptions.NoState | ly.ValidationOptions.NotFinal | ly.ValidationOptions.MultiError
        false: set[str] = set()
        try:
            self._parse(config, _STRICT, options)
        except _LibyangError as error:
            false = {_text(fault, "data_path") for fault in error.faults if _WHEN.match(_text(fault, "message"))}
        if not false:
            return set()
        try:
            tree = self.parse_only(config)
        except _LibyangError:
            return set()
        with self._one_at_a_time:
            return {path for path in paths if any(node.path in false for node in tree.find(path))}

    def parse_only(self, data: bytes) -> Any:  # noqa: ANN401 - bindings without types
        """Return data, state too, as libyang's tree; nothing is checked but types. Raises NetconfError."""
        return self._parse(data, ly.ParseOptions.ParseOnly, None)

    def check_values(self, lines: Sequence[bytes]) -> dict[int, NetconfError]:
        """Check types only, of data written one node a line; return the first error by its line's number from 0.

        Nothing that needs the whole configuration is checked (RFC 7950 8.3.1).
        """
        try:
            self._parse(b"\n".join(lines), _STRICT | ly.ParseOptions.ParseOnly, None)
        except _LibyangError as error:
            line = error.faults[0].line if error.faults else 0
            return {_node_at(lines, line): error}
        return {}

    def _hollow(self, config: bytes) -> bytes:
        """Return a configuration without what its anydata and anyxml nodes hold."""
        if not any(f"<{path[-1].rpartition('}')[2]}".encode() in config for path in self.opaque):
            return config
        root = etree.fromstring(b"<data>%b</data>" % config, etree.XMLParser(huge_tree=True, resolve_entities=False))
        for path in self.opaque:
            for element in root.findall("/".join(path)):
                element[:] = []
                element.text = None
        return b"".join(etree.tostring(child) for child in root)

    def _parse(self, data: bytes, parse: Any, validation: Any) -> Any:  # noqa: ANN401 - bindings without types
        with self._one_at_a_time:
            try:
                return self._context.parse_data(data.decode(), ly.DataFormat.XML, parse, validation)
            except ly.Error as error:
                raise _LibyangError(str(error), self._faults()) from error
            finally:
                self._context.clean_all_errors()

    def _faults(self) -> list[Any]:
        """Return what the last call has found wrong; warnings are kept beside it."""
        return [fault for fault in self._context.errors() if fault.level == ly.LogLevel.Error]


class _LibyangError(NetconfError):
    """libyang's errors as one rpc-error with others."""

    def __init__(self, message: str, faults: Sequence[Any]) -> None:
        self.faults = faults
        errors = [_rpc_error(fault) for fault in faults[:MOST_ERRORS]] or [operation_failed(message)]
        first = errors[0]
        super().__init__(
            first.type,
            first.tag,
            first.message,
            app_tag=first.app_tag,
            path=first.path,
            info=first.info,
            others=tuple(errors[1:]),
        )


def _text(fault: Any, name: str) -> str:  # noqa: ANN401 - bindings without types
    """Return a text of libyang's, which may cut a character in two where it shortens what it quotes."""
    try:
        return str(getattr(fault, name) or "")
    except UnicodeDecodeError as error:
        return error.object.decode(errors="replace")


def _rpc_error(fault: Any) -> NetconfError:  # noqa: ANN401 - bindings without types
    """Return RFC 7950 section 15's error for what libyang says; it has only coarse codes, so messages count."""
    message, path, app_tag = _text(fault, "message"), _text(fault, "data_path") or None, fault.app_tag or None
    if app_tag == "instance-required":
        return NetconfError("application", "data-missing", message, app_tag=app_tag, path=path)
    if match := _UNIQUE.search(message):
        leafs = [f"{entry}/{leaf}" for entry in match.group(2, 3) for leaf in match[1].split()]
        info = tuple((YANG, "non-unique", leaf) for leaf in leafs)
        return operation_failed(message, app_tag="data-not-unique", path=path, info=info)
    if match := _MANDATORY_CHOICE.search(message):
        info = ((YANG, "missing-choice", match[1]),)
        return NetconfError("application", "data-missing", message, app_tag="missing-choice", path=path, info=info)
    if match := _MANDATORY.search(message):
        return NetconfError("application", "data-missing", message, path=f"{path or ''}/{match[1]}")
    if _WHEN.match(message) and path:
        name = without_last_keys(path).rpartition("/")[2].rpartition(":")[2]
        return unknown_element(name, type="application", path=path, message=message)
    if app_tag in {"too-many-elements", "too-few-elements"} and path:
        return operation_failed(message, app_tag=app_tag, path=without_last_keys(path))
    if app_tag is not None and fault.line == 0:  # found in the whole, not while a value was read
        return operation_failed(message, app_tag=app_tag, path=path)
    return NetconfError("application", "invalid-value", message, app_tag=app_tag, path=path)


def _node_at(lines: Sequence[bytes], line: int) -> int:
    """Return the index of the node that stands at a line of the text, lines counted from 1."""
    last = 1
    for index, text in enumerate(lines):
        last += text.count(b"\n")
        if line <= last:
            return index
        last += 1
    return len(lines) - 1
