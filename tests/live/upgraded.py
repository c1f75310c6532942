"""`quick.py` as another release of numpy might be: strategies decide otherwise."""

from __future__ import annotations

import runpy
from pathlib import Path
from unittest.mock import patch

from tuner.cli import search_job, search_session
from tuner.search.space import Space, Strategy
from tuner.search.strategies import strategy


def otherwise(name: str, space: Space, seed: int, sigma: float) -> Strategy:
    """The strategy with another seed."""
    return strategy(name, space, seed + 1, sigma)


if __name__ == "__main__":
    with (
        patch.object(search_session, "strategy", otherwise),
        patch.object(search_job, "version", lambda _: "99.1"),
    ):
        runpy.run_path(str(Path(__file__).with_name("quick.py")), run_name="__main__")
