"""README's picture of a search, drawn from its report: `python -m tests.house.picture
RUN/report.json docs/gain.png`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tuner.search.search import BEST
from tuner.search.study import Phase

BEFORE, AFTER, INK, MUTED = "#b05000", "#0050a0", "#101010", "#606060"
LESS = {
    "shipper_cpu": "rsyslogd CPU per event",
    "engine_cpu": "engine CPU per event",
    "disk": "disk per event",
    "memory": "rsyslogd memory",
}


def pairs(report: dict[str, Any]) -> list[tuple[float, float]]:
    """The events per second of each fresh pair, including deferred work: before and after."""
    rates: dict[int, dict[bool, float]] = {}
    for trial in report["study"]["trials"]:
        if trial["phase"] == Phase.CONFIRM.value and "eps_paid" in trial["outcome"]:
            is_changed = trial["why"] == BEST
            rates.setdefault(trial["pair"], {})[is_changed] = trial["outcome"]["eps_paid"]
    return [(both[False], both[True]) for _, both in sorted(rates.items()) if len(both) == 2]


def draw(report: dict[str, Any]) -> Figure:
    """Every pair on the left, and on the right what the pipeline uses after the changes."""
    verdict, both = report["verdict"], pairs(report)
    # The claim is the smaller of both rates (docs/measuring.md).
    ratio, low, high = (
        min(verdict[rate][name] for rate in ("eps", "paid")) for name in ("ratio", "low", "high")
    )
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for at, (before, after) in enumerate(both, 1):
        left.plot([before, after], [at, at], color="#c0c0c0", zorder=1)
    places = range(1, len(both) + 1)
    left.scatter([one for one, _ in both], places, color=BEFORE, label="before", zorder=2)
    left.scatter([one for _, one in both], places, color=AFTER, label="after", zorder=2)
    left.set_title(
        f"{ratio - 1:+.0%} events per second [{low - 1:+.0%}, {high - 1:+.0%}]",
        fontsize=14, fontweight="bold", loc="left",
    )  # fmt: skip
    left.set_yticks(list(places), [f"pair {at}" for at in places])
    left.invert_yaxis()
    left.set_xlim(left=0)
    left.xaxis.set_major_locator(MaxNLocator(4))
    left.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    left.set_xlabel("events per second, every event accounted for", color=MUTED)
    left.legend(loc="lower left", frameon=False)
    shares = {text: verdict[name]["ratio"] for name, text in LESS.items() if verdict[name]}
    right.barh(list(shares), [1.0] * len(shares), color="#e8d8c8")
    right.barh(list(shares), list(shares.values()), color=AFTER, height=0.5)
    for at, share in enumerate(shares.values()):
        right.text(1.03, at, f"{share - 1:+.0%}", va="center", color=INK, fontweight="bold")
    right.invert_yaxis()
    right.set_xlim(0, max(1.25, *shares.values()))
    right.set_xticks([0, 1], ["0", "before"])
    right.set_title("what it uses", fontsize=14, fontweight="bold", loc="left")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=MUTED)
    return figure


if __name__ == "__main__":
    found, picture = map(Path, sys.argv[1:])
    draw(json.loads(found.read_text("utf-8"))).savefig(picture, dpi=110)
