"""What a trial puts into an engine, and that it takes it away again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.engine.test_owned import META, OURS, Engine, Objects
from tests.lab.test_bind import SITE
from tests.profile.examples import small
from tuner.engine.client import EngineRefused
from tuner.engine.numbering import FIELD, MAPPING
from tuner.engines.user_template import user_template
from tuner.errors import Interrupted, JobFailed, Refused, Unreachable
from tuner.lab.bind import Bound, bind
from tuner.lab.lab import Lab
from tuner.measure.pipeline import install, removed
from tuner.render.engine_files import index_template

PREFIX = f"{OURS.prefix}t1-"
PLACE = replace(SITE, index_prefix=PREFIX)


def installed(engine: Engine, bound: Bound) -> list[dict[str, Any]]:
    """What a trial puts into an engine."""
    install(lab_of(engine), bound.copy)
    return cast(list[dict[str, Any]], engine.put)


def fitted(changes: Mapping[str, object] | None = None) -> Bound:
    return bind(small(changes or {}), PLACE, (40514,))


def test_indices_are_ours_and_count_the_number_of_an_event() -> None:
    """What says so can be removed again, and nothing else."""
    engine = Engine(Objects())
    body, _, _ = installed(engine, given(fitted()))
    assert engine.asked[1] == f"PUT /_index_template/{PREFIX}own?create=true&master_timeout=10s"
    assert body["index_patterns"] == [f"{PREFIX}*"]
    assert body["_meta"] == body["template"]["mappings"]["_meta"] == META
    assert body["template"]["mappings"]["properties"] == {FIELD: MAPPING}
    # Above what people give theirs (the engine takes the highest).
    assert body["priority"] >= 500


def test_the_template_of_an_index_holds_before_ours() -> None:
    """With our prefix, the replicas that the lab has, and room for the number of an event."""
    engine = Engine(Objects())
    ours, theirs, _ = installed(engine, given(fitted()))
    assert theirs["index_patterns"] == [f"{PREFIX}logs-*", f"{PREFIX}audit"]
    assert theirs["priority"] > ours["priority"]
    assert theirs["_meta"] == META
    assert theirs["template"] == {
        "settings": {
            "index.number_of_shards": 3, "index.number_of_replicas": 0,
            "index.write.wait_for_active_shards": 1, "index.store.stats_refresh_interval": "0s",
        },
        "mappings": {
            "dynamic": "strict", "_meta": META,
            "properties": {"host": {"type": "keyword"}, FIELD: MAPPING},
        },
    }  # fmt: skip


def given(bound: Bound) -> Bound:
    """With an index template of the user's in the place of that which is rendered."""
    return replace(bound, text=replace(bound.text, templates=GIVEN))


GIVEN = (
    user_template(
        "t.json",
        json.dumps(
            {
                "index_patterns": ["logs-*", "audit"],
                "template": {
                    "settings": {
                        "index.number_of_shards": 3, "index.number_of_replicas": 2,
                        "index.write.wait_for_active_shards": "2",
                    },
                    "mappings": {
                        "dynamic": "strict", "properties": {"host": {"type": "keyword"}},
                    },
                },
            }
        ),
    ),
)  # fmt: skip


def lab_of(engine: Engine) -> Lab:
    folder = Path("/nonexistent")
    made = SimpleNamespace(
        client=engine, owner=OURS, templates=None, trial_folder=lambda name: folder / name
    )
    return cast(Lab, made)


@pytest.mark.parametrize("rotate", [None, "daily"])
def test_the_index_of_a_trial_is_as_rendered_and_ours(rotate: str | None) -> None:
    """With the user's settings and fields; only the number of events and fresh sizes are added."""
    index = {"name": "syslog", "settings": {"refresh_interval": "7s"}}
    changes = {"outputs[logs].index": index if rotate is None else {**index, "rotate": rotate}}
    bound = fitted(changes)
    _, template, *created = installed(Engine(Objects()), bound)
    assert len(created) == (rotate is None)
    rendered = cast(dict[str, Any], index_template(written := small(changes), written.measured))
    patterns = {f"{PREFIX}{one}" for one in rendered["index_patterns"]}
    assert patterns <= set(template["index_patterns"])
    inner, plain = template["template"], rendered["template"]
    assert plain["settings"]["index.refresh_interval"] == "7s"
    here = {"index.store.stats_refresh_interval": "0s", "index.number_of_replicas": 0}
    assert inner["settings"] == plain["settings"] | here
    fields = plain["mappings"]["properties"]
    assert inner["mappings"]["properties"] == fields | {FIELD: MAPPING}
    assert template["_meta"] == inner["mappings"]["_meta"] == META


def test_of_two_templates_that_of_the_longer_name_wins() -> None:
    output = small().measured.model_dump(mode="json", by_alias=True, exclude_none=True)
    daily = {**output, "index": {"name": "app", "rotate": "daily"}}
    longer = {**daily, "name": "audit", "index": {"name": "app-audit", "rotate": "daily"}}
    _, first, second = installed(Engine(Objects()), fitted({"outputs": [longer, daily]}))
    assert f"{PREFIX}app-*" in first["index_patterns"]
    assert f"{PREFIX}app-audit-*" in second["index_patterns"]
    assert second["priority"] > first["priority"]


@pytest.mark.parametrize("pattern", ["*", "*-syslog"])
def test_a_template_of_the_cluster_that_would_take_the_place_of_ours_is_refused(
    pattern: str,
) -> None:
    """As a catch-all of a higher priority does: something else would be measured."""
    engine = Engine(Objects(templates={"catch-all": None}))
    engine.template = {"index_patterns": [pattern], "priority": 5000}
    with pytest.raises(Refused, match="catch-all of the cluster has priority 5000 and matches"):
        installed(engine, fitted())
    assert engine.put == []
    for harmless in ({"priority": 100}, {"index_patterns": ["logs-*"]}):
        engine.template |= {"index_patterns": [pattern], "priority": 5000} | harmless
        installed(engine, fitted())


class Gone(Engine):
    """One that ended."""

    def request(self, *_: object, **__: object) -> object:
        raise Unreachable("connection refused")


@pytest.mark.parametrize("signal_number", [2, 15])
def test_a_signal_that_ends_the_engine_too_ends_the_command(signal_number: int) -> None:
    """As `systemctl stop` does: taken for the loss of an engine it would be started again, and the
    search go on, deaf to signals."""
    with pytest.raises(Interrupted), removed(lab_of(Gone(Objects())), "t1"):
        raise Interrupted(signal_number)


@pytest.mark.parametrize(
    ("failure", "told"),
    [(None, EngineRefused), (JobFailed("a loss"), JobFailed), (Unreachable("gone"), Unreachable)],
)
def test_why_a_trial_failed_is_told_even_if_the_engine_refuses_to_clean_up(
    failure: Exception | None, told: type[Exception]
) -> None:
    engine = Engine(Objects({f"{OURS.prefix}t1-logs": META}))
    engine.refuses[f"DELETE /{OURS.prefix}t1-logs"] = 503

    def trial() -> None:
        with removed(lab_of(engine), "t1"):
            if failure is not None:
                raise failure

    with pytest.raises(told):
        trial()
