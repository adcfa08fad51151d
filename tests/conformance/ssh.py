"""A log-in over SSH."""

from __future__ import annotations

from typing import TYPE_CHECKING

import paramiko

from tests.system.client import PASSWORD, USER

if TYPE_CHECKING:
    from tests.system.gateway import Gateway


def login(served: Gateway) -> paramiko.Transport:
    """Return a connection to an agent with nothing opened on it."""
    transport = paramiko.Transport(("127.0.0.1", served.port))
    transport.connect(username=USER, password=PASSWORD)
    return transport
