"""`rsyslog-tune sink`: our own bulk endpoint, to point an rsyslog at."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli.console import result, result_json, say
from tuner.cli.options import Output, OutputOption
from tuner.engine.account import Arrived, Run, Strike, arrived, strikes
from tuner.engine.client import EngineClient
from tuner.errors import Interrupted, JobFailed
from tuner.lab.faults import FaultKind, parse_fault
from tuner.lab.sink import Sink

_POLL_S = 0.2
_KINDS = "; ".join(f"{kind.value}: {kind.meaning}" for kind in FaultKind)


def sink(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")
    ] = 0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Go wrong on purpose: a fault such as status=429, html=503 or drop-event=77, then "
            "after=N (the bulk request it begins with, by default the 5th) and times=N (how many "
            f"have it, by default 1), with commas between. May be given more than once. {_KINDS}.",
            show_default=False,
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Answer bulk requests on loopback until Ctrl-C: every event is counted, none is stored.

    At the end it says what arrived: documents by index, and for each flood which events are
    missing below its highest sequence number, and which came more than once.
    """
    faults = [parse_fault(text) for text in fault or ()]
    with Sink(port, faults) as running:
        client = EngineClient(running.url)
        try:
            if output is Output.TEXT:
                result(running.url)
            say(f"the sink answers at {running.url}; Ctrl-C ends it")
            _wait(running)
        except Interrupted:
            _show(running.url, arrived(client), strikes(client), output)
            raise
        finally:
            client.close()


def _wait(running: Sink) -> None:
    while running.ending() is None:
        time.sleep(_POLL_S)
    raise JobFailed(f"the sink's process ended with {running.ending()}")


def _show(url: str, books: tuple[Arrived, ...], struck: tuple[Strike, ...], output: Output) -> None:
    if output is Output.JSON:
        result_json(
            {
                "schema": 1,
                "kind": "sink",
                "url": url,
                "indices": [asdict(book) for book in books],
                "faults": [asdict(strike) for strike in struck],
            }
        )
        return
    for book in books:
        result(f"{book.index}: {book.documents:,} documents")
        for run in book.runs:
            result(f"  run {run.run_id}: {_run_text(run)}")
    for strike in struck:
        result(f"fault {strike.fault}: {strike.documents:,} documents, {strike.stored:,} counted")
    if not books:
        result("nothing arrived")


def _run_text(run: Run) -> str:
    account = run.account
    text = f"{run.events:,} events, {account.lost:,} missing, {account.duplicated:,} repetitions"
    for name, numbers in (("missing", account.missing), ("doubled", account.doubled)):
        if numbers:
            text += f"; {name}: {', '.join(map(str, numbers))}"
    return text
