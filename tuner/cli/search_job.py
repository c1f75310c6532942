"""A search as asked for: from the command line, or from the journal of one that was ended."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from tuner import __version__
from tuner.cli.options import EngineChoice
from tuner.cli.place import pace_of
from tuner.cli.site import Wanted
from tuner.errors import BadUsage, JobFailed, Refused
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.lint.repairs import every_change, repairs
from tuner.profile.model import Profile
from tuner.profile.sample import is_sample
from tuner.search.budget import Pace
from tuner.search.farm import AND
from tuner.search.guardrails import Limits
from tuner.search.journal import Damaged, recorded, set_aside
from tuner.search.record import Record
from tuner.search.strategies import NAMES
from tuner.search.study import (
    SCHEMA,
    Axis,
    Changes,
    Earlier,
    Header,
    LabFacts,
    Options,
    Study,
)
from tuner.search.verdict import earlier_points
from tuner.space.knob import Knob
from tuner.space.knobs import knobs, of_rsyslog, without_node

# What their arithmetic gives to the last bit decides between points that look alike.
_LIBRARIES = ("numpy", "scipy")


@dataclass
class Stopwatch:
    """The seconds of a budget that are used: those of earlier sessions, and those since this
    command started (as `time.monotonic` said then), downloads excluded."""

    started_s: float
    before_s: float = 0.0
    downloads_s: float = 0.0

    def __call__(self) -> float:
        """The seconds used."""
        return self.before_s + time.monotonic() - self.started_s - self.downloads_s


@dataclass(frozen=True)
class Job:
    """What to search, where and how long.

    `record` is what the journal holds of it, None at its beginning; `warm_starts` are
    earlier searches, by their run directories, whose best points it measures first.  `on_cluster`
    it runs in the labs of the cluster that is up.
    """

    loaded: LoadedProfile
    directory: Path
    options: Options
    budget_s: float
    seed: int
    clock: Stopwatch
    record: Record | None = None
    warm_starts: tuple[tuple[str, Study], ...] = ()
    on_cluster: bool = False

    @property
    def wanted(self) -> Wanted:
        """The lab it needs."""
        engine = EngineChoice(self.options.engine)
        return Wanted(engine, self.options.url, on_cluster=self.on_cluster)

    @property
    def pace(self) -> Pace:
        """What that lab needs in seconds."""
        return pace_of(EngineChoice(self.options.engine))

    def candidate(self, changes: Changes) -> Profile:
        """The profile of a point, read again from its text."""
        return candidate(self.loaded, changes).profile

    @property
    def repairs(self) -> Changes:
        """What every point that it proposes contains."""
        return every_change(repairs(self.loaded.profile)) if self.options.repairs else ()


def recorded_or_set_aside(directory: Path) -> Record:
    """What the journal of a run directory holds.  One that is damaged gets another name, so that
    nothing goes on from it; raises JobFailed, which says where it is."""
    try:
        return recorded(directory)
    except Damaged as damaged:
        aside = set_aside(directory)
        kept = damaged.line - 1
        keep = (
            f". The lines before it are intact: to resume from there, run head -n {kept} {aside} > "
            f"{aside.with_name('trials.jsonl')}"
        )
        raise JobFailed(
            f"{damaged}. The journal was renamed to {aside}{keep if kept else ''}"
        ) from None


def resumed(directory: Path, record: Record, clock: Stopwatch, *, on_cluster: bool) -> Job:
    """A search that goes on, its clock from where it was."""
    header = record.study.header
    clock.before_s = record.spent_s
    text, path, layers = header.profile_text, header.profile_path, header.profile_layers
    return Job(
        loaded=parse_profile(text, path, layers, header.profile_base),
        directory=directory,
        options=header.options,
        budget_s=header.budget_s,
        seed=header.seed,
        clock=clock,
        record=record,
        on_cluster=on_cluster,
    )


def has_changed(begun_with: LoadedProfile) -> bool:
    """Whether the file of a profile, or one of its base, says something else now, as far as can be
    seen."""
    beside = {Path(path): text for path, text in begun_with.beside or ()}
    learnt = begun_with.profile.workload.learnt
    try:
        if learnt is not None and not is_sample(Path(learnt.path)):
            # A log goes on; what was learnt of it stays.
            del beside[Path(learnt.path)]
        return any(
            path.read_bytes() != text.encode("utf-8", "surrogateescape")
            for path, text in ({begun_with.path: begun_with.text} | beside).items()
        )
    except OSError:
        return False


def searchable(profile: Profile, options: Options) -> tuple[Knob, ...]:
    """The knobs that a search turns, as far as that is known before its lab is there; raises
    BadUsage if there is no setting to search."""
    turned = knobs(profile, options.allow)
    if options.engine == EngineChoice.SINK.value:
        turned = of_rsyslog(turned)
    return _some(turned if options.url is None else without_node(turned))


def dimensions(job: Job, facts: LabFacts) -> tuple[Knob, ...]:
    """The knobs that a search turns in a lab; raises BadUsage if there is no setting to search."""
    here = {axis.path: axis.levels for axis in facts.turned}
    every = knobs(job.loaded.profile, job.options.allow)
    return _some(tuple(replace(one, levels=here[one.path]) for one in every if one.path in here))


def _some(turned: tuple[Knob, ...]) -> tuple[Knob, ...]:
    if not turned:
        raise BadUsage(
            "no settings are left to search here: see search in the profile (freeze, only, keep); "
            "settings of the node are searched only in an engine that the lab starts, and those of "
            "the engine not in the sink"
        )
    return turned


def header_of(job: Job, facts: LabFacts) -> Header:
    """What is asked for and where it runs, for the first line of a journal."""
    profile = job.loaded.profile
    return Header(
        schema=SCHEMA,
        tool=f"rsyslog-tune {__version__}",
        started=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        command=shlex.join(["rsyslog-tune", *sys.argv[1:]]),
        profile_path=str(job.loaded.path.absolute()),
        profile_text=job.loaded.text,
        budget_s=job.budget_s,
        seed=job.seed,
        engine=facts.engine,
        rsyslog=facts.fingerprint.rsyslog,
        machine=facts.machine,
        substitutions=facts.substitutions,
        profile_layers=job.loaded.layers,
        profile_base=job.loaded.beside,
        earlier=_earlier(job, facts),
        libraries=tuple(f"{name} {version(name)}" for name in _LIBRARIES),
        limits=Limits.of(profile.guardrails),
        options=job.options,
        fingerprint=facts.fingerprint,
        space=tuple(Axis.of(knob) for knob in dimensions(job, facts)),
    )


def _earlier(job: Job, facts: LabFacts) -> tuple[Earlier, ...]:
    """What the searches to start from ended with; a search that goes on knows that already."""
    if job.record is not None:
        return job.record.study.header.earlier
    turned = dimensions(job, facts)
    return tuple(
        one for run, study in job.warm_starts for one in earlier_points(run, study, turned)
    )


def warm_start_notes(job: Job, header: Header) -> Iterator[str]:
    """What to say of the searches to start from: how many points each gives, and where it was
    measured elsewhere."""
    for run, study in job.warm_starts:
        points = sum(one.run == run for one in header.earlier)
        text = f"{run} gives {points} points to begin with"
        elsewhere = study.header.fingerprint.differences(header.fingerprint)
        if elsewhere:
            text += f", measured under different conditions: {'; '.join(elsewhere)}"
        yield text


def require_strategy(before: Header) -> None:
    """Raise Refused where a search was started with a strategy that this version does not have."""
    name = before.options.strategy
    if name not in NAMES:
        raise _refused([f"its strategy is {name}, and this version has {' and '.join(NAMES)}"])


def require_same(before: Header, now: Header) -> None:
    """Raise Refused unless what would be measured now compares with what was measured before; some
    of the machines are enough."""
    here, there = (set(one.fingerprint.hardware.split(AND)) for one in (now, before))
    hardware = (before if here <= there else now).fingerprint.hardware
    reasons = [*before.fingerprint.differences(replace(now.fingerprint, hardware=hardware))]
    if before.space != now.space:
        reasons.append("its settings or their levels have changed")
    if reasons:
        raise _refused(reasons)


def _refused(reasons: Sequence[str]) -> Refused:
    return Refused(f"the search cannot be resumed here: {'; '.join(reasons)}: start a new search")
