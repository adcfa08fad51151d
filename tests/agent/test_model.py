"""Modules: how they are loaded and refused, and the errors of RFC 7950 section 15 that validation finds."""

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent.errors import MOST_ERRORS, NETCONF, YANG, NetconfError
from agent.model.load import STANDARD, Model, load
from agent.settings import StartError
from agent.tree import Node, from_json

MODULES = Path(__file__).parent / "modules"
HEAD = 'module x {\n  yang-version 1.1;\n  namespace "urn:example:x";\n  prefix x;\n'


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yang"
    path.write_text(text, encoding="utf-8")
    return path


# ── loading ──────────────────────────────────────────────────────────────────────────────────────


def test_modules_are_known_by_name_and_by_namespace(model: Model) -> None:
    t = model.modules["t"]
    assert (t.revision, t.namespace, t.prefix, t.yang_version) == ("2026-11-30", "urn:example:t", "t", "1.1")
    assert (t.implemented, t.belongs_to, t.submodules, t.features) == (True, None, (), ())
    assert t.text == (MODULES / "t.yang").read_text(encoding="utf-8")
    assert model.by_namespace["urn:example:t"] is t
    assert all(model.modules[name].implemented for name in STANDARD)
    assert not model.modules["ietf-yang-types"].implemented
    assert model.modules["ietf-netconf"].features == (
        "candidate",
        "confirmed-commit",
        "rollback-on-error",
        "validate",
        "xpath",
    )


def test_the_schema_of_t(model: Model) -> None:
    top = model.node("/t:top")
    kinds = {name: model.node(f"/t:top/{name}").kind for name in ("name", "np", "item", "ord", "state")}
    assert kinds == {"name": "leaf", "np": "container", "item": "list", "ord": "leaf-list", "state": "container"}
    pair, rule, log = (model.node(path) for path in ("/t:top/pair", "/t:top/rule", "/t:top/state/log"))
    assert [key.name for key in pair.keys] == ["a", "b"]
    assert (pair.user_ordered, rule.user_ordered, log.user_ordered, log.keys) == (False, True, True, ())
    assert (top.config, model.node("/t:top/state").config, log.config) == (True, False, False)
    assert (top.presence, model.node("/t:top/pres").presence) == (False, True)
    assert (model.node("/t:top/rule/act").mandatory, top.mandatory) == (True, False)
    assert (model.node("/t:top/mtu").defaults, model.node("/t:top/name").defaults) == (("1500",), ())
    assert (model.node("/t:ping").kind, model.node("/t:ping/input/host").mandatory) == ("rpc", True)
    assert model.node("/t:ev").kind == "notification"
    assert [node.name for node in model.node("/t:top/np").walk()] == ["np", "d", "deep", "e"]
    assert model.node("/t:top/i1").cases == (("t:outer", "t:o1"), ("t:in", "t:i1"))
    assert (pair.path, pair.qualified, top.qualified) == ("/t:top/pair", "pair", "t:top")


def test_the_schema_of_what_u_adds(wide: Model) -> None:
    name, case = wide.node("/t:top/u:name"), wide.node("/t:top/u:a3")
    assert (name.qualified, name.open_tag) == ("u:name", b'<name xmlns="urn:example:u">')
    assert case.cases == (("t:mode", "u:a"),)
    assert wide.node("/u:types/order").defaults == ("2", "1")
    reference, hexadecimal = wide.node("/u:types/reference").type, wide.node("/u:types/hex").type
    assert reference is not None
    assert hexadecimal is not None
    assert (reference.base, hexadecimal.base) == ("int8", "string")


@pytest.mark.parametrize("path", ["/t:none", "/t:top/none", "/top", "/t:top/u:name", "/t:top/name/x"])
def test_a_path_that_leads_nowhere(model: Model, path: str) -> None:
    with pytest.raises(KeyError):
        model.node(path)


def test_access_annotations_are_kept() -> None:
    """RFC 8341 3.7."""
    denied = {node.path: node.deny for node in load().root.walk() if node.deny is not None}
    device = "/hardware-acceleration:acceleration/qat/device"
    assert (denied[f"{device}/section"], denied[f"{device}/flows"]) == ("write", "all")
    assert device not in denied


def test_a_submodule_is_part_of_its_module_and_listed_by_itself(tmp_path: Path) -> None:
    """F103, C173."""
    part = """submodule x-part {
  yang-version 1.1;
  belongs-to x { prefix x; }
  identity whole;
  identity in-part { base whole; }
  leaf inside { type string; }
}
"""
    write(tmp_path, "x-part", part)
    text = f"{HEAD}  include x-part;\n  leaf id {{ type identityref {{ base whole; }} }}\n}}\n"
    loaded = load([write(tmp_path, "x", text)])
    submodule = loaded.modules["x-part"]
    assert (submodule.belongs_to, submodule.namespace, submodule.revision) == ("x", "urn:example:x", "")
    assert submodule.text == part
    assert loaded.modules["x"].submodules == (("x-part", ""),)
    assert loaded.by_namespace["urn:example:x"].name == "x"
    root = from_json(loaded.root, {"x:inside": "1", "x:id": "x:in-part"})
    assert root.xml() == (
        b'<inside xmlns="urn:example:x">1</inside><id xmlns="urn:example:x" xmlns:x="urn:example:x">x:in-part</id>'
    )
    assert loaded.validator.validate(root.xml())["x:id"] == "in-part"


def test_a_module_may_be_imported_in_several_revisions(tmp_path: Path) -> None:
    """RFC 7950 5.1.1, 5.6.5: each importer gets what its revision defines; one at most is implemented."""
    for year, characters, default in (("2020", "a-z", "x"), ("2021", "0-9", "7")):
        head = f'module lent {{ namespace "urn:example:lent"; prefix l; include part {{ revision-date {year}-01-01; }}'
        write(tmp_path, f"lent@{year}-01-01", f"{head} revision {year}-01-01; }}\n")
        typedef = f'typedef word {{ type string {{ pattern "[{characters}]+"; }} default "{default}"; }}'
        head = f"submodule part {{ belongs-to lent {{ prefix l; }} revision {year}-01-01;"
        write(tmp_path, f"part@{year}-01-01", f"{head} {typedef} }}\n")
    users = []
    for name, year in (("old", "2020"), ("new", "2021")):
        head = f'module {name} {{ namespace "urn:example:{name}"; prefix u; import lent {{ prefix l; '
        text = f"{head} revision-date {year}-01-01; }} leaf {name} {{ type l:word; }} }}\n"
        users.append(write(tmp_path, name, text))
    for more in ((), (tmp_path / "lent@2020-01-01.yang",)):
        loaded = load([*users, *more])
        revisions = ["2020-01-01", "2021-01-01"]
        lent = [module for module in loaded.served if module.name == "lent"]
        assert [(m.revision, m.implemented, m.submodules) for m in lent] == [
            (revision, bool(more) and revision == revisions[0], (("part", revision),)) for revision in revisions
        ]
        assert [m.revision for m in loaded.served if m.name == "part"] == revisions
        assert loaded.modules["lent"].revision == revisions[0 if more else 1]
        assert (loaded.node("/old:old").defaults, loaded.node("/new:new").defaults) == (("x",), ("7",))
        found = loaded.validator.validate(b"")
        assert (found["old:old"], found["new:new"]) == ("x", "7")
        for config in (b'<old xmlns="urn:example:old">7</old>', b'<new xmlns="urn:example:new">x</new>'):
            with pytest.raises(NetconfError, match="Unsatisfied pattern"):
                loaded.validator.validate(config)


def test_modules_may_be_named_in_any_order() -> None:
    loaded = load([MODULES / "u.yang", MODULES / "t.yang"])
    config = b'<types xmlns="urn:example:u"><featured>x</featured></types>'
    assert loaded.validator.validate(config)["u:types"]["featured"] == "x"


def test_the_features_of_further_modules_are_there(wide: Model) -> None:
    """To pyang and libyang alike: what is announced is what is taken."""
    assert wide.modules["u"].features == ("spare",)
    config = etree.fromstring('<config><types xmlns="urn:example:u"><featured>x</featured></types></config>')
    root = edit.apply(Node(wide.root), edit.parse(wide, config, "merge"))
    assert wide.validator.validate(root.xml())["u:types"]["featured"] == "x"


def test_a_default_has_the_prefixes_of_the_module_that_it_is_written_in(tmp_path: Path) -> None:
    """Of a typedef's and a grouping's, wherever they are used (RFC 7950 7.13, 9.10.5)."""
    lender = """module lender {
  yang-version 1.1;
  namespace "urn:example:lender";
  prefix l;
  identity any;
  identity one { base any; }
  typedef marked { type identityref { base any; } default l:one; }
  typedef plain { type identityref { base any; } default one; }
  grouping both { leaf grouped { type identityref { base any; } default one; } }
}
"""
    text = f"""{HEAD}
  import lender {{ prefix lent; }}
  identity own {{ base lent:any; }}
  leaf marked {{ type lent:marked; }}
  leaf plain {{ type lent:plain; }}
  uses lent:both;
  leaf written-here {{ type identityref {{ base lent:any; }} default own; }}
}}
"""
    loaded = load([write(tmp_path, "lender", lender), write(tmp_path, "x", text)])
    assert {name: loaded.node(f"/x:{name}").defaults for name in ("marked", "plain", "grouped", "written-here")} == {
        "marked": ("lender:one",),
        "plain": ("lender:one",),
        "grouped": ("lender:one",),
        "written-here": ("x:own",),
    }


def test_a_deviation_takes_a_node_away(tmp_path: Path) -> None:
    """C108: as a feature that is not there would."""
    text = f'{HEAD}  import t {{ prefix t; }}\n  deviation "/t:top/t:mtu" {{ deviate not-supported; }}\n}}\n'
    loaded = load([MODULES / "t.yang", write(tmp_path, "x", text)])
    assert loaded.modules["t"].deviations == ("x",)
    config = etree.fromstring('<config><top xmlns="urn:example:t"><mtu>70</mtu></top></config>')
    with pytest.raises(NetconfError) as caught:
        edit.parse(loaded, config, "merge")
    assert (caught.value.tag, caught.value.info) == ("unknown-element", ((NETCONF, "bad-element", "mtu"),))
    assert "mtu" not in loaded.validator.validate(b"").get("t:top", {})


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (HEAD, ":4: ", "premature end of file"),
        ("", ":0: ", "premature end of file"),
        ("hello world", ": ", "no YANG module"),
        ("hello 'x';", ":1: ", "unexpected keyword"),
        ("{", ":1: ", "syntax error"),
        ("<module/>", ":1: ", ""),
        (HEAD + "  leef a;\n}", ":5: ", 'unexpected keyword "leef"'),
        (HEAD + "  leaf a {\n    type nosuch;\n  }\n}", ":6: ", 'type "nosuch" not found'),
        (HEAD + "  import nosuch {\n    prefix n;\n  }\n}", ":5: ", 'module "nosuch" not found'),
        (HEAD + "  leaf a {\n    type uint8;\n    default 999;\n  }\n}", ":7: ", '"999"'),
        (HEAD + "  leaf a {\n    type uint8;\n    must '((';\n  }\n}", ":7: ", "XPath syntax error"),
        (HEAD + '  leaf a {\n    type leafref {\n      path "../b";\n    }\n  }\n}', ":7: ", "not found"),
        (HEAD + "  list a {\n    key b;\n  }\n}", ":6: ", 'key "b"'),
        ("submodule s {\n  belongs-to x {\n    prefix x;\n  }\n}\n", ": ", "a submodule of x"),
    ],
)
def test_broken_yang_is_one_line_with_its_place(tmp_path: Path, text: str, place: str, words: str) -> None:
    path = write(tmp_path, "x", text)
    with pytest.raises(StartError) as caught:
        load([path])
    said = str(caught.value)
    assert said.startswith(f"{path}{place}")
    assert words in said
    assert said.endswith(("correct the module", "name that module's file"))
    assert "\n" not in said


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "x.yang"
    binary.write_bytes(b"module \xff")
    for path, words in (
        (tmp_path / "none.yang", "can't be read: No such file or directory"),
        (tmp_path, "can't be read: Is a directory"),
        (binary, "is not UTF-8 text"),
    ):
        with pytest.raises(StartError) as caught:
            load([path])
        assert str(caught.value).startswith(f"{path}: the YANG module {words}")


# ── validation of a configuration ────────────────────────────────────────────────────────────────


def found(model: Model, **data: Any) -> list[tuple[Any, ...]]:
    """Return (tag, app-tag, path, info) of each error that validation finds in u's constraints."""
    root = from_json(model.root, {"u:constraints": data})
    return errors_of(model, root)


def errors_of(model: Model, root: Node) -> list[tuple[Any, ...]]:
    try:
        model.validator.validate(root.xml())
    except NetconfError as error:
        every = (error, *error.others)
    else:
        return []
    assert {one.type for one in every} == {"application"}
    assert all(one.others == () for one in every[1:])
    return [(one.tag, one.app_tag, one.path, one.info) for one in every]


GOOD: dict[str, Any] = {"needed": "x", "this": "x", "pair": [{"name": "a", "wanted": "x"}], "few": ["1", "2"]}


def test_what_is_valid_comes_back_with_defaults(wide: Model) -> None:
    data = wide.validator.validate(from_json(wide.root, {"u:constraints": GOOD}).xml())
    assert data["u:constraints"] == GOOD
    assert data["t:top"] == {"mtu": 1500, "np": {"d": "x", "deep": {"e": 0}}}
    assert data["u:types"] == {"order": [2, 1]}
    assert wide.validator.validate(b"")["t:top"]["mtu"] == 1500


def test_data_not_unique(wide: Model) -> None:
    """15.1, C118, F29: every leaf of every entry that is not unique, by instance path."""
    pairs = [
        {"name": "a\n/b", "number": 1, "inner": {"text": "t"}, "wanted": "x", "alone": "1"},
        {"name": "it's", "number": 1, "inner": {"text": "t"}, "wanted": "x", "alone": "2"},
    ]
    first, second = "/u:constraints/pair[name='a\n/b']", '/u:constraints/pair[name="it\'s"]'
    leafs = [f"{entry}/{leaf}" for entry in (first, second) for leaf in ("number", "inner/text")]
    info = tuple((YANG, "non-unique", leaf) for leaf in leafs)
    assert found(wide, **{**GOOD, "pair": pairs}) == [("operation-failed", "data-not-unique", second, info)]
    pairs[1] |= {"number": 2, "alone": "1"}
    info = tuple((YANG, "non-unique", f"{entry}/alone") for entry in (first, second))
    assert found(wide, **{**GOOD, "pair": pairs}) == [("operation-failed", "data-not-unique", second, info)]
    pairs[1] |= {"alone": "2"}
    assert found(wide, **{**GOOD, "pair": pairs}) == []


def test_too_many_and_too_few_elements(wide: Model) -> None:
    """15.2, 15.3, C119, C120: once, with the path of the list."""
    many = [{"name": str(number), "wanted": "x"} for number in range(6)]
    lists = ["/u:constraints/pair", "/u:constraints/few"]
    assert found(wide, **{**GOOD, "pair": many, "few": ["1", "2", "3", "4", "5"]}) == [
        ("operation-failed", "too-many-elements", path, ()) for path in lists
    ]
    assert found(wide, **{**GOOD, "pair": [], "few": ["1"]}) == [
        ("operation-failed", "too-few-elements", path, ()) for path in lists
    ]


def test_must(wide: Model) -> None:
    """15.4, C121: with the must's own app-tag and message, as they stand."""
    crowded = {**GOOD, "few": ["1", "2", "3"], "checked": "x"}
    path = "/u:constraints/checked"
    assert found(wide, **crowded) == [("operation-failed", "too-crowded", path, ())]
    with pytest.raises(NetconfError, match=r'^no more than 50% of "few"$'):
        wide.validator.validate(from_json(wide.root, {"u:constraints": crowded}).xml())
    low = {"t:top": {"low": 58, "high": 60}}
    assert errors_of(wide, from_json(wide.root, low)) == [("operation-failed", "must-violation", "/t:top/low", ())]
    with pytest.raises(NetconfError, match=r"^low must be 5% under high$"):  # F27
        wide.validator.validate(from_json(wide.root, low).xml())


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"t:top": {"ref": "z", "item": [{"id": "a"}]}}, "/t:top/ref"),
        ({"u:types": {"reference": 5}}, "/u:types/reference"),
        ({"u:types": {"there": "/t:top/item[id='z']"}}, "/u:types/there"),
    ],
)
def test_an_instance_that_is_required(wide: Model, data: dict[str, Any], path: str) -> None:
    """15.5, C122."""
    assert errors_of(wide, from_json(wide.root, data)) == [("data-missing", "instance-required", path, ())]


def test_an_instance_that_is_not_required(wide: Model) -> None:
    data = {"u:types": {"loose": 5, "where": "/t:top/item[id='z']"}}
    assert errors_of(wide, from_json(wide.root, data)) == []


def test_mandatory_leafs_and_choices(wide: Model) -> None:
    """15.6, C123, C125: of a choice its name, at the path of its parent."""
    assert found(wide, **{name: GOOD[name] for name in ("pair", "few")}) == [
        ("data-missing", "missing-choice", "/u:constraints", ((YANG, "missing-choice", "one"),)),
        ("data-missing", None, "/u:constraints/needed", ()),
    ]
    pairs = [{"name": "a"}, {"name": "b", "wanted": "x"}]
    assert found(wide, **{**GOOD, "pair": pairs}) == [
        ("data-missing", None, "/u:constraints/pair[name='a']/wanted", ())
    ]


def test_a_condition_that_does_not_hold(wide: Model) -> None:
    """8.3.1, C108: as if the node were not in the schema."""
    data = {"u:types": {"conditional": "x"}}
    info = ((NETCONF, "bad-element", "conditional"),)
    assert errors_of(wide, from_json(wide.root, data)) == [("unknown-element", None, "/u:types/conditional", info)]
    data["u:types"]["truth"] = True  # type: ignore[assignment]
    assert errors_of(wide, from_json(wide.root, data)) == []


def test_state_is_no_part_of_a_configuration(wide: Model) -> None:
    (error,) = errors_of(wide, from_json(wide.root, {"t:top": {"state": {"up": True}}}))
    assert error[:3] == ("invalid-value", None, "/t:top/state")


def test_one_fault_does_not_hide_another_nor_spoil_what_comes_next(wide: Model) -> None:
    """F29, C043."""
    bad = {"rule": [{"id": "1"}], "low": 5, "high": 5, "item": [{"id": "a", "v": 1}, {"id": "b", "v": 1}]}
    root = from_json(wide.root, {"t:top": bad})
    assert [(tag, app_tag) for tag, app_tag, _path, _info in errors_of(wide, root)] == [
        ("operation-failed", "must-violation"),
        ("operation-failed", "data-not-unique"),
        ("data-missing", None),
    ]
    assert errors_of(wide, from_json(wide.root, {"t:top": {"rule": [{"id": "1", "act": "x"}]}})) == []


def test_a_warning_is_no_error(tmp_path: Path) -> None:
    """What is unusual in a module is kept beside the errors that come later."""
    unusual = "container box { leaf v { type string; } must \"not(contains(., 'bad'))\"; }"
    a, broken = modules_in(tmp_path, a=unusual, b="container no { when 'v'; leaf v { type string; } }")
    model = load([a])

    found = errors_of(model, from_json(model.root, {"a:box": {"v": "bad"}}))

    assert found == [("operation-failed", "must-violation", "/a:box", ())]

    with pytest.raises(StartError, match=r"b\.yang: When condition"):
        load([a, broken])


def test_errors_do_not_come_without_end(wide: Model) -> None:
    root = from_json(wide.root, {"t:top": {"rule": [{"id": str(number)} for number in range(200)]}})
    assert len(errors_of(wide, root)) == MOST_ERRORS


# ── validation of values ─────────────────────────────────────────────────────────────────────────


def refused(model: Model, config: str) -> NetconfError:
    element = etree.fromstring(f'<config xmlns:t="urn:example:t">{config}</config>')
    with pytest.raises(NetconfError) as caught:
        edit.parse(model, element, "merge")
    return caught.value


@pytest.mark.parametrize(
    ("leaf", "value", "app_tag", "message"),
    [
        ("limited", "11", "out-of-range", "from 1 to 10, or 20"),
        ("short", "long", "out-of-length", "one to three characters"),
        ("hex", "xyz", "not-hex", "100% hexadecimal"),
        ("i8", "x", None, 'i8: "x" is not an integer'),
    ],
)
def test_a_types_own_tag_and_message(wide: Model, leaf: str, value: str, app_tag: str | None, message: str) -> None:
    """C105."""
    error = refused(wide, f'<types xmlns="urn:example:u"><{leaf}>{value}</{leaf}></types>')
    assert (error.type, error.tag, error.app_tag) == ("application", "invalid-value", app_tag)
    assert (error.path, error.message) == (f"/u:types/{leaf}", message)


LINES = st.text(st.sampled_from("ab\n\r<&>'\" "), min_size=1, max_size=8)
ENTRIES = st.dictionaries(st.tuples(LINES, LINES), LINES, max_size=3)


@settings(deadline=None)
@given(ENTRIES, LINES, ENTRIES, st.sampled_from(["name", "key", "leaf", "leaf-list"]))
def test_an_error_in_a_value_has_the_path_of_its_node(
    wide: Model, before: dict[tuple[str, str], str], wrong: str, after: dict[tuple[str, str], str], where: str
) -> None:
    """Though libyang tells only lines, and values have any number of them."""

    def written(entries: dict[tuple[str, str], str]) -> str:
        return "".join(
            f"<pair><c>{text(value)}</c><b>{text(key[1])}</b><a>{text(key[0])}</a></pair><np/><tag>{text(value)}</tag>"
            for key, value in entries.items()
        )

    long = f"{wrong}{'x' * 64}\n"
    fault, path = {
        "name": (f"<name>{text(long)}</name>", "/t:top/name"),
        "key": (f"<item><w>1</w><id>{text(long)}</id></item>", f"/t:top/item[id={quoted(long)}]/id"),
        "leaf": ("<u:types xmlns:u='urn:example:u'/><low>1</low><mtu>67</mtu>", "/t:top/mtu"),
        "leaf-list": (f"<tag>{text(wrong)}</tag><high>\n7\n</high><name/>", "/t:top/name"),
    }[where]
    fault = fault.replace("<u:types xmlns:u='urn:example:u'/>", "")
    config = f'<top xmlns="urn:example:t">{written(before)}{fault}{written(after)}</top>'
    assert refused(wide, config).path == path


def text(value: str) -> str:
    return escape(value).replace("\r", "&#13;")


def quoted(value: str) -> str:
    if "'" in value and '"' in value:
        parts = [f"'{part}'" for part in value.split("'")]
        return "concat(" + ', "\'", '.join(parts) + ")"
    return f'"{value}"' if "'" in value else f"'{value}'"


def test_values_are_checked_without_the_rest_of_the_configuration(wide: Model) -> None:
    """8.3.1 only: what else a configuration must keep is for validate and commit."""
    config = etree.fromstring(
        '<config><constraints xmlns="urn:example:u"><few>1</few></constraints>'
        '<top xmlns="urn:example:t"><ref>none</ref><low>5</low><high>5</high><rule><id>1</id></rule></top></config>'
    )
    assert edit.apply(Node(wide.root), edit.parse(wide, config, "merge")).xml()
    assert wide.validator.check_values([b'<top xmlns="urn:example:t">', b"</top>"]) == {}
    assert wide.validator.check_values([]) == {}


# Modules that are only imported (RFC 7950 5.6.5).


def modules_in(folder: Path, **texts: str) -> list[Path]:
    """Write modules, each in a namespace and with a prefix of its name; return their files."""
    files = [folder / f"{name}.yang" for name in texts]
    for file, (name, text) in zip(files, texts.items(), strict=True):
        file.write_text(f'module {name} {{ yang-version 1.1; namespace "urn:{name}"; prefix {name}; {text} }}')
    return files


IMPORTER = "import b { prefix b; } container ac { leaf n { type b:name; } }"


def test_what_an_imported_module_adds_is_not_there(tmp_path: Path) -> None:
    b = "import c { prefix c; } typedef name { type string; } augment /c:cc { leaf added { type string; } }"
    c = "container cc { leaf own { type string; } }"
    a, _b, c_file = modules_in(tmp_path, a=IMPORTER, b=b, c=c)
    model = load([a, c_file])
    assert not model.modules["b"].implemented
    assert [child.name for child in model.node("/c:cc").children.values()] == ["own"]


def test_an_imported_module_that_deviates_another_is_refused(tmp_path: Path) -> None:
    b = "import c { prefix c; } typedef name { type string; } deviation /c:cc/c:own { deviate not-supported; }"
    a, _b, c_file = modules_in(tmp_path, a=IMPORTER, b=b, c="container cc { leaf own { type string; } }")
    with pytest.raises(StartError, match=r"b\.yang: the YANG module is only imported, and deviates c: serve it too"):
        load([a, c_file])


@pytest.mark.parametrize(
    "use",
    ["augment /b:bc { leaf more { type string; } }", "leaf r { type leafref { path /b:bc/b:own; } }"],
    ids=["augment", "leafref"],
)
def test_a_module_whose_nodes_are_used_is_implemented(tmp_path: Path, use: str) -> None:
    a, _b = modules_in(tmp_path, a=f"import b {{ prefix b; }} {use}", b="container bc { leaf own { type string; } }")
    model = load([a])
    assert model.modules["b"].implemented
    assert model.node("/b:bc/own").kind == "leaf"
    data = model.validator.validate(b'<bc xmlns="urn:b"><own>x</own></bc>')
    assert data["b:bc"] == {"own": "x"}


def test_features_of_a_submodule_are_the_modules(tmp_path: Path) -> None:
    (tmp_path / "part.yang").write_text("submodule part { yang-version 1.1; belongs-to a { prefix a; } feature f; }")
    (a,) = modules_in(tmp_path, a="include part; leaf l { if-feature f; type string; }")
    assert load([a]).modules["a"].features == ("f",)
