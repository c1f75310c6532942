"""What people read of a bottleneck."""

from __future__ import annotations

import pytest

from tuner.measure.bottleneck import Bottleneck, Verdict
from tuner.report.bottleneck import bottleneck_text


def test_a_sentence_then_the_figures_then_the_settings() -> None:
    verdict = Verdict(
        Bottleneck.ENGINE_CPU,
        (("engine", "78% of its cores"), ("machine", "98% of 2 cores")),
        ("outputs[logs].index.mapping", "outputs[logs].filter_path"),
        others_cpu=0.02,
    )
    assert bottleneck_text(verdict).split("\n") == [
        "bottleneck: engine CPU: the engine's CPU set the rate: make an event cheaper to index, "
        "or give the engine more cores",
        "  engine: 78% of its cores",
        "  machine: 98% of 2 cores",
        "  settings that can help: outputs[logs].index.mapping, outputs[logs].filter_path",
    ]


@pytest.mark.parametrize("bottleneck", Bottleneck)
def test_every_bottleneck_has_a_sentence(bottleneck: Bottleneck) -> None:
    text = bottleneck_text(Verdict(bottleneck, (), (), 0.0))
    assert text.startswith(f"bottleneck: {bottleneck.value}: ")
    assert "\n" not in text
