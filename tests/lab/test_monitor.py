"""``monitor`` with a real tunnel, asked from the other gateway over SSH."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.conftest import MakeSite
from tests.lab.gateway import Actions
from tests.lab.served import Served
from tests.lab.site import Pings


@pytest.fixture
def served(make_site: MakeSite, tmp_path: Path) -> Iterator[Served]:
    """Return an agent whose gateway has begun its tunnel."""
    served = Served(make_site(Actions(start="start"), Actions()), tmp_path / "gateway")
    served.site.right.start()
    served.start_charon()
    served.site.wait_up()
    with served:
        yield served


def test_a_tunnel_with_its_traffic_and_its_events(served: Served, tmp_path: Path) -> None:
    pings = Pings(served.ipsec, tmp_path / "pings")
    words = served.command("monitor", host=served.ipsec.address)
    lines = served.site.right.machine.run(*words, "--count", "3", "--interval", "1", "--format", "json").splitlines()
    served.accelerate("rekey")
    served.session.ok("<commit/>")
    printed = served.site.right.machine.run(*words, "--once").splitlines()
    pings.end()

    first, *others = map(json.loads, lines)
    (rates,) = first["rates"]["security-association"]
    assert "bytes-in" not in rates
    for picture in others:
        (shown,) = picture["hardware-acceleration:acceleration"]["ipsec"]["security-association"]
        (rates,) = picture["rates"]["security-association"]
        assert (shown["connection"], shown["child"], shown["state"]) == ("site", "tunnel-0", "INSTALLED")
        assert (rates["connection"], rates["child"], rates["id"]) == ("site", "tunnel-0", shown["id"])
        # A reply for each ping, of the same length.
        assert rates["bytes-in"] > 0
        assert rates["bytes-in"] == pytest.approx(rates["bytes-out"], rel=0.1)
    # The old one may still be there.
    (row,) = (line.split() for line in printed if line.startswith("site/tunnel-0") and " INSTALLED " in line)
    assert row[3:5] == [served.site.right.address, "AES_CBC-128"]
    assert row[-2:] == ["unknown", "–"]
    assert any(": rekeyed, peer 10.200.0.2" in line for line in printed)
    assert any("IPsec rekey: succeeded in " in line and line.endswith("tunnels 1 → 1") for line in printed)
