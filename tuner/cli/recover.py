"""`rsyslog-tune confirm` and `recover`: how an apply ends that did not, and how one is undone."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from tuner.cli.apply import carry_out
from tuner.cli.console import print_result, say, working
from tuner.cli.hosts import machines_of
from tuner.cli.usage.hosts import Confirm, Recover
from tuner.deploy import recover as undo
from tuner.deploy.intents import Beginning, Put, Touched, last_finished, left_intents
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.plan import DeployPlan
from tuner.deploy.previous import hosts_before, objects_before
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.errors import BadUsage, JobFailed
from tuner.lint.load import parse_profile


def confirm(options: Confirm) -> None:
    """Carry out `rsyslog-tune confirm`."""
    with left_intents() as left:
        ended = undo.confirm(left)
    if not ended.applies:
        raise JobFailed("nothing waits to be confirmed")
    print_result(options.output, "confirm", {"confirmed": ended.applies}, "\n".join(ended.lines))
    ended.require_whole("confirmed")


def recover(options: Recover) -> None:
    """Carry out `rsyslog-tune recover`."""
    machines: tuple[InventoryHost, ...] = ()
    if options.host or options.inventory is not None:
        machines = machines_of(options.host, options.inventory, None)
    if options.previous:
        _undo_finished(machines, options)
        return
    if options.yes or options.confirm_within is not None or options.serial != 1:
        raise BadUsage("--yes, --serial and --confirm-within need --previous")
    with left_intents() as left:
        ended = undo.recover(left, machines, say)
    nothing = "no unfinished apply was started from this machine"
    text = "\n".join(ended.lines) or (f"undone: {ended.applies}" if ended.applies else nothing)
    fields = {"undone": ended.applies, "hosts": dict(ended.hosts.values())}
    print_result(options.output, "recover", fields, text)
    ended.require_whole("as before")


def _undo_finished(machines: tuple[InventoryHost, ...], options: Recover) -> None:
    """Apply what was there before the last apply that was finished."""
    began, client, puts, run = None, None, list[Put](), None
    if not machines:
        finished = last_finished()
        if finished is None:
            raise JobFailed(
                "no apply was finished from this machine: name hosts, --host or --inventory"
            )
        run, intents = finished
        began = next(intent for intent in intents if isinstance(intent, Beginning))
        machines = tuple(intent.machine for intent in intents if isinstance(intent, Touched))
        puts = [intent for intent in intents if isinstance(intent, Put)]
        client = _client(began) if puts else None
    with contextlib.closing(client) if client is not None else contextlib.nullcontext():
        with working(f"asking {', '.join(host.name for host in machines) or 'the engine'}"):
            changes = tuple(hosts_before(machines, run, say))
            objects = () if client is None else objects_before(puts, client, say)
        url = None if client is None else client.url
        plan = DeployPlan("what was there before", "", (), None, changes, url, objects, undoes=True)
        if began is not None:
            plan = replace(
                plan, profile=began.profile, text=began.text, layers=began.layers,
                beside=began.beside,
            )  # fmt: skip
        if not plan.diff:
            raise JobFailed("nothing can be put back")
        if began is None:
            say("the engine stays as it is: only the machine that applied can put that back")
        carry_out(plan, client, options)


def _client(began: Beginning) -> EngineClient | None:
    """A client for the engine of an apply; None where it had none."""
    if began.url is None:
        return None
    loaded = parse_profile(began.text, began.profile, began.layers, began.beside)
    return client_for(began.url, loaded.profile)
