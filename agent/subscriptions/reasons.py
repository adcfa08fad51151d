"""Why a subscription is refused, suspended or ended: the identities of the modules, and errors that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent import errors
from agent.tree import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.errors import NetconfError

SUBSCRIBED: Final = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
PUSH: Final = "urn:ietf:params:xml:ns:yang:ietf-yang-push"

_SN: Final = "ietf-subscribed-notifications"
_YP: Final = "ietf-yang-push"
DSCP_UNAVAILABLE: Final = f"{_SN}:dscp-unavailable"
ENCODING_UNSUPPORTED: Final = f"{_SN}:encoding-unsupported"
FILTER_UNAVAILABLE: Final = f"{_SN}:filter-unavailable"
FILTER_UNSUPPORTED: Final = f"{_SN}:filter-unsupported"
INSUFFICIENT_RESOURCES: Final = f"{_SN}:insufficient-resources"
NO_SUCH_SUBSCRIPTION: Final = f"{_SN}:no-such-subscription"
REPLAY_UNSUPPORTED: Final = f"{_SN}:replay-unsupported"
STREAM_UNAVAILABLE: Final = f"{_SN}:stream-unavailable"
SUSPENSION_TIMEOUT: Final = f"{_SN}:suspension-timeout"
CANT_EXCLUDE: Final = f"{_YP}:cant-exclude"
DATASTORE_NOT_SUBSCRIBABLE: Final = f"{_YP}:datastore-not-subscribable"
NO_SUCH_SUBSCRIPTION_RESYNC: Final = f"{_YP}:no-such-subscription-resync"
ON_CHANGE_SYNC_UNSUPPORTED: Final = f"{_YP}:on-change-sync-unsupported"
ON_CHANGE_UNSUPPORTED: Final = f"{_YP}:on-change-unsupported"
PERIOD_UNSUPPORTED: Final = f"{_YP}:period-unsupported"
SYNC_TOO_BIG: Final = f"{_YP}:sync-too-big"
UNCHANGING_SELECTION: Final = f"{_YP}:unchanging-selection"
UPDATE_TOO_BIG: Final = f"{_YP}:update-too-big"

_SHORTHAND: Final = {SUBSCRIBED: _SN, PUSH: _YP}
# Identities that the error-info of an operation can't name: they derive from another operation's base.
_NAMELESS: Final = {STREAM_UNAVAILABLE, FILTER_UNAVAILABLE}


class Refused(Exception):  # noqa: N818 - an answer, made an error once the operation is known
    """A subscription can't be had on these terms. ``hints`` are leafs that help to ask for one that can."""

    def __init__(self, reason: str, message: str, hints: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hints = dict(hints or {})

    def error(self, operation: str, target: str) -> NetconfError:
        """Return the error of establish-subscription or modify-subscription (RFC 8640 section 7)."""
        structure = f"{operation}-{target}-error-info"
        namespace = PUSH if target == "datastore" else SUBSCRIBED
        return _failed(self.reason, self.message, namespace, structure, self.hints)


def filter_unsupported(said: str) -> Refused:
    """Return: the filter can't be evaluated."""
    return Refused(FILTER_UNSUPPORTED, said, {"filter-failure-hint": said})


def no_such_subscription(operation: str, number: int) -> NetconfError:
    """Return: the session has no such subscription; or, for kill-subscription, nobody has."""
    message = f"there is no subscription {number}"
    if operation != "kill-subscription":
        message += " of this session: only the one that established it can name it here"
    if operation == "modify-subscription":
        return _failed(NO_SUCH_SUBSCRIPTION, message, SUBSCRIBED, "modify-subscription-stream-error-info", {})
    if operation == "resync-subscription":
        return _failed(NO_SUCH_SUBSCRIPTION_RESYNC, message, PUSH, "resync-subscription-error", {})
    return _failed(NO_SUCH_SUBSCRIPTION, message, SUBSCRIBED, "delete-subscription-error-info", {})


def cant_resync(message: str) -> NetconfError:
    """Return: a subscription that has nothing to be brought up to date."""
    return errors.operation_failed(message, app_tag=ON_CHANGE_SYNC_UNSUPPORTED)


def _failed(reason: str, message: str, namespace: str, structure: str, hints: Mapping[str, str]) -> NetconfError:
    """Return an error whose error-app-tag is the identity, repeated in a structure of the modules."""
    content = "" if reason in _NAMELESS else _reason(reason, namespace)
    content += "".join(f"<{name}>{escape(value)}</{name}>" for name, value in hints.items())
    info = ((namespace, structure, content.encode()),) if content else ()
    return errors.operation_failed(message, app_tag=reason, info=info)


def _reason(reason: str, namespace: str) -> str:
    module, _colon, name = reason.partition(":")
    if module == _SHORTHAND[namespace]:
        return f"<reason>{name}</reason>"
    return f'<reason xmlns:sn="{SUBSCRIBED}">sn:{name}</reason>'
