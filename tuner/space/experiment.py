"""An experiment: variants of a pipeline to be measured side by side, and what others published."""

import itertools
import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.profile.metric import PACED, Metric
from tuner.profile.model import Levels
from tuner.profile.workload import Workload
from tuner.schema.path import Path, short_names
from tuner.schema.scalars import Line, Name, Positive, ProfilePath, Switch
from tuner.schema.section import Section
from tuner.space.knob import Level, level_text

MOST_VARIANTS = 24

_Path = Annotated[str, Field(min_length=1, max_length=200)]
SettingValue = Switch | Annotated[int, Field(strict=True)] | str | tuple[str, ...] | None
_Figure = Annotated[float, Field(gt=0)]


class Factor(Section):
    """One knob: a path in the profile, such as `outputs[logs].queue.workerThreads`, and the values
    to measure; null takes the key away."""

    path: _Path
    values: Levels


class Variant(Section):
    """One row of the results: a profile with `changes`; without `profile`, that of the experiment.

    Changes are paths in the profile with their values, null takes a key away.
    """

    name: Line
    profile: ProfilePath | None = None
    changes: dict[str, SettingValue] = Field(default_factory=dict)


class Projection(Section):
    """A rate that is kept up for a number of days, to say what space it needs."""

    events_per_second: Positive
    days: Positive = 365


class Experiment(Section):
    """Variants measured in blocks, each once a block in random order.

    They are listed in `variants`, or all combinations of the values of `knobs`; the first is what
    the others are compared with.  `changes` go into every variant before its own.  Each has
    the workload of its profile with its changes, unless `workload` gives all the same.  Paths of
    profiles are relative to the file.  `published` holds, by metric and variant, what somebody else
    measured.  With a fixed `workload.rate` and a metric of freshness, runs are judged as
    `rsyslog-tune bench` judges freshness.
    """

    name: Name
    title: Line
    source: Line | None = None
    profile: ProfilePath | None = None
    engine: Literal["node", "sink"] = "node"
    changes: dict[str, SettingValue] = Field(default_factory=dict)
    knobs: tuple[Factor, ...] = ()
    variants: tuple[Variant, ...] = ()
    workload: Workload | None = None
    repeats: Annotated[int, Field(ge=1, le=100, strict=True)] = 3
    window: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}s$")] = "10s"
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)] = (
        Metric.EPS, Metric.EPS_PAID, Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.STORE,
    )  # fmt: skip
    published: dict[Metric, dict[str, _Figure]] = Field(default_factory=dict)
    projection: Projection | None = None

    @property
    def judges_freshness(self) -> bool:
        """Whether its runs show freshness, at a fixed rate."""
        return any(metric.is_freshness for metric in self.metrics)

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """All variants with all their changes, the one to compare with first."""
        variants = self.variants or _combinations(self.knobs)
        return tuple(
            variant.model_copy(update={"changes": {**self.changes, **variant.changes}})
            for variant in variants
        )

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if bool(self.knobs) == bool(self.variants):
            raise ValueError("give exactly one of knobs and variants")
        # Counted before they are made: a few knobs more have millions of combinations.
        count = len(self.variants) or math.prod(len(knob.values) for knob in self.knobs)
        if not 1 <= count <= MOST_VARIANTS:
            raise ValueError(f"{count} variants, at most {MOST_VARIANTS}: split it")
        names = [variant.name for variant in self.all_variants]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two variants are called {twice[0]}: give each a name of its own")
        if self.profile is None and any(variant.profile is None for variant in self.all_variants):
            raise ValueError("a variant names no profile, and the experiment none: add profile")
        return self

    @model_validator(mode="after")
    def _measurable(self) -> Self:
        if not self.judges_freshness:
            return self
        if self.workload is None or self.workload.rate == "max":
            raise ValueError("freshness is judged at a fixed rate: add workload with a rate")
        unseen = [metric.value for metric in self.metrics if metric not in PACED]
        if unseen:
            raise ValueError(
                f"a run that shows freshness does not show {unseen[0]}: take it out, or measure it "
                "in an experiment of its own"
            )
        return self


def _combinations(knobs: tuple[Factor, ...]) -> tuple[Variant, ...]:
    """Every combination of values, the last knob changing first."""
    paths = [knob.path for knob in knobs]
    short = _names(paths)
    combinations = itertools.product(*(knob.values for knob in knobs))
    combined = (dict(zip(paths, values, strict=True)) for values in combinations)
    return tuple(Variant(name=_name(changes, short), changes=changes) for changes in combined)


def _names(paths: list[str]) -> dict[str, str]:
    """The last word of each path, or more of it where two end alike."""
    last = {path: Path(path).last for path in paths}
    return last if len(set(last.values())) == len(paths) else short_names(paths)


def _name(changes: dict[str, Level], short: dict[str, str]) -> str:
    """Each setting and its value: `refresh_interval=5s`."""
    return ", ".join(f"{short[path]}={level_text(value)}" for path, value in changes.items())
