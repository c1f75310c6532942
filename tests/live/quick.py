"""rsyslog-tune with shorter trials: `python -m tests.live.quick search ...`.

For tests of what a search does, not of what it finds: the smallest budgets are for trials that
tell settings apart.
"""

from __future__ import annotations

from dataclasses import replace

from tuner.search import budget


def shortened(pace: budget.Pace) -> budget.Pace:
    """With windows that hold events, and no more."""
    return replace(
        pace, engine_warm_up_s=1.0, warm_up_s=0.3, window_s=0.6, longest_search_s=0.6,
        longest_final_s=0.6, longest_window_s=1.0,
    )  # fmt: skip


SINK_PACE, NODE_PACE = shortened(budget.SINK_PACE), shortened(budget.NODE_PACE)

if __name__ == "__main__":
    budget.SINK_PACE, budget.NODE_PACE = SINK_PACE, NODE_PACE
    from tuner.cli.main import main

    main()
