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


def delivery_rows(
    path: str, written: OmelasticsearchOutput, used: OmelasticsearchOutput
) -> list[tuple[str, str, str]]:
    """The files and the key as written and as used, each with its path in the profile."""
    return [
        (f"{path}.apikey", _given(written), _given(used)),
        (f"{path}.retryfailures.file", _rejected(written), _rejected(used)),
        (f"{path}.errorfile", str(written.errorfile), str(used.errorfile)),
    ]


def _given(output: OmelasticsearchOutput) -> str:
    return "none" if output.apikey is None else "given"


def _rejected(output: OmelasticsearchOutput) -> str:
    return "none" if output.retryfailures is None else output.retryfailures.file
