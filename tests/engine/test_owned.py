"""What is ours in an engine: only that is ever deleted."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.owned import (
    MANAGER,
    Owner,
    create_index,
    created,
    put_template,
    remove,
    settle,
)
from tuner.errors import JobFailed, Refused

OURS = Owner("r1a2b3")
META = OURS.meta


@dataclass
class Objects:
    """Indices and templates by name, with their `_meta`."""

    indices: dict[str, object] = field(default_factory=dict)
    templates: dict[str, object] = field(default_factory=dict)


class Engine(EngineClient):
    """An engine that holds them; `deleted` are the paths of what was."""

    def __init__(self, objects: Objects, *, acknowledges: bool = True) -> None:
        super().__init__("http://engine.invalid")
        self.objects, self.acknowledges = objects, acknowledges
        self.asked: list[str] = []
        self.limits_s: list[float | None] = []
        self.put: list[JSON | None] = []
        self.refuses: dict[str, int] = {}
        self.deleted: list[str] = []
        self.template: JSON = {}

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        self.asked.append(f"{method} {path}")
        self.limits_s.append(timeout_s)
        place, (indices, templates) = path.partition("?")[0], vars(self.objects).values()
        *_, name = place.split("/")
        if (status := self.refuses.get(f"{method} {place}")) is not None:
            raise EngineRefused("no", status, "no")
        if method == "DELETE":
            self.deleted.append(place)
            return {}
        if method == "PUT":
            self.put.append(body)
            return {"shards_acknowledged": self.acknowledges}
        assert method == "GET"
        if place.startswith("/_cat/indices/"):
            return [{"index": one} for one in indices if one.startswith(name.rstrip("*"))]
        if place.startswith("/_index_template"):
            name = name if place.startswith("/_index_template/") else "*"
            return {
                "index_templates": [
                    {"name": one, "index_template": {"_meta": meta} | self.template}
                    for one, meta in templates.items()
                    if one.startswith(name.rstrip("*"))
                ]
            }
        index = place.removesuffix("/_mapping")[1:]
        if index not in indices:
            raise EngineRefused("no such index", 404, "no such index")
        return {index: {"mappings": {"_meta": indices[index]}}}


NAME = f"{OURS.prefix}t1-logs"
FOREIGN = [
    None, {}, "r1a2b3", {"managed_by": MANAGER}, {"run_id": "r1a2b3"},
    {"managed_by": "x", "run_id": "r1a2b3"}, {"managed_by": MANAGER, "run_id": "other"},
    {"managed_by": MANAGER, "run_id": 1},
]  # fmt: skip


def test_indices_and_templates_of_the_run_are_removed_by_their_exact_names() -> None:
    engine = Engine(Objects({NAME: META, f"{NAME}-2": META}, {NAME: META}))
    remove(engine, OURS, OURS.prefix)
    assert sorted(engine.deleted) == [f"/_index_template/{NAME}", f"/{NAME}", f"/{NAME}-2"]
    assert not any("*" in path for path in engine.deleted)


@pytest.mark.parametrize("meta", FOREIGN)
def test_what_does_not_say_that_it_is_of_this_run_stays(meta: object) -> None:
    """Though it has a name as ours have."""
    engine = Engine(Objects({NAME: meta}, {NAME: meta}))
    remove(engine, OURS, OURS.prefix)
    assert engine.deleted == []
    assert created(engine).get(OURS.run_id) is None


def test_what_says_so_and_has_another_name_stays() -> None:
    other = f"{Owner('r9').prefix}logs"
    engine = Engine(Objects({"logs": META, other: META}, {"logs": META, other: META}))
    remove(engine, OURS, OURS.prefix)
    assert engine.deleted == []
    assert created(engine) == {}


@pytest.mark.parametrize("prefix", ["", "logs", "rsyslog-tune-", "rsyslog-tune-r1a2b3", "*"])
def test_a_prefix_that_others_may_have_is_refused_before_anything_is_asked(prefix: str) -> None:
    engine = Engine(Objects({NAME: META}))
    with pytest.raises(Refused, match="not ours to touch"):
        remove(engine, OURS, prefix)
    with pytest.raises(Refused, match="not ours to touch"):
        put_template(engine, OURS, prefix, {})
    with pytest.raises(Refused, match="not ours to touch"):
        create_index(engine, OURS, prefix)
    assert engine.asked == []


def test_one_trial_removes_what_is_its_own() -> None:
    engine = Engine(Objects({NAME: META, f"{OURS.prefix}t2-logs": META}))
    remove(engine, OURS, f"{OURS.prefix}t1-")
    assert engine.deleted == [f"/{NAME}"]


def test_a_template_never_replaces_another_one() -> None:
    engine = Engine(Objects())
    put_template(engine, OURS, NAME, {"priority": 500})
    assert engine.asked == [f"PUT /_index_template/{NAME}?create=true&master_timeout=10s"]
    assert engine.put == [{"priority": 500}]


def test_an_index_whose_copies_do_not_start_is_no_index_to_measure() -> None:
    create_index(Engine(Objects()), OURS, NAME)
    with pytest.raises(JobFailed, match="a copy of a shard did not start"):
        create_index(Engine(Objects(), acknowledges=False), OURS, NAME)


def test_a_cluster_without_a_master_says_so_before_we_lose_patience() -> None:
    """It waits for one for 30 s, as long as our client for an answer, request after request."""
    engine = Engine(Objects({NAME: META}, {NAME: META}))
    put_template(engine, OURS, NAME, {})
    create_index(engine, OURS, NAME)
    remove(engine, OURS, OURS.prefix)
    assert len(engine.asked) > 5
    assert all("master_timeout=10s" in one for one in engine.asked)


def test_what_runs_left_is_told_by_run() -> None:
    other = Owner("r9")
    theirs = f"{other.prefix}logs"
    engine = Engine(Objects({NAME: META, theirs: other.meta}, {NAME: META}))
    assert created(engine) == {
        OURS.run_id: [f"/{NAME}", f"/_index_template/{NAME}"], other.run_id: [f"/{theirs}"],
    }  # fmt: skip


@pytest.mark.parametrize("asked", [f"GET /{NAME}/_mapping", f"DELETE /{NAME}"])
def test_what_another_removed_meanwhile_is_gone_and_what_the_engine_refuses_is_said(
    asked: str,
) -> None:
    engine = Engine(Objects({NAME: META}, {NAME: META}))
    engine.refuses = {asked: 404}
    remove(engine, OURS, OURS.prefix)
    assert engine.deleted == [f"/_index_template/{NAME}"]
    engine.refuses = {asked: 403}
    with pytest.raises(EngineRefused):
        remove(engine, OURS, OURS.prefix)


def test_an_engine_that_knows_no_templates_has_none() -> None:
    engine = Engine(Objects({NAME: META}))
    engine.refuses = {f"GET /_index_template/{OURS.prefix}*": 404}
    remove(engine, OURS, OURS.prefix)
    assert engine.deleted == [f"/{NAME}"]


def test_an_engine_that_is_still_at_work_is_waited_for_whatever_it_says() -> None:
    """Who is interrupted while something is created does not see it yet, and does not wait for an
    engine that is silent as long as the client does."""
    engine = Engine(Objects())
    engine.refuses = {"GET /_cluster/health": 408}
    settle(engine)
    assert engine.asked == ["GET /_cluster/health?wait_for_events=languid&timeout=5s"]
    assert engine.limits_s == [10.0]
