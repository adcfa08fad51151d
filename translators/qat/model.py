"""The configuration of the subtree ``qat``, parsed once from its tree (RFC 7951 form)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from translators.base import Tree
    from translators.qat.services import Services

PATH: Final = "/hardware-acceleration:acceleration/qat"
ENABLED: Final = f"{PATH}/enabled"

_QAT_LEAFS: Final = frozenset({"enabled", "ipsec-refresh", "health", "device"})
_HEALTH_LEAFS: Final = frozenset({"interval", "heartbeat", "on-failure"})
_DEVICE_LEAFS: Final = frozenset({"address", "enabled", "services", "section"})
_SECTION_LEAFS: Final = frozenset(
    {"name", "cy-instances", "dc-instances", "processes", "limit-device-access", "polling", "core-affinity"}
)


@dataclass(frozen=True, slots=True)
class SectionConfig:
    """A section of a device's configuration file; None for what is left to the file."""

    name: str
    cy_instances: int | None = None
    dc_instances: int | None = None
    processes: int | None = None
    limit_device_access: bool | None = None
    polling: str | None = None
    core_affinity: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """A configured device; ``services`` is None where they are left to the file."""

    address: str
    enabled: bool = True
    services: Services | None = None
    sections: tuple[SectionConfig, ...] = ()

    @property
    def path(self) -> str:
        """Instance path of the list entry."""
        return device_path(self.address)

    @property
    def has_settings(self) -> bool:
        """Whether it has settings that the driver is to have: services or sections."""
        return self.services is not None or bool(self.sections)


@dataclass(frozen=True, slots=True)
class HealthConfig:
    """Supervision of the devices: ``interval`` in seconds."""

    interval: int = 10
    heartbeat: bool = False
    on_failure: str = "notify"


@dataclass(frozen=True, slots=True)
class QatConfig:
    """The whole subtree."""

    enabled: bool = False
    ipsec_refresh: str = "restart"
    health: HealthConfig = HealthConfig()
    devices: tuple[DeviceConfig, ...] = ()

    def device(self, address: str) -> DeviceConfig:
        """Return a device's configuration: the model's defaults where it has none."""
        return next((device for device in self.devices if device.address == address), DeviceConfig(address))


def device_path(address: str) -> str:
    """Return the instance path of a device's list entry."""
    return f"{PATH}/device[address='{address}']"


def parse(tree: Tree) -> QatConfig:
    """Return the configuration in a validated tree.

    Raises ValueError for a node that is not known here: what can be configured must not be ignored.
    """
    _only(tree, _QAT_LEAFS)
    health = tree.get("health", {})
    _only(health, _HEALTH_LEAFS)
    return QatConfig(
        enabled=tree.get("enabled", False),
        ipsec_refresh=tree.get("ipsec-refresh", "restart"),
        health=HealthConfig(
            health.get("interval", 10), health.get("heartbeat", False), health.get("on-failure", "notify")
        ),
        devices=tuple(sorted(map(_device, tree.get("device", ())), key=lambda device: device.address)),
    )


def _device(tree: Mapping[str, Any]) -> DeviceConfig:
    _only(tree, _DEVICE_LEAFS)
    services = tree.get("services")
    return DeviceConfig(
        address=tree["address"],
        enabled=tree.get("enabled", True),
        services=None if services is None else frozenset(services.split()),
        sections=tuple(sorted(map(_section, tree.get("section", ())), key=lambda section: section.name)),
    )


def _section(tree: Mapping[str, Any]) -> SectionConfig:
    _only(tree, _SECTION_LEAFS)
    return SectionConfig(
        name=tree["name"],
        cy_instances=tree.get("cy-instances"),
        dc_instances=tree.get("dc-instances"),
        processes=tree.get("processes"),
        limit_device_access=tree.get("limit-device-access"),
        polling=tree.get("polling"),
        core_affinity=tuple(tree.get("core-affinity", ())),
    )


def _only(tree: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = sorted(tree.keys() - known)
    if unknown:
        raise ValueError(f"nothing is done with {', '.join(unknown)} of {PATH}")
