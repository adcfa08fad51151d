"""Instance paths: quoting, prefixes, key predicates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from agent.paths import predicates, prefix_all, quoted, step, without_last_keys

NAMES = st.from_regex(r"[a-z_][a-z0-9._-]{0,5}", fullmatch=True)
# What in a key would lead astray who does not heed the quotes.
VALUES = st.lists(st.sampled_from(["/", "[", "]", "=", ":", "'", '"', "a", "a:b", " ", "\n"])).map("".join)


@given(VALUES)
def test_a_quoted_value_is_the_value(value: str) -> None:
    expression = quoted(value)
    assert etree.Element("x").xpath(f"string({expression})") == value
    assert expression.startswith("concat(") == ("'" in value and '"' in value)


@given(st.lists(st.tuples(NAMES, NAMES, st.lists(st.tuples(NAMES, VALUES), max_size=2)), min_size=1, max_size=4))
def test_every_name_gets_its_modules_prefix_and_no_value_changes(
    steps: list[tuple[str, str, list[tuple[str, str]]]],
) -> None:
    path, shown, last, named = "", "", "", []
    for module, name, keys in steps:
        path += step(name if module == last else f"{module}:{name}", keys)
        shown += f"/P-{module}:{name}" + "".join(f"[P-{module}:{key}={quoted(value)}]" for key, value in keys)
        named += [module]
        last = module
    assert prefix_all(path, lambda module: f"P-{module}") == (shown, tuple(dict.fromkeys(named)))
    assert without_last_keys(path) == path.removesuffix(step("", steps[-1][2]).removeprefix("/"))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/m:top", "/M:top"),
        ("/m:top/list[name='n:x'][id=\"a'b\"]/leaf", "/M:top/M:list[M:name='n:x'][M:id=\"a'b\"]/M:leaf"),
        ("/m:top/n:list[k='1']/leaf", "/M:top/N:list[N:k='1']/N:leaf"),
        ("/m:top/list[n:k='1'][l='2']/leaf", "/M:top/M:list[N:k='1'][M:l='2']/M:leaf"),
        ("/m:tags[.='/a/b[c']", "/M:tags[.='/a/b[c']"),
        ("/m:entry[3]/leaf", "/M:entry[3]/M:leaf"),
        ("/top/leaf", "/top/leaf"),
        ("", ""),
    ],
)
def test_prefixes(path: str, shown: str) -> None:
    assert prefix_all(path, str.upper)[0] == shown


@pytest.mark.parametrize(
    ("path", "without"),
    [
        ("/m:top/list[a='1'][b='/x']", "/m:top/list"),
        ("/m:top/list[a='1']/leaf", "/m:top/list[a='1']/leaf"),
        ("/m:tags[.='/a']", "/m:tags"),
        ("/m:top", "/m:top"),
    ],
)
def test_the_path_of_a_list(path: str, without: str) -> None:
    assert without_last_keys(path) == without


@given(st.lists(st.tuples(st.one_of(st.none(), NAMES), NAMES, VALUES.filter(lambda v: "'" not in v or '"' not in v))))
def test_predicates_are_read_as_written(keys: list[tuple[str | None, str, str]]) -> None:
    text = "".join(f"[{f'{prefix}:' if prefix else ''}{name}={quoted(value)}]" for prefix, name, value in keys)
    assert predicates(text) == keys


@pytest.mark.parametrize(
    "text",
    [
        "id='a'",
        "[id]",
        "[id='a'",
        "[id='a']x",
        "[id=a]",
        "[1]",
        "[id='a'] [b='c']",
        "[id='a' or b='c']",
        "[.='a']",
        "['a'='a']",
        "[id=concat('a', 'b')]",
    ],
)
def test_what_is_no_list_of_key_predicates(text: str) -> None:
    assert predicates(text) is None


def test_blanks_inside_a_predicate() -> None:
    assert predicates("[ p:id = 'a' ][b\n=\"c\"]") == [("p", "id", "a"), (None, "b", "c")]
