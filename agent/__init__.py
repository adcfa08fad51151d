"""NETCONF, by protocol layer (RFC 6241, figure 1), and the command line in front of it."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """Return ``__version__``, which takes as long to find out as all else that a short command does."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import version  # noqa: PLC0415

    return version("accel-agent")
