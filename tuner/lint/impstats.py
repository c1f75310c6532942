"""Lint for the counters that rsyslog keeps of itself."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning


@error(
    "RT140",
    why="impstats counts, and nobody hears of it: the processor time is spent for nothing.",
    source="rsyslog plugins/impstats",
    bad={"impstats": {"interval": 10}},
    good={"impstats": {"interval": 10, "log.file": "/var/log/rsyslog/impstats.log"}},
)
def _goes_nowhere(profile: Profile) -> Iterator[Complaint]:
    wanted = profile.impstats
    if wanted is not None and wanted.log_file is None and not wanted.log_syslog:
        yield Complaint(
            ("impstats",),
            "the counters go nowhere: add log.file: /var/log/rsyslog/impstats.log, or "
            "log.syslog: on to have them among the events",
        )


@warning(
    "RT141",
    why="Counters among the events pass through the queues that they are about, and are missing "
    "when they are needed.",
    source="rsyslog's manual, impstats",
    bad={"impstats": {"log.syslog": True}},
    good={"impstats": {"log.file": "/var/log/rsyslog/impstats.log"}},
    at="impstats.log.syslog",
)
def _counts_itself(profile: Profile) -> Iterator[Complaint]:
    if profile.impstats is not None and profile.impstats.log_syslog:
        yield Complaint(
            ("impstats", "log.syslog"),
            "the counters become events: they are indexed and counted like the others, and wait or "
            "are lost with them when a queue is full: use log.file instead",
        )


@warning(
    "RT142",
    why="rate() of Prometheus takes every fall of a counter for a restart, and adds what was "
    "counted before.",
    source="Prometheus' documentation, rate(); rsyslog's manual, impstats",
    bad={"impstats": {"log.file": "/var/log/rsyslog/impstats.log", "resetCounters": True}},
    good={"impstats.resetCounters": False},
)
def _starts_anew(profile: Profile) -> Iterator[Complaint]:
    if profile.impstats is not None and profile.impstats.reset_counters:
        yield Complaint(
            ("impstats", "resetCounters"),
            "counters that begin anew each time make wrong rates in Prometheus, which takes every "
            "fall for a restart: remove it",
        )
