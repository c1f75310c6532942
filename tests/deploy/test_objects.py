"""How the engine's objects are brought back, and what is never deleted."""

from __future__ import annotations

import pytest

from tests.deploy.fleet import AFTER, BEFORE, TEMPLATE, Fleet, Holding
from tests.profile.examples import small
from tuner.deploy.objects import awaited, bring_back
from tuner.engine.client import JSON, EngineRefused

FIRST = "/logs-000001"
OURS: JSON = {"logs-000001": {"mappings": {"_meta": {"managed_by": "rsyslog-tune"}}}}


def brought_back(objects: dict[str, JSON], path: str, before: JSON | None) -> tuple[Fleet, str]:
    """What was done twice, and what was said."""
    fleet = Fleet()
    engine = Holding(fleet, objects)
    said = bring_back(engine, path, before)
    assert bring_back(engine, path, before) == said
    return fleet, said or ""


def test_what_was_there_is_there_again() -> None:
    objects = {TEMPLATE: AFTER}
    fleet, said = brought_back(objects, TEMPLATE, BEFORE)
    assert (objects, said) == ({TEMPLATE: BEFORE}, "")
    assert {step for _, step in fleet.steps} == {f"PUT {TEMPLATE}"}


def test_what_was_not_there_is_gone() -> None:
    objects = {TEMPLATE: AFTER, "/_index_template/other": AFTER}
    fleet, _ = brought_back(objects, TEMPLATE, None)
    assert objects == {"/_index_template/other": AFTER}
    assert fleet.steps == [("engine", f"DELETE {TEMPLATE}")]


@pytest.mark.parametrize("meta", [None, {}, {"managed_by": "fleet"}])
def test_an_index_that_is_not_ours_stays(meta: JSON | None) -> None:
    theirs: JSON = {"logs-000001": {"mappings": {} if meta is None else {"_meta": meta}}}
    objects: dict[str, JSON] = {FIRST: theirs, f"{FIRST}/_count": {"count": 0}}
    fleet, said = brought_back(objects, FIRST, None)
    assert (fleet.steps, said) == ([], "logs-000001 is not ours and stays")


def test_an_index_that_holds_events_stays() -> None:
    objects: dict[str, JSON] = {FIRST: OURS, f"{FIRST}/_count": {"count": 1}}
    fleet, said = brought_back(objects, FIRST, None)
    assert (fleet.steps, said) == ([], "logs-000001 holds 1 events and stays")


def test_an_empty_index_of_ours_goes() -> None:
    objects: dict[str, JSON] = {FIRST: OURS, f"{FIRST}/_count": {"count": 0}}
    fleet, _ = brought_back(objects, FIRST, None)
    assert fleet.steps == [("engine", f"DELETE {FIRST}")]


def test_settings_of_an_index_that_is_gone_are_not_brought_back() -> None:
    path = "/logs-1/_settings"
    before: JSON = {"index.refresh_interval": "1s"}
    fleet, _ = brought_back({}, path, before)
    assert fleet.steps == []
    objects: dict[str, JSON] = {path: {"index.refresh_interval": "30s"}}
    brought_back(objects, path, before)
    assert objects == {path: before}


class Refusing(Holding):
    """An engine that refuses to search, by this status."""

    def __init__(self, status: int) -> None:
        super().__init__(Fleet(), {})
        self.status = status

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        raise EngineRefused("no", self.status, "no")


def test_an_event_is_awaited_in_an_index_that_is_being_made_and_nowhere_else() -> None:
    assert awaited(Holding(Fleet(), {}), small(), "mark", 0.0)
    assert not awaited(Holding(Fleet(), {}, finds=False), small(), "mark", 0.0)
    for status in (404, 503):
        assert not awaited(Refusing(status), small(), "mark", 0.0)
    with pytest.raises(EngineRefused):
        awaited(Refusing(403), small(), "mark", 0.0)
