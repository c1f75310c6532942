"""A lab on the sink in this process, for faults of the engine's answers and of the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.safety.invariants import Json
from tests.shipped import ROOT, at_hand
from tuner.engine import owned
from tuner.engine.client import EngineClient
from tuner.engine.delivery import arrived
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import Lab, lab_of, new_run_id
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink, parse_fault
from tuner.measure import pipeline
from tuner.measure.measurement import Delivery, Failure, Measurement, TrialPlan
from tuner.measure.place import run_profile

PROFILE = at_hand((ROOT / "profiles" / "default.yaml").read_text(encoding="utf-8"))
SHORT = TrialPlan(0.5, 1.0)


def silent(_phase: str) -> None:
    pass


@contextmanager
def sink_lab(folder: Path, *faults: str) -> Iterator[Lab]:
    """A lab whose sink goes wrong so; nothing of it is left below `folder` afterwards."""
    before = set(folder.iterdir())
    with Sink(faults=[parse_fault(text) for text in faults]) as sink, scratch(folder) as inner:
        lab = lab_of(SinkEngine(sink), inner, new_run_id())
        yield lab
        assert list(inner.iterdir()) == []
        lab.client.close()
    assert set(folder.iterdir()) == before


def delivery_of(outcome: object) -> Delivery:
    assert isinstance(outcome, Failure), outcome
    assert outcome.delivery is not None, outcome
    return outcome.delivery


def assert_next_trial_works(lab: Lab, plan: TrialPlan = SHORT) -> None:
    assert owned.indices(lab.client, lab.owner.prefix) == ()
    outcome = run_profile(lab, PROFILE, plan, "next", silent)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact
    assert owned.indices(lab.client, lab.owner.prefix) == ()


@contextmanager
def books() -> Iterator[list[Json]]:
    """What the sink itself counted of the flood of each trial, read before its index is removed
    (I10)."""
    kept: list[Json] = []

    def remove(client: EngineClient, owner: owned.Owner, prefix: str) -> None:
        for index in arrived(client):
            distinct = sum(one.events for one in index.runs)
            kept.append({"documents": index.documents, "distinct": distinct})
        owned.remove(client, owner, prefix)

    with patch.object(pipeline, "remove", remove):
        yield kept


def require_true_score(outcome: object, counted: Json) -> None:
    """A score means that every event arrived once; a failure tells what the sink counted."""
    if isinstance(outcome, Measurement):
        exact = counted["documents"] == counted["distinct"] == outcome.delivery.sent
        assert exact, f"{outcome.delivery.sent} were sent, the trial has a score: {counted}"
        return
    assert isinstance(outcome, Failure), outcome
    if outcome.delivery is not None:
        told = outcome.delivery
        assert told.sent - told.lost == counted["distinct"], (told, counted)
        assert told.duplicated == counted["documents"] - counted["distinct"], (told, counted)
