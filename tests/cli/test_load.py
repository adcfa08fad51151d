"""``load``, and the access control that is shipped as an example: what each of its groups may do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance.access import Guarded, guarded
from tests.conformance.session import N, edit
from tests.system.client import DEADLINE, NACM, device, enabled, qat
from tests.system.gateway import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.session import Session

EXAMPLE = Path(__file__).parents[2] / "packaging/access-control.xml"
GROUPS = ("admin", "operator", "monitor")
ADDRESS = "0000:3d:00.0"
DENIED = "protocol/access-denied"
COMMIT = "<commit/>"


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Return an agent with the example's rules, loaded as the README says."""
    with guarded(tmp_path_factory.mktemp("load"), users=(*GROUPS, "guest")) as served:
        for words in (("load", str(EXAMPLE)), ("commit",)):
            done = command(served, *words)
            assert (done.returncode, done.stderr) == (0, ""), words
        yield served


def command(gate: Guarded, *words: str) -> subprocess.CompletedProcess[str]:
    gateway = gate.agent.gateway
    return subprocess.run(
        [*COMMAND, *words, "--unix-socket", str(gateway.socket)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=environment(gateway.folder),
        check=False,
    )


def names(session: Session, wanted: str) -> set[str]:
    """Return the names of all that a get with a filter shows."""
    (data,) = session.ask(f"<get><filter>{wanted}</filter></get>")
    assert data.tag == f"{N}data"
    return {str(element.tag).rpartition("}")[2] for element in data.iter()} - {"data"}


def switch(session: Session, value: bool) -> list[str]:
    return [session.outcome(edit(enabled(value))), session.outcome(COMMIT), session.outcome("<discard-changes/>")]


@pytest.mark.parametrize("name", [*GROUPS, "guest"])
def test_everybody_reads_the_devices(gate: Guarded, name: str) -> None:
    assert "oper-status" in names(gate.user(name), qat("<device/>"))


def test_administrators_do_everything(gate: Guarded) -> None:
    admin = gate.user("admin")
    section = "<section><name>SSL</name><processes>2</processes></section>"
    admin.ok(edit(qat(device_of(section))), "<discard-changes/>")
    assert "rule-list" in names(admin, f'<nacm xmlns="{NACM}"/>')
    assert switch(admin, value=True) == ["ok", "ok", "ok"]
    assert {"flows", "interrupt"} <= names(admin, qat("<device/>"))


def test_operators_switch_acceleration_and_no_more(gate: Guarded) -> None:
    operator = gate.user("operator")
    assert switch(operator, value=False) == ["ok", "ok", "ok"]
    assert switch(operator, value=True) == ["ok", "ok", "ok"]
    assert {"flows", "interrupt"} <= names(operator, qat("<device/>"))
    for change in (device_of("<services>dc</services>"), "<health><interval>17</interval></health>"):
        assert operator.outcome(edit(qat(change))).startswith("application/access-denied")
    assert names(operator, f'<nacm xmlns="{NACM}"/>') == set()
    assert operator.outcome(edit(f'<nacm xmlns="{NACM}"><enable-nacm>false</enable-nacm></nacm>')).startswith(
        "application/access-denied"
    )
    assert operator.outcome("<kill-session><session-id>1</session-id></kill-session>") == DENIED


def test_monitoring_reads_statistics_and_changes_nothing(gate: Guarded) -> None:
    assert switch(gate.user("admin"), value=True) == ["ok", "ok", "ok"]
    monitor = gate.user("monitor")
    assert {"flows", "interrupt"} <= names(monitor, qat("<device/>"))
    assert names(monitor, f'<nacm xmlns="{NACM}"/>') == set()
    for refused in (edit(enabled()), COMMIT, "<lock><target><candidate/></target></lock>", "<discard-changes/>"):
        assert monitor.outcome(refused) == DENIED
    space = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
    assert monitor.outcome(f'<kill-subscription xmlns="{space}"><id>1</id></kill-subscription>') == DENIED


def test_others_see_no_statistics_and_change_nothing(gate: Guarded) -> None:
    assert switch(gate.user("admin"), value=True) == ["ok", "ok", "ok"]
    guest = gate.user("guest")
    assert not {"flows", "interrupt"} & names(guest, qat("<device/>"))
    assert switch(guest, value=False)[0].startswith("application/access-denied")


@pytest.mark.parametrize("around", ["{}", "<config>{}</config>"])
def test_one_element_of_a_model_is_a_file_to_load_too(gate: Guarded, tmp_path: Path, around: str) -> None:
    file = tmp_path / "a.xml"
    file.write_text(around.format('<top xmlns="urn:example:t"><name>from a file</name></top>'))
    assert command(gate, "load", str(file)).returncode == 0
    assert "from a file" in gate.root.config()
    gate.root.ok("<discard-changes/>")


def device_of(content: str) -> str:
    return device(ADDRESS, content)
