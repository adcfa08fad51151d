"""docs/failure-modes.md names tests; each is there."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "failure-modes.md"
NAMED = re.compile(r"(\w+): (\w+(?:, \w+)*)")


def test_each_test_that_the_page_names_is_there() -> None:
    tests = {
        path.stem.removeprefix("test_"): set(re.findall(r"^def test_(\w+)", path.read_text(), re.MULTILINE))
        for path in HERE.glob("test_*.py")
    }
    rows = [line.rpartition(" | ")[2] for line in PAGE.read_text().splitlines() if re.match(r"\| (\d|[a-z])", line)]
    named = [
        (file, name)
        for row in rows
        for file, names in NAMED.findall(row)
        if file in tests
        for name in names.split(", ")
    ]
    assert len(named) > 60
    assert [one for one in named if one[1] not in tests[one[0]]] == []
