"""Fitting a profile to a lab: a pure step that says what it replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from pydantic import BaseModel

from tuner.engines.given_template import GivenTemplate, given_template
from tuner.engines.index import Index, Rotate
from tuner.errors import Refused
from tuner.lab.copy import LEFT_OUT, LabCopy, Purpose, copied
from tuner.lab.site import Site
from tuner.modules.input import LOOPBACK, Input, Listener
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.profile.base import KeptBase, as_kept
from tuner.profile.model import Profile, Snippets
from tuner.profile.placement import ports_of
from tuner.profile.sample import SampleFile
from tuner.profile.workload import Workload
from tuner.render.artefacts import RSYSLOG, rsyslog_conf
from tuner.render.engine_files import INDEX_TEMPLATE, index_patterns, index_template
from tuner.render.templates import Templates
from tuner.schema.parameter import too_new
from tuner.script.wanted import wanted_by

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


# Ports of a lab that is not started.
_ON_PAPER = 10_000


@dataclass(frozen=True)
class Bound:
    """A profile that a lab can run, the `text` of its configuration and the `templates` of its
    indices; of `inputs`, those of a base as they are bound, None is left out."""

    profile: Profile
    text: KeptBase
    templates: tuple[GivenTemplate, ...]
    inputs: tuple[Input | None, ...] | None
    site: Site
    replaced: tuple[Substitution, ...]

    @cached_property
    def copy(self) -> LabCopy:
        """What rsyslogd runs, with numbers in its documents."""
        return self.copy_for(self.site)

    @property
    def substitutions(self) -> tuple[Substitution, ...]:
        """Everything that differs from what was written."""
        more = (Substitution(str(part.origin), part.what, part.used) for part in self.copy.replaced)
        return (*self.replaced, *more)

    def copy_for(self, site: Site, *, numbers: bool = True) -> LabCopy:
        """What rsyslogd runs at another site, or without numbers."""
        purpose = Purpose(numbers, self.profile.flooded_format == "bare")
        return copied(self.text, self.inputs, site, purpose)


def bind(
    profile: Profile, site: Site, ports: tuple[int, ...], templates: Templates | None = None
) -> Bound:
    """Replace only what a lab must: servers, authentication, TLS, addresses, ports, index names,
    files and spool folders, replicas and a heap that does not fit; `ports` gives the first port of
    each input, and `templates` write the configuration.

    Raises Refused for what a lab cannot measure.
    """
    inputs = bind_inputs(profile, ports, site.folder, site.address)
    fitted = profile.model_copy(
        update={
            "release": site.release,
            "inputs": tuple(source for source in inputs if source is not None),
            "snippets": Snippets(),
            "streams": {
                name: stream.model_copy(update={"snippets": ()})
                for name, stream in profile.streams.items()
            },
            "impstats": None,
            "node": profile.node.model_copy(update={"heap": site.heap or profile.node.heap}),
        }
    )
    _require_known(fitted)
    # What goes into the engine is fitted in the text.
    text = as_text(fitted, templates)
    bound = fitted.model_copy(
        update={
            "outputs": tuple(bind_outputs(profile, site)),
            "workload": wanted(profile.workload, text),
        }
    )
    used = _plain(bound) | {"inputs": [source and _plain(source) for source in inputs]}
    if profile.impstats is not None:
        used["impstats"] = "the lab's own, every second"
    if site.stand_in is not None:
        engine = profile.release.engine.value
        used["release"] = {"rsyslog": site.release.rsyslog, engine: site.stand_in}
    return Bound(
        profile=bound,
        text=text,
        templates=given_templates(fitted, templates),
        inputs=None if profile.base is None else inputs,
        site=site,
        replaced=tuple(substitutions(_plain(profile), used)),
    )


def bind_inputs(
    profile: Profile, ports: tuple[int, ...], spool: str, address: str
) -> tuple[Input | None, ...]:
    """The inputs that are flooded, at `address`, each on its port of `ports`, which has one for
    each input, or in the folder `spool`.

    The others are left out, None here: what they bring would be measured as if it had been flooded.
    Raises Refused where none can be flooded, or not from other machines as `address` asks for.
    """
    flooded = dict(zip(profile.flooded_numbers, profile.flooded, strict=True))
    return tuple(
        _bound_input(number, source.in_lab(port, spool), address) if number in flooded else None
        for number, (source, port) in enumerate(zip(profile.inputs, ports, strict=True))
    )


def _bound_input(number: int, source: Input, address: str) -> Input:
    if address == LOOPBACK:
        return source
    if not isinstance(source, Listener):
        raise Refused(f"inputs[{number}] takes no events from other machines: measure it on one")
    return source.model_copy(update={"address": address})


def as_text(profile: Profile, templates: Templates | None = None) -> KeptBase:
    """The configuration of a profile as text that was read: its base, else what is rendered."""
    if profile.base is not None:
        return profile.base.kept
    return as_kept(RSYSLOG, rsyslog_conf(profile, templates=templates))


def given_templates(
    profile: Profile, templates: Templates | None = None
) -> tuple[GivenTemplate, ...]:
    """The index templates of the indices of a profile: that of its base, if it names one, else
    those that are rendered."""
    if profile.base is not None:
        return () if profile.base.kept.template is None else (profile.base.kept.template,)
    return tuple(_given_template(profile, output, templates) for output in profile.indexed)


def _given_template(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates | None
) -> GivenTemplate:
    """For the one index that an output writes to, or for all that its name varies to."""
    text = json.dumps(index_template(profile, output, templates))
    names = dict.fromkeys((output.index.target, *index_patterns(output.index)))
    return replace(given_template(INDEX_TEMPLATE, text), patterns=tuple(names))


def wanted(load: Workload, text: KeptBase) -> Workload:
    """The workload with messages that take every way of a configuration, where it tells some apart
    and nothing says what messages are like."""
    if load.learnt is not None or load.replay is not None:
        return load
    sample = wanted_by(text.written, load.message_bytes.mean)
    if sample is None:
        return load
    made = load.model_copy()
    made.hold(SampleFile("", "", sample))
    return made


def bind_outputs(profile: Profile, site: Site) -> Iterator[Output]:
    """The outputs with the lab's engine and indices."""
    for output in profile.outputs:
        if not isinstance(output, OmelasticsearchOutput):
            yield output
            continue
        changes: dict[str, object] = {
            "servers": site.engine_urls[: len(output.servers)],
            "index": _bound_index(output.index, site),
        }
        if not site.keeps_authentication:
            changes |= {"auth": None, "apikey": None, "tls": None}
        yield output.model_copy(update=changes)


def _bound_index(index: Index, site: Site) -> Index:
    """A plain or daily index of ours with as many copies as there are nodes, in place of a data
    stream too, and without ingest pipelines."""
    rolls_over = index.rotate is Rotate.ROLLOVER
    copies = min(index.settings.number_of_replicas + 1, site.data_nodes)
    waits = index.settings.write_wait_for_active_shards
    settings = {
        "number_of_replicas": copies - 1,
        "write_wait_for_active_shards": min(waits, copies) if isinstance(waits, int) else waits,
        "default_pipeline": None,
        "final_pipeline": None,
    }
    return index.model_copy(
        update={
            "name": site.index_prefix + index.target,
            "data_stream": None,
            "rotate": Rotate.NONE if rolls_over else index.rotate,
            "lifecycle": None,
            "settings": index.settings.model_copy(update=settings),
        }
    )


def require_bindable(profile: Profile, rsyslog: str) -> Bound:
    """The profile as a lab with this rsyslog would run it, before one is started.  Raises Refused
    for what no lab can measure."""
    on_paper = Site(
        engine_urls=("http://127.0.0.1:9200",),
        release=profile.release.model_copy(update={"rsyslog": rsyslog}),
        # Which engine will take what is sent is not known yet.
        stand_in="a lab",
        data_nodes=1,
        heap=None,
        index_prefix="rsyslog-tune-",
        folder="/spool",
        keeps_authentication=False,
        receiver_port=_ON_PAPER,
    )
    bound = bind(profile, on_paper, first_ports(profile, _ON_PAPER))
    # Refused where nothing of it goes into an engine.
    _ = bound.copy
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


def _require_known(bound: Profile) -> None:
    """Raise Refused when the lab's rsyslog is older than a parameter of an input."""
    for source in bound.inputs:
        for path, since in too_new(source, bound.release.rsyslog_number):
            raise Refused(
                f"the lab cannot run this profile: {source.type} has {'.'.join(path)} since "
                f"rsyslog 8.{since}, and the rsyslogd here is {bound.release.rsyslog}"
            )
