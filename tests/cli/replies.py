"""What a command prints for the content of a reply."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lxml import etree

from agent.cli import (
    output,
    reply,
)

if TYPE_CHECKING:
    from types import ModuleType

    import pytest

HA = "urn:accel-agent:hardware-acceleration"
HAT = "urn:accel-agent:hardware-acceleration-types"


def shown(capsys: pytest.CaptureFixture[str], module: ModuleType, content: str, **options: object) -> list[str]:
    """Return what a module prints into a pipe for the content of a reply."""
    data = etree.fromstring(f'<data><acceleration xmlns="{HA}" xmlns:hat="{HAT}">{content}</acceleration></data>')
    output.show(module.render(reply.acceleration(reply.data(data)), argparse.Namespace(**options)))
    return capsys.readouterr().out.splitlines()
