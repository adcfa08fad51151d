"""What a user sees of NMDA's datastores who may not read all of them (RFC 8341 3.2.4, RFC 8526 3.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.client import HA, NETCONF, Client, device, enabled, qat
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS = "0000:3d:00.0"
NACM = "urn:ietf:params:xml:ns:yang:ietf-netconf-acm"
NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
COMPARE = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare"
DATASTORES = 'xmlns:ds="urn:ietf:params:xml:ns:yang:ietf-datastores"'
# Users may do what is no secret by the models, and know nothing of services.
RULES = f"""
<nacm xmlns="{NACM}" xmlns:nc="{NETCONF}"><rule-list nc:operation="delete"><name>admin</name></rule-list>
<rule-list><name>all</name><group>*</group><rule><name>no-services</name>
<module-name>hardware-acceleration</module-name>
<path xmlns:ha="{HA}">/ha:acceleration/ha:qat/ha:device/ha:services</path><action>deny</action></rule>
</rule-list></nacm>
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine with a device that is up, and rules that hide a little."""
    gateway = Gateway(tmp_path_factory.mktemp("access")).build(f"c6xx@{ADDRESS}")
    try:
        gateway.start().connect("unix").apply(
            enabled(more=device(ADDRESS, "<services>asym sym</services>")) + RULES.replace("\n", "")
        )
        yield gateway
    finally:
        gateway.close()


def operational(client: Client, wanted: str) -> set[str]:
    """Return the names of the leafs that a get-data of operational gives."""
    content = f"<datastore>ds:operational</datastore>{wanted}"
    (found,) = client.rpc(f'<get-data xmlns="{NMDA}" {DATASTORES}>{content}</get-data>')
    return {str(element.tag).rpartition("}")[2] for element in found.iter() if not len(element)}


@pytest.mark.parametrize(
    "wanted",
    [
        f"<subtree-filter>{qat('<device/>')}</subtree-filter>",
        f'<xpath-filter xmlns:h="{HA}">/h:acceleration/h:qat/h:device[h:address]</xpath-filter>',
    ],
)
def test_get_data_has_what_the_user_may_read(gateway: Gateway, wanted: str) -> None:
    everything = operational(gateway.connect("unix"), wanted)
    assert everything >= {"address", "enabled", "services", "oper-status", "irq"}
    found = operational(gateway.connect("ssh"), wanted)
    assert found >= {"address", "enabled", "oper-status"}
    assert not found & {"services", "irq"}


def test_compare_tells_of_no_difference_that_the_user_may_not_read(gateway: Gateway) -> None:
    asked = (
        f'<compare xmlns="{COMPARE}" {DATASTORES}><source>ds:running</source><target>ds:candidate</target></compare>'
    )
    recovery, user = gateway.connect("unix"), gateway.connect("ssh")
    recovery.edit(qat(device(ADDRESS, "<services>sym</services>")))
    try:
        for client, answer in ((recovery, "differences"), (user, "no-matches")):
            (found,) = client.rpc(asked)
            assert found.tag == f"{{{COMPARE}}}{answer}"
    finally:
        recovery.manager.discard_changes()


def test_edit_data_changes_nothing_that_the_user_may_not_change(gateway: Gateway) -> None:
    config = f"<config>{qat(device(ADDRESS, '<services>sym</services>'))}</config>"
    user = gateway.connect("ssh")
    asked = f'<edit-data xmlns="{NMDA}" {DATASTORES}><datastore>ds:candidate</datastore>{config}</edit-data>'
    assert user.refused(user.rpc, asked).tag == "access-denied"
    assert "asym sym" in gateway.connect("unix").config_text("candidate")
