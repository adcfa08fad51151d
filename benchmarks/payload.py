"""What the clients send: requests in chunked framing (RFC 6242 section 4.2), each ready to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

BASE: Final = "urn:ietf:params:xml:ns:netconf:base:1.0"
ACCELERATION: Final = "urn:accel-agent:hardware-acceleration"
SUBSCRIBED: Final = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
PUSH: Final = "urn:ietf:params:xml:ns:yang:ietf-yang-push"
DATASTORES: Final = "urn:ietf:params:xml:ns:yang:ietf-datastores"
ITEMS: Final = "urn:example:t"  # the module t of the tests

END_OF_HELLO: Final = b"]]>]]>"
END_OF_MESSAGE: Final = b"\n##\n"
HELLO: Final = (
    f'<hello xmlns="{BASE}"><capabilities><capability>urn:ietf:params:netconf:base:1.1</capability></capabilities>'
    "</hello>]]>]]>"
).encode()


def framed(message: bytes) -> bytes:
    """Return a message as one chunk."""
    return b"\n#%d\n%b\n##\n" % (len(message), message)


def content(reply: bytes) -> bytes:
    """Return the message in the chunks of a framed reply."""
    message, rest = b"", reply
    while rest and not rest.startswith(END_OF_MESSAGE):
        length, _newline, rest = rest.removeprefix(b"\n#").partition(b"\n")
        message, rest = message + rest[: int(length)], rest[int(length) :]
    return message


def rpc(operation: str) -> bytes:
    """Return a request."""
    return framed(f'<rpc xmlns="{BASE}" message-id="1">{operation}</rpc>'.encode())


def commit() -> bytes:
    """Return the request that makes candidate running."""
    return rpc("<commit/>")


def health(interval: int) -> bytes:
    """Return an edit of one leaf of the acceleration subtree, which changes nothing on the machine."""
    return _edit(_acceleration(f"<health><interval>{interval}</interval></health>"))


def enable() -> bytes:
    """Return the edit that switches acceleration on."""
    return _edit(_acceleration("<enabled>true</enabled>"))


def get_health() -> bytes:
    """Return a get-config of one container by subtree filter."""
    source = "<source><running/></source>"
    return rpc(f"<get-config>{source}{_filter(_acceleration('<health/>'))}</get-config>")


def get_device(address: str, container: str) -> bytes:
    """Return a get of one container of one device by subtree filter."""
    device = f"<device><address>{address}</address><{container}/></device>"
    return rpc(f"<get>{_filter(_acceleration(device))}</get>")


def get_devices(container: str) -> bytes:
    """Return a get of one container of all devices by subtree filter."""
    return rpc(f"<get>{_filter(_acceleration(f'<device><{container}/></device>'))}</get>")


def push_device(address: str, container: str, period: int) -> bytes:
    """Return a subscription to one container of one device, every so many centiseconds."""
    device = f"<device><address>{address}</address><{container}/></device>"
    return rpc(
        f'<establish-subscription xmlns="{SUBSCRIBED}" xmlns:p="{PUSH}" xmlns:ds="{DATASTORES}">'
        "<p:datastore>ds:operational</p:datastore>"
        f"<p:datastore-subtree-filter>{_acceleration(device)}</p:datastore-subtree-filter>"
        f"<p:periodic><p:period>{period}</p:period></p:periodic></establish-subscription>"
    )


def get_items() -> bytes:
    """Return a get of all entries."""
    return rpc(f"<get>{_filter(_items('<item/>'))}</get>")


def fill(ids: Iterable[int]) -> bytes:
    """Return an edit that makes entries."""
    return _edit(_items("".join(f"<item><id>{n}</id><w>entry {n}</w><need>{n}</need></item>" for n in ids)))


def change(entry: int, value: int) -> bytes:
    """Return an edit of one leaf of one entry."""
    return _edit(_items(f"<item><id>{entry}</id><w>{value}</w></item>"))


def empty() -> bytes:
    """Return an edit that removes all entries."""
    return _edit(f'<top xmlns="{ITEMS}" xmlns:nc="{BASE}" nc:operation="remove"/>')


def _edit(config: str) -> bytes:
    return rpc(f"<edit-config><target><candidate/></target><config>{config}</config></edit-config>")


def _filter(content_: str) -> str:
    return f'<filter type="subtree">{content_}</filter>'


def _acceleration(inner: str) -> str:
    return f'<acceleration xmlns="{ACCELERATION}"><qat>{inner}</qat></acceleration>'


def _items(inner: str) -> str:
    return f'<top xmlns="{ITEMS}">{inner}</top>'
