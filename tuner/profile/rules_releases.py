"""Lint for releases: what each rsyslog and each engine can do at all."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.finding import Complaint, error, warning
from tuner.profile.model import Profile, Tier
from tuner.profile.release import Engine
from tuner.profile.rules_transport import remote_servers

OLDEST = 2102
_OMITS_TYPE = 2206
_TAKES_TYPE = {Engine.ELASTICSEARCH: 7, Engine.OPENSEARCH: 1}
NEWEST_READ = 2608
_SUSPENDS_ON_ERRORS = 2606
_SUSPENDS_WITHOUT_RIGHTS = 2508
_MAJORS = {Engine.ELASTICSEARCH: range(7, 10), Engine.OPENSEARCH: range(1, 4)}


def _old_rsyslog(profile: Profile) -> Iterator[Complaint]:
    """F15: before 8.2206 omelasticsearch cannot leave _type out of a bulk."""
    release = profile.release
    path = ("release", "rsyslog")
    if release.rsyslog_number < OLDEST:
        yield Complaint(
            path, f"rsyslog {release.rsyslog} is not covered: 8.{OLDEST} is the oldest release"
        )
    elif (
        release.rsyslog_number < _OMITS_TYPE
        and release.engine_version[0] > _TAKES_TYPE[release.engine]
    ):
        yield Complaint(
            path,
            f"rsyslog {release.rsyslog} always sends _type, which Elasticsearch 8 and OpenSearch 2 "
            f"refuse, and the whole bulk with it: it takes 8.{_OMITS_TYPE} or later",
        )


def _new_rsyslog(profile: Profile) -> Iterator[Complaint]:
    if profile.release.rsyslog_number > NEWEST_READ:
        yield Complaint(
            ("release", "rsyslog"),
            f"rsyslog {profile.release.rsyslog} is newer than what this tool knows "
            f"(8.{NEWEST_READ}): check the rendered configuration with rsyslogd -N1",
        )


def _engine(profile: Profile) -> Iterator[Complaint]:
    release = profile.release
    majors = _MAJORS[release.engine]
    path = ("release", release.engine.value)
    if release.engine_version[0] not in majors:
        yield Complaint(
            path,
            f"{release.engine.value} {release.engine_version[0]} is not covered: "
            f"use {majors[0]} to {majors[-1]}",
        )
    elif release.engine is Engine.ELASTICSEARCH and release.engine_version < (7, 8):
        yield Complaint(path, "composable index templates came with 7.8: use 7.8 or later")


def _lost_on_errors(profile: Profile) -> Iterator[Complaint]:
    """F1: a batch refused as a whole counts as delivered."""
    release = profile.release
    if release.rsyslog_number >= _SUSPENDS_ON_ERRORS:
        return
    remote = any(remote_servers(output) for output in profile.outputs)
    if remote and profile.guardrails.tier is Tier.DURABLE:
        rights = release.rsyslog_number < _SUSPENDS_WITHOUT_RIGHTS
        yield Complaint(
            ("release", "rsyslog"),
            f"rsyslog {release.rsyslog} drops a batch in silence, with retryfailures too, when the "
            f"engine answers {'401, 403, ' if rights else ''}429 or 5xx to all of it: "
            f"8.{_SUSPENDS_ON_ERRORS} waits instead; until then compare what is sent with what is "
            "indexed",
        )


RULES = (
    error("RT401", _old_rsyslog),
    warning("RT402", _new_rsyslog),
    error("RT403", _engine),
    warning("RT404", _lost_on_errors),
)
