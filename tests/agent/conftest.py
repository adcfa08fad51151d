"""The models that the tests of the protocol work on."""

from pathlib import Path

import pytest

from agent.model.load import Model, load

MODULES = Path(__file__).parent / "modules"


@pytest.fixture(scope="session")
def model() -> Model:
    """Return the served modules and t, a little of everything."""
    return load([MODULES / "t.yang"])


@pytest.fixture(scope="session")
def wide() -> Model:
    """Return the served modules, t, and u, which has every type and constraint and augments t."""
    return load([MODULES / "t.yang", MODULES / "u.yang"])
