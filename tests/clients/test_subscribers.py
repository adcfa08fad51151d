"""Clients that nobody here wrote as subscribers to event notifications (RFC 5277)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.system.client import HA, USER

if TYPE_CHECKING:
    from tests.clients.conftest import Drive
    from tests.system.gateway import Gateway


@pytest.mark.parametrize(
    "client", [pytest.param(name, marks=pytest.mark.clients(name)) for name in ("ncclient", "netconf_client")]
)
def test_a_client_is_told_of_a_commit_and_of_nothing_that_its_filter_leaves_out(
    client: str, gateway: Gateway, drive: Drive
) -> None:
    conversation = drive(client, script="subscribe.py")
    said = {}
    for step in ("subscribed", "committed", "notified", "asked"):
        said[step] = conversation.listen()
        assert said[step]["step"] == step
        conversation.go_on()
    conversation.end()
    # The writer's session began between the two, and is none of the listener's business.
    change = etree.fromstring(said["notified"]["text"].encode())[1]
    assert etree.QName(change).localname == "netconf-config-change"
    found = {etree.QName(leaf).localname: leaf.text for leaf in change.iter() if not len(leaf)}
    assert found == {
        "target": "/ha:acceleration/ha:qat/ha:health/ha:interval",
        "username": USER,
        "session-id": str(said["committed"]["session_id"]),
        "source-host": "127.0.0.1",
        "datastore": "running",
        "operation": "replace",
    }
    (target,) = change.iter("{*}target")
    assert target.nsmap["ha"] == HA
    assert "<interval>19</interval>" in said["asked"]["text"]
