"""What the agent that ran before offered, so that clients are told when this one offers something else."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from agent.streams.changes import capability_change, library_update

if TYPE_CHECKING:
    from pathlib import Path

    from translators.base import Tree

log = logging.getLogger(__name__)


def offered(folder: Path, capabilities: tuple[str, ...], content_id: str) -> list[Tree]:
    """Remember what is offered now, and return the notifications of how that differs from the last time.

    ``folder`` is the state directory. The first agent there has nothing to tell, nor has one that can't read what was.
    """
    path = folder / "offered.json"
    before = _read(path)
    now = {"capabilities": list(capabilities), "content-id": content_id}
    if before == now:
        return []
    try:
        new = path.with_name(f".{path.name}.new")
        new.write_text(json.dumps(now))
        new.replace(path)
    except OSError as error:
        log.warning("%s: what this agent offers can't be noted for the next one: %s", path, error.strerror)
    if before is None:
        return []
    found = [capability_change(before["capabilities"], capabilities)]
    if before["content-id"] != content_id:
        found += library_update(content_id)
    return [notification for notification in found if notification is not None]


def _read(path: Path) -> Tree | None:
    try:
        read = json.loads(path.read_bytes())
        return {"capabilities": [str(uri) for uri in read["capabilities"]], "content-id": str(read["content-id"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        log.warning("%s: what an earlier agent offered can't be read: %s", path, error)
        return None
