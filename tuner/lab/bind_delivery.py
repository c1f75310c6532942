"""Binding the files that outputs write what was refused to: into the lab's own folder."""

from __future__ import annotations

from tuner.modules.outputs import OmelasticsearchOutput, RetryFailures


def bind_delivery(output: OmelasticsearchOutput, spool: str) -> dict[str, object]:
    """What to replace in an output for files of its own below `spool`."""
    changes: dict[str, object] = {}
    if output.retryfailures is not None:
        changes["retryfailures"] = RetryFailures(file=f"{spool}/{output.name}-rejected.json")
    if output.errorfile is not None:
        changes["errorfile"] = f"{spool}/{output.name}-errors.json"
    return changes
