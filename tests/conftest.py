"""What a test needs of the machine, and which agent is tested.

A marker (``root``, ``network``, ``strongswan``, ``needs("sshd", "yanglint")``) or, inside a test, the fixture
``require`` names it. What is missing skips the test, or fails it where everything must be there: with
``ACCEL_AGENT_TEST_ALL=1``, as in .ci/run.
"""

import os
import shutil
import signal
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import agent

# "root" is uid 0, all other names are programs.
MARKERS = {"root": ("root",), "network": ("root", "ip"), "strongswan": ("root", "ipsec", "swanctl")}
# Ordinary users often lack the sbin folders.
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])

Require = Callable[..., None]

# How long a test takes says how busy the machine is.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Refuse to test a checkout where the installed wheel is meant; let the programs under test be interrupted."""
    # A shell's background job ignores Ctrl-C, and so would all that it starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    installed = Path(sysconfig.get_path("purelib")).resolve()
    if os.environ.get("ACCEL_AGENT_TEST_INSTALLED") == "1" and installed not in _agent_folder().parents:
        pytest.exit(f"{_agent_folder()} would be tested, not the wheel in {installed}", returncode=4)


def pytest_report_header() -> str:
    """Say which agent is tested."""
    return f"agent: {agent.__version__} from {_agent_folder()}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look for what the test's markers name."""
    for marker in item.iter_markers():
        _require(*(marker.args if marker.name == "needs" else MARKERS.get(marker.name, ())))


@pytest.fixture
def require() -> Require:
    """Return the function that skips (or fails) the test unless everything named is there."""
    return _require


def _require(*names: str) -> None:
    missing = [name for name in names if not _is_there(name)]
    if missing and os.environ.get("ACCEL_AGENT_TEST_ALL") == "1":
        pytest.fail(f"missing here: {', '.join(missing)}", pytrace=False)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def _is_there(name: str) -> bool:
    return os.geteuid() == 0 if name == "root" else shutil.which(name, path=SEARCH_PATH) is not None


def _agent_folder() -> Path:
    return Path(agent.__path__[0]).resolve()
