"""Which modules are served, and how they are loaded: pyang for the schema tree, libyang for validation."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyang.context
import pyang.error
import pyang.repository

from agent.model.compile import Compiler, Identities
from agent.model.served import describe, read, with_targets
from agent.model.validate import Sources, Validator
from agent.settings import StartError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.model.schema import Module, SchemaNode

OWN: Final = (
    "hardware-acceleration-types",
    "hardware-acceleration",
    "accel-agent-deviations",
    "accel-agent",
    "notifications",
    "nc-notifications",
    "ietf-nmda-compare",
    "ietf-netconf-partial-lock",
)
ALWAYS: Final = ("candidate", "confirmed-commit", "rollback-on-error", "validate", "xpath")
STANDARD: Final = (
    "ietf-netconf",
    "ietf-netconf-monitoring",
    "ietf-netconf-with-defaults",
    "ietf-datastores",
    "ietf-yang-library",
    "ietf-origin",
    "ietf-netconf-acm",
    "ietf-netconf-nmda",
    "ietf-netconf-notifications",
    "ietf-subscribed-notifications",
    "ietf-yang-push",
    "ietf-yang-patch",
)
FEATURES: Final = {
    "ietf-netconf-nmda": ("origin", "with-defaults"),
    "ietf-subscribed-notifications": ("encode-xml", "replay", "subtree", "xpath"),
    "ietf-yang-push": ("on-change",),
}
"""The features that are offered of the standard modules that have any, but for ietf-netconf's."""


class Model:
    """Everything that YANG says: modules, the schema tree, validation.

    ``served`` are all modules and submodules, in every revision, sorted. ``modules`` is by name: the revision that is
    implemented, or the newest of those that are imported. ``root`` holds the top-level data nodes, rpcs and
    notifications.
    """

    def __init__(self, served: tuple[Module, ...], root: SchemaNode, validator: Validator) -> None:
        self.served = served
        self.modules = modules = by_name(served)
        self.root = root
        self.validator = validator
        validator.opaque = [node.tags for node in root.walk() if node.kind in {"anydata", "anyxml"} and node.config]
        self.by_namespace = {m.namespace: m for m in modules.values() if m.belongs_to is None}

    def node(self, path: str) -> SchemaNode:
        """Return a schema node by its path in module-name form, without keys. Raises KeyError."""
        node = self.root
        for name in path.strip("/").split("/"):
            child = node.member(name)
            if child is None:
                raise KeyError(path)
            node = child
        return node


def load(extra: Iterable[Path] = (), *, features: Iterable[str] = ()) -> Model:
    """Load the served modules, and further ones from files. Raises StartError naming the file and the fault.

    ``features`` are those of ietf-netconf that are offered besides the ones that always are.
    """
    extra = tuple(extra)
    chosen = {"ietf-netconf": tuple(sorted((*ALWAYS, *features))), **FEATURES}
    texts = [*(_own_text(name) for name in OWN), *(read(path) for path in extra)]
    folder = standard_folder()
    search = ":".join([str(folder), *sorted({str(path.resolve().parent) for path in extra})])
    context, standard, main = _parse(search, texts, chosen)
    implemented = with_targets(standard, main)
    served = describe(context, implemented, dict(texts), chosen)
    mains = [s for s in context.modules.values() if s.keyword == "module"]
    compiler = Compiler(by_name(served.values()), Identities(mains))
    root = compiler.root([s for s in mains if s in implemented])
    beside = [
        (f"{m.name}@{m.revision}" if m.revision else m.name, m.text)
        for s, m in served.items()
        if not Path(s.pos.ref).is_relative_to(folder)
    ]
    validator = Validator(Sources(str(folder), STANDARD, texts, beside, chosen))
    return Model(tuple(served.values()), root, validator)


def by_name(served: Iterable[Module]) -> dict[str, Module]:
    """Return modules by name: of several revisions the one that is implemented, else the newest."""
    return {module.name: module for module in sorted(served, key=lambda m: (m.name, m.implemented, m.revision))}


def standard_folder() -> Path:
    """Return the folder with the IETF's modules that pyang's distribution ships."""
    for file in importlib.metadata.files("pyang") or ():
        if file.name == "ietf-netconf.yang":
            return Path(str(file.locate())).resolve().parent
    raise StartError("the standard YANG modules of the pyang distribution are missing: reinstall pyang")


def _own_text(name: str) -> tuple[str, str]:
    folder = importlib.resources.files("yang")
    found = sorted(f.name for f in folder.iterdir() if f.name.startswith(f"{name}@") and f.name.endswith(".yang"))
    if not found:
        raise StartError(f"the YANG module {name} is missing from the installation ({folder}): reinstall accel-agent")
    return found[-1], (folder / found[-1]).read_text(encoding="utf-8")


def _parse(search: str, texts: list[tuple[str, str]], features: dict[str, tuple[str, ...]]) -> tuple[Any, ...]:
    """Return pyang's context, and its statements of the standard modules and of those in ``texts``."""
    repository = pyang.repository.FileRepository(search, use_env=False, no_path_recurse=True)
    context = pyang.context.Context(repository)
    context.features = {name: list(chosen) for name, chosen in features.items()}
    standard = [context.search_module(None, name) for name in STANDARD]
    main: list[Any] = []
    for file, text in texts:
        try:
            module = context.add_module(file, text)
        except Exception as error:
            raise StartError(f"{file}: no YANG module: {error}: correct the module") from error  # pyang gave up
        if module is None:
            raise StartError(f"{_first_error(context) or file + ': no YANG module'}: correct the module")
        if module.keyword == "submodule":
            raise StartError(f"{file}: a submodule of {module.search_one('belongs-to').arg}: name that module's file")
        if served := next((served for served in (*standard, *main) if served.arg == module.arg), None):
            said = f"the module {module.arg} is served already, as it is in {served.pos.ref}"
            raise StartError(f"{file}: {said}: leave out its --module, or rename it")
        main.append(module)
    context.validate()
    _refuse_clash(context, main)
    if fault := _first_error(context):
        raise StartError(f"{fault}: correct the module")
    return context, standard, main


def _refuse_clash(context: Any, main: Iterable[Any]) -> None:  # noqa: ANN401 - pyang has no types
    """Raise StartError for a module with the name or the namespace of another one (RFC 7950 5.1, 7.1.3).

    Both are the same for the revisions of one module.
    """
    spaces = {s: getattr(s.search_one("namespace"), "arg", None) for s in context.modules.values()}
    for module in main:
        for other, space in spaces.items():
            names, namespaces = other.arg == module.arg, space == spaces[module]
            if other.keyword == "module" and names != namespaces:
                taken = "name" if names else f"namespace {space}"
                raise StartError(
                    f"{module.pos.ref}: the module {module.arg} has the {taken} of another module, {other.arg} in "
                    f"{other.pos.ref}: give it one of its own"
                )


def _first_error(context: Any) -> str | None:  # noqa: ANN401 - pyang has no types
    for position, tag, arguments in context.errors:
        if pyang.error.is_error(pyang.error.err_level(tag)):
            said = " ".join(pyang.error.err_to_str(tag, arguments).split())
            return f"{position.ref}:{position.line}: {said}"
    return None
