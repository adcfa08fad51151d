"""``monitor`` on a terminal: the live screen, its keys, and a terminal that is left as it was."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.terminal import ENTER, HIDE, LEAVE, SHOW, Terminal
from tests.system.client import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Gateway, Result, ScriptedAgent
    from tests.system.gateway import Gateway as Machine

    Run = Callable[..., Result]
    Start = Callable[..., ScriptedAgent]

ERROR = (
    "<rpc-error><error-type>application</error-type><error-tag>operation-failed</error-tag>"
    "<error-severity>error</error-severity><error-message>the bus can't be read</error-message></rpc-error>"
)


def on_terminal(gateway: Gateway, *flags: str, term: str = "xterm-256color", no_color: str = "") -> Terminal:
    """Run monitor in a terminal."""
    words = ("monitor", "--interval", "1", "--unix-socket", gateway.ready["unix_socket"], *flags)
    return Terminal(*COMMAND, *words, home=gateway.home, TERM=term, NO_COLOR=no_color)


def drawn(terminal: Terminal, columns: int, rows: int) -> Callable[[], bool]:
    """Return what tells whether the last picture fills a terminal of a size."""

    def holds() -> bool:
        lines = terminal.picture()
        return [len(line) for line in lines] == [columns] * rows and any("qat_dev0" in line for line in lines)

    return holds


@pytest.mark.parametrize("key", ["q", "Q", "\x03"])
def test_a_key_leaves_the_terminal_as_it_was(up: Gateway, key: str) -> None:
    with on_terminal(up) as terminal:
        terminal.until(drawn(terminal, 100, 24), "a picture")
        assert terminal.modes() != terminal.before
        terminal.type(f"x{key}")

        assert terminal.ended() == 0
        assert terminal.modes() == terminal.before
    assert terminal.seen.count(ENTER) == terminal.seen.count(LEAVE) == 1
    assert terminal.seen.rpartition(HIDE)[2].count(SHOW) == 1
    assert "Traceback" not in terminal.seen


def test_a_signal_leaves_the_terminal_as_it_was(up: Gateway) -> None:
    with on_terminal(up) as terminal:
        terminal.until(drawn(terminal, 100, 24), "a picture")
        terminal.process.terminate()

        assert terminal.ended() == 0
        assert terminal.modes() == terminal.before
    assert terminal.seen.count(LEAVE) == 1


def test_a_terminal_that_gets_another_size_is_drawn_anew(up: Gateway) -> None:
    with on_terminal(up, "--interval", "600") as terminal:
        terminal.until(drawn(terminal, 100, 24), "a picture")
        terminal.resize(40, 12)
        terminal.until(drawn(terminal, 40, 12), "a smaller picture")
        terminal.resize(130, 50)
        terminal.until(drawn(terminal, 130, 50), "a larger picture")
        terminal.type("q")
        assert terminal.ended() == 0


def test_pictures_follow_one_another(up: Gateway) -> None:
    with on_terminal(up) as terminal:
        terminal.until(lambda: any("██" in line or "▇" in line for line in terminal.picture()), "a sparkline")
        terminal.type("q")
        assert terminal.ended() == 0


def test_no_color_is_heeded(up: Gateway) -> None:
    colours = re.compile(r"\x1b\[[0-9;]*3[0-7]")
    # An empty one counts as none at all (no-color.org).
    for value, coloured in (("", True), ("1", False)):
        with on_terminal(up, no_color=value) as terminal:
            terminal.until(drawn(terminal, 100, 24), "a picture")
            terminal.type("q")
            assert terminal.ended() == 0
        assert bool(colours.search(terminal.seen)) == coloured


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(up: Gateway) -> None:
    with on_terminal(up, term="dumb") as terminal:
        terminal.until(lambda: terminal.seen.count("last events") > 1, "pictures")
        terminal.type("\x03")
        assert terminal.ended() == 0
    assert "\x1b" not in terminal.seen


@pytest.mark.needs("bash")
def test_ctrl_z_gives_the_shell_its_terminal_back(up: Gateway) -> None:
    command = " ".join([*COMMAND, "monitor", "--interval", "1", "--unix-socket", up.ready["unix_socket"]])
    with Terminal("bash", "--norc", "--noediting", "-i", home=up.home, PS1="$ ") as terminal:
        terminal.until(lambda: terminal.seen.endswith("$ "), "a prompt")
        terminal.type(f"{command}\n")
        terminal.until(drawn(terminal, 100, 24), "a picture")
        terminal.type("\x1a")
        terminal.until(lambda: "Stopped" in terminal.seen.rpartition(LEAVE)[2], "the shell again")
        terminal.type("fg\n")
        terminal.until(lambda: terminal.seen.count(ENTER) == 2 and drawn(terminal, 100, 24)(), "a picture again")
        terminal.type("q")
        terminal.until(lambda: terminal.seen.endswith("$ "), "a prompt")
        terminal.type("echo status=$?; exit\n")
        terminal.ended()
    assert "status=0" in terminal.seen
    assert terminal.seen.count(LEAVE) == 2


def test_the_screen_says_when_the_agent_is_gone_and_when_it_is_back(machine: Machine) -> None:
    words = ("monitor", "--interval", "1", "--unix-socket", str(machine.socket))
    with Terminal(*COMMAND, *words, home=machine.folder) as terminal:
        terminal.until(drawn(terminal, 100, 24), "a picture")
        machine.kill()
        terminal.until(lambda: "trying again in" in terminal.line(1), "that it is gone")
        # What was known is still there.
        assert any("qat_dev0" in line for line in terminal.picture())
        machine.start()
        terminal.until(lambda: terminal.line(1).startswith("QAT: configured yes"), "that it is back")
        terminal.type("q")
        assert terminal.ended() == 0


def test_a_password_is_typed_once(machine: Machine) -> None:
    where = ["--host", "127.0.0.1", "--port", str(machine.port), "--user", USER, "--accept-new-host-key"]
    prompt = f"{USER}@127.0.0.1's password: "
    with Terminal(*COMMAND, "monitor", "--interval", "1", *where, home=machine.folder) as terminal:
        terminal.until(lambda: terminal.seen.endswith(prompt), "the question")
        terminal.type(f"{PASSWORD}\n")
        terminal.until(drawn(terminal, 100, 24), "a picture")
        machine.kill()
        terminal.until(lambda: "trying again in" in terminal.line(1), "that it is gone")
        machine.start("--listen", f"127.0.0.1:{machine.port}")
        terminal.until(lambda: terminal.line(1).startswith("QAT: configured yes"), "that it is back")
        terminal.type("q")
        assert terminal.ended() == 0
    assert terminal.seen.count("password: ") == 1


def test_keys_count_while_the_agent_does_not_answer(machine: Machine) -> None:
    words = ("monitor", "--interval", "1", "--unix-socket", str(machine.socket))
    with Terminal(*COMMAND, *words, home=machine.folder) as terminal:
        terminal.until(drawn(terminal, 100, 24), "a picture")
        os.kill(machine.pid, signal.SIGSTOP)
        try:
            terminal.until(lambda: "no answer for" in terminal.line(0), "that there is no answer")
            terminal.type("q")
            assert terminal.ended() == 0
        finally:
            os.kill(machine.pid, signal.SIGCONT)


def test_a_session_is_ended_in_order(machine: Machine) -> None:
    words = ("monitor", "--interval", "1", "--unix-socket", str(machine.socket))
    with Terminal(*COMMAND, *words, home=machine.folder) as terminal:
        terminal.until(drawn(terminal, 100, 24), "a picture")
        terminal.type("q")
        assert terminal.ended() == 0

    assert machine.log.read_text().splitlines()[-1].endswith("ended, closed")


def test_a_refused_read_is_a_problem_and_no_end(run: Run, scripted: Start) -> None:
    agent = scripted(replies={"get": ERROR})
    with Terminal(
        *COMMAND, "monitor", "--interval", "1", "--unix-socket", str(agent.path), home=agent.path.parent
    ) as terminal:
        terminal.until(lambda: sum("<nc:get" in asked for asked in agent.asked) > 1, "another request")
        terminal.until(lambda: "the bus can't be read" in terminal.line(1), "the problem")
        terminal.type("q")
        assert terminal.ended() == 0
