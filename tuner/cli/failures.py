"""The exit code of runs that failed."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.errors import GuardrailBreached, JobFailed
from tuner.measure.measurement import Failure, FailureKind

_BREACHED = (FailureKind.DELIVERY, FailureKind.GUARDRAIL)


def require_none_failed(results: Iterable[object]) -> None:
    """Raise GuardrailBreached or JobFailed when some of the results are failures."""
    failures = [one for one in results if isinstance(one, Failure)]
    if not failures:
        return
    what = "1 run failed" if len(failures) == 1 else f"{len(failures)} runs failed"
    breaches = [failure for failure in failures if failure.kind in _BREACHED]
    if breaches:
        raise GuardrailBreached(f"{what}: {breaches[0].reason}")
    raise JobFailed(f"{what}: {failures[0].reason}")
