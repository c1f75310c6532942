"""Lint for releases: what each rsyslog and each engine can do at all."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.release import NEWEST_READ, OLDEST, Engine
from tuner.lint.rule import error, warning
from tuner.lint.transport import remote_servers
from tuner.modules.inputs import ImtcpInput
from tuner.modules.outputs import OmelasticsearchOutput
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint

_OMITS_TYPE = 2206
_TAKES_TYPE = {Engine.ELASTICSEARCH: 7, Engine.OPENSEARCH: 1}
_SUSPENDS_ON_ERRORS = 2606
_SUSPENDS_WITHOUT_RIGHTS = 2508
_HAS_POOL = 2504
_POOL_IS_SOUND = 2508
_HEEDS_INTERVAL_MAX = 2308
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
    kept = all(output.errorfile is not None for _, output in _at_risk(profile))
    if release.rsyslog_number >= _SUSPENDS_ON_ERRORS or not any(_at_risk(profile)):
        return
    rights = release.rsyslog_number < _SUSPENDS_WITHOUT_RIGHTS
    cure = (
        "errorfile holds what was dropped: send it again from there"
        if kept
        else "set errorfile, which then holds what was dropped"
    )
    yield Complaint(
        ("release", "rsyslog"),
        f"rsyslog {release.rsyslog} drops a batch in silence, with retryfailures too, when the "
        f"engine answers {'401, 403, ' if rights else ''}429 or 5xx to all of it, and like every "
        f"release when it answers 400 or 413: {cure}; 8.{_SUSPENDS_ON_ERRORS} waits after 429 "
        "and 5xx",
    )


def _lost_on_refusal(profile: Profile) -> Iterator[Complaint]:
    """F1: as of 8.2608 rsyslog still drops what is answered with 400 or 413."""
    if profile.release.rsyslog_number < _SUSPENDS_ON_ERRORS:
        return
    for number, output in _at_risk(profile):
        if output.errorfile is None:
            yield Complaint(
                ("outputs", number, "errorfile"),
                "a batch to which the engine, or a proxy before it, answers 400 or 413 as a whole "
                "is dropped in silence, by every release of rsyslog: set errorfile, which then "
                "holds what was dropped",
            )


def _at_risk(profile: Profile) -> Iterator[tuple[int, OmelasticsearchOutput]]:
    """The outputs whose events the durable tier keeps, outside of a lab."""
    if profile.guardrails.tier is Tier.DURABLE:
        yield from ((n, output) for n, output in profile.enumerated if remote_servers(output))


def _racing_pool(profile: Profile) -> Iterator[Complaint]:
    """rsyslog 8.2508's ChangeLog: imtcp's pool queued sessions twice and closed them too early."""
    if not _HAS_POOL <= profile.release.rsyslog_number < _POOL_IS_SOUND:
        return
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImtcpInput) and source.worker_threads != 1:
            yield Complaint(
                ("inputs", number, "workerThreads"),
                f"the workers of imtcp in rsyslog {profile.release.rsyslog} have races when "
                f"connections close, mended in 8.{_POOL_IS_SOUND}: set workerThreads to 1, or use "
                "imptcp where TLS is not needed",
            )


def _interval_ignored(profile: Profile) -> Iterator[Complaint]:
    if profile.release.rsyslog_number >= _HEEDS_INTERVAL_MAX:
        return
    for number, output in enumerate(profile.outputs):
        if output.action_resume_interval_max is not None:
            yield Complaint(
                ("outputs", number, "action.resumeIntervalMax"),
                f"rsyslog {profile.release.rsyslog} takes it and ignores it, and waits up to "
                f"1800 s between retries: 8.{_HEEDS_INTERVAL_MAX} heeds it",
            )


RULES = (
    error("RT401", _old_rsyslog),
    warning("RT402", _new_rsyslog),
    error("RT403", _engine),
    warning("RT404", _lost_on_errors),
    warning("RT405", _lost_on_refusal),
    warning("RT406", _racing_pool),
    warning("RT407", _interval_ignored),
)
