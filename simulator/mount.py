"""The process that mounts the file system of a machine's devices: ``python -m simulator.mount ROOT``.

It prints a line when the file system is there, and ends when its standard input does, or at SIGTERM.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from contextlib import suppress

from simulator.filesystem import Filesystem
from simulator.machine import hardware, intree, inventory
from simulator.server import READY, leave

UNAVAILABLE = 3


def main(root: str) -> int:
    """Be the process; return its exit status."""
    try:
        import mfusepy  # noqa: PLC0415 - it may be missing, and is needed by this process only
    except (ImportError, OSError) as error:  # OSError: there is no libfuse
        sys.stderr.write(f"{error}: install libfuse 3 and accel-agent[simulate-fuse]\n")
        return UNAVAILABLE
    machine = inventory.load(root)
    lock = os.open(f"{root}/{intree.SERVED}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    threading.Thread(target=_end_with_parent, args=(threading.main_thread().ident,), daemon=True).start()
    mounted = threading.Event()

    def ready() -> None:
        mounted.set()
        print(READY, flush=True)  # noqa: T201 - the parent waits for it

    try:
        mfusepy.FUSE(
            Filesystem(machine, ready),
            f"{root}/{inventory.KERNEL}",
            foreground=True,
            fsname="simulator",
            direct_io=True,
            attr_timeout=0,
            entry_timeout=0,
        )
    except RuntimeError:  # also when a signal ended it
        if not mounted.is_set():  # libfuse has said why
            return UNAVAILABLE
    finally:
        os.close(lock)
    # A parent that was killed can't do this, and one that lives may do it again.
    with suppress(FileNotFoundError):  # the machine was removed
        hardware.end(root)
        leave(machine)
    return 0


def _end_with_parent(main_thread: int | None) -> None:
    while os.read(0, 1):
        pass
    if main_thread is not None:
        # To the thread that waits for it: libfuse's own ignore it.
        signal.pthread_kill(main_thread, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
