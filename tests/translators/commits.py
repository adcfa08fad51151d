"""What tests of whole commits share: devices, configurations, and questions to the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from translators.apply import PlanFailedError, apply
from translators.base import Plan
from translators.record import RecordedHost

if TYPE_CHECKING:
    from translators.host import Host

QAT_SERVICE = "/etc/init.d/qat_service"
IPSEC = "/usr/sbin/ipsec"
C3 = "c3xxx@0000:01:00.0"
C6A = "c6xx@0000:3d:00.0"
C6B = "c6xx@0000:3f:00.0"
VF = "c6xxvf@0000:3d:01.0"
Tree = dict[str, Any]
MakeGateway = Callable[..., RecordedHost]
CommitPlan = Callable[..., Plan]
Snapshot = Callable[[RecordedHost], dict[str, object]]

OFF: Tree = {"enabled": False, "ipsec-refresh": "restart"}
ON: Tree = {"enabled": True, "ipsec-refresh": "restart"}


def on(target: str, **leafs: object) -> Tree:
    return {**ON, "device": [{"address": target.partition("@")[2], "enabled": True, **leafs}]}


def lines(host: RecordedHost) -> list[str]:
    return [" ".join((argv[0].rpartition("/")[2], *argv[1:])) for argv in host.ran]


def up(host: RecordedHost) -> set[str]:
    vectors = host.files["/proc/interrupts"]
    assert isinstance(vectors, bytes)
    return {target for target in (C3, C6A, C6B, VF) if target.partition("@")[2].encode() in vectors}


def started(host: RecordedHost, *arguments: str) -> RecordedHost:
    host.run((QAT_SERVICE, "start", *arguments), timeout=1)
    host.ran.clear()
    return host


def failure_of(plan: Plan, host: Host) -> PlanFailedError | None:
    try:
        apply(plan, host)
    except PlanFailedError as failure:
        return failure
    return None
