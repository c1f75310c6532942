"""Every strategy that the arena compares: ours, and those of other libraries by their extra."""

from __future__ import annotations

import importlib

from tests.search.random_points import NAMES as OURS
from tests.search.random_points import strategy as ours
from tuner.search.space import Space, Strategy

PACKAGES = {"tpe": "optuna", "smac": "smac"}
TOLD = "told"
"""Ours, on a surface as a search meets it that was told what matters."""
NAMES = (*OURS, TOLD, *PACKAGES)


def strategy(name: str, space: Space, seed: int, sigma: float, trials: int) -> Strategy:
    """The strategy of that name; `trials` is about how many the search will have, confirmation not
    counted."""
    if name not in PACKAGES:
        return ours("default" if name == TOLD else name, space, seed, sigma)
    try:
        importlib.import_module(PACKAGES[name])
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"the strategy {name} needs the package {missing.name}: pip install '.[arena]'"
        ) from missing
    if name == "tpe":
        from tests.benchmarks.rival_tpe import Tpe

        return Tpe(space, seed, sigma)
    from tests.benchmarks.rival_smac import Smac

    return Smac(space, seed, sigma, trials)
