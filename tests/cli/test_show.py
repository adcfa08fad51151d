"""What show makes of the CPU, the kernel, IPsec and a plan, on replies that no simulated gateway gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from agent.cli import (
    output,
    show_cpu,
    show_ipsec,
    show_kernel_crypto,
    show_plan,
)
from tests.cli.replies import HA, shown

if TYPE_CHECKING:
    import pytest


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
    assert "charon has no VICI socket" in lines[1]
    assert shown(capsys, show_ipsec, "")[0] == "The agent reports nothing of the IPsec service."
