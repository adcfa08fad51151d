"""Who uses the kernel's algorithms: the tunnel, while IPsec runs, of what the kernel takes for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from translators.crypto import proc_crypto
from translators.crypto.esp import EspAlgorithms
from translators.crypto.offload import verdict
from translators.real_host import RealHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]

QAT = {"echainiv(qat_aes_cbc_hmac_sha256)": 3, "qat_aes_cbc_hmac_sha256": 4}
TUNNEL = EspAlgorithms("AES_CBC", 256, "HMAC_SHA2_256_128")


def software(cipher: str) -> dict[str, int]:
    made = f"authenc(hmac(sha256-generic),{cipher})"
    return {f"echainiv({made})": 3, made: 4, cipher: 4, "sha256-generic": 4}


def state(gateway: Gateway) -> str:
    """Return what the agent makes of the tunnel."""
    return verdict(TUNNEL, proc_crypto.read(RealHost(gateway.root)), None).state


@pytest.mark.parametrize(("aes", "cipher"), [(True, "cbc-aes-aesni"), (False, "cbc(aes-generic)")])
def test_without_a_device_the_tunnel_uses_the_cpu(make: Make, aes: bool, cipher: str) -> None:
    gateway = make(aes=aes)
    assert gateway.references() == software(cipher)
    gateway.ipsec("stop")
    assert gateway.references() == {}
    gateway.ipsec("start")
    assert gateway.references() == software(cipher)


def test_the_tunnel_follows_the_devices(make: Make) -> None:
    gateway = make("c6xx", "c6xx")
    assert (gateway.references(), state(gateway)) == (software("cbc-aes-aesni"), "software")
    gateway.qat_service("start")
    assert (gateway.references(), state(gateway)) == (QAT, "offloaded")
    gateway.qat_service("stop", "qat_dev0")
    assert gateway.references() == QAT
    gateway.ipsec("stop")
    assert gateway.references() == {}
    gateway.ipsec("restart")
    assert gateway.references() == QAT
    gateway.qat_service("stop")
    assert (gateway.references(), state(gateway)) == (software("cbc-aes-aesni"), "software")


def test_where_the_kernel_passes_the_device_over_nobody_uses_it(make: Make) -> None:
    gateway = make("4xxx", kernel_release="6.17")
    assert gateway.algorithms()["qat_aes_cbc_hmac_sha256"] == 100
    assert (gateway.references(), state(gateway)) == (software("cbc-aes-aesni"), "registered-not-selected")


def test_a_machine_without_ipsec_uses_none(make: Make) -> None:
    gateway = make("4xxx", ipsec=False)
    assert gateway.references() == {}
    assert "echainiv" not in gateway.text("proc/crypto")
