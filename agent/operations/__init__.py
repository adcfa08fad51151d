"""The operations of the protocol: one function per rpc, one table from qualified name to function."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, TypeAlias

from agent import errors
from agent.errors import NETCONF, YANG, NetconfError
from agent.operations import (
    candidate,
    compare,
    configure,
    invoke,
    nmda,
    partial,
    retrieve,
    sessions,
    subscribe,
    subscriptions,
)
from agent.operations.request import NMDA, Request, Services, local_name
from agent.streams.event import NAMESPACE as NOTIFICATION
from agent.subscriptions.reasons import PUSH, SUBSCRIBED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Operation: TypeAlias = Callable[[Request], bytes | Awaitable[bytes]]

__all__ = ["OPERATIONS", "Request", "Services", "find"]

# scrapli's Netconf puts <validate> and what is in it into the capability's namespace.
_LENIENT: Final = {
    "{urn:ietf:params:xml:ns:netconf:capability:validate:1.0}validate": "validate",
    "{urn:ietf:params:netconf:capability:validate:1.0}validate": "validate",
}
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
    f"{{{NMDA}}}get-data": nmda.get_data,
    f"{{{NMDA}}}edit-data": nmda.edit_data,
    f"{{{NOTIFICATION}}}create-subscription": subscribe.create_subscription,
    f"{{{SUBSCRIBED}}}establish-subscription": subscriptions.establish,
    f"{{{SUBSCRIBED}}}modify-subscription": subscriptions.modify,
    f"{{{SUBSCRIBED}}}delete-subscription": subscriptions.delete,
    f"{{{SUBSCRIBED}}}kill-subscription": subscriptions.kill,
    f"{{{PUSH}}}resync-subscription": subscriptions.resync,
    f"{{{compare.NAMESPACE}}}compare": compare.compare,
    f"{{{partial.PARTIAL_LOCK}}}partial-lock": partial.lock,
    f"{{{partial.PARTIAL_LOCK}}}partial-unlock": partial.unlock,
    f"{{{YANG}}}action": invoke.action,
    "{urn:accel-agent:hardware-acceleration}plan": candidate.plan,
    **dict.fromkeys(_LENIENT, candidate.validate),
}

_PROTOCOL: Final = {NETCONF, retrieve.MONITORING, NOTIFICATION, SUBSCRIBED}


def find(request: Request) -> Operation:
    """Return the function of the operation that is asked for; its errors tell nothing that the user may not read.

    Raises operation-not-supported, unknown-namespace, access-denied, and what is wrong with the input of an operation
    of a model; the protocol's own operations look at theirs themselves.
    """
    tag = str(request.element.tag)
    model = request.services.model
    access = request.access
    defined = model.root.children.get(tag) or model.root.children.get(f"{{{NETCONF}}}{_LENIENT.get(tag, tag)}")
    if defined is not None and defined.kind == "rpc" and not access.may_execute(defined):
        request.services.nacm.note_denied_operation()
        raise errors.access_denied(f"the access control rules do not permit <{defined.name}>")
    if defined is not None and defined.kind == "rpc" and defined.module.namespace not in _PROTOCOL:
        invoke.check_input(model, defined, request.element, defined.path)
    # Ansible's netconf_rpc puts an operation into no namespace unless it is told another.
    operation = OPERATIONS.get(tag if tag.startswith("{") else f"{{{NETCONF}}}{tag}")
    if operation is None:
        raise _unknown(request)
    return operation if access.unrestricted else functools.partial(_discreet, operation)


def _discreet(operation: Operation, request: Request) -> bytes | Awaitable[bytes]:
    try:
        result = operation(request)
    except NetconfError as error:
        raise request.access.discreet(error) from error
    return result if isinstance(result, bytes) else _discreet_later(result, request)


async def _discreet_later(result: Awaitable[bytes], request: Request) -> bytes:
    try:
        return await result
    except NetconfError as error:
        raise request.access.discreet(error) from error


def _unknown(request: Request) -> NetconfError:
    namespace, _brace, name = str(request.element.tag).rpartition("}")
    if namespace.lstrip("{") in {NETCONF, *request.services.model.by_namespace}:
        return errors.operation_not_supported(f"the operation <{local_name(request.element)}> is not supported")
    return errors.unknown_namespace(name, namespace.lstrip("{"))
