"""``show ipsec``: the IPsec service, its security associations, and whether an accelerator does their work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.cli.output import line, pairs, plain, table
from agent.cli.query import query

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree

_SERVICE: Final = {"name": "name", "state": "state", "version": "version", "uptime": "uptime"}
_SAID: Final = {"reason": "why", "advice": "advice"}
_UNITS: Final = {"uptime": " s"}
_HIDDEN: Final = (
    "The agent shows no security associations: there are none, access control keeps them from you "
    "(docs/access-control.md), or charon has no VICI socket where the agent asks it ([ipsec] vici in the settings)."
)


def read(client: Client, _options: argparse.Namespace) -> Element:
    """Ask for IPsec."""
    return client.get(query(("ipsec", ())))


def render(tree: Tree, _options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return the service, a table of the associations, and what there is to say of each one's offload."""
    found = tree.get("ipsec", {})
    service = found.get("service", {})
    known = [(label, f"{service[leaf]}{_UNITS.get(leaf, '')}") for leaf, label in _SERVICE.items() if leaf in service]
    yield pairs(known) if known else line("The agent reports nothing of the IPsec service.")
    associations = found.get("security-association", [])
    if not associations:
        yield line(_HIDDEN)
        return
    made = table(
        *("tunnel", "id", "state", "peer", "algorithms", "bytes in", "bytes out", "offload", "by"),
        right={"id", "bytes in", "bytes out"},
    )
    for entry in associations:
        offload = entry.get("offload", {})
        cells = (entry.get(leaf) for leaf in ("id", "state", "remote-address"))
        counters = (entry.get(leaf) for leaf in ("bytes-in", "bytes-out"))
        made.add_row(
            *map(plain, (_tunnel(entry), *cells, _algorithms(entry), *counters)),
            *(plain(offload.get(leaf)) for leaf in ("state", "provider")),
        )
    yield made
    yield from map(line, _remarks(associations))


def _tunnel(entry: Tree) -> str:
    return f"{entry['connection']}/{entry['child']}"


def _algorithms(entry: Tree) -> str:
    parts = [entry[leaf] for leaf in ("encryption", "integrity", "dh-group") if leaf in entry]
    return "/".join([*parts, *(["ESN"] if entry.get("esn") is True else [])])


def _remarks(associations: list[Tree]) -> Iterator[str]:
    """Return each verdict's reason and advice, once, with the tunnels that it is about."""
    tunnels: dict[tuple[str, ...], list[str]] = {}
    for entry in associations:
        offload = entry.get("offload", {})
        said = tuple(f"{label}: {offload[leaf]}" for leaf, label in _SAID.items() if leaf in offload)
        if said:
            named = tunnels.setdefault(said, [])
            if _tunnel(entry) not in named:
                named.append(_tunnel(entry))
    for said, named in tunnels.items():
        yield f"{', '.join(named)}:"
        yield from (f"  {text}" for text in said)
