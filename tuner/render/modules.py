"""The modules that a configuration loads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tuner.errors import Refused
from tuner.modules.input import Input
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.output import Output
from tuner.modules.registry import OUTPUTS, name_of, packages
from tuner.modules.step import ParseStep, StreamStep, VariableStep
from tuner.profile.model import Profile
from tuner.profile.stream import Spread
from tuner.render.actions import Parameters, written_parameters
from tuner.render.form import Form
from tuner.schema.parameter import of_module

_DRIVERS = {"gtls": "rsyslog-gnutls", "ossl": "rsyslog-openssl"}
_LOADED = re.compile(r'load="(\w+)"')
_DRIVER = re.compile(r'(?i:driver(?:\.name)?)="([a-z]+)"')


class Module(NamedTuple):
    """A module to load, with the parameters that all of a kind share."""

    name: str
    parameters: Parameters = ()


def modules(profile: Profile, repairs: bool, form: Form) -> tuple[Module, ...]:
    """The modules to load, those left out that the host of a fragment has loaded: rsyslogd refuses
    to load one twice.  Raises Refused where the profile sets parameters of such a one."""
    kept: list[Module] = []
    for module in _every(profile, repairs):
        if any(module.name == one.name for one in kept):
            continue
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


def loaded_by(configuration: str) -> list[str]:
    """The modules that a rendered configuration loads."""
    return _LOADED.findall(configuration)


def packages_of(configuration: str) -> dict[str, str]:
    """The packages of Debian beside rsyslog's own that a rendered configuration needs, each with
    the module or TLS driver that needs it."""
    shipped = {**packages(), **_DRIVERS}
    used = (*loaded_by(configuration), *_DRIVER.findall(configuration))
    return {shipped[one]: one for one in used if one in shipped}


def parameters_of(source: Input) -> dict[str, object]:
    """What the profile writes of an input and what we know better, by rsyslog's names."""
    return written_parameters(source, {"parser", "stream"})


def _every(profile: Profile, repairs: bool) -> Iterator[Module]:
    yield from _input_modules(profile)
    if profile.lanes is not None and profile.lanes.spread is Spread.HASH:
        yield Module("fmhash")
    if repairs:
        yield Module("mmutf8fix")
    yield from dict.fromkeys(_parsers(profile))
    steps = (step for _, stream in profile.every_stream for step in stream.steps)
    actions = [step for step in steps if not isinstance(step, ParseStep | VariableStep)]
    yield from (Module(kind, tuple(shared.items())) for kind, shared in _shared(actions).items())
    yield from _output_modules(profile)
    built_in = {name_of(one) for one in OUTPUTS if one.built_in}
    yield from (Module(name) for name in profile.snippets.modules if name not in built_in)


def _parsers(profile: Profile) -> Iterator[Module]:
    for _, stream in profile.every_stream:
        if isinstance(stream.parse, JsonParse):
            yield Module("mmjsonparse")
        elif isinstance(stream.parse, NormalizeParse):
            yield Module("mmnormalize")


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


def _shared(sections: Iterable[Output | StreamStep]) -> dict[str, dict[str, object]]:
    """The module of each, with the parameters that all sections of a kind share."""
    kinds: dict[str, dict[str, object]] = {}
    for section in sections:
        shared = kinds.setdefault(section.type, {})
        for key, name in of_module(type(section)).items():
            shared.setdefault(key, None)
            shared[key] = getattr(section, name) if shared[key] is None else shared[key]
    return kinds


def _output_modules(profile: Profile) -> Iterator[Module]:
    built_in = {output.type for output in profile.outputs if output.built_in}
    for kind, shared in _shared(profile.outputs).items():
        if kind not in built_in:
            yield Module(kind, tuple(shared.items()))
        elif any(value is not None for value in shared.values()):
            yield Module(f"builtin:{kind}", tuple(shared.items()))
