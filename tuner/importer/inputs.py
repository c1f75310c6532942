"""Inputs, and modules that are a source by being loaded, as the inputs of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tuner.modules.input import Input, Listener
from tuner.rainerscript.conditions import variables
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gaps
from tuner.rainerscript.parameters import INPUT_MODELS, certificates, input_of, keys_of_model
from tuner.rainerscript.script import (
    OFF,
    Parameter,
    ScriptObject,
    expressions_of,
    module_name,
)
from tuner.rainerscript.secrets import embedded, is_secret
from tuner.rainerscript.template import TemplateProperty
from tuner.schema.parameter import of_module

# rsyslog's defaults where a profile's are others.
_OWN_DEFAULTS: dict[str, dict[str, object]] = {
    "imfile": {"persistStateInterval": 0},
    "imptcp": {"socketBacklog": 5},
}
# Where local programs and the kernel log to, which only the default ruleset takes.
_LOCAL = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark"})
# What the profile decides by itself, or what only names things.
_ELSEWHERE = frozenset({"type", "ruleset", "name", "load", "syssock.use"})
_STATE_FILE = "statefile"
_WHEN_POLLING = ("pollingInterval", "maxLinesAtOnce")
_INPUT_NAME = "inputname"
# The same in another spelling (imuxsock.c, imudp.c).
_SPELLED = {
    "ratelimitinterval": "rateLimit.interval", "ratelimitburst": "rateLimit.burst",
    "rcvbufsize": "rcvbufSize",
}  # fmt: skip


def local_inputs(parts: Parts) -> Iterator[ScriptObject]:
    """The modules that are a source by being loaded: the system's log socket, the kernel, the
    journal."""
    for kind, module in parts.module_objects.items():
        is_off = (module.text("sysSock.use") or "").lower() in OFF
        if kind in _LOCAL and not is_off:
            yield replace(module, parameters=parts.modules[kind])


def is_local(one: ScriptObject) -> bool:
    """Whether an input is a module by itself."""
    return one.kind == "module"


def read_input(one: ScriptObject, parts: Parts, gaps: Gaps) -> dict[str, object] | None:
    """The input of a profile; None, and a gap, where none of its type is known."""
    kind = module_name(one) if is_local(one) else one.type
    model = INPUT_MODELS.get(kind)
    if model is None:
        gaps.miss(one.origin, f"input {kind}: a profile has no such input")
        return None
    for each in (*one.parameters, *parts.modules.get(kind, ())):
        found = embedded(kind, each)
        if found is not None or is_secret(kind, each):
            what = f"input {kind}: it may hold a secret: {found or each.name}"
            gaps.miss(one.origin, what)
    if kind == "imfile" and one.get(_STATE_FILE) is not None:
        one = one.without({_STATE_FILE})
        gaps.change(one.origin, "imfile ignores stateFile, and names that file itself: left out")
    if not is_local(one) and one.get("name") is not None and _is_asked_for(_INPUT_NAME, parts):
        what = f"its name, for which something asks ({_INPUT_NAME})"
        gaps.miss(one.origin, f"input {kind}: {what}")
    own = [_spelled(each) for each in one.parameters if each.key not in _ELSEWHERE]
    # Those of a module that is a source itself are not for its other inputs.
    if not is_local(one) and kind not in _LOCAL:
        own = [*_shared(model, parts.modules.get(kind, ()), own, gaps), *own]
    data = input_of(model, own, _OWN_DEFAULTS.get(kind, {}), f"input {kind}", gaps)
    data |= certificates(model, data, parts.globals, gaps)
    polls = kind != "imfile" or data.get("mode") == "polling"
    for key in () if polls else [key for key in _WHEN_POLLING if key in data]:
        del data[key]
        gaps.change(one.origin, f"imfile ignores {key} in mode inotify: left out")
    if issubclass(model, Listener) and "port" not in data:
        gaps.miss(one.origin, f"input {kind} without one port")
        return None
    return data


def _is_asked_for(name: str, parts: Parts) -> bool:
    """Whether a template or a condition has a property."""
    pieces = (piece for one in parts.templates.values() for piece in one.pieces)
    if any(isinstance(piece, TemplateProperty) and piece.lowered == name for piece in pieces):
        return True
    asked = (each for one in parts.statements for each in expressions_of(one))
    return any(f"${name}" in variables(each) for each in asked)


def _spelled(one: Parameter) -> Parameter:
    return replace(one, name=_SPELLED.get(one.key, one.name))


def _shared(
    model: type[Input], given: tuple[Parameter, ...], own: list[Parameter], gaps: Gaps
) -> Iterator[Parameter]:
    """What the module sets for all of its inputs, as far as an input does not."""
    keys = {key.lower() for key in (*keys_of_model(model), *of_module(model))}
    written = {one.key for one in own}
    for one in map(_spelled, given):
        if one.key in keys and one.key not in written:
            yield one
        elif one.key not in keys | _ELSEWHERE:
            gaps.miss(one.origin, f"the parameter {one.name} of the module")
