"""The operations of the protocol: one function per rpc, one table from qualified name to function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent import errors
from agent.errors import NETCONF, YANG
from agent.operations import candidate, configure, invoke, partial, retrieve, sessions
from agent.operations.request import Request, Services, local_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agent.errors import NetconfError

    Operation: TypeAlias = Callable[[Request], bytes | Awaitable[bytes]]

__all__ = ["OPERATIONS", "Request", "Services", "find"]

OPERATIONS: Final[dict[str, Operation]] = {
    f"{{{NETCONF}}}get": retrieve.get,
    f"{{{NETCONF}}}get-config": retrieve.get_config,
    f"{{{NETCONF}}}edit-config": configure.edit_config,
    f"{{{NETCONF}}}copy-config": configure.copy_config,
    f"{{{NETCONF}}}delete-config": configure.delete_config,
    f"{{{NETCONF}}}validate": candidate.validate,
    f"{{{NETCONF}}}commit": candidate.commit,
    f"{{{NETCONF}}}cancel-commit": candidate.cancel_commit,
    f"{{{NETCONF}}}discard-changes": candidate.discard_changes,
    f"{{{NETCONF}}}lock": sessions.lock,
    f"{{{NETCONF}}}unlock": sessions.unlock,
    f"{{{NETCONF}}}close-session": sessions.close_session,
    f"{{{NETCONF}}}kill-session": sessions.kill_session,
    f"{{{retrieve.MONITORING}}}get-schema": retrieve.get_schema,
    f"{{{partial.PARTIAL_LOCK}}}partial-lock": partial.lock,
    f"{{{partial.PARTIAL_LOCK}}}partial-unlock": partial.unlock,
    f"{{{YANG}}}action": invoke.action,
    "{urn:accel-agent:hardware-acceleration}plan": candidate.plan,
    # scrapli's Netconf puts <validate> and what is in it into the capability's namespace.
    "{urn:ietf:params:xml:ns:netconf:capability:validate:1.0}validate": candidate.validate,
    "{urn:ietf:params:netconf:capability:validate:1.0}validate": candidate.validate,
}

_PROTOCOL: Final = {NETCONF, retrieve.MONITORING}


def find(request: Request) -> Operation:
    """Return the function of the operation that is asked for.

    Raises operation-not-supported, unknown-namespace, and what is wrong with the input of an operation of a model; the
    protocol's own operations look at theirs themselves.
    """
    tag = str(request.element.tag)
    model = request.services.model
    defined = model.root.children.get(tag)
    if defined is not None and defined.kind == "rpc" and defined.module.namespace not in _PROTOCOL:
        invoke.check_input(model, defined, request.element, defined.path)
    # Ansible's netconf_rpc puts an operation into no namespace unless it is told another.
    operation = OPERATIONS.get(tag if tag.startswith("{") else f"{{{NETCONF}}}{tag}")
    if operation is None:
        raise _unknown(request)
    return operation


def _unknown(request: Request) -> NetconfError:
    namespace, _brace, name = str(request.element.tag).rpartition("}")
    if namespace.lstrip("{") in {NETCONF, *request.services.model.by_namespace}:
        return errors.operation_not_supported(f"the operation <{local_name(request.element)}> is not supported")
    return errors.unknown_namespace(name, namespace.lstrip("{"))
