"""`quick.py` as another release of numpy might be: strategies decide otherwise."""

from __future__ import annotations

import importlib.metadata
import runpy
from pathlib import Path
from unittest.mock import patch

from tuner.search import strategies
from tuner.search.space import Space, Strategy

_STRATEGY = strategies.strategy


def otherwise(name: str, space: Space, seed: int, sigma: float) -> Strategy:
    """The strategy with another seed."""
    return _STRATEGY(name, space, seed + 1, sigma)


if __name__ == "__main__":
    # At their source, before the command line imports them: quick.py comes before that, too.
    with (
        patch.object(strategies, "strategy", otherwise),
        patch.object(importlib.metadata, "version", lambda _: "99.1"),
    ):
        runpy.run_path(str(Path(__file__).with_name("quick.py")), run_name="__main__")
