"""Outputs that go to no engine: their modules, their templates and the parameters of actions."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.other_outputs import (
    DYNA_FILES,
    DynaFile,
    OmfileOutput,
    OmfwdOutput,
    OtherOutput,
)
from tuner.profile.model import Profile
from tuner.render.bulk import document_name
from tuner.render.quoting import constant, quote_all
from tuner.render.rainerscript import Statement, Value, statement
from tuner.schema.parameter import of_module

# omfile and omfwd are in rsyslogd itself, and loaded only to be given parameters.
_BUILT_IN = ("omfile", "omfwd")
# rsyslog's own for omfwd has neither year nor zone; both of its own for forwarding cut tags.
_FORMATS = {
    "omfile": "RSYSLOG_FileFormat",
    "omfwd": "RSYSLOG_SyslogProtocol23Format",
    "omrelp": "RSYSLOG_SyslogProtocol23Format",
}
# What is written for a whole configuration or elsewhere than in the action.
_ELSEWHERE = {"name", "type", "filter", "queue", "document", "template"}
_LAST = ("action.resumeRetryCount", "action.resumeInterval")
# File systems take 255 bytes; what comes after the value needs room too.
_LONGEST_VALUE = 160


def output_modules(profile: Profile) -> Iterator[Statement]:
    """The modules that the outputs need, with the parameters that all of a kind share."""
    kinds: dict[str, dict[str, Value]] = {}
    for output in profile.outputs:
        shared = kinds.setdefault(output.type, {})
        for key, name in of_module(type(output)).items():
            shared.setdefault(key, None)
            shared[key] = getattr(output, name) if shared[key] is None else shared[key]
    for kind, shared in kinds.items():
        if kind not in _BUILT_IN:
            yield statement("module", {"load": kind, **shared})
        elif any(value is not None for value in shared.values()):
            yield statement("module", {"load": f"builtin:{kind}", **shared})


def other_parameters(output: OtherOutput) -> dict[str, Value]:
    """The parameters of the action of `output`, without a queue."""
    written = output.model_dump(mode="json", by_alias=True, exclude_none=True)
    left_out = {*_ELSEWHERE, *_LAST, *of_module(type(output))}
    own = {key: value for key, value in written.items() if key not in left_out}
    own.pop("action.execOnlyWhenPreviousIsSuspended")
    head: dict[str, Value] = {"name": output.name, "type": output.type, "template": _format(output)}
    return head | own | _rewritten(output) | {key: written[key] for key in _LAST}


def _format(output: OtherOutput) -> str:
    if output.document is not None:
        return document_name(output)
    return output.template or _FORMATS[output.type]


def _rewritten(output: OtherOutput) -> dict[str, Value]:
    """What rsyslog writes otherwise than a profile does."""
    if isinstance(output, OmfileOutput):
        if output.dyna_file is None:
            return {}
        most = output.dyna_file_cache_size or DYNA_FILES
        return {"dynaFile": file_name(output), "dynaFileCacheSize": most}
    if isinstance(output, OmfwdOutput):
        peers = output.stream_driver_permitted_peers
        several = {} if isinstance(output.target, str) else {"target": quote_all(output.target)}
        # omfwd.c, newActInst: one string, taken apart at its commas.
        return several | ({} if peers is None else {"streamDriverPermittedPeers": ",".join(peers)})
    peers = output.tls_permitted_peer
    return {} if peers is None else {"tls.permittedPeer": quote_all(peers)}


def file_name(output: OmfileOutput) -> str:
    """What the template of the names of an output's files is called."""
    return f"{output.name}-file"


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
