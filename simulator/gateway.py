"""Build a simulated machine: everything below a directory that an agent looks at, as after a boot."""

from __future__ import annotations

import importlib.util
import marshal
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from simulator import bootfiles, conffile, control
from simulator.machine import driverconf, inventory, kernel, sysroot
from simulator.machine import ipsec as starter
from simulator.specification import SimulatorError, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.specification import DeviceSpec

# What NR_CPUS of distributions' kernels allows.
_MOST_CPUS = 8192
_OWN_FOLDERS = ("dev", "etc", "proc", "run", "sys", "usr")
_LIBRARY = "usr/lib/simulator"
_PACKAGE = f"{_LIBRARY}/simulator"
_PROGRAMS = {"qat_service": "etc/init.d/qat_service", "ipsec": "usr/sbin/ipsec"}

# A program finds its machine by where it lies, also when it is called through a link.
_WRAPPER = """\
#!/bin/sh
# {name} of a simulated machine.
here=$(readlink -f "$0") || exit 1
root=${{here%/{path}}}
exec {python} -IBS "$root/{package}/machine/__main__.py" {name} "$root" "$0" "$@"
"""


def build(
    root: Path,
    devices: Sequence[DeviceSpec] = (),
    *,
    ipsec: bool = True,
    driver: bool = True,
    cpus: int = 4,
    aes: bool = True,
    virtual: bool = False,
) -> None:
    """Write a machine as it is after its boot: driver loaded, its devices down, IPsec running.

    ``driver``: the out-of-tree QAT driver is installed; ``ipsec``: strongSwan is, run by its starter;
    ``aes``: the CPUs have AES instructions; ``virtual``: the machine is itself a virtual one. A simulated
    machine that is there already is replaced. Raises SimulatorError.
    """
    if not 1 <= cpus <= _MOST_CPUS:
        raise SimulatorError(f"a machine has between 1 and {_MOST_CPUS} CPUs, not {cpus}")
    placed = place(devices)
    try:
        _make_room(root)
        _write(root.resolve(), placed, ipsec=ipsec, driver=driver, cpus=cpus, aes=aes, virtual=virtual)
    except OSError as error:
        raise SimulatorError(f"cannot make a simulated machine in {root}: {error}") from error


def _make_room(root: Path) -> None:
    if not root.exists():
        root.mkdir(parents=True)
    elif (root / inventory.FILE).is_file() and root.resolve() != Path("/"):
        control.stop(root)
        for name in _OWN_FOLDERS:
            if (root / name).exists():
                shutil.rmtree(root / name)
    elif not root.is_dir() or any(root.iterdir()):
        raise SimulatorError(f"{root} is neither empty nor a simulated machine: take another directory")
    # The description comes first, so that what an interrupted build leaves behind is known as a machine.
    (root / sysroot.UNFINISHED).mkdir(parents=True)


def _write(
    root: Path,
    placed: Sequence[DeviceSpec],
    *,
    ipsec: bool,
    driver: bool,
    cpus: int,
    aes: bool,
    virtual: bool,
) -> None:
    functions = [(device.type, str(device.address)) for device in placed]
    machine = inventory.assemble(str(root), functions, cpus=cpus, aes=aes)
    inventory.save(machine)
    sysroot.publish(machine.root, sysroot.COMMANDS, b"")
    texts = [*bootfiles.render(cpus=cpus, aes=aes, virtual=virtual), *bootfiles.pci_files(placed)]
    programs = []
    if driver:
        texts += [
            (driverconf.file_name(device), conffile.render(device.family, device.instance, cpus))
            for device in machine.devices
        ]
        programs.append("qat_service")
        kernel.load(machine)
    if ipsec:
        texts += bootfiles.ipsec()
        programs.append("ipsec")
    for name, text in texts:
        sysroot.publish(machine.root, name, text.encode())
    for name, target in bootfiles.pci_links(placed):
        sysroot.link(machine.root, name, target)
    (root / "sys/kernel/debug").mkdir(parents=True, exist_ok=True)
    _install(machine.root, programs)
    if ipsec:
        starter.start_processes(machine.root)
    kernel.show(machine)


def _install(root: str, programs: Sequence[str]) -> None:
    # A virtual environment may be gone when the machine is used; what it was made from stays.
    base = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]  # noqa: SLF001
    for name in programs:
        path = _PROGRAMS[name]
        text = _WRAPPER.format(name=name, path=path, package=_PACKAGE, python=shlex.quote(str(base)))
        sysroot.publish(root, path, text.encode(), 0o755)
    for path, data in _library().items():
        sysroot.publish(root, path, data)


@cache
def _library() -> dict[str, bytes]:
    """Return the programs' files: the package simulator.machine, compiled too, so that they start fast."""
    files: dict[str, bytes] = {}
    stub = b'"""Holds the programs of this machine."""\n'
    package = Path(__file__).parent / "machine"
    sources = {f"machine/{path.name}": path.read_bytes() for path in sorted(package.glob("*.py"))}
    for name, source in {"__init__.py": stub, **sources}.items():
        folder, _, file = f"{_PACKAGE}/{name}".rpartition("/")
        files[f"{folder}/{file}"] = source
        cached = f"{file.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc"
        files[f"{folder}/__pycache__/{cached}"] = _compiled(name, source)
    return files


def _compiled(name: str, source: bytes) -> bytes:
    # The form of a .pyc that is never compared with its source (PEP 552): the copies are not edited.
    code = compile(source, f"simulator/{name}", "exec", dont_inherit=True, optimize=0)
    flags = 0b01
    return b"".join(
        [
            importlib.util.MAGIC_NUMBER,
            flags.to_bytes(4, "little"),
            importlib.util.source_hash(source),
            marshal.dumps(code),
        ]
    )
