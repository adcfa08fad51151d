"""The YANG modules: what pyang and yanglint say, the kept diagram, documents that are taken and refused."""

import importlib.metadata
import importlib.resources
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oopt_gnpy_libyang as libyang
import pytest
from pyang.context import Context
from pyang.repository import FileRepository

OURS = Path(str(importlib.resources.files("yang")))
STANDARD = next(
    Path(str(file.locate())).resolve().parent
    for file in importlib.metadata.files("pyang") or ()
    if file.name == "ietf-netconf.yang"
)
# Modules of RFCs that the agent brings along have the names and namespaces that these gave them.
NAMED_BY_RFC_5277 = {"nc-notifications", "notifications"}
FILES = sorted(OURS.glob("*.yang"))
MODEL = next(OURS.glob("hardware-acceleration@*.yang"))
TYPES = next(OURS.glob("hardware-acceleration-types@*.yang"))
TREE = OURS / "hardware-acceleration.tree"
PYANG = (sys.executable, "-m", "pyang", "-p", str(OURS), "-p", str(STANDARD))
NS = "urn:accel-agent:hardware-acceleration"
JSON = libyang.DataFormat.JSON

DATA = {"container", "leaf", "leaf-list", "list", "choice", "action", "rpc", "notification"}
DESCRIBED = DATA | {"identity", "typedef", "enum", "bit", "must"}
NUMBERS = {"uint8", "uint16", "uint32", "uint64", "int32", "decimal64", "yang:counter64", "yang:gauge64"}
# Numbers that name or order something and measure nothing.
UNITLESS = {"id", "old-id", "irq", "number", "instance-id", "numa-node", "core-affinity", "priority"}

# Every data node below /acceleration, each with a value that it may have (RFC 7951).
DOCUMENT = json.loads("""
{"qat": {
  "enabled": true, "ipsec-refresh": "rekey",
  "health": {"interval": 5, "heartbeat": true, "on-failure": "fall-back"},
  "device": [{
    "address": "0000:3d:00.0", "enabled": true, "services": "asym sym dc",
    "section": [{"name": "KERNEL", "cy-instances": 4, "dc-instances": 1, "processes": 1,
      "limit-device-access": false, "polling": "interrupt", "core-affinity": [7, 2, 5]}],
    "name": "qat_dev10", "instance-id": 1,
    "family": "hardware-acceleration-types:qat-200xx", "virtual-function": false,
    "pci": {"vendor-id": "8086", "device-id": "18ee", "class": "0b4000", "revision": "11", "numa-node": 1,
      "kernel-driver": "200xx", "physical-function": "10000:3d:1f.7", "virtual-functions-total": 16,
      "virtual-functions-enabled": 2, "description": "QuickAssist Technology"},
    "driver": {"name": "qat_200xx", "kind": "out-of-tree", "version": "0.9.3"},
    "firmware-version": "4.7.1", "oper-status": "up", "status-reason": "Nothing is wrong.",
    "accelerators": 3, "engines": 6, "active-services": "sym dc",
    "effective-config": [{"section": "GENERAL", "key": "ServicesEnabled", "value": "sym;dc"}],
    "flows": {
      "engine": [{"id": 0, "requests": "12", "responses": "11", "ras-events": "0"},
        {"id": 4, "no-response": true}],
      "requests": "12", "responses": "11", "in-flight": "1", "request-rate": "3",
      "throughput-in": "940", "throughput-out": "955", "latency": "5120",
      "utilization": [{"slice": "cph", "percent": 100}], "discontinuity-time": "2026-03-04T05:06:07.8Z"},
    "link-errors": {"correctable": "1", "nonfatal": "0", "fatal": "0", "discontinuity-time": "2026-11-30T10:00:00Z"},
    "errors": {"correctable": "2", "nonfatal": "0", "fatal": "18446744073709551615",
      "discontinuity-time": "2026-03-04T05:06:07+00:00"},
    "heartbeat": {"status": "healthy", "sent": "81", "failed": "0"},
    "interrupt": [{"irq": 77, "name": "qat10-bundle3", "total": "9", "cpu": [{"id": 255, "count": "9"}]}]}],
  "configured": true, "system-configured": true, "active": true, "fallback-active": false,
  "supported-device": [{"vendor-id": "8086", "device-id": "19e3",
    "family": "hardware-acceleration-types:c3xxx", "virtual-function": true}]},
"cpu": {"model": "Example CPU at 2.00GHz", "vendor": "GenuineIntel", "architecture": "x86_64",
  "crypto-feature": ["hardware-acceleration-types:aes-ni", "hardware-acceleration-types:avx512"],
  "aes-ni": true, "other-model": ["Example CPU at 1.00GHz"], "sockets": 2, "hypervisor": "kvm",
  "time": {"busy": "60089", "total": "7773310"},
  "note": ["They differ."]},
"kernel-crypto": {"algorithm": [{"name": "cbc(aes)", "driver": "qat_aes_cbc", "module": "intel_qat",
  "priority": -1, "type": "skcipher", "async": true, "internal": false,
  "self-test-passed": true, "reference-count": 1, "selected": false, "provider": "qat"}]},
"ipsec": {
  "service": {"name": "strongswan.service", "state": "running", "version": "5.9.8", "uptime": 61,
    "plugin": ["aes", "kernel-netlink"]},
  "security-association": [{
    "connection": "site-b", "child": "lan", "id": 14, "state": "INSTALLED", "remote-address": "2001:db8::5",
    "encryption": "AES_CBC-256", "integrity": "HMAC_SHA2_256_128", "dh-group": "MODP_2048", "esn": false,
    "bytes-in": "1500", "bytes-out": "3000", "packets-in": "1", "packets-out": "2",
    "offload": {"state": "registered-not-selected", "provider": "aes-ni", "basis": "by-algorithm",
      "algorithm": "authenc(hmac(sha256),cbc(aes))", "reason": "Priority 100 is below 4000.",
      "advice": "The CPU is faster here."}}]}}
""")

DEVICE = "<device><address>0000:01:00.0</address>{}</device>"
SECTION = DEVICE.format("<services>{}</services><section><name>{}</name>{}</section>")
ACCEPTED = [
    "<enabled>true</enabled>",
    "<health><heartbeat>true</heartbeat></health>",
    "<health><heartbeat>true</heartbeat><interval>2</interval></health>",
    "<health><heartbeat>false</heartbeat><interval>1</interval></health>",
    DEVICE.format(""),
    DEVICE.format("<services>dcc</services>"),
    DEVICE.format("<services>asym sym dc</services>"),
    DEVICE.format("<services>dc decomp</services>"),
    DEVICE.format("<section><name>SSL</name><cy-instances>6</cy-instances></section>"),
    DEVICE.format("<section><name>SSL</name><dc-instances>2</dc-instances></section>"),
    SECTION.format("dc", "KERNEL", "<cy-instances>0</cy-instances><dc-instances>1</dc-instances>"),
    SECTION.format("sym", "KERNEL_QAT", "<cy-instances>1</cy-instances><dc-instances>0</dc-instances>"),
    SECTION.format("asym", "SHIM", "<cy-instances>1</cy-instances>"),
    SECTION.format("decomp", "GENERAL2", "<dc-instances>1</dc-instances>"),
    "<device><address>10000:e1:1f.7</address></device>",
]
# What is refused: the document, the app-tag (None where a type refuses), the node, part of the message.
REFUSED = [
    (
        "<health><interval>1</interval><heartbeat>true</heartbeat></health>",
        "heartbeat-interval",
        "heartbeat",
        "1.5",
    ),
    (DEVICE.format("<services/>"), "unsupported-services", "services", "at least one service"),
    (DEVICE.format("<services>dcc sym</services>"), "unsupported-services", "services", "dcc can't be"),
    (
        SECTION.format("dc", "KERNEL", "<cy-instances>1</cy-instances>"),
        "instance-without-service",
        "section[name='KERNEL']/cy-instances",
        "asym or sym",
    ),
    (
        SECTION.format("asym sym", "SSL", "<dc-instances>1</dc-instances>"),
        "instance-without-service",
        "section[name='SSL']/dc-instances",
        "dc, dcc or decomp",
    ),
    ("<health><interval>0</interval></health>", None, "health/interval", "range"),
    (DEVICE.format("<services>cy</services>"), None, "services", "cy"),
    (SECTION.format("sym", "GENERAL", ""), None, "section/name", "GENERAL holds"),
    (SECTION.format("sym", "A]\n[B", ""), None, "section/name", "letters, digits"),
    (SECTION.format("sym", "S" * 64, ""), None, "section/name", "length"),
    ("<device><address>0000:3B:00.0</address></device>", None, "device/address", "lower case"),
    ("<device><address>01:00.0</address></device>", None, "device/address", "with its domain"),
    ("<device><address>00000:01:00.0</address></device>", None, "device/address", "with its domain"),
    ("<device><address>0000:01:20.0</address></device>", None, "device/address", "with its domain"),
    ("<device><address>0000:01:00.8</address></device>", None, "device/address", "with its domain"),
    ("<active>true</active>", None, "active", "state"),
]
# What the rpcs take, and what they don't: they bound what a client can make the machine do.
VALID = [
    ("rpc", "<plan {}/>"),
    ("rpc", "<plan {}><source>running</source></plan>"),
    ("rpc", "<benchmark {}><algorithm>aes-256-gcm</algorithm><block-size>1400</block-size></benchmark>"),
    ("rpc", "<acceleration {}><qat>" + DEVICE.format("<restart/>") + "</qat></acceleration>"),
    (
        "notif",
        "<device-state-change {}><old-status>up</old-status><reason>hung</reason></device-state-change>",
    ),
    (
        "notif",
        "<device-error {}><kind>ring-overflow</kind><severity>major</severity><advice>wait</advice></device-error>",
    ),
    ("notif", "<acceleration-change {}><active>false</active><cause>failure</cause></acceleration-change>"),
    ("notif", "<acceleration-change {}><cause>drift</cause><reason>VyOS has it</reason></acceleration-change>"),
    ("notif", "<ipsec-tunnel-change {}><connection>a</connection><change>rekeyed</change></ipsec-tunnel-change>"),
    ("notif", "<ipsec-refresh {}><method>rekey</method><outcome>partial</outcome></ipsec-refresh>"),
]
INVALID = [
    ("<plan {}><source>startup</source></plan>", "startup"),
    ("<benchmark {}><duration>31</duration></benchmark>", "range"),
    ("<benchmark {}><algorithm>aes-256-gcm -multi 64</algorithm></benchmark>", "-multi"),
    ("<benchmark {}><block-size>65537</block-size></benchmark>", "range"),
]


@pytest.fixture(scope="module")
def statements() -> list[Any]:
    """Return pyang's statements of the model and its types, all levels."""
    context = Context(FileRepository(f"{OURS}:{STANDARD}", use_env=False))
    modules = [context.add_module(file.name, file.read_text()) for file in (TYPES, MODEL)]
    context.validate()
    assert context.errors == []
    return [statement for module in modules for statement in _walk(module)]


@pytest.fixture(scope="module")
def schema() -> Any:
    libyang.set_log_options(libyang.LogOptions.Store)
    options = libyang.ContextOptions.NoYangLibrary | libyang.ContextOptions.DisableSearchCwd
    context = libyang.Context(f"{OURS}:{STANDARD}", options)
    for file in (TYPES, MODEL):
        context.parse_module(file.read_text(), libyang.SchemaFormat.YANG)
    return context


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_pyang_has_no_complaint(file: Path) -> None:
    lint: tuple[str, ...] = ("--lint", "--lint-namespace-prefix=urn:accel-agent:", "--lint-ensure-hyphenated-names")
    if file.name.startswith("ietf-"):
        lint = ("--lint", "--lint-ensure-hyphenated-names")
    elif file.stem.partition("@")[0] in NAMED_BY_RFC_5277:
        lint = ()
    assert _run(*PYANG, "--strict", "-Werror", *lint, str(file)) == ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_statements_are_in_canonical_order_and_lines_short(file: Path) -> None:
    assert _run(*PYANG, "--canonical", "--max-line-length=72", str(file)) == ""


@pytest.mark.needs("yanglint")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_yanglint_has_no_complaint(file: Path) -> None:
    assert _run("yanglint", "-p", str(OURS), "-p", str(STANDARD), str(file)) == ""


def test_kept_tree_is_the_generated_one() -> None:
    update = f"look at the change, then: pyang -f tree -p {OURS} -p {STANDARD} -o {TREE} {MODEL}"
    assert _run(*PYANG, "-f", "tree", str(MODEL)) == TREE.read_text(), update


def test_everything_is_described(statements: list[Any]) -> None:
    wanted = [statement for statement in statements if statement.keyword in DESCRIBED]
    assert len(wanted) > 250
    assert [_place(statement) for statement in wanted if statement.search_one("description") is None] == []


def test_every_must_says_what_is_wrong_and_by_which_tag(statements: list[Any]) -> None:
    musts = [statement for statement in statements if statement.keyword == "must"]
    assert len(musts) == 5
    for must in musts:
        message, tag = must.search_one("error-message"), must.search_one("error-app-tag")
        assert message is not None, _place(must)
        assert "\n" not in message.arg, _place(must)
        assert tag is not None, _place(must)


def test_every_quantity_has_units(statements: list[Any]) -> None:
    numbers = [
        statement
        for statement in statements
        if statement.keyword in {"leaf", "leaf-list"} and statement.search_one("type").arg in NUMBERS
    ]
    assert {leaf.arg for leaf in numbers if leaf.search_one("units") is None} == UNITLESS


def test_access_control_defaults(statements: list[Any]) -> None:
    marked = {
        _place(statement.parent): statement.keyword[1]
        for statement in statements
        if isinstance(statement.keyword, tuple) and statement.keyword[0] == "ietf-netconf-acm"
    }
    assert marked == {
        "/acceleration/qat/device/section": "default-deny-write",
        "/acceleration/qat/device/flows": "default-deny-all",
        "/acceleration/qat/device/interrupt": "default-deny-all",
        "/acceleration/qat/device/restart": "default-deny-all",
        "/acceleration/cpu/time": "default-deny-all",
        "/acceleration/ipsec/security-association": "default-deny-all",
        "/ipsec-tunnel-change": "default-deny-all",
        "/benchmark": "default-deny-all",
    }


def test_device_families_are_the_drivers_words(statements: list[Any]) -> None:
    families = {
        statement.parent.arg
        for statement in statements
        if statement.keyword == "base" and statement.arg == "device-family"
    }
    words = {family.removeprefix("qat-") for family in families}
    assert words == {"dh895xcc", "c6xx", "c3xxx", "200xx", "d15xx", "c4xxx", "4xxx", "420xx", "6xxx"}


def test_document_has_every_data_node_and_is_taken(schema: Any, statements: list[Any]) -> None:
    nodes = {
        _place(statement)
        for statement in statements
        if statement.keyword in {"leaf", "leaf-list"} and _place(statement).startswith("/acceleration/")
    }
    assert set(_leaf_paths(DOCUMENT, "/acceleration")) == nodes
    text = json.dumps({"hardware-acceleration:acceleration": DOCUMENT})
    tree = schema.parse_data(text, JSON, libyang.ParseOptions.Strict, libyang.ValidationOptions.Present)
    assert _printed(tree) == DOCUMENT


@pytest.mark.parametrize("body", ACCEPTED)
def test_configuration_is_accepted(schema: Any, body: str) -> None:
    assert _configure(schema, body) is not None


@pytest.mark.parametrize(("body", "app_tag", "path", "message"), REFUSED)
def test_configuration_is_refused(schema: Any, body: str, app_tag: str | None, path: str, message: str) -> None:
    schema.clean_all_errors()
    with pytest.raises(libyang.Error):
        _configure(schema, body)
    first = schema.errors()[0]
    assert first.app_tag == app_tag
    assert message in first.message
    assert first.data_path.endswith(f"/{path}")


def test_services_are_printed_in_one_order(schema: Any) -> None:
    tree = _configure(schema, DEVICE.format("<services>dc sym asym</services>"))
    assert _printed(tree)["qat"]["device"][0]["services"] == "asym sym dc"


def test_defaults(schema: Any) -> None:
    tree = _configure(schema, DEVICE.format(""))
    assert _printed(tree, libyang.PrintFlags.WithDefaultsAll)["qat"] == {
        "enabled": False,
        "ipsec-refresh": "restart",
        "health": {"interval": 10, "heartbeat": False, "on-failure": "notify"},
        "device": [{"address": "0000:01:00.0", "enabled": True}],
    }


@pytest.mark.needs("yanglint")
@pytest.mark.parametrize(("kind", "text"), VALID)
def test_requests_and_notifications_are_valid(tmp_path: Path, kind: str, text: str) -> None:
    done = _yanglint(tmp_path, kind, text)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("yanglint")
@pytest.mark.parametrize(("text", "message"), INVALID)
def test_requests_out_of_bounds_are_refused(tmp_path: Path, text: str, message: str) -> None:
    done = _yanglint(tmp_path, "rpc", text)
    assert done.returncode != 0
    assert message in done.stderr


def _walk(statement: Any) -> Iterator[Any]:
    yield statement
    for child in statement.substmts:
        yield from _walk(child)


def _place(statement: Any) -> str:
    if statement.parent is None:
        return ""
    above = _place(statement.parent)
    return above if statement.keyword in {"input", "output"} else f"{above}/{statement.arg}"


def _leaf_paths(value: Any, path: str) -> Iterator[str]:
    for name, child in value.items():
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, dict):
                yield from _leaf_paths(part, f"{path}/{name}")
            else:
                yield f"{path}/{name}"


def _configure(schema: Any, body: str) -> Any:
    text = f'<acceleration xmlns="{NS}"><qat>{body}</qat></acceleration>'
    options = libyang.ParseOptions.Strict | libyang.ParseOptions.NoState
    return schema.parse_data(text, libyang.DataFormat.XML, options, libyang.ValidationOptions.NoState)


def _printed(tree: Any, defaults: Any = libyang.PrintFlags.WithDefaultsExplicit) -> Any:
    text = tree.print(JSON, libyang.PrintFlags.WithSiblings | defaults)
    return json.loads(text)["hardware-acceleration:acceleration"]


def _run(*argv: str) -> str:
    """Return all that a program printed; a warning does not show in the exit status."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


def _yanglint(folder: Path, kind: str, text: str) -> subprocess.CompletedProcess[str]:
    file = folder / "message.xml"
    file.write_text(text.format(f'xmlns="{NS}"'))
    argv = ("yanglint", "-p", str(OURS), "-p", str(STANDARD), "-t", kind, str(MODEL), str(file))
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
