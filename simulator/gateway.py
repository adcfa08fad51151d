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
from simulator.machine import driverconf, intree, inventory, kernel, sysroot
from simulator.machine import ipsec as starter
from simulator.machine.families import FAMILIES
from simulator.server import describe
from simulator.specification import SimulatorError, SpecificationError, check_release, parse_release, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.machine.families import Release
    from simulator.specification import DeviceSpec

# What NR_CPUS of distributions' kernels allows.
_MOST_CPUS = 8192
_OWN_FOLDERS = ("dev", "etc", "lib", "proc", "run", "sys", "usr")
_LIBRARY = "usr/lib/simulator"
_PACKAGE = f"{_LIBRARY}/simulator"
# The newest one that takes an accelerator's algorithms where the CPU computes them too.
_KERNEL = "6.16"
_PREFERRED = 4001
_AVOIDED = 100
_SINCE_AVOIDED = (6, 17)
_PROGRAMS = {"qat_service": "etc/init.d/qat_service", "ipsec": "usr/sbin/ipsec"}

# A program finds its machine by where it lies, also when it is called through a link.
_WRAPPER = """\
#!/bin/sh
# {name} of a simulated machine.
here=$(readlink -f "$0") || exit 1
root=${{here%/{path}}}
exec {python} -IBS "$root/{package}/machine/__main__.py" {name} "$root" "$0" "$@"
"""


def build(  # noqa: PLR0913 - each is one thing about a machine
    root: Path,
    devices: Sequence[DeviceSpec] = (),
    *,
    ipsec: bool = True,
    driver: bool = True,
    cpus: int = 4,
    aes: bool = True,
    virtual: bool = False,
    in_tree: bool | None = None,
    kernel_release: str = _KERNEL,
    priority: int | None = None,
) -> None:
    """Write a machine as it is after its boot: driver loaded, IPsec running.

    ``driver``: the QAT driver is there. The out-of-tree one has its devices down, the kernel's own up; see ``serving``
    for what those need to behave. ``in_tree``: it is the kernel's own, which devices of generation 4 and later have in
    any case; None: earlier ones have the out-of-tree one. ``ipsec``: strongSwan is there, run by its starter; ``aes``:
    the CPUs have AES instructions; ``virtual``: the machine is itself a virtual one; ``kernel_release``: the Linux
    whose own driver is played, ``6.12``; ``priority``: that of the algorithms it registers (default: that Linux's own),
    0 for one that registers none. A simulated machine that is there already is replaced. Raises SimulatorError, of
    which SpecificationError is about what was asked for.
    """
    if not 1 <= cpus <= _MOST_CPUS:
        raise SpecificationError(f"a machine has between 1 and {_MOST_CPUS} CPUs, not {cpus}")
    placed = place(devices, in_tree=in_tree)
    own = in_tree or any(FAMILIES[device.type].later for device in placed)
    release = parse_release(kernel_release)
    if own:
        check_release(placed, release)
    platform = inventory.Platform(cpus, aes, release, _priority(release, priority, in_tree=own), own)
    functions = [(device.type, str(device.address)) for device in placed]
    try:
        _make_room(root)
        machine = inventory.assemble(str(root.resolve()), functions, platform)
        _write(machine, placed, ipsec=ipsec, driver=driver, virtual=virtual)
    except OSError as error:
        raise SimulatorError(f"cannot make a simulated machine in {root}: {error}") from error


def _priority(release: Release, wanted: int | None, *, in_tree: bool) -> int | None:
    if wanted is not None:
        return wanted or None
    return _AVOIDED if in_tree and release >= _SINCE_AVOIDED else _PREFERRED


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
    machine: inventory.Machine, placed: Sequence[DeviceSpec], *, ipsec: bool, driver: bool, virtual: bool
) -> None:
    root = Path(machine.root)
    inventory.save(machine)
    sysroot.publish(machine.root, sysroot.COMMANDS, b"")
    _make_folders(machine, driver=driver)
    texts = [*bootfiles.render(cpus=machine.cpus, aes=machine.aes, virtual=virtual), *bootfiles.pci_files(placed)]
    programs = []
    if driver:
        kernel.load(machine)
    if machine.in_tree:
        texts += bootfiles.driver_files([device.family for device in machine.devices], machine.kernel)
    elif driver:
        texts += [
            (driverconf.file_name(device), conffile.render(device.family, device.instance, machine.cpus))
            for device in machine.devices
        ]
        programs.append("qat_service")
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
    if machine.in_tree and driver:
        _boot(machine)
    kernel.show(machine)


def _make_folders(machine: inventory.Machine, *, driver: bool) -> None:
    for device in machine.devices:
        if device.in_tree:
            for folder in intree.folders(device):
                (Path(machine.root) / inventory.KERNEL / folder).mkdir(parents=True)
            intree.link(machine, device, driver=driver)


def _boot(machine: inventory.Machine) -> None:
    """Bring the devices up, as the kernel's own driver does when it finds them."""
    for device in machine.devices:
        if device.family.module:
            intree.begin(machine, device)
    describe(machine, "")


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
