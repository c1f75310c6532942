"""A configuration that is to run in a lab, as text that was read, whether it is rendered or the
user's own; and where it runs; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tuner.engines.release import Release
from tuner.engines.user_template import UserTemplate, user_template
from tuner.modules.input import LOOPBACK, Input
from tuner.modules.omelasticsearch import OmelasticsearchOutput, refuses_type
from tuner.profile.base import KeptBase, read_text
from tuner.profile.model import Profile, Snippets
from tuner.profile.placement import lanes_by_port
from tuner.render.artefacts import RSYSLOG, rsyslog_conf
from tuner.render.engine_files import index_patterns, index_template
from tuner.render.modules import own_parameters
from tuner.render.rulesets import lane_name, outputs_ruleset
from tuner.render.templates import Templates
from tuner.schema.scalars import Server
from tuner.script.objects import MAIN_QUEUE, Base, module_address
from tuner.script.script import DEFAULT, HERE, ScriptObject, ScriptPosition, objects_in


@dataclass(frozen=True)
class Site:
    """Where a configuration is to run: what the lab has and what it may use.

    `release` names the rsyslog and the engine that are here, `stand_in` what takes the place of a
    real engine, such as our sink; the flood comes in at `address`, files are in `folder`, and a
    receiver has its first port.
    """

    engine_urls: tuple[Server, ...]
    release: Release
    stand_in: str | None
    data_nodes: int
    heap: str | None
    index_prefix: str
    folder: str
    keeps_authentication: bool
    receiver_port: int
    address: str = LOOPBACK

    @property
    def without_types(self) -> int | None:
        """The release of rsyslog, where the engine is one that refuses every bulk with `_type`."""
        engine, (major, _) = self.release.engine, self.release.engine_version
        refuses = self.stand_in is None and refuses_type(engine, major)
        return self.release.rsyslog_number if refuses else None

    def in_place_of_engine(self, url: Server, index_prefix: str) -> Site:
        """This site with a sink of ours in the place of the engine."""
        return replace(self, engine_urls=(url,), index_prefix=index_prefix, stand_in="sink")


LEFT_OUT = "left out"


@dataclass(frozen=True)
class Replaced:
    """What a lab replaces or leaves out of a configuration: its place, which is a `path` where a
    profile says it; `is_routine` for the servers, logins, ports, names and folders of every lab."""

    origin: ScriptPosition
    what: str
    used: str = LEFT_OUT
    path: str = ""
    is_routine: bool = False

    @property
    def place(self) -> str:
        """Where it stands, as the user knows it."""
        return self.path or str(self.origin)

    def __str__(self) -> str:
        return f"{self.place}: {self.what} -> {self.used}"


@dataclass(frozen=True)
class LabInput:
    """An input as it is written, and as a flood enters by it, None where it does not: that of its
    port is the first of as many as there are lanes.  Only by it come events to the engine actions
    that are `missed` without it."""

    written: Input
    bound: Input | None
    lane: int = 0
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabText:
    """A configuration that is to run in a lab, without and with the changes of a profile, and the
    templates of its indices.

    `inputs` are those that a profile knows, by their places, and `added` those that a lab adds;
    `output_names` are what it calls actions, by their addresses.  What has no place of its own for
    the user has a path: `paths` names the objects of a rendered configuration, "" for those that
    follow from others.  Where it is `headless` what is flooded are lines without a head, which then
    begin with their number.  What is `replaced` is so before anything is fitted.
    """

    written: Base
    changed: Base
    templates: tuple[UserTemplate, ...]
    inputs: Mapping[ScriptPosition, LabInput]
    added: tuple[ScriptObject, ...] = ()
    paths: Mapping[ScriptPosition, str] = field(default_factory=dict)
    output_names: Mapping[str, str] = field(default_factory=dict)
    headless: bool = False
    replaced: tuple[Replaced, ...] = ()

    @property
    def idle(self) -> frozenset[str]:
        """The modules of which no input takes events in a lab: it may not have them."""
        inputs = self.inputs.values()
        used = {source.written.type for source in inputs if source.bound is not None}
        added = {source.type for source in self.added}
        return frozenset({source.written.type for source in inputs} - used - added)

    @cached_property
    def retried(self) -> frozenset[ScriptPosition]:
        """The actions that only what is sent again comes to: in rulesets that are named by
        retryRuleset alone, and those that only these call."""
        base, objects = self.changed, [*objects_in(self.changed.block)]
        entrances = (item for item in objects if item.kind in {"input", "module"})
        bound = {(item.text("ruleset") or "").lower() for item in entrances}
        entered = base.reached({DEFAULT, *bound}, through_queues=True)
        named = {(item.text("retryRuleset") or "").lower() for item in objects}
        retried = set(base.reached(named, through_queues=True)).difference(entered)
        return frozenset(action.origin for key in retried for action in base.actions[key])

    def place(self, address: str) -> str:
        """What the user knows an object by: its path in a profile, else where it stands."""
        origin = self.written.objects[address].origin
        return self.paths.get(origin) or f"{origin} {address}"


def lab_text(
    profile: Profile, inputs: Sequence[Input | None], templates: Templates | None = None
) -> LabText:
    """The configuration of a profile as text that was read, its base or what is rendered, with its
    inputs as they are bound."""
    if profile.base is not None:
        return _of_base(profile, profile.base.kept, inputs)
    return _rendered(profile, inputs, templates)


def _of_base(profile: Profile, kept: KeptBase, inputs: Sequence[Input | None]) -> LabText:
    view = kept.view
    numbered = enumerate(zip(profile.inputs, inputs, strict=True))
    served = frozenset[str]().union(
        *(reached for reached, bound in zip(view.reached, inputs, strict=True) if bound is not None)
    )
    known: dict[ScriptPosition, LabInput] = {}
    for number, (written, bound) in numbered:
        if ("inputs", number) in view.sections:
            origin = kept.changed.objects[view.sections["inputs", number]].origin
            missed = tuple(sorted(view.reached[number] - served))
            known[origin] = LabInput(written, bound, missed=missed)
    added: tuple[ScriptObject, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    if view.stand_in is not None and (bound := inputs[-1]) is not None:
        data = bound.model_dump(mode="json", by_alias=True, include={"address", "port"})
        added = (view.stand_in.with_values(data),)
        ruleset = view.stand_in.text("ruleset")
        target = "" if ruleset is None else f" for ruleset {ruleset}"
        used = f"no input that can be flooded: the lab adds an {view.stand_in.type}{target}"
        first = ScriptPosition(next(iter(kept.changed.files)), 1, 1)
        replaced = (Replaced(first, "inputs", used),)
    return LabText(
        written=kept.written,
        changed=kept.changed,
        templates=() if kept.template is None else (kept.template,),
        inputs=known,
        added=added,
        output_names={
            view.sections["outputs", number]: output.name
            for number, output in enumerate(profile.outputs)
            if ("outputs", number) in view.sections
        },
        headless=profile.flooded_format == "bare",
        replaced=replaced,
    )


def _rendered(
    profile: Profile, inputs: Sequence[Input | None], templates: Templates | None
) -> LabText:
    """What is rendered of a profile but for snippets, which are no part of it."""
    left_out = tuple(_left_out(profile, inputs))
    bare = {name: s.model_copy(update={"snippets": ()}) for name, s in profile.streams.items()}
    profile = profile.model_copy(update={"snippets": Snippets(), "streams": bare})
    text = read_text(RSYSLOG, rsyslog_conf(profile, templates=templates))
    known: dict[ScriptPosition, LabInput] = {}
    paths = dict(_paths(profile, text))
    statements = (item.origin for _, item in text.of_kind("input"))
    for number, (written, bound) in enumerate(zip(profile.inputs, inputs, strict=True)):
        for lane in range(max(1, lanes_by_port(profile, written)) * written.has_statement):
            origin = next(statements)
            known[origin] = LabInput(written, bound, lane)
            paths[origin] = "" if lane else f"inputs[{number}]"
    return LabText(
        written=text,
        changed=text,
        templates=tuple(_template(profile, output, templates) for output in profile.indexed),
        inputs=known,
        added=tuple(
            ScriptObject.of("input", {"type": bound.type, **dict(own_parameters(bound))})
            for written, bound in zip(profile.inputs, inputs, strict=True)
            if bound is not None and not written.has_statement
        ),
        paths=paths,
        output_names={f"action[{output.name}]": output.name for output in profile.outputs},
        headless=profile.flooded_format == "bare",
        replaced=left_out,
    )


def _left_out(profile: Profile, inputs: Sequence[Input | None]) -> Iterator[Replaced]:
    """What a lab replaces of a profile before it is rendered: snippets, and inputs that are no
    statement of their own."""
    snippets = [*profile.snippets.start, *profile.snippets.outputs, *profile.snippets.end]
    snippets += [path for stream in profile.streams.values() for path in stream.snippets]
    if snippets:
        yield Replaced(HERE, ", ".join(snippets), path="snippets")
    for number, (written, bound) in enumerate(zip(profile.inputs, inputs, strict=True)):
        if not written.has_statement:
            used = LEFT_OUT if bound is None else ", ".join(bound.paths(1))
            yield Replaced(HERE, f"input {written.type}", used, f"inputs[{number}]")


def _paths(profile: Profile, text: Base) -> Iterator[tuple[ScriptPosition, str]]:
    """The places of rendered objects, each with its path in the profile: none for what follows from
    others, as modules do."""
    named = {MAIN_QUEUE: MAIN_QUEUE, module_address("impstats"): "impstats"}
    named |= {f"action[{output.name}]": f"outputs[{output.name}]" for output in profile.outputs}
    named |= {f"ruleset[{outputs_ruleset(profile, s)}]": f"streams.{s}" for s in profile.streams}
    if profile.lanes is not None:
        named[f"ruleset[{lane_name(profile, 0)}]"] = "lanes"
    yield HERE, ""
    for address, item in text.objects.items():
        yield item.origin, named.get(address, "")


def _template(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates | None
) -> UserTemplate:
    """The index template that is rendered for the one index that an output writes to, or for all
    that its name varies to."""
    path = f"outputs[{output.name}].index"
    given = user_template(path, json.dumps(index_template(profile, output, templates)))
    names = dict.fromkeys((output.index.target, *index_patterns(output.index)))
    return replace(given, path=path, patterns=tuple(names))
