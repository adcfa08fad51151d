"""What access control costs: reading ten thousand list entries and changing them, with rules and without.

Prints milliseconds, the best of some rounds: ``python benchmarks/access.py``.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from agent.link import Peer
from agent.model.load import load
from agent.nacm import Nacm
from agent.tree import Node, from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.load import Model
    from agent.nacm import Access

ENTRIES = 10_000
ROUNDS = 5
MODULE = Path(__file__).parents[1] / "tests/agent/modules/t.yang"
RULES = {
    "no rules": [],
    "one leaf denied": ["/t:top/item/w"],
    "a hundred entries denied": [f"/t:top/item[id='{number}']" for number in range(0, ENTRIES, ENTRIES // 100)],
    "every second entry denied": [f"/t:top/item[id='{number}']" for number in range(0, ENTRIES, 2)],
}


def main() -> None:
    """Measure, and print one line for each set of rules."""
    model = load([MODULE])
    print(f"{'rules':<28}{'first read':>12}{'next read':>12}{'all changed':>13}")
    for name, denied in RULES.items():
        rounds = [measured(model, denied) for _ in range(ROUNDS)]
        first, following, written = (min(times) * 1000 for times in zip(*rounds, strict=True))
        print(f"{name:<28}{first:>12.2f}{following:>12.2f}{written:>13.2f}")


def measured(model: Model, denied: list[str]) -> list[float]:
    """Return seconds: of the first and the next get-config's XML, and of the check of an edit of every entry."""
    tree, edited = entries(model, "0"), entries(model, "1")
    access = of(model, denied)
    return [
        seconds(lambda: access.readable(tree).xml()),
        seconds(lambda: access.readable(tree).xml()),
        seconds(lambda: access.check_write(tree, edited)),
    ]


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time that something takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def entries(model: Model, value: str) -> Node:
    """Return a configuration of many entries."""
    items = [{"id": str(number), "v": 1, "w": value, "need": "x"} for number in range(ENTRIES)]
    return from_json(model.root, {"t:top": {"item": items}})


def of(model: Model, denied: list[str]) -> Access:
    """Return the access of a user who may not read some paths, and of what there is write one leaf of each entry."""
    rules = [
        {"name": str(number), "path": path, "access-operations": "read", "action": "deny"}
        for number, path in enumerate(denied)
    ]
    rules += [{"name": "write", "path": "/t:top/item/w", "action": "permit"}]
    nacm = {
        "groups": {"group": [{"name": "g", "user-name": ["ada"]}]},
        "rule-list": [{"name": "l", "group": ["g"], "rule": rules}],
    }
    running = from_json(model.root, {"ietf-netconf-acm:nacm": nacm})
    control = Nacm(model, cast("Any", SimpleNamespace(running=running)))
    return control.access(Peer("ada", "ietf-netconf-monitoring:netconf-ssh"))


if __name__ == "__main__":
    main()
