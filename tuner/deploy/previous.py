"""The undo of the last apply that was finished: a plan that puts back what that took the place of,
from what each host keeps of it and from the journal of that apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tuner.deploy.intents import Put
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import form_of, is_as
from tuner.deploy.plan import EngineChange, HostChange, digest_of, object_there
from tuner.deploy.target import Candidate, RemoteHost, ReplacedFile, Tell, shown
from tuner.engine import normal
from tuner.engine.client import EngineClient
from tuner.errors import Locked, Refused
from tuner.render.tree import unified
from tuner.script.hiding import hidden
from tuner.script.tokens import SURROGATES
from tuner.validate.difference import unified_json


def hosts_before(
    machines: Iterable[InventoryHost], run: str | None, tell: Tell
) -> Iterator[HostChange]:
    """What each host had before the change that it kept last, or before that by `run`; `tell` takes
    a sentence on a host without one.  Raises Refused where somebody changed a file since, and
    Locked where a change is under way."""
    for machine in machines:
        previous = RemoteHost(machine).previous()
        if previous is None:
            tell(f"{machine.name}: left alone: it keeps nothing from before an apply")
        elif run not in (None, previous.run):
            tell(f"{machine.name}: left alone: the last apply that it kept is another one")
        else:
            yield _before(machine, previous.files)


def _before(machine: InventoryHost, files: Sequence[ReplacedFile]) -> HostChange:
    name = machine.name
    facts = RemoteHost(machine, [one.path for one in files]).facts(())
    if facts.pending is not None:
        raise Locked(
            f"{name} has an unfinished change by {facts.pending}: rsyslog-tune confirm or recover "
            "ends it"
        )
    live = {one.path: facts.content(one.path) for one in files}
    others = [one.path for one in files if digest_of(live[one.path]) != one.put]
    if others:
        kept = f"{machine.paths.state}/deploy/previous"
        raise Refused(
            f"{name}: {', '.join(others)} changed since that apply: what was there before it is in "
            f"{kept}; put back by hand what you need of it"
        )
    texts = [
        (one.path, None if one.content is None else one.content.decode("utf-8", SURROGATES))
        for one in files
    ]
    lines = [
        line
        for one in files
        for line in unified(f"{name}{one.path}", shown(live[one.path]), shown(one.content))
    ]
    is_private = any(text and hidden(text) != text for _, text in texts)
    candidate = Candidate(tuple(texts), "600" if is_private else "644", ())
    return HostChange(machine, candidate, tuple(one.put for one in files), "".join(lines))


def objects_before(
    puts: Sequence[Put], client: EngineClient, tell: Tell
) -> tuple[EngineChange, ...]:
    """What the engine had before; `tell` takes a sentence on what was new, and stays.  Raises
    Refused where somebody changed an object since."""
    changes = []
    for one in reversed(puts):
        name, there = one.path[1:], object_there(client, one.path, one.body)
        if one.before is None:
            tell(f"engine: {name} was new, and stays: delete it when no index needs it")
        elif there is None or not is_as(one.path, there, one.body):
            raise Refused(f"the engine's {name} changed since that apply: put it back by hand")
        else:
            form, body = form_of(one.path), normal.puttable(one.before)
            diff = unified_json(name, form(there), form(body), "before")
            changes.append(EngineChange(name, one.path, body, there, diff))
    return tuple(changes)
