"""Lint for the counters that rsyslog keeps of itself."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import error, warning
from tuner.profile.model import Profile
from tuner.rule import Complaint


def _goes_nowhere(profile: Profile) -> Iterator[Complaint]:
    wanted = profile.impstats
    if wanted is not None and wanted.log_file is None and not wanted.log_syslog:
        yield Complaint(
            ("impstats",),
            "the counters go nowhere: add log.file: /var/log/rsyslog/impstats.log, or "
            "log.syslog: on to have them among the events",
        )


def _counts_itself(profile: Profile) -> Iterator[Complaint]:
    if profile.impstats is not None and profile.impstats.log_syslog:
        yield Complaint(
            ("impstats", "log.syslog"),
            "the counters become events: they are indexed and counted like the others, and wait or "
            "are lost with them when a queue is full: use log.file instead",
        )


def _starts_anew(profile: Profile) -> Iterator[Complaint]:
    if profile.impstats is not None and profile.impstats.reset_counters:
        yield Complaint(
            ("impstats", "resetCounters"),
            "counters that begin anew each time make wrong rates in Prometheus, which takes every "
            "fall for a restart: remove it",
        )


RULES = (
    error("RT140", _goes_nowhere),
    warning("RT141", _counts_itself),
    warning("RT142", _starts_anew),
)
