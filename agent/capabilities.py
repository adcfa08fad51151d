"""What hello announces (RFC 6241 section 8, RFC 7950 5.6.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from agent.messages import BASE_1_0, BASE_1_1

if TYPE_CHECKING:
    from agent.model.schema import Module

WITH_DEFAULTS: Final = "urn:ietf:params:netconf:capability:with-defaults:1.0"
_PROTOCOL: Final = (
    BASE_1_0,
    BASE_1_1,
    "urn:ietf:params:netconf:capability:candidate:1.0",
    "urn:ietf:params:netconf:capability:confirmed-commit:1.1",
    "urn:ietf:params:netconf:capability:interleave:1.0",
    "urn:ietf:params:netconf:capability:notification:1.0",
    "urn:ietf:params:netconf:capability:partial-lock:1.0",
    "urn:ietf:params:netconf:capability:rollback-on-error:1.0",
    "urn:ietf:params:netconf:capability:validate:1.0",
    "urn:ietf:params:netconf:capability:validate:1.1",
    "urn:ietf:params:netconf:capability:xpath:1.0",
    f"{WITH_DEFAULTS}?basic-mode=explicit&also-supported=report-all,report-all-tagged,trim",
)


def capabilities(
    modules: list[Module], content_id: str, library_revision: str, features: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the server's capabilities. ``features`` are the optional ones of ietf-netconf that are offered.

    YANG 1.0 modules are listed one by one; those of YANG 1.1 are found through the YANG library (RFC 7950 5.6.4).
    """
    library = urlencode({"revision": library_revision, "content-id": content_id})
    listed = tuple(_module(m) for m in modules if m.implemented and m.yang_version == "1")
    older = urlencode({"revision": library_revision, "module-set-id": content_id})
    optional = tuple(f"urn:ietf:params:netconf:capability:{name}:1.0" for name in features)
    return (
        *_PROTOCOL,
        *optional,
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
