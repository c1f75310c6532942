"""The course of a search: warm up, calibrate, climb, measure the best again, take it apart, check,
confirm.

What is left to do follows from the trials so far, so that a journal of those is enough to go on
with it, whatever ended it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, count

from tuner.errors import Refused
from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.machines import outliers
from tuner.measure.measurement import Failure, TrialPlan, others_used
from tuner.search import notes
from tuner.search.budget import (
    MOST_PAIRS,
    aside_s,
    check_plan,
    check_rate,
    engine_warm_up,
)
from tuner.search.calibration import calibrate, calibrating, repeats_of
from tuner.search.climb import Climb, Leader, begin_climb, turned_knobs
from tuner.search.effects import Block, Design, blocks_left, designed, effects_of
from tuner.search.farm import Task, Work
from tuner.search.runner import Runner
from tuner.search.study import BASELINE, Asked, Changes, Phase, Step, Trial
from tuner.search.verdict import (
    Pair,
    are_enough,
    candidate_of,
    disqualified,
    gains_of,
    is_repaired,
    neighbours,
    pairs_of,
    reason_of,
    recipe_of,
    to_pair,
)

BEST = "the best found"
"""What the winner is called in trials."""

# A rate this far below the best so far cannot win: its window is cut short.
_LOSING = 0.9
# So many of the best are run at a fixed rate, until one of them keeps the guardrails there.
_MOST_CHECKED = 3
# Where a run of a design fails, the next one goes without its point.
_MOST_DESIGNS = 4


@dataclass
class Search:
    """A running search; `run` gives every trial as it is known, the confirmation last."""

    runner: Runner
    _ascent: Ascent | None = field(default=None, init=False)

    def leader(self) -> Leader | None:
        """What would be confirmed if the search ended now; None before it began to climb."""
        return None if self._ascent is None else self._ascent.climb.leader(self.runner.trials)

    def run(self) -> Iterator[Step]:
        """Raises JobFailed when the baseline cannot be measured, and Refused by the noise."""
        runner = self.runner
        header = runner.setup.header
        runner.forecast.aside_s = aside_s(
            header.budget_s, has_front=header.options.front is not None
        )
        yield from self._warm_up()
        before = {Phase.WARM_UP, Phase.CALIBRATE}
        is_new = all(trial.phase in before for trial in runner.trials)
        if is_new:
            yield from self._calibrate()
            runner.forecast.fix_plans()
        calibration = calibrate(*repeats_of(runner.trials))
        allowed = runner.setup.header.options.refuse_noise
        if allowed is not None and calibration.sigma > allowed:
            raise Refused(notes.too_noisy(calibration, allowed))
        turned = turned_knobs(runner)
        if is_new and len(turned) < len(runner.setup.candidates.knobs):
            yield runner.note(
                notes.frozen(
                    runner.setup.candidates.profile(BASELINE), runner.setup.candidates.knobs, turned
                )
            )
        self._ascent = Ascent(runner, begin_climb(runner, turned, calibration))
        yield from self._ascent.run()
        yield from self._ascent.front()

    def _warm_up(self) -> Iterator[Step]:
        """Each machine once."""
        runner, forecast = self.runner, self.runner.forecast
        cold = list(runner.machines.names)
        plan = engine_warm_up(forecast.left_s(), runner.setup.pace)

        def next_task(machine: str) -> Task | None:
            if machine not in cold:
                return None
            cold.remove(machine)
            return partial(runner.required, Phase.WARM_UP, plan)

        # A slow machine gets its baseline without the others waiting for it.
        until_s = partial(runner.until_late_s, Phase.WARM_UP)
        yield from runner.run(next_task, again=False, until_s=until_s)
        forecast.fix_plans()

    def _calibrate(self) -> Iterator[Step]:
        """Repeated runs of the baseline on each machine, and what they say of the noise."""
        forecast = self.runner.forecast
        runner, plans = self.runner, forecast.plans
        trial_s = forecast.takes_s(plans.search)
        # Of one run no noise is seen, which nobody must refuse.
        fewest = 1 if runner.setup.header.options.refuse_noise is None else 2

        def next_task(machine: str) -> Task | None:
            done = sum(trial.machine == machine for trial in calibrating(runner.trials))
            is_short = done >= fewest and not forecast.leaves_pairs(2 * trial_s, BASELINE)
            if is_short or done >= plans.calibrating:
                return None
            return partial(runner.required, Phase.CALIBRATE, plans.search)

        until_s = partial(runner.until_late_s, Phase.CALIBRATE)
        yield from runner.run(next_task, again=False, until_s=until_s)
        measured = [trial.measurement for trial in calibrating(runner.trials)]
        runs = [run for run in measured if run is not None]
        repeats = repeats_of(runner.trials)
        outlying = outliers(
            {machine_repeats.machine: machine_repeats.logs.tolist() for machine_repeats in repeats}
        )
        for text in notes.calibrated(calibrate(*repeats), others_used(runs)):
            yield runner.note(text)
        for text in notes.standing_out(outlying, f"the rate of {runner.baseline}"):
            yield runner.note(text)


@dataclass
class Ascent:
    """From the calibrated baseline to a confirmed winner; the climb learns of every trial."""

    runner: Runner
    climb: Climb

    def run(self) -> Iterator[Step]:
        """Search, choose, confirm; what fails in the confirmation gives way to the next best."""
        runner = self.runner
        winner = candidate_of(runner.trials)
        if winner is None or self._is_disqualified(winner):
            made = -1
            # What the finals choose may need less time for its pairs than what led before them.
            while len(runner.trials) > made:
                made = len(runner.trials)
                yield from self._explore()
                yield from self._finals()
            winner = yield from self._chosen()
        while winner is not None:
            yield from self._confirm(winner)
            if not self._is_disqualified(winner):
                yield from self._beyond_recipe(winner)
            if not self._is_disqualified(winner):
                return
            winner = yield from self._chosen()

    def _explore(self) -> Iterator[Step]:
        """Measure what the climb asks for, as long as there is time."""
        runner, forecast, climb = self.runner, self.runner.forecast, self.climb

        def next_task(machine: str) -> Task | None:
            if not climb.knows(machine):
                return calibrated
            if not forecast.has_room(self._best()):
                return None
            asked = climb.ask(forecast.trials_left(self._best()), runner.under_way)
            return None if asked is None else partial(tried, *asked)

        def calibrated(machine: str) -> Work:
            """A machine that joined in a session that resumed."""
            trial = yield from runner.required(Phase.CALIBRATE, forecast.plans.search, machine)
            climb.tell(trial)
            return trial

        def tried(changes: Changes, why: str, machine: str) -> Work:
            """A transient failure tells nothing of a point that is measured for the first time."""
            plan = replace(forecast.plans.search, loses_below=self._losing(machine))
            asked = Asked(0, Phase.SEARCH, changes, why, plan)
            trial = yield from runner.persistently(lambda: asked)
            climb.tell(trial)
            return trial

        yield from runner.run(next_task)

    def _best(self) -> Changes:
        """What would be confirmed now, to reckon with its time."""
        return self.climb.winner(self.runner.trials) or BASELINE

    def _losing(self, machine: str) -> float:
        """The rate below which a window cannot win any more on a machine."""
        trials = [trial for trial in self.runner.trials if trial.machine == machine]
        measured = [trial.measurement for trial in trials]
        return _LOSING * max(run.eps for run in measured if run is not None)

    def _finals(self) -> Iterator[Step]:
        """Good points again, on longer windows, where that helps most to choose among them."""
        forecast = self.runner.forecast
        runner, plan, made = self.runner, forecast.plans.final, count()

        def next_task(machine: str) -> Task | None:
            if next(made) >= forecast.plans.finals:
                return None
            trials_left = int(forecast.free_s(self._best()) / forecast.takes_s(plan))
            changes = self.climb.again(
                trials_left * len(runner.machines.names),
                plan,
                lambda changes: forecast.next_s(changes, plan, machine),
                runner.under_way,
            )
            return None if changes is None else partial(repeated, changes)

        def repeated(changes: Changes, _: str) -> Work:
            why = "again, to choose among the best"
            trial = yield from runner.trial(Asked(0, Phase.FINAL, changes, why, plan))
            self._learn(trial)
            return trial

        yield from runner.run(next_task)

    def _learn(self, trial: Trial) -> None:
        """Tell the climb of a run of a good point, but not of one that failed in passing first."""
        if not trial.is_transient or self._is_disqualified(trial.changes):
            self.climb.tell(trial)

    def _is_disqualified(self, changes: Changes) -> bool:
        return (
            disqualified(self.runner.trials, changes, self.runner.setup.header.limits) is not None
        )

    def _chosen(self) -> Generator[Step, None, Changes | None]:
        """The point to confirm: the best found, without what gives nothing, that is also fresh at a
        fixed rate well below what either side carries; what is not gives way to the next best.
        Where there was no time to try any, it is what experts would try first; None without that,
        and where it is too late for pairs."""
        runner, forecast, climb = self.runner, self.runner.forecast, self.climb
        for _ in range(_MOST_CHECKED):
            was_idle = not any(trial.changes for trial in runner.trials)
            winner = climb.winner(runner.trials, forecast.fits) or climb.winner(runner.trials)
            winner = (climb.untried(forecast.fits) if was_idle else None) or winner
            if winner is None or self._is_disqualified(winner):
                return None
            if forecast.is_too_late(winner):
                yield self.runner.note(notes.too_short())
                return None
            winner = winner if was_idle else (yield from self._apart(winner))
            if not self._is_disqualified(winner) and (yield from self._may_be_fresh(winner)):
                return winner
        return None

    def _may_be_fresh(self, winner: Changes) -> Generator[Step, None, bool]:
        """Whether nothing is known against how fresh it is: where time is short, nobody looks."""
        forecast = self.runner.forecast
        checks_s = forecast.plans.checks_s
        if checks_s == 0 or not forecast.leaves_pairs(checks_s, winner):
            return True
        return (yield from self.is_fresh(winner))

    def _apart(self, winner: Changes) -> Generator[Step, None, Changes]:
        """What is left of a winner without the changes that a designed experiment shows to give
        nothing; the winner itself where time is short."""
        runner, setup = self.runner, self.runner.setup

        def may_be(changes: Changes) -> bool:
            return setup.candidates.is_valid(changes) and not self._is_disqualified(changes)

        knobs = self.climb.knobs.knobs
        for _ in range(_MOST_DESIGNS):
            blocks = runner.forecast.blocks_of(winner)
            design = designed(winner, setup.candidates.repairs, knobs, blocks, may_be)
            if design is None or (yield from self._measured(design, winner)):
                break
        effects = effects_of(runner.trials, winner)
        return winner if effects is None or self._is_disqualified(effects.left) else effects.left

    def _measured(self, design: Design, winner: Changes) -> Generator[Step, None, bool]:
        """Measure the blocks of a design that fit into the time; false where a run failed, so that
        another design is needed."""
        runner, forecast, failed = self.runner, self.runner.forecast, False
        blocks = blocks_left(design, runner.trials)
        number = max((trial.pair or 0 for trial in runner.of(Phase.EFFECTS)), default=0)

        def next_task(_: str) -> Task | None:
            nonlocal number
            if failed or not forecast.has_room_for_block(winner, len(blocks)):
                return None
            block = blocks.pop(0)
            number += 1
            return partial(measured, block, number)

        def measured(block: Block, number: int, machine: str) -> Work:
            nonlocal failed
            for changes in runner.pair_order(Phase.EFFECTS, *block, machine):
                why = BEST if changes == winner else "to see what each change gives"
                asked = Asked(0, Phase.EFFECTS, changes, why, forecast.plans.search, number)
                try:
                    trial = yield from runner.trial(asked)
                except GeneratorExit:
                    # It was lost with its machine.
                    blocks.insert(0, block)
                    raise
                self._learn(trial)
                if isinstance(trial.outcome, Failure):
                    failed = True
                    break
            return trial

        yield from runner.run(next_task, again=False)
        return not failed

    def is_fresh(self, winner: Changes) -> Generator[Step, None, bool]:
        """Run both sides at a fixed rate, the baseline only once."""
        runner = self.runner
        checks = runner.of(Phase.CHECK)
        per_second = checks[0].per_second if checks else None
        if per_second is None:
            # What both have carried, once the engine was warm.
            scored = [trial for trial in runner.trials if trial.phase is not Phase.WARM_UP]
            measured = [
                trial.measurement for trial in scored if trial.changes in (BASELINE, winner)
            ]
            carried = [run.eps_paid for run in measured if run is not None]
            objective = runner.setup.header.options.objective
            per_second = runner.rate if objective.facts.at_rate else check_rate(carried)
            yield from self._check(BASELINE, per_second)
        if not any(trial.changes == winner for trial in checks):
            yield from self._check(winner, per_second)
        of_winner = [trial for trial in runner.of(Phase.CHECK) if trial.changes == winner]
        return reason_of(of_winner[-1], runner.setup.header.limits) is None

    def _check(self, changes: Changes, per_second: float) -> Iterator[Step]:
        """A run at a fixed rate (events a second), made once more after a transient failure."""
        runner, plan = self.runner, check_plan(self.runner.setup.candidates.profile(changes))

        def ask() -> Asked:
            why = f"{self._called(changes)}, at a fixed rate"
            return Asked(0, Phase.CHECK, changes, why, plan, per_second=per_second)

        def checked(_: str) -> Work:
            trial = yield from runner.persistently(ask)
            self.climb.checked(trial)
            return trial

        tasks = [checked]
        yield from runner.run(lambda _: tasks.pop() if tasks else None)

    def _called(self, changes: Changes) -> str:
        return self.runner.baseline if changes == BASELINE else BEST

    def _confirm(self, winner: Changes) -> Iterator[Step]:
        """Fresh pairs of the baseline and exactly the point that is handed over.

        At least six, or eight where the engine restarts between the sides; more while there is
        time, unless that is enough for `_beyond_recipe`, which depends on the clock and never on
        what the pairs show.  A pair in which a run failed in passing is measured again; a winner
        that cannot be recommended ends it, and where the profile as written lost events before
        there were enough, they begin again with its repairs.  Where time runs out before, it says
        so.
        """
        runner, forecast = self.runner, self.runner.forecast
        plan, planned = forecast.plans.confirm, forecast.planned_pairs(winner)
        runs = runner.of(Phase.CONFIRM)
        begun = len({run.pair for run in runs if run.changes == winner})
        number = max((run.pair or 0 for run in runs), default=0)

        def next_task(machine: str) -> Task | None:
            nonlocal plan, begun, number
            is_full = begun == max(MOST_PAIRS, len(runner.machines.names))
            if is_full or self._gives_up(winner) or machine not in runner.pairing(winner):
                return None
            complete = len(self._pairs_of(winner))
            plan = forecast.confirm_plan(
                plan, winner, max(1, planned - complete - len(runner.under_way))
            )
            pair_s = forecast.pair_s(plan, winner)
            is_enough = complete >= planned and self._recipe_beyond(winner) is not None
            if is_enough or self._has_enough(winner, pair_s + runner.setup.pace.end_s):
                return None
            if not forecast.has_time(pair_s):
                return None
            begun, number = begun + 1, number + 1
            return partial(paired, plan, number)

        def paired(plan: TrialPlan, pair: int, machine: str) -> Work:
            sides = {side: self._called(side) for side in (BASELINE, winner)}
            trial = yield from self._pair(Phase.CONFIRM, sides, plan, pair, machine)
            if trial.lost_as_written and runner.is_repaired and not self._gives_up(winner):
                yield runner.note(notes.repaired(trial))
            return trial

        yield from runner.run(next_task, again=False)
        if not self._gives_up(winner) and not are_enough(self._pairs_of(winner)):
            yield self.runner.note(notes.too_short())
        for text in notes.standing_out(outliers(gains_of(runner.trials)), "the gain"):
            yield runner.note(text)

    def _recipe_beyond(self, winner: Changes) -> Trial | None:
        """The recipe that a winner goes beyond, where there is time for enough pairs of the two, or
        they have begun."""
        forecast = self.runner.forecast
        runner, recipe = self.runner, recipe_of(self.runner.trials, winner)
        has_begun = any(trial.changes == winner for trial in runner.of(Phase.RECIPE))
        left_s = forecast.left_s() - runner.setup.pace.end_s
        return recipe if has_begun or 0 < forecast.beyond_s(winner, recipe) <= left_s else None

    def _beyond_recipe(self, winner: Changes) -> Iterator[Step]:
        """Fresh pairs of a confirmed winner and the best recipe, where there is time for enough:
        what the climb gave beyond what experts would have tried."""
        recipe = self._recipe_beyond(winner)
        if recipe is not None:
            sides = {recipe.changes: recipe.why, winner: BEST}
            yield from self._beside(winner, Phase.RECIPE, [sides] * MOST_PAIRS)

    def front(self) -> Iterator[Step]:
        """The fewest pairs, in turns, of the profile as written and of as many other points of the
        front of two figures as there is time for, once a winner was confirmed."""
        forecast, header = self.runner.forecast, self.runner.setup.header
        runner, winner = self.runner, candidate_of(self.runner.trials)
        if header.options.front is None or winner is None or self._is_disqualified(winner):
            return
        forecast.aside_s, plan = 0.0, forecast.plans.final
        points = to_pair(runner.trials, header.options.front, header.limits)
        left_s = forecast.left_s() - runner.setup.pace.end_s
        pairs_s = accumulate(FEWEST_PAIRS * forecast.pair_s(plan, point) for point in points)
        fit = sum(total_s <= left_s for total_s in pairs_s)
        if fit < len(points):
            yield runner.note(notes.shorter_front(fit, len(points)))
        sides = [{BASELINE: runner.baseline, point: "on the front"} for point in points[:fit]]
        yield from self._beside(winner, Phase.FRONT, FEWEST_PAIRS * sides)

    def _beside(
        self, winner: Changes, phase: Phase, pairs: Sequence[Mapping[Changes, str]]
    ) -> Iterator[Step]:
        """Pairs beside those of a winner, as long as that can be recommended and there is time;
        what is complete is not made again."""
        runner, forecast = self.runner, self.runner.forecast
        runs, plan = runner.of(phase), forecast.plans.final
        made = {run.pair for sides in pairs for _, run in neighbours(runs, *sides)}
        turns = [(pair, sides) for pair, sides in enumerate(pairs, 1) if pair not in made]

        def next_task(_: str) -> Task | None:
            if not turns or self._is_disqualified(winner):
                return None
            pair, sides = turns.pop(0)
            *_before, after = sides
            needed_s = forecast.pair_s(plan, after) + runner.setup.pace.end_s
            is_late = forecast.left_s() < needed_s
            return None if is_late else partial(self._pair, phase, sides, plan, pair)

        yield from runner.run(next_task, again=False)

    def _pairs_of(self, winner: Changes) -> tuple[Pair, ...]:
        """The complete pairs of a winner."""
        trials = self.runner.trials
        return pairs_of(trials) if candidate_of(trials) == winner else ()

    def _gives_up(self, winner: Changes) -> bool:
        """Whether no more pairs are made: the winner cannot be recommended, or the profile as
        written lost events once there were enough."""
        if self._is_disqualified(winner):
            return True
        is_over = self.runner.is_repaired and not is_repaired(self.runner.trials)
        return is_over and are_enough(self._pairs_of(winner))

    def _has_enough(self, winner: Changes, seconds: float) -> bool:
        """Whether its pairs can show something, and so many seconds are not left for more."""
        return are_enough(self._pairs_of(winner)) and self.runner.forecast.left_s() < seconds

    def _pair(
        self, phase: Phase, sides: Mapping[Changes, str], plan: TrialPlan, pair: int, machine: str
    ) -> Work:
        """One pair of two points, each with what it is called, on one machine; it is complete
        unless its last run failed.  The climb learns of what cannot be recommended after it."""
        runner = self.runner
        before, after = sides
        for changes in runner.pair_order(phase, before, after, machine):
            asked = Asked(0, phase, changes, sides[changes], plan, pair)
            trial = yield from runner.trial(asked)
            if isinstance(trial.outcome, Failure):
                if changes != BASELINE and self._is_disqualified(changes):
                    self.climb.checked(trial)
                if trial.is_transient:
                    yield runner.note(notes.repeating(trial, "the pair"))
                break
        return trial
