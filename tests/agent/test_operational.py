"""``<get>``: what is read for which filter, and what becomes of sources that can't be used."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from agent import filter as subtree
from agent import origin
from agent.datastore import Datastores
from agent.errors import NETCONF, NetconfError
from agent.nacm import Access
from agent.operational import Operational, faults
from agent.tree import from_json
from translators.base import ALL, Branch, Fault, Reading, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.load import Model
    from translators.base import Change, Plan, Tree

T = "urn:example:t"
STATE = "/t:top/state"
HOST: Any = object()


class Reader:
    """A translator that gives what it is told to and notes what is asked."""

    def __init__(self, path: str, tree: Tree, *faults: Fault) -> None:
        self.path = path
        self.reading = Reading(tree, faults)
        self.asked: list[tuple[Selection, Tree]] = []
        self.before: Callable[[], object] = lambda: None

    def prepare(self, change: Change, host: Any) -> Plan:
        raise AssertionError("a request for live state prepared a change")

    def operational(self, host: Any, wanted: Selection, running: Tree) -> Reading:
        assert host is HOST
        self.asked.append((wanted, running))
        self.before()
        return self.reading


def get(model: Model, content: str | None, *readers: Any, running: Tree | None = None, deadline: float = 10.0) -> str:
    """Return what a filter with this content selects, as XML."""

    async def main() -> str:
        datastores = Datastores(model, from_json(model.root, {"t:top": running} if running else {}))
        with ThreadPoolExecutor(4) as executor:
            operational = Operational(model, datastores, readers, HOST, executor, deadline=deadline)
            return (await operational.get(datastores.running, _filters(model, content), Access())).xml().decode()

    return asyncio.run(main())


def _filters(model: Model, content: str | None) -> Any:
    if content is None:
        return None
    element = etree.fromstring(f'<filter xmlns="{NETCONF}">{content}</filter>')
    return subtree.compile_subtree(element, model.root)


class UsedReader(Reader):
    """One that knows what of its configuration is in use."""

    def in_use(self, host: Any, wanted: Selection, running: Tree) -> Reading:
        return self.operational(host, wanted, running)


def in_use(model: Model, content: str | None, *readers: Any, running: Tree | None = None) -> str:
    """Return what a filter with this content selects of the operational datastore, as XML with origins."""

    async def main() -> str:
        datastores = Datastores(model, from_json(model.root, {"t:top": running} if running else {}))
        with ThreadPoolExecutor(4) as executor:
            operational = Operational(model, datastores, readers, HOST, executor, deadline=10.0)
            return origin.xml(await operational.in_use(_filters(model, content), Access())).decode()

    return asyncio.run(main())


def top(content: str) -> str:
    return f'<top xmlns="{T}">{content}</top>'


def test_state_is_beside_configuration_in_one_tree(model: Model) -> None:
    reader = Reader(STATE, {"up": True, "log": [{"n": 7}, {"n": 7}]})
    found = get(model, None, reader, running={"name": "x"})
    assert found == top("<name>x</name><state><up>true</up><log><n>7</n></log><log><n>7</n></log></state>")
    assert reader.asked == [(ALL, {})]


def test_a_reader_gets_its_part_of_the_configuration_with_defaults(model: Model) -> None:
    reader = Reader("/t:top/np", {})
    get(model, None, reader, running={"np": {"d": "7"}})
    assert reader.asked[0][1] == {"d": "7", "deep": {"e": 0}}


def test_a_reader_is_asked_for_what_the_filter_asks_for_and_no_more(model: Model) -> None:
    reader = Reader(STATE, {"up": True, "log": [{"n": 7}]})
    # It may give more than was asked for: the reply has no more.
    assert get(model, top("<state><up/></state>"), reader) == top("<state><up>true</up></state>")
    assert reader.asked == [(Selection(everything=False, branches=(Branch("up", (), ALL),)), {})]
    assert get(model, top("<name/>"), reader) == ""
    assert get(model, '<x xmlns="urn:example:none"/>', reader) == ""
    assert get(model, "", reader) == ""
    assert len(reader.asked) == 1
    get(model, top(""), reader)
    assert reader.asked[1][0] == ALL


def test_readers_are_asked_at_once(model: Model) -> None:
    meeting = threading.Barrier(2, timeout=10)
    one, other = Reader(STATE, {"up": True}), Reader("/t:top/np", {"d": "y"})
    one.before = other.before = meeting.wait
    assert get(model, None, one, other) == top("<np><d>y</d></np><state><up>true</up></state>")


def test_where_a_source_is_broken_the_rest_is_served_and_the_fault_is_told_once(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader(STATE, {"up": True}, Fault(f"{STATE}/log", "/x: is a riddle"))

    async def main() -> list[str]:
        with ThreadPoolExecutor(1) as executor:
            datastores = Datastores(model, from_json(model.root, {}))
            operational = Operational(model, datastores, (reader,), HOST, executor, deadline=10.0)  # type: ignore[arg-type]
            return [
                (await operational.get(datastores.running, _filters(model, top("<state/>")), Access())).xml().decode()
                for _ in range(3)
            ]

    assert asyncio.run(main()) == [top("<state><up>true</up></state>")] * 3
    assert [record.getMessage() for record in caplog.records] == [f"{STATE}/log: /x: is a riddle"]


def test_where_all_that_is_asked_for_is_broken_the_request_fails_with_its_path(model: Model) -> None:
    reader = Reader(STATE, {}, Fault(f"{STATE}/log", "/x: is a riddle"), Fault(f"{STATE}/up", "another"))
    with pytest.raises(NetconfError) as caught:
        get(model, top("<state/>"), reader, running={"name": "x"})
    error = caught.value
    assert (error.type, error.tag, error.path) == ("application", "operation-failed", f"{STATE}/log")
    assert error.message == "/x: is a riddle"
    # Without a filter, or with configuration beside it, there is something to serve.
    assert get(model, None, reader, running={"name": "x"}) == top("<name>x</name>")
    assert get(model, top("<name/><state/>"), reader, running={"name": "x"}) == top("<name>x</name>")


def test_what_is_broken_is_not_there_for_who_may_not_read_it(model: Model) -> None:
    class Blind(Access):
        def may_see(self, path: str) -> bool:
            return not path.startswith(STATE)

    reader = Reader(STATE, {}, Fault(f"{STATE}/log", "/x: is a riddle"))

    other = Reader("/t:top/np", {"d": "x"}, Fault("/t:top/state/log", "another"), Fault("/t:top/np/d", "a third"))

    async def main() -> list[str]:
        with ThreadPoolExecutor() as executor, faults() as found:
            datastores = Datastores(model, from_json(model.root, {}))
            operational = Operational(model, datastores, (reader, other), HOST, executor, deadline=10.0)  # type: ignore[arg-type]
            for content, shown in (("<state/>", ""), ("<np/>", top("<np><d>x</d></np>"))):
                read = await operational.get(datastores.running, _filters(model, top(content)), Blind())
                assert read.xml().decode() == shown
            return [fault.message for fault in found]

    assert asyncio.run(main()) == ["a third"]
    # What the user may see nothing of is not even read.
    assert reader.asked == []


def test_the_keys_that_a_filter_names_are_no_answer(model: Model) -> None:
    items = {"item": [{"id": "a"}, {"id": "b", "w": "x"}]}
    reader = Reader("/t:top", items, Fault("/t:top/item[id='a']/v", "/x: is a riddle"))
    with pytest.raises(NetconfError, match="is a riddle") as caught:
        get(model, top("<item><id>a</id><v/></item>"), reader)
    assert caught.value.path == "/t:top/item[id='a']/v"
    found = get(model, top("<item><v/><w/></item>"), reader)
    assert found == top("<item><id>b</id><w>x</w></item>")


def test_a_machine_that_does_not_answer_is_given_up(model: Model) -> None:
    reader = Reader(STATE, {"up": True})
    done = threading.Event()
    reader.before = lambda: done.wait(10)
    asyncio_timer = threading.Timer(0.3, done.set)
    asyncio_timer.start()
    with pytest.raises(NetconfError) as caught:
        get(model, None, reader, deadline=0.05)
    asyncio_timer.join()
    assert (caught.value.tag, caught.value.path) == ("operation-failed", STATE)
    assert "did not answer within 0.05 s" in caught.value.message


def test_the_agents_own_state_is_provided_when_it_is_asked_for(model: Model) -> None:
    asked: list[Selection] = []

    def provide(wanted: Selection) -> Tree:
        asked.append(wanted)
        return {"t:top": {"state": {"up": len(asked) > 1}}}

    async def main(content: str | None) -> str:
        with ThreadPoolExecutor(1) as executor:
            datastores = Datastores(model, from_json(model.root, {"t:top": {"name": "x"}}))
            operational = Operational(model, datastores, (), HOST, executor, deadline=10.0)
            operational.provide(STATE, provide)
            operational.provide_fixed({"t:top": {"np": {"d": "fixed"}}})
            return (await operational.get(datastores.running, _filters(model, content), Access())).xml().decode()

    assert asyncio.run(main(top("<name/>"))) == top("<name>x</name>")
    assert asked == []
    expected = "<name>x</name><np><d>fixed</d></np><state><up>{}</up></state>"
    assert asyncio.run(main(None)) == top(expected.format("false"))
    assert asyncio.run(main(None)) == top(expected.format("true"))
    assert asked == [ALL, ALL]


def test_what_a_translator_has_in_use_replaces_what_it_was_told(model: Model) -> None:
    reader = UsedReader("/t:top/np", {"d": "other", "deep": {"e": 0}})
    found = in_use(model, top("<np/>"), reader, running={"np": {"d": "asked", "deep": {"e": 1}}})
    marked = ' or:origin="or:system"'
    inside = f"<np><d{marked}>other</d><deep><e{marked}>0</e></deep></np>"
    assert found == f'<top xmlns="{T}" or:origin="or:intended">{inside}</top>'
    ((wanted, told),) = reader.asked
    assert (wanted, told) == (ALL, {"d": "asked", "deep": {"e": 1}})


def test_where_nobody_can_tell_running_is_in_use_with_its_defaults(model: Model) -> None:
    reader = Reader("/t:top/np", {})
    found = in_use(model, top("<name/><np><d/></np>"), reader, running={"name": "n"})
    inside = '<name>n</name><np or:origin="or:default"><d>x</d></np>'
    assert found == f'<top xmlns="{T}" or:origin="or:intended">{inside}</top>'
    ((wanted, _),) = reader.asked
    assert not wanted.everything
    assert wanted.wants("d")


def test_a_translator_that_is_not_asked_for_is_not_read(model: Model) -> None:
    reader = UsedReader("/t:top/np", {"d": "other"})
    assert in_use(model, top("<name/>"), reader, running={"name": "n"}).count("<name>") == 1
    assert reader.asked == []


def test_what_can_not_be_read_of_operational_is_an_error_where_it_is_all(model: Model) -> None:
    reader = Reader(STATE, {}, Fault(STATE, "the file is broken"))
    with pytest.raises(NetconfError, match="the file is broken"):
        in_use(model, top("<state/>"), reader)
    assert "<name>n</name>" in in_use(model, top("<name/><state/>"), reader, running={"name": "n"})
