"""The words after set and delete become the edit that they say, or one sentence about what is wrong."""

from __future__ import annotations

import pytest
from lxml import etree

from agent.cli.words import WordsError, edit, suggestions

HA = "urn:accel-agent:hardware-acceleration"
NC = "urn:ietf:params:xml:ns:netconf:base:1.0"
DEVICE = "<device><address>0000:c1:00.0</address>"
AFFINITY = '<core-affinity operation="delete">{}</core-affinity>'


def written(*words: str, delete: bool = False) -> str:
    """Return the edit as XML without namespaces; an operation is shown as an attribute."""
    text = etree.tostring(edit(words, delete=delete), encoding="unicode")
    return text.replace(f' xmlns:ha="{HA}" xmlns:nc="{NC}"', "").replace("ha:", "").replace("nc:", "")


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ("enabled true", "<enabled>true</enabled>"),
        ("health on-failure fall-back", "<health><on-failure>fall-back</on-failure></health>"),
        ("device 0001:C1:00.0", "<device><address>0001:c1:00.0</address></device>"),
        ("device c1:0.3 enabled false", "<device><address>0000:c1:00.3</address><enabled>false</enabled></device>"),
        (
            "device 0000:c1:00.0 services sym dc",
            "<device><address>0000:c1:00.0</address><services>sym dc</services></device>",
        ),
        (
            "device 0000:c1:00.0 section SSL cy-instances 6",
            f"{DEVICE}<section><name>SSL</name><cy-instances>6</cy-instances></section></device>",
        ),
        (
            "device 0000:c1:00.0 section SSL core-affinity 8 2",
            f"{DEVICE}<section><name>SSL</name><core-affinity>8</core-affinity><core-affinity>2</core-affinity></section></device>",
        ),
        # What the agent is to judge is passed on.
        ("device qat_dev3", "<device><address>qat_dev3</address></device>"),
        ("enabled maybe", "<enabled>maybe</enabled>"),
        ("device 0000:c1:00.0 section <&> processes 1", None),
    ],
)
def test_set(words: str, content: str | None) -> None:
    if content is None:
        assert "<name>&lt;&amp;&gt;</name>" in written("qat", *words.split())
        return
    assert written("qat", *words.split()) == f"<acceleration><qat>{content}</qat></acceleration>"


def test_a_value_in_one_word_is_the_same_as_in_several() -> None:
    device = ("qat", "device", "0000:c1:00.0", "services")

    assert written(*device, "sym dc") == written(*device, "sym", "dc")


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ("ipsec-refresh", '<ipsec-refresh operation="delete"/>'),
        ("device c1:00.0", '<device operation="delete"><address>0000:c1:00.0</address></device>'),
        (
            "device c1:00.0 services",
            '<device><address>0000:c1:00.0</address><services operation="delete"/></device>',
        ),
        (
            "device c1:00.0 section DC core-affinity 5 7",
            f"{DEVICE}<section><name>DC</name>{AFFINITY.format(5)}{AFFINITY.format(7)}</section></device>",
        ),
        ("health", '<health operation="delete"/>'),
    ],
)
def test_delete(words: str, content: str) -> None:
    assert written("qat", *words.split(), delete=True) == f"<acceleration><qat>{content}</qat></acceleration>"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("qot enabled true", "acceleration has no 'qot': did you mean qat?"),
        ("xyzzy", "acceleration has no 'xyzzy': there is only qat"),
        ("cpu", "acceleration cpu is state: it can be shown, not set"),
        ("qat enable true", "qat has no 'enable': did you mean enabled?"),
        ("qat xyzzy", "qat has no 'xyzzy': there are enabled, ipsec-refresh, health, device"),
        ("qat active true", "qat active is state: it can be shown, not set"),
        ("qat device", "device needs its address"),
        (
            "qat device c1:00.0 address c2:00.0",
            "the address of device comes right after device, without the word address",
        ),
        ("qat device c1:00.0 restart", "device restart is an operation: it can't be set"),
        ("qat enabled", "enabled needs a value"),
        ("qat enabled true false", "enabled takes one value, not 2: true false"),
        ("qat health", "health has no value of its own: name one of interval, heartbeat, on-failure in it"),
    ],
)
def test_wrong_words_are_told(words: str, problem: str) -> None:
    with pytest.raises(WordsError) as caught:
        edit(words.split(), delete=False)

    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("qat enabled true", "enabled is deleted without its value: leave out true"),
        ("qat device c1:00.0 section DC core-affinity", "core-affinity needs the values to delete"),
    ],
)
def test_wrong_words_of_delete_are_told(words: str, problem: str) -> None:
    with pytest.raises(WordsError) as caught:
        edit(words.split(), delete=True)

    assert str(caught.value) == problem


@pytest.mark.parametrize("value", ["a\x00b", "\x1b[2J", "\udcff"])
def test_what_xml_cannot_hold_is_refused(value: str) -> None:
    with pytest.raises(WordsError, match="characters that can't be sent"):
        edit(("qat", "device", "c1:00.0", "section", value), delete=False)


@pytest.mark.parametrize(
    ("words", "following"),
    [
        ("", ["qat"]),
        ("qat", ["enabled", "ipsec-refresh", "health", "device"]),
        ("qat device", []),
        ("qat device c1:00.0", ["enabled", "services", "section"]),
        ("qat enabled", ["true", "false"]),
        ("qat enabled true", []),
        ("qat nonsense", []),
    ],
)
def test_the_shell_can_ask_what_may_follow(words: str, following: list[str]) -> None:
    assert suggestions(words.split()) == following
