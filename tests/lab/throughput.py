"""How much a tunnel carries: the bytes that a TCP receiver behind the other gateway gets in a time."""

import statistics
import sys
from pathlib import Path

from tests.lab.namespace import DEADLINE, until
from tests.lab.site import Site

_PORT = 5201
# It counts second by second, by its own clock. In the first ones TCP finds out how much there is room for.
_RECEIVER = """
import socket, sys, time
address, port, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with socket.create_server((address, port)) as listener:
    print("ready", flush=True)
    connection, _ = listener.accept()
buffer = bytearray(1 << 20)
for _ in range(seconds):
    count, began = 0, time.monotonic()
    while time.monotonic() < began + 1:
        got = connection.recv_into(buffer)
        if not got:
            sys.exit("the sender ended too soon")
        count += got
    print(count * 8 / (time.monotonic() - began) / 1e6)
"""
_SENDER = """
import contextlib, socket, sys
data = bytes(1 << 18)
with contextlib.suppress(ConnectionError):
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), source_address=(sys.argv[3], 0)) as connection:
        while True:
            connection.sendall(data)
"""


def measure(site: Site, log: Path, *, seconds: int) -> float:
    """Return how much the left gateway sends to the right one through their tunnel, in Mbit/s: the seconds' median."""
    with log.open("wb") as output:
        words = (site.right.inside, str(_PORT), str(seconds))
        receiver = site.right.machine.spawn(sys.executable, "-c", _RECEIVER, *words, output=output)
    until(lambda: log.read_text().startswith("ready"), "the receiver listens")
    ends = (site.right.inside, str(_PORT), site.left.inside)
    sender = site.left.machine.spawn(sys.executable, "-c", _SENDER, *ends)
    assert receiver.wait(seconds + DEADLINE) == 0, log.read_text()
    assert sender.wait(DEADLINE) == 0
    _ready, *found = log.read_text().split()
    assert len(found) == seconds
    return statistics.median(map(float, found))
