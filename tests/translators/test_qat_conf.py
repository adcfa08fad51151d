"""The driver's configuration file: read as the driver reads it, changed without touching anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.base import TranslatorError
from translators.qat import conf
from translators.qat.conf import Setting, quoted, section_values, value_of, with_settings
from translators.qat.ids import BY_DEVICE_ID
from translators.qat.model import DeviceConfig, SectionConfig
from translators.qat.render import check_services, rendered
from translators.qat.services import bits_text, combinations, services_in, words_for

FILE = b"""\
# \xae operator's own
[GENERAL]
  # not read: = by anybody
ServicesEnabled = cy;dc   # both
ConfigVersion=2
Odd key = a b c

[KERNEL]   # for IPsec
NumberCyInstances = 1
Cy0Name = "IPSec0"

[SSL]
NumProcesses = 1
[KERNEL]
NumberDcInstances = 0
NumberCyInstances = 99
"""


def test_values_are_what_the_driver_reads() -> None:
    assert value_of(FILE, "GENERAL", "ServicesEnabled") == "cy;dc"
    assert value_of(FILE, "GENERAL", "ConfigVersion") == "2"
    assert value_of(FILE, "GENERAL", "Oddkey") == "abc"
    assert value_of(FILE, "SSL", "NumberCyInstances") is None
    # Sections of one name are one, the first value counts, quotation marks go.
    assert section_values(FILE, "KERNEL") == {"NumberCyInstances": "1", "Cy0Name": "IPSec0", "NumberDcInstances": "0"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", None),
        (b"k = 1\n", None),
        (b"[S]\n#k = 1\n", None),
        (b"[S]\n k = 1\n", "1"),
        (b"[S]\nk = \nk = 2\n", "2"),
        (b"[S]\nk = 1", "1"),
        (b"[S]\r\nk = 1\r\n", "1"),
        (b" [S]\nk = 1\n", None),
        (b"[ S ] x\nk = 1\n", "1"),
        (b"[S\nk = 1\n", None),
        (b"[S]\n\xff\xfe\x85\nk = 1\n", "1"),
        (b"[S]\nk = \0\n", "\0"),
        (b"[S]\nkk = 1\n", None),
    ],
)
def test_odd_files_are_read_as_the_driver_reads_them(data: bytes, expected: str | None) -> None:
    assert value_of(data, "S", "k") == expected


def test_a_value_is_changed_in_its_place() -> None:
    changed = with_settings(
        FILE, [Setting("GENERAL", "ServicesEnabled", "sym"), Setting("GENERAL", "ConfigVersion", "3")]
    )
    assert changed == FILE.replace(b"cy;dc   # both", b"sym   # both").replace(b"Version=2", b"Version=3")


def test_of_a_key_that_comes_twice_the_one_that_counts_is_changed() -> None:
    changed = with_settings(FILE, [Setting("KERNEL", "NumberCyInstances", "4")])
    assert changed == FILE.replace(b"NumberCyInstances = 1\n", b"NumberCyInstances = 4\n")


def test_new_keys_come_after_the_last_of_their_section() -> None:
    changed = with_settings(FILE, [Setting("GENERAL", "New", "1"), Setting("GENERAL", "Newer", "2")])
    assert changed == FILE.replace(b"Odd key = a b c\n", b"Odd key = a b c\nNew = 1\nNewer = 2\n")


def test_a_new_section_comes_last() -> None:
    assert with_settings(FILE, [Setting("SHIM", "k", quoted("v"))]) == FILE + b'\n[SHIM]\nk = "v"\n'
    assert with_settings(b"", [Setting("S", "k", "1")]) == b"[S]\nk = 1\n"
    assert with_settings(b"[A]\n\n", [Setting("S", "k", "1")]) == b"[A]\n\n[S]\nk = 1\n"
    assert with_settings(b"[S]", [Setting("S", "k", "1")]) == b"[S]\nk = 1\n"


def test_line_ends_are_the_files_own() -> None:
    data = b"[S]\r\nk = 1\r\n"
    assert with_settings(data, [Setting("S", "k", "2"), Setting("S", "l", "3")]) == b"[S]\r\nk = 2\r\nl = 3\r\n"


@pytest.mark.parametrize("text", ["", 'a"b', "a\nb", "a#b", "a b", "ä", "x" * 64, "[S]", "a=b"])
def test_what_the_driver_would_read_otherwise_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="can't be written"):
        quoted(text)
    for setting in (Setting(text, "k", "1"), Setting("S", text, "1"), Setting("S", "k", text)):
        with pytest.raises(ValueError, match="can't be written"):
            with_settings(FILE, [setting])


words = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,5}", fullmatch=True)
lines = st.one_of(
    words.map(lambda word: f"[{word}]".encode()),
    st.tuples(words, words).map(lambda pair: f"{pair[0]} = {pair[1]}".encode()),
    st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")),
    st.sampled_from([b"", b"#", b"[", b"[]", b"=", b"k=", b" [A]", b"[A] #", b"\r"]),
)
files = st.tuples(st.lists(lines, max_size=15), st.sampled_from([b"\n", b"\r\n"]), st.booleans()).map(
    lambda parts: parts[1].join(parts[0]) + (parts[1] if parts[2] else b"")
)
settings = st.lists(st.builds(Setting, words, words, words | words.map(quoted)), max_size=6)


@given(files, settings)
def test_settings_are_in_the_file_and_setting_them_again_changes_nothing(data: bytes, wanted: list[Setting]) -> None:
    changed = with_settings(data, wanted)
    final = {(setting.section, setting.key): setting.value.strip('"') for setting in wanted}
    for (section, key), value in final.items():
        assert value_of(changed, section, key) == value
    assert with_settings(changed, wanted) == changed


@given(files, settings)
def test_everything_else_stays(data: bytes, wanted: list[Setting]) -> None:
    changed = with_settings(data, wanted)
    sections = {
        line[1:].split(b"]")[0].replace(b" ", b"").decode("latin-1") for line in data.split(b"\n") if b"]" in line
    }
    final = {(setting.section, setting.key) for setting in wanted}
    for section in sections:
        before = section_values(data, section)
        after = section_values(changed, section)
        for key, value in before.items():
            if (section, key) not in final:
                assert after[key] == value
    if not wanted:
        assert changed == data


# ── services ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("bits", "first", "second"),
    [
        ("asym sym", "cy", "asym;sym"),
        ("asym sym dc", "cy;dc", None),
        ("asym dc", "asym;dc", "asym;dc"),
        ("sym dc", "sym;dc", "sym;dc"),
        ("asym", "asym", "asym"),
        ("sym", "sym", "sym"),
        ("dc", "dc", "dc"),
        ("dcc", None, None),
        ("decomp", None, None),
        ("sym dcc", None, None),
        ("", None, None),
    ],
)
def test_words_of_the_two_packages(bits: str, first: str | None, second: str | None) -> None:
    services = frozenset(bits.split())
    assert words_for(services, BY_DEVICE_ID["19e2"]) == first
    assert words_for(services, BY_DEVICE_ID["4942"]) == second
    for text in filter(None, (first, second)):
        assert services_in(text) == services
        assert bits_text(services) == bits


def test_words_in_any_order_and_unknown_words() -> None:
    assert services_in("dc; cy") == frozenset({"asym", "sym", "dc"})
    assert services_in("dcc") == frozenset({"dcc"})
    assert services_in("inline") is None
    assert services_in("") is None


def test_services_that_a_device_does_not_take_are_refused() -> None:
    config = DeviceConfig("0000:6b:00.0", services=frozenset({"asym", "sym", "dc"}))
    check_services(config, BY_DEVICE_ID["19e2"])
    with pytest.raises(TranslatorError) as caught:
        check_services(config, BY_DEVICE_ID["4940"])
    error = caught.value
    assert error.app_tag == "unsupported-services"
    assert error.path == "/hardware-acceleration:acceleration/qat/device[address='0000:6b:00.0']/services"
    assert "does not take the services 'asym sym dc'" in error.message
    assert combinations(BY_DEVICE_ID["4940"]) in error.message


# ── rendering ────────────────────────────────────────────────────────────────────────────────────


def config(services: str | None = None, *sections: SectionConfig) -> DeviceConfig:
    return DeviceConfig(
        "0000:01:00.0", services=None if services is None else frozenset(services.split()), sections=sections
    )


def render(data: bytes, wanted: DeviceConfig) -> bytes:
    once = rendered(data, wanted, BY_DEVICE_ID["19e2"])
    assert rendered(once, wanted, BY_DEVICE_ID["19e2"]) == once
    return once


def test_services_go_into_the_general_section() -> None:
    assert render(FILE, config("sym dc")) == FILE.replace(b"cy;dc   #", b"sym;dc   #")
    assert (
        render(b"[GENERAL]\nServicesEnabled = dc;cy\n", config("asym sym dc"))
        == b"[GENERAL]\nServicesEnabled = dc;cy\n"
    )
    assert render(b"[GENERAL]\n", config("sym")) == b"[GENERAL]\nServicesEnabled = sym\n"


def test_nothing_configured_changes_nothing() -> None:
    assert render(FILE, config()) == FILE
    assert render(FILE, config(None, SectionConfig("SSL"))) == FILE


def test_a_new_section_gets_a_block_for_each_instance() -> None:
    section = SectionConfig("SHIM", cy_instances=2, dc_instances=1, limit_device_access=True, core_affinity=(4, 6))
    assert render(b"[GENERAL]\n", config(None, section)) == (
        b"[GENERAL]\n\n[SHIM]\n"
        b"NumProcesses = 1\nLimitDevAccess = 1\n"
        b'NumberCyInstances = 2\nCy0Name = "SHIM0"\nCy0IsPolled = 1\nCy0CoreAffinity = 4\n'
        b'Cy1Name = "SHIM1"\nCy1IsPolled = 1\nCy1CoreAffinity = 6\n'
        b'NumberDcInstances = 1\nDc0Name = "Dc0"\nDc0IsPolled = 1\nDc0CoreAffinity = 4\n'
    )


def test_more_instances_leave_those_that_are_there_as_they_are() -> None:
    data = b'[KERNEL]\nNumberCyInstances = 1\nCy0Name = "Mine"\nCy0CoreAffinity = 9\n'
    assert render(data, config(None, SectionConfig("KERNEL", cy_instances=2))) == (
        b'[KERNEL]\nNumberCyInstances = 2\nCy0Name = "Mine"\nCy0CoreAffinity = 9\n'
        b'Cy0IsPolled = 0\nCy1Name = "IPSec1"\nCy1IsPolled = 0\nCy1CoreAffinity = 1\n'
    )


def test_polling_and_affinity_reach_the_instances_of_the_file() -> None:
    data = b"[SSL]\nNumProcesses = 3\nNumberCyInstances = 2\nCy0IsPolled = 1\nNumberDcInstances = x\n"
    wanted = config(None, SectionConfig("SSL", processes=8, polling="epoll", core_affinity=(5,)))
    assert render(data, wanted) == (
        b"[SSL]\nNumProcesses = 8\nNumberCyInstances = 2\nCy0IsPolled = 2\nNumberDcInstances = x\n"
        b"Cy0CoreAffinity = 5\nCy1IsPolled = 2\nCy1CoreAffinity = 5\n"
    )


def test_more_instances_than_any_device_has_are_refused() -> None:
    with pytest.raises(TranslatorError, match="65535 instances") as caught:
        render(FILE, config(None, SectionConfig("SSL", cy_instances=65535)))
    assert caught.value.path.endswith("/device[address='0000:01:00.0']/section[name='SSL']")


def test_a_section_name_that_can_t_be_written_is_refused() -> None:
    with pytest.raises(TranslatorError, match="can't be written"):
        render(FILE, config(None, SectionConfig("S]\nX", processes=1)))


def test_a_file_may_be_empty() -> None:
    assert render(b"", config("dc")) == b"[GENERAL]\nServicesEnabled = dc\n"
    assert conf.section_values(b"", "GENERAL") == {}
