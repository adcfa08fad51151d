"""Hardware, drivers, firmware files and the CPU: each verdict of each check."""

from collections.abc import Callable

import pytest

from tests.translators.doctoring import PCI, PF, QAT_SERVICE, RELEASE, findings, in_tree, only, started
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN
from translators.doctor.firmware import names
from translators.qat.ids import BY_DEVICE_ID, DEVICE_IDS
from translators.record import RecordedHost

MakeGateway = Callable[..., RecordedHost]
VF = "c3xxxvf@0000:01:01.0"
VIRTUAL = b"processor\t: 0\nmodel name\t: Example\nflags\t\t: lm aes hypervisor\n"


def with_kernel(host: RecordedHost, *modules: str) -> RecordedHost:
    """Return a machine that lists the modules of its kernel."""
    host.files["/proc/sys/kernel/osrelease"] = f"{RELEASE}\n".encode()
    dependencies = "".join(f"{module}.ko:\n" for module in modules)
    host.files[f"/lib/modules/{RELEASE}/modules.dep"] = dependencies.encode()
    for module in modules:
        host.files[f"/lib/modules/{RELEASE}/{module}.ko"] = b""
    return host


# ── hardware ─────────────────────────────────────────────────────────────────────────────────────


def test_devices_are_named(gateway: MakeGateway) -> None:
    found = only(gateway(PF, "c6xx@0000:3d:00.0"), "hardware")
    assert found.verdict == OK
    assert "0000:01:00.0" in found.text
    assert "0000:3d:00.0 (Intel QAT C62x, 8086:37c8)" in found.text


def test_without_a_device_the_cpu_and_all_ids_are_named(gateway: MakeGateway) -> None:
    found = only(gateway(), "hardware")
    assert found.verdict == PROBLEM
    assert "the CPU is Example" in found.text
    assert all(entry.pci_id in found.text for entry in DEVICE_IDS)
    assert "data sheets" in (found.action or "")


def test_a_coprocessor_of_an_unknown_id_is_told(gateway: MakeGateway) -> None:
    host = gateway()
    for name, text in (("vendor", "0x8086"), ("device", "0x9999"), ("class", "0x0b4000")):
        host.files[f"{PCI}/0000:05:00.0/{name}"] = f"{text}\n".encode()
    problem, other = findings(host, "hardware")
    assert problem.verdict == PROBLEM
    assert (other.verdict, "0000:05:00.0 (8086:9999)" in other.text) == (UNKNOWN, True)


def test_a_function_that_cannot_be_identified_is_told(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files[f"{PCI}/0000:05:00.0/vendor"] = b"broken\n"
    broken, good = findings(host, "hardware")
    assert (broken.verdict, good.verdict) == (UNKNOWN, OK)
    assert "0000:05:00.0" in broken.text


def test_without_sysfs_nothing_is_claimed() -> None:
    assert only(RecordedHost(complete=True), "hardware").verdict == UNKNOWN


def test_the_firmware_setup_is_a_hint_only_where_no_device_is(gateway: MakeGateway) -> None:
    host = gateway()
    assert only(gateway(PF), "firmware-setup").verdict == NOT_APPLICABLE
    hint = only(host, "firmware-setup")
    assert (hint.verdict, "Intel QuickAssist Technology" in (hint.action or "")) == (UNKNOWN, True)
    host.files["/proc/cpuinfo"] = VIRTUAL
    assert only(host, "firmware-setup").verdict == NOT_APPLICABLE


@pytest.mark.parametrize(
    ("devices", "verdict", "text"),
    [
        ((), PROBLEM, "hypervisor: kvm"),
        ((PF,), OK, "a whole physical function: 0000:01:00.0"),
        ((VF,), OK, "virtual functions: 0000:01:01.0"),
    ],
)
def test_a_virtual_machine(gateway: MakeGateway, devices: tuple[str, ...], verdict: str, text: str) -> None:
    host = gateway(*devices)
    assert only(host, "passthrough").verdict == NOT_APPLICABLE
    host.files["/proc/cpuinfo"] = VIRTUAL
    host.files["/sys/class/dmi/id/sys_vendor"] = b"QEMU\n"
    found = only(host, "passthrough")
    assert (found.verdict, text in found.text) == (verdict, True)


# ── drivers ──────────────────────────────────────────────────────────────────────────────────────


def test_a_bound_driver_is_named_with_its_version(gateway: MakeGateway) -> None:
    found = only(gateway(PF), "driver")
    assert found.verdict == OK
    assert found.text == "driven: 0000:01:00.0 by c3xxx (QAT driver: the out-of-tree one, version 4.99.1)"


def test_a_module_that_is_not_loaded_is_named_and_what_keeps_it_from_being(gateway: MakeGateway) -> None:
    host = gateway(PF, bound=False)
    found = only(host, "driver")
    assert (found.verdict, found.action) == (PROBLEM, f"Load it: {QAT_SERVICE} start.")
    assert "its module qat_c3xxx is not loaded" in found.text
    host.files["/etc/modprobe.d/qat.conf"] = b"# comment\nblacklist intel_qat\n"
    assert "/etc/modprobe.d/qat.conf keeps it" in only(host, "driver").text
    del host.programs[QAT_SERVICE]
    assert only(host, "driver").action == "Load it: modprobe qat_c3xxx."


def test_a_module_that_is_loaded_and_drives_nothing_gave_up(gateway: MakeGateway) -> None:
    host = gateway(PF, bound=False)
    host.files["/sys/module/qat_c3xxx/version"] = b"1\n"
    found = only(host, "driver")
    assert (found.verdict, "tried and gave up" in found.text) == (PROBLEM, True)


def test_a_module_that_the_kernel_does_not_have_is_to_be_installed(gateway: MakeGateway) -> None:
    host = with_kernel(gateway(PF, bound=False), "kernel/other")
    found = only(host, "driver")
    assert (found.verdict, found.action) == (PROBLEM, "Install the out-of-tree QAT driver 1.7 for it.")


def test_devices_that_are_handed_over_or_wait_for_it_are_no_problem(gateway: MakeGateway) -> None:
    host = gateway(PF, VF, bound=False)
    host.links[f"{PCI}/0000:01:00.0/driver"] = "../../../bus/pci/drivers/vfio-pci"
    host.links[f"{PCI}/0000:01:01.0/physfn"] = "../0000:01:00.0"
    away, waiting = findings(host, "driver")
    assert (away.verdict, waiting.verdict) == (NOT_APPLICABLE, NOT_APPLICABLE)
    assert "0000:01:00.0 to vfio-pci" in away.text
    assert "0000:01:01.0" in waiting.text
    assert only(gateway(), "driver").verdict == NOT_APPLICABLE


def test_both_drivers(gateway: MakeGateway) -> None:
    host = gateway(PF)
    assert only(host, "both-drivers").verdict == UNKNOWN
    with_kernel(host, "updates/drivers/crypto/qat/qat_common/intel_qat")
    assert only(host, "both-drivers").verdict == OK
    with_kernel(
        host,
        "updates/drivers/crypto/qat/qat_common/intel_qat",
        "kernel/drivers/crypto/intel/qat/qat_common/intel_qat",
    )
    found = only(host, "both-drivers")
    assert (found.verdict, "the out-of-tree one is loaded" in found.text) == (PROBLEM, True)


def test_a_stack_that_goes_together(gateway: MakeGateway) -> None:
    assert only(gateway(PF), "stack").verdict == OK
    assert only(in_tree(gateway(PF)), "stack").verdict == OK
    assert only(gateway(), "stack").verdict == NOT_APPLICABLE
    host = gateway(PF)
    del host.files["/sys/module/intel_qat/taint"]
    assert only(host, "stack").verdict == NOT_APPLICABLE


def test_the_tool_of_the_other_driver(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files["/sys/module/intel_qat/taint"] = b"\n"
    found = only(host, "stack")
    assert (found.verdict, "Invalid ioctl" in found.text) == (PROBLEM, True)


def test_a_driver_without_its_tool(gateway: MakeGateway) -> None:
    found = only(gateway(PF, tool=False), "stack")
    assert (found.verdict, QAT_SERVICE in found.text) == (PROBLEM, True)


def test_a_device_that_linux_does_not_drive(gateway: MakeGateway) -> None:
    found = only(in_tree(gateway("200xx@0000:01:00.0")), "stack")
    assert (found.verdict, "1.7" in (found.action or "")) == (PROBLEM, True)


def test_a_device_that_only_linux_drives(gateway: MakeGateway) -> None:
    found = only(gateway("420xx@0000:01:00.0"), "stack")
    assert (found.verdict, "qat_420xx" in (found.action or "")) == (PROBLEM, True)


def test_the_library_for_later_devices(gateway: MakeGateway) -> None:
    host = in_tree(gateway(PF))
    host.files["/usr/sbin/qatmgr"] = b""
    found = only(host, "stack")
    assert (found.verdict, "/usr/sbin/qatmgr serves devices of generation 4" in found.text) == (PROBLEM, True)


# ── firmware files ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("0435", "qat_895xcc.bin"),
        ("37c8", "qat_c62x.bin"),
        ("19e2", "qat_c3xxx.bin"),
        ("18ee", "qat_200xx.bin"),
        ("6f54", "qat_d15xx.bin"),
        ("18a0", "qat_c4xxx.bin"),
        ("4940", "qat_4xxx.bin"),
        ("4942", "qat_4xxx.bin"),
        ("4944", "qat_402xx.bin"),
        ("4946", "qat_420xx.bin"),
        ("4948", "qat_6xxx.bin"),
    ],
)
def test_the_name_of_the_firmware(device: str, expected: str) -> None:
    assert names(BY_DEVICE_ID[device]) == (expected.replace(".bin", "_mmp.bin"), expected)


def test_a_file_that_is_missing_is_named(gateway: MakeGateway) -> None:
    host = with_kernel(gateway(PF))
    assert only(host, "firmware-file").verdict == UNKNOWN
    host.files["/lib/firmware/qat_c3xxx.bin.xz"] = b""
    missing, there = findings(host, "firmware-file")
    assert (missing.verdict, there.verdict) == (PROBLEM, OK)
    assert "asks for qat_c3xxx_mmp.bin, not found below" in missing.text
    assert there.text == "found: /lib/firmware/qat_c3xxx.bin.xz"


@pytest.mark.parametrize("place", ["", "updates/", f"updates/{RELEASE}/", f"{RELEASE}/"])
@pytest.mark.parametrize("form", ["", ".xz", ".zst"])
def test_files_are_found_where_the_kernel_looks(gateway: MakeGateway, place: str, form: str) -> None:
    host = with_kernel(gateway(PF))
    for name in ("qat_c3xxx.bin", "qat_c3xxx_mmp.bin"):
        host.files[f"/lib/firmware/{place}{name}{form}"] = b""
    assert only(host, "firmware-file").verdict == OK


def test_a_folder_that_the_kernel_was_told_is_looked_into(gateway: MakeGateway) -> None:
    host = gateway(PF)
    host.files["/sys/module/firmware_class/parameters/path"] = b"/opt/firmware\n"
    for name in ("qat_c3xxx.bin", "qat_c3xxx_mmp.bin"):
        host.files[f"/opt/firmware/{name}"] = b""
    assert only(host, "firmware-file").verdict == OK


def test_a_device_that_is_up_had_its_firmware(gateway: MakeGateway) -> None:
    host = started(gateway(PF))
    host.folders.add("/lib/firmware")
    found = only(host, "firmware-file")
    assert (found.verdict, "the initramfs" in found.text) == (OK, True)


def test_virtual_functions_have_no_firmware(gateway: MakeGateway) -> None:
    assert only(gateway(VF), "firmware-file").verdict == NOT_APPLICABLE
    assert only(gateway(), "firmware-file").verdict == NOT_APPLICABLE


# ── the CPU ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("flags", "verdict", "text"),
    [
        ("lm aes", OK, "has AES instructions"),
        ("lm aes vaes vpclmulqdq", OK, "VAES"),
        ("lm", PROBLEM, "no AES instructions"),
    ],
)
def test_aes_instructions(gateway: MakeGateway, flags: str, verdict: str, text: str) -> None:
    host = gateway()
    host.files["/proc/cpuinfo"] = f"processor\t: 0\nflags\t\t: {flags}\n".encode()
    found = only(host, "aes-instructions")
    assert (found.verdict, text in found.text) == (verdict, True)


def test_aes_instructions_that_a_hypervisor_hides(gateway: MakeGateway) -> None:
    host = gateway()
    host.files["/proc/cpuinfo"] = b"processor\t: 0\nflags\t\t: lm hypervisor\n"
    host.files["/sys/class/dmi/id/sys_vendor"] = b"QEMU\n"
    assert "host-passthrough" in (only(host, "aes-instructions").action or "")


def test_a_cpu_that_names_no_instructions(gateway: MakeGateway) -> None:
    host = gateway()
    host.files["/proc/cpuinfo"] = b"processor\t: 0\n"
    assert only(host, "aes-instructions").verdict == UNKNOWN
