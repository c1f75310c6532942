"""Queues as parameters of what has them."""

from __future__ import annotations

from tuner.modules.queue import Queue
from tuner.render.rainerscript import Value


def queue_parameters(resolved: Queue) -> dict[str, Value]:
    """Every parameter of a resolved queue: rsyslog's defaults differ by place and by release."""
    written = resolved.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {f"queue.{name}": value for name, value in written.items()}
