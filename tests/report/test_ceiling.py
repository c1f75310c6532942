"""What people and programs read of the engine's ceiling."""

from __future__ import annotations

import json

from tuner.measure.ceiling import Ceiling, Combination
from tuner.report.ceiling import ceiling_json, ceiling_text

BEST = Combination(2, 5000, 126_000.0, 2_000.0, 13.26, 0.61, 0.03)
CEILING = Ceiling(
    combinations=(
        Combination(1, 5000, 90_000.0, 1_000.0, 14.0, 0.6, 0.42),
        BEST,
        Combination(4, 5000, 0.0, 0.0, 0.0, 0.0, 0.0, "HTTP 429: slow down"),
    ),
    best=BEST,
    eps=120_000.0,
    eps_se=1_500.0,
    engine_cpu_us=13.52,
    client_cpu_us=0.64,
    others_cpu=0.051,
    documents=50_000,
)


def test_the_fresh_figure_is_the_ceiling_and_the_share_is_of_it() -> None:
    lines = ceiling_text(CEILING, 72_000.0).split("\n")
    assert lines[:2] == [
        "the engine's own ceiling: 120,000 ± 1,500 EPS when 2 clients send bulks of 5,000 without "
        "rsyslog (13.5 us of engine CPU and 0.6 us of client CPU per event), measured afresh "
        "while others took 5% of the cores",
        "the pipeline reaches 60% of the engine's own ceiling: 72,000 of 120,000 EPS",
    ]
    assert lines[-1] == "50,000 different documents were sent over and over"


def test_every_combination_is_a_row_and_an_invalid_one_has_its_reason_and_no_figures() -> None:
    rows = [line for line in ceiling_text(CEILING, None).split("\n") if line.startswith("|")]
    assert rows[2:] == [
        "| 1 | 5,000 | 90,000 ± 1,000 | 14.0 | 0.6 | 42% |  |",
        "| 2 | 5,000 | 126,000 ± 2,000 | 13.3 | 0.6 | 3% |  |",
        "| 4 | 5,000 | - | - | - | - | invalid: HTTP 429: slow down |",
    ]


def test_a_pipeline_above_the_ceiling_is_said_to_be_impossible() -> None:
    assert "measure both again" not in ceiling_text(CEILING, 120_000.0)
    second = ceiling_text(CEILING, 132_000.0).split("\n")[1]
    assert second.startswith("the pipeline reaches 110% of")
    assert second.endswith("it cannot exceed that, so measure both again on a quiet machine")


def test_without_a_pipeline_nothing_is_said_of_a_share() -> None:
    assert "pipeline" not in ceiling_text(CEILING, None)
    assert ceiling_json(CEILING, None)["share"] is None


def test_programs_read_all_of_it_and_the_share() -> None:
    found = json.loads(json.dumps(ceiling_json(CEILING, 72_000.0)))
    assert found["share"] == 0.6
    assert found["pipeline_eps"] == 72_000.0
    assert found["eps"] == 120_000.0
    assert found["best"]["clients"] == 2
    assert found["combinations"][2]["invalid"] == "HTTP 429: slow down"
