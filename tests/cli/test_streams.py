"""Outputs that can't be written, readers that leave, Ctrl-C at any moment."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import DEADLINE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gateway, Result

# A command that presses Ctrl-C itself, when the module that is named is being looked for.
INTERRUPTED = """
import os, signal, sys
module = sys.argv.pop(1)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from agent.__main__ import main
sys.exit(main())
"""


def shell(gateway: Gateway, script: str) -> Result:
    """Run a line of a shell in which ``$SHOW`` is the show command and its connection."""
    show = f"{sys.executable} -m agent show --unix-socket {gateway.ready['unix_socket']} --format json"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        cwd=gateway.home,
        env={"PATH": os.environ["PATH"], "SHOW": show, "AGENT": f"{sys.executable} -m agent"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.needs("bash")
def test_a_reader_that_has_gone_is_no_fault(gateway: Gateway) -> None:
    result = shell(gateway, "$SHOW qat | true")

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.needs("bash")
def test_a_full_disk_is_told(gateway: Gateway) -> None:
    result = shell(gateway, "$SHOW qat > /dev/full")

    assert (result.returncode, result.stderr) == (
        1,
        "accel-agent: the output can't be written: No space left on device\n",
    )


@pytest.mark.needs("bash")
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_a_full_disk_is_told_by_the_help_too(gateway: Gateway, flag: str) -> None:
    result = shell(gateway, f"$AGENT {flag} > /dev/full")

    assert (result.returncode, result.stderr) == (
        1,
        "accel-agent: the output can't be written: No space left on device\n",
    )


@pytest.mark.needs("bash")
@pytest.mark.parametrize("words", ["$SHOW qat", "$AGENT --help", "$AGENT completion bash"])
def test_an_output_that_is_closed_is_told(gateway: Gateway, words: str) -> None:
    result = shell(gateway, f"{words} >&-")

    assert (result.returncode, result.stderr) == (
        1,
        "accel-agent: the output can't be written: Bad file descriptor\n",
    )


@pytest.mark.needs("bash")
def test_what_prints_nothing_needs_no_output(gateway: Gateway) -> None:
    result = shell(gateway, f"$AGENT discard --unix-socket {gateway.ready['unix_socket']} <&- >&-")

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.needs("bash")
def test_errors_that_nobody_takes_are_not_output(gateway: Gateway) -> None:
    result = shell(gateway, "$AGENT plan --unix-socket /nowhere/a.sock 2>&-")

    assert (result.returncode, result.stdout) == (1, "")


@pytest.mark.needs("bash")
def test_an_agent_whose_ready_line_nobody_takes_has_failed(gateway: Gateway) -> None:
    result = shell(gateway, "$AGENT demo --json > /dev/full")

    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "accel-agent: the line that tells what is served can't be written: No space left on device"
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("agent.cli", ("show", "qat")),
        ("argparse", ("show", "qat")),
        ("agent.cli.show", ("show", "qat")),
        ("lxml", ("show", "qat")),
        ("ncclient", ("show", "qat")),
        ("simulator", ("demo",)),
        ("asyncssh", ("demo",)),
        ("agent.relay", ("relay",)),
    ],
)
def test_ctrl_c_while_modules_are_loaded(tmp_path: Path, module: str, words: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, *words],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )

    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")
