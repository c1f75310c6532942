"""The modules that a configuration loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.errors import Refused
from tuner.modules.input import Input
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.profile.lanes import Spread
from tuner.profile.model import Profile
from tuner.render.actions import Parameters
from tuner.render.form import Form
from tuner.schema.parameter import of_module


@dataclass(frozen=True)
class Module:
    """A module to load, with the parameters that all of a kind share."""

    name: str
    parameters: Parameters = ()


def modules(
    profile: Profile, repairs: bool, parses: Sequence[JsonParse | NormalizeParse], form: Form
) -> tuple[Module, ...]:
    """The modules to load, those left out that the host of a fragment has loaded: rsyslogd refuses
    to load one twice.  Raises Refused where the profile sets parameters of such a one."""
    kept = []
    for module in _every(profile, repairs, parses):
        if module.name not in form.loaded:
            kept.append(module)
            continue
        follows = {key for source in profile.inputs for key in source.fixed}
        written = (name for name, value in module.parameters if value is not None)
        own = [name for name in written if name not in follows]
        if own:
            raise Refused(
                f"the host's own configuration loads {module.name}, and only there can its "
                f"parameters be set: remove {', '.join(own)} from the profile"
            )
    return tuple(kept)


def parameters_of(source: Input) -> dict[str, object]:
    """What the profile writes of an input and what we know better, by rsyslog's names."""
    left_out = {"parser", "stream"}
    return source.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=left_out)


def _every(
    profile: Profile, repairs: bool, parses: Sequence[JsonParse | NormalizeParse]
) -> Iterator[Module]:
    yield from _input_modules(profile)
    if profile.lanes is not None and profile.lanes.spread is Spread.HASH:
        yield Module("fmhash")
    if repairs:
        yield Module("mmutf8fix")
    names = ("mmjsonparse" if isinstance(one, JsonParse) else "mmnormalize" for one in parses)
    yield from (Module(name) for name in dict.fromkeys(names))
    yield from _output_modules(profile)


def _input_modules(profile: Profile) -> Iterator[Module]:
    kinds: dict[str, dict[str, object]] = {}
    for source in profile.inputs:
        shared = kinds.setdefault(source.type, {})
        for key, value in source.fixed.items():
            shared[key] = bool(shared.get(key)) or value
        written = parameters_of(source)
        for key in of_module(type(source)):
            shared.setdefault(key, written.get(key))
    yield from (Module(kind, tuple(shared.items())) for kind, shared in kinds.items())


def _output_modules(profile: Profile) -> Iterator[Module]:
    kinds: dict[str, dict[str, object]] = {}
    built_in = {output.type for output in profile.outputs if output.built_in}
    for output in profile.outputs:
        shared = kinds.setdefault(output.type, {})
        for key, name in of_module(type(output)).items():
            shared.setdefault(key, None)
            shared[key] = getattr(output, name) if shared[key] is None else shared[key]
    for kind, shared in kinds.items():
        if kind not in built_in:
            yield Module(kind, tuple(shared.items()))
        elif any(value is not None for value in shared.values()):
            yield Module(f"builtin:{kind}", tuple(shared.items()))
