"""Settings that touch a guarantee: no dimensions of a search unless the user opens them by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.engines.settings import INDEX_SETTINGS, unknown_to
from tuner.errors import BadUsage
from tuner.modules.queue_defaults import Place
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import PlacedQueue, measured_way
from tuner.space.level import Cost, Knob, Level, Need, holding
from tuner.space.queues import path_of
from tuner.space.worth import worth

Makes = Callable[[Profile], list[Knob]]
Check = Callable[[Profile, Sequence[str]], str | None]


def _nothing(_: Profile, __: Sequence[str]) -> str | None:
    return None


@dataclass(frozen=True)
class Guarantee:
    """What `--allow NAME` opens: what is given up, the knobs that a profile then has, and the lint
    warnings that say the same, which are no reason to leave a candidate out.

    `forbidden` says why a profile may not open it, by its tier or its engine, and `missing` why
    there is nothing to open in it; None where it can be.
    """

    name: str
    gives_up: str
    knobs: Makes
    missing: Check = _nothing
    forbidden: Check = _nothing
    codes: frozenset[str] = frozenset()

    def closed(self, profile: Profile, names: Sequence[str]) -> str | None:
        """Why it cannot be opened together with these names, or None."""
        return self.forbidden(profile, names) or self.missing(profile, names)


def opened(profile: Profile, names: Iterable[str]) -> tuple[Guarantee, ...]:
    """Those of the guarantees with these names that are there to open in this profile, once each;
    raises BadUsage for a name that opens nothing in any.

    What a search turned off, or a lab replaced, is not there any more, which is no fault.
    """
    wanted = tuple(dict.fromkeys(names))
    found = [called(name) for name in wanted]
    return tuple(one for one in _ALL if one in found and one.closed(profile, wanted) is None)


def allowed(profile: Profile, names: Iterable[str]) -> tuple[Guarantee, ...]:
    """The guarantees that these names open on this profile, once each.

    Raises BadUsage for a name that opens nothing, with names that are spelled almost so, and for
    one that the profile's tier or settings leave nothing to open for.
    """
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        reason = called(name).closed(profile, wanted)
        if reason is not None:
            raise BadUsage(f"{name} cannot be opened: {reason}")
    return opened(profile, wanted)


def called(name: str) -> Guarantee:
    """The guarantee of that name; raises BadUsage with names that are spelled almost so."""
    if name in GUARANTEES:
        return GUARANTEES[name]
    endings = {word: known for known in GUARANTEES for word in (known, known.rpartition(".")[2])}
    near = dict.fromkeys(endings[word] for word in difflib.get_close_matches(name, endings, 3))
    inside = [known for known in GUARANTEES if name and name in known]
    close = " or ".join(near) or " or ".join(inside)
    hint = f"did you mean {close}?" if close else f"the names are {', '.join(GUARANTEES)}"
    raise BadUsage(f"no guarantee is called {name}: {hint}")


def _output(profile: Profile) -> str:
    return f"outputs[{profile.measured.name}]"


def _choice(path: str, now: Level, other: Level, key: str, cost: Cost) -> list[Knob]:
    knob = Knob(path, (now, other), now, cost, ordered=False, worth=worth(key))
    return [knob]


def _durability(profile: Profile) -> list[Knob]:
    key = "settings.translog.durability"
    now = profile.measured.index.settings.translog_durability
    path = f"{_output(profile)}.index.{key}"
    return _choice(path, now, "request" if now == "async" else "async", key, Cost.LIVE_SETTING)


def _sync_interval(profile: Profile) -> list[Knob]:
    settings, key = profile.measured.index.settings, "settings.translog.sync_interval"
    at = f"{_output(profile)}.index.settings.translog"
    knob = Knob(
        f"{at}.sync_interval", ("1s", "5s", "15s", "30s", "60s"),
        settings.translog_sync_interval or "5s", Cost.LIVE_SETTING,
        needs=(Need(f"{at}.durability", ("async",)),), worth=worth(key),
    )  # fmt: skip
    return [holding(knob)]


def _replicas(profile: Profile) -> list[Knob]:
    now, key = profile.measured.index.settings.number_of_replicas, "settings.number_of_replicas"
    path = f"{_output(profile)}.index.{key}"
    return [Knob(path, tuple(range(now + 1)), now, Cost.LIVE_SETTING, worth=worth(key))]


def _source(profile: Profile) -> list[Knob]:
    key = "settings.mapping.source.mode"
    now = profile.measured.index.settings.mapping_source_mode
    path = f"{_output(profile)}.index.{key}"
    return _choice(path, now, "stored" if now == "synthetic" else "synthetic", key, Cost.NEW_INDEX)


def _of_action(name: str, now: Level, other: Level = None) -> Makes:
    """A switch of the measured action, on as it is written and off otherwise."""
    return lambda profile: _choice(
        f"{_output(profile)}.{name}", now, other, name, Cost.RSYSLOG_RESTART
    )


def _disk_queues(profile: Profile) -> list[PlacedQueue]:
    return [queue for queue in measured_way(profile) if queue.resolved.filename is not None]


def _disk(profile: Profile) -> list[Knob]:
    """Without its file name a queue is one in memory."""
    found = []
    for queue in _disk_queues(profile):
        part = "bulk" if queue.place is Place.ACTION else "first"
        path, now = f"{path_of(profile, queue)}.filename", queue.resolved.filename
        found += _choice(path, now, None, f"{part}.filename", Cost.RSYSLOG_RESTART)
    return found


def _synchronised(profile: Profile) -> list[Knob]:
    key, cost = "queue.syncQueueFiles", Cost.RSYSLOG_RESTART
    return [
        replace(knob, needs=(Need(f"{at}.filename", (queue.resolved.filename,)),))
        for queue in _disk_queues(profile)
        if queue.resolved.sync_queue_files
        for at in [path_of(profile, queue)]
        for knob in _choice(f"{at}.syncQueueFiles", True, None, key, cost)
    ]


def _no_durable(profile: Profile, _: Sequence[str]) -> str | None:
    if profile.guardrails.tier is Tier.DURABLE:
        return "the tier durable forbids it: set guardrails.tier to relaxed"
    return None


def _no_async(profile: Profile, names: Sequence[str]) -> str | None:
    settings = profile.measured.index.settings
    if settings.translog_durability != "async" and "translog.durability" not in names:
        return "it has no effect without async: allow translog.durability too"
    return None


def _no_ids(profile: Profile, _: Sequence[str]) -> str | None:
    output = profile.measured
    if output.bulkid is None:
        return "the profile sets no bulkid"
    if output.creates:
        return "retryfailures, writeoperation: create and data streams need the ids"
    return None


def _no_source(profile: Profile, _: Sequence[str]) -> str | None:
    setting = INDEX_SETTINGS["mapping.source.mode"]
    return unknown_to(profile.release, setting.elasticsearch, setting.opensearch)


def _unless(has: Callable[[Profile], bool], otherwise: str) -> Check:
    return lambda profile, _: None if has(profile) else otherwise


_ALL = (
    Guarantee(
        "translog.durability",
        "Events that the engine has acknowledged since the last synchronisation are lost when it, "
        "or its machine, crashes.",
        _durability, forbidden=_no_durable,
    ),
    Guarantee(
        "translog.sync_interval",
        "The window in which a crash of the engine loses acknowledged events may grow to a minute.",
        _sync_interval, _no_async, _no_durable,
    ),
    Guarantee(
        "number_of_replicas",
        "With fewer copies the loss of a disk or a node loses events that no other node holds.",
        _replicas,
        _unless(lambda p: p.measured.index.settings.number_of_replicas > 0,
                "the profile has no replicas"),
        codes=frozenset({"RT302"}),
    ),
    Guarantee(
        "mapping.source.mode",
        "Documents come back rebuilt from their fields and not as they were sent; without an "
        "Enterprise licence nothing changes.",
        _source, forbidden=_no_source, codes=frozenset({"RT328"}),
    ),
    Guarantee(
        "bulkid",
        "An event that is sent twice, after a broken connection, is kept twice.",
        _of_action("bulkid", "uuid"), _no_ids,
    ),
    Guarantee(
        "retryfailures",
        "Events that the engine refuses one by one, when it is overloaded for instance, are lost.",
        _of_action("retryfailures", "on"),
        _unless(lambda p: p.measured.retryfailures is not None, "the profile does not retry them"),
        codes=frozenset({"RT240", "RT404"}),
    ),
    Guarantee(
        "mmutf8fix",
        "Events that are not valid UTF-8 are refused by the engine, and lost.",
        _of_action("mmutf8fix", now=True, other=False),
        _unless(lambda p: p.measured.mmutf8fix, "the profile has it off already"),
    ),
    Guarantee(
        "queue.filename",
        "What waits in memory instead of on disk is lost when rsyslogd crashes, and an outage of "
        "the engine fills memory only.",
        _disk, _unless(lambda p: bool(_disk_queues(p)), "no queue on the way is on disk"),
    ),
    Guarantee(
        "queue.syncQueueFiles",
        "Events on disk that are not yet synchronised are lost when the machine loses power.",
        _synchronised,
        _unless(lambda p: bool(_synchronised(p)), "no queue on the way synchronises its files"),
    ),
)  # fmt: skip

GUARANTEES: Mapping[str, Guarantee] = {guarantee.name: guarantee for guarantee in _ALL}
"""Every name that `--allow` and `search.allow` take, with what it opens."""
