"""How large the requests of a profile get, against what the nodes of a cluster take.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engine.probe import EngineLimits
from tuner.errors import Problem, Severity
from tuner.lint.load import LoadedProfile
from tuner.profile.placement import action_queue, working_queue
from tuner.schema.units import size_bytes
from tuner.validate.layer import problem

TOO_LARGE = "RT506"
PRESSURE = "RT507"
# A document with its action line against the message it is made of: 244 bytes give about 500.
_DOCUMENT = 2
# omelasticsearch's own maxbytes.
_MOST = "100m"


def request_problems(loaded: LoadedProfile, limits: EngineLimits) -> tuple[Problem, ...]:
    """Outputs whose full batches the nodes refuse, with what would be taken."""
    return tuple(_problems(loaded, limits))


def _problems(loaded: LoadedProfile, limits: EngineLimits) -> Iterator[Problem]:
    event = loaded.profile.workload.message_bytes.mean * _DOCUMENT
    for number, output in loaded.profile.enumerated:
        queue = action_queue(loaded.profile, number)
        queue = working_queue(loaded.profile, number) if queue.is_direct else queue
        request = min(queue.batch * event, size_bytes(output.maxbytes or _MOST))
        path = (*queue.path, "dequeueBatchSize")
        made = f"batches of {queue.batch} events make requests of about {request:,} bytes"
        if limits.request is not None and request > limits.request:
            yield problem(
                loaded,
                path,
                f"{made}, and a node takes at most {limits.request:,} (http.max_content_length), "
                f"the rest is answered with 413: use at most {limits.request // event}",
                TOO_LARGE,
            )
        elif limits.pressure is not None and request * queue.workers > limits.pressure:
            alone = request > limits.pressure
            many = "" if alone else f", {queue.workers} of them at a time"
            yield problem(
                loaded,
                path,
                f"{made}{many}, and a node answers 429 above {limits.pressure:,} bytes under way "
                "(indexing_pressure.memory.limit): use at most "
                f"{limits.pressure // event // (1 if alone else queue.workers)}",
                PRESSURE,
                Severity.ERROR if alone else Severity.WARNING,
            )
