"""The environments that the clients run in: a folder for each, made once and kept while what it holds is the same.

They are in build/clients, or where ACCEL_AGENT_CLIENTS says.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("ACCEL_AGENT_CLIENTS") or HERE.parents[1] / "build/clients").absolute()
# What a client's folder may say it needs.
LISTS = ("requirements.txt", "package.json", "package-lock.json")
DEADLINE = 600.0


class CannotMakeError(Exception):
    """An environment can't be made, in words."""


def prepare(clients: Sequence[str]) -> dict[str, CannotMakeError | None]:
    """Make the environments of clients that lack theirs; return for each what is in the way."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=2) as workers:
        return dict(zip(clients, workers.map(_prepare, clients), strict=True))


def command(client: str, script: str) -> tuple[list[str], dict[str, str]]:
    """Return how to run a client's script in its environment: the command, and what the process's environment lacks."""
    path = str(HERE / client / script)
    if script.endswith(".js"):
        return ["node", path], {"NODE_PATH": str(CACHE / client / "node_modules")}
    # What is a program of the machine is driven by an interpreter that has nothing to do with it.
    own = (HERE / client / "requirements.txt").exists()
    if not own:
        return [sys.executable, path], {}
    # Some start programs that came with them, and look for these as in an activated environment.
    programs = CACHE / client / "bin"
    return [str(programs / "python"), path], {"PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _prepare(client: str) -> CannotMakeError | None:
    lists = [path for name in LISTS if (path := HERE / client / name).exists()]
    if not lists:
        return None
    folder = CACHE / client
    made_of = folder / ".made-of"
    digest = hashlib.sha256(sys.version.encode() + b"".join(path.read_bytes() for path in lists)).hexdigest()
    # Two runs in one checkout: the second waits, and then finds the environment.
    with (CACHE / f"{client}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made_of.exists() and made_of.read_text() == digest:
            return None
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _install_python(folder, lists[0]) if lists[0].suffix == ".txt" else _install_node(folder, lists)
        except (CannotMakeError, OSError, subprocess.TimeoutExpired) as error:
            return CannotMakeError(f"the environment of {client} can't be made: {error}")
        made_of.write_text(digest)
    return None


def _install_python(folder: Path, requirements: Path) -> None:
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    # A pip for each would take longer than most clients: that of the interpreter at hand installs into them.
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--python", f"{folder}/bin/python")
    _run(*pip, "install", "--quiet", "--no-compile", "--requirement", str(requirements))


def _install_node(folder: Path, lists: list[Path]) -> None:
    folder.mkdir()
    for path in lists:
        shutil.copy(path, folder)
    _run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CannotMakeError(f"{Path(command[0]).name}: {' / '.join(said[-3:])}")
