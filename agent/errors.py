"""NETCONF's error conditions (RFC 6241 appendix A, RFC 7950 section 15), one constructor per condition.

Paths are instance paths in module-name form, as RFC 7951 writes them: the module's name at the top and where it
changes (``/hardware-acceleration:acceleration/qat/enabled``). They become prefixed XPath where XML is written.
"""

from __future__ import annotations

from typing import Final

NETCONF: Final = "urn:ietf:params:xml:ns:netconf:base:1.0"
YANG: Final = "urn:ietf:params:xml:ns:yang:1"
MOST_ERRORS: Final = 20
"""A reply holds no more; RFC 6241 4.3 asks for one. Each may have a long path, of one long request."""
OUTSTANDING: Final = "outstanding-confirmed-commit"
"""The error-app-tag where a confirmed commit is in the way; RFC 5717 2.4.1 has it for partial-lock."""

Info = tuple[str, str, str | bytes]
"""One child of error-info: namespace, name, and its text, or its content as XML."""


class NetconfError(Exception):
    """One rpc-error, or several: ``others`` are reported in the same reply, after this one.

    ``type`` is the layer (transport, rpc, protocol, application); ``severity`` is always error.
    """

    def __init__(
        self,
        type: str,
        tag: str,
        message: str,
        *,
        app_tag: str | None = None,
        path: str | None = None,
        info: tuple[Info, ...] = (),
        others: tuple[NetconfError, ...] = (),
    ) -> None:
        super().__init__(message)
        self.type = type
        self.tag = tag
        self.message = message
        self.app_tag = app_tag
        self.path = path
        self.info = info
        self.others = others


class CloseSession(Exception):  # noqa: N818 - an outcome, not a fault
    """The session can't go on (RFC 6242 section 4: a framing error; RFC 6241 8.1: a bad hello)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def in_use(message: str, *, app_tag: str | None = None, path: str | None = None) -> NetconfError:
    """Return: another session holds what the request needs."""
    return NetconfError("protocol", "in-use", message, app_tag=app_tag, path=path)


def invalid_value(
    message: str, *, type: str = "protocol", path: str | None = None, app_tag: str | None = None
) -> NetconfError:
    """Return: a parameter or leaf has a value that it can't have."""
    return NetconfError(type, "invalid-value", message, path=path, app_tag=app_tag)


def too_big(message: str) -> NetconfError:
    """Return: the message is larger than this server takes."""
    return NetconfError("rpc", "too-big", message)


def missing_attribute(attribute: str, element: str) -> NetconfError:
    """Return: an expected attribute is missing."""
    return NetconfError(
        "rpc" if element == "rpc" else "protocol",
        "missing-attribute",
        f"the attribute {attribute} of <{element}> is missing",
        info=(_bad("attribute", attribute), _bad("element", element)),
    )


def bad_attribute(
    attribute: str,
    element: str,
    message: str,
    *,
    type: str = "protocol",
    path: str | None = None,
    app_tag: str | None = None,
) -> NetconfError:
    """Return: an attribute has a value that it can't have."""
    return NetconfError(
        type,
        "bad-attribute",
        message,
        path=path,
        app_tag=app_tag,
        info=(_bad("attribute", attribute), _bad("element", element)),
    )


def unknown_attribute(attribute: str, element: str, *, type: str = "protocol", path: str | None = None) -> NetconfError:
    """Return: an attribute that has no meaning here."""
    return NetconfError(
        type,
        "unknown-attribute",
        f"the attribute {attribute} of <{element}> is unknown",
        path=path,
        info=(_bad("attribute", attribute), _bad("element", element)),
    )


def missing_element(
    element: str,
    *,
    type: str = "protocol",
    path: str | None = None,
    message: str | None = None,
) -> NetconfError:
    """Return: an expected element is missing."""
    return NetconfError(
        type,
        "missing-element",
        message or f"the element <{element}> is missing",
        path=path,
        info=(_bad("element", element),),
    )


def bad_element(element: str, message: str, *, type: str = "protocol", path: str | None = None) -> NetconfError:
    """Return: an element's value or place is not correct."""
    return NetconfError(type, "bad-element", message, path=path, info=(_bad("element", element),))


def unknown_element(
    element: str,
    *,
    type: str = "protocol",
    path: str | None = None,
    message: str | None = None,
) -> NetconfError:
    """Return: an element that is not expected here."""
    return NetconfError(
        type,
        "unknown-element",
        message or f"there is no <{element}> here",
        path=path,
        info=(_bad("element", element),),
    )


def unknown_namespace(element: str, namespace: str, *, type: str = "protocol", path: str | None = None) -> NetconfError:
    """Return: an element in a namespace that this server does not have."""
    return NetconfError(
        type,
        "unknown-namespace",
        f"no module with the namespace '{namespace}' is served (element <{element}>)",
        path=path,
        info=(_bad("element", element), _bad("namespace", namespace)),
    )


def access_denied(message: str, *, type: str = "protocol", path: str | None = None) -> NetconfError:
    """Return: the user may not do this."""
    return NetconfError(type, "access-denied", message, path=path)


def lock_denied(owner: int, message: str) -> NetconfError:
    """Return: the lock is held by the session ``owner`` (0: not a NETCONF session)."""
    return NetconfError("protocol", "lock-denied", message, info=((NETCONF, "session-id", str(owner)),))


def resource_denied(message: str) -> NetconfError:
    """Return: this server has not enough of something."""
    return NetconfError("protocol", "resource-denied", message)


def data_exists(path: str) -> NetconfError:
    """Return: what should be created is there already."""
    return NetconfError("application", "data-exists", f"{path} exists already", path=path)


def data_missing(path: str, message: str | None = None, *, app_tag: str | None = None) -> NetconfError:
    """Return: what the request rests on is not there."""
    return NetconfError("application", "data-missing", message or f"{path} does not exist", path=path, app_tag=app_tag)


def operation_not_supported(message: str, *, type: str = "protocol", path: str | None = None) -> NetconfError:
    """Return: this server does not do this."""
    return NetconfError(type, "operation-not-supported", message, path=path)


def operation_failed(
    message: str,
    *,
    type: str = "application",
    app_tag: str | None = None,
    path: str | None = None,
    info: tuple[Info, ...] = (),
) -> NetconfError:
    """Return: the request failed for a reason that no other condition covers."""
    return NetconfError(type, "operation-failed", message, app_tag=app_tag, path=path, info=info)


def rollback_failed(message: str, *, path: str | None = None) -> NetconfError:
    """Return: the change failed, and so did undoing it."""
    return NetconfError("application", "rollback-failed", message, path=path)


def malformed_message(message: str) -> NetconfError:
    """Return: the message is not well-formed XML, or not an rpc (base:1.1 only)."""
    return NetconfError("rpc", "malformed-message", message)


def is_incomplete(error: NetconfError) -> bool:
    """Return whether an error says that something is still missing, and nothing is wrong (RFC 7950 15.3, 15.6)."""
    if error.tag == "data-missing":
        return error.app_tag in {None, "missing-choice"}
    return error.app_tag == "too-few-elements"


def _bad(what: str, name: str) -> Info:
    return (NETCONF, f"bad-{what}", name)
