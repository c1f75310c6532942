"""The tree-structured Parzen estimator of Optuna, for comparison; needs the extra `arena`."""

from __future__ import annotations

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import TPESampler
from optuna.samplers._tpe.sampler import _split_trials, default_gamma
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from tests.benchmarks.rival import Rival, proposed, value, values, without_handle
from tests.search.toys import pool_of
from tuner.search.space import Dimension, Floats, Observation, Point, Proposal, Space

_STARTUP = 10
_TRIES = 50


class Tpe(Rival[Trial]):
    """Multivariate and grouped, as Optuna recommends.

    Of a pool it takes the point with the best ratio of densities, which is its own acquisition
    function; elsewhere it gives what Optuna gives.
    """

    def __init__(self, space: Space, seed: int, sigma: float) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        super().__init__(space, seed, sigma)
        self._study = optuna.create_study(direction="maximize")
        self._distributions = {one.name: _distribution(one) for one in space.dimensions}

    def _learn(self, observation: Observation, handle: Trial | None) -> None:
        state = TrialState.COMPLETE if observation.feasible else TrialState.FAIL
        value = observation.log_value if observation.feasible else None
        if handle is not None:
            self._study.tell(handle, value, state=state)
            return
        params = values(self._space, observation.point)
        self._study.add_trial(
            create_trial(state=state, value=value, params=params, distributions=self._distributions)
        )

    def _proposed(self) -> tuple[Proposal, Trial | None] | None:
        sampler = self._sampler()
        if pool_of(self._space) is not None:
            if len(self._told) < _STARTUP:
                return self._drawn()
            return without_handle(self._of_pool(sampler), "promising")
        self._study.sampler = sampler
        for _ in range(_TRIES):
            trial = self._study.ask(self._distributions)
            point = proposed(self._space, trial.params)
            if self._space.is_valid(point):
                return Proposal(point, "promising"), trial
            self._study.tell(trial, state=TrialState.FAIL)
        return self._drawn()

    def _sampler(self) -> TPESampler:
        seed = int(self._rng().integers(2**31))
        return TPESampler(multivariate=True, group=True, n_startup_trials=_STARTUP, seed=seed)

    def _of_pool(self, sampler: TPESampler) -> Point | None:
        measured = {one.point for one in self._told}
        free = [point for point in pool_of(self._space) or () if point not in measured]
        if not free:
            return None
        trials = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        below, above = _split_trials(self._study, trials, default_gamma(len(trials)))
        good = self._log_density(sampler, below, np.array(free), True)
        bad = self._log_density(sampler, above, np.array(free), False)
        return free[int(np.argmax(good - bad))]

    def _log_density(
        self, sampler: TPESampler, trials: list[FrozenTrial], points: np.ndarray, below: bool
    ) -> Floats:
        estimator = sampler._build_parzen_estimator(
            self._study, self._distributions, trials, handle_below=below
        )
        rows = {
            one.name: np.array([float(value(one, level)) for level in points[:, at]])
            for at, one in enumerate(self._space.dimensions)
        }
        return np.asarray(estimator.log_pdf(rows))


def _distribution(dimension: Dimension) -> BaseDistribution:
    if not dimension.ordered:
        return CategoricalDistribution(tuple(range(dimension.size)))
    if dimension.positions:
        return FloatDistribution(0.0, 1.0)
    return IntDistribution(0, dimension.size - 1)
