"""SMAC3, a random forest with expected improvement, for comparison; needs the extra `arena`."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from ConfigSpace import (
    CategoricalHyperparameter,
    Configuration,
    ConfigurationSpace,
    UniformFloatHyperparameter,
    UniformIntegerHyperparameter,
)
from ConfigSpace.hyperparameters import Hyperparameter
from smac import HyperparameterOptimizationFacade, Scenario
from smac.acquisition.function import EI
from smac.model.random_forest import RandomForest
from smac.runhistory import StatusType, TrialInfo, TrialValue

from tests.benchmarks.rival import Rival, proposed, values, without_handle
from tests.search.random_points import draw
from tests.search.toys import pool_of
from tuner.search.space import Dimension, Floats, Observation, Point, Proposal, Space

# As shipped SMAC trains its forest only after every eighth trial; twice as many trials between two
# trainings cost it more than a tenth of its regret (reference: search.md 1.3).
_RETRAIN_AFTER = 2
# What SMAC's Sobol design takes of the trials at most, and how often it then draws at random.
_DESIGN = 0.25
_AT_RANDOM = 0.08
_TRIES = 50
_MOST_LEAVES = 1024


class Smac(Rival[TrialInfo]):
    """The facade for hyperparameters, on the logarithm of the time per event.

    Of a pool it takes the point with the best expected improvement under its forest; elsewhere it
    gives what SMAC gives.
    """

    def __init__(self, space: Space, seed: int, sigma: float, trials: int) -> None:
        super().__init__(space, seed, sigma)
        self._design = max(2, math.ceil(_DESIGN * trials))
        self._configurations = ConfigurationSpace(seed=seed)
        self._configurations.add([_hyperparameter(one) for one in space.dimensions])
        self._pool_arrays: Floats | None = None
        # SMAC writes where it runs; nothing of it is read again, and it is gone with us.
        self._folder = tempfile.TemporaryDirectory(prefix="rsyslog-tune-smac-")
        self._facade = None if pool_of(space) is not None else self._stock(trials)

    def _learn(self, observation: Observation, handle: TrialInfo | None) -> None:
        if self._facade is None:
            return
        info = handle or TrialInfo(self._configuration(observation.point), seed=len(self._told))
        if observation.feasible:
            cost = math.exp(-self._relative(observation))
            self._facade.tell(info, TrialValue(cost=cost), save=False)
        else:
            self._facade.tell(info, self._failed(), save=False)

    def _relative(self, observation: Observation) -> float:
        first = next(one for one in self._told if one.feasible)
        return observation.log_value - first.log_value

    def _forest(self) -> RandomForest:
        """The forest of the facade, with room for our few trials: SMAC clears a million leaves."""
        return RandomForest(
            self._configurations, log_y=True, n_trees=10, ratio_features=1.0, min_samples_split=2,
            min_samples_leaf=1, max_depth=2**20, max_leaf_nodes=_MOST_LEAVES, n_jobs=1,
            seed=self._seed,
        )  # fmt: skip

    def _failed(self) -> TrialValue:
        """As bad as the worst that was measured: its forest takes no infinite cost."""
        costs = [math.exp(-self._relative(one)) for one in self._told if one.feasible]
        return TrialValue(cost=max(costs, default=1.0), status=StatusType.CRASHED)

    def _stock(self, trials: int) -> HyperparameterOptimizationFacade:
        scenario = Scenario(
            self._configurations,
            output_directory=Path(self._folder.name),
            n_trials=trials,
            seed=self._seed,
            deterministic=False,
        )
        return HyperparameterOptimizationFacade(
            scenario,
            _never_called,
            model=self._forest(),
            config_selector=HyperparameterOptimizationFacade.get_config_selector(
                scenario, retrain_after=_RETRAIN_AFTER
            ),
            logging_level=False,
            overwrite=True,
        )

    def _proposed(self) -> tuple[Proposal, TrialInfo | None] | None:
        if self._facade is None:
            return without_handle(self._of_pool(), "promising")
        for _ in range(_TRIES):
            info = self._facade.ask()
            point = proposed(self._space, info.config)
            if self._space.is_valid(point):
                return Proposal(point, "promising"), info
            self._facade.tell(info, self._failed(), save=False)
        return self._drawn()

    def _of_pool(self) -> Point | None:
        usable = [one for one in self._told if one.feasible]
        rng = self._rng()
        if len(self._told) < self._design or not usable or rng.uniform() < _AT_RANDOM:
            return draw(self._space, {one.point for one in self._told}, rng)
        x = np.array([self._configuration(one.point).get_array() for one in usable])
        y = np.array([[-self._relative(one)] for one in usable])
        forest = self._forest()
        forest.train(x, y)
        improvement = EI(log=True)
        improvement.update(model=forest, eta=float(forest.predict(x)[0].min()), num_data=len(x))
        return self._best_of_pool(improvement)

    def _best_of_pool(self, improvement: EI) -> Point | None:
        pool = pool_of(self._space) or ()
        if self._pool_arrays is None:
            self._pool_arrays = np.array([self._configuration(one).get_array() for one in pool])
        measured = {one.point for one in self._told}
        free = [at for at, point in enumerate(pool) if point not in measured]
        if not free:
            return None
        gains = improvement._compute(self._pool_arrays[free]).ravel()
        return pool[free[int(np.argmax(gains))]]

    def _configuration(self, point: Point) -> Configuration:
        return Configuration(self._configurations, values=values(self._space, point))


def _never_called(config: Configuration, seed: int = 0) -> float:
    """SMAC wants a function even where it is asked and told."""
    raise NotImplementedError(config, seed)


def _hyperparameter(dimension: Dimension) -> Hyperparameter[Any, Any]:
    if not dimension.ordered:
        return CategoricalHyperparameter(dimension.name, list(range(dimension.size)))
    if dimension.positions:
        return UniformFloatHyperparameter(dimension.name, -1e-6, 1 + 1e-6)
    return UniformIntegerHyperparameter(dimension.name, 0, max(dimension.size - 1, 1))
