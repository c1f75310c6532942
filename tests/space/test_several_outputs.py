"""Knobs, recipes and candidates of several outputs into the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.errors import BadProfile
from tuner.lint.candidate import Checker, candidate
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.profile.starter import on_top_of
from tuner.space.knobs import knobs, most_promising
from tuner.space.recipes import RECIPES, changes_of

OUTPUTS = """\
name: two
inputs: [{type: imptcp, address: 127.0.0.1, port: 10514}]
outputs:
  - {name: few, type: omelasticsearch, servers: ["http://127.0.0.1:9200"], index: {name: few},
     queue: {type: LinkedList, size: 5000, dequeueBatchSize: 16}}
  - {name: many, type: omelasticsearch, servers: ["http://127.0.0.1:9200"], index: {name: many},
     queue: {type: LinkedList, size: 5000, dequeueBatchSize: 16}}
"""
CONFIGURATION = """\
module(load="imtcp") module(load="omelasticsearch")
input(type="imtcp" port="10514")
if $syslogtag contains 'app' then {
  action(type="omelasticsearch" name="few" searchType="" bulkmode="on" queue.type="LinkedList")
  stop
}
action(type="omelasticsearch" name="many" searchType="" bulkmode="on" queue.type="LinkedList")
"""
BATCH = "outputs[{}].queue.dequeueBatchSize"


def loaded(more: str = "") -> LoadedProfile:
    return parse_profile(OUTPUTS + more, "two.yaml")


def tuned(written: LoadedProfile) -> list[str]:
    return [written.profile.outputs[number].name for number in written.profile.tuned]


def batches(written: LoadedProfile) -> list[str]:
    paths = [str(knob.path) for knob in knobs(written.profile)]
    return [name for name in ("few", "many") if BATCH.format(name) in paths]


def test_what_is_tuned_is_asked_for_or_has_at_least_5_percent_of_the_documents() -> None:
    assert tuned(loaded()) == batches(loaded()) == ["few", "many"]
    seldom = loaded("workload: {shares: {few: 0.01, many: 0.99}}\n")
    assert tuned(seldom) == batches(seldom) == ["many"]
    assert tuned(loaded("workload: {shares: {few: 0.05, many: 0.95}}\n")) == ["many", "few"]
    assert tuned(loaded("search: {actions: [few]}\n")) == ["few"]
    learnt = loaded().profile.tuning_by({"few": 0.001, "many": 1.2})
    assert [learnt.outputs[number].name for number in learnt.tuned] == ["many"]
    asked = loaded("search: {actions: [few]}\n").profile.tuning_by({"few": 0.001, "many": 1.2})
    assert asked.search.actions == ("few",)


def test_a_queue_on_the_way_to_both_is_turned_once_for_both() -> None:
    every = {str(knob.path): knob for knob in knobs(loaded().profile)}
    assert every["main_queue.dequeueBatchSize"].outputs == ("few", "many")
    assert every[BATCH.format("many")].outputs == ("many",)


def test_what_has_less_of_the_documents_ranks_behind() -> None:
    every = {
        str(knob.path): knob for knob in knobs(loaded().profile, (), {"few": 0.1, "many": 0.9})
    }
    few, many = every[BATCH.format("few")], every[BATCH.format("many")]
    assert few.rank == 9 * many.rank
    assert every["main_queue.dequeueBatchSize"].rank < few.rank
    assert few.share == pytest.approx(1 / 9)
    assert many.share == 1.0
    assert every["main_queue.dequeueBatchSize"].share == 1.0


def test_of_the_most_promising_each_counts_as_its_share_of_the_documents() -> None:
    """Settings of small outputs take no places of those that most of the events pass."""
    shares = {"few": 0.1, "many": 0.9}
    kept = most_promising(knobs(loaded().profile, (), shares), 16, ())
    alone = most_promising(knobs(loaded().profile.tuning(("many",)), (), shares), 14, ())
    assert {knob.path for knob in alone} <= {knob.path for knob in kept}
    assert len(kept) > 16
    assert 15 < sum(knob.share for knob in kept) < 17


def test_a_recipe_is_for_all_of_them() -> None:
    changes = dict(changes_of(RECIPES[0], knobs(loaded().profile)))
    assert changes[BATCH.format("few")] == changes[BATCH.format("many")] == 5000


def test_a_candidate_fits_each_of_them_and_stays_about_the_same_outputs() -> None:
    written = loaded("search: {actions: [many, few]}\n")
    changes = {f"outputs[{name}].queue.workerThreads": 4 for name in ("few", "many")}
    made = candidate(written, changes.items()).profile
    queues = [output.queue for output in made.indexed if output.queue is not None]
    assert [queue.worker_thread_minimum_messages for queue in queues] == [16, 16]
    assert made.search.actions == ("many", "few")
    assert Checker(written).profile(changes.items()).search.actions == ("many", "few")


def test_outputs_of_a_configuration_have_two_names(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(CONFIGURATION, "utf-8")
    text = on_top_of(str(tmp_path / "rsyslog.conf"), "p", "8.2302")
    for name in ("many", "action[many]"):
        assert tuned(parse_profile(f"{text}search: {{actions: ['{name}']}}\n", "p.yaml")) == [
            "many"
        ]
    with pytest.raises(BadProfile) as refused:
        parse_profile(f"{text}search: {{actions: [most]}}\n", "p.yaml")
    (problem,) = refused.value.problems
    assert problem.code == "RT604"
    assert "called most: those are few, many, action[few], action[many]" in problem.message


def test_one_that_stands_in_for_another_is_not_tuned() -> None:
    stands_in = OUTPUTS.replace(
        "{name: few, t", "{name: few, action.resumeRetryCount: 2, t"
    ).replace(
        "index: {name: many},", "index: {name: many}, action.execOnlyWhenPreviousIsSuspended: on,"
    )
    assert tuned(parse_profile(stands_in, "two.yaml")) == ["few"]
