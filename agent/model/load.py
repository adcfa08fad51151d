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
from agent.model.schema import Module
from agent.model.validate import Sources, Validator
from agent.settings import StartError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.model.schema import SchemaNode

OWN: Final = (
    "hardware-acceleration-types",
    "hardware-acceleration",
    "accel-agent-deviations",
    "accel-agent",
    "notifications",
    "nc-notifications",
    "ietf-nmda-compare",
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

    ``modules`` is by name, submodules included; ``root`` holds the top-level data nodes, rpcs and notifications.
    """

    def __init__(self, modules: dict[str, Module], root: SchemaNode, validator: Validator) -> None:
        self.modules = modules
        self.root = root
        self.validator = validator
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
    texts = [*(_own_text(name) for name in OWN), *(_read(path) for path in extra)]
    folder = standard_folder()
    search = ":".join([str(folder), *sorted({str(path.resolve().parent) for path in extra})])
    context, main = _parse(search, texts, chosen)
    statements = {s.arg: s for s in context.modules.values()}
    implemented = {*STANDARD, *(m.arg for m in main)}
    known = dict(texts)
    modules = {name: _module(statements, name, implemented, known, chosen) for name in sorted(statements)}
    mains = [s for s in statements.values() if s.keyword == "module"]
    compiler = Compiler(modules, Identities(mains))
    root = compiler.root([s for s in mains if s.arg in implemented])
    beside = [
        (m.name, m.text)
        for m in modules.values()
        if not m.implemented and not Path(statements[m.name].pos.ref).is_relative_to(folder)
    ]
    validator = Validator(Sources(str(folder), STANDARD, texts, beside, chosen))
    return Model(modules, root, validator)


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


def _read(path: Path) -> tuple[str, str]:
    try:
        return str(path), path.read_text(encoding="utf-8")
    except OSError as error:
        raise StartError(f"{path}: the YANG module can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StartError(f"{path}: the YANG module is not UTF-8 text") from error


def _parse(search: str, texts: list[tuple[str, str]], features: dict[str, tuple[str, ...]]) -> tuple[Any, list[Any]]:
    repository = pyang.repository.FileRepository(search, use_env=False, no_path_recurse=True)
    context = pyang.context.Context(repository)
    context.features = {name: list(chosen) for name, chosen in features.items()}
    for name in STANDARD:
        context.search_module(None, name)
    main = []
    for file, text in texts:
        try:
            module = context.add_module(file, text)
        except Exception as error:
            raise StartError(f"{file}: no YANG module: {error}: correct the module") from error  # pyang gave up
        if module is None:
            raise StartError(f"{_first_error(context) or file + ': no YANG module'}: correct the module")
        if module.keyword == "submodule":
            raise StartError(f"{file}: a submodule of {module.search_one('belongs-to').arg}: name that module's file")
        main.append(module)
    context.validate()
    if fault := _first_error(context):
        raise StartError(f"{fault}: correct the module")
    return context, main


def _first_error(context: Any) -> str | None:  # noqa: ANN401 - pyang has no types
    for position, tag, arguments in context.errors:
        if pyang.error.is_error(pyang.error.err_level(tag)):
            said = " ".join(pyang.error.err_to_str(tag, arguments).split())
            return f"{position.ref}:{position.line}: {said}"
    return None


def _module(
    statements: dict[str, Any],
    name: str,
    implemented: set[str],
    known: dict[str, str],
    chosen: dict[str, tuple[str, ...]],
) -> Module:
    statement = statements[name]
    belongs_to = statement.search_one("belongs-to")
    owner = statement if belongs_to is None else statements[belongs_to.arg]
    version = statement.search_one("yang-version")
    features = chosen.get(name)
    return Module(
        name=name,
        revision=max((r.arg for r in statement.search("revision")), default=""),
        namespace=owner.search_one("namespace").arg,
        prefix=owner.search_one("prefix").arg,
        text=known.get(statement.pos.ref) or _read(Path(statement.pos.ref))[1],
        implemented=name in implemented,
        yang_version=version.arg if version is not None else "1",
        features=tuple(f.arg for f in statement.search("feature") if features is None or f.arg in features),
        belongs_to=belongs_to.arg if belongs_to is not None else None,
        submodules=tuple(include.arg for include in statement.search("include")),
        deviations=tuple(sorted(other for other, s in statements.items() if name in _deviated(s))),
    )


def _deviated(statement: Any) -> set[str]:  # noqa: ANN401 - pyang has no types
    """Return the names of the modules that a module's deviations change."""
    prefixes = {i.search_one("prefix").arg: i.arg for i in statement.search("import")}
    targets = [deviation.arg.strip("/").partition(":")[0] for deviation in statement.search("deviation")]
    return {prefixes[prefix] for prefix in targets if prefix in prefixes}
