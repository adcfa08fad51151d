"""netconf-client as a subscriber: one session listens for changes of the configuration, another one makes one."""

from __future__ import annotations

import steps
from netconf_client.connect import connect_ssh
from netconf_client.ncclient import Manager


def main() -> None:
    gateway = steps.gateway()
    listener = _connect(gateway)
    listener.create_subscription(stream="NETCONF", filter=f'<filter type="subtree">{steps.CHANGES}</filter>')
    steps.say("subscribed")
    writer = _connect(gateway)
    writer.edit_config(f"<config>{steps.SLOWER}</config>", target="candidate")
    writer.commit()
    steps.say("committed", session_id=int(writer.session_id))
    notified = listener.take_notification(timeout=30)
    steps.say("notified", text=notified.notification_xml.decode())
    steps.say("asked", text=listener.get_config("running", filter=("subtree", steps.INTERVAL)).data_xml.decode())


def _connect(gateway: steps.Gateway) -> Manager:
    session = connect_ssh(
        host=gateway.host,
        port=gateway.port,
        username=gateway.user,
        password=gateway.password,
        hostkey_b64=gateway.hostkeys["ed25519"],
    )
    return Manager(session, timeout=30)


main()
