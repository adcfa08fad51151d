"""The access control that an agent begins with: its administrators may do everything, others what RFC 8341 says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.tree import from_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.model.schema import SchemaNode
    from agent.tree import Node

GROUP: Final = "admin"


def initial(root: SchemaNode, administrators: Iterable[str]) -> Node:
    """Return a configuration with a group of administrators, which may be empty, and its rule."""
    users = sorted(administrators)
    rule = {"name": "permit-all", "module-name": "*", "access-operations": "*", "action": "permit"}
    return from_json(
        root,
        {
            "ietf-netconf-acm:nacm": {
                "groups": {"group": [{"name": GROUP, **({"user-name": users} if users else {})}]},
                "rule-list": [{"name": GROUP, "group": [GROUP], "rule": [rule]}],
            }
        },
    )
