"""What ``plan`` shows: the steps of a commit, which of them disturb a service, and what to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.cli import output, reply
from agent.cli.output import line, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.reply import Tree

NOTHING: Final = "nothing to do"
_NAMED: Final = 10


def show(found: Element, *, form: str, nothing: str = NOTHING) -> None:
    """Print a reply to the plan rpc as ``table``, ``json`` or ``xml``.

    ``nothing`` is what a table says in place of steps where there are none.
    """
    if form == "xml":
        output.show_xml(found)
    elif form == "json":
        output.show_json(reply.output(found, "plan", wide_as_text=True))
    else:
        output.show(render(reply.unqualified(reply.output(found, "plan")), nothing=nothing))


def notes(found: Element) -> list[str]:
    """Return what a reply to the plan rpc says that is to be known before a commit, a line each."""
    plan = reply.unqualified(reply.output(found, "plan"))
    tunnels = plan.get("tunnel", [])
    more = f" and {len(tunnels) - _NAMED} more" if len(tunnels) > _NAMED else ""
    touched = [f"tunnels touched: {plain(', '.join(tunnels[:_NAMED]))}{more}"] if tunnels else []
    return [*touched, *(f"note: {plain(note)}" for note in plan.get("note", []))]


def has_steps(found: Element) -> bool:
    """Return whether a reply to the plan rpc has any step."""
    return bool(reply.unqualified(reply.output(found, "plan")).get("step"))


def render(plan: Tree, *, nothing: str = NOTHING) -> Iterator[RenderableType]:
    """Return the numbered steps, the tunnels that they touch, and the notes."""
    steps = plan.get("step", [])
    if not steps:
        yield line(nothing)
    else:
        made = table("step", "", "what", "disturbs", right={"step"})
        for step in steps:
            mark = "!" if step.get("disruptive") else ""
            made.add_row(
                plain(step["number"]), mark, plain(step.get("description")), plain(" ".join(step.get("disturbs", [])))
            )
        yield made
    for tunnel in plan.get("tunnel", []):
        yield line(f"tunnel touched: {tunnel}")
    for note in plan.get("note", []):
        yield line(f"note: {note}")
