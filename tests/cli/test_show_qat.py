"""What show qat makes of a reply, for people: lines and tables, on replies that no simulated gateway gives."""

from __future__ import annotations

import pytest

from agent.cli import (
    show_device,
    show_interrupts,
    show_qat,
    show_status,
)
from tests.cli.replies import shown

TWO_DEVICES = """\
<qat>
  <configured>true</configured>
  <device>
    <address>0000:b1:00.0</address><name>qat_dev1</name><instance-id>1</instance-id><family>hat:c6xx</family>
    <pci><vendor-id>8086</vendor-id><device-id>37c8</device-id><class>0b4000</class><revision>04</revision>
      <numa-node>1</numa-node><description>Zephyr C62x</description></pci>
    <oper-status>up</oper-status><accelerators>5</accelerators><engines>10</engines>
  </device>
  <device>
    <address>0001:b1:02.3</address><name>qat_dev10</name><family>hat:qat-200xx</family>
    <virtual-function>true</virtual-function>
    <pci><vendor-id>8086</vendor-id><device-id>18ef</device-id></pci>
    <oper-status>down</oper-status><status-reason>its file is missing: /etc/200xxvf_dev0.conf</status-reason>
  </device>
</qat>
"""
ABSENT = """\
<qat>
  <configured>false</configured>
  <device><address>0000:05:00.0</address>
    <oper-status>unknown</oper-status><status-reason>not there</status-reason></device>
</qat>
"""


def test_devices_are_listed_as_lspci_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, show_qat, TWO_DEVICES) == [
        "b1:00.0 Co-processor [0b40]: Zephyr C62x [8086:37c8] (rev 04)  qat_dev1 up",
        "0001:b1:02.3 [8086:18ef]  qat_dev10 down",
    ]


@pytest.mark.parametrize(
    ("cpu", "words"),
    [
        ("<cpu><aes-ni>true</aes-ni><model>Zephyr 9</model></cpu>", "the CPU has it (Zephyr 9)"),
        ("<cpu><aes-ni>false</aes-ni></cpu>", "the CPU does not have it"),
        ("<cpu><model>Zephyr 9</model></cpu>", "unknown (Zephyr 9)"),
        ("", "unknown"),
    ],
)
def test_without_a_device_the_cpu_is_what_there_is(capsys: pytest.CaptureFixture[str], cpu: str, words: str) -> None:
    assert shown(capsys, show_qat, cpu) == ["No QAT device found", f"AES-NI: {words}"]


def test_a_configured_device_that_is_not_there_is_not_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, show_qat, ABSENT) == [
        "No QAT device found",
        "05:00.0  unknown",
        "  not there",
        "AES-NI: unknown",
    ]
    assert shown(capsys, show_status, ABSENT) == [
        "system acceleration qat is not configured",
        "Checking status of all devices.",
        "No QAT device found",
        " 0000:05:00.0 - bsf: 0000:05:00.0,  state: unknown",
        "   not there",
    ]


def test_status_has_the_words_that_scripts_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, show_status, TWO_DEVICES) == [
        "Checking status of all devices.",
        "There is 2 QAT acceleration device(s) in the system:",
        " qat_dev1 - type: c6xx,  inst_id: 1,  node_id: 1,  bsf: 0000:b1:00.0,  #accel: 5 #engines: 10 state: up",
        " qat_dev10 - type: 200xxvf,  bsf: 0001:b1:02.3,  state: down",
        "   its file is missing: /etc/200xxvf_dev0.conf",
    ]


@pytest.mark.parametrize(
    ("running", "vyos", "said"),
    [
        ("true", "true", []),
        ("true", "false", ["system acceleration qat is not in VyOS: something else has deleted it there"]),
        ("false", "false", ["system acceleration qat is not configured"]),
        (
            "false",
            "true",
            [
                "system acceleration qat is not configured",
                "VyOS has it all the same: something else has set it there",
            ],
        ),
    ],
)
def test_status_tells_where_vyos_says_otherwise(
    capsys: pytest.CaptureFixture[str], running: str, vyos: str, said: list[str]
) -> None:
    content = f"<configured>{running}</configured><system-configured>{vyos}</system-configured>"
    assert shown(capsys, show_status, f"<qat>{content}</qat>")[:-2] == said


def test_the_intent_is_not_told_where_the_agent_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, show_status, "<qat/>") == ["Checking status of all devices.", "No QAT device found"]


FLOWS = """\
<qat><device><address>0000:b1:00.0</address><name>qat_dev1</name><oper-status>up</oper-status>
  <flows>
    <engine><id>0</id><requests>918</requests><responses>917</responses><ras-events>2</ras-events></engine>
    <engine><id>7</id><no-response>true</no-response></engine>
    <requests>918</requests><responses>917</responses><in-flight>1</in-flight><request-rate>31</request-rate>
    <latency>2650</latency>
    <utilization><slice>cph0</slice><percent>14</percent></utilization>
    <discontinuity-time>2031-02-03T04:05:06Z</discontinuity-time>
  </flows>
</device></qat>
"""


def test_flows_have_a_row_for_each_engine_and_leave_out_what_is_not_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert shown(capsys, show_device, FLOWS, view="flows") == [
        "qat_dev1 (0000:b1:00.0) is up",
        "engine  requests  responses  ras events  no response",
        "     0       918        917           2",
        "     7                                           yes",
        "requests        918",
        "responses       917",
        "in flight       1",
        "request rate    31 /s",
        "latency         2650 ns",
        "counting since  2031-02-03T04:05:06Z",
        "slice  in use",
        "cph0     14 %",
    ]


@pytest.mark.parametrize(
    ("state", "lines"),
    [
        ("<oper-status>down</oper-status>", ["0000:b1:00.0 is down"]),
        (
            "<oper-status>failed</oper-status><status-reason>no firmware</status-reason>",
            ["0000:b1:00.0 is failed: no firmware"],
        ),
        (
            "<oper-status>up</oper-status>",
            ["0000:b1:00.0 is up", "No counters: its driver has none, or this user may not see them."],
        ),
        ("", ["0000:b1:00.0: the agent does not say what state it is in"]),
    ],
)
def test_a_device_without_flows_says_why(capsys: pytest.CaptureFixture[str], state: str, lines: list[str]) -> None:
    content = f"<qat><device><address>0000:b1:00.0</address>{state}</device></qat>"

    assert shown(capsys, show_device, content, view="flows") == lines


def test_config_shows_the_intent_and_the_drivers_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    content = """\
<qat><device><address>0000:b1:00.0</address><enabled>true</enabled><services>asym sym</services>
  <section><name>SHIM</name><cy-instances>4</cy-instances><limit-device-access>false</limit-device-access>
    <core-affinity>6</core-affinity><core-affinity>2</core-affinity></section>
  <oper-status>up</oper-status><active-services>asym sym</active-services>
  <effective-config><section>GENERAL</section><key>ServicesEnabled</key><value>cy</value></effective-config>
  <effective-config><section>GENERAL</section><key>ProcDebug</key><value/></effective-config>
  <effective-config><section>SHIM</section><key>NumProcesses</key><value>9</value></effective-config>
</device></qat>
"""

    assert shown(capsys, show_device, content, view="config") == [
        "0000:b1:00.0 is up",
        "enabled                           yes",
        "services configured               asym sym",
        "services in force                 asym sym",
        "section SHIM cy instances         4",
        "section SHIM limit device access  no",
        "section SHIM core affinity        6 2",
        "[GENERAL]",
        "ServicesEnabled = cy",
        "ProcDebug =",
        "[SHIM]",
        "NumProcesses = 9",
    ]


INTERRUPTS = """\
<qat>
  <device><address>0000:b1:00.0</address><name>qat_dev1</name><oper-status>up</oper-status>
    <interrupt><irq>77</irq><name>qat1-bundle0</name><total>905</total>
      <cpu><id>0</id><count>0</count></cpu><cpu><id>2</id><count>900</count></cpu><cpu><id>10</id><count>5</count></cpu>
    </interrupt>
    <interrupt><irq>108</irq><total>0</total><cpu><id>0</id><count>0</count></cpu></interrupt>
  </device>
  <device><address>0000:b3:00.0</address><oper-status>down</oper-status><status-reason>stopped</status-reason></device>
</qat>
"""


def test_interrupts_have_a_column_for_each_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, show_interrupts, INTERRUPTS) == [
        "device    irq  name          total  CPU0  CPU2  CPU10",
        "qat_dev1   77  qat1-bundle0    905     0   900      5",
        "qat_dev1  108                    0     0",
        "0000:b3:00.0 is down: stopped",
    ]


def test_a_terminal_without_room_shows_the_cpus_that_had_interrupts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_interrupts, "width", lambda: 47)

    assert shown(capsys, show_interrupts, INTERRUPTS)[:3] == [
        "device    irq  name          total  CPU2  CPU10",
        "qat_dev1   77  qat1-bundle0    905   900      5",
        "qat_dev1  108                    0",
    ]


def test_many_cpus_are_not_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    cpus = "".join(f"<cpu><id>{cpu}</id><count>{cpu}</count></cpu>" for cpu in range(256))
    content = f"<qat><device><address>0000:b1:00.0</address><interrupt><irq>9</irq>{cpus}</interrupt></device></qat>"

    heading, row = shown(capsys, show_interrupts, content)[:2]

    assert heading.split()[4:] == [f"CPU{cpu}" for cpu in range(256)]
    assert row.split()[2:] == [str(cpu) for cpu in range(256)]
