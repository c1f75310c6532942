"""`rsyslog-tune sink`: a bulk endpoint to point an rsyslog at."""

from __future__ import annotations

import time

from tuner.cli.console import OutputFormat, print_result, result, say
from tuner.cli.usage import traffic as usage
from tuner.engine.client import EngineClient
from tuner.engine.delivery import Arrived, ArrivedRun, FaultCount, arrived, fault_counts
from tuner.errors import Interrupted, JobFailed
from tuner.lab.sink import Sink, parse_fault
from tuner.schema.numerals import counted

_POLL_S = 0.2


def sink(options: usage.SinkArguments) -> None:
    """Carry out `rsyslog-tune sink`."""
    faults = [parse_fault(text) for text in options.fault or ()]
    with Sink(options.port, faults) as running:
        client = EngineClient(running.url)
        try:
            if options.output is OutputFormat.TEXT:
                result(running.url)
            say(f"the sink listens at {running.url}; press Ctrl-C to end it")
            while running.ending() is None:
                time.sleep(_POLL_S)
            raise JobFailed(f"the sink's process ended with {running.ending()}")
        except Interrupted:
            _show(running.url, arrived(client), fault_counts(client), options.output)
            raise
        finally:
            client.close()


def _show(
    url: str, indices: tuple[Arrived, ...], faults: tuple[FaultCount, ...], output: OutputFormat
) -> None:
    lines = []
    for index in indices:
        lines.append(f"{index.index}: {counted(index.documents, 'document')}")
        lines += [f"  run {run.run_id}: {_run_text(run)}" for run in index.runs]
    for fault in faults:
        documents = counted(fault.documents, "document")
        lines.append(f"fault {fault.fault}: {documents}, {fault.stored:,} counted")
    if not indices:
        lines.append("nothing arrived")
    fields = {"url": url, "indices": indices, "faults": faults}
    print_result(output, "sink", fields, "\n".join(lines))


def _run_text(run: ArrivedRun) -> str:
    account = run.account
    duplicates = counted(account.duplicated, "duplicate")
    text = f"{counted(run.events, 'event')}, {account.lost:,} missing, {duplicates}"
    for name, numbers in (("missing", account.missing), ("duplicated", account.doubled)):
        if numbers:
            text += f"; {name}: {', '.join(map(str, numbers))}"
    return text
