"""Messages as XML: hello, requests and replies, errors."""

from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import errors, messages
from agent.errors import NETCONF, YANG, CloseSession, NetconfError
from agent.model.load import Model
from agent.model.schema import Module

N = f"{{{NETCONF}}}"
RPC = f'<rpc xmlns="{NETCONF}" message-id="1"><get/></rpc>'
CLIENT_HELLO = f'<hello xmlns="{NETCONF}"><capabilities>{{}}</capabilities>{{}}</hello>'
# Whatever XML 1.0 can hold, markup and white space more often.
CHARACTERS = st.one_of(
    st.sampled_from("<>&\"'\t\n\r ]x"),
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
        lambda char: char >= " " or char in "\t\n\r"
    ),
)
TEXT = st.text(CHARACTERS, max_size=20)


def rpc(content: str = "<get/>", *, attributes: str = 'message-id="1"') -> bytes:
    return f'<rpc xmlns="{NETCONF}" {attributes}>{content}</rpc>'.encode()


def module(name: str, namespace: str, prefix: str) -> Module:
    return Module(name, "", namespace, prefix, "", implemented=True, yang_version="1.1")


MODULES = {
    "t": module("t", "urn:example:t", "t"),
    "other": module("other", "urn:example:other", "t"),
    "odd": module("odd", "urn:example:odd?a=1&b='2'", "o"),
}


def error_of(error: NetconfError, echo: bytes = b"") -> etree._Element:
    """Return the only rpc-error of a reply."""
    (found,) = etree.fromstring(messages.reply(*messages.error_reply(echo, error, MODULES)))
    return found


def spaces_of(element: etree._Element) -> dict[str, str]:
    """Return the namespaces in scope by prefix; "" is the default one."""
    return {str(prefix or ""): str(uri) for prefix, uri in element.nsmap.items()}


def capability(*uris: str) -> str:
    return "".join(f"<capability>{uri}</capability>" for uri in uris)


def test_our_hello_is_plain() -> None:
    """C027, I01, C182: no prefix, one session-id, ampersands escaped once."""
    hello = messages.hello([messages.BASE_1_0, "urn:x?a=1&b=2"], 4294967295)
    assert hello == (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities>'
        b"<capability>urn:ietf:params:netconf:base:1.0</capability><capability>urn:x?a=1&amp;b=2</capability>"
        b"</capabilities><session-id>4294967295</session-id></hello>"
    )


@pytest.mark.parametrize(
    ("listed", "offered"),
    [
        (capability(messages.BASE_1_0), {messages.BASE_1_0}),
        (capability(messages.BASE_1_1), {messages.BASE_1_1}),
        (capability(f"\n  {messages.BASE_1_1}?x=y\n"), {messages.BASE_1_1}),  # C030
        (capability(messages.BASE_1_0, "urn:unheard-of", ""), {messages.BASE_1_0, "urn:unheard-of", ""}),  # C031
        (f"<!-- a -->{capability(messages.BASE_1_0)}<?b?>", {messages.BASE_1_0}),
    ],
)
def test_a_clients_capabilities(listed: str, offered: set[str]) -> None:
    assert messages.read_hello(CLIENT_HELLO.format(listed, "").encode()) == offered
    prefixed = CLIENT_HELLO.format(listed, "").replace("xmlns=", "xmlns:q=").replace("</", "</q:")
    for name in ("hello", "capabilities", "capability"):
        prefixed = prefixed.replace(f"<{name}", f"<q:{name}")
    assert messages.read_hello(prefixed.encode()) == offered


@pytest.mark.parametrize(
    "hello",
    [
        CLIENT_HELLO.format("", ""),  # C028
        CLIENT_HELLO.format(capability("urn:unheard-of"), ""),
        CLIENT_HELLO.format(capability(NETCONF), ""),  # F13
        CLIENT_HELLO.format(capability("urn:ietf:params:netconf:base:1.10"), ""),
        CLIENT_HELLO.format(capability(messages.BASE_1_0), "<session-id>7</session-id>"),  # C029
        CLIENT_HELLO.format(capability(messages.BASE_1_0), "<session-id/>"),
        CLIENT_HELLO.format(capability(messages.BASE_1_0), "").replace("netconf:base", "netconf:else"),  # C032
        CLIENT_HELLO.format(capability(messages.BASE_1_0), "").replace(f' xmlns="{NETCONF}"', ""),
        CLIENT_HELLO.format(capability(messages.BASE_1_0), "")[:-3],
        CLIENT_HELLO.format(capability(messages.BASE_1_0), "") + RPC,  # F15
        f'<hello xmlns="{NETCONF}">{capability(messages.BASE_1_0)}</hello>',
        RPC,  # F05
        "",
        "<!DOCTYPE hello>" + CLIENT_HELLO.format(capability(messages.BASE_1_0), ""),
    ],
)
def test_a_hello_that_no_session_can_begin_with(hello: str) -> None:
    with pytest.raises(CloseSession) as caught:
        messages.read_hello(hello.encode())
    assert caught.value.reason == "bad-hello"


def refused(message: bytes) -> NetconfError:
    with pytest.raises(NetconfError) as caught:
        messages.read_rpc(message)
    return caught.value


def test_a_request_without_message_id_gets_what_else_it_sent() -> None:
    """C033."""
    error = refused(rpc(attributes='a="b"'))
    assert (error.type, error.tag) == ("rpc", "missing-attribute")
    assert error.info == ((NETCONF, "bad-attribute", "message-id"), (NETCONF, "bad-element", "rpc"))
    reply = etree.fromstring(messages.reply(*messages.error_reply(messages.echo_of(error), error, {})))
    assert reply.items() == [("a", "b")]


@pytest.mark.parametrize(
    ("content", "tag", "element"),
    [
        ("", "missing-element", "operation"),
        ("  ", "missing-element", "operation"),
        ("<a/><b/>", "unknown-element", "b"),
    ],
)
def test_a_request_for_nothing_or_for_two_things(content: str, tag: str, element: str) -> None:
    """C040: answered, with the request's message-id, in both versions of the protocol."""
    error = refused(rpc(content))
    assert (error.type, error.tag, error.info) == ("rpc", tag, ((NETCONF, "bad-element", element),))
    assert messages.echo_of(error) == b' message-id="1"'


@pytest.mark.parametrize(
    "message",
    [
        RPC.replace("netconf:base", "netconf:else"),  # C037
        RPC.replace(f' xmlns="{NETCONF}"', ""),
        RPC.replace("rpc", "rpc-reply"),
        RPC.replace("rpc", "notification"),
    ],
)
def test_what_is_no_request_is_malformed(message: str) -> None:
    error = refused(message.encode())
    assert (error.type, error.tag, messages.echo_of(error)) == ("rpc", "malformed-message", b"")


def test_a_second_hello_ends_the_session() -> None:
    with pytest.raises(CloseSession):
        messages.read_rpc(CLIENT_HELLO.format(capability(messages.BASE_1_0), "").encode())


@pytest.mark.parametrize(
    "message_id", ["", "101", "urn:uuid:6d", "a&b", " 7 ", "\"quoted\" and 'quoted'", "a\nb\tc\rd", "é€😀", "x" * 4095]
)
def test_the_message_id_comes_back(message_id: str) -> None:
    """C035, F07, I03: also literally as ``message-id="101"``, on the line of the start tag."""
    quoted = quoteattr(message_id, {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
    request = messages.read_rpc(rpc(attributes=f"message-id={quoted}"))
    reply = messages.reply(request.echo, messages.OK)
    assert etree.fromstring(reply).get("message-id") == message_id
    assert (b' message-id="101"><ok/></rpc-reply>' in reply) == (message_id == "101")


NAMES = st.sampled_from(["a", "b", "message-id", "é"])
NAMESPACES = st.sampled_from([NETCONF, "urn:a&b", "urn:it's", "http://x.example/"])
PREFIXES = st.sampled_from(["p", "q", "nc", "é"])


@settings(deadline=None)
@given(
    st.dictionaries(PREFIXES, NAMESPACES),
    st.dictionaries(st.tuples(st.one_of(st.none(), PREFIXES), NAMES), TEXT),
    TEXT,
    st.sampled_from(["", "nc:"]),
)
def test_attributes_and_prefixes_come_back(
    spaces: dict[str, str], given: dict[tuple[str | None, str], str], language: str, prefix: str
) -> None:
    """C034, C036: whatever they hold, and the reply is in the base namespace with and without the prefix."""
    spaces = {**spaces, "nc": NETCONF} if prefix else spaces
    declared: dict[str | None, str] = dict(spaces.items())
    if not prefix:
        declared[None] = NETCONF
    element = etree.Element(f"{N}rpc", nsmap=declared)  # type: ignore[arg-type]
    element.set("message-id", "1")
    element.set("{http://www.w3.org/XML/1998/namespace}lang", language)
    for (name_prefix, name), value in given.items():
        if name_prefix is None or name_prefix in spaces:
            element.set(name if name_prefix is None else f"{{{spaces[name_prefix]}}}{name}", value)
    element.append(etree.Element(f"{N}get"))
    request = messages.read_rpc(etree.tostring(element, encoding="utf-8"))
    reply = etree.fromstring(messages.reply(request.echo, b"<ok/>"))
    assert sorted(reply.items()) == sorted(element.items())
    assert spaces_of(reply) == {**spaces, "": NETCONF}
    assert (reply.tag, [child.tag for child in reply]) == (f"{N}rpc-reply", [f"{N}ok"])


def test_a_qualified_message_id_is_one() -> None:
    """I07."""
    request = messages.read_rpc(f'<nc:rpc xmlns:nc="{NETCONF}" nc:message-id="0"><nc:get/></nc:rpc>'.encode())
    assert etree.fromstring(messages.reply(request.echo, b"<ok/>")).get(f"{N}message-id") == "0"


def test_no_data_and_some_data() -> None:
    assert messages.data(b"") == b"<data/>"
    assert messages.data(b"<a/>") == b"<data><a/></data>"


def test_the_children_of_an_error_are_in_the_schemas_order() -> None:
    """C045, C044: and the path's prefixes are in scope."""
    error = NetconfError(
        "application",
        "operation-failed",
        "two <leafs> & one value",
        app_tag="data-not-unique",
        path="/t:top/item[id='a/b:c']",
        info=((YANG, "non-unique", "/t:top/item[id='a/b:c']/v"), (NETCONF, "bad-element", "item")),
    )
    found = error_of(error)
    assert [(child.tag, child.text) for child in found] == [
        (f"{N}error-type", "application"),
        (f"{N}error-tag", "operation-failed"),
        (f"{N}error-severity", "error"),
        (f"{N}error-app-tag", "data-not-unique"),
        (f"{N}error-path", "/t:top/t:item[t:id='a/b:c']"),
        (f"{N}error-message", "two <leafs> & one value"),
        (f"{N}error-info", None),
    ]
    assert [(child.tag, child.text) for child in found[-1]] == [
        (f"{{{YANG}}}non-unique", "/t:top/t:item[t:id='a/b:c']/t:v"),
        (f"{N}bad-element", "item"),
    ]
    assert found.nsmap["t"] == "urn:example:t"


def test_an_error_without_more_has_no_empty_children() -> None:
    found = error_of(errors.in_use("busy"))
    assert [child.tag for child in found] == [
        f"{N}{name}" for name in ("error-type", "error-tag", "error-severity", "error-message")
    ]


def test_an_error_is_written_as_clients_look_for_it() -> None:
    """I01: a client that does not parse XML searches for the letters ``<rpc-error>``."""
    echo, content = messages.error_reply(b' message-id="1"', errors.data_missing("/t:top"), MODULES)
    assert content.startswith(b"<rpc-error><error-type>application</error-type>")
    assert echo == b' message-id="1" xmlns:t="urn:example:t"'


@pytest.mark.parametrize(
    ("path", "shown", "spaces"),
    [
        ("/t:top/other:x/y", "/t:top/t_:x/t_:y", {"t": "urn:example:t", "t_": "urn:example:other"}),
        ("/other:x/t:top[k='1']/b", "/t:x/t_:top[t_:k='1']/t_:b", {"t": "urn:example:other", "t_": "urn:example:t"}),
        ("/odd:a[.='t:x']", "/o:a[.='t:x']", {"o": "urn:example:odd?a=1&b='2'"}),
    ],
)
def test_the_prefixes_of_a_path_are_unambiguous(path: str, shown: str, spaces: dict[str, str]) -> None:
    found = error_of(errors.data_exists(path))
    assert found.findtext(f"{N}error-path") == shown
    assert spaces_of(found) == {**spaces, "": NETCONF}


@pytest.mark.parametrize(
    ("declared", "shown"),
    [("urn:example:t", "/t:top"), ("urn:example:else", "/t_:top"), (NETCONF, "/t_:top")],
)
def test_the_prefixes_of_a_path_and_those_of_the_request(declared: str, shown: str) -> None:
    """C034: the client's prefixes stay what they are, and none is declared twice."""
    request = messages.read_rpc(rpc(attributes=f'message-id="1" xmlns:t="{declared}" x=" xmlns:t_="'))
    found = error_of(errors.data_exists("/t:top"), request.echo)
    path = found.findtext(f"{N}error-path") or ""
    prefix = path.strip("/").partition(":")[0]
    assert path.replace("__", "_") == shown
    assert (found.nsmap[prefix], found.nsmap["t"]) == ("urn:example:t", declared)


def test_a_request_with_a_prefix_gets_an_error_in_the_base_namespace() -> None:
    """F01."""
    request = messages.read_rpc(f'<q:rpc xmlns:q="{NETCONF}" message-id="1"><q:lock/></q:rpc>'.encode())
    content = messages.error_reply(request.echo, errors.missing_element("target"), MODULES)
    reply = etree.fromstring(messages.reply(*content))
    assert all(str(element.tag).startswith(N) for element in reply.iter())
    assert spaces_of(reply) == {"": NETCONF, "q": NETCONF}


def test_several_errors_are_in_one_reply_in_order() -> None:
    """C043."""
    error = errors.data_exists("/t:a")
    error.others = (errors.data_exists("/t:b"), errors.in_use("c"))
    _echo, content = messages.error_reply(b"", error, MODULES)
    reply = etree.fromstring(messages.reply(*messages.error_reply(b"", error, MODULES)))
    assert content.count(b"<rpc-error>") == 3
    assert [one.findtext(f"{N}error-message") for one in reply] == ["/t:a exists already", "/t:b exists already", "c"]


def test_the_namespace_that_is_unknown_is_named_as_it_is() -> None:
    found = error_of(errors.unknown_namespace("x", "/t:top/item"))
    assert [child.text for child in found[-1]] == ["x", "/t:top/item"]


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_no_character_makes_an_error_ill_formed(message: str, value: str, app_tag: str, info: str) -> None:
    """Control characters and lone surrogates, as files and programs have them, become U+FFFD."""
    error = NetconfError(
        "application",
        "operation-failed",
        message,
        app_tag=app_tag,
        path=f"/t:top/item[id='{value}']",
        info=((NETCONF, "bad-element", info), (YANG, "non-unique", value)),
    )
    found = error_of(error)
    shown = found.findtext(f"{N}error-message") or ""
    assert len(shown) == len(message)
    assert all(new in {old, "\ufffd"} for old, new in zip(message, shown, strict=True))
    assert message.isprintable() <= (shown == message)


@settings(deadline=None)
@given(TEXT)
def test_text_comes_back_as_it_was(text: str) -> None:
    """F107: one level of escaping, carriage returns included."""
    assert error_of(errors.in_use(text)).findtext(f"{N}error-message") == text
    assert escape(text).replace("\r", "&#13;").encode() in messages.error_reply(b"", errors.in_use(text), {})[1]


def test_modules_have_distinct_prefixes_in_paths(model: Model) -> None:
    for name, served in model.modules.items():
        echo, _content = messages.error_reply(b"", errors.data_exists(f"/{name}:x"), model.modules)
        assert echo == f' xmlns:{served.prefix}="{served.namespace}"'.encode()
