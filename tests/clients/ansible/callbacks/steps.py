"""What Ansible shows of a play: a line of JSON for each task that is named after a step."""

from __future__ import annotations

import json
import sys
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: steps
type: stdout
short_description: a line of JSON for each step
description: Prints what came of a step, and waits for a line before the play goes on.
"""
STEPS = {
    "hello", "get", "get-config", "lock", "edit-config", "error", "validate", "commit", "unlock", "up", "off", "down",
}  # fmt: skip


class CallbackModule(CallbackBase):  # type: ignore[misc]  # the library is not where types are checked
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "steps"

    def v2_runner_on_ok(self, result: Any) -> None:
        self._say(result.task, result.result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if ignore_errors:
            self._say(result.task, result.result, seen="failed task", message=result.result["msg"])
        else:
            self._fail(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._fail(result)

    def _fail(self, result: Any) -> None:
        sys.stderr.write(f"{result.task.get_name()}: {result.result}\n")

    def _say(self, task: Any, found: dict[str, Any], **more: object) -> None:
        step = task.get_name()
        if step not in STEPS:
            return
        more["how"] = "rpc" if task.action.endswith("netconf_rpc") else "api"
        if task.action.endswith("netconf_get"):
            more["text"] = found["stdout"]
        if "server_capabilities" in found:
            more["capabilities"] = found["server_capabilities"]
        sys.stdout.write(json.dumps({"step": step, **more}) + "\n")
        sys.stdout.flush()
        sys.stdin.readline()
