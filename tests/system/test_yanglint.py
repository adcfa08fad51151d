"""A second opinion on replies: libyang's own tool reads them against the served modules."""

from __future__ import annotations

import importlib.resources
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from agent.model.load import FEATURES, standard_folder
from tests.conformance.session import Session
from tests.system.client import DEADLINE, HA, NETCONF, device, enabled, until
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.system.client import Client

    Element = etree._Element

STANDARD = (
    "ietf-netconf",
    "ietf-netconf-monitoring",
    "ietf-netconf-notifications",
    "ietf-yang-library",
    "ietf-netconf-acm",
    "ietf-netconf-nmda",
    "ietf-origin",
    "ietf-subscribed-notifications",
    "ietf-yang-push",
)
NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
COMPARE = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare"
DATASTORES = "urn:ietf:params:xml:ns:yang:ietf-datastores"
OFFERED = {"ietf-netconf": ("candidate", "validate", "rollback-on-error", "xpath"), **FEATURES}
SETTINGS = device(
    "0000:3d:00.0",
    "<services>sym dc</services><section><name>KERNEL</name><core-affinity>1</core-affinity></section>",
)

pytestmark = pytest.mark.needs("yanglint")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a session with an agent whose machine has two devices, one of them up."""
    gateway = Gateway(tmp_path_factory.mktemp("yanglint")).build("c6xx@3d:00.0", "c3xxx@01:00.0")
    try:
        client = gateway.start().connect()
        client.apply(enabled(more=device("0000:01:00.0", "<enabled>false</enabled>") + SETTINGS))
        yield client
    finally:
        gateway.close()


def test_state_fits_the_models(client: Client, tmp_path: Path) -> None:
    found = client.manager.get().data_ele
    assert {etree.QName(child).localname for child in found} >= {"acceleration", "netconf-state", "yang-library"}
    assert said(tmp_path, "get", found) == ""
    # It does look: the same with one value that is none is refused.
    found.find(f".//{{{HA}}}device/{{{HA}}}oper-status").text = "upright"
    assert 'Invalid enumeration value "upright"' in said(tmp_path, "get", found)


def test_configuration_fits_the_models(client: Client, tmp_path: Path) -> None:
    for source in ("running", "candidate"):
        assert said(tmp_path, "getconfig", client.config(source)) == ""


def test_plan_fits_its_rpc(client: Client, tmp_path: Path) -> None:
    client.edit(enabled(False))
    reply = client.rpc(f'<plan xmlns="{HA}"/>')
    client.manager.discard_changes()
    operation = etree.Element(f"{{{HA}}}plan")
    operation.extend(list(reply))
    assert len(operation) > 3
    assert said(tmp_path, "reply", [operation]) == ""


@pytest.mark.parametrize("more", ["", "<with-origin/>"])
def test_operational_fits_the_models_and_so_does_its_envelope(client: Client, tmp_path: Path, more: str) -> None:
    asked = f'<get-data xmlns="{NMDA}" xmlns:ds="{DATASTORES}"><datastore>ds:operational</datastore>{more}</get-data>'
    (found,) = client.rpc(asked)
    assert said(tmp_path, "get", found) == ""
    # It reads the origins, too.
    marked = [element for element in found.iter() if element.attrib]
    assert bool(marked) == bool(more)
    for element in marked[:1]:
        (name,) = element.attrib
        element.set(name, "or:thin-air")
        assert "thin-air" in said(tmp_path, "get", found)


def test_a_comparison_fits_its_rpc(client: Client, tmp_path: Path) -> None:
    client.edit(enabled(False))
    names = "<source>ds:running</source><target>ds:operational</target><all/><report-origin/>"
    reply = client.rpc(f'<compare xmlns="{COMPARE}" xmlns:ds="{DATASTORES}">{names}</compare>')
    client.manager.discard_changes()
    operation = etree.Element(f"{{{COMPARE}}}compare")
    operation.extend(list(reply))
    assert len(list(operation.iter(f"{{{COMPARE}}}edit"))) > 3
    assert said(tmp_path, "reply", [operation]) == ""


def test_every_notification_fits_its_model(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path / "gateway").build("c6xx@3d:00.0")
    health = "<health><heartbeat>true</heartbeat><interval>2</interval></health>"
    try:
        client = gateway.start().connect()
        client.apply(enabled(more=health))
        client.edit(enabled(more=device("0000:3d:00.0", "<services>dc</services>")))
        client.rpc(f'<commit xmlns="{NETCONF}"><confirmed/></commit>')
        client.commit()
        (counters,) = (gateway.root / "sys/kernel/debug").glob("qat_c6xx_*/heartbeat")
        counters.unlink()  # nobody but root may write to it
        counters.write_bytes(b"-1\n")
        until(lambda: "heartbeat fails" in gateway.log.read_text(), "a look at the heartbeat")
        gateway.stop()
        gateway.settings.write_text("[datastore]\nwritable-running = true\n")
        client = gateway.start().connect()
        sent = _notifications(gateway)
        assert set(sent) == {
            "netconf-session-start", "netconf-session-end", "netconf-config-change", "netconf-confirmed-commit",
            "netconf-capability-change", "yang-library-update", "yang-library-change", "device-state-change",
            "device-error", "acceleration-change", "ipsec-refresh", "replayComplete", "notificationComplete",
        }  # fmt: skip
        state = [*client.manager.get().data_ele]
        for messages in sent.values():
            for message in messages:
                assert said(tmp_path, "nc-notif", [message], state) == "", etree.tostring(message)
        wrong = sent["device-error"][0]
        (kind,) = wrong.iter(f"{{{HA}}}kind")
        kind.text = "bad-luck"
        assert "bad-luck" in said(tmp_path, "nc-notif", [wrong], state)
    finally:
        gateway.close()


def _notifications(gateway: Gateway) -> dict[str, list[Element]]:
    """Return everything that was sent so far, by name."""
    space = "urn:ietf:params:xml:ns:netconf:notification:1.0"
    now = datetime.now(UTC).isoformat()
    times = f"<startTime>2020-01-01T00:00:00Z</startTime><stopTime>{now}</stopTime>"
    listener = Session(gateway.socket)
    listener.ok(f'<create-subscription xmlns="{space}">{times}</create-subscription>')
    found: dict[str, list[Element]] = {}
    while "notificationComplete" not in found:
        message = listener.reply()
        found.setdefault(etree.QName(message[1]).localname, []).append(message)
    listener.close()
    return found


def said(folder: Path, kind: str, content: Iterable[Element], state: Iterable[Element] = ()) -> str:
    """Return what yanglint has to say of data of a kind; ``state`` is what it may refer to."""
    file, operational = folder / "data.xml", folder / "state.xml"
    file.write_bytes(b"".join(etree.tostring(element) for element in content))
    operational.write_bytes(b"".join(etree.tostring(element) for element in state))
    more = ("-O", str(operational)) if operational.stat().st_size else ()
    ours = importlib.resources.files("yang")
    names = sorted(path.name for path in ours.iterdir() if path.name.endswith(".yang"))
    modules = [*(f"{standard_folder()}/{name}.yang" for name in STANDARD), *(f"{ours}/{name}" for name in names)]
    features = [word for name, offered in OFFERED.items() for word in ("-F", f"{name}:{','.join(offered)}")]
    done = subprocess.run(
        # Twice -i: values name identities of modules that are only imported.
        ["yanglint", "-i", "-i", *features, "-p", str(ours), "-p", str(standard_folder()), "-t", kind, *more, *modules,
         str(file)],
        capture_output=True, text=True, check=False, timeout=DEADLINE,
    )  # fmt: skip
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr
