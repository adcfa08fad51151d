"""A second opinion on replies: libyang's own tool reads them against the served modules."""

from __future__ import annotations

import importlib.resources
import subprocess
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from agent.model.load import standard_folder
from tests.system.client import DEADLINE, HA, device, enabled
from tests.system.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.system.client import Client

    Element = etree._Element

STANDARD = ("ietf-netconf", "ietf-netconf-monitoring", "ietf-yang-library")
FEATURES = "ietf-netconf:candidate,validate,rollback-on-error"
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


def said(folder: Path, kind: str, content: Iterable[Element]) -> str:
    """Return what yanglint has to say of data of a kind."""
    file = folder / "data.xml"
    file.write_bytes(b"".join(etree.tostring(element) for element in content))
    ours = importlib.resources.files("yang")
    names = sorted(path.name for path in ours.iterdir() if path.name.endswith(".yang"))
    modules = [*(f"{standard_folder()}/{name}.yang" for name in STANDARD), *(f"{ours}/{name}" for name in names)]
    done = subprocess.run(
        # Twice -i: values name identities of modules that are only imported.
        ["yanglint", "-i", "-i", "-F", FEATURES, "-p", str(ours), "-p", str(standard_folder()), "-t", kind, *modules,
         str(file)],
        capture_output=True, text=True, check=False, timeout=DEADLINE,
    )  # fmt: skip
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr
