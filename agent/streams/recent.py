"""Remembers what was made last, within a limit: a cache by size."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The newest values whose sizes, in bytes, come to no more than ``limit``; the very newest one in any case."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __getitem__(self, key: K) -> V:
        return self._values[key][0]

    def put(self, key: K, value: V, size: int) -> V:
        """Remember a value that is not there yet, and return it."""
        self._values[key] = (value, size)
        self._size += size
        while self._size > self._limit and len(self._values) > 1:
            _key, (_value, freed) = self._values.popitem(last=False)
            self._size -= freed
        return value
