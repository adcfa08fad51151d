"""What the translators say of recorded machines: the expected answer is beside each recording.

``ACCEL_AGENT_UPDATE=1`` has the answers written anew; the difference is then looked at like any other change.
"""

import json
import os
from pathlib import Path

import pytest

from translators.base import ALL
from translators.record import UnseenError, load
from translators.registry import TranslatorSettings, translators

RECORDINGS = sorted((Path(__file__).parent / "recordings").iterdir())


@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_a_recorded_machine_is_told_as_expected(folder: Path) -> None:
    host = load(folder)
    readings = {
        translator.path: translator.operational(host, ALL, {"enabled": True} if "qat" in translator.path else {})
        for translator in translators(TranslatorSettings())
    }
    answer = {
        path: {**reading.tree, "faults": [[fault.path, fault.message] for fault in reading.faults]}
        for path, reading in readings.items()
    }
    for tree in answer.values():
        tree.pop("supported-device", None)
    expected = folder / "expected.json"
    if os.environ.get("ACCEL_AGENT_UPDATE") == "1":
        expected.write_text(json.dumps(answer, indent=2, default=list) + "\n")
    assert answer == json.loads(expected.read_text())
    assert host.ran == []


def test_what_was_never_seen_is_no_absence() -> None:
    host = load(RECORDINGS[0])
    with pytest.raises(FileNotFoundError):
        host.read("/dev/qat_dev_processes")
    for ask in (host.read, host.names, host.link, host.exists, host.executable):
        with pytest.raises(UnseenError, match="says nothing about /etc/shadow"):
            ask("/etc/shadow")
    with pytest.raises(UnseenError, match="ipsec restart"):
        host.run(("/usr/sbin/ipsec", "restart"), timeout=1)
    assert host.run(("/usr/sbin/ipsec", "status"), timeout=1).returncode == 0


def test_a_recording_has_folders_files_and_links() -> None:
    host = load(RECORDINGS[0])
    with pytest.raises(IsADirectoryError):
        host.read("/proc")
    with pytest.raises(NotADirectoryError):
        host.names("/proc/cpuinfo")
    with pytest.raises(OSError, match="Invalid argument"):
        host.link("/proc/cpuinfo")
    with pytest.raises(OSError, match="larger than 3 bytes"):
        host.read("/proc/cpuinfo", limit=3)
    with pytest.raises(PermissionError):
        host.run(("/proc/cpuinfo",), timeout=1)
    host.write("/proc/cpuinfo", b"x")
    host.remove("/proc/interrupts")
    assert host.read("/proc/cpuinfo") == b"x"
    assert host.names("/proc") == ("812", "815", "cpuinfo", "crypto", "self", "stat", "uptime")
    host.sleep(2.5)
    assert (host.monotonic(), host.now().second) == (2.5, 2)
