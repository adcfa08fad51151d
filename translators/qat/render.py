"""What a device's configuration means for its configuration file: pure functions, same input, same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import TranslatorError
from translators.qat import conf
from translators.qat.backend import UNSUPPORTED
from translators.qat.conf import Setting, quoted
from translators.qat.services import bits_text, combinations, services_in, words_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.qat.ids import DeviceId
    from translators.qat.model import DeviceConfig, SectionConfig

GENERAL: Final = "GENERAL"
SERVICES_KEY: Final = "ServicesEnabled"
# More than any device has rings for: 128 banks on the largest, two instances each.
MAX_INSTANCES: Final = 256

_POLLED: Final = {"interrupt": "0", "poll": "1", "epoll": "2"}
_KERNEL: Final = ("KERNEL", "KERNEL_QAT")


def rendered(data: bytes, config: DeviceConfig, device: DeviceId) -> bytes:
    """Return a device's file with its configuration in it; what is not configured stays as it is.

    Raises TranslatorError for what the driver does not take.
    """
    content = conf.with_settings(data, _services(data, config, device))
    for section in config.sections:
        try:
            content = conf.with_settings(content, _section(content, section))
        except ValueError as error:
            raise TranslatorError(str(error), path=f"{config.path}/section[name='{section.name}']") from error
    return content


def words_in(data: bytes) -> str:
    """Return the words for services in a file, "" where there are none."""
    return conf.value_of(data, GENERAL, SERVICES_KEY) or ""


def check_services(config: DeviceConfig, device: DeviceId) -> None:
    """Raise TranslatorError where the driver does not take the configured services on this device."""
    if config.services is None or words_for(config.services, device) is not None:
        return
    raise TranslatorError(
        f"{device.description} at {config.address} does not take the services '{bits_text(config.services)}'; "
        f"it takes {combinations(device)}",
        path=f"{config.path}/services",
        app_tag=UNSUPPORTED,
    )


def _services(data: bytes, config: DeviceConfig, device: DeviceId) -> Iterator[Setting]:
    check_services(config, device)
    # The order of the words means nothing, so the operator's stays.
    if config.services is not None and services_in(words_in(data)) != config.services:
        yield Setting(GENERAL, SERVICES_KEY, words_for(config.services, device) or "")


def _section(data: bytes, config: SectionConfig) -> Iterator[Setting]:
    if config.processes is not None:
        yield Setting(config.name, "NumProcesses", str(config.processes))
    elif _needs_processes(data, config):
        yield Setting(config.name, "NumProcesses", "1")
    if config.limit_device_access is not None:
        yield Setting(config.name, "LimitDevAccess", "1" if config.limit_device_access else "0")
    yield from _instances(data, config, "Cy", config.cy_instances)
    yield from _instances(data, config, "Dc", config.dc_instances)


def _needs_processes(data: bytes, config: SectionConfig) -> bool:
    """Return whether instances would serve nobody: the driver takes an absent NumProcesses for 0."""
    has_instances = config.cy_instances is not None or config.dc_instances is not None
    kernel = config.name in _KERNEL
    return has_instances and not kernel and "NumProcesses" not in conf.section_values(data, config.name)


def _instances(data: bytes, config: SectionConfig, kind: str, wanted: int | None) -> Iterator[Setting]:
    """Yield the number of instances and a block of keys for each; keys that the file has stay unless configured."""
    number = wanted
    if wanted is not None:
        if wanted > MAX_INSTANCES:
            raise ValueError(f"{wanted} instances are more than the {MAX_INSTANCES} that a device can have at most")
        yield Setting(config.name, f"Number{kind}Instances", str(wanted))
    else:
        number = _number(conf.value_of(data, config.name, f"Number{kind}Instances"))
    have = conf.section_values(data, config.name)
    for n in range(min(number or 0, MAX_INSTANCES)):
        prefix = f"{kind}{n}"
        if f"{prefix}Name" not in have and wanted is not None:
            yield Setting(config.name, f"{prefix}Name", quoted(f"{_stem(config.name, kind)}{n}"))
        if config.polling is not None:
            yield Setting(config.name, f"{prefix}IsPolled", _POLLED[config.polling])
        elif f"{prefix}IsPolled" not in have and wanted is not None:
            yield Setting(config.name, f"{prefix}IsPolled", "0" if config.name in _KERNEL else "1")
        if config.core_affinity:
            core = config.core_affinity[n % len(config.core_affinity)]
            yield Setting(config.name, f"{prefix}CoreAffinity", str(core))
        elif f"{prefix}CoreAffinity" not in have and wanted is not None:
            yield Setting(config.name, f"{prefix}CoreAffinity", str(n))


def _stem(section: str, kind: str) -> str:
    """Return what an instance's name begins with: the driver's own files have IPSec0, IPComp0, SSL0, Dc0."""
    if section in _KERNEL:
        return "IPSec" if kind == "Cy" else "IPComp"
    return section if kind == "Cy" else "Dc"


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= len("65535") else 0
