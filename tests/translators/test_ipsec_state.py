"""What charon says, as state: parsed, selected, and with its faults."""

from typing import Any

import pytest

from translators.base import ALL, Branch, Selection
from translators.ipsec.state import associations, esp_plugin, service
from translators.ipsec.tunnels import child_sas, up
from translators.ipsec.vici import SOCKET, Charon
from translators.record import RecordedHost
from translators.vici import Message, ViciStaleError, ViciTimeoutError

PATH = "/hardware-acceleration:acceleration/ipsec/security-association"
SERVICE = "/hardware-acceleration:acceleration/ipsec/service"


def child(identity: int, name: str = "net", **changes: str) -> dict[str, Any]:
    said = {
        "name": name,
        "uniqueid": str(identity),
        "reqid": "7",
        "state": "INSTALLED",
        "mode": "TUNNEL",
        "protocol": "ESP",
        "spi-in": "c0ffee01",
        "spi-out": "c0ffee02",
        "encr-alg": "AES_CBC",
        "encr-keysize": "256",
        "integ-alg": "HMAC_SHA2_256_128",
        "bytes-in": "18446744073709551615",
        "packets-in": "12",
        "bytes-out": "840",
        "packets-out": "10",
        "install-time": "35",
        "local-ts": ["192.0.2.0/25"],
        "remote-ts": ["192.0.2.128/25"],
    }
    return {f"{name}-{identity}": {**said, **changes}}


def ike(connection: str, *children: dict[str, Any], **changes: str) -> Message:
    said = {"uniqueid": "1", "version": "2", "state": "ESTABLISHED", "remote-host": "198.51.100.9", "initiator": "yes"}
    sas = {key: section for entry in children for key, section in entry.items()}
    return {connection: {**said, **changes, "child-sas": sas}}


def machine(*listed: Message, plugins: tuple[str, ...] = ("aes", "kernel-netlink", "aes")) -> RecordedHost:
    def answer(_host: RecordedHost, command: str, message: dict[str, Any]) -> list[Message]:
        match command:
            case "version":
                return [{"daemon": "charon-systemd", "version": "5.9.8"}]
            case "stats":
                return [{"plugins": list(plugins)}]
        assert command == "list-sas"
        return [*(event for event in listed if message.get("ike") in {None, *event}), {}]

    host = RecordedHost(complete=True, folders={"/proc"}, daemons={SOCKET: answer})
    host.programs["/usr/sbin/ipsec"] = lambda _host, _argv: (0, "")
    host.files |= {
        "/proc/501/comm": b"starter\n",
        "/proc/502/comm": b"charon\n",
        "/proc/502/stat": b"502 (a ) b) S 501 " + b"0 " * 17 + b"360050 0\n",
        "/proc/uptime": b"3725.99 7000.00\n",
    }
    return host


def wanting(*leafs: str, **keys: str) -> Selection:
    inner = ALL if not leafs else Selection(False, tuple(Branch(leaf, (), ALL) for leaf in leafs))
    return Selection(False, (Branch("security-association", tuple(keys.items()), inner),))


def listed(host: RecordedHost, wanted: Selection = ALL) -> list[dict[str, Any]]:
    reading = associations(Charon(host), PATH, wanted, None)
    assert reading.faults == ()
    return list(reading.tree.get("security-association", ()))


def test_an_association_is_shown_whole() -> None:
    assert listed(machine(ike("site", child(4)))) == [
        {
            "connection": "site",
            "child": "net",
            "id": 4,
            "state": "INSTALLED",
            "remote-address": "198.51.100.9",
            "encryption": "AES_CBC-256",
            "integrity": "HMAC_SHA2_256_128",
            "esn": False,
            "bytes-in": 2**64 - 1,
            "bytes-out": 840,
            "packets-in": 12,
            "packets-out": 10,
        }
    ]


def test_what_charon_does_not_say_is_left_out() -> None:
    bare = {"net-4": {"name": "net", "uniqueid": "4", "state": "CREATED"}}
    host = machine(ike("site", bare, **{"remote-host": "%any"}))
    assert listed(host) == [{"connection": "site", "child": "net", "id": 4, "state": "CREATED"}]


def test_an_aead_with_esn_has_no_integrity() -> None:
    said = child(4, **{"encr-alg": "AES_GCM_16", "esn": "1", "dh-group": "ECP_256"})
    del said["net-4"]["integ-alg"]
    (entry,) = listed(machine(ike("site", said)))
    assert entry["encryption"] == "AES_GCM_16-256"
    assert entry["esn"] is True
    assert entry["dh-group"] == "ECP_256"
    assert "integrity" not in entry


def test_only_the_connection_that_is_asked_for_is_listed() -> None:
    host = machine(ike("a", child(1)), ike("b", child(2), child(3)))
    wanted = wanting("state", connection="b", child="net", id="3")
    assert listed(host, wanted) == [{"connection": "b", "child": "net", "id": 3, "state": "INSTALLED"}]
    assert host.asked == [("list-sas", {"ike": "b", "child": "net", "child-id": "3"})]


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ({"id": "2"}, {"child-id": "2"}),
        ({"child": "net"}, {"child": "net"}),
        ({"connection": "b", "state": "INSTALLED"}, {"ike": "b"}),
        ({"state": "INSTALLED"}, {}),
    ],
)
def test_charon_lists_what_the_keys_say(keys: dict[str, str], asked: dict[str, str]) -> None:
    host = machine(ike("a", child(1, "other")), ike("b", child(2)))
    assert 2 in [entry["id"] for entry in listed(host, wanting("state", **keys))]
    assert host.asked == [("list-sas", asked)]


def test_what_is_asked_for_twice_is_listed_once() -> None:
    host = machine(ike("a", child(1)), ike("b", child(2)))
    both = (*wanting("state", connection="b").branches, *wanting("remote-address", id="2").branches)
    (entry,) = listed(host, Selection(False, (*both, both[0])))
    assert entry == {"connection": "b", "child": "net", "id": 2, "state": "INSTALLED", "remote-address": "198.51.100.9"}
    assert host.asked == [("list-sas", {"ike": "b"}), ("list-sas", {"child-id": "2"})]


def test_for_many_entries_all_are_listed_once() -> None:
    host = machine(*(ike(f"c{number}", child(number)) for number in range(40)))
    wanted = Selection(False, tuple(wanting("state", id=str(number)).branches[0] for number in range(0, 40, 2)))
    assert [entry["id"] for entry in listed(host, wanted)] == list(range(0, 40, 2))
    assert host.asked == [("list-sas", {})]


def test_without_a_name_all_are_listed_once() -> None:
    host = machine(ike("a", child(1)), ike("b", child(2)))
    both = Selection(False, (*wanting("state", connection="b").branches, *wanting("state").branches))
    assert [entry["id"] for entry in listed(host, both)] == [1, 2]
    assert host.asked == [("list-sas", {})]
    assert listed(host, Selection(False, (Branch("service", (), ALL),))) == []
    assert len(host.asked) == 1


def test_the_verdict_is_asked_for_where_it_is_wanted() -> None:
    host = machine(ike("a", child(1)))
    wanted = wanting("offload")
    tree = associations(Charon(host), PATH, wanted, lambda sa: {"reason": sa.encryption}).tree
    assert tree["security-association"][0]["offload"] == {"reason": "AES_CBC-256"}

    def never(_sa: object) -> dict[str, Any]:
        raise AssertionError

    associations(Charon(host), PATH, wanting("state"), never)


@pytest.mark.parametrize("broken", [{"uniqueid": "x"}, {"bytes-in": "-1"}, {"packets-out": str(2**64)}])
def test_one_broken_association_does_not_hide_the_others(broken: dict[str, str]) -> None:
    reading = associations(Charon(machine(ike("a", child(1, **broken)), ike("b", child(2)))), PATH, ALL, None)
    assert [entry["id"] for entry in reading.tree["security-association"]] == [2]
    (fault,) = reading.faults
    assert fault.path == PATH
    assert fault.message.startswith("charon lists a/net-1 with")


def test_no_charon_has_no_associations() -> None:
    host = RecordedHost(complete=True, folders={"/proc"})
    assert associations(Charon(host), PATH, ALL, None).tree == {}


def test_a_socket_that_was_left_behind_is_a_fault_only_while_charon_runs() -> None:
    def stale(_host: RecordedHost, _command: str, _message: dict[str, Any]) -> list[Message]:
        raise ViciStaleError(SOCKET, "nothing listens at the socket")

    host = machine()
    host.daemons[SOCKET] = stale
    reading = associations(Charon(host), PATH, ALL, None)
    assert [fault.message for fault in reading.faults] == ["/run/charon.vici: nothing listens at the socket"]
    del host.files["/proc/502/comm"]
    assert associations(Charon(host), PATH, ALL, None).faults == ()


def test_the_service_is_shown_whole() -> None:
    reading = service(Charon(machine()), SERVICE, ALL, None)
    assert reading.faults == ()
    assert reading.tree == {
        "name": "strongswan-starter",
        "state": "running",
        "version": "5.9.8",
        "uptime": 125,
        "plugin": ["aes", "kernel-netlink"],
    }


def test_only_what_is_wanted_of_the_service_is_asked_for() -> None:
    host = machine()
    wanted = Selection(False, (Branch("uptime", (), ALL),))
    assert service(Charon(host), SERVICE, wanted, None).tree == {"uptime": 125}
    assert host.asked == []


def test_a_charon_that_hangs_is_neither_running_nor_stopped() -> None:
    def hang(_host: RecordedHost, command: str, _message: dict[str, Any]) -> list[Message]:
        raise ViciTimeoutError(SOCKET, f"charon did not answer {command} within 10 s")

    host = machine()
    host.daemons[SOCKET] = hang
    reading = service(Charon(host), SERVICE, ALL, None)
    assert reading.tree == {"name": "strongswan-starter", "state": "unknown", "uptime": 125}
    assert [fault.path for fault in reading.faults] == [f"{SERVICE}/version", f"{SERVICE}/plugin"]


def test_a_charon_without_vici_runs_all_the_same() -> None:
    host = machine()
    host.daemons.clear()
    reading = service(Charon(host), SERVICE, ALL, None)
    assert reading.tree == {"name": "strongswan-starter", "state": "running", "uptime": 125}
    assert reading.faults == ()


def test_the_youngest_association_of_a_tunnel_is_the_one_that_is_up() -> None:
    host = machine(ike("a", child(5), child(3, state="DELETED"), child(4)), ike("b", child(9, state="DELETED")))
    assert {tunnel: sa.identity for tunnel, sa in up(child_sas(Charon(host))).items()} == {("a", "net"): 5}


@pytest.mark.parametrize(
    ("loaded", "found"),
    [
        (("kernel-netlink",), "kernel-netlink"),
        (("kernel-libipsec", "kernel-netlink"), "kernel-libipsec"),
        (("aes",), None),
    ],
)
def test_the_data_plane_is_told_by_the_plugins(loaded: tuple[str, ...], found: str | None) -> None:
    assert esp_plugin(Charon(machine(plugins=loaded))) == found
