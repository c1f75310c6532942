"""The module that writes rsyslog's own counters."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.model import Profile
from tuner.render.rainerscript import Statement, statement


def impstats_module(profile: Profile) -> Iterator[Statement]:
    """impstats, where the profile asks for it; always JSON, which rsyslog_exporter reads."""
    wanted = profile.impstats
    if wanted is None:
        return
    yield statement(
        "module",
        {
            "load": "impstats",
            "interval": wanted.interval,
            "format": "json",
            "resetCounters": wanted.reset_counters,
            "log.syslog": wanted.log_syslog,
            "log.file": wanted.log_file,
        },
    )
