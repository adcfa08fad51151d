"""edit-config's ``<config>``: parsed against the schema, then applied to a tree (RFC 6241 7.2, RFC 7950 7.x.8).

Parsing reports everything that the schema alone can say; applying is atomic, as it makes a new tree or raises.
"""

from __future__ import annotations

from agent.edit.apply import apply
from agent.edit.parse import parse
from agent.edit.request import Edit, Operation

__all__ = ["Edit", "Operation", "apply", "parse"]
