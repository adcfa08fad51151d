"""The main job, step by step: a controller switches acceleration on at a gateway, over real SSH.

Starts ``accel-agent demo`` (a simulated gateway, a real agent), speaks to it with ncclient, and prints what is sent
and what comes back. Ends with exit status 1 when anything is not as it should be.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ncclient.transport.session
from lxml import etree
from ncclient import manager
from ncclient.operations import RPCError

if TYPE_CHECKING:
    from collections.abc import Iterator

ncclient.transport.session.TICK = 0.01  # it looks for replies ten times a second, else

HA = "urn:accel-agent:hardware-acceleration"
COLOUR = sys.stdout.isatty()


def main() -> int:
    """Tell the story; return the exit status."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    with gateway("--device", "c6xx", "--device", "c6xx") as (session, machine):
        chapter("A gateway with two QAT devices, as the controller finds it")
        show(get(session, "<device><name/><family/><oper-status/></device><active/>"))

        chapter("What would it take to switch acceleration on?")
        edit(session, "<enabled>true</enabled>")
        show(session.dispatch(etree.fromstring(f'<plan xmlns="{HA}"/>')).xml)

        chapter("Commit: IPsec stops, the driver starts, IPsec comes back")
        commit(session)
        ran(machine)
        state = get(session, "<device><name/><oper-status/><engines/></device><active/>")
        show(state)
        expect(state.count(">up<") == 2, "both devices are up")  # noqa: PLR2004 - two devices were asked for
        expect(">true</active>" in state or "<active>true" in state, "acceleration is active")

        chapter("Firmware counters and interrupts of one device, and nothing else is read")
        one = "<address>0000:01:00.0</address>"
        flows = f"<device>{one}<flows><requests/><responses/></flows></device>"
        until_traffic(session, flows)
        show(get(session, flows))
        show(get(session, f"<device>{one}<interrupt><name>qat0-bundle0</name></interrupt></device>"))

        chapter("The same once more: nothing has changed, so nothing is run")
        edit(session, "<enabled>true</enabled>")
        commit(session)
        ran(machine)

        chapter("A driver that fails: the gateway is put back, running stays as it was")
        edit(session, "<enabled>false</enabled>")
        commit(session)
        fault = machine / "run/simulator/fail-qat_service-start"
        fault.write_text("qat_dev0: Failed to load MMP firmware\n")
        edit(session, "<enabled>true</enabled>")
        request("commit")
        expect(refused(session.commit), "the commit is refused")
        ran(machine)
        fault.unlink()

    with gateway("--no-device") as (session, _machine):
        chapter("A gateway without QAT: refused before anything is touched")
        expect(refused(lambda: edit(session, "<enabled>true</enabled>")), "the edit is refused")
    print()
    return 0


@contextmanager
def gateway(*flags: str) -> Iterator[tuple[Any, Path]]:
    """Run a simulated gateway; yield a session with it and the folder of its machine."""
    command = [str(Path(sys.executable).with_name("accel-agent")), "demo", "--json", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as agent:
        try:
            line = agent.stdout.readline() if agent.stdout else ""
            if not line:
                sys.exit(f"the agent did not start: run {' '.join(command)}")
            about = json.loads(line)
            with manager.connect(
                host=about["netconf"]["host"],
                port=about["netconf"]["port"],
                username=about["user"],
                password=about["password"],
                hostkey_verify=False,
                allow_agent=False,
                look_for_keys=False,
            ) as session:
                yield session, Path(about["sysroot"])
        finally:
            agent.terminate()
            agent.wait()


def until_traffic(session: Any, flows: str) -> None:  # noqa: ANN401
    """Wait until tunnels have come up and the first packets are through."""
    deadline = time.monotonic() + 10
    tree = f'<acceleration xmlns="{HA}"><qat>{flows}</qat></acceleration>'
    while "<requests>0<" in str(session.get(filter=("subtree", tree)).data_xml) and time.monotonic() < deadline:
        time.sleep(0.1)


def edit(session: Any, qat: str) -> None:  # noqa: ANN401 - ncclient has no types
    """Edit candidate."""
    config = f'<config><acceleration xmlns="{HA}"><qat>{qat}</qat></acceleration></config>'
    request("edit-config", config)
    session.edit_config(target="candidate", config=config)


def commit(session: Any) -> None:  # noqa: ANN401
    """Commit candidate, and say how long it took."""
    request("commit")
    started = time.monotonic()
    session.commit()
    print(f"  ok, after {time.monotonic() - started:.2f} s")


def get(session: Any, qat: str) -> str:  # noqa: ANN401
    """Return what a subtree filter selects."""
    tree = f'<acceleration xmlns="{HA}"><qat>{qat}</qat></acceleration>'
    request("get", tree)
    return str(session.get(filter=("subtree", tree)).data_xml)


def refused(call: Any) -> bool:  # noqa: ANN401
    """Make a call that must end with an rpc-error, and print it."""
    try:
        call()
    except RPCError as error:
        print(paint("31", f"  {error.tag}  {error.app_tag or ''}  {error.path or ''}"))
        print(f"  {error.message}")
        return True
    return False


def expect(condition: bool, what: str) -> None:  # noqa: FBT001 - reads like a sentence
    """Go on only if what the story says is so."""
    if not condition:
        sys.exit(f"not so: {what}")


def ran(machine: Path) -> None:
    """Print what was run on the gateway so far."""
    commands = (machine / "run/simulator/commands.log").read_text().splitlines()
    print(paint("2", "  run on the gateway so far: ") + (", ".join(commands) or "nothing"))


def chapter(title: str) -> None:
    """Print a heading."""
    print(f"\n{paint('1', title)}")


def request(operation: str, content: str = "") -> None:
    """Print what is sent."""
    print(paint("36", f"  → {operation}  {content}".rstrip()))


def show(xml: str) -> None:
    """Print a reply, indented."""
    root = etree.fromstring(xml.encode())
    etree.indent(root)
    for line in etree.tostring(root, encoding="unicode").splitlines():
        print(f"  {line}")


def paint(code: str, text: str) -> str:
    """Return text in a colour, on a terminal."""
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


if __name__ == "__main__":
    sys.exit(main())
