"""OpenSSH's ssh -s with NETCONF by hand: to the agent in base:1.1, or through an sshd's subsystem in base:1.0."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from typing import Any

import steps

CANDIDATE = "<target><candidate/></target>"
DEADLINE = 30.0


class Client:
    def __init__(self, gateway: steps.Gateway) -> None:
        known = ("-o", f"UserKnownHostsFile={gateway.known_hosts}", "-o", "StrictHostKeyChecking=yes")
        self._command = ["ssh", "-F", "none", "-i", gateway.key, "-o", "BatchMode=yes", *known, "-p", str(gateway.port)]
        self._chunked = sys.argv[1] == "direct"
        user = gateway.user
        if not self._chunked:
            self._command += ["-o", f"ProxyCommand={gateway.sshd}", "-o", "HostKeyAlias=sshd"]
            user = gateway.sshd_user
        self._command += ["-s", f"{user}@{gateway.host}", "netconf"]
        self._sent = 0

    def open(self) -> dict[str, Any]:
        self._ssh = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._ssh.stdin is not None
        assert self._ssh.stdout is not None
        self._input, self._output = self._ssh.stdin, self._ssh.stdout
        hello = self._until(b"]]>]]>").decode()
        base = "urn:ietf:params:netconf:base:1." + ("1" if self._chunked else "0")
        offer = f"<capabilities><capability>{base}</capability></capabilities>"
        self._send(f'<hello xmlns="{steps.NETCONF}">{offer}</hello>]]>]]>'.encode())
        found = re.search(r"<session-id>(\d+)</session-id>", hello)
        assert found is not None, hello
        capabilities = [html.unescape(uri) for uri in re.findall("<capability>([^<]*)</capability>", hello)]
        return {"session_id": found[1], "capabilities": capabilities}

    def get(self, content: str) -> str:
        return self._do(f'<get><filter type="subtree">{content}</filter></get>')

    def get_config(self, content: str) -> str:
        source = "<source><running/></source>"
        return self._do(f'<get-config>{source}<filter type="subtree">{content}</filter></get-config>')

    def lock(self) -> None:
        self._ok(f"<lock>{CANDIDATE}</lock>")

    def edit(self, content: str) -> None:
        self._ok(f"<edit-config>{CANDIDATE}<config>{content}</config></edit-config>")

    def refused(self, content: str) -> dict[str, Any]:
        reply = self._do(f"<edit-config>{CANDIDATE}<config>{content}</config></edit-config>")
        return {"seen": "rpc-error", **steps.fields(steps.parse(reply).find("{*}rpc-error"))}

    def validate(self) -> None:
        self._ok("<validate><source><candidate/></source></validate>")

    def commit(self) -> None:
        self._ok("<commit/>")

    def unlock(self) -> None:
        self._ok(f"<unlock>{CANDIDATE}</unlock>")

    def close(self) -> None:
        self._ok("<close-session/>")
        assert self._output.read() == b""
        assert self._ssh.wait(DEADLINE) == 0

    def _ok(self, operation: str) -> None:
        reply = self._do(operation)
        assert "<ok/>" in reply, reply

    def _do(self, operation: str) -> str:
        self._sent += 1
        rpc = f'<rpc xmlns="{steps.NETCONF}" message-id="{self._sent}">{operation}</rpc>'.encode()
        if not self._chunked:
            self._send(rpc + b"]]>]]>")
            return self._until(b"]]>]]>").decode()
        self._send(b"\n#%d\n%b\n##\n" % (len(rpc), rpc))
        reply = b""
        while (header := self._header()) != b"\n##\n":
            reply += self._output.read(int(header[2:]))
        return reply.decode()

    def _header(self) -> bytes:
        header = self._output.read(2)
        assert header == b"\n#", header
        return header + self._output.readline()

    def _send(self, message: bytes) -> None:
        self._input.write(message)
        self._input.flush()

    def _until(self, end: bytes) -> bytes:
        found = b""
        while not found.endswith(end):
            more = self._output.read(1)
            assert more, found
            found += more
        return found.removesuffix(end)


steps.run(Client(steps.gateway()))
