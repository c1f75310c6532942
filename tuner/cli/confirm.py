"""`rsyslog-tune confirm`: what was applied stays."""

from __future__ import annotations

from tuner.cli.console import result, result_json, say
from tuner.cli.options import OutputFormat, OutputOption
from tuner.deploy import recover
from tuner.deploy.intents import left_intents
from tuner.errors import JobFailed


def confirm(output: OutputOption = OutputFormat.TEXT) -> None:
    """Keep what `apply --confirm-within` applied: the hosts will not restore themselves.

    Exits with 1 when nothing waits, or a host was restored already.
    """
    with left_intents() as left:
        count = recover.confirm(left, say)
    if not count:
        raise JobFailed("nothing waits to be confirmed")
    if output is OutputFormat.JSON:
        result_json({"schema": 1, "kind": "confirm", "confirmed": count})
    else:
        result("confirmed")
