"""The command itself: help, usage, what it loads, completion, and outputs that can't be written."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agent
from agent import cli
from agent.cli import serve
from agent.cli.connection import Target
from agent.settings import LISTEN, UNIX, Settings, Ssh, StartError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Gateway, Result

    Run = Callable[..., Result]

COMMANDS = [
    ("serve",),
    ("demo",),
    ("simulate",),
    ("show",),
    ("show", "qat"),
    ("show", "qat", "status"),
    ("show", "qat", "device"),
    ("show", "qat", "interrupts"),
    ("show", "cpu"),
    ("show", "kernel-crypto"),
    ("show", "ipsec"),
    ("monitor",),
    ("doctor",),
    ("set",),
    ("delete",),
    ("plan",),
    ("commit",),
    ("discard",),
    ("load",),
    ("save",),
    ("relay",),
    ("completion",),
]


def exit_of(*words: str) -> int:
    """Return the exit status of a command that argparse ends."""
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_help_has_examples(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert exit_of(*words, "--help") == 0

    text = capsys.readouterr().out
    assert f"usage: accel-agent {' '.join(words)} " in text
    assert f"accel-agent {' '.join(words)}" in text.partition("\nexamples:\n")[2]


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("--help") == 0

    text = capsys.readouterr().out
    assert {words[0] for words in COMMANDS} <= {line.split()[0] for line in text.splitlines() if line.strip()}


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("--version") == 0
    assert capsys.readouterr().out == f"accel-agent {agent.__version__}\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("shwo qat", "invalid choice: 'shwo', did you mean show?; see accel-agent --help"),
        ("shwo set", "invalid choice: 'shwo', did you mean show?"),
        ("xyzzy", "invalid choice: 'xyzzy', there are serve, demo, "),
        ("show", "the following arguments are required: SUBJECT"),
        ("show qat flows", "invalid choice: 'flows', there are status, device, interrupts; see accel-agent show qat"),
        ("show qat device qat_dev0", "the following arguments are required: view"),
        ("show qat device qat_dev0 counters", "invalid choice: 'counters'"),
        ("show qat --format yaml", "invalid choice: 'yaml'"),
        ("show cpu --host a --unix-socket b", "--host and --unix-socket exclude each other"),
        ("show cpu --port 830", "--port is for SSH: give --host too"),
        ("plan --password-file x", "--password-file is for SSH: give --host too"),
        ("show cpu --accept-new-host-key", "--accept-new-host-key is for SSH: give --host too"),
        ("show cpu --host a --port 0", "argument --port: '0' is no number from 1 to 65535"),
        ("show cpu --host a --port 65536", "argument --port: '65536' is no number from 1 to 65535"),
        ("show cpu --host --port 830", "argument --host: expected one argument"),
        ("show cpu --host -a", "there is no option -a; see accel-agent show cpu"),
        ("show cpu --host=-a", "argument --host: '-a' is no host name and no IP address"),
        ("show cpu --timeout 0", "argument --timeout: '0' is no number from 1 to 86400"),
        ("monitor --interval 0", "argument --interval: '0' is no number from 1 to 3600"),
        ("monitor --interval 1.5", "argument --interval: '1.5' is no number from 1 to 3600"),
        ("monitor --count 0", "argument --count: '0' is no number from 1 to "),
        ("monitor --once --count 2", "argument --count: not allowed with argument --once"),
        ("monitor --format xml", "argument --format: invalid choice: 'xml', there are table, json"),
        ("monitor --key x", "--key is for SSH: give --host too"),
        ("set", "the following arguments are required: WORD"),
        ("commit --confirmed 0", "argument --confirmed: '0' is no number from 1 to "),
        ("commit --confirmed 9 --persist-id x", "--confirmed and --persist-id exclude each other"),
        ("commit --confirmed 9 --cancel", "argument --cancel: not allowed with argument --confirmed"),
        ("serve --user x", "--user and --password-file belong together: give both or neither"),
        ("serve --password-file x", "--user and --password-file belong together: give both or neither"),
        ("demo --no-device --device c6xx", "--no-device and --device exclude each other"),
        ("demo --kernel banana", "argument --kernel: 'banana' is not a version of Linux such as 6.12"),
        ("demo --device c6xx --device 4xxx", "a machine has one driver"),
        ("simulate x --kernel banana", "of which the drivers are played: c3xxx from 4.5 on, "),
        ("simulate x --kernel banana", "4xxx from 6.0 on, 401xx from 6.0 on, 402xx from 6.4 on, "),
        ("simulate x --kernel 5.10 --device 4xxx", "a 4xxx is simulated with Linux 6.0 and later only, not with 5.10"),
        ("simulate x --driver own", "argument --driver: invalid choice: 'own', there are in-tree, out-of-tree"),
        ("simulate x --driver in-tree --device d15xx", "Linux itself has no driver for a d15xx"),
        ("relay x", "unrecognized arguments: x; see accel-agent relay --help"),
        ("plan --sorce running", "there is no option --sorce, did you mean --source?; see accel-agent plan"),
        ("show qat --formt json", "there is no option --formt, did you mean --format?; see accel-agent show qat"),
        ("show --formt=json qat", "there is no option --formt, did you mean --format?; see accel-agent show"),
        ("set qat enabled true --hosst x", "there is no option --hosst, did you mean --host?; see accel-agent set"),
        ("doctor -f json", "there is no option -f; see accel-agent doctor"),
        ("--unix-socket x show qat", "the option --unix-socket belongs after the command; see accel-agent --help"),
        ("relay --unix-socket", "argument --unix-socket: expected one argument"),
    ],
)
def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str], words: str, problem: str) -> None:
    assert exit_of(*words.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert problem in line
    assert line.endswith(" --help")


@pytest.mark.parametrize(
    "words", ["set qat health -3", "set qat health -.5", "set -- qat --health", "show qat --fo json"]
)
def test_what_begins_with_a_dash_may_be_a_value_or_a_beginning(words: str) -> None:
    parser = cli._parser(("show", "configure"))
    options = parser.parse_args(words.split())

    assert getattr(options, "format", None) == "json" or options.words[0] == "qat"


def test_wrong_words_of_set_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("set", "qat", "enable", "true") == 2
    assert capsys.readouterr().err == "accel-agent: qat has no 'enable': did you mean enabled?\n"


def test_the_help_of_simulate_says_how_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("simulate", "--help") == 0
    text = capsys.readouterr().out
    assert "It ends when the devices are stopped\n(DIR/etc/init.d/qat_service stop)" in text
    assert "pip install 'accel-agent[simulate-fuse]'" in text


def test_a_password_file_of_serve_that_is_not_there(run: Run, tmp_path: Path) -> None:
    result = run("serve", "--user", "x", "--password-file", str(tmp_path / "none"))

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"accel-agent: the password file {tmp_path}/none can't be read: No such file or directory\n"


@pytest.mark.parametrize(("flags", "name"), [((), "[listen] ssh"), (("--listen", "192.0.2.1:0"), "--listen")])
def test_what_is_to_be_corrected_is_named_as_it_was_given(
    run: Run, tmp_path: Path, flags: tuple[str, ...], name: str
) -> None:
    (tmp_path / "a.toml").write_text('[listen]\nssh = ["192.0.2.1:0"]\nunix = ""\n')
    result = run("serve", "--config", "a.toml", "--state-dir", "state", "--sysroot", str(tmp_path), *flags)

    assert (result.returncode, result.stdout) == (1, "")
    said = result.stderr.splitlines()[-1]
    assert said == f"accel-agent: cannot listen on 192.0.2.1:0: this machine has no such address: correct {name}"


def test_without_a_settings_file_options_are_named() -> None:
    options = argparse.Namespace(listen=None, unix_socket=Path("a.sock"))

    assert serve._given(options, None) == {LISTEN: "the default with --listen", UNIX: "--unix-socket"}
    assert serve._given(options, Path("agent.toml")) == {UNIX: "--unix-socket"}
    message = StartError("correct", setting=LISTEN).named(serve._given(options, None))
    assert str(message) == "correct the default with --listen"


def test_a_state_directory_holds_the_host_key_unless_the_settings_name_one() -> None:
    def host_keys(ssh: Ssh) -> tuple[Path, ...]:
        return serve.with_listen(Settings(ssh=ssh), None, None, Path("state")).ssh.host_keys

    assert host_keys(Ssh(authorized_keys="/keys/%u")) == (Path("state/ssh_host_ed25519_key"),)
    assert host_keys(Ssh(host_keys=(Path("/own/key"),))) == (Path("/own/key"),)


def test_an_ipv6_address_may_be_in_brackets() -> None:
    parser = cli._parser(("show",))
    options = parser.parse_args(["show", "cpu", "--host", "[2001:db8::7]"])

    assert options.host == "2001:db8::7"
    assert str(Target(host=options.host, port=8300)) == "2001:db8::7 port 8300"


def test_show_does_not_wait_for_what_it_does_not_need(gateway: Gateway) -> None:
    script = "import sys; from agent import cli; print(cli.main(sys.argv[1:])); print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script, "show", "qat", "status", "--unix-socket", gateway.ready["unix_socket"]],
        cwd=gateway.home,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    *_, status, modules = result.stdout.splitlines()
    assert status == "0"
    assert "ncclient" in modules.split()
    heavy = {"asyncio", "asyncssh", "oopt_gnpy_libyang", "paramiko", "pyang", "agent.app", "agent.model", "simulator"}
    assert not heavy & set(modules.split())


def completed(line: str, home: Path) -> list[str]:
    """Return what the shell is offered at the end of a command line."""
    answer = home / "answer"
    subprocess.run(
        [sys.executable, "-m", "agent"],
        cwd=home,
        env={
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "HOME": str(home),
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "COMP_TYPE": "9",
        },
        capture_output=True,
        timeout=30,
        check=True,
    )
    return [word.strip() for word in answer.read_text().split("\n") if word.strip()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("accel-agent s", ["serve", "simulate", "show", "set", "save"]),
        ("accel-agent show ", ["qat", "cpu", "kernel-crypto", "ipsec"]),
        ("accel-agent show qat ", ["status", "device", "interrupts"]),
        ("accel-agent show qat device x ", ["config", "flows"]),
        ("accel-agent show qat --format ", ["table", "json", "xml"]),
        ("accel-agent show qat --form", ["--format"]),
        ("accel-agent monitor --format ", ["table", "json"]),
        ("accel-agent monitor --on", ["--once"]),
        ("accel-agent m", ["monitor"]),
        ("accel-agent plan --source r", ["running"]),
        ("accel-agent set ", ["qat"]),
        ("accel-agent set qat h", ["health"]),
        ("accel-agent set qat enabled ", ["true", "false"]),
        ("accel-agent delete qat device 0000:3d:00.0 section SSL c", ["cy-instances", "core-affinity"]),
        # There is no agent to ask.
        ("accel-agent show qat device ", []),
    ],
)
def test_the_shell_completes(tmp_path: Path, line: str, words: list[str]) -> None:
    assert completed(line, tmp_path) == words


def test_the_shell_completes_devices(gateway: Gateway, tmp_path: Path) -> None:
    socket = gateway.ready["unix_socket"]

    assert completed(f"accel-agent show qat --unix-socket {socket} device ", tmp_path) == ["0000:3d:00.0"]
    assert completed(f"accel-agent set --unix-socket {socket} qat device ", tmp_path) == ["0000:3d:00.0"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_own_lines(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert cli.main(["completion", shell]) == 0

    text = capsys.readouterr().out
    assert "accel-agent" in text
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=text, text=True, check=True)


def test_the_command_is_marked_for_completion() -> None:
    # argcomplete's global completion looks no further than this.
    assert b"PYTHON_ARGCOMPLETE_OK" in (Path(agent.__path__[0]) / "__main__.py").read_bytes()[:1024]


def test_a_fault_of_the_program_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_options: object) -> int:
        raise KeyError("a\nb")

    monkeypatch.setattr("agent.cli.completion._run", broken)

    assert cli.main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == (
        "accel-agent: a fault of this program (KeyError: 'a\\nb'): report it with what --debug shows\n"
    )
    with pytest.raises(KeyError):
        cli.main(["--debug", "completion", "bash"])
