"""`rsyslog-tune sink`: a bulk endpoint to point an rsyslog at."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, print_result, result, say
from tuner.cli.options import OutputOption
from tuner.engine.client import EngineClient
from tuner.engine.delivery import Arrived, ArrivedRun, FaultCount, arrived, fault_counts
from tuner.errors import Interrupted, JobFailed
from tuner.lab.faults import FaultKind, parse_fault
from tuner.lab.sink import Sink

_POLL_S = 0.2
_KINDS = "; ".join(f"{kind.value}: {kind.meaning}" for kind in FaultKind)


def sink(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: a free one.")
    ] = 0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Inject a fault such as status=429, html=503 or drop-event=77, followed by "
            "after=N (first bulk request that has it, by default the 5th) and times=N (how many "
            f"have it, by default 1), separated by commas. Can be repeated. {_KINDS}.",
        ),
    ] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Answer bulk requests on loopback until Ctrl-C: counts every event and stores none.

    At the end it prints what arrived: documents per index, and for each flood the events that are
    missing below its highest sequence number and those that came more than once.
    """
    faults = [parse_fault(text) for text in fault or ()]
    with Sink(port, faults) as running:
        client = EngineClient(running.url)
        try:
            if output is OutputFormat.TEXT:
                result(running.url)
            say(f"the sink listens at {running.url}; press Ctrl-C to end it")
            _wait(running)
        except Interrupted:
            _show(running.url, arrived(client), fault_counts(client), output)
            raise
        finally:
            client.close()


def _wait(running: Sink) -> None:
    while running.ending() is None:
        time.sleep(_POLL_S)
    raise JobFailed(f"the sink's process ended with {running.ending()}")


def _show(
    url: str, indices: tuple[Arrived, ...], faults: tuple[FaultCount, ...], output: OutputFormat
) -> None:
    lines = []
    for one in indices:
        lines.append(f"{one.index}: {one.documents:,} documents")
        lines += [f"  run {run.run_id}: {_run_text(run)}" for run in one.runs]
    for fault in faults:
        lines.append(
            f"fault {fault.fault}: {fault.documents:,} documents, {fault.stored:,} counted"
        )
    if not indices:
        lines.append("nothing arrived")
    fields = {
        "url": url,
        "indices": [asdict(one) for one in indices],
        "faults": [asdict(one) for one in faults],
    }
    print_result(output, "sink", fields, "\n".join(lines))


def _run_text(run: ArrivedRun) -> str:
    account = run.account
    text = f"{run.events:,} events, {account.lost:,} missing, {account.duplicated:,} duplicates"
    for name, numbers in (("missing", account.missing), ("duplicated", account.doubled)):
        if numbers:
            text += f"; {name}: {', '.join(map(str, numbers))}"
    return text
