"""An experiment from a file: read, validated, its variants built; all problems come at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as Folder

from tuner.errors import BadProfile, BadUsage, KeyPath, Problem, Refused
from tuner.lint.candidate import candidate
from tuner.lint.lint import errors_of
from tuner.lint.load import LoadedProfile, load_profile, text_of
from tuner.profile.model import Profile
from tuner.profile.source import Source, problem_at, read
from tuner.profile.wording import validated
from tuner.schema.path import Path
from tuner.space.experiment import Experiment, Variant

BAD_VARIANT = "RT018"


@dataclass(frozen=True)
class LoadedVariant:
    """A variant as a valid profile, with the linter's warnings about it, and the workload that its
    profile has without changes, as JSON."""

    name: str
    profile: Profile
    warnings: tuple[Problem, ...]
    profile_workload: str


@dataclass(frozen=True)
class LoadedExperiment:
    """A valid experiment and all its variants; every one has the workload of the experiment, or
    where that sets none, its own.  Doubts say why variants may not be comparable."""

    experiment: Experiment
    variants: tuple[LoadedVariant, ...]
    doubts: tuple[str, ...] = ()


def load_experiment(path: Folder) -> LoadedExperiment:
    """The experiment in the file at `path`; raises BadProfile with every problem found."""
    source = read(text_of(path), str(path))
    experiment = validated(Experiment, source, source.data)
    if experiment.workload is not None and experiment.workload.sample is not None:
        # What reads a log is imported for that alone.
        from tuner.profile.sample import sample_of

        experiment.workload.hold(sample_of(source, [source.text]))
    variants, problems = _variants(experiment, source)
    problems = (*source.problems, *_idle(experiment, source), *_published(experiment, source),
                *problems)  # fmt: skip
    if problems:
        raise BadProfile(
            tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        )
    return LoadedExperiment(experiment, variants, tuple(_doubts(experiment, variants)))


def _doubts(experiment: Experiment, variants: Sequence[LoadedVariant]) -> Iterator[str]:
    """Why the variants may not be comparable: what is measured is the profiles, not their traffic,
    unless changes are about that."""
    if experiment.workload is None and len({variant.profile_workload for variant in variants}) > 1:
        yield (
            "the profiles have different workloads, and each variant was measured with its own: "
            "add workload to the experiment to give all the same"
        )


def _idle(experiment: Experiment, source: Source) -> Iterator[Problem]:
    """Changes of a workload that would do nothing, as the experiment has one for all."""
    if experiment.workload is None:
        return
    changes: list[tuple[KeyPath, str]] = [
        *((("changes", path), path) for path in experiment.changes),
        *((("knobs", number, "path"), knob.path) for number, knob in enumerate(experiment.knobs)),
        *(
            (("variants", number, "changes", path), path)
            for number, variant in enumerate(experiment.variants)
            for path in variant.changes
        ),
    ]
    for place, path in changes:
        if Path(path).is_in("workload"):
            message = (
                f"{path} would do nothing: the workload of the experiment is that of every "
                "variant; remove one of the two"
            )
            yield problem_at(source.name, source.key_position(place), message, BAD_VARIANT)


def _variants(
    experiment: Experiment, source: Source
) -> tuple[tuple[LoadedVariant, ...], tuple[Problem, ...]]:
    """The variants that are valid profiles, and what is wrong with the others."""
    variants: list[LoadedVariant] = []
    problems: dict[Problem, None] = {}
    for number, variant in enumerate(experiment.all_variants):
        try:
            unchanged = _variant_profile(variant, experiment, Folder(source.name).parent)
            written = candidate(unchanged, variant.changes.items())
            workload = experiment.workload or written.profile.workload
            profile = written.profile.model_copy(update={"workload": workload})
            _require_measurable(profile)
        except (BadProfile, BadUsage, Refused) as bad:
            where: KeyPath = ("variants", number) if experiment.variants else ("knobs",)
            for message in _messages(bad):
                text = f"variant {variant.name}: {message}"
                problems[problem_at(source.name, source.position(where), text, BAD_VARIANT)] = None
        else:
            before = unchanged.profile.workload.model_dump_json()
            variants.append(LoadedVariant(variant.name, profile, written.warnings, before))
    return tuple(variants), tuple(problems)


def _require_measurable(profile: Profile) -> None:
    """Raise BadUsage if a lab has nothing to flood or to count, or the workload does not fit."""
    _ = profile.flooded
    if not profile.indexed:
        raise BadUsage("none of the outputs goes into the engine, where events are counted")
    errors = errors_of(profile)
    if errors:
        raise BadUsage("; ".join(f"{finding.message} [{finding.code}]" for finding in errors))


def _variant_profile(variant: Variant, experiment: Experiment, folder: Folder) -> LoadedProfile:
    """The profile of a variant; paths are relative to the folder of the experiment."""
    named = folder / (variant.profile or experiment.profile or "")
    return load_profile(Folder(os.path.normpath(named)))


def _messages(bad: BadProfile | BadUsage | Refused) -> Iterator[str]:
    if isinstance(bad, BadProfile):
        yield from (str(problem) for problem in bad.problems)
    else:
        yield str(bad)


def _published(experiment: Experiment, source: Source) -> Iterator[Problem]:
    """Problems of published figures: metrics or variants that the experiment lacks."""
    names = [variant.name for variant in experiment.all_variants]
    for metric, figures in experiment.published.items():
        at: KeyPath = ("published", metric.value)
        if metric not in experiment.metrics:
            text = f"{metric.value} is not among the metrics: add it there or remove it here"
            yield problem_at(source.name, source.key_position(at), text, BAD_VARIANT)
        for name in figures:
            if name not in names:
                text = f"there is no variant {name}: they are called {'; '.join(names)}"
                where = source.key_position((*at, name))
                yield problem_at(source.name, where, text, BAD_VARIANT)
