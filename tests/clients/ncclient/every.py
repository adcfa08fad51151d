"""Every operation that ncclient has, one line each: what came of it.

``done`` with the reply's text, ``refused`` with the error's tag, or ``not offered``: the library sends nothing for
which the hello lacks the capability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import steps
from ncclient import manager
from ncclient.operations import MissingCapabilityError, RPCError
from ncclient.operations.retrieve import WithDefaultsError
from ncclient.xml_ import to_ele

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = f'<config xmlns="{steps.NETCONF}">{{}}</config>'
ON = CONFIG.format(steps.ON)
PLAN = f'<plan xmlns="{steps.HA}"/>'


def main() -> None:
    gateway = steps.gateway()
    session, other = _connect(gateway), _connect(gateway)
    steps.say("hello", session_id=session.session_id, capabilities=list(session.server_capabilities))

    _retrieve(session)
    _edit(session)
    _commit(session)

    _tell("kill_session", session.kill_session, other.session_id)
    _tell("create_subscription", session.create_subscription)
    for operation in ("poweroff_machine", "reboot_machine"):
        _tell(operation, getattr(session, operation))
    session.async_mode = True
    sent = [session.get_config("running", filter=("subtree", steps.INTERVAL)) for _ in range(20)]
    for one in sent:
        assert one.event.wait(30)
    steps.say("async_mode", outcome="done", text=" ".join(one.reply.xml for one in sent))
    session.async_mode = False
    _tell("close_session", session.close_session)


def _retrieve(session: Any) -> None:
    _tell("get", session.get, ("subtree", steps.STATE))
    _tell("get xpath", session.get, ("xpath", ({"ha": steps.HA}, "/ha:acceleration/ha:qat/ha:device/ha:oper-status")))
    _tell("get_config", session.get_config, "running", ("subtree", steps.INTERVAL))
    _tell("get_config candidate", session.get_config, "candidate", ("subtree", steps.INTERVAL))
    _tell("get_config startup", session.get_config, "startup")
    for mode in ("explicit", "trim", "report-all", "report-all-tagged"):
        _tell(f"get_config {mode}", session.get_config, "running", ("subtree", steps.qat("<health/>")), mode)
    _tell("get_schema", session.get_schema, "hardware-acceleration")
    _tell("get_schema version", session.get_schema, "ietf-netconf-monitoring", "2010-10-04", "yang")
    _tell("get_schema unknown", session.get_schema, "no-such-module")


def _edit(session: Any) -> None:
    for operation in ("merge", "replace", "none"):
        content = CONFIG.format(steps.INTERVAL.replace("<interval/>", "<interval>17</interval>"))
        _tell(f"edit_config {operation}", session.edit_config, content, target="candidate", default_operation=operation)
    for test in ("test-then-set", "set", "test-only"):
        _tell(f"edit_config {test}", session.edit_config, ON, target="candidate", test_option=test)
    for error in ("stop-on-error", "continue-on-error", "rollback-on-error"):
        _tell(f"edit_config {error}", session.edit_config, ON, target="candidate", error_option=error)
    _tell("edit_config wrong", session.edit_config, CONFIG.format(steps.WRONG), target="candidate")
    _tell("edit_config running", session.edit_config, ON, target="running")
    _tell("discard_changes", session.discard_changes)
    _tell("copy_config", session.copy_config, source="running", target="candidate")
    _tell("delete_config", session.delete_config, "candidate")
    _tell("validate", session.validate, "candidate")
    _tell("validate config", session.validate, to_ele(ON))


def _commit(session: Any) -> None:
    _tell("lock", session.lock, "candidate")
    _tell("lock twice", session.lock, "candidate")
    _tell("edit_config", session.edit_config, ON, target="candidate")
    _tell("dispatch", session.dispatch, to_ele(PLAN))
    _tell("commit confirmed", session.commit, confirmed=True, timeout="600")
    _tell("cancel_commit", session.cancel_commit)
    _tell("edit_config again", session.edit_config, ON, target="candidate")
    _tell("commit", session.commit)
    _tell("unlock", session.unlock, "candidate")
    with session.locked("candidate"):
        _tell("locked", session.edit_config, CONFIG.format(steps.OFF), target="candidate")
        _tell("rpc", session.rpc, to_ele(PLAN))
        _tell("commit off", session.commit)


def _connect(gateway: steps.Gateway) -> Any:
    return manager.connect(
        host=gateway.host,
        port=gateway.port,
        username=gateway.user,
        password=gateway.password,
        hostkey_b64=gateway.hostkeys["ed25519"],
        allow_agent=False,
        look_for_keys=False,
    )


def _tell(step: str, operation: Callable[..., Any], *arguments: object, **more: object) -> None:
    try:
        reply = operation(*arguments, **more)
    except RPCError as error:
        steps.say(step, outcome="refused", tag=error.tag, path=error.path)
    except (MissingCapabilityError, WithDefaultsError):
        steps.say(step, outcome="not offered")
    else:
        steps.say(step, outcome="done", text=reply.data if step.startswith("get_schema") else reply.xml)


main()
