"""The program ``ipsec`` of strongSwan (src/ipsec/_ipsec.in); its starter and charon are only files.

What shows that they run: their pid files, and their names in /proc/<pid>/comm.
"""

from simulator.machine import sysroot
from simulator.machine.terminal import complain, say

STARTER_PID = "run/starter.charon.pid"
CHARON_PID = "run/charon.pid"
SOCKET = "run/charon.ctl"
VERSION = "5.9.8"

_LAST_PID = f"{sysroot.STATE}/last-pid"
_FIRST_PID = 1187
_STARTER_COMMAND = b"/usr/lib/ipsec/starter\0--daemon\0charon\0"
_CHARON_COMMAND = b"/usr/lib/ipsec/charon\0"

_STATUS = """\
Security Associations (1 up, 0 connecting):
      branch[1]: ESTABLISHED 4 minutes ago, 192.0.2.17[gateway.example]...198.51.100.29[branch.example]
      branch{1}:  INSTALLED, TUNNEL, reqid 1, ESP SPIs: c70f31be_i c29a64d5_o
      branch{1}:   10.17.0.0/16 === 10.29.0.0/16
"""


def main(root: str, program: str, verb: str) -> int:
    """Carry out one command and return its exit status."""
    if verb == "status":
        return _status(root)
    if verb in ("version", "--version"):
        say(f"Linux strongSwan U{VERSION}/K6.1.0\n")
        return 0
    if verb == "reload":
        return _reload(root)
    if verb not in ("start", "stop", "restart"):
        complain(f"{program}: unknown IPsec command `{verb}' (`ipsec --help' for list)\n")
        return 2
    with sysroot.locked(root):
        if verb != "start":
            _stop(root)
        if verb != "stop":
            _start(root)
    return 0


def running(root: str) -> bool:
    """Return whether starter runs: its pid file names a process of that name."""
    return _alive(root, STARTER_PID, b"starter\n")


def start_processes(root: str) -> None:
    """Start what is not running of starter and charon."""
    if not _alive(root, STARTER_PID, b"starter\n"):
        _spawn(root, STARTER_PID, b"starter\n", _STARTER_COMMAND)
    if not _alive(root, CHARON_PID, b"charon\n"):
        _spawn(root, CHARON_PID, b"charon\n", _CHARON_COMMAND)
    sysroot.publish(root, SOCKET, b"", 0o660)


def _start(root: str) -> None:
    complain(f"Starting strongSwan {VERSION} IPsec [starter]...\n")
    if _alive(root, CHARON_PID, b"charon\n"):
        complain(f"charon is already running (/{CHARON_PID} exists) -- skipping daemon start\n")
    if running(root):
        complain(f"starter is already running (/{STARTER_PID} exists) -- no fork done\n")
    start_processes(root)


def _stop(root: str) -> None:
    if sysroot.exists(root, STARTER_PID):
        complain("Stopping strongSwan IPsec...\n")
    else:
        complain("Stopping strongSwan IPsec failed: starter is not running\n")
        return
    sysroot.discard(root, SOCKET)
    for file in (CHARON_PID, STARTER_PID):
        pid = _pid(root, file)
        if pid is not None:
            sysroot.discard_tree(root, f"proc/{pid}")
        sysroot.discard(root, file)


def _status(root: str) -> int:
    if _alive(root, CHARON_PID, b"charon\n"):
        say(_STATUS)
    if sysroot.exists(root, STARTER_PID):
        return 0 if running(root) else 1
    return 3


def _reload(root: str) -> int:
    if running(root):
        complain("Reloading strongSwan IPsec configuration...\n")
        return 0
    complain("Reloading strongSwan IPsec failed: starter is not running\n")
    return 7


def _spawn(root: str, file: str, name: bytes, command: bytes) -> None:
    last = _number(sysroot.read(root, _LAST_PID)) or _FIRST_PID
    pid = last + 1
    while sysroot.exists(root, f"proc/{pid}"):
        pid += 1
    sysroot.publish(root, _LAST_PID, b"%d\n" % pid)
    # The pid file comes first and goes last: a program that is killed leaves no process that no file names.
    old = _pid(root, file)
    if old is not None and not sysroot.exists(root, f"proc/{old}/comm"):
        sysroot.discard_tree(root, f"proc/{old}")
    sysroot.publish(root, file, b"%d\n" % pid)
    sysroot.publish(root, f"proc/{pid}/cmdline", command, 0o444)
    sysroot.publish(root, f"proc/{pid}/comm", name)


def _alive(root: str, file: str, name: bytes) -> bool:
    pid = _pid(root, file)
    return pid is not None and sysroot.read(root, f"proc/{pid}/comm") == name


def _pid(root: str, file: str) -> int | None:
    return _number(sysroot.read(root, file))


def _number(data: bytes | None) -> int | None:
    text = (data or b"").strip()
    return int(text) if text.isdigit() else None
