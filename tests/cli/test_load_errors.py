"""What ``load`` says of a wrong file: where in the file it is, and what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.cli import config_file
from agent.cli.errors import AgentError, CommandError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gateway

ADDRESS = "0000:3d:00.0"
HA = 'xmlns="urn:accel-agent:hardware-acceleration"'
DEVICE = "/ha:acceleration/ha:qat/ha:device"


def refused(gateway: Gateway, folder: Path, text: str) -> list[str]:
    """Load a file, which must be refused in one line; return its parts without the file's name."""
    file = folder / "a.xml"
    file.write_text(text)
    done = gateway("load", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return [part.removeprefix(f"{file}:") for part in line.removeprefix("accel-agent: ").split("; ")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<config>", "1:9: no XML: Premature end of data in tag config line 1: correct the file"),
        ("<a>\n <b>\n</a>\n", "3:5: no XML: Opening and ending tag mismatch: b line 2 and a: correct the file"),
        ("", "1:1: no XML: Document is empty: correct the file"),
        ('\n{"a": 1}', "2:1: JSON, and load takes XML: correct the file"),
        (
            '<!-- -->\n<!DOCTYPE a [<!ENTITY x "1">]>\n<a>&x;</a>',
            "2: a document type declaration, which no agent takes: take it out",
        ),
    ],
)
def test_what_is_no_xml_has_its_line_and_column(gateway: Gateway, tmp_path: Path, text: str, said: str) -> None:
    assert refused(gateway, tmp_path, text) == [said]


def test_each_error_has_its_line(gateway: Gateway, tmp_path: Path) -> None:
    text = f"""\
<config>
  <acceleration {HA}>
    <qat>
      <enabled>perhaps</enabled>
      <devise/>
      <device><address>{ADDRESS}</address></device>
      <device>
        <enabled>true</enabled>
      </device>
      <device colour="red"><address>{ADDRESS}</address>
        <section><name>SSL</name>

          <cy-instances>-1</cy-instances>
        </section>
      </device>
    </qat>
  </acceleration>
  <other xmlns="urn:x"/>
</config>
"""
    parts = refused(gateway, tmp_path, text)

    assert [part.partition(": ")[0] for part in parts] == ["4", "5", "7", "10", "18"]
    assert parts[0].endswith("(invalid-value, /ha:acceleration/ha:qat/ha:enabled)")
    assert parts[1] == "5: there is no <devise> here (unknown-element, /ha:acceleration/ha:qat)"
    assert parts[2] == f"7: an entry of device needs its key address (missing-element, {DEVICE})"


def test_what_the_translators_refuse_has_its_line(gateway: Gateway, tmp_path: Path) -> None:
    text = f"""\
<acceleration {HA}>
  <qat>
    <device><address>{ADDRESS}</address></device>
    <device><address>0000:77:00.0</address><enabled>true</enabled></device>
  </qat>
</acceleration>
"""
    (said, *_) = refused(gateway, tmp_path, text)

    assert said.startswith("4: there is no supported QAT device at 0000:77:00.0")


SPACES = {"t": "urn:example:t"}
FILE = """\
<config>
  <top xmlns="urn:example:t">
    <name>a</name>
    <item><id>1</id></item>
    <item>
      <id>2</id>
    </item>
  </top>
</config>
"""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (AgentError("x", path="/t:top/t:item[t:id='2']", namespaces=SPACES), 5),
        # What is missing has the line of what it is missing in, and of nothing further away.
        (AgentError("x", "data-missing", "/t:top/t:item[t:id='2']/t:v", SPACES), 5),
        (AgentError("x", "data-missing", "/t:top/t:np/t:d", SPACES), None),
        (AgentError("x", "missing-element", "/t:top/t:item", SPACES, "id"), None),
        (AgentError("x", "missing-element", "/t:top/t:item", SPACES, "v"), 4),
        # Nothing in the file, or an agent with paths of its own.
        (AgentError("x", "lock-denied"), None),
        (AgentError("x", path="/other"), None),
        (AgentError("x", path="/u:top", namespaces=SPACES), None),
        (AgentError("x", path="top", namespaces=SPACES), None),
        (AgentError("x", path="", namespaces=SPACES), None),
        (AgentError("x", path="/t:top = 1", namespaces=SPACES), None),
        (AgentError("x", path="/t:top/t:name/text()", namespaces=SPACES), 3),
    ],
)
def test_an_error_is_found_in_the_file(tmp_path: Path, error: AgentError, line: int | None) -> None:
    file = tmp_path / "a.xml"
    file.write_text(FILE)

    said = config_file.located(file, config_file.read(file), [error])

    assert isinstance(said, CommandError)
    assert str(said) == ("x" if line is None else f"{file}:{line}: x")


def test_a_line_that_the_parser_cannot_tell_is_not_told(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    error = AgentError("x", path="/top/np/name")
    for blank, prefix in ((65533, f"{file}:65534: "), (65534, ""), (70000, "")):
        file.write_text("<top>" + "\n" * blank + "<np><name/></np></top>")
        assert str(config_file.located(file, config_file.read(file), [error])) == f"{prefix}x"
