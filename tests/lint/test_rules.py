"""Every rule by its own examples, and the place of each complaint."""

from __future__ import annotations

import pytest

from tests.lint.findings import dotted, findings, with_changes
from tuner.lint.explain import code_row
from tuner.lint.lint import RULES, ProfileRule
from tuner.profile.schema import resolve_path

EXAMPLES = [pytest.param(rule, id=rule.code) for rule in RULES]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_bad_example_breaks_this_rule_alone(rule: ProfileRule) -> None:
    row = code_row(rule.code)
    at = row.get("at") or next(iter(row["good"]))
    path = resolve_path(with_changes(row["bad"]), at) if isinstance(at, str) else tuple(at)
    assert findings(row["bad"]) == {f"{rule.severity.value} {rule.code} {dotted(path)}"}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_good_example_mends_it(rule: ProfileRule) -> None:
    row = code_row(rule.code)
    reported = findings({**row["bad"], **row["good"]})
    assert not [finding for finding in reported if finding.split()[1:2] == [rule.code]]


_QUEUE, _SETTINGS = "outputs[logs].queue", "outputs[logs].index.settings"
# Of rules about a limit: in their bad example the first value breaks them still, the second not.
EDGES: list[tuple[str, str, object, object]] = [
    ("RT101", "main_queue.size", 1499, 1500),
    ("RT102", "main_queue.size", 8191, 8192),
    ("RT103", "main_queue.dequeueBatchSize", 100_001, 100_000),
    ("RT104", f"{_QUEUE}.minDequeueBatchSize", 2001, 2000),
    ("RT105", "main_queue.highWatermark", 100_001, 100_000),
    ("RT106", "main_queue.discardMark", 100_001, 100_000),
    ("RT111", f"{_QUEUE}.size", 7999, 8000),
    ("RT112", f"{_QUEUE}.workerThreadMinimumMessages", 43_501, 43_500),
    ("RT113", f"{_QUEUE}.timeoutEnqueue", 59_999, 60_000),
    ("RT115", f"{_QUEUE}.timeoutShutdown", 999, 1000),
    ("RT116", "guardrails.rss_bytes", "135m", "136m"),
    ("RT119", f"{_QUEUE}.highWatermark", 29_999, 30_000),
    ("RT126", f"{_QUEUE}.size", 99, 100),
    ("RT203", "workload.connections", 201, 200),
    ("RT207", "outputs[logs].maxbytes", "975999", "976000"),
    ("RT212", "outputs[logs].maxbytes", "15999", "16000"),
    ("RT214", "outputs[logs].maxbytes", "102401k", "102400k"),
    ("RT215", "node.indexing_pressure.memory.limit", "2439999b", "2440000b"),
    ("RT216", f"{_QUEUE}.dequeueBatchSize", 10_001, 10_000),
    ("RT218", f"{_QUEUE}.dequeueBatchSize", 2149, 2148),
    ("RT219", "outputs[logs].healthCheckTimeout", 30_001, 30_000),
    ("RT223", "workload.rate", 20_001, 20_000),
    ("RT224", "workload.rate", 5001, 5000),
    ("RT307", f"{_SETTINGS}.refresh_interval", "45s", "44s"),
    ("RT330", f"{_SETTINGS}.translog.sync_interval", "99ms", "100ms"),
]


@pytest.mark.parametrize(("code", "path", "bad", "good"), EDGES)
def test_a_limit_is_exact(code: str, path: str, bad: object, good: object) -> None:
    broken, kept = ({**code_row(code)["bad"], path: value} for value in (bad, good))
    assert {one.split()[1] for one in findings(broken)} == {code}
    assert code not in {(one.split() * 2)[1] for one in findings(kept)}


def test_codes_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
