"""Whatever form an engine's answers have, what reads them gives something or fails with words."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping

import pytest

from tests.profile.examples import small
from tuner.deploy.plan import engine_changes
from tuner.deploy.verify import engine_drift
from tuner.engine.bulk_times import bulk_tasks
from tuner.engine.client import EngineClient
from tuner.engine.delivery import Expectation, check_by_identity, searchable
from tuner.engine.numbering import SentEvents
from tuner.engine.status import (
    count,
    facts,
    index_counters,
    indexed,
    limits,
    lost_shards,
    merges_under_way,
    node_counters,
    refreshes,
    unfinished,
)
from tuner.errors import JobFailed, TuneError

PLACES = (
    "nodes", "index_templates", "component_templates", "hits", "aggregations", "_all", "indices",
    "version", "policy", "syslog", "tasks", "count", "index_template", "total", "primaries",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    None, 5, 1e999, True, "\x1b[2J", [], [5], [None], [[]], [{}], {"a": 5}, {"a": None},
    {"a": {"a": []}}, {"buckets": 5}, {"buckets": [5]}, {"value": "x"}, {"hits": [5]},
    [{"name": "syslog", "index_template": 5}], [{"name": 5}], [{"index_template": {}}],
    [{"name": "syslog", "index_template": {"template": 5, "index_patterns": 5}}],
)  # fmt: skip
STRANGE: tuple[object, ...] = (
    {}, {"nodes": {"n": {"version": "8.19.0"}}}, {"nodes": {"n": {"version": {"a": []}}}},
    {"nodes": {"n": {"version": "\x1b[2J8"}}},
    *({place: value} for place in PLACES for value in VALUES),
)  # fmt: skip
PROFILE = small()
SENT, EACH = SentEvents((5,)), Expectation(((1,),))
READERS: Mapping[str, Callable[[EngineClient], object]] = {
    "facts": facts,
    "limits": limits,
    "lost shards": lambda client: lost_shards(client, "a", 0),
    "count": lambda client: count(client, "a"),
    "indexed": lambda client: indexed(client, "a", 1),
    "of an index": lambda client: index_counters(client, "a"),
    "of nodes": lambda client: node_counters(client, 1),
    "merges": lambda client: merges_under_way(client, "a"),
    "unfinished": unfinished,
    "refreshes": lambda client: refreshes(client, "a"),
    "searchable": lambda client: searchable(client, "a", "042", 0, 10),
    "bulks": lambda client: bulk_tasks(client, 1),
    "delivery": lambda client: check_by_identity(client, "a", SENT, "042", EACH),
    "changes": lambda client: engine_changes(PROFILE, client, None, take_over=False),
    "drift": lambda client: list(engine_drift(PROFILE, client, None)),
}


class Strange(EngineClient):
    """An engine that answers everything alike."""

    def __init__(self, answer: object) -> None:
        super().__init__("http://127.0.0.1:9")
        self.answer = answer

    def request(self, *_: object, **__: object) -> object:
        return self.answer


@pytest.mark.parametrize("what", READERS)
def test_no_form_of_an_answer_is_a_bug_of_ours(what: str) -> None:
    for answer in STRANGE:
        with contextlib.suppress(TuneError):
            try:
                READERS[what](Strange(answer))
            except TuneError:
                raise
            except Exception as bug:
                raise AssertionError(json.dumps(answer)) from bug


@pytest.mark.parametrize("version", [None, 5, {"a": 1}, "", "x", "\x1b[2J8.19.0", "8.19.0" * 20])
def test_what_names_no_version_is_no_engine(version: object) -> None:
    with pytest.raises(JobFailed, match="not like Elasticsearch or OpenSearch"):
        facts(Strange({"nodes": {"n": {"version": version}}}))
