"""Reading values out of the engine's answers."""

from __future__ import annotations

from tuner.errors import JobFailed


def at(answer: object, *keys: str) -> object:
    """The value under `keys`, or None when the answer has none there."""
    for key in keys:
        if not isinstance(answer, dict) or key not in answer:
            return None
        answer = answer[key]
    return answer


def number_at(answer: object, *keys: str) -> int:
    """The whole number under `keys`, 0 when absent; raises JobFailed on anything else."""
    value = at(answer, *keys)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JobFailed(f"the engine answered {'.'.join(keys)} = {value!r}, not a number")
    return int(value)
