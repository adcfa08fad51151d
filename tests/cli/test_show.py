"""What show makes of a reply, for people: lines and tables, on replies that no simulated gateway gives."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from agent.cli import (
    output,
    reply,
    show_cpu,
    show_device,
    show_interrupts,
    show_ipsec,
    show_kernel_crypto,
    show_plan,
    show_qat,
    show_status,
)

if TYPE_CHECKING:
    from types import ModuleType

HA = "urn:accel-agent:hardware-acceleration"
HAT = "urn:accel-agent:hardware-acceleration-types"

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


def shown(capsys: pytest.CaptureFixture[str], module: ModuleType, content: str, **options: object) -> list[str]:
    """Return what a module prints into a pipe for the content of a reply."""
    data = etree.fromstring(f'<data><acceleration xmlns="{HA}" xmlns:hat="{HAT}">{content}</acceleration></data>')
    output.show(module.render(reply.acceleration(reply.data(data)), argparse.Namespace(**options)))
    return capsys.readouterr().out.splitlines()


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


def test_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    content = (
        "<cpu><model>Zephyr 9</model><aes-ni>false</aes-ni><crypto-feature>hat:adx</crypto-feature>"
        "<crypto-feature>hat:bmi2</crypto-feature></cpu>"
    )

    assert shown(capsys, show_cpu, content) == [
        "model            Zephyr 9",
        "AES-NI           no",
        "crypto features  adx bmi2",
    ]
    assert shown(capsys, show_cpu, "") == ["The agent reports nothing of the CPU."]


def test_the_cpu_of_a_virtual_machine_has_its_notes_below(capsys: pytest.CaptureFixture[str]) -> None:
    content = (
        "<cpu><model>Zephyr 9</model><other-model>Zephyr 8</other-model><other-model>Zephyr 7</other-model>"
        "<sockets>3</sockets><hypervisor>vmware</hypervisor><aes-ni>false</aes-ni>"
        "<note>They differ.</note><note>Ask for more.</note></cpu>"
    )

    assert shown(capsys, show_cpu, content) == [
        "model         Zephyr 9",
        "other models  Zephyr 8, Zephyr 7",
        "sockets       3",
        "hypervisor    vmware",
        "AES-NI        no",
        "note: They differ.",
        "note: Ask for more.",
    ]


ALGORITHMS = """\
<kernel-crypto>
  <algorithm><name>crc32c</name><driver>crc32c-generic</driver><priority>100</priority></algorithm>
  <algorithm><name>rsa</name><driver>qat-rsa</driver><priority>1000</priority><selected>true</selected>
    <provider>qat</provider></algorithm>
  <algorithm><name>cbc(aes)</name><driver>cbc-aes-aesni</driver><priority>400</priority><selected>true</selected>
    <provider>aes-ni</provider><reference-count>3</reference-count></algorithm>
  <algorithm><name>cbc(aes)</name><driver>qat_aes_cbc</driver><priority>900</priority><selected>false</selected>
    <provider>qat</provider><self-test-passed>false</self-test-passed></algorithm>
  <algorithm><name>cbc(aes)</name><driver>slow</driver><priority>high</priority></algorithm>
  <algorithm><name>gcm(aes)</name><driver>__hidden</driver><internal>true</internal></algorithm>
</kernel-crypto>
"""


def test_of_the_kernels_algorithms_those_of_ipsec_and_qat_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, show_kernel_crypto, ALGORITHMS, all=False) == [
        "algorithm  driver         provider  priority  selected  remark",
        "cbc(aes)   cbc-aes-aesni  aes-ni         400  yes       in use",
        "cbc(aes)   qat_aes_cbc    qat            900  no        self-test not passed",
        "cbc(aes)   slow                         high",
        "rsa        qat-rsa        qat           1000  yes",
        "2 of 6 algorithms are none that IPsec asks for and are left out: --all shows them.",
    ]


def test_all_of_the_kernels_algorithms_are_shown_to_who_asks(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, show_kernel_crypto, ALGORITHMS, all=True)

    assert [text.split()[1] for text in lines[1:]] == [
        "cbc-aes-aesni",
        "qat_aes_cbc",
        "slow",
        "crc32c-generic",
        "__hidden",
        "qat-rsa",
    ]
    assert lines[5].split() == ["gcm(aes)", "__hidden", "internal"]


def test_without_algorithms_of_ipsec_the_others_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    one = "<kernel-crypto><algorithm><name>lzo</name><driver>lzo-generic</driver></algorithm></kernel-crypto>"

    assert shown(capsys, show_kernel_crypto, one, all=False) == [
        "None of the kernel's algorithms is one that IPsec asks for, and none is QAT's.",
        "1 of 1 algorithms are none that IPsec asks for and are left out: --all shows them.",
    ]
    assert shown(capsys, show_kernel_crypto, "", all=False) == ["The agent reports no algorithms of the kernel."]


def test_what_an_agent_says_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    content = "<cpu><model>[bold]Zephyr&#x9b;31m&#xd;&#x202e;9 :smile:[/bold]</model></cpu>"

    assert shown(capsys, show_cpu, content) == ["model  [bold]Zephyr 31m  9 :smile:[/bold]"]


def test_a_plan_numbers_its_steps_and_marks_what_disturbs(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(
        show_plan.render(
            {
                "changes-machine": True,
                "step": [
                    {"number": 1, "description": "stop the tunnels", "disruptive": True, "disturbs": ["ipsec", "dns"]},
                    {"number": 2, "description": "write /etc/x.conf", "disruptive": False},
                ],
                "tunnel": ["north", "south"],
                "note": ["rekey is not possible"],
            }
        )
    )

    assert capsys.readouterr().out.splitlines() == [
        "step     what               disturbs",
        "   1  !  stop the tunnels   ipsec dns",
        "   2     write /etc/x.conf",
        "tunnel touched: north",
        "tunnel touched: south",
        "note: rekey is not possible",
    ]


def test_an_empty_plan_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(show_plan.render({"changes-machine": False, "note": ["files stay as they are"]}))

    assert capsys.readouterr().out.splitlines() == ["nothing to do", "note: files stay as they are"]


def test_what_is_to_be_known_before_a_commit_names_some_of_many_tunnels() -> None:
    def notes(count: int) -> list[str]:
        tunnels = "".join(f"<tunnel>t{number}</tunnel>" for number in range(count))
        return show_plan.notes(etree.fromstring(f'<rpc-reply xmlns="{HA}">{tunnels}<note>mind</note></rpc-reply>'))

    assert notes(0) == ["note: mind"]
    assert notes(2) == ["tunnels touched: t0, t1", "note: mind"]
    assert notes(12)[0] == "tunnels touched: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more"


IPSEC = """\
<ipsec>
  <service><name>strongswan.service</name><state>running</state><version>5.9.8</version><uptime>3725</uptime>
    <plugin>kernel-netlink</plugin></service>
  <security-association>
    <connection>north</connection><child>net</child><id>7</id><state>INSTALLED</state>
    <remote-address>192.0.2.9</remote-address><encryption>AES_CBC-256</encryption>
    <integrity>HMAC_SHA2_256_128</integrity><esn>true</esn>
    <bytes-in>18446744073709551615</bytes-in><bytes-out>840</bytes-out>
    <offload><state>partial</state><provider>qat</provider><reason>QAT does the cipher</reason>
      <advice>switch ESN off</advice></offload>
  </security-association>
  <security-association>
    <connection>north</connection><child>net</child><id>8</id>
    <offload><state>partial</state><provider>qat</provider><reason>QAT does the cipher</reason>
      <advice>switch ESN off</advice></offload>
  </security-association>
  <security-association>
    <connection>south</connection><child>net</child><id>9</id><state>CREATED</state>
  </security-association>
</ipsec>
"""


def test_ipsec_has_a_row_for_each_association_and_each_verdict_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, show_ipsec, IPSEC)
    assert lines[:4] == ["name     strongswan.service", "state    running", "version  5.9.8", "uptime   3725 s"]
    assert re.split(" {2,}", lines[4]) == [
        *("tunnel", "id", "state", "peer", "algorithms", "bytes in", "bytes out", "offload", "by")
    ]
    algorithms = "AES_CBC-256/HMAC_SHA2_256_128/ESN"
    assert [line.split() for line in lines[5:8]] == [
        ["north/net", "7", "INSTALLED", "192.0.2.9", algorithms, "18446744073709551615", "840", "partial", "qat"],
        ["north/net", "8", "partial", "qat"],
        ["south/net", "9", "CREATED"],
    ]
    assert lines[8:] == ["north/net:", "  why: QAT does the cipher", "  advice: switch ESN off"]


def test_ipsec_that_is_not_shown_may_be_kept_from_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, show_ipsec, "<ipsec><service><state>not-installed</state></service></ipsec>")
    assert lines[0] == "state  not-installed"
    assert "access control keeps them from you" in lines[1]
    assert shown(capsys, show_ipsec, "")[0] == "The agent reports nothing of the IPsec service."
