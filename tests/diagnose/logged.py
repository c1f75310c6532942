"""Counters that a real rsyslogd 8.2302 wrote, in `logs/` with the configuration that ran and what
really happened; tests/drill plays the same scenarios.  Those of other releases are in
folders of their own, `8.2610/queue-full`.

What a queue still held when its rsyslogd was stopped is among the lost in `disk-queue`,
`frozen-engine` and `in-band`; in `engine-away` and the like, where the sink was gone for a while,
nothing is known of them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tuner.diagnose.course import CounterCourse, courses
from tuner.diagnose.diagnosis import Diagnosed, diagnose
from tuner.diagnose.settings import Settings, of_base
from tuner.modules.stats_rounds import StatsRound, numbered, read_rounds
from tuner.script.configuration import configuration
from tuner.script.objects import base_of

LOGS = Path(__file__).parent / "logs"
TRUTH = json.loads((LOGS / "truth.json").read_text("utf-8"))
NAMES = sorted(TRUTH)


@cache
def text_of(name: str) -> str:
    return gzip.decompress((LOGS / f"{name}.log.gz").read_bytes()).decode()


def rounds_in(text: str) -> Iterator[StatsRound]:
    return (one for one in read_rounds(numbered(text)) if isinstance(one, StatsRound))


@cache
def settings_of(name: str) -> Settings:
    case = name.rpartition("/")[2]
    return of_base(base_of(configuration(LOGS / f"{case}.conf")))


def course_of(text: str) -> CounterCourse:
    (one,) = courses(rounds_in(text))
    return one


def diagnosed(text: str, settings: Settings | None = None) -> Diagnosed:
    (one,) = diagnose(courses(rounds_in(text)), settings or Settings())
    return one
