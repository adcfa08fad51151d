"""``completion``: what makes a shell complete this command."""

from __future__ import annotations

import argparse
from typing import Any

_EXAMPLES = """\
examples:
  eval "$(accel-agent completion bash)"
  accel-agent completion bash > /etc/bash_completion.d/accel-agent
  accel-agent completion zsh >> ~/.zshrc
  accel-agent completion fish > ~/.config/fish/completions/accel-agent.fish
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "completion",
        help="print what makes a shell complete this command",
        description="Print the lines with which a shell completes commands, flags, paths and device names.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["accel-agent"], shell=options.shell))
    return 0
