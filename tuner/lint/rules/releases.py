"""Lint for releases: what each release of rsyslog and of the engines supports."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from tuner.engines.release import NEWEST_READ, OLDEST, Engine, Release
from tuner.errors import KeyPath
from tuner.lint.rules.connections import remote_servers
from tuner.lint.rules.streams import steps_of
from tuner.lint.sections import engine_outputs, every_queue, inputs, outputs, where_durable
from tuner.modules.input import Input
from tuner.modules.omelasticsearch import (
    TYPE_CAN_GO,
    WAITS_ON_ERRORS,
    OmelasticsearchOutput,
    lost_whole,
    refuses_type,
)
from tuner.modules.output import Output
from tuner.modules.queue import SEGMENTED_SINCE, Queue, QueueType
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue
from tuner.rule import Complaint, advice, error, loss, warning
from tuner.schema.section import too_new

_HAS_RATELIMIT = 2602
_HEEDS_INTERVAL_MAX = 2308
_MAJORS = {Engine.ELASTICSEARCH: range(7, 10), Engine.OPENSEARCH: range(1, 4)}


@error("RT401")
def _old_rsyslog(profile: Profile) -> Iterator[Complaint]:
    release = profile.release
    path = ("release", "rsyslog")
    if release.rsyslog_number < OLDEST:
        yield Complaint(
            path,
            f"rsyslog {release.rsyslog} is not supported: 8.{OLDEST} is the oldest "
            "supported release",
        )
    elif release.rsyslog_number < TYPE_CAN_GO and refuses_type(
        release.engine, release.engine_version[0]
    ):
        yield Complaint(
            path,
            f"rsyslog {release.rsyslog} always sends _type, which Elasticsearch 8 and OpenSearch "
            f"2 refuse, and the whole bulk with it: use rsyslog 8.{TYPE_CAN_GO} or later",
        )


@advice("RT402")
def _new_rsyslog(profile: Profile) -> Iterator[Complaint]:
    if profile.release.rsyslog_number > NEWEST_READ:
        yield Complaint(
            ("release", "rsyslog"),
            f"rsyslog {profile.release.rsyslog} is newer than what this tool knows "
            f"(8.{NEWEST_READ}): check the rendered configuration with rsyslogd -N1",
        )


@error("RT403")
def _engine(profile: Profile) -> Iterator[Complaint]:
    release = profile.release
    majors = _MAJORS[release.engine]
    path = ("release", release.engine.value)
    if release.engine_version[0] not in majors:
        yield Complaint(
            path,
            f"{release.engine.value} {release.engine_version[0]} is not supported: "
            f"use {majors[0]} to {majors[-1]}",
        )
    elif release.engine is Engine.ELASTICSEARCH and release.engine_version < (7, 8):
        yield Complaint(path, "composable index templates were introduced in 7.8: use 7.8 or later")


_EXPANDS_ITEMS, _LIMITS_CONCURRENCY = (9, 5), (3, 9)


@warning("RT349").for_each(engine_outputs, "index", "settings", "number_of_replicas")
def _diverging_replicas(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    release, settings = profile.release, output.index.settings
    is_affected = (
        release.engine is Engine.ELASTICSEARCH and release.engine_version == _EXPANDS_ITEMS
    )
    if is_affected and settings.number_of_replicas > 0:
        yield (
            "Elasticsearch 9.5.0 to 9.5.2 leaves documents out of replicas when a bulk meets "
            "indexing_pressure.memory.limit, which load drives it into: use 9.5.3 or later, and "
            "accept RT349 then"
        )


@warning("RT350")
def _limited_concurrency(profile: Profile) -> Iterator[Complaint]:
    release = profile.release
    can_limit = (
        release.engine is Engine.OPENSEARCH and release.engine_version >= _LIMITS_CONCURRENCY
    )
    if can_limit and any(engine_outputs(profile)) and release.rsyslog_number < WAITS_ON_ERRORS:
        yield Complaint(
            ("release", "opensearch"),
            "OpenSearch 3.9 can limit the bulks that it works on by itself, and answers 429 to "
            f"more, which rsyslog {release.rsyslog} drops: leave concurrency_limit disabled for "
            f"bulks, or use rsyslog 8.{WAITS_ON_ERRORS}",
        )


@loss("RT404")
def _lost_on_errors(profile: Profile) -> Iterator[Complaint]:
    release = profile.release
    at_risk = [
        placed for placed in where_durable(engine_outputs)(profile) if remote_servers(placed[1])
    ]
    lost = lost_whole(release.rsyslog_number)
    if not lost or not at_risk:
        return
    # A configuration does not say which release reads it: there it stands at each output.
    in_base = profile.base is not None
    for group in [[placed] for placed in at_risk] if in_base else [at_risk]:
        path: KeyPath = (*group[0][0], "errorfile") if in_base else ("release", "rsyslog")
        cure = "set errorfile, which then holds what was dropped"
        if all(output.errorfile is not None for _, output in group):
            cure = "errorfile holds what was dropped: send it again from there"
        yield Complaint(
            path,
            f"rsyslog {release.rsyslog} silently drops a batch, with retryfailures too, when the "
            f"engine answers {lost} to all of it, and like every release when it answers 400: "
            f"{cure}; 8.{WAITS_ON_ERRORS} waits after 429 and 5xx",
        )


@loss("RT405").for_each(where_durable(engine_outputs), "errorfile")
def _lost_on_refusal(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    rt404_says_it = lost_whole(profile.release.rsyslog_number)
    if not rt404_says_it and remote_servers(output) and output.errorfile is None:
        yield (
            "a batch to which the engine answers 400 as a whole is silently dropped by every "
            "release of rsyslog: set errorfile, which then holds what was dropped"
        )


@advice("RT407").for_each(outputs, "action.resumeIntervalMax")
def _interval_ignored(output: Output, profile: Profile) -> Iterator[str]:
    release, interval = profile.release, output.action_resume_interval_max
    if interval is not None and release.rsyslog_number < _HEEDS_INTERVAL_MAX:
        yield (
            f"rsyslog {release.rsyslog} accepts this but ignores it, and waits up to 1800 s "
            f"between retries: honoured from 8.{_HEEDS_INTERVAL_MAX}"
        )


@error("RT421").for_each(inputs)
def _inputs(source: Input, profile: Profile) -> Iterator[Complaint]:
    return _unknown_parameters((), source, source.type, profile.release)


@error("RT422").for_each(outputs)
def _outputs(output: Output, profile: Profile) -> Iterator[Complaint]:
    return _unknown_parameters((), output, output.type, profile.release)


@error("RT424")
def _global(profile: Profile) -> Iterator[Complaint]:
    return _unknown_parameters(("global",), profile.global_, "global", profile.release)


@error("RT423").for_each(every_queue, "type")
def _queues(queue: PlacedQueue, profile: Profile) -> Iterator[str | Complaint]:
    if queue.written is None:
        return
    yield from _unknown_parameters((), queue.written, "a queue", profile.release)
    is_new = queue.written.type is QueueType.SEGMENTED_DISK
    if is_new and profile.release.rsyslog_number < SEGMENTED_SINCE:
        yield (
            f"queues have the type segmentedDisk since rsyslog 8.{SEGMENTED_SINCE}, and "
            f"release.rsyslog is {profile.release.rsyslog}: use Disk, or raise the release "
            "once every host runs it"
        )


@error("RT425")
def _others(profile: Profile) -> Iterator[Complaint]:
    """Parsing, steps, rate limits and impstats."""
    release = profile.release
    for name, stream in profile.every_stream:
        root: KeyPath = () if name is None else ("streams", name)
        if stream.parse is not None:
            path, owner = (*root, "parse"), f"parse {stream.parse.format}"
            yield from _unknown_parameters(path, stream.parse, owner, release)
    for path, _, step in steps_of(profile):
        yield from _unknown_parameters(path, step, step.type, release)
    for name, limit in profile.ratelimits.items():
        if release.rsyslog_number < _HAS_RATELIMIT:
            yield Complaint(
                ("ratelimits", name),
                f"rsyslog has ratelimit() since 8.{_HAS_RATELIMIT}, and release.rsyslog is "
                f"{release.rsyslog}: remove it, or raise the release once every host runs it",
            )
        else:
            yield from _unknown_parameters(("ratelimits", name), limit, "ratelimit", release)
    if profile.impstats is not None:
        yield from _unknown_parameters(("impstats",), profile.impstats, "impstats", release)


def _unknown_parameters(
    path: KeyPath, section: BaseModel, owner: str, release: Release
) -> Iterator[Complaint]:
    """What `release.rsyslog` does not know yet, by rsyslog's tags; an older rsyslogd refuses it."""
    for (*within, key), since in too_new(section, release.rsyslog_number, omitted=Queue):
        yield Complaint(
            (*path, *within, key),
            f"{' of '.join((*reversed(within), owner))} has {key} since rsyslog 8.{since}, and "
            f"release.rsyslog is {release.rsyslog}: remove it, or raise the release once every "
            "host runs it",
        )
