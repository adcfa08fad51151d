"""Very many counters, and the list of trees that they stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.counts import Counts

LARGEST = 10**19 - 1


@given(st.lists(st.one_of(st.just(0), st.integers(0, LARGEST)), max_size=40))
def test_they_are_the_list_that_they_stand_for(numbers: list[int]) -> None:
    keys = tuple(range(3, 3 + len(numbers)))
    found = Counts("id", keys, "count", tuple(str(number).encode() for number in numbers))
    plain = [{"id": key, "count": number} for key, number in zip(keys, numbers, strict=True)]
    assert found == plain
    assert plain == found
    assert list(found) == plain
    assert (len(found), bool(found), found.total) == (len(plain), bool(plain), sum(numbers))
    assert [found[-1], found[1:]] == [plain[-1], plain[1:]] if plain else found[:] == []
    assert found != [*plain, {"id": 99, "count": 1}]
    assert repr(found) == f"Counts({plain!r})"


@pytest.mark.parametrize("digits", [b"", b"-1", b"1.5", b"x", b"00", b"07", b"1_0", b"\xb2", b"+1", b"1" * 20])
def test_what_is_no_counter_in_canonical_form_is_refused(digits: bytes) -> None:
    with pytest.raises(ValueError, match="a count that is no number"):
        Counts("id", (0, 1, 2), "count", (b"0", digits, b"12"))


def test_there_are_as_many_counters_as_keys() -> None:
    with pytest.raises(ValueError, match="1 counts for 2 entries"):
        Counts("id", (0, 1), "count", (b"0",))
