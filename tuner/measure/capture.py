"""The documents that rsyslog writes for a profile, as it writes them."""

from __future__ import annotations

import contextlib
import secrets
import time
from dataclasses import replace

from tuner.engine.client import EngineClient
from tuner.engine.feed import kept
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.spread import traffic
from tuner.flood.workload import flood_spec
from tuner.lab.engine import LabEngine, StoringEngine
from tuner.lab.lab import Lab
from tuner.lab.sink import Sink
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.trial import failure_of
from tuner.measure.watch import Stalled, Watch, saturate
from tuner.profile.backlog import backlog_marks
from tuner.profile.model import Profile

_STEP_S = 0.2
_PATIENCE_S = 60.0


class _Recorder(StoringEngine):
    """A sink in the place of an engine, written to as that would be."""

    def __init__(self, engine: LabEngine, client: EngineClient, sink: Sink) -> None:
        super().__init__(client, engine.heap, engine.facts)
        self._engine = engine
        self._sink = sink

    def needs_numbers(self, profile: Profile) -> bool:
        """As the engine does."""
        return self._engine.needs_numbers(profile)

    def ending(self) -> str | None:
        """How the sink's process ended, None while it runs."""
        return self._sink.ending()


def capture(lab: Lab, profile: Profile, name: str, documents: int) -> bytes:
    """Action and document lines of the first events that the pipeline of `profile` would index in
    `lab` under `name`: of `documents` of them, or as many as 64 MiB hold.

    They reach a sink that stands in for the engine, under the same index names and with the same
    fields, that for the number of an event included.  Raises JobFailed when they do not.
    """
    with (
        Sink(keep=documents) as sink,
        contextlib.closing(EngineClient(sink.url)) as client,
    ):
        stand_in = replace(lab, engine=_Recorder(lab.engine, client, sink))
        stand_in.check()
        try:
            with pipeline(stand_in, profile, name) as pipe:
                return _flooded(pipe, documents)
        except (JobFailed, Refused, Unreachable) as error:
            why = failure_of(error, stand_in, name).reason
            raise JobFailed(f"rsyslog wrote no documents to feed the engine with: {why}") from None


def _flooded(pipe: Pipeline, documents: int) -> bytes:
    spec = flood_spec(pipe.profile, secrets.token_hex(4))
    deadline = time.monotonic() + _PATIENCE_S
    with traffic(spec, pipe.lab.loads()) as flood:
        watch = Watch(pipe, flood)
        saturating = saturate(flood, backlog_marks(pipe.profile))
        while (arrived := watch.indexed()) < documents:
            if time.monotonic() > deadline:
                raise Stalled(f"{arrived:,} of {documents:,} came within {_PATIENCE_S:g} s")
            watch.follow(_STEP_S, saturating)
    return kept(pipe.client)
