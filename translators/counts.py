"""A list of very many counters, as they came from the kernel.

A machine of 256 CPUs has a hundred thousand counts of interrupts. To make a tree of each takes many times as long as
to read them all, and nearly all of them go from the kernel to a client as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, overload

if TYPE_CHECKING:
    from translators.base import Tree

_DIGITS: Final = 19  # what 64 bits hold whichever they are


class Counts(Sequence["Tree"]):  # noqa: PLW1641 - as a list, it has no hash
    """The entries of a list whose key is a number, and which have one counter each besides.

    To whoever looks at it, it is a list of trees (``[{"id": 0, "count": 17}, …]``). ``key`` and ``value`` are the names
    of the two leafs, ``keys`` the numbers, ``digits`` the counters in decimal, ``total`` is their sum. Never changed.
    """

    __slots__ = ("digits", "key", "keys", "total", "value")

    def __init__(self, key: str, keys: tuple[int, ...], value: str, digits: tuple[bytes, ...]) -> None:
        """Raise ValueError where there are not as many counters as keys, or one is not in canonical form."""
        if len(keys) != len(digits):
            raise ValueError(f"{len(digits)} counts for {len(keys)} entries")
        # Most are 0, and to look at each takes longer than all else.
        others = [one for one in digits if one != b"0"]
        if others and not (b"".join(others).isdigit() and min(others) >= b"1" and max(map(len, others)) <= _DIGITS):
            raise ValueError("a count that is no number")
        self.key = key
        self.keys = keys
        self.value = value
        self.digits = digits
        self.total = sum(map(int, others))

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        return {self.key: self.keys[index], self.value: int(self.digits[index])}

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (Counts, list)) else NotImplemented

    def __repr__(self) -> str:
        return f"Counts({list(self)!r})"
