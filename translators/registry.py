"""Which translators there are, in commit order, and which steps they plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.cpu.translator import CpuTranslator
from translators.files import WriteFile
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.keeping import KeepRunning
from translators.ipsec.rekey import RekeyTunnels
from translators.ipsec.returning import AwaitTunnels, ExpectTunnels
from translators.ipsec.service import StartService, StopService
from translators.ipsec.translator import IpsecTranslator
from translators.ipsec.unit import StartUnit, StopUnit
from translators.kernel_crypto.translator import KernelCryptoTranslator
from translators.qat.intree_steps import BringDown, BringUp, SetAttribute
from translators.qat.reconfigure import ReconfigureDevice
from translators.qat.restart_device import RestartDevice
from translators.qat.service import StartDevices, StopDevices
from translators.qat.translator import QatTranslator
from translators.qat.vyos import Router
from translators.qat.vyos_commit import CommitVyos

if TYPE_CHECKING:
    from translators.base import Memory, Step, Translator

# All that a plan can hold, for reading one back from a journal.
STEPS: Final[tuple[type[Step], ...]] = (
    WriteFile,
    StartDevices,
    StopDevices,
    ReconfigureDevice,
    RestartDevice,
    BringUp,
    BringDown,
    SetAttribute,
    StartService,
    StopService,
    StartUnit,
    StopUnit,
    KeepRunning,
    RekeyTunnels,
    ExpectTunnels,
    AwaitTunnels,
    AttendTunnels,
    CommitVyos,
)


@dataclass(frozen=True, slots=True)
class TranslatorSettings:
    """What the settings file says to translators: its tables [qat], [ipsec] and [vyos].

    ``vyos`` is whether it names VyOS's API: then a commit there takes ``vyos_timeout`` seconds at most, and its
    configuration is saved after each with ``vyos_save``. Tunnels have ``return_timeout`` seconds to
    return after a restart.
    """

    qat_driver: str = "auto"
    kernel_log: str = "/dev/kmsg"
    ipsec_control: str = "auto"
    vici: str = "/run/charon.vici"
    return_timeout: int = 15
    vyos: bool = False
    vyos_timeout: int = 120
    vyos_save: bool = False


def translators(settings: TranslatorSettings, memory: Memory | None = None) -> tuple[Translator, ...]:
    """Return the translators in commit order; without a ``memory`` they forget with the process.

    Raises ValueError for a setting that can't be followed.
    """
    router = Router(settings.vyos_timeout, save=settings.vyos_save) if settings.vyos else None
    return (
        QatTranslator(settings.qat_driver, kernel_log=settings.kernel_log, memory=memory, router=router),
        CpuTranslator(),
        KernelCryptoTranslator(),
        IpsecTranslator(settings.ipsec_control, settings.vici, return_seconds=settings.return_timeout),
    )
