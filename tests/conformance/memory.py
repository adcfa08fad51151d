"""How much memory a process has."""

from __future__ import annotations

import os
from pathlib import Path


def memory(pid: int) -> int:
    """Return a process's resident memory in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
