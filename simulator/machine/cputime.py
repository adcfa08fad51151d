"""/proc/stat: the time that the CPUs have spent (``show_stat`` in fs/proc/stat.c).

It passes by the turns of the hardware: while no device is up it stands still, like the counters of interrupts.
"""

# USER_HZ: a turn of the hardware is half a second.
_TURN = 50
# Of each CPU when the machine has booted: user, nice, system, idle, iowait, irq, softirq, steal, and two of guests.
_AT_BOOT = (1_204, 31, 2_377, 58_113, 206, 0, 402, 0, 0, 0)
_USER, _SYSTEM, _IDLE, _SOFTIRQ = 0, 2, 3, 6
# Of a turn of one CPU: what it does in any case, half of it in the kernel, and what packets cost it.
_ORDINARY = 2
_PACKETS = 7


def render(cpus: int, turns: int, ticks: int) -> bytes:
    """Return the file after so many turns, in ``ticks`` of which there was traffic."""
    row = _row(turns, ticks)
    # Two blanks after the first word, as the kernel has them.
    lines = [f"cpu  {_joined([cpus * count for count in row])}"]
    lines += [f"cpu{cpu} {_joined(row)}" for cpu in range(cpus)]
    lines += ["procs_running 1", "procs_blocked 0"]
    return ("\n".join(lines) + "\n").encode()


def _row(turns: int, ticks: int) -> list[int]:
    row = list(_AT_BOOT)
    # Packets come in as softirqs, in some turns more than in others.
    packets = _PACKETS * ticks + 4 * (ticks % 2)
    row[_USER] += _ORDINARY // 2 * turns
    row[_SYSTEM] += _ORDINARY // 2 * turns
    row[_SOFTIRQ] += packets
    row[_IDLE] += (_TURN - _ORDINARY) * turns - packets
    return row


def _joined(numbers: list[int]) -> str:
    return " ".join(str(number) for number in numbers)
