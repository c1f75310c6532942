"""What the counters of a block give: known rounds of impstats, and what they must add up to."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.profile.examples import small
from tuner.deploy.block import block_figures
from tuner.diagnose.settings import of_profile
from tuner.modules.stats_rounds import StatsRound, rounds

SETTINGS = of_profile(small({"outputs[logs].queue.size": 50_000}))
BEGIN = "Sun Nov 29 22:00:{:02} 2026"
ROUND = (
    ("impstats", "resource-usage", {"utime": 100_000, "stime": 20_000, "maxrss": 0}),
    ("imptcp", "imptcp(*/10514/IPv4)", {"submitted": 10_000}),
    ("core.queue", "logs queue", {"size": 0, "enqueued": 10_000, "full": 0,
                                  "discarded.full": 0, "discarded.nf": 0}),
    ("core.action", "logs", {"processed": 10_000, "failed": 0, "suspended": 0}),
)  # fmt: skip


def text_of(number: int, changes: Mapping[str, Mapping[str, int]]) -> str:
    """Round `number` of counters that grow evenly, with other values for some."""
    stamp = BEGIN.format(10 * number)
    lines = [f"{stamp}: BEGIN"]
    for origin, name, counters in ROUND:
        values = {key: value * number for key, value in counters.items()}
        if name == "resource-usage":
            values["maxrss"] = 50_000
        values |= changes.get(name, {})
        lines.append(f"{stamp}: {json.dumps({'name': name, 'origin': origin, **values})}")
    return "\n".join([*lines, f"{stamp}: END", ""])


def seen(changes: Mapping[str, Mapping[str, int]] | None = None) -> tuple[StatsRound, ...]:
    """Four rounds, ten seconds apart; the last with changes."""
    last = {} if changes is None else changes
    return rounds("".join(text_of(number, last if number == 4 else {}) for number in range(1, 5)))


def test_what_grew_between_the_first_and_the_last_round_counts() -> None:
    figures = block_figures(seen(), SETTINGS)
    assert figures is not None
    assert (figures.seconds, figures.events) == (30, 30_000)
    assert figures.cpu_us == pytest.approx(12.0)
    assert figures.per_second == pytest.approx(1000.0)
    assert figures.memory_bytes == 50_000 * 1024
    assert figures.is_measured
    assert (figures.discarded, figures.failed, figures.away_s) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "counters", "figure", "value"),
    [
        ("logs queue", {"size": 30_000}, "queue_share", 0.6),
        ("logs queue", {"discarded.full": 7}, "discarded", 7),
        ("logs", {"failed": 3}, "failed", 3),
        ("resource-usage", {"maxrss": 80_000}, "memory_bytes", 80_000 * 1024),
    ],
)
def test_each_guard_has_its_figure(
    name: str, counters: Mapping[str, int], figure: str, value: float
) -> None:
    figures = block_figures(seen({name: counters}), SETTINGS)
    assert getattr(figures, figure) == pytest.approx(value)


def test_a_round_alone_and_counters_without_cpu_or_events_give_nothing() -> None:
    assert block_figures(seen()[:1], SETTINGS) is None
    assert block_figures((), SETTINGS) is None
    no_cpu = rounds(
        "".join(text_of(number, {}) for number in (1, 2)).replace("resource-usage", "other")
    )
    assert block_figures(no_cpu, SETTINGS) is None
    still = block_figures(
        rounds(text_of(1, {}) + text_of(2, {"imptcp(*/10514/IPv4)": {"submitted": 10_000}})),
        SETTINGS,
    )
    assert still is not None
    assert not still.is_measured
