"""The shipped unit of systemd: its sandbox leaves open what the agent is promised to do."""

from configparser import ConfigParser
from pathlib import Path

UNIT = Path(__file__).parents[1] / "packaging/accel-agent.service"


def test_the_kernels_log_can_be_read() -> None:
    # systemd.exec(5): ProtectKernelLogs= makes /dev/kmsg inaccessible and takes CAP_SYSLOG away, which reading it
    # demands where kernel.dmesg_restrict is 1; PrivateDevices= has no /dev/kmsg.
    unit = ConfigParser(interpolation=None, strict=False)  # a key may be there twice, which adds to it
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    service = unit["Service"]

    assert not {"ProtectKernelLogs", "PrivateDevices", "DevicePolicy", "User"} & set(service)
    taken = service["CapabilityBoundingSet"]
    assert taken.startswith("~")
    assert "CAP_SYSLOG" not in taken
