"""The levels of a knob, and where the profile's own value stands among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.profile.examples import small
from tests.shipped import EXAMPLES
from tests.shipped import PROFILES as SHIPPED
from tuner.lint.load import load_profile
from tuner.profile.model import Profile
from tuner.space.knob import Bottleneck, Cost, Knob, Level
from tuner.space.knobs import knobs, most_promising, of_rsyslog, sooner, without_node
from tuner.space.recipes import RECIPES, UNHELPED, changes_of
from tuner.space.table import REPLY_FILTER

REFRESH = "outputs[logs].index.settings.refresh_interval"
FLUSH = "outputs[logs].index.settings.translog.flush_threshold_size"


@pytest.mark.parametrize(
    ("path", "written", "levels"),
    [
        (REFRESH, None, (None, "1s", "2s", "5s", "10s", "20s", "30s")),
        (REFRESH, "500ms", ("500ms", "1s", "2s", "5s", "10s", "20s", "30s")),
        (REFRESH, "15s", ("1s", "2s", "5s", "10s", "15s", "20s", "30s")),
        (REFRESH, "1m", ("1s", "2s", "5s", "10s", "20s", "30s", "1m")),
        (REFRESH, "-1", ("1s", "2s", "5s", "10s", "20s", "30s", "-1")),
        (FLUSH, "384mb", (None, "256mb", "384mb", "512mb", "1gb", "2gb")),
        ("node.indices.memory.index_buffer_size", "10%", ("10%", "20%", "30%", "40%")),
        ("node.heap", "512m", ("256m", "512m", "1g")),
        ("outputs[logs].queue.dequeueBatchSize", 700, (500, 700, 1000, 2000, 3000, 5000, 8000)),
        (
            "outputs[logs].filter_path",
            [*REPLY_FILTER, "took"],
            (None, REPLY_FILTER, (*REPLY_FILTER, "took")),
        ),
    ],
)
def test_the_current_level_stands_in_its_place(
    path: str, written: object, levels: tuple[Level, ...]
) -> None:
    profile = small({} if written is None else {path: written})
    found = by_path(profile)[path]
    assert found.levels == levels
    assert found.current == (tuple(written) if isinstance(written, list) else written)


@pytest.mark.parametrize(
    ("written", "levels"),
    [("10s", ("1s", "2s", "5s", "10s")), (None, (None, "1s", "2s", "5s", "10s", "20s", "30s"))],
)
def test_who_wants_events_sooner_waits_for_no_longer_refresh(
    written: Level, levels: tuple[Level, ...]
) -> None:
    every = knobs(small({REFRESH: written}))
    turned = sooner(every)
    assert next(knob for knob in turned if knob.path == REFRESH).levels == levels
    assert [knob.path for knob in turned] == [knob.path for knob in every]
    recipe = next(recipe for recipe in RECIPES if "settings.refresh_interval" in recipe.settings)
    raised = dict(changes_of(recipe, turned)).get(REFRESH)
    assert raised is None or written is None


def test_the_workers_of_a_queue_on_disk_are_no_knob() -> None:
    on_disk = small({"main_queue.type": "Disk", "main_queue.filename": "main",
                     "main_queue.spoolDirectory": "/var/spool/rsyslog"})  # fmt: skip
    paths = {knob.path for knob in knobs(on_disk)}
    assert "main_queue.dequeueBatchSize" in paths
    assert not {path for path in paths if path.startswith("main_queue.workerThread")}
    assert "outputs[logs].queue.workerThreads" in paths


ROOT = Path(__file__).parents[2]
PROFILES = [*SHIPPED, *EXAMPLES]


def by_path(profile: Profile) -> dict[str, Knob]:
    return {str(knob.path): knob for knob in knobs(profile)}


def test_a_usual_profile_has_more_than_twenty_knobs_on_both_sides() -> None:
    every = knobs(load_profile(ROOT / "profiles" / "default.yaml").profile)
    assert len(of_rsyslog(every)) >= 12
    assert len(every) - len(of_rsyslog(every)) >= 8
    assert {knob.cost for knob in every} == set(Cost)
    assert not {knob.cost for knob in without_node(every)} & {Cost.NODE_RESTART}


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_knob_of_every_profile_is_well_formed(path: Path) -> None:
    """Few distinct levels in order, the current one among them; parents first.  What is told of it
    says the thing, and no number of a finding."""
    profile = load_profile(path).profile
    if not profile.indexed:
        return
    seen: dict[str, Knob] = {}
    for knob in knobs(profile):
        assert knob.path not in seen
        assert 2 <= len(knob.levels) <= 12, knob
        assert len(set(map(repr, knob.levels))) == len(knob.levels)
        assert knob.current in knob.levels
        places = [p for i, p in enumerate(knob.positions) if i not in knob.special]
        assert places == sorted(places), knob
        assert all(0 <= place <= 1 for place in knob.positions)
        for need in knob.needs:
            assert set(need.levels) & set(seen[need.path].levels)
            assert set(seen[need.path].levels) - set(need.levels)
        assert knob.keys
        assert knob.helps
        assert not re.search(r"\bF\d", f"{knob.why} {knob.note}")
        seen[knob.path] = knob


def test_every_bottleneck_has_knobs_that_can_matter() -> None:
    helped = {found for knob in knobs(small()) for found in knob.helps}
    assert helped == set(Bottleneck) - UNHELPED


def test_what_a_direct_action_has_not_needs_a_queue() -> None:
    direct = by_path(small({"outputs[logs].queue": None}))
    size, kind = direct["outputs[logs].queue.size"], direct["outputs[logs].queue.type"]
    assert kind.current == "Direct"
    assert size.current is None
    (need,) = size.needs
    assert need.path == kind.path
    assert "Direct" not in need.levels
    assert "main_queue.minDequeueBatchSize" in direct
    assert "main_queue.minDequeueBatchSize" not in by_path(small())


def test_waiting_for_a_batch_needs_a_batch_to_wait_for() -> None:
    (waits, of_type) = sorted(
        by_path(small())["outputs[logs].queue.minDequeueBatchSize.timeout"].needs,
        key=lambda need: need.path,
    )
    assert waits.path == "outputs[logs].queue.minDequeueBatchSize"
    assert 0 not in waits.levels
    assert of_type.path == "outputs[logs].queue.type"


def test_a_frozen_parent_takes_what_needs_it_along_or_leaves_it_free() -> None:
    """Frozen at a level that it needs, it does not need it any more; that its own path begins like
    its parent's does not freeze it."""
    waits = "outputs[logs].queue.minDequeueBatchSize"
    off = by_path(small({"search": {"freeze": [waits]}}))
    assert f"{waits}.timeout" not in off
    on = by_path(small({waits: 500, "search": {"freeze": [waits]}}))
    (need,) = on[f"{waits}.timeout"].needs
    assert need.path == "outputs[logs].queue.type"
    kind = "outputs[logs].queue.type"
    free = by_path(small({"search": {"freeze": [kind]}}))
    assert not [need for need in free["outputs[logs].queue.size"].needs if need.path == kind]


def test_only_and_whole_sections() -> None:
    only = by_path(small({"search": {"only": ["outputs[logs].queue", "main_queue.size"]}}))
    assert set(only) >= {"main_queue.size", "outputs[logs].queue.size"}
    assert all(path.startswith(("outputs[logs].queue", "main_queue.size")) for path in only)
    frozen = by_path(small({"search": {"freeze": ["outputs[logs].index"]}}))
    assert not [path for path in frozen if ".index." in path]


def test_levels_take_the_place_of_those_that_a_search_would_choose() -> None:
    path = "outputs[logs].queue.dequeueBatchSize"
    given = by_path(small({"search": {"levels": {path: [20000, 100]}}}))[path]
    assert given.levels == (100, 2000, 20000)


def test_the_parser_is_pinned_only_where_every_message_is_of_one_format() -> None:
    assert "parser" in by_path(small())
    assert "parser" not in by_path(small({"workload.format": "rfc5424"}))
    assert "parser" not in by_path(small({"workload.replay": "/var/log/some"}))


@pytest.mark.parametrize(
    ("release", "has", "lacks"),
    [
        ({"elasticsearch": "8.19"}, ["bloom_filter_for_id_field.enabled", "compound_format"],
         ["merge_on_flush.enabled", "seq_no.index_options"]),
        ({"elasticsearch": "7.17"}, ["compound_format"], ["bloom_filter_for_id_field.enabled"]),
        ({"opensearch": "2.19"}, ["merge_on_flush.enabled", "use_compound_file"],
         ["compound_format"]),
    ],
)  # fmt: skip
def test_an_engine_has_the_knobs_that_it_knows(
    release: dict[str, str], has: list[str], lacks: list[str]
) -> None:
    found = by_path(small({"release": {"rsyslog": "8.2302", **release}}))
    settings = {path.partition(".settings.")[2] for path in found}
    assert set(has) <= settings
    assert not set(lacks) & settings


@pytest.mark.parametrize("engine", [{"elasticsearch": "7.17"}, {"elasticsearch": "9.2"},
                                    {"opensearch": "2.19"}])  # fmt: skip
def test_what_puts_merges_off_beyond_a_trial_is_not_searched(engine: dict[str, str]) -> None:
    """On a new index with seconds of traffic it would look free."""
    every = by_path(small({"release": {"rsyslog": "8.2302", **engine}}))
    assert not [path for path in every if ".merge.policy." in path]


def test_threads_of_imtcp_are_a_knob_since_it_has_them() -> None:
    imtcp = {"inputs[0].type": "imtcp"}
    assert "inputs[0].workerThreads" not in by_path(small(imtcp))
    newer = by_path(small({**imtcp, "release.rsyslog": "8.2512"}))
    assert newer["inputs[0].workerThreads"].current == 2


def test_the_most_promising_knobs_stay() -> None:
    every = knobs(small())
    kept = most_promising(every, 8, ())
    assert len(kept) <= 8
    assert {"outputs[logs].filter_path", "outputs[logs].queue.dequeueBatchSize"} <= {
        knob.path for knob in kept
    }
    worst = max(knob.rank for knob in kept)
    assert worst <= min(knob.rank for knob in every if knob not in kept) + 8
    held = {knob.path for knob in kept}
    assert all(need.path in held for knob in kept for need in knob.needs)


def test_over_several_nodes_shards_are_tried_that_spread_evenly() -> None:
    path = "outputs[logs].index.settings.number_of_shards"
    for nodes, levels in ((1, (1, 2, 4)), (3, (1, 3, 6))):
        (knob,) = [one for one in knobs(small({"lab.nodes": nodes})) if one.path == path]
        assert knob.levels == levels
