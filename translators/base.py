"""The contract between the agent and what it manages.

A *translator* owns one subtree of the running datastore. It is asked two things: which steps a change of that
subtree needs (``prepare``), and what the live state of the subtree is (``operational``). It knows no XML, no
session and no datastore. Trees that cross this seam are plain data in the JSON form of RFC 7951 (objects are
dicts, lists are lists, identities are ``module:name``), except that 64-bit numbers may be plain ints, and that a list
of very many counters may be ``Counts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from translators.host import Host

Tree: TypeAlias = dict[str, Any]


class TranslatorError(Exception):
    """A change can't be made on this machine.

    ``path`` is the instance path of the offending node with module-name prefixes at the top
    (``/hardware-acceleration:acceleration/qat/enabled``), ``app_tag`` the error-app-tag of the model.
    """

    def __init__(self, message: str, *, path: str, app_tag: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.app_tag = app_tag


class StepError(Exception):
    """A step was carried out and the machine is not in the state that it should be in.

    ``command`` is the program line that was run, if one was; ``output`` what it printed (both streams, bounded).
    ``path`` and ``app_tag`` are as in TranslatorError, None where nothing nearer than the subtree is to blame.
    """

    def __init__(
        self, message: str, *, command: str = "", output: str = "", path: str | None = None, app_tag: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.command = command
        self.output = output
        self.path = path
        self.app_tag = app_tag


@dataclass(frozen=True, slots=True)
class Change:
    """One translator's subtree before and after, whole, with the model's defaults filled in.

    ``before`` is None at start-up: what the machine was told earlier is not known then.
    """

    before: Tree | None
    after: Tree


@dataclass(frozen=True, slots=True)
class Disturbance:
    """That a step disturbs a service which another translator owns.

    ``method`` is how the user wants the service refreshed (``restart``, ``rekey`` or ``none``); ``enabling`` is
    whether the step brings acceleration on rather than off. With ``by_itself`` the step restarts the service itself,
    whatever ``method`` says, and its owner can only look on.
    """

    service: str
    method: str
    enabling: bool
    by_itself: bool = False


class Step(Protocol):
    """One reversible thing to do to the machine. A frozen dataclass of plain values, so that it can be stored."""

    kind: ClassVar[str]

    @property
    def disturbs(self) -> Disturbance | None:
        """Which service the step disturbs."""

    def describe(self) -> str:
        """Return what the step does, in one line, naming the file or the command."""

    def perform(self, host: Host) -> None:
        """Bring the machine into the step's state and look whether it is; do nothing where it is so already.

        Raises StepError.
        """

    def inverse(self) -> Step:
        """Return the step that restores what was there before, whether this one was done, half done or not at all."""

    def observe(self, host: Host) -> str:
        """Return the state of what the step concerns, in a few words, for an error message."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they are done, and remarks for the person who asked (warnings, fall-backs).

    Neither names what not everybody may know who may read the configuration, such as a tunnel.
    """

    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)


@dataclass(frozen=True, slots=True)
class Fault:
    """A source of state that exists and can't be used: the instance path of the node it feeds, and why."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Live state of a subtree, and the sources that were broken."""

    tree: Tree
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """One alternative below a Selection: a child by name, narrowed to the entries whose leafs equal ``matches``."""

    name: str
    matches: tuple[tuple[str, str], ...]
    selection: Selection


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a request that falls into a subtree, so that a reader reads no more than was asked for."""

    everything: bool = True
    branches: tuple[Branch, ...] = ()

    def wants(self, name: str) -> bool:
        """Return whether anything at or below the child called ``name`` is asked for."""
        return self.everything or any(branch.name == name for branch in self.branches)

    def into(self, name: str) -> Selection | None:
        """Return what is asked for below the child called ``name``; None for nothing."""
        return self._union(branch for branch in self.branches if branch.name == name)

    def entry(self, name: str, keys: Mapping[str, str]) -> Selection | None:
        """Return what is asked for below the list entry with these keys; None for nothing."""
        return self._union(
            branch
            for branch in self.branches
            if branch.name == name and all(keys.get(leaf, value) == value for leaf, value in branch.matches)
        )

    def _union(self, branches: Iterator[Branch]) -> Selection | None:
        if self.everything:
            return ALL
        found = [branch.selection for branch in branches]
        if not found:
            return None
        if any(selection.everything for selection in found):
            return ALL
        return Selection(everything=False, branches=tuple(b for selection in found for b in selection.branches))


ALL = Selection()


class Translator(Protocol):
    """Owns one subtree of the running datastore."""

    path: ClassVar[str]

    def prepare(self, change: Change, host: Host) -> Plan:
        """Return the steps that a change needs on this machine as it is now. Touches nothing.

        Raises TranslatorError to refuse the change.
        """

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        """Return live state of what is wanted; leave out what does not exist.

        ``running`` is the subtree's configuration in force, with defaults.
        """


@runtime_checkable
class InUse(Protocol):
    """A translator that can tell what of its configuration the machine really has in use."""

    def in_use(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        """Return what is wanted of the subtree as the operational datastore has it (RFC 8342 5.3).

        That is live state as ``operational`` returns it, and all configuration in use: what the machine has of what
        running says, also what is only the agent's to follow, and what the system has by itself.
        """


@dataclass(frozen=True, slots=True)
class Invocation:
    """An action that is asked for (RFC 7950 7.15).

    ``path`` is its schema path below the translator's (``device/restart``), ``keys`` are the values of all keys on the
    way to it, in order.
    """

    path: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """The action's name."""
        return self.path.rpartition("/")[2]


@runtime_checkable
class Actor(Protocol):
    """A translator that carries out actions; ``actions`` are their schema paths below its own."""

    path: ClassVar[str]
    actions: ClassVar[frozenset[str]]

    def act(self, invocation: Invocation, running: Tree, host: Host) -> Plan:
        """Return the steps that an action takes on this machine as it is now. Touches nothing.

        ``running`` is the subtree's configuration in force, with defaults. Raises TranslatorError to refuse the action.
        """


@runtime_checkable
class ServiceOwner(Protocol):
    """A translator whose service other translators' steps disturb."""

    service: ClassVar[str]

    def around(self, disturbances: tuple[Disturbance, ...], host: Host) -> tuple[Plan, Plan]:
        """Return what to do before the first and after the last disturbing step. Touches nothing.

        Raises TranslatorError when the service can't be refreshed on this machine.
        """


class ListeningError(Exception):
    """The machine tells nothing by itself now, in words."""


@runtime_checkable
class Listener(Protocol):
    """A translator that hears of things as they happen."""

    def events(self, host: Host) -> Iterator[Event | None]:
        """Yield what happens when it does, and None now and then, so that whoever listens can end it. It blocks.

        Called in a thread of its own, beside everything else. Raises ListeningError.
        """


@dataclass(frozen=True, slots=True)
class Touched:
    """The tunnels that steps touch, by name, and remarks about them and the session of whoever asks."""

    tunnels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@runtime_checkable
class TunnelOwner(Protocol):
    """A ServiceOwner whose service carries packets through tunnels.

    ``tunnels`` is the path of the state that lists them: their names are for those who may read it.
    """

    tunnels: ClassVar[str]

    def touched(self, steps: Sequence[Step], host: Host, ends: tuple[str, str] | None, *, named: bool) -> Touched:
        """Return the tunnels that steps touch. Touches nothing, raises nothing.

        ``ends`` are the local and the remote address of the session that asks, None for one without addresses.
        Unless they are to be ``named``, there are only remarks, and these name no tunnel.
        """


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened on the machine; ``severity`` is info, warning or error.

    ``notification`` is the one of the model that tells of it, as RFC 7951 data from the top level down.
    """

    severity: str
    text: str
    notification: Tree | None = None


@dataclass(frozen=True, slots=True)
class Refresh:
    """What was done about a service: its quiesce and resume steps, and what was between them, as far as begun.

    ``undone``: and then all of it was undone. ``began`` is when the first of these steps was begun, ``ended`` when the
    last, or the undoing, was over (Host.monotonic).
    """

    steps: tuple[Step, ...]
    began: float
    ended: float
    undone: bool = False


@runtime_checkable
class RefreshReporter(Protocol):
    """A ServiceOwner that can tell what came of a refresh."""

    def refreshed(self, refresh: Refresh, host: Host) -> Event | None:
        """Look at the service and return what became of it; None where it was left alone after all."""


@dataclass(frozen=True, slots=True)
class Attention:
    """What a look at the machine found, and the service that it wants to have refreshed.

    ``bring``: at start-up nothing could be asked that can be now, so that running is to be brought to the machine.
    """

    events: tuple[Event, ...] = ()
    refresh: Disturbance | None = None
    bring: bool = False


@runtime_checkable
class Supervisor(Protocol):
    """A translator that looks at the machine now and then, without being asked by a client."""

    path: ClassVar[str]

    def interval(self, running: Tree) -> float:
        """Return the seconds from one look to the next."""

    def look(self, host: Host, running: Tree) -> Attention:
        """Look once. Never called twice at a time, nor during a commit."""


@runtime_checkable
class RefreshAsker(Protocol):
    """A Supervisor that wants to know what came of a refresh that it asked for."""

    def asked(self, *, done: bool) -> None:
        """Learn whether the refresh was made that the last look asked for."""


@runtime_checkable
class ChangeReporter(Protocol):
    """A Supervisor that can tell what the agent's own changes have made of what it looks at."""

    def changed(self, host: Host, running: Tree, cause: str) -> tuple[Event, ...]:
        """Look at what has changed since the last look, and why: ``cause`` is commit, rollback, start-up or restart."""


class Memory(Protocol):
    """What a translator remembers beyond the agent's process: small trees by name (letters and hyphens)."""

    def recall(self, name: str) -> Tree | None:
        """Return what was remembered last; None for nothing. Raises OSError, ValueError where it can't be read."""

    def remember(self, name: str, content: Tree) -> None:
        """Make content durable. Raises OSError."""


class ShortMemory:
    """A memory that is lost with the process."""

    def __init__(self) -> None:
        self._contents: dict[str, Tree] = {}

    def recall(self, name: str) -> Tree | None:
        """See Memory."""
        return self._contents.get(name)

    def remember(self, name: str, content: Tree) -> None:
        """See Memory."""
        self._contents[name] = content
