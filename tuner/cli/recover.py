"""`rsyslog-tune confirm` and `recover`: how an apply ends that did not, and how one is undone."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tuner.cli.apply import (
    ask,
    done,
    report,
    seconds_to_confirm,
)
from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.hosts import machines_of
from tuner.deploy import recover as undo
from tuner.deploy.apply import ApplyOptions
from tuner.deploy.intents import Beginning, Put, Touched, last_finished, left_intents
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.plan import DeployPlan
from tuner.deploy.previous import hosts_before, objects_before
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.errors import BadUsage, JobFailed
from tuner.lint.load import parse_profile


def confirm(
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune confirm`."""
    with left_intents() as left:
        ended = undo.confirm(left)
    if not ended.applies:
        raise JobFailed("nothing waits to be confirmed")
    print_result(output, "confirm", {"confirmed": ended.applies}, "\n".join(ended.lines))
    ended.require_whole("confirmed")


def recover(
    host: list[str] | None,
    inventory: Path | None,
    previous: bool,
    yes: bool,
    serial: int,
    confirm_within: str | None,
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune recover`."""
    machines: tuple[InventoryHost, ...] = ()
    if host or inventory is not None:
        machines = machines_of(host, inventory, None)
    if previous:
        manner = ApplyOptions(serial=serial, confirm_within_s=seconds_to_confirm(confirm_within))
        _undo_finished(machines, manner, yes, output)
        return
    if yes or confirm_within is not None or serial != 1:
        raise BadUsage("--yes, --serial and --confirm-within need --previous")
    with left_intents() as left:
        ended = undo.recover(left, machines, say)
    nothing = "no unfinished apply was started from this machine"
    text = "\n".join(ended.lines) or (f"undone: {ended.applies}" if ended.applies else nothing)
    fields = {"undone": ended.applies, "hosts": dict(ended.hosts.values())}
    print_result(output, "recover", fields, text)
    ended.require_whole("as before")


def _undo_finished(
    machines: tuple[InventoryHost, ...], manner: ApplyOptions, yes: bool, output: OutputFormat
) -> None:
    """Apply what was there before the last apply that was finished."""
    began, client, puts, run = None, None, list[Put](), None
    if not machines:
        finished = last_finished()
        if finished is None:
            raise JobFailed(
                "no apply was finished from this machine: name hosts, --host or --inventory"
            )
        run, intents = finished
        began = next(one for one in intents if isinstance(one, Beginning))
        machines = tuple(one.machine for one in intents if isinstance(one, Touched))
        puts = [one for one in intents if isinstance(one, Put)]
        client = _client(began) if puts else None
    with contextlib.closing(client) if client is not None else contextlib.nullcontext():
        with working(f"asking {', '.join(one.name for one in machines) or 'the engine'}"):
            changes = tuple(hosts_before(machines, run, say))
            objects = () if client is None else objects_before(puts, client, say)
        what = (began.profile, began.text, began.layers, began.beside) if began is not None else (
            "what was there before", "", (), None
        )  # fmt: skip
        url = None if client is None else client.url
        plan = DeployPlan(*what, changes, url, objects, undoes=True)
        if not plan.diff:
            raise JobFailed("nothing can be put back")
        if began is None:
            say("the engine stays as it is: only the machine that applied can put that back")
        ask(plan, yes, output)
        outcomes = done(plan, client, manner)
    report(plan, outcomes, output)


def _client(began: Beginning) -> EngineClient | None:
    """A client for the engine of an apply; None where it had none."""
    if began.url is None:
        return None
    loaded = parse_profile(began.text, began.profile, began.layers, began.beside)
    return client_for(began.url, loaded.profile)
