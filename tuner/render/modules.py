"""The rsyslog modules that a configuration loads, and the packages that contain them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tuner.errors import Refused
from tuner.modules.input import Input
from tuner.modules.mmanon import MmanonStep
from tuner.modules.output import Output
from tuner.modules.registry import OUTPUTS, every_package, name_of
from tuner.modules.secrets import SecretRef
from tuner.profile.model import Profile, Spread
from tuner.render.form import Form
from tuner.schema.section import RsyslogSection, foreign_fields, of_module

PARSING = {"json": "mmjsonparse", "normalize": "mmnormalize"}
"""The modules whose action parses an event, by format."""
_DRIVERS = {"gtls": "rsyslog-gnutls", "ossl": "rsyslog-openssl"}
_LOADED = re.compile(r'load="(\w+)"')
_DRIVER = re.compile(r'(?i:driver(?:\.name)?)="([a-z]+)"')


Parameters = tuple[tuple[str, object], ...]


class Module(NamedTuple):
    """A module to load, with its module parameters."""

    name: str
    parameters: Parameters = ()


def modules(profile: Profile, repairs: bool, form: Form) -> tuple[Module, ...]:
    """The modules to load, without those that the host of a fragment loads: rsyslogd refuses to
    load a module twice.  Raises Refused if the profile sets module parameters of one of them."""
    loaded: list[Module] = []
    for module in _required(profile, repairs):
        if any(module.name == other.name for other in loaded):
            continue
        if module.name not in form.loaded:
            loaded.append(module)
            continue
        derived_keys = {key for source in profile.inputs for key in source.fixed}
        parameters = (name for name, value in module.parameters if value is not None)
        unsettable = [name for name in parameters if name not in derived_keys]
        if unsettable:
            raise Refused(
                f"the host's own configuration loads {module.name}, and only there can its "
                f"parameters be set: remove {', '.join(unsettable)} from the profile"
            )
    return tuple(loaded)


def packages_of(configuration: str) -> dict[str, str]:
    """The Debian packages that a rendered configuration needs besides `rsyslog`, each with the
    module or TLS driver that needs it."""
    shipped = {**every_package(), **_DRIVERS}
    used = (*_LOADED.findall(configuration), *_DRIVER.findall(configuration))
    return {shipped[name]: name for name in used if name in shipped}


def own_parameters(section: RsyslogSection) -> Parameters:
    """The parameters of a section that belong to its own object, by rsyslog's names; secrets stay
    references."""
    foreign = foreign_fields(type(section))
    parameters = section.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=foreign)
    for name, info in type(section).model_fields.items():
        value = getattr(section, name)
        values = value if isinstance(value, tuple) else (value,)
        if name not in foreign and any(isinstance(item, SecretRef) for item in values):
            parameters[info.alias or name] = value
    return tuple(parameters.items())


def _required(profile: Profile, repairs: bool) -> Iterator[Module]:
    yield from _by_type(profile.inputs)
    if profile.lanes is not None and profile.lanes.spread is Spread.HASH:
        yield Module("fmhash")
    if repairs:
        yield Module("mmutf8fix")
    streams = [stream for _, stream in profile.every_stream]
    for stream in streams:
        if isinstance(stream.parse, RsyslogSection):
            yield Module(PARSING[stream.parse.format])
    steps = (step for stream in streams for step in stream.steps)
    yield from (Module(step.type) for step in steps if isinstance(step, MmanonStep))
    built_in = {name_of(output) for output in OUTPUTS if output.built_in}
    for module in _by_type(profile.outputs):
        if module.name not in built_in:
            yield module
        elif any(value is not None for _, value in module.parameters):
            yield Module(f"builtin:{module.name}", module.parameters)
    yield from (Module(name) for name in profile.snippets.modules if name not in built_in)


def _by_type(sections: Iterable[Input | Output]) -> Iterator[Module]:
    """One module for each type of section, with its module parameters."""
    kinds: dict[str, dict[str, object]] = {}
    for section in sections:
        shared = kinds.setdefault(section.type, {})
        for key, value in section.fixed.items() if isinstance(section, Input) else ():
            shared[key] = bool(shared.get(key)) or value
        for key, name in of_module(type(section)).items():
            if shared.get(key) is None:
                shared[key] = getattr(section, name)
    return (Module(kind, tuple(shared.items())) for kind, shared in kinds.items())
