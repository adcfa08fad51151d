"""``show cpu``: what the CPU has for cryptography."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.cli.output import line, pairs
from agent.cli.query import query

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree

_LABELS: Final = {
    "model": "model",
    "other-model": "other models",
    "vendor": "vendor",
    "architecture": "architecture",
    "sockets": "sockets",
    "hypervisor": "hypervisor",
    "aes-ni": "AES-NI",
    "crypto-feature": "crypto features",
}


def read(client: Client, _options: argparse.Namespace) -> Element:
    """Ask for the CPU."""
    return client.get(query(("cpu", ())))


def render(tree: Tree, _options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return what is known of the CPU."""
    cpu = tree.get("cpu", {})
    if not cpu:
        yield line("The agent reports nothing of the CPU.")
        return
    known = dict(cpu)
    if "crypto-feature" in cpu:
        known["crypto-feature"] = " ".join(name.rpartition(":")[2] for name in cpu["crypto-feature"])
    if "other-model" in cpu:
        known["other-model"] = ", ".join(cpu["other-model"])
    yield pairs((label, known[leaf]) for leaf, label in _LABELS.items() if leaf in known)
    yield from (line(f"note: {note}") for note in cpu.get("note", []))
