"""ncclient as a subscriber: one session listens for changes of the configuration, another one makes one."""

from __future__ import annotations

from typing import Any

import steps
from ncclient import manager

CONFIG = f'<config xmlns="{steps.NETCONF}">{{}}</config>'


def main() -> None:
    gateway = steps.gateway()
    listener = _connect(gateway)
    listener.create_subscription(filter=("subtree", steps.CHANGES), stream_name="NETCONF")
    steps.say("subscribed")
    writer = _connect(gateway)
    writer.edit_config(CONFIG.format(steps.SLOWER), target="candidate")
    writer.commit()
    steps.say("committed", session_id=int(writer.session_id))
    notified = listener.take_notification(timeout=30)
    steps.say("notified", text=notified.notification_xml)
    steps.say("asked", text=listener.get_config("running", filter=("subtree", steps.INTERVAL)).xml)


def _connect(gateway: steps.Gateway) -> Any:
    return manager.connect(
        host=gateway.host,
        port=gateway.port,
        username=gateway.user,
        password=gateway.password,
        hostkey_b64=gateway.hostkeys["ed25519"],
        allow_agent=False,
        look_for_keys=False,
    )


main()
