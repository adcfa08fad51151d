"""/proc/interrupts, in the form of kernels before 6.2 (``show_interrupts`` in kernel/irq/proc.c).

Names and affinities of the accelerators' interrupts: adf_isr.c (physical functions) and adf_vf_isr.c (virtual
ones: one vector, named by its address with slot and function in decimal).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulator.machine.activity import Activity
    from simulator.machine.inventory import Device, Machine

_NIC_QUEUES = 4
_NIC_IRQ = 120
_NIC_ADDRESS = "0000:00:14.0"
_NONE = f"{0:10d} "
_ARCHITECTURE = (
    # label, count at boot, growth per CPU, growth per tick, text
    ("NMI", 3, 0, 0, "Non-maskable interrupts"),
    ("LOC", 91_377, 613, 125, "Local timer interrupts"),
    ("SPU", 0, 0, 0, "Spurious interrupts"),
    ("RES", 2_204, 17, 2, "Rescheduling interrupts"),
    ("CAL", 8_151, 29, 1, "Function call interrupts"),
    ("TLB", 340, 7, 0, "TLB shootdowns"),
)


def render(machine: "Machine", activities: "dict[Device, Activity]", ticks: int) -> bytes:
    """Return the table: lines of the chipset and the card, of devices that are up, of the CPUs."""
    lines = [
        *_ordinary(machine.cpus, ticks),
        *(line for device, activity in activities.items() for line in _device(machine, device, activity)),
    ]
    width = max(3, len(str(lines[-1][0])))
    head = " " * (width + 8) + "".join(f"CPU{cpu:<8d}" for cpu in range(machine.cpus))
    text = [head, *(f"{irq:{width}d}: {counts} {action}" for irq, counts, action in lines)]
    for label, base, per_cpu, per_tick, meaning in _ARCHITECTURE:
        counts = "".join(f"{base + per_cpu * cpu + per_tick * ticks:10d} " for cpu in range(machine.cpus))
        text.append(f"{label:>{width}}: {counts}  {meaning}")
    text += [f"{label:>{width}}: {0:10d}" for label in ("ERR", "MIS")]
    return ("\n".join(text) + "\n").encode()


def _ordinary(cpus: int, ticks: int) -> "Iterator[tuple[int, str, str]]":
    yield 0, _row(cpus, 0, 37), "IR-IO-APIC   2-edge      timer"
    yield 8, _row(cpus, 0, 1), "IR-IO-APIC   8-edge      rtc0"
    yield 9, _row(cpus, 0, 0), "IR-IO-APIC   9-fasteoi   acpi"
    for queue in range(min(_NIC_QUEUES, cpus)):
        count = 15_002 + 211 * queue + ticks * (40 + queue)
        yield _NIC_IRQ + queue, _row(cpus, queue, count), _message(_NIC_ADDRESS, queue, f"eth0-TxRx-{queue}")


def _device(machine: "Machine", device: "Device", activity: "Activity") -> "Iterator[tuple[int, str, str]]":
    cpus = machine.cpus
    first_bank = device.number * device.family.banks
    if device.family.parent:
        bus, slot = device.address.split(":")[1:]
        name = f"qat_{bus}:{int(slot[:2], 16):02d}.{int(slot[3:]):02d}"
        row = _row(cpus, device.number % cpus, activity.interrupts[0])
        yield device.first_irq, row, _message(device.address, 0, name)
        return
    for bank, count in enumerate(activity.interrupts):
        name = f"qat{device.number}-bundle{bank}"
        row = _row(cpus, (first_bank + bank) % cpus, count)
        yield device.first_irq + bank, row, _message(device.address, bank, name)
    # This one tells of errors and of messages of virtual functions. There are none here.
    last = len(activity.interrupts)
    name = f"qat{device.number}-ae-cluster"
    yield device.first_irq + last, _row(cpus, 0, 0), _message(device.address, last, name)


def _row(cpus: int, cpu: int, count: int) -> str:
    return f"{_NONE * cpu}{count & 0xFFFFFFFF:10d} {_NONE * (cpus - cpu - 1)}"


def _message(address: str, index: int, action: str) -> str:
    # The number is made as in pci_msi_domain_calc_hwirq, drivers/pci/msi/irqdomain.c.
    domain, bus, slot = address.split(":")
    function = int(bus, 16) << 8 | int(slot[:2], 16) << 3 | int(slot[3:])
    return f" PCI-MSI {int(domain, 16) << 27 | function << 11 | index}-edge      {action}"
