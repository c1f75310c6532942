"""`rsyslog-tune recover`: everything as before an apply that did not end."""

from __future__ import annotations

from tuner.cli.console import result, result_json, say
from tuner.cli.hosts import HostsOption, InventoryOption, machines_of
from tuner.cli.options import OutputFormat, OutputOption
from tuner.deploy import recover as undo
from tuner.deploy.intents import left_intents


def recover(
    host: HostsOption = None,
    inventory: InventoryOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Restore what an apply left that did not end: files, service, timers, the engine's objects.

    Undoes what this machine began, also what still waits for confirm; with --host or --inventory
    what anybody began on those hosts.  Done twice it changes nothing.
    """
    with left_intents() as left:
        count = undo.recover(left, say)
    if host or inventory is not None:
        undo.recover_hosts(machines_of(host, inventory, None), say)
    if output is OutputFormat.JSON:
        result_json({"schema": 1, "kind": "recover", "undone": count})
    else:
        result(f"undone: {count}" if count else "no unfinished apply was started from this machine")
