"""The parser: what is no message of ours is refused, and nothing outside is read."""

import codecs
from pathlib import Path

import pytest
from lxml import etree

from agent import messages
from agent.errors import NETCONF, NetconfError

N = f"{{{NETCONF}}}"
RPC = f'<rpc xmlns="{NETCONF}" message-id="1"><get/></rpc>'


def rpc(content: str = "<get/>", *, attributes: str = 'message-id="1"') -> bytes:
    return f'<rpc xmlns="{NETCONF}" {attributes}>{content}</rpc>'.encode()


MANY = '<!DOCTYPE rpc [<!ENTITY a0 "lol">' + "".join(
    f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 10)
)

HOSTILE = {
    "empty": b"",
    "only white space": b" \r\n\t",
    "no XML": b"hello",
    "truncated": RPC[:-1].encode(),
    "two documents": RPC.encode() * 2,
    "text after the end": RPC.encode() + b"x",
    "wrong end tag": rpc("<a></b>"),
    "undeclared prefix": rpc("<q:get/>"),
    "undeclared prefix of an attribute": rpc('<get q:a="1"/>'),
    "an attribute twice": rpc(attributes='message-id="1" message-id="2"'),
    "undefined entity": rpc("<get>&nbsp;</get>"),
    "DOCTYPE": b"<!DOCTYPE rpc>" + rpc(),
    "DOCTYPE of another name": b"<!DOCTYPE x>" + rpc(),
    "internal entity": b'<!DOCTYPE rpc [<!ENTITY x "y">]>' + rpc("<get>&x;</get>"),
    "entity in an attribute": b'<!DOCTYPE rpc [<!ENTITY x "y">]>' + rpc(attributes='message-id="&x;"'),
    "billion laughs": (MANY + "]>").encode() + rpc("<get>&a9;</get>"),
    "billion laughs in an attribute": (MANY + "]>").encode() + rpc(attributes='message-id="&a9;"'),
    "default attribute": b'<!DOCTYPE rpc [<!ATTLIST rpc a CDATA "b">]>' + rpc(),
    "UTF-16": RPC.encode("utf-16"),
    "UTF-16-LE without mark": RPC.encode("utf-16-le"),
    "UTF-16-BE without mark": RPC.encode("utf-16-be"),
    "UTF-32-LE without mark": RPC.encode("utf-32-le"),
    "UTF-32-BE without mark": RPC.encode("utf-32-be"),
    "UTF-16 declared": b'<?xml version="1.0" encoding="UTF-16"?>' + rpc(),
    "ISO-8859-1 declared": b'<?xml version="1.0" encoding="ISO-8859-1"?>' + rpc(),
    "UTF-7 declared": b'<?xml version="1.0" encoding="UTF-7"?>' + rpc(),
    "unknown encoding declared": b'<?xml version="1.0" encoding="bogus"?>' + rpc(),
    "ASCII declared and not kept": b'<?xml version="1.0" encoding="US-ASCII"?>' + rpc("<get>é</get>"),
    "EBCDIC": RPC.encode("cp037"),
    "Latin-1": rpc("<get>é</get>").decode().encode("latin-1"),
    "overlong": rpc().replace(b"<get/>", b"<get>\xc0\x80</get>"),
    "surrogate": rpc().replace(b"<get/>", b"<get>\xed\xa0\x80</get>"),
    "NUL": rpc("<get>\0</get>"),
    "NUL in an attribute": rpc(attributes='message-id="\0"'),
    "NUL at the start": b"\0" + rpc(),
    "NUL at the end": rpc() + b"\0",
    "NUL by reference": rpc("<get>&#0;</get>"),
    "control character": rpc("<get>\x01</get>"),
    "control character by reference": rpc("<get>&#x1b;</get>"),
    "surrogate by reference": rpc("<get>&#xD800;</get>"),
    "non-character": rpc("<get>\uffff</get>"),
    "10,000 levels": rpc("<a>" * 10_000 + "</a>" * 10_000),
    "1,000,000 levels, never closed": rpc("<a>" * 1_000_000),
    "11 MB of text in one node": rpc(f"<get>{'x' * 11_000_000}</get>"),
    "11 MB of text in one attribute": rpc(attributes=f'message-id="{"x" * 11_000_000}"'),
    "a long name": rpc(f"<{'x' * 100_000}/>"),
}


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_message_of_ours_is_malformed(message: bytes) -> None:
    """C017 to C019, C021."""
    with pytest.raises(NetconfError) as caught:
        messages.parse(message)
    assert (caught.value.type, caught.value.tag) == ("rpc", "malformed-message")
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE rpc [<!ENTITY x SYSTEM "{}">]>',
        '<!DOCTYPE rpc [<!ENTITY % x SYSTEM "{}"> %x;]>',
        '<!DOCTYPE rpc SYSTEM "{}">',
        '<!DOCTYPE rpc PUBLIC "-//x//y" "{}">',
    ],
)
def test_nothing_outside_a_message_is_read(declaration: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text('<!ATTLIST rpc stolen CDATA "secret">')
    content = "<get>&x;</get>" if "% x" not in declaration and "ENTITY" in declaration else "<get/>"
    before = outside.stat().st_atime_ns
    with pytest.raises(NetconfError) as caught:
        messages.parse(declaration.format(outside.as_uri()).encode() + rpc(content))
    assert "secret" not in caught.value.message
    assert outside.stat().st_atime_ns == before


def test_xinclude_is_an_element_like_any_other(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    include = f'<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="{outside.as_uri()}" parse="text"/>'
    assert b"secret" not in etree.tostring(messages.parse(rpc(include)))


@pytest.mark.parametrize(
    "message",
    [
        b'<?xml version="1.0" encoding="UTF-8"?>' + rpc(),
        b"<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n" + rpc(),
        b'\n\r\n <?xml version="1.0"?>\n' + rpc() + b"\n\n",
        codecs.BOM_UTF8 + rpc(),
        b"<!-- a --><?b c?>" + rpc() + b"<!-- d -->",
    ],
)
def test_declaration_comments_and_blank_lines_around_a_message(message: bytes) -> None:
    """C020."""
    root = messages.parse(message)
    assert (root.tag, [child.tag for child in root]) == (f"{N}rpc", [f"{N}get"])


def test_comments_and_instructions_are_as_if_not_there_and_cdata_is_text() -> None:
    root = messages.parse(rpc("<get><!-- x --><a>1<!-- y -->2<![CDATA[<&]]>3<?z?>4</a></get>"))
    assert [child.text for child in root[0]] == ["12<&34"]


def test_an_element_crowded_with_attributes_is_refused_before_they_are_looked_at() -> None:
    crowd = " ".join(f'a{number}="1"' for number in range(200))
    for message in (f"<rpc {crowd}><get/></rpc>", f"<rpc><edit-config><config {crowd}/></edit-config></rpc>"):
        with pytest.raises(NetconfError) as caught:
            messages.parse(message.encode())
        assert (caught.value.tag, caught.value.message) == (
            "malformed-message",
            "an element has more than 100 attributes",
        )
