"""Recipes on whatever knobs a profile has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.lint.candidate import Checker
from tuner.lint.load import load_profile, parse_profile
from tuner.profile.edit import edit
from tuner.search.climb import Knobs
from tuner.space.knobs import knobs, most_promising
from tuner.space.recipes import RECIPES, changes_of, fitting
from tuner.space.table import REPLY_FILTER, ROWS

ROOT = Path(__file__).parents[2]
STOCK = ROOT / "examples" / "published" / "stock.yaml"
USUAL = ["profiles/default.yaml", "examples/published/stock.yaml",
         "examples/published/p1-production.yaml", "profiles/opensearch.yaml",
         "profiles/production.yaml"]  # fmt: skip


def test_there_are_two_to_six_and_each_names_its_source() -> None:
    assert 2 <= len(RECIPES) <= 6
    assert all(recipe.source and recipe.settings for recipe in RECIPES)


@pytest.mark.parametrize("path", USUAL)
def test_every_recipe_is_a_valid_point(path: str) -> None:
    written = load_profile(ROOT / path)
    every = knobs(written.profile)
    levels = {str(knob.path): knob.levels for knob in every}
    checker = Checker(written)
    for recipe in RECIPES:
        changes = changes_of(recipe, every)
        assert all(level in levels[where] for where, level in changes)
        assert checker.is_valid(changes), checker.refusal(changes)


@pytest.mark.parametrize("path", USUAL)
@pytest.mark.parametrize("left_out", [1, 2, 3, 6, 12])
def test_what_a_budget_leaves_of_a_recipe_is_valid_too(path: str, left_out: int) -> None:
    written = load_profile(ROOT / path)
    every = knobs(written.profile)
    kept = Knobs(most_promising(every, len(every) - left_out, ()))
    checker = Checker(written)
    for recipe in RECIPES:
        changes = kept.known(changes_of(recipe, every))
        assert checker.is_valid(changes), checker.refusal(changes)


def test_the_one_set_by_hand_turns_both_queues_of_the_stock_profile() -> None:
    found = dict(changes_of(RECIPES[0], knobs(load_profile(STOCK).profile)))
    assert found["main_queue.dequeueBatchSize"] == 1024
    assert found["outputs[logs].queue.dequeueBatchSize"] == 5000
    assert found["outputs[logs].queue.type"] == "LinkedList"
    assert found["outputs[logs].filter_path"] == REPLY_FILTER
    assert found["outputs[logs].index.mapping"] == "explicit"


def test_a_mapping_is_searched_only_where_every_field_says_what_it_serves() -> None:
    """The dynamic mapping makes everything searchable, and an explicit one what is in `uses`."""
    said = {"property": "msg", "name": "message", "uses": ["full_text"]}
    unsaid = {"property": "hostname", "name": "host"}
    documents = [([said], True), ([said, unsaid], False), ("ecs", True), ("logstash", True)]
    for fields, is_searched in documents:
        text = edit(STOCK.read_text("utf-8"), {"outputs[logs].document": fields})
        every = knobs(parse_profile(text, "p.yaml").profile)
        assert ("outputs[logs].index.mapping" in {str(one.path) for one in every}) is is_searched


def test_where_the_action_stays_direct_the_main_queue_makes_the_bulks() -> None:
    frozen = edit(STOCK.read_text("utf-8"), {"search": {"freeze": ["outputs[logs].queue"]}})
    found = dict(changes_of(RECIPES[0], knobs(parse_profile(frozen, "p.yaml").profile)))
    assert found["main_queue.dequeueBatchSize"] == 4096
    assert found["main_queue.workerThreads"] == 4


def test_a_level_that_is_not_there_is_the_nearest_one() -> None:
    """Freshness of 8 s leaves refresh intervals of up to 5 s."""
    text = edit(STOCK.read_text("utf-8"), {"guardrails.freshness_p99_s": 8})
    found = dict(changes_of(RECIPES[0], knobs(parse_profile(text, "p.yaml").profile)))
    assert found["outputs[logs].index.settings.refresh_interval"] == "5s"


def test_each_recipe_fits_some_machine_but_those_that_restart_nodes() -> None:
    machines = ((cores, local) for cores in (0.4, 2, 8) for local in (False, True))
    fit = {fitting(cores, is_local=local).name for cores, local in machines}
    assert fit == {RECIPES[0].name, RECIPES[2].name}
    assert [one.restarts_nodes for one in RECIPES] == [False, False, False, True, False, False]


@pytest.mark.parametrize(
    ("name", "mode"), [("logsdb", "logsdb"), ("columns of a log", "logsdb_columnar")]
)
def test_a_mode_is_a_point_only_where_documents_may_come_back_rebuilt(name: str, mode: str) -> None:
    (recipe,) = (recipe for recipe in RECIPES if recipe.name == name)
    text = edit(STOCK.read_text("utf-8"), {"release": {"elasticsearch": "9.5"}})
    written = parse_profile(text, "p.yaml")
    assert changes_of(recipe, knobs(written.profile)) == ()
    changes = changes_of(recipe, knobs(written.profile, ["settings.mode"]))
    assert changes == (("outputs[logs].index.settings.mode", mode),)
    checker = Checker(written, ("settings.mode",))
    assert checker.is_valid(changes), checker.refusal(changes)
    older = parse_profile(edit(text, {"release": {"elasticsearch": "9.4"}}), "p.yaml").profile
    known = bool(changes_of(recipe, knobs(older, ["settings.mode"])))
    assert known is (mode == "logsdb")


def test_what_a_recipe_sets_says_what_it_gives() -> None:
    unexplained = {
        row.key
        for row in ROWS
        for recipe in RECIPES
        if not recipe.restarts_nodes and row.key in recipe.settings and not row.why
    }
    assert unexplained == {"first.workerThreads", "bulk.type", "bulk.size"}, (
        "advice never sets these three: it would make something smaller or lose more"
    )
