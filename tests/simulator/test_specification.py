"""Device texts, addresses that are given and addresses that are found."""

from __future__ import annotations

import pytest

from simulator import DeviceSpec, SimulatorError, parse_device, place


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c3xxx", DeviceSpec("c3xxx")),
        ("c6xx@0000:5e:00.0", DeviceSpec("c6xx", "0000:5e:00.0")),
        ("c6xx@5E:00.0", DeviceSpec("c6xx", "0000:5e:00.0")),
        ("DH895xCC@0001:AF:00.0", DeviceSpec("dh895xcc", "0001:af:00.0")),
        (" 200xxvf@0a:1f.7\n", DeviceSpec("200xxvf", "0000:0a:1f.7")),
    ],
)
def test_a_device_text_is_read_and_normalised(text: str, expected: DeviceSpec) -> None:
    assert parse_device(text) == expected


@pytest.mark.parametrize("address", ["", "5e", "5e:00", "5e:20.0", "5e:00.8", "00000:5e:00.0", "5e:00.0x"])
def test_a_malformed_address_is_refused(address: str) -> None:
    with pytest.raises(SimulatorError, match=r"is not a PCI address such as 0000:3d:00\.0"):
        parse_device(f"c6xx@{address}")


@pytest.mark.parametrize("name", ["c62x", "", "c3xxxvfvf", "icp"])
def test_an_unknown_type_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SimulatorError, match=rf"^'{name}' is no type of accelerator; there are c3xxx, c3xxxvf, c6xx"):
        parse_device(name)


def _addresses(*texts: str) -> list[str | None]:
    return [device.address for device in place([parse_device(text) for text in texts])]


def test_devices_without_an_address_get_one_after_the_other() -> None:
    assert _addresses("c3xxx", "c6xx", "c6xx") == ["0000:01:00.0", "0000:02:00.0", "0000:03:00.0"]


def test_addresses_that_are_given_are_left_out() -> None:
    assert _addresses("c6xx", "c6xx@01:00.0", "c6xx", "c3xxx@03:00.0") == [
        "0000:02:00.0",
        "0000:01:00.0",
        "0000:04:00.0",
        "0000:03:00.0",
    ]


def test_virtual_functions_go_to_the_bus_of_their_physical_one() -> None:
    assert _addresses(*["c6xxvf"] * 9, "c6xx@5e:00.0") == [
        *(f"0000:5e:01.{function}" for function in range(8)),
        "0000:5e:02.0",
        "0000:5e:00.0",
    ]


def test_a_virtual_function_without_a_physical_one_stands_alone() -> None:
    # As in a virtual machine that it was handed to.
    assert _addresses("c3xxx", "c6xxvf") == ["0000:01:00.0", "0000:02:00.0"]


def test_an_address_can_be_given_once() -> None:
    with pytest.raises(SimulatorError, match=r"0000:5e:00\.0 can't be a c3xxx: there is a c6xx already"):
        _addresses("c6xx@5e:00.0", "c3xxx@0000:5E:00.0")


@pytest.mark.parametrize(("address", "holder"), [("00:00.0", "host bridge"), ("00:14.1", "network card")])
def test_the_machines_own_functions_keep_their_addresses(address: str, holder: str) -> None:
    with pytest.raises(SimulatorError, match=f"there is a {holder} already"):
        _addresses(f"c6xx@{address}")


def test_a_physical_function_has_only_so_many_virtual_ones() -> None:
    given = [f"c6xxvf@5e:{slot:02x}.{function}" for slot in (1, 2) for function in range(8)]
    assert len(_addresses("c6xx@5e:00.0", *given)) == 17
    with pytest.raises(SimulatorError, match=r"would have 17 virtual functions, but a c6xx has 16 at most"):
        _addresses("c6xx@5e:00.0", *given, "c6xxvf@5e:03.0")


def test_more_devices_than_addresses_are_refused() -> None:
    with pytest.raises(SimulatorError, match="no free PCI address left"):
        _addresses(*["c6xx"] * 256)
