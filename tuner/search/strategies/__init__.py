"""Ways to search, all behind the interface of tuner.search.space.Strategy."""

from __future__ import annotations

import importlib

from tuner.errors import ProgramMissing
from tuner.search.space import Space, Strategy
from tuner.search.strategies.gaussian import Gaussian
from tuner.search.strategies.random_points import RandomPoints

NAMES = ("default", "random", "tpe", "smac")


def strategy(name: str, space: Space, seed: int, sigma: float, trials: int) -> Strategy:
    """The strategy of that name; `sigma` is the noise of one trial's logarithm.

    `trials` is about how many the search will have, confirmation not counted.  Raises
    ProgramMissing when the package behind an optional one is not installed.
    """
    match name:
        case "default":
            return Gaussian(space, seed, sigma)
        case "random":
            return RandomPoints(space, seed, sigma)
        case "tpe":
            _require("optuna", name)
            from tuner.search.strategies.tpe import Tpe

            return Tpe(space, seed, sigma)
        case "smac":
            _require("smac", name)
            from tuner.search.strategies.smac import Smac

            return Smac(space, seed, sigma, trials)
        case _:
            raise ValueError(f"no strategy {name}; there are {', '.join(NAMES)}")


def _require(package: str, extra: str) -> None:
    """The packages of the optional strategies take a second to import, and are seldom there."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as missing:
        raise ProgramMissing(
            f"the strategy {extra} needs the package {missing.name}, which is not installed: "
            f"pip install '.[{extra}]' where rsyslog-tune's source is"
        ) from missing
