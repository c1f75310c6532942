"""Guarantees stay shut unless they are opened by name, and say what they give up."""

from __future__ import annotations

import pytest

from tests.profile.examples import SMALL, small
from tuner.errors import BadProfile, BadUsage
from tuner.lint.candidate import Checker, candidate
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.placement import main_queue
from tuner.space.guarantees import GUARANTEES, allowed
from tuner.space.knob import Cost
from tuner.space.knobs import knobs

DISK = {"main_queue.type": "LinkedList", "main_queue.filename": "main",
        "main_queue.spoolDirectory": "/var/spool/rsyslog", "main_queue.maxDiskSpace": "1g",
        "main_queue.syncQueueFiles": True}  # fmt: skip
OPENS: list[tuple[str, dict[str, object]]] = [
    ("translog.durability", {"guardrails.tier": "relaxed"}),
    ("translog.sync_interval", {"guardrails.tier": "relaxed",
                                "outputs[logs].index.settings.translog.durability": "async"}),
    ("number_of_replicas", {}),
    ("mapping.source.mode", {}),
    ("settings.mode", {}),
    ("bulkid", {"outputs[logs].bulkid": "uuid"}),
    ("retryfailures", {"outputs[logs].retryfailures.file": "/var/log/refused.json",
                       "outputs[logs].bulkid": "uuid"}),
    ("mmutf8fix", {}),
    ("queue.filename", DISK),
    ("queue.diskQueueType", {**DISK, "release.rsyslog": "8.2608"}),
    ("queue.syncQueueFiles", DISK),
]  # fmt: skip


def test_every_guarantee_is_tried_here() -> None:
    assert {name for name, _ in OPENS} == set(GUARANTEES)


@pytest.mark.parametrize(("name", "changes"), OPENS)
def test_a_guarantee_is_no_knob_until_it_is_opened(name: str, changes: dict[str, object]) -> None:
    """Opened, one of its levels is a valid profile, which has it turned."""
    written = parse_profile(edit(SMALL, changes), "small.yaml")
    shut, opened = knobs(written.profile), knobs(written.profile, [name])
    new = [knob for knob in opened if knob not in shut]
    assert new
    checker = Checker(written, (name,))
    for knob in new:
        others = [level for level in knob.levels if level != knob.current]
        usable = [level for level in others if checker.is_valid([(knob.path, level)])]
        assert usable, [checker.refusal([(knob.path, level)]) for level in others]
        turned = candidate(written, [(knob.path, usable[0])]).profile
        assert turned == checker.profile([(knob.path, usable[0])])
        assert turned != written.profile
    assert GUARANTEES[name].gives_up.endswith(".")
    in_profile = parse_profile(edit(SMALL, {**changes, "search": {"allow": [name]}}), "p.yaml")
    assert knobs(in_profile.profile) == opened
    for knob in new:
        there = Checker(in_profile)
        for level in knob.levels:
            if level != knob.current and there.is_valid([(knob.path, level)]):
                assert knobs(candidate(in_profile, [(knob.path, level)]).profile)
        assert any(there.is_valid([(knob.path, level)]) for level in knob.levels
                   if level != knob.current)  # fmt: skip


def test_a_lab_that_replaces_what_is_opened_is_no_fault() -> None:
    """A lab of one node holds no replicas; its verdicts ask for the knobs all the same."""
    profile = small({"search": {"allow": ["number_of_replicas"]}})
    bound = small({"search": {"allow": ["number_of_replicas"]},
                   "outputs[logs].index.settings.number_of_replicas": 0})  # fmt: skip
    new = {knob.path for knob in knobs(profile)} - {knob.path for knob in knobs(bound)}
    assert new == {"outputs[logs].index.settings.number_of_replicas"}


def test_a_queue_that_leaves_the_disk_keeps_nothing_of_it() -> None:
    written = parse_profile(edit(SMALL, {**DISK, "main_queue.type": "Disk"}), "p.yaml")
    turned = candidate(written, [("main_queue.filename", None)])
    queue = main_queue(turned.profile).written
    assert queue is not None
    left = queue.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert left == {"type": "LinkedList", "size": 100_000, "dequeueBatchSize": 1024,
                    "workerThreads": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("translog.durabilty", "did you mean translog.durability"),
        ("durability", "did you mean translog.durability"),
        ("replicas", "did you mean number_of_replicas"),
        ("mmutf8", "did you mean mmutf8fix"),
        ("xyzzy", "the names are translog.durability"),
        ("auth", "the names are"),
    ],
)
def test_an_unknown_name_is_refused_with_those_like_it(name: str, hint: str) -> None:
    with pytest.raises(BadUsage, match=rf"no guarantee is called {name}: .*{hint}"):
        allowed(small(), [name])


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("translog.durability", {}, "the tier durable forbids it"),
        ("translog.sync_interval", {"guardrails.tier": "relaxed"}, "allow translog.durability too"),
        (
            "number_of_replicas",
            {"outputs[logs].index.settings.number_of_replicas": 0},
            "no replica",
        ),
        ("bulkid", {}, "sets no bulkid"),
        (
            "bulkid",
            {
                "outputs[logs].bulkid": "uuid",
                "outputs[logs].retryfailures.file": "/var/log/refused.json",
            },
            "need the ids",
        ),
        ("retryfailures", {}, "does not retry"),
        ("queue.filename", {}, "no queue on the way is on disk"),
        ("queue.diskQueueType", DISK, "one layout"),
        ("queue.diskQueueType", {"release.rsyslog": "8.2608"}, "no queue on the way is on disk"),
        ("mapping.source.mode", {"release": {"opensearch": "2.19"}}, "only Elasticsearch"),
        ("settings.mode", {"release": {"opensearch": "2.19"}}, "only Elasticsearch"),
    ],
)
def test_what_cannot_be_opened_says_why(name: str, changes: dict[str, object], reason: str) -> None:
    with pytest.raises(BadUsage, match=reason):
        allowed(small(changes), [name])


def test_names_come_once_and_parents_first() -> None:
    names = ["translog.sync_interval", "translog.durability", "translog.sync_interval"]
    profile = small({"guardrails.tier": "relaxed"})
    assert [found.name for found in allowed(profile, names)] == names[1::-1]
    first, second = knobs(profile, names)[:2]
    assert second.needs[0].path == first.path
    assert second.needs[0].levels == ("async",)


@pytest.mark.parametrize(
    ("code", "search", "place", "text"),
    [
        ("RT601", {"freeze": ["main_queue.workers"]}, "main_queue.workers", "did you mean"),
        ("RT601", {"only": ["name"]}, "name", "does not vary name"),
        ("RT602", {"levels": {"main_queue.size": [50000, "big"]}}, "big", "not a value of"),
        ("RT602", {"levels": {"main_queue.sise": [1]}}, "[1]", "main_queue.size"),
        ("RT602", {"levels": {"outputs[logs].index.settings.number_of_replicas": [0]}}, "[0]",
         "does not vary"),
        ("RT603", {"allow": ["mmutf8fix", "durability"]}, "durability", "did you mean"),
        ("RT603", {"allow": ["translog.durability"]}, "translog", "forbids"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_search_is_found_where_it_stands(
    code: str, search: dict[str, object], place: str, text: str
) -> None:
    written = edit(SMALL, {"search": search})
    with pytest.raises(BadProfile) as caught:
        parse_profile(written, "p.yaml")
    (problem,) = caught.value.problems
    assert problem.code == code
    assert text in problem.message
    line = written.splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].lstrip('"').startswith(place)


@pytest.mark.parametrize(
    ("queue", "path", "levels"),
    [
        ({}, "main_queue.diskQueueType", {None, "disk"}),
        ({"diskQueueType": "auto"}, "main_queue.diskQueueType", {None, "disk"}),
        ({"diskQueueType": "disk"}, "main_queue.diskQueueType", {"disk", "segmentedDisk"}),
        ({"type": "Disk"}, "main_queue.type", {"Disk", "segmentedDisk"}),
        ({"type": "segmentedDisk"}, "main_queue.type", {"Disk", "segmentedDisk"}),
    ],
)
def test_the_layout_of_queue_files_has_two_levels(
    queue: dict[str, object], path: str, levels: set[str | None]
) -> None:
    """A lab's files are always new, so that auto is segmentedDisk there."""
    changes = {**DISK, **{f"main_queue.{key}": value for key, value in queue.items()}}
    profile = small({**changes, "release.rsyslog": "8.2608"})
    shut = {knob.path for knob in knobs(profile)}
    new = [knob for knob in knobs(profile, ["queue.diskQueueType"]) if knob.path not in shut]
    assert [(knob.path, set(knob.levels)) for knob in new] == [(path, levels)]
    assert new[0].cost is Cost.RSYSLOG_RESTART
