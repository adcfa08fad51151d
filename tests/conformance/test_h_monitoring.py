"""Section H: netconf-state, the YANG library, schemas and hello (RFC 6022, 7895, 8525, RFC 7950 5.6.4)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from agent.model.load import load
from agent.settings import StartError
from tests.conformance.agents import (
    E_MODULE,
    F_MODULE,
    MODULES,
    NEWER,
    OLDER,
    SHARED,
    Agent,
    live,
    lock,
    serving,
    unlock,
    until,
)
from tests.conformance.session import N, Session, edit, top
from tests.system.client import MONITORING
from tests.system.gateway import T_MODULE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

pytestmark = pytest.mark.usefixtures("agent")
# One with a submodule, and one of YANG 1.0 without a revision.
AGENT_MODULES = (E_MODULE, F_MODULE)
M = f"{{{MONITORING}}}"
LIBRARY = "urn:ietf:params:xml:ns:yang:ietf-yang-library"
L = f"{{{LIBRARY}}}"
CAPABILITY = "urn:ietf:params:netconf:capability:"


def state(session: Session, content: str) -> Element:
    """Return a part of netconf-state."""
    wanted = f'<netconf-state xmlns="{MONITORING}">{content}</netconf-state>'
    found = session.ask(f'<get><filter type="subtree">{wanted}</filter></get>').find(f".//{M}netconf-state")
    assert found is not None
    return found


def fields(element: Element) -> dict[str, str]:
    """Return the leafs of an element by name."""
    return {etree.QName(child).localname: child.text or "" for child in element}


def own(session: Session, number: int | None = None) -> dict[str, str]:
    """Return what is said about a session."""
    found = {e.findtext(f"{M}session-id"): e for e in state(session, "<sessions/>").iter(f"{M}session")}
    return fields(found[str(number or session.id)])


def statistics(session: Session) -> dict[str, Any]:
    """Return the server's counters."""
    found = fields(state(session, "<statistics/>")[0])
    return {name: int(text) if text.isdigit() else text for name, text in found.items()}


def hello(session: Session) -> list[str]:
    """Return the capabilities of the agent's hello."""
    return [e.text or "" for e in session.hello.iter(f"{N}capability")]


def schemas(session: Session) -> list[dict[str, str]]:
    """Return the list of schemas."""
    return [fields(e) for e in state(session, "<schemas/>").iter(f"{M}schema")]


def get_schema(identifier: str, more: str = "") -> str:
    """Return a get-schema request."""
    return f'<get-schema xmlns="{MONITORING}"><identifier>{identifier}</identifier>{more}</get-schema>'


def text(session: Session, identifier: str, more: str = "") -> str:
    """Return a schema."""
    (data,) = session.ask(get_schema(identifier, more))
    assert data.tag == f"{M}data"
    assert len(data) == 0
    return data.text or ""


def library(session: Session) -> tuple[Element, Element]:
    """Return the YANG library and its older form."""
    reply = session.ask(
        f'<get><filter><yang-library xmlns="{LIBRARY}"/><modules-state xmlns="{LIBRARY}"/></filter></get>'
    )
    new, old = reply.find(f".//{L}yang-library"), reply.find(f".//{L}modules-state")
    assert new is not None
    assert old is not None
    return new, old


def test_c171_capabilities_are_those_of_hello(session: Session) -> None:
    found = [e.text for e in state(session, "<capabilities/>").iter(f"{M}capability")]
    assert found == hello(session)
    assert len(set(found)) == len(found)


def test_c172_datastores_tell_their_locks(agent: Agent, session: Session) -> None:
    names = [e.findtext(f"{M}name") for e in state(session, "<datastores/>").iter(f"{M}datastore")]
    assert names == ["candidate", "running"]
    assert state(session, "<datastores/>").find(f".//{M}locks") is None
    other = agent.session()
    other.ok(lock("running"))
    (datastore,) = [e for e in state(session, "<datastores/>").iter(f"{M}datastore") if len(e) > 1]
    assert datastore.findtext(f"{M}name") == "running"
    held = datastore.find(f"{M}locks/{M}global-lock")
    assert held is not None
    assert held.findtext(f"{M}locked-by-session") == str(other.id)
    since = datetime.fromisoformat(held.findtext(f"{M}locked-time") or "")
    assert timedelta() <= datetime.now(UTC) - since < timedelta(minutes=1)
    other.ok(unlock("running"))
    assert state(session, "<datastores/>").find(f".//{M}locks") is None


def test_c173_every_module_and_submodule_has_a_schema(session: Session) -> None:
    found = schemas(session)
    by_name = {one["identifier"]: one for one in found}
    assert len(by_name) == len(found)
    assert by_name["e"]["version"] == "2026-11-30"
    assert by_name["e-part"] == {**by_name["e"], "identifier": "e-part", "version": "2026-11-29"}
    assert by_name["f"]["version"] == ""
    assert {one["location"] for one in found} == {"NETCONF"}
    assert {one["format"] for one in found} == {"yang"} or {one["format"] for one in found} == {"ncm:yang"}
    assert {"ietf-inet-types", "ietf-yang-types", "ietf-netconf", "ietf-netconf-monitoring"} <= by_name.keys()
    for element in state(session, "<schemas/>").iter(f"{M}format"):
        prefix, _colon, name = (element.text or "").rpartition(":")
        assert (name, element.nsmap[prefix or None]) == ("yang", MONITORING)
    for one in found:
        served = text(session, one["identifier"], f"<version>{one['version']}</version>")
        assert re.match(rf"\s*(?:/[/*].*?\n\s*)*(sub)?module {re.escape(one['identifier'])}\b", served, re.DOTALL)


def test_c174_sessions_tell_who_is_there_and_count(agent: Agent, session: Session) -> None:
    other = agent.session()
    started = own(session, other.id)
    assert started["transport"].rpartition(":")[2] == "netconf-unix"
    assert started["username"]
    login = datetime.fromisoformat(started["login-time"])
    assert timedelta() <= datetime.now(UTC) - login < timedelta(minutes=5)
    counters = ("in-rpcs", "in-bad-rpcs", "out-rpc-errors", "out-notifications")
    assert [started[name] for name in counters] == ["0", "0", "0", "0"]
    other.ok(lock("running"), unlock("running"))
    other.outcome(unlock("running"))
    other.message(b'<rpc xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><get/></rpc>')
    found = own(session, other.id)
    assert [found[name] for name in counters] == ["3", "1", "2", "0"]
    assert live(session) == sorted([session.id, other.id])


def test_c175_statistics_move(agent: Agent, session: Session) -> None:
    before = statistics(session)
    started = datetime.fromisoformat(str(before["netconf-start-time"]))
    assert timedelta() <= datetime.now(UTC) - started < timedelta(minutes=30)
    dropped = agent.session()
    dropped.close()
    closed = agent.session()
    closed.ok("<close-session/>")
    closed.ends()
    bad = agent.session(base=None)
    bad.send(b"<hello/>]]>]]>")
    bad.ends()
    session.outcome("<get-config/>")
    until(lambda: live(session) == [session.id], "the others are gone")
    after = statistics(session)
    moved = {n: after[n] - before[n] for n in ("in-sessions", "in-bad-hellos", "in-bad-rpcs", "out-rpc-errors")}
    assert moved == {"in-sessions": 3, "in-bad-hellos": 1, "in-bad-rpcs": 0, "out-rpc-errors": 1}
    assert after["dropped-sessions"] - before["dropped-sessions"] in {1, 2}  # whether a bad hello is one is open
    assert after["netconf-start-time"] == before["netconf-start-time"]
    assert after["in-rpcs"] > before["in-rpcs"] + 2
    assert after["out-notifications"] == 0


@pytest.mark.parametrize(
    ("identifier", "more"),
    [
        ("nothing", ""),
        ("", ""),
        ("t", "<version>2000-01-01</version>"),
        ("f", "<version>2000-01-01</version>"),
        ("t", "<format>yin</format>"),
        ("t", "<format>xsd</format>"),
        ("t", '<format xmlns:x="urn:example:t">x:yang</format>'),
        ("t", "<format>undeclared:yang</format>"),
        ("../t", ""),
    ],
)
def test_c176_a_schema_that_is_not_there_is_an_invalid_value(session: Session, identifier: str, more: str) -> None:
    assert session.outcome(get_schema(identifier, more)) == "application/invalid-value"


def test_c176_a_schema_needs_its_name(session: Session) -> None:
    outcome = session.outcome(f'<get-schema xmlns="{MONITORING}"/>')
    assert outcome == "protocol/missing-element {bad-element=identifier}"


@pytest.fixture(scope="module")
def revisions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """Return an agent with two modules, which import a third one in different revisions."""
    with serving(tmp_path_factory.mktemp("revisions"), OLDER, NEWER) as served:
        yield served


def test_c177_a_schema_in_two_revisions_needs_its_version(revisions: Agent) -> None:
    session = revisions.session()
    for more in ("", "<version/>", "<format>yang</format>"):
        assert session.outcome(get_schema("shared", more)) == "application/operation-failed/data-not-unique"
    for path in SHARED:
        version = path.stem.partition("@")[2]
        assert text(session, "shared", f"<version>{version}</version>").encode() == path.read_bytes()
    assert session.outcome(get_schema("shared", "<version>2022-01-01</version>")) == "application/invalid-value"


def test_two_revisions_are_listed_wherever_modules_are(revisions: Agent) -> None:
    session = revisions.session()
    both = ["2020-01-01", "2021-01-01"]
    assert [one["version"] for one in schemas(session) if one["identifier"] == "shared"] == both
    new, old = library(session)
    listed = [e for e in new.iter(f"{L}import-only-module") if e.findtext(f"{L}name") == "shared"]
    assert [e.findtext(f"{L}revision") for e in listed] == both
    legacy = [e for e in old.iterfind(f"{L}module") if e.findtext(f"{L}name") == "shared"]
    assert [e.findtext(f"{L}revision") for e in legacy] == both
    assert {e.findtext(f"{L}conformance-type") for e in legacy} == {"import"}
    offered = [uri for uri in hello(session) if uri.startswith("urn:example:")]
    assert offered == [f"urn:example:{name}?module={name}&revision=2026-11-30" for name in ("newer", "older")]


def test_c178_the_version_may_be_left_out(session: Session) -> None:
    for identifier, path in (("t", T_MODULE), ("f", F_MODULE), ("e-part", MODULES / "e-part.yang")):
        for more in ("", "<version/>", "<version></version>"):
            assert text(session, identifier, more) == path.read_text()
    assert text(session, "t", "<version>2026-11-30</version>") == T_MODULE.read_text()


def test_c179_the_format_has_any_prefix(session: Session) -> None:
    for more in (
        "<format>yang</format>",
        f'<format xmlns:x="{MONITORING}">x:yang</format>',
        f'<x:format xmlns:x="{MONITORING}">x:yang</x:format>',
    ):
        assert text(session, "t", more) == T_MODULE.read_text()


def test_c180_the_text_is_that_of_the_file_to_the_byte(session: Session) -> None:
    for path in (T_MODULE, E_MODULE, F_MODULE, MODULES / "e-part.yang"):
        assert text(session, path.stem).encode() == path.read_bytes()
    folder = Path(__file__).parents[2] / "yang"
    for path in folder.glob("*.yang"):
        name, _at, revision = path.stem.partition("@")
        assert text(session, name, f"<version>{revision}</version>").encode() == path.read_bytes()


def test_c181_modules_of_yang_1_1_are_in_the_library(session: Session) -> None:
    offered = hello(session)
    assert not any(uri.startswith(("urn:example:t", "urn:example:e")) for uri in offered)
    new, old = library(session)
    identifier = new.findtext(f"{L}content-id")
    assert identifier == old.findtext(f"{L}module-set-id")
    revision = "2019-01-04"
    assert f"{CAPABILITY}yang-library:1.0?revision={revision}&module-set-id={identifier}" in offered
    assert f"{CAPABILITY}yang-library:1.1?revision={revision}&content-id={identifier}" in offered


def test_c182_modules_of_yang_1_0_are_in_hello(session: Session) -> None:
    offered = hello(session)
    assert "urn:example:f?module=f&features=one,two" in offered
    (netconf,) = [uri for uri in offered if "module=ietf-netconf&" in uri]
    assert netconf == (
        "urn:ietf:params:xml:ns:netconf:base:1.0?module=ietf-netconf&revision=2011-06-01"
        "&features=candidate,confirmed-commit,rollback-on-error,validate,xpath"
    )


def test_c183_the_identifier_is_that_of_the_module_set(session: Session, tmp_path: Path) -> None:
    identifiers = [library(session)[0].findtext(f"{L}content-id")]
    for number, modules in enumerate([(), (E_MODULE,), (E_MODULE, F_MODULE)]):
        with serving(tmp_path / f"g{number}", *modules) as agent:
            identifiers.append(library(agent.session())[0].findtext(f"{L}content-id"))
    assert identifiers[0] == identifiers[3]
    assert len(set(identifiers)) == 3


def test_c184_both_forms_of_the_library_say_the_same(session: Session) -> None:
    new, old = library(session)
    modern = {
        e.findtext(f"{L}name"): (e.findtext(f"{L}revision") or "", e.tag == f"{L}module")
        for e in new.iterfind(f"{L}module-set/*")
        if e.tag in {f"{L}module", f"{L}import-only-module"}
    }
    legacy = {
        e.findtext(f"{L}name"): (e.findtext(f"{L}revision") or "", e.findtext(f"{L}conformance-type") == "implement")
        for e in old.iterfind(f"{L}module")
    }
    assert modern == legacy
    assert modern["f"] == ("", True)
    assert modern["e"] == ("2026-11-30", True)
    for tree in new, old:
        (e,) = [m for m in tree.iter(f"{L}module") if m.findtext(f"{L}name") == "e"]
        (part,) = e.findall(f"{L}submodule")
        assert (part.findtext(f"{L}name"), part.findtext(f"{L}revision")) == ("e-part", "2026-11-29")
        assert {d.text or d.findtext(f"{L}name") for d in e.findall(f"{L}deviation")} >= {"f"}
        assert [f.text for f in e.findall(f"{L}feature")] == ["on"]
    names = {*modern, "e-part"}
    listed = {one["identifier"]: one["version"] for one in schemas(session)}
    assert {name for name in listed if not modern.get(name)} <= {
        "e-part",
        *(s.findtext(f"{L}name") or "" for s in new.iter(f"{L}submodule")),
    }
    assert names <= listed.keys()
    assert all(listed[str(name)] == revision for name, (revision, _) in modern.items())
    datastores = [(e.findtext(f"{L}name") or "").rpartition(":")[2] for e in new.iter(f"{L}datastore")]
    assert sorted(datastores) == ["candidate", "intended", "operational", "running"]


def test_with_startup_all_tell_of_it(tmp_path: Path) -> None:
    with serving(tmp_path / "g", settings="[datastore]\npersistence = 'startup'\n") as agent:
        session = agent.session()
        session.ok(edit(top("<name>n</name>")), "<discard-changes/>", lock("startup"))
        found = {e.findtext(f"{M}name"): len(e) for e in state(session, "<datastores/>").iter(f"{M}datastore")}
        assert found == {"candidate": 1, "running": 1, "startup": 2}
        datastores = [
            (e.findtext(f"{L}name") or "").rpartition(":")[2] for e in library(session)[0].iter(f"{L}datastore")
        ]
        assert sorted(datastores) == ["candidate", "intended", "operational", "running", "startup"]
        assert f"{CAPABILITY}startup:1.0" in hello(session)
        assert any(
            "features=candidate,confirmed-commit,rollback-on-error,validate,startup,xpath" in uri
            for uri in hello(session)
        )


def test_a_module_is_not_implemented_in_two_revisions(tmp_path: Path) -> None:
    paths = []
    for revision in ("2025-01-01", "2026-01-01"):
        paths.append(tmp_path / revision / "twice.yang")
        paths[-1].parent.mkdir()
        head = 'yang-version 1.1; namespace "urn:example:twice"; prefix w;'
        paths[-1].write_text(f"module twice {{ {head} revision {revision}; }}\n")
    with pytest.raises(StartError, match=r"the module twice is served already, as it is in .*/2025-01-01/"):
        load(paths)
