"""Users of this machine: their names, and their groups, which RFC 8341 calls those that the transport layer reports."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd
from typing import Final

# A directory service may have to be asked.
_DEADLINE: Final = 5.0


def user_of(uid: int) -> str:
    """Return a user's name; the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


async def groups_of(username: str) -> tuple[str, ...]:
    """Return the names of a user's groups; none for one who is no user of this machine.

    Raises TimeoutError where the machine does not say: without the groups a rule that denies could be passed over.
    """
    return await asyncio.wait_for(asyncio.to_thread(_groups_of, username), _DEADLINE)


def _groups_of(username: str) -> tuple[str, ...]:
    try:
        user = pwd.getpwnam(username)
    except KeyError:
        return ()
    names = set()
    for number in os.getgrouplist(user.pw_name, user.pw_gid):
        with contextlib.suppress(KeyError):  # a number may have no name
            names.add(grp.getgrgid(number).gr_name)
    return tuple(sorted(names))
