"""A simulated gateway: files and programs below a directory that behave as a driver's and strongSwan's do."""

from simulator import faults
from simulator.control import commands, stop
from simulator.gateway import build
from simulator.server import description, serving
from simulator.specification import DeviceSpec, SimulatorError, parse_device, place

__all__ = [
    "DeviceSpec",
    "SimulatorError",
    "build",
    "commands",
    "description",
    "faults",
    "parse_device",
    "place",
    "serving",
    "stop",
]
