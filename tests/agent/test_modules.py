"""Further modules: how they are loaded, imported and refused."""

from pathlib import Path

import pytest
from lxml import etree

from agent import edit
from agent.errors import NETCONF, NetconfError
from agent.model.load import Model, load
from agent.settings import StartError
from agent.tree import Node, from_json
from tests.agent.conftest import MODULES, modules_in

HEAD = 'module x {\n  yang-version 1.1;\n  namespace "urn:example:x";\n  prefix x;\n'


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yang"
    path.write_text(text, encoding="utf-8")
    return path


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


@pytest.mark.parametrize(
    ("name", "space", "said"),
    [
        ("ietf-netconf-acm", "urn:example:x", "is served already, as it is in "),
        ("hardware-acceleration", "urn:example:x", "is served already, as it is in "),
        # Imported by what is served.
        ("ietf-yang-types", "urn:example:x", "has the name of another module, ietf-yang-types in "),
        (
            "x",
            "urn:ietf:params:xml:ns:yang:ietf-netconf-acm",
            "has the namespace urn:ietf:params:xml:ns:yang:ietf-netconf-acm of another module, ietf-netconf-acm in ",
        ),
    ],
)
def test_a_module_that_is_taken_for_another_is_named(tmp_path: Path, name: str, space: str, said: str) -> None:
    text = f'module {name} {{ namespace "{space}"; prefix x; revision 2031-01-01; leaf a {{ type string; }} }}\n'
    path = write(tmp_path, "mine", text)
    with pytest.raises(StartError) as caught:
        load([path])
    assert str(caught.value).startswith(f"{path}: the module {name} {said}")


def test_a_module_given_twice_is_named(tmp_path: Path) -> None:
    for year in ("2031", "2032"):
        head = f'module x {{ namespace "urn:example:x"; prefix x; revision {year}-01-01; }}\n'
        write(tmp_path, f"x@{year}-01-01", head)
    first, second = sorted(tmp_path.iterdir())
    for other in (first, second):
        with pytest.raises(StartError) as caught:
            load([first, other])
        assert str(caught.value) == (
            f"{other}: the module x is served already, as it is in {first}: leave out its --module, or rename it"
        )


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


# Modules that are only imported (RFC 7950 5.6.5).


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
