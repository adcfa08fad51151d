"""The composition root: settings, model, datastores, translators, listeners; start-up checks; boot commit."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent import library, ssh, unix
from agent.capabilities import capabilities
from agent.commit import CommitEngine
from agent.confirmed import ConfirmedCommits
from agent.datastore import Datastores
from agent.groups import user_of
from agent.health import Health
from agent.listening import Listening
from agent.model.load import load
from agent.monitoring import netconf_state
from agent.nacm import Nacm, initial
from agent.operational import Operational
from agent.operations import Services
from agent.operations.subscribe import list_streams
from agent.server import NetconfSession
from agent.session import Sessions
from agent.settings import StartError
from agent.store import Store
from agent.streams import Streams
from agent.streams.changes import confirmed_commit
from agent.streams.last_run import offered
from agent.subscriptions import Parts, Subscriptions
from agent.xpath import XPath
from translators.base import Listener
from translators.real_host import RealHost, wait_for_programs
from translators.registry import TranslatorSettings, translators
from translators.vyos import Api

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent.link import Connect, Peer, Transport
    from agent.model.load import Model
    from agent.model.schema import Module
    from agent.settings import Address, Limits, Settings
    from agent.tree import Node
    from translators.base import Translator
    from translators.host import Host

log = logging.getLogger(__name__)

STATE_DIR = Path("/var/lib/accel-agent")
_READERS = 8
_READ_DEADLINE = 30.0
_XPATH_SECONDS = 2.0
_ORPHAN_DEADLINE = 150.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line adds to the settings file.

    ``sysroot`` is where the managed machine's files and programs are; ``passwords`` by user; ``modules`` are further
    YANG files.
    """

    settings: Settings
    state_dir: Path = STATE_DIR
    sysroot: Path = Path("/")
    passwords: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[Path, ...] = ()


class Agent:
    """A running agent. ``ssh_addresses`` and ``unix_path`` are where it listens."""

    def __init__(self, store: Store, executors: tuple[ThreadPoolExecutor, ...]) -> None:
        self._store = store
        self._executors = executors
        self._health: asyncio.Task[None] | None = None
        self._listening: list[Listening] = []
        self._services: Services | None = None
        self.listeners: list[ssh.SshListener | unix.UnixListener] = []
        self.ssh_addresses: tuple[Address, ...] = ()
        self.unix_path: Path | None = None

    def listen_to_machine(self, managed: Sequence[Translator], host: Host, services: Services) -> None:
        """Have the translators that can listen do so until the agent is closed."""
        engine, publish = services.engine, services.streams.publish
        self._listening = [
            Listening(found, host, lambda: engine.changing, publish) for found in managed if isinstance(found, Listener)
        ]

    def start_health(self, services: Services) -> None:
        """Supervise the machine until the agent is closed."""
        self._services = services
        health = Health(services.datastores, services.engine, services.subscriptions.looked)
        self._health = asyncio.ensure_future(health.run())
        self._health.add_done_callback(_supervision_ended)

    async def close(self) -> None:
        """Stop listening, end the sessions, let a commit that is under way finish, and free the state directory."""
        for listener in self.listeners:
            await listener.close()
        for listening in self._listening:
            await listening.close()
        if self._health is not None:
            self._health.cancel()
        if self._services is not None:
            await self._services.confirmed.close()
            await self._services.xpath.close()
            self._services.streams.close()
        for executor in self._executors:
            await asyncio.to_thread(executor.shutdown)
        self._store.close()


async def start(options: Options) -> Agent:
    """Start an agent: when this returns, it accepts sessions. Raises StartError."""
    settings = options.settings
    features = _features(settings)
    model = load(options.modules, features=features)
    store = Store(options.state_dir)
    readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
    committer = ThreadPoolExecutor(1, thread_name_prefix="commit")
    agent = Agent(store, (readers, committer))
    try:
        host = RealHost(options.sysroot, program_lock=store.program_lock, vyos=_vyos(settings))
        managed = translators(
            TranslatorSettings(
                qat_driver=settings.qat.driver,
                kernel_log=settings.qat.kernel_log,
                ipsec_control=str(settings.ipsec.control),
                vici=settings.ipsec.vici,
                return_timeout=settings.ipsec.return_timeout,
                vyos=settings.vyos.url is not None,
                vyos_timeout=settings.vyos.timeout,
                vyos_save=settings.vyos.save,
            ),
            store,
        )
        services = _services(options, model, store, (managed, host), (readers, committer))
        await asyncio.to_thread(wait_for_programs, store.program_lock, timeout=_ORPHAN_DEADLINE)
        before = _unconfirmed(store, model)
        durable = settings.datastore.persistence == "running"  # otherwise startup is what it is restored to
        await services.engine.boot(before if durable else None)
        if before is not None:
            _settled(store, before, durable=durable)
            services.streams.publish(confirmed_commit("timeout", None))
        for notification in offered(options.state_dir, services.capabilities, library.content_id(_modules(model))):
            services.streams.publish(notification)
        agent.start_health(services)
        agent.listen_to_machine(managed, host, services)
        await _listen(agent, settings, options.passwords, partial(_connect, services, settings.limits))
    except BaseException:
        await agent.close()
        raise
    gc.collect()
    gc.freeze()
    return agent


def _vyos(settings: Settings) -> Api | None:
    """Return where VyOS is asked, None where the settings name no VyOS."""
    found = settings.vyos
    if found.url is None:
        return None
    ca_file = None if found.ca_file is None else str(found.ca_file)
    return Api(found.url, str(found.key_file), ca_file, found.fingerprint)


def _supervision_ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the machine is no longer supervised, until the agent is started again", exc_info=error)


async def _listen(agent: Agent, settings: Settings, passwords: Mapping[str, str], connect: Connect) -> None:
    listen = settings.listen
    if listen.unix is not None:
        local = await unix.listen(connect, path=listen.unix, mode=listen.unix_mode, group=listen.unix_group)
        agent.listeners.append(local)
        agent.unix_path = listen.unix
    for address in listen.ssh:
        remote = await ssh.listen(
            connect, address=address, ssh=settings.ssh, limits=settings.limits, passwords=passwords
        )
        agent.listeners.append(remote)
        agent.ssh_addresses += (replace(address, port=remote.port),)


def _connect(services: Services, limits: Limits, peer: Peer, transport: Transport) -> NetconfSession:
    return NetconfSession(services, limits, peer, transport)


def _services(
    options: Options,
    model: Model,
    store: Store,
    machine: tuple[tuple[Translator, ...], Host],
    executors: tuple[ThreadPoolExecutor, ThreadPoolExecutor],
) -> Services:
    settings = options.settings
    (managed, host), (readers, committer) = machine, executors
    with_startup = settings.datastore.persistence == "startup"
    stored = store.load_startup(model) if with_startup else store.load(model)
    if stored is None:
        stored = _first(options, model, store.save_startup if with_startup else store.save)
    startup = stored if with_startup else None
    datastores = Datastores(model, stored, startup=startup, managed=[translator.path for translator in managed])
    sessions = Sessions(
        limit=settings.limits.sessions, limit_per_user=settings.limits.sessions_per_user, started=_now()
    )
    modules = _modules(model)
    identifier = library.content_id(modules)
    revision = model.modules["ietf-yang-library"].revision
    announced = capabilities(modules, identifier, revision, _features(settings))
    operational = Operational(model, datastores, managed, host, readers, deadline=_READ_DEADLINE)
    operational.provide_fixed(library.containers(modules, identifier, datastores.names))
    nacm = Nacm(model, datastores)
    operational.provide_by_user(
        "/ietf-netconf-monitoring:netconf-state",
        partial(
            netconf_state,
            capabilities=announced,
            modules=modules,
            datastores=datastores,
            sessions=sessions,
            nacm=nacm,
        ),
    )
    kept = settings.notifications
    operational.provide("/ietf-netconf-acm:nacm", lambda _wanted: nacm.state())
    streams = Streams(model, options.state_dir, now=_now, entries=kept.log_entries, size=kept.log_size)
    engine = CommitEngine(
        datastores,
        store,
        managed,
        host,
        readers=readers,
        committer=committer,
        durable=not with_startup,
    )
    engine.publish = streams.publish
    operational.provide("/nc-notifications:netconf", partial(list_streams, streams))
    parts = Parts(model, datastores, operational, nacm, streams, XPath(seconds=_XPATH_SECONDS), _now)
    subscriptions = Subscriptions(parts)
    datastores.on_moved.append(subscriptions.configured)
    operational.provide("/ietf-subscribed-notifications:streams", subscriptions.streams)
    operational.provide_by_user("/ietf-subscribed-notifications:subscriptions", subscriptions.state)
    return Services(
        model=model,
        datastores=datastores,
        engine=engine,
        confirmed=ConfirmedCommits(datastores, engine, store, streams.publish),
        xpath=parts.xpath,
        operational=operational,
        nacm=nacm,
        streams=streams,
        subscriptions=subscriptions,
        sessions=sessions,
        capabilities=announced,
        now=_now,
        writable_running=settings.datastore.writable_running,
    )


def _modules(model: Model) -> list[Module]:
    return list(model.served)


def _first(options: Options, model: Model, save: Callable[[Node], None]) -> Node:
    """Return and store the configuration of a first start: who may do everything.

    That are the users with passwords, and the user that the agent runs as, who has its files; root needs no rule.
    """
    own = () if os.geteuid() == 0 else (user_of(os.geteuid()),)
    configuration = initial(model.root, {*options.passwords, *own})
    try:
        save(configuration)
    except OSError as error:
        raise StartError(f"the state directory can't be written: {error}: make it the agent's") from error
    return configuration


def _features(settings: Settings) -> tuple[str, ...]:
    """Return the optional features of ietf-netconf that the settings switch on."""
    startup = ("startup",) if settings.datastore.persistence == "startup" else ()
    return (*startup, *(("writable-running",) if settings.datastore.writable_running else ()))


def _unconfirmed(store: Store, model: Model) -> Node | None:
    """Return what was before a confirmed commit that nobody confirmed while the agent lived; None if there is none."""
    before = store.kept(model)
    if before is not None:
        log.warning("a confirmed commit was not confirmed before the agent ended: running is restored")
    return before


def _settled(store: Store, before: Node, *, durable: bool) -> None:
    """Store that an unconfirmed commit is undone."""
    try:
        if durable:
            store.save(before)
        store.keep(None)
    except OSError as error:
        raise StartError(f"the state directory can't be written: {error}: make it the agent's") from error


def _now() -> datetime:
    return datetime.now(UTC)
