"""What docs/controllers.md says: the requests of controllers that can't be run here, and examples that can."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.clients import environments
from tests.clients.gateway import DEVICE, login
from tests.clients.observer import STARTED
from tests.system.client import MONITORING, NETCONF, qat

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.etree import _Element as Element

    from tests.system.client import Client
    from tests.system.gateway import Gateway

PAGE = (Path(__file__).parents[2] / "docs/controllers.md").read_text()
UP = f"<address>{DEVICE}</address><oper-status>up</oper-status>"
DEADLINE = 120.0


def blocks(kind: str) -> list[str]:
    """Return the code blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def requests(controller: str) -> list[Element]:
    """Return the operations that a controller sends, in order."""
    return list(etree.fromstring(f'<all xmlns="{NETCONF}">{"".join(blocks(f"xml {controller}"))}</all>'))


def send(client: Client, request: Element) -> str:
    """Send an operation that must not be refused."""
    return str(client.manager.rpc(request).xml)


def test_opendaylight(gateway: Gateway) -> None:
    client = gateway.connect("ssh")
    schemas, dated, undated, keepalive, *edit, get = [send(client, request) for request in requests("opendaylight")]

    found = etree.fromstring(schemas.encode()).findall(f".//{{{MONITORING}}}schema")
    listed = {one.findtext(f"{{{MONITORING}}}identifier"): one for one in found}
    assert {"hardware-acceleration", "hardware-acceleration-types", "ietf-netconf", "ietf-yang-types"} <= set(listed)
    for one in found:
        locations = [location.text for location in one.findall(f"{{{MONITORING}}}location")]
        assert locations == ["NETCONF"]
        assert one.findtext(f"{{{MONITORING}}}namespace")
        name, version = (one.findtext(f"{{{MONITORING}}}{leaf}") for leaf in ("identifier", "version"))
        text = client.manager.get_schema(name, version, "yang").data
        assert re.match(rf'(sub)?module "?{re.escape(str(name))}"? ', text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}\n "))
    assert "module ietf-netconf-monitoring {" in dated
    assert "module hardware-acceleration {" in undated
    assert "<data/>" in keepalive

    assert all("<ok/>" in reply for reply in edit)
    assert gateway.commands() == STARTED
    assert "<oper-status>up</oper-status>" in get


def test_opendaylight_when_something_is_refused(gateway: Gateway) -> None:
    client, other = gateway.connect("ssh"), gateway.connect()
    lock, edit, commit = requests("opendaylight")[4:7]
    before = other.config_text("candidate")
    (gateway.root / "run/simulator/fail-qat_service-start").write_text("Failed to load MMP firmware")
    send(client, lock)
    send(client, edit)
    refusal = client.refused(client.manager.rpc, commit)
    assert refusal.tag == "operation-failed"
    assert "Failed to load MMP firmware" in refusal.message
    client.manager.discard_changes()
    client.manager.unlock("candidate")
    assert other.config_text("candidate") == before
    other.manager.lock("candidate")


def test_opendaylight_pipelines_and_takes_replies_in_order(gateway: Gateway) -> None:
    client = gateway.connect("ssh")
    keepalive = requests("opendaylight")[3]
    futures = [client.start(etree.tostring(keepalive, encoding="unicode")) for _ in range(20)]
    assert [future.result() for future in futures] == [None] * 20


def test_nso(gateway: Gateway) -> None:
    client = gateway.connect("ssh")
    confirms = any(":confirmed-commit:1.1" in uri for uri in client.manager.server_capabilities)
    read, *edit = requests("nso")
    assert "<interval>17</interval>" in send(client, read)
    for request in edit:
        if confirms or request.find(f"{{{NETCONF}}}confirmed") is None:
            assert "<ok/>" in send(client, request)
    assert gateway.commands() == STARTED
    assert "<enabled>true</enabled>" in gateway.connect().config_text()


def test_clixon_controller(gateway: Gateway) -> None:
    """Two edits: what goes away by an operation of its own with default none, then the rest."""
    client = gateway.connect("ssh")
    delete = f'<health xmlns:nc="{NETCONF}"><on-failure nc:operation="delete"/></health>'
    client.manager.lock("candidate")
    client.edit(qat(delete), default_operation="none")
    client.edit(qat("<enabled>true</enabled>"))
    client.manager.validate("candidate")
    client.commit()
    client.manager.discard_changes()
    client.manager.unlock("candidate")
    assert client.config_text() == qat("<enabled>true</enabled><health><interval>17</interval></health>")


def test_splice_and_pyats(gateway: Gateway) -> None:
    """A filter without a type, and a schema without version and format."""
    client = gateway.connect("ssh")
    library = '<{} xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-library"/>'
    for content in (library.format("yang-library"), library.format("modules-state")):
        reply = etree.tostring(client.rpc(f'<get xmlns="{NETCONF}"><filter>{content}</filter></get>')).decode()
        assert "<name>hardware-acceleration</name>" in reply
    assert client.manager.get_schema("hardware-acceleration").data.startswith("module hardware-acceleration {")


@pytest.mark.clients("ansible")
def test_ansible(gateway: Gateway, environment: Callable[[str], None], tmp_path: Path) -> None:
    environment("ansible")
    known = login(gateway, tmp_path)
    play, inventory, secrets = tmp_path / "play.yml", tmp_path / "hosts", tmp_path / "secrets.json"
    play.write_text(blocks("yaml")[0])
    inventory.write_text(blocks("ini")[0].replace("192.0.2.1", known["host"]))
    secrets.write_text(json.dumps({"ansible_port": known["port"], "ansible_password": known["password"]}))
    program = Path(environments.command("ansible", "")[0][0]).with_name("ansible-playbook")
    environ = {**os.environ, "HOME": str(tmp_path), "ANSIBLE_HOME": str(tmp_path)}
    command = [str(program), "-i", str(inventory), "-e", f"@{secrets}", str(play)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"ok=3 +changed=1 ", done.stdout), done.stdout
    assert gateway.commands() == STARTED


@pytest.mark.clients("nornir")
def test_nornir(gateway: Gateway, environment: Callable[[str], None], tmp_path: Path) -> None:
    environment("nornir")
    known = login(gateway, tmp_path)
    script, hosts = tmp_path / "switch_on.py", tmp_path / "hosts.yaml"
    [text] = blocks("python")
    script.write_text(text)
    [host] = blocks("yaml hosts")
    host = host.replace("192.0.2.1", known["host"]).replace("830", str(known["port"]))
    hosts.write_text(host.replace("…", json.dumps(known["password"])))
    python = environments.command("nornir", "")[0][0]
    environ = {**os.environ, "HOME": str(tmp_path), "HOSTS": str(hosts)}
    command = [python, str(script)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, done.stderr
    assert UP in done.stdout
    assert gateway.commands() == STARTED
