"""What a command and the labs on other machines say to each other."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import get_args

from tuner.cluster.relayed import Failed, JsonLines
from tuner.errors import Refused
from tuner.measure.ceiling import Ceiling
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.farm import Lost
from tuner.search.study import Asked, LabFacts


@dataclass(frozen=True)
class SpanOver:
    """The machines whose load a lab takes, and the address at which they reach it."""

    loads: tuple[str, ...]
    address: str


@dataclass(frozen=True)
class OpenLab:
    """Open a lab with this kind of engine for a profile (as JSON), which allows these settings, and
    for those measured `beside` it; with load from other machines where it is that of a span, on the
    engine at `url` where there is one, and with these texts of a site's templates by their names.
    """

    engine: str
    profile: str
    allow: tuple[str, ...]
    beside: tuple[str, ...] = ()
    span: SpanOver | None = None
    url: str | None = None
    templates: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunTrial:
    """Measure a profile (as JSON) as was asked for."""

    asked: Asked
    profile: str


@dataclass(frozen=True)
class MeasureCeiling:
    """Measure what the engine carries of a profile's documents (as JSON) without rsyslog."""

    profile: str


@dataclass(frozen=True)
class RelayedFrom:
    """A load host has said a line."""

    machine: str
    line: str


@dataclass(frozen=True)
class PeerLost:
    """A load host is gone."""

    machine: str
    reason: str


@dataclass(frozen=True)
class Opened:
    """The lab is open; downloads took so many seconds."""

    facts: LabFacts
    downloads_s: float


@dataclass(frozen=True)
class TrialEnded:
    """What a trial came to."""

    outcome: Result | Lost


@dataclass(frozen=True)
class CeilingFound:
    """What the engine carries without rsyslog."""

    ceiling: Ceiling


@dataclass(frozen=True)
class RelayedTo:
    """A line for a load host."""

    machine: str
    line: str


Question = OpenLab | RunTrial | MeasureCeiling
PeerNews = RelayedFrom | PeerLost
Reply = Opened | TrialEnded | CeilingFound | RelayedTo | Failed
QUESTIONS: JsonLines[Question | PeerNews] = JsonLines(*get_args(Question | PeerNews))
REPLIES: JsonLines[Reply] = JsonLines(*get_args(Reply))


def profile_json(profile: Profile) -> str:
    """A profile as it was written, defaults left out, with the text of its sample.  Raises Refused
    where it stands on a configuration."""
    if profile.base is not None:
        raise Refused(
            f"--cluster cannot measure a profile on a configuration ({profile.base.rsyslog}): the "
            "other machines do not have its files. Leave out --cluster"
        )
    learnt = profile.workload.learnt
    own = profile.model_dump_json(by_alias=True, exclude_unset=True)
    return json.dumps([own, None if learnt is None else (learnt.path, learnt.text)])


def profile_of(text: str) -> Profile:
    """The profile that `profile_json` wrote."""
    own, sample = json.loads(text)
    profile = Profile.model_validate_json(own)
    if sample is not None:
        # What reads a sample is imported for that alone.
        from tuner.profile.sample import SampleFile, read_sample

        path, learnt = sample
        profile.workload.hold(SampleFile(path, learnt, read_sample(learnt, path)))
    return profile
