"""Which modules are served, and what is to be said of each (RFC 7950 5.6.4, 5.6.5)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from agent.model.schema import Module
from agent.settings import StartError

_PREFIX: Final = re.compile(r"([A-Za-z_][\w.-]*):")


def with_targets(standard: list[Any], others: list[Any]) -> list[Any]:
    """Return modules, as pyang's statements, with those whose nodes the ``others`` augment or refer to.

    These have to be implemented, too (RFC 7950 5.6.5); libyang does so by itself. The ``standard`` ones refer to
    further modules only by features that are not offered.
    """
    found = [*standard, *others]
    for statement in found:  # grows meanwhile
        if statement in standard:
            continue
        context = statement.i_ctx
        for part in _parts(statement):
            for path in _paths(part):
                for prefix in _PREFIX.findall(path):
                    name, revision = part.i_prefixes.get(prefix, (None, None))
                    target = context.get_module(name, revision) if name is not None else None
                    if target is not None and target.arg not in {s.arg for s in found}:
                        found.append(target)
    return found


def _parts(statement: Any) -> list[Any]:  # noqa: ANN401 - pyang has no types
    """Return a module and its submodules."""
    context = statement.i_ctx
    found = _submodules(statement).items()
    return [statement, *(context.get_module(name, revision or None) for name, revision in found)]


def _paths(part: Any) -> list[str]:  # noqa: ANN401 - pyang has no types
    """Return the paths by which a module or submodule changes, or refers to, nodes of others."""
    paths = [s.arg for keyword in ("augment", "deviation") for s in part.search(keyword)]
    below = list(part.substmts)
    while below:
        statement = below.pop()
        if statement.keyword == "path":
            paths.append(statement.arg)
        below += statement.substmts
    return paths


def read(path: Path) -> tuple[str, str]:
    """Return a YANG file's name and text. Raises StartError."""
    try:
        return str(path), path.read_text(encoding="utf-8")
    except OSError as error:
        raise StartError(f"{path}: the YANG module can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StartError(f"{path}: the YANG module is not UTF-8 text") from error


def describe(
    context: Any,  # noqa: ANN401 - pyang has no types
    implemented: list[Any],
    known: dict[str, str],
    chosen: dict[str, tuple[str, ...]],
) -> dict[Any, Module]:
    """Return every module and submodule by its statement, sorted by name and revision.

    Raises StartError for a module that is only imported and deviates one that is served.
    """
    statements = sorted(context.modules.values(), key=lambda s: (s.arg, _revision(s)))
    owners = {s.arg: s for s in statements if s.keyword == "module"}
    names = {s.arg for s in implemented}
    for s in owners.values():
        # pyang has applied its deviations, and libyang has not (RFC 7950 5.6.5).
        if s.arg not in names and (changed := _deviated(s) & names):
            message = f"is only imported, and deviates {', '.join(sorted(changed))}: serve it too, or import it no more"
            raise StartError(f"{s.pos.ref}: the YANG module {message}")
    deviated = {s.arg: _deviated(s) for s in implemented}
    served = {}
    for s in statements:
        belongs_to = s.search_one("belongs-to")
        owner = s if belongs_to is None else owners[belongs_to.arg]
        version, features = s.search_one("yang-version"), chosen.get(s.arg)
        deviations = sorted(name for name, modules in deviated.items() if s in implemented and s.arg in modules)
        served[s] = Module(
            name=s.arg,
            revision=_revision(s),
            namespace=owner.search_one("namespace").arg,
            prefix=owner.search_one("prefix").arg,
            text=known.get(s.pos.ref) or read(Path(s.pos.ref))[1],
            implemented=s in implemented,
            yang_version=version.arg if version is not None else "1",
            features=tuple(name for name in _features(s) if features is None or name in features),
            belongs_to=belongs_to.arg if belongs_to is not None else None,
            submodules=tuple(_submodules(s).items()),
            deviations=tuple(deviations),
        )
    return served


def _revision(statement: Any) -> str:  # noqa: ANN401 - pyang has no types
    return max((r.arg for r in statement.search("revision")), default="")


def _submodules(statement: Any) -> dict[str, str]:  # noqa: ANN401 - pyang has no types
    """Return the submodules that a module includes, and those that these include, with their revisions."""
    found: dict[str, str] = {}
    for include in statement.search("include"):
        date = include.search_one("revision-date")
        submodule = statement.i_ctx.get_module(include.arg, date.arg if date is not None else None)
        found |= {include.arg: _revision(submodule), **_submodules(submodule)}
    return found


def _features(statement: Any) -> list[str]:  # noqa: ANN401 - pyang has no types
    """Return the features of a module, and those of its submodules, which are the module's (RFC 7950 7.20.1)."""
    if statement.keyword == "submodule":
        return []
    return [feature.arg for part in _parts(statement) for feature in part.search("feature")]


def _deviated(statement: Any) -> set[str]:  # noqa: ANN401 - pyang has no types
    """Return the names of the modules that a module's deviations change."""
    prefixes = {i.search_one("prefix").arg: i.arg for i in statement.search("import")}
    targets = [deviation.arg.strip("/").partition(":")[0] for deviation in statement.search("deviation")]
    return {prefixes[prefix] for prefix in targets if prefix in prefixes}
