"""What the inputs and outputs of a profile need of it as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from tuner.engines.release import NEWEST_READ, OLDEST
from tuner.errors import Severity
from tuner.lint.lint import lint
from tuner.profile.model import Profile
from tuner.rainerscript.gaps import Gaps
from tuner.rainerscript.script import ScriptPosition
from tuner.render.artefacts import rsyslog_conf
from tuner.render.modules import loaded_by


def shared_settings(
    data: Mapping[str, object], folder: str, at: ScriptPosition, gaps: Gaps
) -> dict[str, object]:
    """The `global` of the profile, with a folder for files that have none, and with names of
    senders where documents hold them: rsyslog looks them up unless told not to."""
    given = data.get("global")
    settings = dict(given) if isinstance(given, Mapping) else {}
    outputs, streams = list(_sections(data, "outputs")), data.get("streams")
    if any(_asks_for_names(one) for one in outputs):
        settings = {"net.enableDNS": True} | settings
    queues = [data.get("main_queue"), *(one.get("queue") for one in outputs)]
    queues += [one.get("queue") for one in streams.values()] if isinstance(streams, dict) else []
    reads_files = any(one["type"] == "imfile" for one in _sections(data, "inputs"))
    if "workDirectory" not in settings and (reads_files or any(map(_has_files_anywhere, queues))):
        settings = {"workDirectory": folder} | settings
        gaps.change(at, f"nothing sets workDirectory: the profile takes Debian's, {folder}")
    return {"global": settings} if settings else {}


# What an output logs in with.
_SECRETS = frozenset({"auth", "apikey", "token", "httpheadervalue"})


def guardrails_of(data: Mapping[str, object]) -> dict[str, object]:
    """The strictest tier that the outputs keep, as no rsyslog.conf says what is wanted; a secret
    that crosses the network in the clear is kept, and said."""
    in_clear: dict[str, object] = {"secrets_in_clear": True} if _sends_in_clear(data) else {}
    choices = [in_clear, in_clear | {"tier": "relaxed"}]
    best = min(choices, key=lambda guardrails: _errors({**data, "guardrails": guardrails}))
    return {"guardrails": best} if best else {}


def release_of(data: Mapping[str, object], at: ScriptPosition, gaps: Gaps) -> dict[str, object]:
    """The oldest release that knows all parameters, where that is newer than a profile's own."""
    profile = _profile(data)
    if profile is None or not _errors(data):
        return {}
    own = profile.release.rsyslog_number
    every = [own, *(number for number in _RELEASES if number > own)]
    written = profile.release.model_dump(exclude_none=True)
    choices: list[dict[str, object]] = [
        {"release": {**written, "rsyslog": f"8.{number}"}} for number in every
    ]
    best = min(choices, key=lambda release: _errors({**data, **release}))
    if best is choices[0]:
        return {}
    newest = every[choices.index(best)]
    gaps.change(at, f"parameters that older rsyslogs refuse: release.rsyslog is 8.{newest}")
    return best


def refused_outputs(data: Mapping[str, object]) -> dict[int, str]:
    """The outputs that lint refuses although rsyslogd takes them, by number, each with the
    reason."""
    profile = _profile({**data, **guardrails_of(data)})
    found = () if profile is None else lint(profile)
    return {
        int(one.path[1]): f"{one.message} [{one.code}]"
        for one in found
        if one.severity is Severity.ERROR and one.path[0] == "outputs" and len(one.path) > 1
    }


def loaded_modules(data: Mapping[str, object]) -> list[str]:
    """The modules that the rendered profile loads, whatever its snippets need."""
    profile = _profile({key: value for key, value in data.items() if key != "snippets"})
    return [] if profile is None else loaded_by(rsyslog_conf(profile))


# There is one in every second month.
_RELEASES = [
    100 * year + month for year in range(OLDEST // 100, NEWEST_READ // 100 + 1)
    for month in range(2, 13, 2) if 100 * year + month <= NEWEST_READ
]  # fmt: skip
_ANY_INPUT = {"type": "imptcp", "port": 514}


def _errors(data: Mapping[str, object]) -> int:
    profile = _profile(data)
    found = () if profile is None else lint(profile)
    return sum(one.severity is Severity.ERROR for one in found)


def _profile(data: Mapping[str, object]) -> Profile | None:
    """The profile, with an input where it has none: what it is once that is added."""
    try:
        return Profile.model_validate(
            {"inputs": [_ANY_INPUT], **data}, by_alias=True, by_name=False
        )
    except ValidationError:
        return None


def _sections(data: Mapping[str, object], key: str) -> Iterator[Mapping[str, Any]]:
    given = data.get(key)
    yield from given if isinstance(given, list) else ()


def _sends_in_clear(data: Mapping[str, object]) -> bool:
    return any(
        str(server).startswith("http:")
        for one in _sections(data, "outputs")
        if one.keys() & _SECRETS or any(isinstance(two, dict) for two in one.get("httpheaders", ()))
        for server in one.get("servers") or one["server"]
    )


def _asks_for_names(output: Mapping[str, object]) -> bool:
    """Whether documents hold the name of the host that sent an event."""
    document = output.get("document")
    return isinstance(document, list) and any(
        isinstance(one, dict) and one.get("property") == "fromhost" for one in document
    )


def _has_files_anywhere(queue: object) -> bool:
    """Whether a queue names its files, and no folder."""
    return isinstance(queue, dict) and "filename" in queue and "spoolDirectory" not in queue
