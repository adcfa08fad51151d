"""Field cases: filters and defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.cases import Query, table
from tests.conformance.session import T, get_config, top
from tests.system.client import NETCONF

if TYPE_CHECKING:
    from tests.conformance.session import Session

ITEMS = "<item><id>a</id><v>1</v><w>x</w></item><item><id>b</id><v>2</v><w>y</w></item>"
A = "<top><item><id>a</id><v>1</v><w>x</w></item></top>"
A_V = "<top><item><id>a</id><v>1</v></item></top>"
PAIR = "<pair><a>1</a><b>2</b><c>3</c></pair>"

QUERIES = [
    Query("F63 one key of two is wrong", top("<pair><a>1</a><b>9</b></pair>"), "", PAIR),
    Query("F63 the other one is", top("<pair><a>9</a><b>2</b></pair>"), "", PAIR),
    Query("F63 one key alone", top("<pair><b>2</b></pair>"), f"<top>{PAIR}</top>", PAIR),
    Query("F63 wrong, with a selection", top("<pair><a>1</a><b>9</b><c/></pair>"), "", PAIR),
    Query("F65 an entry twice with different selections",
         top("<item><id>a</id><v/></item><item><id>a</id><w/></item>"), A, ITEMS),
    Query("F65 once by key, once by value", top("<item><id>a</id><v/></item><item><w>x</w></item>"), A, ITEMS),
    Query("F67 a match on a leaf that is no key", top("<item><v>1</v></item>"), A, ITEMS),
    Query("F67 in a container", top("<pres><z>1</z></pres>"), "<top><pres><z>1</z></pres></top>",
         "<pres><z>1</z></pres>" + ITEMS),
    Query("F69 one entry, not several", top("<item><id>a</id><v/></item>"), A_V, ITEMS),
    Query("F69 the key selected", top("<item><id>a</id><id/><v/></item>"), A_V, ITEMS),
    Query("F71 selection before match", top("<item><v/><id>a</id></item>"), A_V, ITEMS),
    Query("F71 between two matches", top("<item><w>x</w><v/><id>a</id></item>"), A, ITEMS),
    Query("F71 two keys the other way round", top("<pair><c/><b>2</b><a>1</a></pair>"), f"<top>{PAIR}</top>", PAIR),
]  # fmt: skip


@table(QUERIES)
def test_field(session: Session, case: Query) -> None:
    case.check(session)


@pytest.mark.parametrize("source", ["candidate", "running"])
def test_f73_an_xpath_to_one_entry(session: Session, source: str) -> None:
    session.fill(ITEMS + "<name>n</name>")
    for select in ("/t:top/t:item[t:id='a']/t:v", "/t:top/t:item[t:id=&quot;a&quot;]/t:v", "//t:item[t:id='a']/t:v"):
        narrowed = f'<filter xmlns:t="{T}" type="xpath" select="{select}"/>'
        assert session.data(f"<get-config><source><{source}/></source>{narrowed}</get-config>") == A_V
        assert session.data(f"<get>{narrowed}</get>") == A_V


@pytest.mark.parametrize("attributes", ['n:type="subtree"', "", 'type="subtree"', 'n:type="subtree" x="y"'])
def test_f75_the_type_of_a_filter_in_the_base_namespace(session: Session, attributes: str) -> None:
    session.fill(ITEMS)
    narrowed = f'<filter xmlns:n="{NETCONF}" {attributes}>{top("<item><id>a</id></item>")}</filter>'
    assert session.data(f"<get-config><source><running/></source>{narrowed}</get-config>") == A


def test_f75_xpath_too(session: Session) -> None:
    session.fill(ITEMS)
    narrowed = f'<filter xmlns:n="{NETCONF}" xmlns:t="{T}" n:type="xpath" n:select="/t:top/t:item[t:id=\'a\']"/>'
    assert session.data(f"<get-config><source><running/></source>{narrowed}</get-config>") == A


def test_f77_report_all_below_a_filter(session: Session) -> None:
    mode = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults"
    more = f'<with-defaults xmlns="{mode}">report-all</with-defaults>'
    whole = "<top><np><d>x</d><deep><e>0</e></deep></np></top>"
    assert session.data(get_config(top("<np/>"), more=more)) == whole
    assert session.data(get_config(top("<np><deep/></np>"), more=more)) == whole.replace("<d>x</d>", "")
    assert session.data(get_config(top("<np><d>x</d><deep/></np>"), more=more)) == whole
    assert session.data(get_config(top("<np><d>y</d></np>"), more=more)) == ""
    assert session.data(f"<get><filter>{top('<np/>')}</filter>{more}</get>") == whole
