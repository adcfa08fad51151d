"""Agents that do what no good agent does: every failure is one line, and no traceback."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from agent.cli import client
from agent.cli.connection import add_connection, repeated
from tests.cli.conftest import COMMAND, DEADLINE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result, ScriptedAgent

    Run = Callable[..., Result]
    Start = Callable[..., ScriptedAgent]

CAPABILITY = "urn:ietf:params:netconf:capability:"
HELLO = (
    b'<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities>'
    b"<capability>urn:ietf:params:netconf:base:1.0</capability></capabilities><session-id>7</session-id></hello>"
)


def failed(result: Result) -> str:
    """Return the one line of a command that failed."""
    assert result.returncode == 1, result
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("accel-agent: ")


def test_no_socket(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "none.sock"

    assert failed(run("show", "qat", "--unix-socket", str(path))) == (
        f"there is no socket {path}: start accel-agent serve, or give --unix-socket or --host"
    )


def test_the_default_is_the_settings_files(run: Run) -> None:
    assert "there is no socket /run/accel-agent/netconf.sock:" in run("show", "qat").stderr


def test_a_socket_that_nobody_serves(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(path))

    assert failed(run("plan", "--unix-socket", str(path))).startswith(f"no agent answers on {path}: start accel-agent")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EACCES, "may not use /run/a.sock: become root, or join the group that [listen] unix-group names"),
        (errno.ENOTDIR, "there is no socket /run/a.sock: start accel-agent serve, or give --unix-socket or --host"),
        (errno.EAGAIN, "no agent can be reached on /run/a.sock: Resource temporarily unavailable"),
    ],
)
def test_other_reasons_of_a_socket(code: int, words: str) -> None:
    assert client._no_socket("/run/a.sock", OSError(code, os.strerror(code))) == words


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-x\r\n]]>]]>", b"<rpc-reply/>]]>]]>"])
def test_what_is_no_agent(run: Run, scripted: Start, greeting: bytes) -> None:
    path = scripted(greeting=greeting).path

    line = failed(run("show", "qat", "--unix-socket", str(path), "--timeout", "1"))

    assert line == f"what listens on {path} refused the session, or is no NETCONF agent: see the agent's log"


def test_an_agent_that_hangs_up(run: Run, scripted: Start) -> None:
    path = scripted(replies={"get": None}).path

    began = time.monotonic()
    line = failed(run("show", "qat", "--unix-socket", str(path), "--timeout", "20"))

    assert line == f"the agent ended the session ({path}): see its log"
    assert time.monotonic() - began < 10


def test_an_agent_that_is_busy_is_waited_for_once(run: Run, scripted: Start) -> None:
    agent = scripted(silent=("commit", "close-session"))

    began = time.monotonic()
    line = failed(run("commit", "--unix-socket", str(agent.path), "--timeout", "3"))

    assert line.startswith("the agent did not answer within 3 s")
    assert time.monotonic() - began < 5.5
    assert not any("<nc:close-session" in asked for asked in agent.asked)


@pytest.mark.parametrize("confirmed", [False, True])
def test_ctrl_c_ends_the_wait_for_a_commit(tmp_path: Path, scripted: Start, *, confirmed: bool) -> None:
    agent = scripted(silent=("commit",), capabilities=(f"{CAPABILITY}confirmed-commit:1.1",))
    words = ["commit", "--unix-socket", str(agent.path), *(["--confirmed", "90"] if confirmed else [])]
    with subprocess.Popen(
        [*COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + DEADLINE
        while not any("<nc:commit" in asked for asked in agent.asked) and time.monotonic() < deadline:
            time.sleep(0.01)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()

    assert time.monotonic() - began < 5
    token = agent.asked[-1].partition("<nc:persist>")[2].partition("<")[0]
    keep = f"; to keep it: accel-agent commit --persist-id {token} --unix-socket {agent.path}" if confirmed else ""
    assert (process.returncode, output) == (130, "")
    assert errors == f"accel-agent: the commit goes on: look at accel-agent show qat status{keep}\n"


def test_a_file_that_is_no_socket(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "passwd"
    path.touch()

    assert failed(run("show", "qat", "--unix-socket", str(path))) == (
        f"{path} is no socket: give the agent's with --unix-socket, or --host"
    )


def test_a_path_that_no_socket_can_have(run: Run) -> None:
    path = f"/run/{'x' * 120}.sock"

    assert failed(run("show", "qat", "--unix-socket", path)) == (
        f"{path} is too long for a socket's path: give a shorter one, such as one from this directory"
    )


def test_an_agent_that_is_silent(run: Run, scripted: Start) -> None:
    path = scripted(greeting=HELLO + b"]]>]]>", replies={"get": ""}, mute=True).path

    assert failed(run("show", "qat", "--unix-socket", str(path), "--timeout", "1")) == (
        "the agent did not answer within 1 s and may still be at work: look at it again, or give a longer --timeout"
    )


def test_a_reply_without_data(run: Run, scripted: Start) -> None:
    path = scripted(replies={"get": "<ok/>"}).path

    assert failed(run("show", "cpu", "--unix-socket", str(path))) == "the agent's reply has no data"


def test_errors_of_the_agent_are_one_line(run: Run, scripted: Start) -> None:
    path = scripted(
        replies={
            "edit-config": "".join(
                f"<rpc-error><error-type>application</error-type><error-tag>{tag}</error-tag>"
                f"<error-severity>error</error-severity>{more}</rpc-error>"
                for tag, more in (
                    (
                        "operation-failed",
                        "<error-app-tag>too-much</error-app-tag><error-message>no\n  way</error-message>",
                    ),
                    ("bad-element", "<error-path>/a:b</error-path><error-message>not &#x9b;2J this</error-message>"),
                    ("in-use", ""),
                )
            )
        }
    ).path

    assert failed(run("set", "qat", "enabled", "true", "--unix-socket", str(path))) == (
        "no way (too-much); not 2J this (bad-element, /a:b); "
        "the agent gave no reason (in-use): try again when that session is done; kill-session ends it"
    )


def test_who_may_not_is_told_where_that_is_said(run: Run, scripted: Start) -> None:
    refused = (
        "<rpc-error><error-type>protocol</error-type><error-tag>access-denied</error-tag>"
        "<error-severity>error</error-severity><error-message>not you</error-message></rpc-error>"
    )
    path = str(scripted(replies={"edit-config": refused}).path)

    assert failed(run("set", "qat", "enabled", "true", "--unix-socket", path)) == (
        "not you (access-denied): docs/access-control.md says who may what; over SSH, --user says who asks"
    )


def test_debug_shows_the_traceback(run: Run, tmp_path: Path) -> None:
    result = run("--debug", "show", "qat", "--unix-socket", str(tmp_path / "none.sock"))

    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "agent.cli.errors.CommandError: there is no socket" in result.stderr


def test_set_leaves_the_test_option_to_the_agent_and_delete_makes_nothing_on_the_way(run: Run, scripted: Start) -> None:
    agent = scripted()

    assert run("delete", "qat", "device", "5:00.0", "services", "--unix-socket", str(agent.path)).returncode == 0

    edit = agent.asked[0]
    assert "<nc:default-operation>none</nc:default-operation>" in edit
    assert "<nc:target><nc:candidate/></nc:target>" in edit.replace(" />", "/>")
    assert 'nc:operation="delete"' in edit
    assert "test-option" not in edit


def test_save_copies_running_to_startup_where_there_is_one(run: Run, scripted: Start) -> None:
    agent = scripted(capabilities=(f"{CAPABILITY}startup:1.0",))

    assert run("save", "--unix-socket", str(agent.path)).returncode == 0

    assert "<nc:copy-config><nc:target><nc:startup/></nc:target><nc:source><nc:running/>" in agent.asked[0]


def test_a_confirmed_commit_outlives_the_session(run: Run, scripted: Start) -> None:
    agent = scripted(capabilities=(f"{CAPABILITY}confirmed-commit:1.1",))

    result = run("commit", "--confirmed", "77", "--unix-socket", str(agent.path))

    plan, asked, *_ = agent.asked
    assert "<ha:plan" in plan
    token = asked.partition("<nc:persist>")[2].partition("<")[0]
    assert "<nc:confirmed/><nc:confirm-timeout>77</nc:confirm-timeout>" in asked
    assert len(token) == 16
    assert result.stdout.splitlines() == [
        f"committed for 77 s; to keep it: accel-agent commit --persist-id {token} --unix-socket {agent.path}",
        f"to undo it now: accel-agent commit --cancel --persist-id {token} --unix-socket {agent.path}",
    ]


def test_where_the_agent_is_is_told_again_as_a_shell_takes_it() -> None:
    parser = argparse.ArgumentParser()
    add_connection(parser)
    where = ["--host", "2001:db8::7", "--port", "8300", "--user", "o'brien", "--key", "my keys/id"]
    options = parser.parse_args([*where, "--timeout", "9"])

    assert repeated(options).startswith(" --host ")
    assert shlex.split(repeated(options)) == where
    assert repeated(parser.parse_args([])) == ""


def test_a_candidate_that_no_agent_compares_is_committed_all_the_same(run: Run, scripted: Start) -> None:
    refused = (
        "<rpc-error><error-type>protocol</error-type><error-tag>operation-not-supported</error-tag>"
        "<error-severity>error</error-severity></rpc-error>"
    )
    path = str(scripted(replies={"cp:compare": refused}).path)

    assert run("commit", "--unix-socket", path).stdout == "committed\n"


@pytest.mark.parametrize("words", ["--persist-id x", "--cancel", "--cancel --persist-id x", "--confirmed 9"])
def test_a_confirmed_commit_where_there_is_none(run: Run, scripted: Start, words: str) -> None:
    agent = scripted()

    assert failed(run("commit", *words.split(), "--unix-socket", str(agent.path))) == (
        "this agent does not offer :confirmed-commit: commit without it"
    )
    assert not any("commit" in asked for asked in agent.asked)


def test_a_confirmed_commit_is_confirmed_by_its_token(run: Run, scripted: Start) -> None:
    agent = scripted(capabilities=(f"{CAPABILITY}confirmed-commit:1.1",))

    assert run("commit", "--persist-id", "0d0e", "--unix-socket", str(agent.path)).stdout == "committed\n"

    assert "<nc:commit><nc:persist-id>0d0e</nc:persist-id></nc:commit>" in agent.asked[0]


def test_the_session_is_ended_in_order(run: Run, scripted: Start) -> None:
    agent = scripted()

    assert run("discard", "--unix-socket", str(agent.path)).returncode == 0

    assert ["<nc:discard-changes" in agent.asked[0], "<nc:close-session" in agent.asked[1]] == [True, True]
