"""What a session of ``monitor`` asks for and hears, from a client that says what no agent of ours does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

import pytest
from lxml import etree

from agent.cli.connection import Target
from agent.cli.errors import AgentError, CommandError, RefusedError
from agent.cli.monitor import watch as watching
from agent.cli.monitor.watch import watch

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.cli.monitor.picture import Sample

HA = "urn:accel-agent:hardware-acceleration"
SUBSCRIBED = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
ON = f'<acceleration-change xmlns="{HA}"><active>true</active></acceleration-change>'
REPLAYED = f'<replay-completed xmlns="{SUBSCRIBED}"><id>1</id></replay-completed>'
ENDED = (
    f'<subscription-terminated xmlns="{SUBSCRIBED}" xmlns:sn="{SUBSCRIBED}"><id>1</id>'
    "<reason>sn:no-such-subscription</reason></subscription-terminated>"
)
FOREIGN = '<netconf-session-end xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"/>'


class Agent:
    """Sessions with an agent: ``told`` are the notifications that come, None for a moment without any."""

    def __init__(self, *told: str | None) -> None:
        self.told = list(told)
        self.waits: list[float] = []
        self.refuses = 0
        self.breaks: list[CommandError] = []
        self.subscriptions: list[Element] = []
        self.sessions: list[Target] = []

    # The context of the client, and the client.

    def connect(self, where: Target) -> Agent:
        self.sessions.append(where)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, rpc: Element) -> None:
        self.subscriptions.append(rpc)
        if self.refuses:
            self.refuses -= 1
            raise RefusedError([AgentError("not so")])

    def get(self, wanted: Element) -> Element:
        if self.breaks:
            raise self.breaks.pop(0)
        return etree.fromstring(f'<data><acceleration xmlns="{HA}"/></data>')

    def notification(self, *, wait: float = 0) -> Element | None:
        self.waits.append(wait)
        content = self.told.pop(0) if self.told else None
        if content is None:
            return None
        time = "<eventTime>2031-02-03T12:00:00Z</eventTime>"
        return etree.fromstring(
            f'<notification xmlns="urn:ietf:params:xml:ns:netconf:notification:1.0">{time}{content}</notification>'
        )

    def asked_since(self) -> list[str | None]:
        """Return from when on each subscription asked for events."""
        return [rpc.findtext(f"{{{SUBSCRIBED}}}replay-start-time") for rpc in self.subscriptions]


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Agent:
    """Return the agent that is watched."""
    agent = Agent()
    monkeypatch.setattr(watching, "connect", agent.connect)
    return agent


class Flag(threading.Event):
    """Nobody waits; ``waited`` is how long it would have been, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(round(timeout or 0))
        return self.is_set()


def samples(agent: Agent, number: int, *, past: bool = False) -> list[Sample]:
    """Return the first samples."""
    found = watch(Target(), interval=5, stop=Flag(), past=past)
    return [next(found) for _ in range(number)]


def test_the_models_events_are_asked_for_and_those_of_others_passed_over(agent: Agent) -> None:
    agent.told = [FOREIGN, ON, None, ON, ON]

    first, second = samples(agent, 2)

    (rpc,) = agent.subscriptions
    assert rpc.findtext(f"{{{SUBSCRIBED}}}stream") == "NETCONF"
    wanted = rpc.find(f"{{{SUBSCRIBED}}}stream-subtree-filter")
    assert wanted is not None
    assert {str(child.tag) for child in wanted} == {
        f"{{{HA}}}{name}"
        for name in (
            "device-state-change",
            "device-error",
            "acceleration-change",
            "ipsec-tunnel-change",
            "ipsec-refresh",
        )
    }
    assert [(one.time, one.name, one.data) for one in first.events] == [
        ("2031-02-03T12:00:00Z", "acceleration-change", {"active": True})
    ]
    assert len(second.events) == 2


def test_events_of_the_past_are_in_the_first_sample(agent: Agent) -> None:
    agent.told = [ON, REPLAYED, ON]

    (first,) = samples(agent, 1, past=True)

    (since,) = agent.asked_since()
    assert since is not None
    assert since.endswith("Z")
    assert len(first.events) == 2
    # They are waited for, until the agent says that these were all.
    assert [wait > 0 for wait in agent.waits] == [True, True, False, False]


def test_an_agent_whose_clock_is_behind_is_asked_for_new_events_only(agent: Agent) -> None:
    agent.refuses = 1
    agent.told = [ON]

    (first,) = samples(agent, 1, past=True)

    assert [since is None for since in agent.asked_since()] == [False, True]
    assert first.note is None
    assert len(first.events) == 1
    assert agent.waits == [0, 0]


def test_an_agent_that_refuses_is_read_without_events(agent: Agent) -> None:
    agent.refuses = 2

    (first,) = samples(agent, 1, past=True)

    assert first.note == "no events: not so"
    assert first.tree == {}


def test_that_there_are_no_more_events_is_told(agent: Agent) -> None:
    agent.told = [ENDED]

    first, second = samples(agent, 2)

    told = "no more events: the agent ended the subscription (no-such-subscription)"
    assert (first.note, second.note) == (told, told)


def test_a_refused_read_does_not_end_the_session(agent: Agent) -> None:
    agent.breaks = [RefusedError([AgentError("the bus can't be read")])]
    agent.told = [ON]

    first, second = samples(agent, 2)

    assert (first.tree, first.problem, len(first.events)) == (None, "the bus can't be read", 1)
    assert (second.tree, second.problem) == ({}, None)
    assert len(agent.sessions) == 1


def test_an_agent_that_is_gone_is_tried_less_and_less_often_and_asked_for_what_was_missed(agent: Agent) -> None:
    agent.told = [ON]
    flag = Flag()
    found = watch(Target(), interval=5, stop=flag, past=False)
    first = next(found)
    agent.breaks = [CommandError("gone") for _ in range(7)]

    lost = [next(found) for _ in range(7)]
    back = next(found)

    pauses = [1, 2, 4, 8, 16, 30, 30]
    assert [sample.problem for sample in lost] == [f"trying again in {pause} s: gone" for pause in pauses]
    assert flag.waited == [5, *pauses]
    assert (back.problem, back.tree) == (None, {})
    # Nobody can type a password while pictures are drawn.
    assert [where.ask for where in agent.sessions] == [True, *[False] * 7]
    assert agent.asked_since() == [None, *[first.events[0].time] * 7]


def test_what_was_never_reached_is_an_error(agent: Agent) -> None:
    agent.breaks = [CommandError("gone")]

    with pytest.raises(CommandError, match="gone"):
        samples(agent, 1)
