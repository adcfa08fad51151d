"""A picture for programs: the model's data as ``show`` has it, and beside it what was made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.schema import MODULE

if TYPE_CHECKING:
    from agent.cli.monitor.picture import Picture
    from agent.cli.reply import Tree


def as_tree(picture: Picture) -> Tree:
    """Return a picture as JSON has it; what is not known is left out."""
    time = picture.time.isoformat(timespec="milliseconds")
    news = [{"eventTime": one.time, f"{MODULE}:{one.name}": one.data} for one in picture.news]
    if picture.problem is not None:
        return {"time": time, "problem": picture.problem, "events": news}
    devices = [{"address": one.data.get("address"), "requests": _rounded(one.rate)} for one in picture.devices]
    keys = ("connection", "child", "id")
    associations = [
        dict(zip(keys, one.key, strict=True)) | {leaf: _rounded(value) for leaf, value in one.rates.items()}
        for one in picture.associations
    ]
    return _known(
        {
            "time": time,
            "seconds": _rounded(picture.seconds),
            f"{MODULE}:acceleration": picture.tree,
            "rates": _known(
                {
                    "device": [_known(one) for one in devices],
                    "cpu": None if picture.load is None else {"load": _rounded(picture.load)},
                    "security-association": [_known(one) for one in associations],
                }
            ),
            "events": news,
            "no-events": picture.note,
        }
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _known(tree: Tree) -> Tree:
    return {name: value for name, value in tree.items() if value is not None}
