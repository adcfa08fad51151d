"""A machine of namespaces whose init is a real systemd, on a layer over this machine's file system.

systemd takes the cgroup that it finds for its own and moves what runs in it: so it gets one of its own in every
hierarchy before its namespaces are made. These are the only things with a name; they are empty when the machine is
gone, and removed then, or by the next one if the tests were killed.
"""

import os
import secrets
from pathlib import Path
from typing import ClassVar

from tests.lab.namespace import Namespace, until

SYSTEMD = "/lib/systemd/systemd"
CGROUPS = Path("/sys/fs/cgroup")
PREFIX = "accel-agent-lab"
# What would act on hardware, on this machine's kernel, or wait for something that is not there.
_MASKED = """
console-getty.service dev-hugepages.mount dev-mqueue.mount getty.target proc-sys-fs-binfmt_misc.automount
sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount
systemd-firstboot.service systemd-journald-audit.socket systemd-logind.service systemd-modules-load.service
systemd-networkd.service systemd-random-seed.service systemd-remount-fs.service systemd-resolved.service
systemd-sysctl.service systemd-udev-trigger.service systemd-udevd-control.socket systemd-udevd-kernel.socket
systemd-udevd.service timers.target
"""
_TARGET = """[Unit]
Requires=basic.target dbus.service
After=basic.target dbus.service
AllowIsolate=yes
"""
_ENTER = """
set -e
name=$1
shift
for folder in %s; do
  mkdir "$folder/$name"
  case $folder in
    */cpuset) for file in cpuset.cpus cpuset.mems; do cat "$folder/$file" > "$folder/$name/$file"; done ;;
  esac
  echo $$ > "$folder/$name/cgroup.procs"
done
exec "$@" < /dev/null
"""
_BOOT = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
  mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
  mount -t cgroup2 cgroup2 sys/fs/cgroup/unified || true
fi
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/net dev/pts dev/shm
for device in null zero full random urandom tty net/tun; do
  touch dev/$device
  mount --bind /dev/$device dev/$device
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
touch dev/console
echo uninitialized > etc/machine-id
: > etc/fstab
for wanted in multi-user sockets timers; do rm -f etc/systemd/system/$wanted.target.wants/*; done
for unit in $MASKED; do ln -sf /dev/null etc/systemd/system/$unit; done
echo "$TARGET" > etc/systemd/system/lab.target
mkdir tmp/old
pivot_root . tmp/old
umount -l /tmp/old
echo
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=lab \\
  /lib/systemd/systemd --system --unit=lab.target --crash-reboot=no --show-status=no < /dev/null > /dev/null 2>&1
"""


class Machine(Namespace):
    """A machine with systemd and its bus; its whole file system is its own to change."""

    unshare: ClassVar[tuple[str, ...]] = (*Namespace.unshare, "--uts", "--ipc", "--cgroup", "--propagation", "private")

    def __init__(self) -> None:
        remove_cgroups(of_the_dead=True)
        self._name = f"{PREFIX}-{os.getpid()}-{secrets.token_hex(4)}"
        super().__init__()

    def making(self) -> list[str]:
        """See Namespace."""
        folders = " ".join(map(str, hierarchies()))
        entering = _ENTER % folders
        boot = f"MASKED='{' '.join(_MASKED.split())}'\nTARGET='{_TARGET}'\n{_BOOT}"
        return ["sh", "-c", entering, "sh", self._name, *self.unshare, "sh", "-c", boot]

    def settle(self) -> None:
        """See Namespace."""
        self.run("ip", "link", "set", "lo", "up")
        state = ("systemctl", "is-system-running")
        until(lambda: self.run(*state, check=False).strip() in {"running", "degraded"}, "systemd runs")

    def close(self) -> None:
        """See Namespace."""
        super().close()
        until(lambda: remove_cgroups(self._name), "the cgroups are empty")


def hierarchies() -> list[Path]:
    """Return the roots of this machine's cgroup hierarchies that can be used."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return sorted(path.parent for path in CGROUPS.glob("*/cgroup.procs") if os.access(path, os.W_OK))


def remove_cgroups(name: str = PREFIX, *, of_the_dead: bool = False) -> bool:
    """Remove cgroups that the tests made, and return whether none is left; only empty ones can be removed."""
    left = False
    for root in hierarchies():
        for top in root.glob(f"{name}*"):
            maker = top.name.removeprefix(f"{PREFIX}-").partition("-")[0]
            if of_the_dead and Path(f"/proc/{maker}").exists():
                continue
            for folder in sorted(top.glob("**/"), reverse=True):
                try:
                    folder.rmdir()
                except OSError:
                    left = True
    return not left
