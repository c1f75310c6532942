"""How much a stream needs over time."""

from __future__ import annotations

from dataclasses import dataclass

# Days have 24 hours, a month 30 days, a year 365.
#
# The table of 2012 that this one can be laid beside (ELMA appliance tests: 10,000 messages of 244
# bytes per second) is right up to the week, 6,048 million messages.  Its month, 181,440 million, is
# 30 weeks, and its year, 2,177,280 million, twelve of those.  Its gzip files, 822 GB a year, follow
# from 0.29 MB per 100,000 messages and a year of 336 days (twelve months of four weeks), its MB and
# GB being powers of 1024.  Its 96.9 TB a year for Elasticsearch need 35.0 MB per 100,000 messages
# in that year; the same tests measured 23.44 MB, 246 bytes an event.
PERIODS = (
    ("second", 1),
    ("minute", 60),
    ("hour", 3600),
    ("day", 86_400),
    ("week", 7 * 86_400),
    ("month", 30 * 86_400),
    ("year", 365 * 86_400),
)


@dataclass(frozen=True)
class Space:
    """Events of a period and their bytes: as messages, in the primaries of an engine, with its
    replicas, and in gzip files."""

    period: str
    seconds: int
    events: float
    message_bytes: float
    primary_bytes: float
    engine_bytes: float
    gzip_bytes: float


@dataclass(frozen=True)
class Sizes:
    """Bytes of one event, each as in Space."""

    message: float
    primary: float
    engine: float
    gzip: float


def space(rate: float, each: Sizes, period: str, seconds: int) -> Space:
    """What `rate` events per second come to in so many seconds."""
    events = rate * seconds
    return Space(
        period=period,
        seconds=seconds,
        events=events,
        message_bytes=events * each.message,
        primary_bytes=events * each.primary,
        engine_bytes=events * each.engine,
        gzip_bytes=events * each.gzip,
    )


def over_time(rate: float, each: Sizes) -> tuple[Space, ...]:
    """A second, minute, hour, day, week, month and year of `rate` events per second."""
    return tuple(space(rate, each, name, seconds) for name, seconds in PERIODS)
