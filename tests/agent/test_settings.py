"""The settings file: what is taken, what is refused, and that the shipped example says what the code does."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.settings import (
    Address,
    Control,
    Limits,
    Qat,
    Settings,
    SettingsError,
    StartError,
    Vyos,
    load,
    parse_address,
)
from agent.toml_lines import key_lines
from translators.registry import TranslatorSettings, translators

EXAMPLE = Path(__file__).parents[2] / "packaging" / "agent.toml"


def write(folder: Path, text: str) -> Path:
    path = folder / "agent.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    path = write(folder, text)
    with pytest.raises(SettingsError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path), "FILE")


def test_no_file_gives_the_defaults_of_the_command_line_contract() -> None:
    settings = load(None)
    assert settings == Settings()
    assert [str(address) for address in settings.listen.ssh] == ["0.0.0.0:830", "[::]:830"]
    assert settings.listen.unix == Path("/run/accel-agent/netconf.sock")
    assert settings.ssh.host_keys == (Path("/var/lib/accel-agent/ssh_host_ed25519_key"),)
    assert settings.ssh.authorized_keys == "/etc/accel-agent/authorized_keys/%u"
    assert settings.limits.sessions == 256
    assert settings.limits.sessions_per_user == 64
    assert settings.limits.message_size == 16777216
    assert settings.limits.hello_timeout == 10
    assert settings.limits.idle_timeout == 0
    assert settings.datastore.persistence == "running"
    assert settings.ipsec.control == Control("auto")
    assert settings.ipsec.vici == "/run/charon.vici"
    assert settings.ipsec.return_timeout == 15


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = load(
        write(
            tmp_path,
            """
            [listen]
            ssh = ["192.0.2.7:2022", "[2001:db8::7]:0", "gateway.example:830"]
            unix = "/tmp/agent.sock"
            unix-mode = "0640"
            unix-group = "netconf"
            tls = []
            call-home = []
            [ssh]
            host-keys = ["/keys/ed25519", "/keys/rsa"]
            authorized-keys = "/keys/%u/authorized"
            password-authentication = "off"
            keepalive = 7
            [limits]
            sessions = 3
            sessions-per-user = 2
            sessions-per-connection = 5
            message-size = "9 KiB"
            hello-timeout = 4
            idle-timeout = 600
            login-timeout = 11
            pending-connections = 9
            [datastore]
            persistence = "running"
            [qat]
            driver = "in-tree"
            kernel-log = "/var/log/kern.log"
            [ipsec]
            control = "program:/opt/vpn ctl"
            vici = "/run/ike/charon.vici"
            return-timeout = 40
            [vyos]
            url = "https://[2001:db8::7]:8443/"
            key-file = "/keys/vyos"
            fingerprint = "sha256 Fingerprint=AB:cd0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"
            timeout = 9
            save = true
            """,
        )
    )
    assert settings.listen.ssh == (
        Address("192.0.2.7", 2022),
        Address("2001:db8::7", 0),
        Address("gateway.example", 830),
    )
    assert (settings.listen.unix, settings.listen.unix_mode, settings.listen.unix_group) == (
        Path("/tmp/agent.sock"),
        0o640,
        "netconf",
    )
    assert settings.ssh.host_keys == (Path("/keys/ed25519"), Path("/keys/rsa"))
    assert settings.ssh.authorized_keys == "/keys/%u/authorized"
    assert settings.ssh.keepalive == 7
    assert settings.limits == Limits(
        sessions=3,
        sessions_per_user=2,
        sessions_per_connection=5,
        message_size=9216,
        hello_timeout=4,
        idle_timeout=600,
        login_timeout=11,
        pending_connections=9,
    )
    assert settings.qat == Qat("in-tree", "/var/log/kern.log")
    assert settings.ipsec.control == Control("program", "/opt/vpn ctl")
    assert settings.ipsec.vici == "/run/ike/charon.vici"
    assert settings.ipsec.return_timeout == 40
    assert settings.vyos == Vyos(
        "https://[2001:db8::7]:8443", Path("/keys/vyos"), "abcd" + "0f" * 30, None, timeout=9, save=True
    )


@pytest.mark.parametrize("text", ["auto", "starter", "systemd:ike@left.service", "program:/opt/vpn ctl"])
def test_who_controls_ipsec_is_told_to_translators_as_it_was_written(tmp_path: Path, text: str) -> None:
    control = load(write(tmp_path, f'[ipsec]\ncontrol = "{text}"\n')).ipsec.control
    assert str(control) == text
    translators(TranslatorSettings(ipsec_control=text))


def test_the_example_as_shipped_changes_nothing() -> None:
    assert load(EXAMPLE) == Settings()


def test_the_examples_comments_state_the_defaults(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    uncommented, count = re.subn(r"^#(?=[a-z-]+ = )", "", text, flags=re.MULTILINE)
    assert load(write(tmp_path, uncommented)) == Settings()
    stated = {path for path in key_lines(uncommented) if len(path) == 2}
    known = {
        (section.name, field.name.replace("_", "-"))
        for section in fields(Settings)
        for field in fields(getattr(Settings(), section.name))
    }
    assert stated == known
    assert count == len(known)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[limits]\n\nsesions = 4\n", "FILE:3: limits.sesions: [limits] has no such key: did you mean sessions?"),
        (
            "[datastore]\nzzz = 1\n",
            "FILE:2: datastore.zzz: [datastore] has no such key: there are persistence, writable-running",
        ),
        ("[lissten]\n", "FILE:1: lissten: there is no such section: did you mean listen?"),
        ("\nlimits = 3\n", "FILE:2: limits: is a section: write [limits] and its keys below"),
        ("limits.sessions = 0\n", "FILE:1: limits.sessions: must be a whole number from 1 to 65535, not 0"),
        ("[limits]\nsessions = true\n", "FILE:2: limits.sessions: must be a whole number from 1 to 65535, not True"),
        ("[limits]\nsessions = 1.0\n", "FILE:2: limits.sessions: must be a whole number from 1 to 65535, not 1.0"),
        ("[limits]\nhello-timeout = 0\n", "FILE:2: limits.hello-timeout: must be a whole number from 1 to 3600, not 0"),
        (
            '[limits]\nmessage-size = "16 MB"\n',
            (
                "FILE:2: limits.message-size: must be bytes, or a text with B, KiB, MiB or GiB"
                " such as \"16 MiB\", not '16 MB'"
            ),
        ),
        (
            '[limits]\nmessage-size = "1 KiB"\n',
            "FILE:2: limits.message-size: must be a whole number from 4096 to 1073741824, not '1 KiB'",
        ),
        (
            '[ssh]\npassword-authentication = "pam"\n',
            (
                "FILE:2: ssh.password-authentication: password authentication by PAM is not in this release:"
                " only \"off\" is, not 'pam'"
            ),
        ),
        (
            '[datastore]\npersistence = "never"\n',
            ('FILE:2: datastore.persistence: must be one of "running", "startup", not \'never\''),
        ),
        (
            '[listen]\ntls = ["[::]:6513"]\n',
            "FILE:2: listen.tls: NETCONF over TLS is not in this release: only [] is, not ['[::]:6513']",
        ),
        (
            '[listen]\ncall-home = [\n  "192.0.2.1:4334",\n]\n',
            "FILE:2: listen.call-home: call home is not in this release: only [] is, not ['192.0.2.1:4334']",
        ),
        (
            '[qat]\ndriver = "vyos"\n',
            "FILE:2: qat.driver: vyos needs [vyos] url, where VyOS's HTTP API is",
        ),
        (
            '[vyos]\nurl = "http://127.0.0.1"\n',
            "FILE:2: vyos.url: must be https://HOST or https://HOST:PORT, not 'http://127.0.0.1'",
        ),
        (
            '[vyos]\nurl = "https://key@127.0.0.1/configure"\n',
            "FILE:2: vyos.url: must be https://HOST or https://HOST:PORT, not 'https://key@127.0.0.1/configure'",
        ),
        (
            '[vyos]\nurl = "https://127.0.0.1:70000"\n',
            "FILE:2: vyos.url: has no port 70000: ports go from 1 to 65535",
        ),
        *(
            (
                f'[vyos]\nurl = "https://{host}:8443"\n',
                f"FILE:2: vyos.url: has no host's name or address: 'https://{host}:8443'",
            )
            for host in ("a..b", "x" * 64, "[:::]")
        ),
        ('[vyos]\nurl = "https://127.0.0.1:0"\n', "FILE:2: vyos.url: has no port 0: ports go from 1 to 65535"),
        (
            '[vyos]\nfingerprint = "abcd"\n',
            (
                "FILE:2: vyos.fingerprint: must be a SHA-256 digest: 32 pairs of hex digits with or without colons,"
                " not 'abcd'"
            ),
        ),
        (
            f'[vyos]\nfingerprint = "{"ab" * 32}"\nca-file = "/ca.pem"\n',
            "FILE:3: vyos.ca-file: the certificate is checked by its fingerprint already: take one of them out",
        ),
        ("[vyos]\ntimeout = 0\n", "FILE:2: vyos.timeout: must be a whole number from 1 to 600, not 0"),
        (
            '[ipsec]\nvici = "charon.vici"\n',
            "FILE:2: ipsec.vici: must be an absolute path, not 'charon.vici'",
        ),
        (
            '[ipsec]\ncontrol = "systemd:strongswan"\n',
            (
                "FILE:2: ipsec.control: must name a service of systemd, as in systemd:strongswan.service,"
                " not 'systemd:strongswan'"
            ),
        ),
        (
            '[ipsec]\ncontrol = "program:vpn"\n',
            "FILE:2: ipsec.control: must be an absolute path, not 'vpn'",
        ),
        (
            '[ipsec]\ncontrol = "starter:x"\n',
            "FILE:2: ipsec.control: must be auto, starter, systemd:UNIT or program:PATH, not 'starter:x'",
        ),
        ('[listen]\nssh = "[::]:830"\n', "FILE:2: listen.ssh: must be a list in [ ], not '[::]:830'"),
        (
            '[listen]\nssh = [":830"]\n',
            "FILE:2: listen.ssh: must be HOST:PORT or [IPV6-ADDRESS]:PORT, not ':830'",
        ),
        ('[listen]\nunix = "agent.sock"\n', "FILE:2: listen.unix: must be an absolute path, not 'agent.sock'"),
        (
            '[listen]\nunix-mode = "0066"\n',
            "FILE:2: listen.unix-mode: must let the owner read and write (0600 and more, up to 0666), not '0066'",
        ),
        (
            '[listen]\nunix-mode = "0755"\n',
            "FILE:2: listen.unix-mode: must let the owner read and write (0600 and more, up to 0666), not '0755'",
        ),
        (
            "[listen]\nunix-mode = 0o600\n",
            'FILE:2: listen.unix-mode: must be permissions as a text, such as "0660", not 384',
        ),
        ("[ssh]\nhost-keys = []\n", "FILE:2: ssh.host-keys: must hold at least 1"),
        (
            '[ssh]\nauthorized-keys = "/etc/keys"\n',
            (
                "FILE:2: ssh.authorized-keys: must hold %u once, where the user's name goes, and no other %,"
                " not '/etc/keys'"
            ),
        ),
        (
            '[ssh]\nauthorized-keys = "/home/%u/%h"\n',
            (
                "FILE:2: ssh.authorized-keys: must hold %u once, where the user's name goes, and no other %,"
                " not '/home/%u/%h'"
            ),
        ),
        (
            "limits = {sessions = 5, idle-timeout = -1}\n",
            "FILE:1: limits.idle-timeout: must be a whole number from 0 to 2592000, not -1",
        ),
    ],
)
def test_refusals_name_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == message


def test_what_is_not_toml_is_refused_with_its_place(tmp_path: Path) -> None:
    message = refusal(tmp_path, "[limits]\nsessions = \n")
    assert message.startswith("FILE is not TOML: ")
    assert "line 2" in message


def test_what_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.toml"
    path.write_bytes(b"[limits]\n# caf\xe9\n")
    with pytest.raises(SettingsError, match=r"latin1\.toml:2: is not UTF-8"):
        load(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"cannot read the settings file .*none\.toml: No such file or directory"):
        load(tmp_path / "none.toml")


def test_a_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.toml"
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(SettingsError, match="larger than 1048576 bytes"):
        load(path)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:65535", Address("::1", 65535)),
        ("[fe80::1%eth0]:830", Address("fe80::1%eth0", 830)),
        ("localhost:830", Address("localhost", 830)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["830", "host", "host:", ":830", "::1:830", "[::1]", "a b:1", "h:65536", "h:-1", "h:٣", "[h]:1", 830]
)
def test_what_is_no_address(text: object) -> None:
    with pytest.raises(ValueError, match=r"must be HOST:PORT|has no port"):
        parse_address(text)


def test_lines_of_keys_behind_everything_that_toml_has() -> None:
    text = '''# a comment with [brackets] and key = "value"
top = "[no.table]"  # and = here

[ "a.b" . 'c' ]
one = """
[not.a.table]
two = 2 \\"""
"""
'th"ree' = [ "]", # ]
  {x = "}"}, \'\'\'
four = 4\'\'\' ]
[[list]]
five.six = 5
[[list]]
five.six = 6
seven = """eight""""
nine = \'\'\'\'\'\'
ten = 1979-05-27T07:32:00Z'''
    assert key_lines(text) == {
        ("top",): 2,
        ("a.b", "c"): 4,
        ("a.b", "c", "one"): 5,
        ("a.b", "c", 'th"ree'): 9,
        ("list",): 12,
        ("list", "five", "six"): 13,
        ("list", "seven"): 16,
        ("list", "nine"): 17,
        ("list", "ten"): 18,
    }


@given(
    st.lists(
        st.sampled_from(
            ["k = 1", "k = '#'", 'k = "\\"["', 'k = """\n\n"""', "k = [\n1,\n]", "k = {a = '}'}", "k = '''\n'''"]
        ),
        max_size=8,
    )
)
def test_the_line_of_a_key_behind_any_values(values: list[str]) -> None:
    before = "".join(f"[t{n}]\n{value} # x\n\n" for n, value in enumerate(values))
    assert key_lines(f"{before}[last]\nkey = 0\n")["last", "key"] == before.count("\n") + 2
