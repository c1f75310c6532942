"""Inputs and modules as the inputs of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tuner.importer.gaps import Gaps
from tuner.importer.parameters import keys_of_model, known
from tuner.importer.script import Parameter, Thing
from tuner.modules.input import Input, Listener
from tuner.modules.registry import INPUTS, name_of
from tuner.schema.parameter import of_module

# rsyslog listens on every address unless one is configured.
ANYWHERE = "0.0.0.0"  # noqa: S104 - this is what the configuration that is read does
# rsyslog's defaults where a profile's are others.
_OWN_DEFAULTS: dict[str, dict[str, object]] = {
    "imfile": {"persistStateInterval": 0},
    "imptcp": {"socketBacklog": 5},
}
_MODELS: dict[str, type[Input]] = {name_of(one): one for one in INPUTS}
# What the profile decides by itself, or what only names things.
_ELSEWHERE = frozenset({"type", "ruleset", "name", "load"})


def input_of(
    one: Thing, modules: Mapping[str, tuple[Parameter, ...]], gaps: Gaps
) -> dict[str, object] | None:
    """The input of an `input(...)`; None where a profile has none of its type."""
    kind = (one.text("type") or "").lower()
    model = _MODELS.get(kind)
    if model is None:
        gaps.miss(one.origin, f"input {kind}: a profile has no such input")
        return None
    own = [parameter for parameter in one.parameters if parameter.key not in _ELSEWHERE]
    own = [_spelled(parameter, kind) for parameter in own]
    data: dict[str, object] = {"type": kind}
    if issubclass(model, Listener):
        data["address"] = ANYWHERE
    data |= _OWN_DEFAULTS.get(kind, {})
    shared = _shared(model, modules.get(kind, ()), own)
    data |= known(model, [*shared, *own], f"input {kind}", gaps)
    if data.get("address") in {"*", ""}:
        data["address"] = ANYWHERE
    if issubclass(model, Listener) and "port" not in data:
        gaps.miss(one.origin, f"input {kind} without one port")
        return None
    return data


def local_input(module: Thing, gaps: Gaps) -> dict[str, object] | None:
    """The source that a module is by being loaded: the system's log socket, the kernel, the
    journal."""
    kind = (module.text("load") or "").lower()
    model = _MODELS.get(kind)
    if model is None:
        gaps.miss(module.origin, f"{kind}: a profile has no such input")
        return None
    keys = keys_of_model(model)
    return {"type": kind} | known(
        model, [one for one in module.parameters if one.key in keys], f"module {kind}", gaps
    )


def _spelled(one: Parameter, kind: str) -> Parameter:
    """imuxsock and imudp have two spellings of some names."""
    name = {"ratelimitinterval": "rateLimit.interval", "ratelimitburst": "rateLimit.burst"}.get(
        one.key, one.name
    )
    if kind == "imudp" and one.key == "rcvbufsize":
        name = "rcvbufSize"
    return Parameter(name, one.value, one.origin)


def _shared(
    model: type[Input], given: Iterable[Parameter], own: Iterable[Parameter]
) -> list[Parameter]:
    """What the module sets for all of its inputs, as far as an input does not."""
    keys = keys_of_model(model)
    written = {one.key for one in own}
    return [one for one in given if one.key in keys and one.key not in written]


def unknown_of_module(kind: str, given: Iterable[Parameter]) -> list[Parameter]:
    """The parameters of a module that no input of a profile has."""
    model = _MODELS.get(kind)
    keys = {} if model is None else keys_of_model(model) | of_module(model)
    return [one for one in given if one.key not in {key.lower() for key in keys} | {"load"}]


def is_known(kind: str) -> bool:
    """Whether a profile has inputs of that type."""
    return kind in _MODELS
