"""A second opinion on what subscriptions send: libyang's own tool reads it against the modules."""

from __future__ import annotations

import importlib.resources
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from agent.model.load import standard_folder
from tests.conformance.agents import Agent, serving
from tests.conformance.session import edit
from tests.conformance.subscriptions import (
    CHANGES,
    LIBRARY,
    ON_CHANGE,
    SN,
    STREAM,
    establish,
    hear,
    named,
    periodic,
    push,
    stream_filter,
)
from tests.system.client import DEADLINE, qat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lxml.etree import _Element as Element

STANDARD = (
    "ietf-subscribed-notifications",
    "ietf-yang-push",
    "ietf-netconf-notifications",
    "ietf-datastores",
    "ietf-netconf-acm",
    "ietf-yang-library",
)
# subscription-completed is there with the feature configured only (see agent/subscriptions/messages.py).
FEATURES = (
    "ietf-subscribed-notifications:replay,subtree,xpath,encode-xml,configured",
    "ietf-yang-push:on-change",
)

pytestmark = pytest.mark.needs("yanglint")


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """Return an agent with one device."""
    with serving(tmp_path_factory.mktemp("push")) as served:
        yield served


def test_notifications_fit_the_models(agent: Agent, tmp_path: Path) -> None:
    session, other = agent.session(), agent.session()
    seen: list[Element] = []

    def next_is(*names: str) -> None:
        for name in names:
            seen.append(hear(session))
            assert etree.QName(seen[-1]).localname == name

    start = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    other.ok(stream_filter(CHANGES), "<commit/>")
    replies = [
        session.ask(establish(f"{STREAM}<replay-start-time>{start}</replay-start-time>{CHANGES}")),
    ]
    next_is("netconf-config-change", "replay-completed")
    number = replies[0].findtext(f"{{{SN}}}id") or ""
    session.ok(named("delete-subscription", int(number)))
    replies.append(session.ask(push("running", ON_CHANGE, qat("<device/>"))))
    next_is("push-update")
    sections = "".join(f"<section><name>{name}</name></section>" for name in ("KERNEL", "SSL"))
    other.ok(edit(qat(f"<device><address>0000:3d:00.0</address>{sections}</device>")), "<commit/>")
    next_is("push-change-update")
    replies.append(session.ask(establish(f"{STREAM}<stream-filter-name>f</stream-filter-name>")))
    other.ok(stream_filter(f'<stream-subtree-filter><a xmlns="{LIBRARY}"/></stream-subtree-filter>'), "<commit/>")
    next_is("subscription-modified")
    other.ok(stream_filter("", "delete"), "<commit/>")
    next_is("subscription-terminated")
    soon = (datetime.now(UTC) + timedelta(seconds=0.2)).isoformat()
    replies.append(session.ask(establish(f"{STREAM}{CHANGES}<stop-time>{soon}</stop-time>")))
    next_is("subscription-completed")
    replies.append(session.ask(push("operational", periodic(360000), qat("<device/>"))))
    next_is("push-update")
    for content in seen[1:]:  # the first one is of an event
        assert said(tmp_path, "notif", content) == "", etree.tostring(content)
    for reply in replies:
        operation = etree.Element(f"{{{SN}}}establish-subscription")
        operation.extend(list(reply))
        assert said(tmp_path, "reply", operation) == "", etree.tostring(reply)
    state = other.ask(f'<get><filter><subscriptions xmlns="{SN}"/><streams xmlns="{SN}"/></filter></get>')[0]
    assert len(state) == 2
    assert said(tmp_path, "get", *state) == ""
    # It does look: the same with one value that is none is refused.
    seen[1][0].text = "one"
    assert "one" in said(tmp_path, "notif", seen[1])


def said(folder: Path, kind: str, *content: Element) -> str:
    """Return what yanglint has to say of data of a kind."""
    file = folder / "data.xml"
    file.write_bytes(b"".join(etree.tostring(element) for element in content))
    there = folder / "operational.xml"  # what leafrefs refer to
    there.write_text(f'<filters xmlns="{SN}"><stream-filter><name>f</name></stream-filter></filters>')
    operational = [] if kind == "get" else ["-O", str(there)]
    ours = importlib.resources.files("yang")
    names = sorted(
        path.name for path in ours.iterdir() if path.name.endswith(".yang") and "deviations" not in path.name
    )
    modules = [*(f"{standard_folder()}/{name}.yang" for name in STANDARD), *(f"{ours}/{name}" for name in names)]
    features = [word for feature in FEATURES for word in ("-F", feature)]
    folders = ["-p", str(ours), "-p", str(standard_folder())]
    done = subprocess.run(
        ["yanglint", "-i", "-i", *features, *folders, "-t", kind, *operational, *modules, str(file)],
        capture_output=True, text=True, check=False, timeout=DEADLINE,
    )  # fmt: skip
    assert bool(done.returncode) == bool(done.stderr), done.stderr
    return done.stderr
