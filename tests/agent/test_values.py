"""Canonical forms (RFC 7950 section 9): two spellings of one value become one, and libyang agrees."""

from base64 import b64encode
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.errors import NetconfError
from agent.model.load import Model
from agent.model.values import INTEGER_RANGES, ValueType
from agent.tree import Node

PREFIXES = {None: "urn:example:u", "a": "urn:example:u", "b": "urn:example:t", "no": "urn:example:none"}


def kind(model: Model, leaf: str) -> ValueType:
    found = model.node(f"/u:types/{leaf}").type
    assert found is not None
    return found


def canonical(model: Model, leaf: str, text: str) -> str | None:
    """Return the canonical form of a leaf's value; None where it has none."""
    try:
        return kind(model, leaf).canonical(text, PREFIXES)
    except ValueError:
        return None


CASES = [
    # 9.2: decimal only, a sign, leading zeros
    ("i8", "0", "0"),
    ("i8", "-0", "0"),
    ("i8", "+7", "7"),
    ("i8", "007", "7"),
    ("i8", "-0x80", None),
    ("i8", "-0128", "-128"),
    ("i8", "020", "20"),
    ("i8", "0X7f", None),
    ("i8", " 5\n", "5"),
    ("i8", "08", "8"),
    ("i8", "128", None),
    ("i8", "-129", None),
    ("i8", "", None),
    ("i8", "- 5", None),
    ("i8", "5.0", None),
    ("i8", "1_0", None),
    ("i8", "٣", None),
    ("i8", "\xa05", None),
    ("i8", "0x", None),
    ("i8", "0b1", None),
    ("u64", "18446744073709551615", "18446744073709551615"),
    ("u64", "0xffffffffffffffff", None),
    ("u64", "18446744073709551616", None),
    ("u64", "-1", None),
    ("u64", "9" * 5000, None),
    ("u64", "0x" + "f" * 100_000, None),
    # 9.3: at least one digit on either side of the point, no zeros that say nothing
    ("money", "1", "1.0"),
    ("money", "+01.50", "1.5"),
    ("money", "-0.00", "0.0"),
    ("money", "-0.10", "-0.1"),
    ("money", "12.340000000000000000000000000000000000000", "12.34"),
    ("money", "12.340000000000000000000000000000000000001", None),
    ("money", "92233720368547758.07", "92233720368547758.07"),
    ("money", "-92233720368547758.08", "-92233720368547758.08"),
    ("money", "92233720368547758.08", None),
    ("money", "1" * 100_000, None),
    ("money", "0" * 100_000 + "1", "1.0"),
    ("money", ".", None),
    ("money", ".5", None),
    ("money", "5.", None),
    ("money", "1e2", None),
    ("money", "NaN", None),
    # 9.5, 9.6, 9.11
    ("truth", "true", "true"),
    ("truth", "1", None),
    ("truth", "True", None),
    ("truth", " true", None),
    ("colour", "light blue", "light blue"),
    ("colour", "light  blue", None),
    ("colour", "", None),
    ("nothing", "", ""),
    ("nothing", " \n", ""),
    ("nothing", "x", None),
    # 9.7: by position
    ("flags", "m a  z", "z a m"),
    ("flags", "", ""),
    ("flags", "a a", None),
    ("flags", "b", None),
    # 9.8
    ("raw", "YWJj", "YWJj"),
    ("raw", "Y\nWJj ", "YWJj"),
    ("raw", "YR==", "YQ=="),
    ("raw", "", ""),
    ("raw", "YQ", None),
    ("raw", "Y*==", None),
    ("raw", "é", None),
    # 9.10: by the prefixes in scope; without one, in the default namespace
    ("id", "a:near", "u:near"),
    ("id", "near", "u:near"),
    ("id", " far ", "u:far"),
    ("id", "base", None),
    ("id", "b:k1", None),
    ("id", "b:near", None),
    ("id", "c:near", None),
    ("id", "no:near", None),
    ("id", "a:b:near", None),
    ("id", ":near", None),
    ("id", "", None),
    ("both", "far", "u:far"),
    ("both", "near", None),
    ("both", "k2", None),
    # 9.13: RFC 7951 6.11's form
    ("where", "/a:types/a:i8", "/u:types/i8"),
    ("where", "/b:top/a:name", "/t:top/u:name"),
    ("where", "/b:top/b:item[b:id='1/0/1:2']/b:v", "/t:top/item[id='1/0/1:2']/v"),
    ("where", '/b:top/b:pair[b:a="x"][b:b=\'y[b:z="1"]\']', "/t:top/pair[a='x'][b='y[b:z=\"1\"]']"),
    ("where", '/b:top/b:pair[b:a="it\'s"][b:b=""]', "/t:top/pair[a=\"it's\"][b='']"),
    ("where", "/b:top/b:tag[.='/x']", "/t:top/tag[.='/x']"),
    ("where", "/b:top/b:state/b:log[3]", "/t:top/state/log[3]"),
    ("where", "\n/a:types\n", "/u:types"),
    ("where", "/a:types/i8", None),
    ("where", "/types", None),
    ("where", "/c:types", None),
    ("where", "/no:types", None),
    ("where", "types", None),
    ("where", "", None),
    # 9.9: of the type that is referred to
    ("reference", "+5", "5"),
    ("loose", "0x10", None),
    ("loose", "010", "10"),
    # 9.12: the first type that takes it
    ("either", "+5", "5"),
    ("either", "0x10", None),
    ("either", "256", "256"),
    ("either", "auto", "auto"),
    ("either", "near", "u:near"),
    ("either", "a:near", "u:near"),
    ("either", "/a:types/a:i8", "/u:types/i8"),
    ("either", "abc", "abc"),
    # 9.4: as it is
    ("short", " x ", " x "),
    ("hex", "", ""),
]


@pytest.mark.parametrize(("leaf", "text", "expected"), CASES, ids=range(len(CASES)))
def test_canonical_forms(wide: Model, leaf: str, text: str, expected: str | None) -> None:
    """C115, C116."""
    assert canonical(wide, leaf, text) == expected


@pytest.mark.parametrize(("leaf", "form"), sorted({(leaf, form) for leaf, _text, form in CASES if form is not None}))
def test_libyang_takes_the_canonical_form_and_finds_nothing_to_change(wide: Model, leaf: str, form: str) -> None:
    schema = wide.node(f"/u:types/{leaf}")
    root = Node(wide.root)
    children = {schema: Node(schema, form)}
    if leaf == "reference":
        target = wide.node("/u:types/i8")
        children[target] = Node(target, form)
    top = Node(wide.node("/u:types"), None, dict(children))
    data = wide.validator.validate(root.with_children({top.schema: top}).xml())
    found = data["u:types"][leaf]
    shown = {True: "true", False: "false"}.get(found, found) if isinstance(found, bool) else found
    assert ("" if shown == [None] else str(shown)) == form.removeprefix("u:")


def test_a_message_says_what_is_wrong(wide: Model) -> None:
    for leaf, text, words in (
        ("i8", "x", '"x" is not an integer'),
        ("i8", "200", '"200" is out of the range of int8, -128..127'),
        ("money", "1.234", '"1.234" has more than 2 fraction digits'),
        ("colour", "blue", '"blue" is none of red, light blue'),
        ("id", "q:near", '"q:near" has the prefix q, which is not declared'),
        ("id", "base", '"base" is none of u:far, u:near'),
    ):
        with pytest.raises(ValueError, match=words):
            kind(wide, leaf).canonical(text, PREFIXES)
    union = ValueType("union", members=(ValueType("int8"), ValueType("boolean")))
    with pytest.raises(ValueError, match='"yes" is of none of the types that are allowed here'):
        union.canonical("yes", {})


@given(st.sampled_from(sorted(INTEGER_RANGES)), st.integers(-(2**65), 2**65), st.sampled_from(["d", "o", "x", "X"]))
def test_integers(base: str, number: int, how: str) -> None:
    sign, digits = "-" if number < 0 else "", {"d": f"{abs(number)}", "o": f"0{abs(number):o}"}.get(how)
    text = sign + (digits or f"0{how}{abs(number):{how}}")
    bits = int(base.lstrip("uint"))
    low, high = (0, 2**bits - 1) if base[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    kind = ValueType(base, any_base=how != "d")  # in data all are decimal
    if low <= number <= high:
        assert kind.canonical(text, {}) == str(number)
    else:
        with pytest.raises(ValueError, match="out of the range"):
            kind.canonical(text, {})


@given(st.integers(1, 18), st.integers(-(2**63) - 3, 2**63 + 2), st.integers(0, 3), st.integers(0, 3))
def test_decimals(digits: int, unscaled: int, zeros_before: int, zeros_after: int) -> None:
    number = Decimal(f"{unscaled}e-{digits}")
    sign, plain = ("-", f"{-number:f}") if unscaled < 0 else ("", f"{number:f}")
    text = sign + "0" * zeros_before + plain + "0" * zeros_after
    if -(2**63) <= unscaled < 2**63:
        found = ValueType("decimal64", fraction_digits=digits).canonical(text, {})
        assert Decimal(found) == number
        whole, point, fraction = found.lstrip("-").partition(".")
        assert point
        assert whole == str(int(whole))
        assert fraction == (fraction.rstrip("0") or "0")
    else:
        with pytest.raises(ValueError, match="out of the range"):
            ValueType("decimal64", fraction_digits=digits).canonical(text, {})


@given(st.binary(max_size=20), st.integers(0, 20))
def test_binary(data: bytes, cut: int) -> None:
    text = b64encode(data).decode()
    assert ValueType("binary").canonical(f"{text[:cut]}\n {text[cut:]}", {}) == text


@settings(deadline=None)
@given(
    st.sampled_from(sorted({leaf for leaf, _text, _form in CASES} - {"reference"})),
    st.text(st.sampled_from("0123456789+-.xaruenlb:/[]='\" z"), max_size=8),
)
@example("raw", "====")
@example("either", "/")
@example("where", "/a:types[")
def test_the_canonical_form_is_its_own_and_never_makes_libyang_stumble(wide: Model, leaf: str, text: str) -> None:
    """What we take is either fine for libyang as well, or an invalid-value; nothing else."""
    form = canonical(wide, leaf, text)
    if form is None:
        return
    schema = wide.node(f"/u:types/{leaf}")
    if not schema.type or not schema.type.has_prefixes:
        assert canonical(wide, leaf, form) == form
    lines = [schema.parent.open_tag if schema.parent else b"", Node(schema, form).xml(), b"</types>"]
    for index, error in wide.validator.check_values(lines).items():
        assert (index, error.tag) == (1, "invalid-value")


def test_only_types_with_names_of_modules_need_prefixes(wide: Model) -> None:
    with_prefixes = {"id", "both", "where", "there", "either"}
    for leaf in wide.node("/u:types").children.values():
        assert leaf.type is None or leaf.type.has_prefixes == (leaf.name in with_prefixes), leaf.name


def test_what_is_refused_for_its_form_is_refused_by_libyang_too(wide: Model) -> None:
    """Nothing is refused that YANG allows; libyang takes a little more: any base of several."""
    lenient = {("id", ":near"), ("both", "near"), ("both", "k2")}
    spaces = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in PREFIXES.items() if prefix)
    for leaf, text, expected in CASES:
        if expected is None and len(text) < 100 and (leaf, text) not in lenient:
            config = f'<types xmlns="urn:example:u"{spaces}><{leaf}>{text}</{leaf}></types>'
            with pytest.raises(NetconfError):
                wide.validator.validate(config.encode())
