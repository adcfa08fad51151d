"""XPath 1.0 expressions as tokens (XPath 1.0 section 3.7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.expression import renamed, tokens


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("/a:b/c", ["a:b", "c"]),
        ("div:div div div:div", ["div:div", "div:div"]),
        ("or or or", ["or", "or"]),
        ("* * *", ["*", "*"]),
        ("/*[* and a:*]", ["*", "*", "a:*"]),
        ("ancestor::ancestor:c", ["ancestor:c"]),
        ("child :: c", ["c"]),
        ("a-b - c", ["a-b", "c"]),
        ("text() | text", ["text"]),
        ("count(x) > 1", ["x"]),
        ("$v:w/x", ["x"]),
        ("'a:b' = \"c:d\"", []),
        ("@a:b", ["a:b"]),
        (".//.. /é:ü", ["é:ü"]),
        ("1.5 mod .5", []),
        ("x[1]mod", ["x"]),
    ],
)
def test_names_are_what_tests_nodes(expression: str, names: list[str]) -> None:
    assert [token.text for token in tokens(expression) if token.kind == "name"] == names


@given(st.text(st.sampled_from("ab:/.*[]()@|$'\"=<>!+- \n1é,") | st.characters(exclude_categories=["Cs"]), max_size=30))
def test_nothing_of_an_expression_is_lost(expression: str) -> None:
    again = "".join(token.before + token.text for token in tokens(expression))
    assert expression.startswith(again)
    assert not expression[len(again) :].strip(" \t\r\n")
    assert renamed(expression, lambda prefix: prefix) == again
