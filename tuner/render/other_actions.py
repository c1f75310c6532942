"""Outputs that go to no engine: their modules, their templates and the parameters of actions."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.omfile import DynaFile
from tuner.modules.output import Lines
from tuner.profile.model import Profile
from tuner.render.bulk import document_name
from tuner.render.quoting import constant, quote_all
from tuner.render.rainerscript import Statement, Value, statement
from tuner.schema.parameter import of_module

# What is written for a whole configuration or elsewhere than in the action.
_ELSEWHERE = {"name", "type", "filter", "queue", "document", "template"}
_LAST = ("action.resumeRetryCount", "action.resumeInterval")
# File systems take 255 bytes; what comes after the value needs room too.
_LONGEST_VALUE = 160


def output_modules(profile: Profile) -> Iterator[Statement]:
    """The modules that the outputs need, with the parameters that all of a kind share."""
    kinds: dict[str, dict[str, Value]] = {}
    built_in = {output.type for output in profile.outputs if output.built_in}
    for output in profile.outputs:
        shared = kinds.setdefault(output.type, {})
        for key, name in of_module(type(output)).items():
            shared.setdefault(key, None)
            shared[key] = getattr(output, name) if shared[key] is None else shared[key]
    for kind, shared in kinds.items():
        if kind not in built_in:
            yield statement("module", {"load": kind, **shared})
        elif any(value is not None for value in shared.values()):
            yield statement("module", {"load": f"builtin:{kind}", **shared})


def other_parameters(output: Lines) -> dict[str, Value]:
    """The parameters of the action of `output`, without a queue."""
    written = output.model_dump(mode="json", by_alias=True, exclude_none=True)
    left_out = {*_ELSEWHERE, *_LAST, *of_module(type(output))}
    own = {key: value for key, value in written.items() if key not in left_out}
    own.pop("action.execOnlyWhenPreviousIsSuspended")
    head: dict[str, Value] = {"name": output.name, "type": output.type, "template": _format(output)}
    return head | own | _spelled(output) | {key: written[key] for key in _LAST}


def _format(output: Lines) -> str:
    if output.document is not None:
        return document_name(output)
    return output.format


def _spelled(output: Lines) -> dict[str, Value]:
    """What rsyslog writes otherwise than a profile does."""
    spelled = output.spelled().items()
    return {key: quote_all(value) if isinstance(value, tuple) else value for key, value in spelled}


def file_name_template(name: str, wanted: DynaFile) -> Statement:
    """A template for the path of the file that an event goes to.

    msg.c, MsgGetProp: `securepath` comes after `position`, makes underscores of slashes, and of a
    value that is empty, `.` or `..` one that begins with one.
    """
    value: dict[str, Value] = {
        "name": wanted.property,
        "position.from": 1,
        "position.to": _LONGEST_VALUE,
        "securepath": "replace",
    }
    body = [
        statement("constant", {"value": constant(wanted.before)}),
        statement("property", value),
    ]
    if wanted.after is not None:
        body.append(statement("constant", {"value": constant(wanted.after)}))
    return statement("template", {"name": name, "type": "list"}, tuple(body))
