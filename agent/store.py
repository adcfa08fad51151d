"""What survives the process: running, and the journal of a commit that is under way. Whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lxml import etree

from agent import edit
from agent.errors import NETCONF, NetconfError
from agent.settings import StartError
from agent.tree import Node
from translators.plans import decode, encode

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.load import Model
    from translators.base import Plan, Tree

_HEAD: Final = f'<?xml version="1.0" encoding="UTF-8"?>\n<config xmlns="{NETCONF}">'.encode()
_TAIL: Final = b"</config>\n"


@dataclass(frozen=True, slots=True)
class Journal:
    """A commit that was begun: its plan, and the digest of the running configuration that it leads to.

    The digest is empty where running stays as it is: such a plan is always undone.
    """

    plan: Plan
    digest: str


class Store:
    """The state directory; one agent at a time has it. Raises StartError when it can't be used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = folder / "running.xml"
        self._startup = folder / "startup.xml"
        self._kept = folder / "confirmed-commit.xml"
        self._journal = folder / "journal.json"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(folder / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartError(
                f"{folder}: the state directory can't be written: {error.strerror}: "
                "make it the agent's, or name another with --state-dir"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StartError(
                f"{folder}: another accel-agent uses this state directory: stop it, or name another with --state-dir"
            ) from error

    @property
    def program_lock(self) -> Path:
        """The file that is locked while a program of the machine runs."""
        return self._folder / "programs.lock"

    def close(self) -> None:
        """Let another agent have the directory."""
        os.close(self._lock)

    def load(self, model: Model) -> Node | None:
        """Return running as it was stored; None when nothing was ever stored."""
        return _load(self._running, model)

    def load_startup(self, model: Model) -> Node | None:
        """Return startup as it was stored; None when it never was, or was deleted."""
        return _load(self._startup, model)

    def save_startup(self, root: Node | None) -> None:
        """Make startup durable, or delete it. Raises OSError."""
        self._put(self._startup, root)

    def kept(self, model: Model) -> Node | None:
        """Return what is restored if a confirmed commit is not confirmed; None where none is pending."""
        return _load(self._kept, model)

    def keep(self, root: Node | None) -> None:
        """Keep what a confirmed commit is undone to, or forget it. Raises OSError."""
        self._put(self._kept, root)

    def save(self, root: Node) -> None:
        """Make running durable. Raises OSError."""
        self._write(self._running, _document(root))

    def recall(self, name: str) -> Tree | None:
        """Return what a translator remembered; None for nothing. Raises OSError, ValueError."""
        path = self._remembered(name)
        try:
            content = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from error
        if not isinstance(content, dict):
            raise ValueError(f"{path}: is no JSON object")
        return content

    def remember(self, name: str, content: Tree) -> None:
        """Make durable what a translator is to remember. Raises OSError."""
        self._write(self._remembered(name), json.dumps(content).encode())

    def begin(self, plan: Plan, root: Node | None) -> None:
        """Note what is about to be done to the machine, before it is; None: running stays as it is. Raises OSError."""
        digest = _digest(_document(root)) if root is not None else ""
        content = {"digest": digest, "plan": json.loads(encode(plan))}
        self._write(self._journal, json.dumps(content).encode())

    def end(self) -> None:
        """Note that nothing is under way any more."""
        self._journal.unlink(missing_ok=True)
        self._sync_folder()

    def unfinished(self) -> Journal | None:
        """Return the commit that an earlier agent began and did not end; None when running holds its result."""
        if not self._journal.is_file() and self._journal.exists():
            raise StartError(f"{self._journal}: the record of a broken-off commit is no file: remove it")
        try:
            content = json.loads(self._journal.read_bytes())
            journal = Journal(decode(json.dumps(content["plan"])), str(content["digest"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StartError(
                f"{self._journal}: the record of a broken-off commit can't be used: {error}: "
                "see whether devices and IPsec are as they should be, then remove the file"
            ) from error
        stored = self._running.read_bytes() if self._running.exists() else b""
        if _digest(stored) == journal.digest:
            self.end()
            return None
        return journal

    def _remembered(self, name: str) -> Path:
        return self._folder / f"remembered-{name}.json"

    def _put(self, path: Path, root: Node | None) -> None:
        if root is not None:
            self._write(path, _document(root))
            return
        path.unlink(missing_ok=True)
        self._sync_folder()

    def _write(self, path: Path, content: bytes) -> None:
        before = path.read_bytes() if path.exists() else None
        self._replace(path, content)
        try:
            self._sync_folder()
        except OSError:
            # The new one is there, and may not last: a change that failed must not come back with the next agent.
            if before is None:
                path.unlink(missing_ok=True)
            else:
                self._replace(path, before)
            raise

    def _replace(self, path: Path, content: bytes) -> None:
        new = path.with_name(f".{path.name}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def _sync_folder(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _load(path: Path, model: Model) -> Node | None:
    try:
        if not path.is_file() and path.exists():
            raise StartError(f"{path}: the configuration is no file: move it away to begin anew")
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StartError(f"{path}: the configuration can't be read: {error.strerror}") from error
    try:
        config = etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))
        if config.tag != f"{{{NETCONF}}}config":
            raise StartError(f"{path}: no configuration, but <{config.tag}>: move it away to begin anew")
        return edit.apply(Node(model.root), edit.parse(model, config, "merge"))
    except (etree.XMLSyntaxError, NetconfError) as error:
        raise StartError(
            f"{path}: the configuration can't be used: {error}: mend the file, or move it away to begin anew"
        ) from error


def _document(root: Node) -> bytes:
    return _HEAD + root.xml() + _TAIL


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
