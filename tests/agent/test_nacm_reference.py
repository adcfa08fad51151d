"""Random rules on random configurations of module t: the agent permits what RFC 8341's text permits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agent import edit
from agent.errors import NETCONF, NetconfError
from agent.link import Peer
from agent.model.load import Model, load
from agent.nacm import Nacm
from agent.tree import from_json, instance_path
from tests.agent import nacm_reference as reference
from tests.agent.edit_random import EDITS, TREES, as_json, config, one_case, tree, values
from tests.agent.edit_reference import SCHEMA, Asked, key_of
from tests.agent.nacm_reference import DENY, Control, Rule, RuleList, Steps, User

if TYPE_CHECKING:
    from agent.nacm import Access
    from agent.tree import Node

ADA = "x"
"""The user is called like a value that keys have, for $USER."""
OPERATIONS = ["create", "read", "update", "delete", "exec"]
RPCS = [("ietf-netconf", "get"), ("ietf-netconf", "kill-session"), ("ietf-netconf", "close-session"), ("t", "ping")]
GROUPS = st.frozensets(st.sampled_from(["g", "h", "*"]), min_size=1)


@pytest.fixture(scope="module")
def denying() -> Model:
    """Return module t with default-deny extensions."""
    model = load([Path(__file__).parent / "modules/t.yang"])
    for names, deny in DENY.items():
        model.node("/t:" + "/".join(names)).deny = cast("Any", deny)
    model.node("/t:ping").deny = "all"
    return model


@st.composite
def ways(draw: st.DrawFn) -> Steps:
    """Return a rule's path."""
    steps: list[tuple[str, tuple[str, ...] | None]] = []
    schema: Any = SCHEMA
    for _ in range(draw(st.sampled_from([0, 1, 2, 2, 2, 3, 3]))):
        names = [name for name, below in schema.items() if isinstance(below, dict)]
        if not names:
            break
        name = draw(st.sampled_from(names))
        schema = schema[name]
        keys = schema.get("keys", [name] if schema["kind"] == "leaf-list" else [])
        keyed = keys and draw(st.booleans())
        key = draw(st.tuples(*(values(one) | st.just("$USER") for one in keys))) if keyed else None
        steps.append((name, key))
    return tuple(steps)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    kind = draw(st.sampled_from(["any", "rpc", "notification", *["path"] * 6]))
    return Rule(
        draw(st.sampled_from(["*", "*", "t", "ietf-netconf"])),
        kind,
        draw(st.sampled_from(["*", "ping", "get", "kill-session"])) if kind != "path" else "",
        draw(ways()) if kind == "path" else (),
        draw(st.none() | st.frozensets(st.sampled_from(OPERATIONS), min_size=1)),
        draw(st.booleans()),
    )


REST = RuleList(frozenset({"*"}), (Rule("*", "any", "", (), None, permit=True),))
"""What often comes last: so that a single rule before it decides."""
CONTROLS = st.builds(
    Control,
    enabled=st.sampled_from([True] * 9 + [False]),
    read_default=st.booleans(),
    write_default=st.booleans(),
    exec_default=st.booleans(),
    external=st.booleans(),
    groups=st.fixed_dictionaries({"g": st.frozensets(st.sampled_from([ADA, "other"]))}),
    lists=st.tuples(
        st.lists(st.builds(RuleList, GROUPS, st.lists(rules(), max_size=6).map(tuple)), max_size=3), st.booleans()
    ).map(lambda both: (*both[0], *([REST] if both[1] else []))),
)
USERS = st.builds(User, st.just(ADA), st.frozensets(st.just("h")))


@settings(deadline=None, max_examples=100)
@given(CONTROLS, USERS, TREES)
def test_what_may_be_read_is_what_the_reference_says(
    denying: Model, control: Control, user: User, data: dict[str, Any]
) -> None:
    found = tree(denying, data)
    shown = access(denying, control, user).readable(found)
    assert as_json(shown) == reference.readable(control, user, data)
    if as_json(found) == as_json(shown):
        assert shown is found


@settings(deadline=None, max_examples=120)
@given(CONTROLS, USERS, TREES, TREES, EDITS)
def test_what_may_be_written_is_what_the_reference_says(
    denying: Model, control: Control, user: User, data: dict[str, Any], other: dict[str, Any], asked: tuple[Asked, ...]
) -> None:
    before = tree(denying, data)
    try:
        edited = edit.apply(before, edit.parse(denying, config(asked), "merge"))
    except NetconfError:
        edited = before
    for after in (edited, tree(denying, other)):
        denied = reference.denied(control, user, as_json(before), as_json(after))
        told = {path_of(denying, reference.shown_path(control, user, steps)) for steps in denied}
        try:
            access(denying, control, user).check_write(before, after)
        except NetconfError as error:
            assert (error.type, error.tag) == ("application", "access-denied")  # noqa: PT017 - beside "permitted"
            assert error.path in told  # noqa: PT017
        else:
            assert not denied


@settings(deadline=None, max_examples=100)
@given(CONTROLS, USERS)
def test_what_may_be_called_is_what_the_reference_says(denying: Model, control: Control, user: User) -> None:
    found = access(denying, control, user)
    for module, name in RPCS:
        space = NETCONF if module == "ietf-netconf" else "urn:example:t"
        operation = denying.root.children[f"{{{space}}}{name}"]
        wanted = reference.may_execute(control, user, module, name, denied=name == "ping")
        assert found.may_execute(operation) == wanted


HIDDEN: tuple[Steps, ...] = (
    (("top", None), ("name", None)),
    (("top", None), ("np", None)),
    (("top", None), ("pres", None)),
    (("top", None), ("item", ("x",))),
    (("top", None), ("rule", ("x",)), ("act", None)),
    (("top", None), ("tag", ("x",))),
    (("top", None), ("a1", None)),
)


@settings(deadline=None, max_examples=150)
@given(st.sets(st.sampled_from(HIDDEN), min_size=1), TREES, TREES, EDITS)
@example({(("top", None), ("a1", None))}, {"top": {"a1": "x"}}, {}, (Asked("top", "create"),))
def test_the_outcome_of_an_edit_does_not_tell_what_is_hidden(
    model: Model, hidden: set[Steps], data: dict[str, Any], other: dict[str, Any], asked: tuple[Asked, ...]
) -> None:
    """C046: two configurations that look alike give the same outcome, whatever they have that the user has no right to.

    Replacing what holds something hidden is left out: that fails where something would be deleted.
    """
    assume(not replaces(asked))
    denying = tuple(Rule("*", "path", "", steps, None, permit=False) for steps in sorted(hidden, key=str))
    everything = Rule("*", "any", "", (), None, permit=True)
    control = Control(groups={"g": frozenset({ADA})}, lists=(RuleList(frozenset({"g"}), (*denying, everything)),))
    user = User(ADA, frozenset())
    found = access(model, control, user)
    shown = reference.readable(control, user, data)
    outcomes = []
    for unseen in (data, other):
        before = tree(model, mixed(shown, unseen, control, user))
        if as_json(found.readable(before)) != shown:
            return  # what is hidden excludes what is shown, or makes a container that is not empty
        outcomes.append(outcome(model, found, before, asked))
    assert outcomes[0] == outcomes[1]


def replaces(asked: tuple[Asked, ...]) -> bool:
    return any(
        (one.operation in {"replace", "delete", "remove"} and one.name == "top") or replaces(one.children)
        for one in asked
    ) or any(one.operation == "replace" for one in asked)


def mixed(shown: dict[str, Any], unseen: dict[str, Any], control: Control, user: User) -> dict[str, Any]:
    """Return what is shown, and of another configuration what is hidden as a child of top."""
    top = dict(shown.get("top", {}))
    readable = reference.readable(control, user, unseen).get("top", {})
    for name, value in unseen.get("top", {}).items():
        if name not in readable:
            top.setdefault(name, value)
        elif isinstance(value, list):
            seen = [entry for entry in value if entry not in readable[name]]
            keys = {key_of(entry, SCHEMA["top"][name]) for entry in top.get(name, [])}
            more = [entry for entry in seen if key_of(entry, SCHEMA["top"][name]) not in keys]
            if more:
                top[name] = [*top.get(name, []), *more]
    return {"top": one_case(top)} if top else {}


def outcome(model: Model, access: Access, before: Node, asked: tuple[Asked, ...]) -> Any:
    try:
        edits = edit.parse(model, config(asked), "merge")
        access.check_edits(before, edits)
        after = edit.apply(before, edits)
        access.check_write(before, after)
    except NetconfError as error:
        return error.tag, error.path
    return as_json(access.readable(after))


def access(model: Model, control: Control, user: User) -> Access:
    """Return the agent's, for the same rules as configuration."""
    root = from_json(model.root, {"ietf-netconf-acm:nacm": configured(control, model)})
    nacm = Nacm(model, cast("Any", SimpleNamespace(running=root)))
    return nacm.access(Peer(user.name, "ietf-netconf-monitoring:netconf-ssh", groups=tuple(user.groups)))


def configured(control: Control, model: Model) -> dict[str, Any]:
    def word(permit: bool) -> str:
        return "permit" if permit else "deny"

    groups = [
        {"name": name, **({"user-name": sorted(users)} if users else {})} for name, users in control.groups.items()
    ]
    lists = [
        {
            "name": str(number),
            "group": sorted(found.groups),
            **({"rule": rule_data(found, model)} if found.rules else {}),
        }
        for number, found in enumerate(control.lists)
    ]
    return {
        "enable-nacm": control.enabled,
        "read-default": word(control.read_default),
        "write-default": word(control.write_default),
        "exec-default": word(control.exec_default),
        "enable-external-groups": control.external,
        "groups": {"group": groups},
        **({"rule-list": lists} if lists else {}),
    }


def rule_data(found: RuleList, model: Model) -> list[dict[str, Any]]:
    kinds = {"rpc": "rpc-name", "notification": "notification-name", "path": "path"}
    return [
        {
            "name": str(number),
            "module-name": rule.module,
            **({kinds[rule.kind]: rule.target or path_of(model, rule.steps) or "/"} if rule.kind in kinds else {}),
            "access-operations": "*" if rule.operations is None else " ".join(sorted(rule.operations)),
            "action": "permit" if rule.permit else "deny",
        }
        for number, rule in enumerate(found.rules)
    ]


def path_of(model: Model, steps: Steps) -> str | None:
    path, schema = "", model.root
    for name, key in steps:
        child = schema.member(name if path else f"t:{name}")
        assert child is not None
        path, schema = instance_path(path, child, key or ()), child
    return path.replace("'$USER'", "$USER") or None
