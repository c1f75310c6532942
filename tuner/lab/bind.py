"""Fitting a profile to a lab: a pure step that says what it replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from pydantic import BaseModel

from tuner.engines.release import Engine, Release
from tuner.errors import Refused
from tuner.lab.base_script import LEFT_OUT, BaseSite, LabScript, lab_script
from tuner.lint.rules.releases import inputs_too_new
from tuner.modules.input import LOOPBACK, Input
from tuner.modules.output import Output
from tuner.modules.queue import Queue
from tuner.modules.refused_bulks import refuses_type
from tuner.profile.bind_inputs import bind_inputs, is_headless, work_directory
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.profile.stream import Lanes, Snippets, Stream
from tuner.schema.scalars import Server

_NOTHING = "none"


@dataclass(frozen=True)
class Substitution:
    """One value of the profile that the lab replaced; values as a reader would write them."""

    path: str
    written: str
    used: str

    def __str__(self) -> str:
        return f"{self.path}: {self.written} -> {self.used}"


def substitutions(written: object, used: object, path: str = "") -> Iterator[Substitution]:
    """Every value below `path` that two profiles, as plain data, do not have in common.

    A section or a list item that only one of them has is one row.
    """
    if written == used:
        return
    if isinstance(written, Mapping) and isinstance(used, Mapping):
        for key in dict.fromkeys([*written, *used]):
            below = f"{path}.{key}" if path else str(key)
            yield from substitutions(written.get(key), used.get(key), below)
    elif _has_sections(written) or _has_sections(used):
        before, after = _items(written), _items(used)
        for name in dict.fromkeys([*before, *after]):
            item = f"{path}[{name}]"
            if name in after:
                yield from substitutions(before.get(name), after[name], item)
            else:
                yield Substitution(item, _kind(before[name]), LEFT_OUT)
    else:
        yield Substitution(path, _text(written), _text(used))


def _has_sections(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _items(value: object) -> Mapping[str, object]:
    """The items of a list by their names in paths: their `name`, else their number."""
    items = value if isinstance(value, list) else []
    return {
        str(item.get("name", number)) if isinstance(item, Mapping) else str(number): item
        for number, item in enumerate(items)
        if item is not None
    }


def _kind(item: object) -> str:
    """The type of an input or output, or what it says."""
    return str(item["type"]) if isinstance(item, Mapping) and "type" in item else _text(item)


def _text(value: object) -> str:
    if value is None or value in ({}, []):
        return _NOTHING
    match value:
        case bool():
            return "on" if value else "off"
        case dict():
            return ", ".join(f"{key} {_text(below)}" for key, below in value.items())
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)


# A port of a lab that is not started.
_ON_PAPER = 10_000


@dataclass(frozen=True)
class Site:
    """Where a profile is to run: what the lab has and what it may use.

    `stand_in` names what takes the place of a real engine, such as our sink; the flood comes in at
    `address`.
    """

    engine_urls: tuple[Server, ...]
    engine: Engine
    engine_version: tuple[int, int]
    stand_in: str | None
    data_nodes: int
    heap: str | None
    rsyslog: str
    index_prefix: str
    spool: str
    keeps_authentication: bool
    address: str = LOOPBACK

    @property
    def without_types(self) -> int | None:
        """The release of rsyslog, where the engine is one that refuses every bulk with `_type`."""
        refuses = self.stand_in is None and refuses_type(self.engine, self.engine_version[0])
        return _release(self).rsyslog_number if refuses else None


@dataclass(frozen=True)
class Bound:
    """A profile that a lab can run, and everything that differs from what was written; `inputs` are
    all that were written, None for what is left out.  Of a base `script` is what rsyslogd runs."""

    profile: Profile
    substitutions: tuple[Substitution, ...]
    inputs: tuple[Input | None, ...]
    script: LabScript | None = None

    def with_script(self, script: LabScript) -> Bound:
        """The same with the script of a base, and what the lab replaced in it."""
        more = (Substitution(str(one.origin), one.what, one.used) for one in script.replaced)
        return replace(self, script=script, substitutions=(*self.substitutions, *more))


def bind(profile: Profile, site: Site, ports: tuple[int, ...]) -> Bound:
    """Replace only what a lab must: servers, authentication, TLS, addresses, ports, index names,
    files and spool folders, replicas and a heap that does not fit; `ports` gives the first port of
    each input.

    Raises Refused for what a lab cannot measure.
    """
    stream = profile.stream(profile.measured_stream)
    if stream.parse is not None:
        raise Refused(
            f"parse: no flood sends {stream.parse.format} that this profile could take apart, "
            "its figures would be those of empty fields: measure it without parse"
        )
    targets = [output.index.target for output in profile.indexed]
    if len(set(targets)) < len(targets):
        raise Refused(
            "several outputs write to one index, where nothing tells whose document is whose: "
            "measure the profile with an index for each"
        )
    inputs = bind_inputs(profile, ports, site.spool, site.address)
    bound = profile.model_copy(
        update={
            "release": _release(site),
            "global_": profile.global_.model_copy(
                update={
                    "work_directory": work_directory(profile, site.spool),
                    "oversizemsg_errorfile": None,
                }
            ),
            "inputs": tuple(source for source in inputs if source is not None),
            "main_queue": bind_queue(profile.main_queue, site),
            "lanes": _bind_lanes(profile.lanes, site) if profile.measured_stream is None else None,
            "parse": None,
            "steps": profile.steps if profile.measured_stream is None else (),
            "snippets": Snippets(),
            "streams": _bind_streams(profile, site),
            "outputs": bind_outputs(profile, site),
            "impstats": None,
            "node": profile.node.model_copy(update={"heap": site.heap or profile.node.heap}),
        }
    )
    # model_copy does not validate: read the result again as if it had been written.
    checked = Profile.model_validate(_plain(bound))
    # What was read of a base and a sample is no plain data.
    checked = checked.model_copy(update={"base": profile.base, "workload": profile.workload})
    _require_known(checked)
    used = _plain(checked) | {"inputs": [source and _plain(source) for source in inputs]}
    if profile.impstats is not None:
        used["impstats"] = "the lab's own, every second"
    if site.stand_in is not None:
        used["release"] = {"rsyslog": site.rsyslog, profile.release.engine.value: site.stand_in}
    return Bound(checked, tuple(substitutions(_plain(profile), used)), inputs)


def require_bindable(profile: Profile, rsyslog: str) -> Bound:
    """The profile as a lab with this rsyslog would run it, before one is started.  Raises Refused
    for what no lab can measure."""
    release = profile.release
    on_paper = Site(
        engine_urls=("http://127.0.0.1:9200",),
        engine=release.engine,
        engine_version=release.engine_version,
        stand_in=None,
        data_nodes=1,
        heap=None,
        rsyslog=rsyslog,
        index_prefix="rsyslog-tune-",
        spool="/spool",
        keeps_authentication=False,
    )
    bound = bind(profile, on_paper, first_ports(profile, _ON_PAPER))
    if profile.base is not None:
        lines = is_headless(profile)
        urls, prefix, spool = on_paper.engine_urls, on_paper.index_prefix, on_paper.spool
        site = BaseSite(urls, prefix, spool, _ON_PAPER, headless=lines)
        bound = bound.with_script(lab_script(profile.base.kept, bound.inputs, site))
    return bound


def port_counts(profile: Profile) -> list[int]:
    """How many ports each input of a profile takes in a lab."""
    return [max(1, len(ports_of(profile, source))) for source in profile.inputs]


def first_ports(profile: Profile, first: int) -> tuple[int, ...]:
    """The first port of each input, where they take those from `first` on."""
    return tuple(accumulate(port_counts(profile)[:-1], initial=first))


def _plain(section: BaseModel) -> dict[str, object]:
    """A profile, or a section of it, as plain data."""
    return section.model_dump(mode="json", by_alias=True, exclude_none=True)


def _release(site: Site) -> Release:
    version = ".".join(map(str, site.engine_version))
    if site.engine is Engine.ELASTICSEARCH:
        return Release(rsyslog=site.rsyslog, elasticsearch=version)
    return Release(rsyslog=site.rsyslog, opensearch=version)


def _bind_lanes(lanes: Lanes | None, site: Site) -> Lanes | None:
    if lanes is None:
        return None
    return lanes.model_copy(update={"queue": bind_queue(lanes.queue, site)})


def _bind_streams(profile: Profile, site: Site) -> dict[str, Stream]:
    """The measured stream alone, without its filter."""
    name = profile.measured_stream
    if name not in profile.streams:
        return {}
    stream = profile.streams[name]
    changes = {"filter": None, "snippets": (), "queue": bind_queue(stream.queue, site)}
    return {name: stream.model_copy(update=changes)}


def _require_known(bound: Profile) -> None:
    """Raise Refused when the lab's rsyslog is older than a parameter of an input."""
    for complaint in inputs_too_new.check(bound):
        raise Refused(f"the lab cannot run this profile: {complaint.message}")


def bind_queue(queue: Queue | None, site: Site) -> Queue | None:
    """The queue with its files, if it has any, in the lab's own folder."""
    if queue is None or queue.filename is None:
        return queue
    return queue.model_copy(update={"spool_directory": site.spool})


def bind_outputs(profile: Profile, site: Site) -> tuple[Output, ...]:
    """The measured output, without its filter, and those others of its stream that take every event
    into the engine or into a file.

    What goes elsewhere has nobody there to take it, and what stands in for another has nothing to
    do.  Raises Refused where the index cannot be bound.
    """
    measured = profile.measured
    mine = [one for one in profile.outputs if one.stream == measured.stream]
    kept = [one for one in mine if one == measured or _takes_all(one)]
    several = sum(one in profile.indexed for one in kept) > 1
    return tuple(
        _bound(output, site, f"{site.index_prefix}{number}-" if several else site.index_prefix)
        for number, output in enumerate(kept)
    )


def _takes_all(output: Output) -> bool:
    stands_in = output.exec_only_when_previous_is_suspended
    return output.lab_takes and output.filter is None and not stands_in


def _bound(output: Output, site: Site, prefix: str) -> Output:
    changes = {"filter": None, "queue": bind_queue(output.queue, site)}
    return output.in_lab(site, prefix).model_copy(update=changes)
