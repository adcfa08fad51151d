"""The YANG library: which modules are served, in which datastores (RFC 8525, and RFC 7895's deprecated form)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.model.schema import Module


def content_id(modules: list[Module]) -> str:
    """Return an identifier that changes when anything in the library does."""
    digest = hashlib.sha256()
    for module in modules:
        digest.update(f"{module.name}@{module.revision} {module.implemented} {module.features}\n".encode())
        digest.update(module.text.encode())
    return digest.hexdigest()[:16]


def containers(modules: list[Module], identifier: str, datastores: tuple[str, ...]) -> dict[str, Any]:
    """Return both library containers as RFC 7951 data; ``datastores`` are the conventional ones besides intended."""
    mains = [module for module in modules if not module.belongs_to]
    return {
        "ietf-yang-library:yang-library": {
            "module-set": [
                {
                    "name": "all",
                    "module": [_entry(m) for m in mains if m.implemented],
                    "import-only-module": [_import_only(m) for m in mains if not m.implemented],
                }
            ],
            "schema": [{"name": "all", "module-set": ["all"]}],
            "datastore": [
                {"name": f"ietf-datastores:{name}", "schema": "all"}
                for name in (*datastores, "intended", "operational")
            ],
            "content-id": identifier,
        },
        "ietf-yang-library:modules-state": {
            "module-set-id": identifier,
            "module": [_old_entry(m, {m.name: m.revision for m in mains if m.implemented}) for m in mains],
        },
    }


def _entry(module: Module) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": module.name, "namespace": module.namespace}
    if module.revision:
        entry["revision"] = module.revision
    if module.features:
        entry["feature"] = list(module.features)
    if module.deviations:
        entry["deviation"] = list(module.deviations)
    if module.submodules:
        entry["submodule"] = [
            {"name": name} | ({"revision": revision} if revision else {}) for name, revision in module.submodules
        ]
    return entry


def _import_only(module: Module) -> dict[str, Any]:
    entry = _entry(module)
    return {k: v for k, v in entry.items() if k not in {"feature", "deviation"}} | {"revision": module.revision}


def _old_entry(module: Module, revisions: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": module.name,
        "revision": module.revision,
        "namespace": module.namespace,
        "conformance-type": "implement" if module.implemented else "import",
    }
    if module.features:
        entry["feature"] = list(module.features)
    if module.deviations:
        entry["deviation"] = [{"name": name, "revision": revisions[name]} for name in module.deviations]
    if module.submodules:
        entry["submodule"] = [{"name": name, "revision": revision} for name, revision in module.submodules]
    return entry
