"""The NETCONF agent: RFC 6241 by protocol layer, each module importing only from those below it."""

from importlib.metadata import version

__version__ = version("accel-agent")
