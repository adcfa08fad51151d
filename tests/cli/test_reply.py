"""A reply's data as JSON: lists are lists, numbers numbers, whatever there is of them."""

from __future__ import annotations

from lxml import etree

from agent.cli import reply

ONE_DEVICE = """\
<data xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">
  <acceleration xmlns="urn:accel-agent:hardware-acceleration">
    <qat>
      <enabled>true</enabled>
      <device>
        <address>0002:7a:00.0</address>
        <section><name>SHIM</name><cy-instances>3</cy-instances><core-affinity>11</core-affinity></section>
        <family xmlns:types="urn:accel-agent:hardware-acceleration-types">types:d15xx</family>
        <services>sym dc</services>
        <pci><device-id>6f54</device-id><numa-node>1</numa-node></pci>
        <effective-config><section>0</section><key>42</key><value> 007</value></effective-config>
        <flows>
          <engine><id>4</id><requests>18446744073709551615</requests></engine>
          <engine><id>5</id><no-response>true</no-response></engine>
          <!-- no sums -->
        </flows>
      </device>
    </qat>
    <cpu><crypto-feature xmlns:t="urn:accel-agent:hardware-acceleration-types">t:vaes</crypto-feature></cpu>
  </acceleration>
</data>
"""


def test_one_of_a_list_is_a_list_and_the_values_have_their_types() -> None:
    assert reply.data(etree.fromstring(ONE_DEVICE)) == {
        "hardware-acceleration:acceleration": {
            "qat": {
                "enabled": True,
                "device": [
                    {
                        "address": "0002:7a:00.0",
                        "section": [{"name": "SHIM", "cy-instances": 3, "core-affinity": [11]}],
                        "family": "hardware-acceleration-types:d15xx",
                        "services": "sym dc",
                        "pci": {"device-id": "6f54", "numa-node": 1},
                        "effective-config": [{"section": "0", "key": "42", "value": " 007"}],
                        "flows": {
                            "engine": [
                                {"id": 4, "requests": 18446744073709551615},
                                {"id": 5, "no-response": True},
                            ]
                        },
                    }
                ],
            },
            "cpu": {"crypto-feature": ["hardware-acceleration-types:vaes"]},
        }
    }


def test_for_programs_numbers_of_64_bits_are_strings() -> None:
    """RFC 7951 6.1."""
    (device,) = reply.acceleration(reply.data(etree.fromstring(ONE_DEVICE), wide_as_text=True))["qat"]["device"]

    assert device["flows"] == {
        "engine": [{"id": 4, "requests": "18446744073709551615"}, {"id": 5, "no-response": True}]
    }
    assert device["section"] == [{"name": "SHIM", "cy-instances": 3, "core-affinity": [11]}]


def test_what_is_of_another_module_has_its_name() -> None:
    """RFC 7951 4."""
    tree = reply.data(
        etree.fromstring(
            '<data xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">'
            '<acceleration xmlns="urn:accel-agent:hardware-acceleration"><cpu><model>Zephyr 9</model>'
            '<model xmlns="urn:example:more"><sort>a</sort></model></cpu></acceleration></data>'
        )
    )

    assert reply.acceleration(tree) == {"cpu": {"model": "Zephyr 9", "more:model": {"sort": "a"}}}


def test_what_a_newer_agent_knows_more_is_kept_as_text() -> None:
    tree = reply.acceleration(
        reply.data(
            etree.fromstring(
                '<data xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">'
                '<acceleration xmlns="urn:accel-agent:hardware-acceleration"><cpu>'
                "<model>Zephyr 9</model><cores>12</cores><cache><level>2</level></cache><cache><level>3</level></cache>"
                "<aes-ni>perhaps</aes-ni></cpu></acceleration></data>"
            )
        )
    )

    assert tree == {
        "cpu": {"model": "Zephyr 9", "cores": "12", "cache": [{"level": "2"}, {"level": "3"}], "aes-ni": "perhaps"}
    }


def test_an_empty_reply_is_an_empty_object() -> None:
    empty = reply.data(etree.fromstring('<data xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"/>'))

    assert empty == {}
    assert reply.acceleration(empty) == {}


def test_an_rpc_has_its_output() -> None:
    answer = etree.fromstring(
        '<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" xmlns:ha="urn:accel-agent:hardware-acceleration">'
        "<ha:changes-machine>true</ha:changes-machine>"
        "<ha:step><ha:number>1</ha:number><ha:disruptive>false</ha:disruptive></ha:step><ha:note>mind it</ha:note>"
        "</rpc-reply>"
    )

    assert reply.output(answer, "plan") == {
        "hardware-acceleration:changes-machine": True,
        "hardware-acceleration:step": [{"number": 1, "disruptive": False}],
        "hardware-acceleration:note": ["mind it"],
    }
