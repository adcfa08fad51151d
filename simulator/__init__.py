"""A simulated gateway: files and programs below a directory that behave as a driver's and strongSwan's do."""

from simulator import faults
from simulator.control import commands, stop
from simulator.gateway import build
from simulator.server import description, serving
from simulator.specification import (
    DeviceSpec,
    SimulatorError,
    SpecificationError,
    parse_device,
    parse_release,
    place,
)

__all__ = [
    "DeviceSpec",
    "SimulatorError",
    "SpecificationError",
    "build",
    "commands",
    "description",
    "faults",
    "parse_device",
    "parse_release",
    "place",
    "serving",
    "stop",
]
