"""``show kernel-crypto``: the kernel's algorithms, and which driver is selected for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.output import line, plain, table
from agent.cli.query import query

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree


def read(client: Client, _options: argparse.Namespace) -> Element:
    """Ask for the kernel's algorithms."""
    return client.get(query(("kernel-crypto", ())))


def render(tree: Tree, options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return a table of algorithms, those of one name together and the selected driver first."""
    found = tree.get("kernel-crypto", {}).get("algorithm", [])
    if not found:
        yield line("The agent reports no algorithms of the kernel.")
        return
    shown = [entry for entry in found if options.all or _concerns_ipsec(entry)]
    if not shown:
        yield line("None of the kernel's algorithms is one that IPsec asks for, and none is QAT's.")
    else:
        made = table("algorithm", "driver", "provider", "priority", "selected", "remark", right={"priority"})
        for entry in sorted(shown, key=_order):
            cells = (entry.get(leaf) for leaf in ("name", "driver", "provider", "priority", "selected"))
            made.add_row(*map(plain, cells), _remark(entry))
        yield made
    left_out = len(found) - len(shown)
    if left_out:
        yield line(
            f"{left_out} of {len(found)} algorithms are none that IPsec asks for and are left out: --all shows them."
        )


def _concerns_ipsec(entry: Tree) -> bool:
    from translators.crypto.esp import asked_by_esp

    return entry.get("provider") == "qat" or (asked_by_esp(entry["name"]) and entry.get("internal") is not True)


def _order(entry: Tree) -> tuple[str, bool, int]:
    return entry["name"], entry.get("selected") is not True, -_number(entry, "priority")


def _remark(entry: Tree) -> str:
    if entry.get("self-test-passed") is False:
        return "self-test not passed"
    if entry.get("internal") is True:
        return "internal"
    # One reference is that of being registered.
    return "in use" if _number(entry, "reference-count") > 1 else ""


def _number(entry: Tree, leaf: str) -> int:
    """Return a number; 0 where the agent does not say it, or says something else."""
    value = entry.get(leaf)
    return value if isinstance(value, int) else 0
