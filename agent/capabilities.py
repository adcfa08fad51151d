"""What hello announces (RFC 6241 section 8, RFC 7950 5.6.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from agent.messages import BASE_1_0, BASE_1_1

if TYPE_CHECKING:
    from agent.model.schema import Module

_PROTOCOL = (
    BASE_1_0,
    BASE_1_1,
    "urn:ietf:params:netconf:capability:candidate:1.0",
    "urn:ietf:params:netconf:capability:rollback-on-error:1.0",
    "urn:ietf:params:netconf:capability:validate:1.0",
    "urn:ietf:params:netconf:capability:validate:1.1",
)


def capabilities(modules: list[Module], content_id: str, library_revision: str) -> tuple[str, ...]:
    """Return the server's capabilities.

    YANG 1.0 modules are listed one by one; those of YANG 1.1 are found through the YANG library (RFC 7950 5.6.4).
    """
    library = urlencode({"revision": library_revision, "content-id": content_id})
    listed = tuple(_module(m) for m in modules if m.implemented and m.yang_version == "1")
    older = urlencode({"revision": library_revision, "module-set-id": content_id})
    return (
        *_PROTOCOL,
        f"urn:ietf:params:netconf:capability:yang-library:1.0?{older}",
        f"urn:ietf:params:netconf:capability:yang-library:1.1?{library}",
        *listed,
    )


def _module(module: Module) -> str:
    parameters = {
        "module": module.name,
        "revision": module.revision,
        "features": ",".join(module.features),
        "deviations": ",".join(module.deviations),
    }
    return f"{module.namespace}?{urlencode({k: v for k, v in parameters.items() if v}, safe=',')}"
