"""Repairs stop what loses events under the profile's own tier, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.lint.findings import findings, with_changes
from tests.profile.examples import SMALL, small
from tests.shipped import EXAMPLES
from tuner.lint.candidate import Checker, candidate
from tuner.lint.explain import code_row
from tuner.lint.lint import RULES, ProfileRule
from tuner.lint.load import load_profile, parse_profile
from tuner.lint.repairs import Repair, every_change, repairs
from tuner.modules.queue import Queue
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.schema.section import Since
from tuner.space.guarantees import GUARANTEES, opened
from tuner.space.knobs import knobs

ROOT = Path(__file__).parents[2]
P1 = ROOT / "examples" / "published" / "p1-production.yaml"
WAITS = "outputs[logs].queue.timeoutEnqueue"
EMPTIES = "outputs[logs].queue.timeoutShutdown"
DISK = {
    "type": "Disk",
    "size": 50_000,
    "filename": "logs",
    "spoolDirectory": "/var/spool/rsyslog",
    "maxDiskSpace": "1g",
    "workerThreads": 1,
    "timeoutEnqueue": 86_400_000,
}


def repairs_with(changes: Mapping[str, object]) -> tuple[Repair, ...]:
    """The repairs of the small profile with these changes, errors included."""
    data = with_changes(changes)
    return repairs(Profile.model_validate(data, by_alias=True, by_name=False))


def codes(several: tuple[Repair, ...]) -> list[str]:
    """The rules of several repairs."""
    return [one.code for one in several]


def has_cure(rule: ProfileRule) -> bool:
    """Whether the rule says how to repair its own bad example."""
    try:
        profile = Profile.model_validate(
            with_changes(code_row(rule.code)["bad"]), by_alias=True, by_name=False
        )
    except ValidationError:
        return False
    return any(complaint.cure is not None for complaint in rule.check(profile))


WITH_CURE = [rule for rule in RULES if has_cure(rule)]


def test_these_rules_have_a_repair() -> None:
    assert {rule.code for rule in WITH_CURE} == {
        "RT113", "RT114", "RT115", "RT121", "RT123", "RT134", "RT208", "RT209", "RT214", "RT233",
        "RT260", "RT261", "RT298",
    }  # fmt: skip


@pytest.mark.parametrize("rule", WITH_CURE, ids=lambda rule: rule.code)
def test_the_repair_silences_its_rule_and_brings_no_finding(rule: ProfileRule) -> None:
    several = repairs_with(code_row(rule.code)["bad"])
    assert codes(several) == [rule.code]
    assert findings(dict(code_row(rule.code)["bad"]) | dict(every_change(several))) == set()


def test_a_repair_says_what_is_lost_without_it() -> None:
    profile = load_profile(P1).profile
    first, second = repairs(profile)
    assert first == Repair(
        ((WAITS, 86_400_000),),
        "events are lost when the action queue stays full for 2 s",
        "RT113",
    )
    assert first.why == f"not for speed: without it {first.loss}"
    assert second.text(profile) == (
        f"{EMPTIES}: 10000 (not for speed: without it events still in the action queue 10 ms "
        "after rsyslog begins to stop are lost) [RT115]"
    )


def test_a_clean_profile_needs_no_repair() -> None:
    assert repairs(small()) == ()


def test_the_tier_decides_what_is_a_loss() -> None:
    timeouts: dict[str, object] = {WAITS: 2000, EMPTIES: 10}
    assert codes(repairs_with(timeouts)) == ["RT113", "RT115"]
    assert repairs_with({**timeouts, "guardrails.tier": "relaxed"}) == ()


def test_a_repair_of_a_streams_queue_names_the_stream_as_an_item() -> None:
    queue = {"type": "LinkedList", "discardSeverity": 7}
    (repair,) = repairs_with({"streams": {"apps": {"queue": queue}}})
    ((path, level),) = repair.changes
    assert (path, level) == ("streams[apps].queue.discardSeverity", 8)
    text = edit(edit(SMALL, {"streams": {"apps": {"queue": queue}}}), {path: level})
    assert "discardSeverity: 8" in text


def test_a_repair_that_the_release_does_not_know_is_only_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = Queue.model_fields["timeout_enqueue"]
    monkeypatch.setattr(field, "metadata", [*field.metadata, Since(2604)])
    assert codes(repairs_with({WAITS: None, EMPTIES: 10})) == ["RT115"]
    newer = {WAITS: None, "release.rsyslog": "8.2604"}
    assert codes(repairs_with(newer)) == ["RT113"]


def test_a_program_of_this_machine_is_not_made_to_wait() -> None:
    """A full queue would stop whatever logs."""
    local = {"inputs": [{"type": "imuxsock", "socket": "/run/app.sock"}]}
    assert "warning RT233 inputs[0].flowControl" in findings(local)
    assert repairs_with(local) == ()


def test_no_point_that_undoes_a_repair_is_valid() -> None:
    written = load_profile(P1)
    several = every_change(repairs(written.profile))
    checker = Checker(written, repairs=several)
    assert checker.is_valid(())
    assert checker.is_valid(several)
    refusal = checker.refusal([(WAITS, 2000)])
    assert refusal is not None
    assert "[RT113]" in refusal
    assert checker.is_valid([("outputs[logs].queue.type", "Direct")])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_setting_that_is_searched_is_one_that_is_repaired(path: Path) -> None:
    profile = load_profile(path).profile
    if not profile.indexed:
        return
    names = [one.name for one in opened(profile, GUARANTEES)]
    searched = {knob.path for knob in knobs(profile, names)}
    assert not searched & dict(every_change(repairs(profile))).keys()


def test_a_queue_that_leaves_the_disk_takes_the_repairs_of_its_files_with_it() -> None:
    written = parse_profile(edit(SMALL, {"outputs[logs].queue": DISK}), "p.yaml")
    several = every_change(repairs(written.profile))
    assert several == (("outputs[logs].queue.checkpointInterval", 1000),)
    in_memory = candidate(written, (*several, ("outputs[logs].queue.filename", None)))
    assert in_memory.profile.measured.queue is not None
    assert in_memory.profile.measured.queue.checkpoint_interval is None
