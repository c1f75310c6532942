"""The layers of validation, from the cheapest to the most real."""

from __future__ import annotations

import os
from pathlib import Path

from tuner.errors import ProgramMissing
from tuner.host.usage import memory_bytes
from tuner.lint.load import LoadedProfile
from tuner.render.artefacts import RSYSLOG, render
from tuner.render.templates import Templates
from tuner.validate.host_memory import memory_problems
from tuner.validate.layer import Layer
from tuner.validate.rsyslogd import check


def layers(
    loaded: LoadedProfile, offline: bool, templates: Templates | None = None
) -> tuple[Layer, ...]:
    """What each layer says of a profile that loaded; loading it is the schema and the lint.

    rsyslogd's verdict depends on this machine too: on the files and folders that the configuration
    names, which the target may have and this machine may not.
    """
    count = len(loaded.warnings)
    memory = memory_problems(loaded, memory_bytes())
    count += len(memory)
    lint = Layer("lint", True, f"{count} warnings" if count else "", memory)
    return (Layer("schema", True), lint, _rsyslogd(loaded, offline, templates))


def _secret_files(loaded: LoadedProfile) -> list[str]:
    return [one.file for one in loaded.profile.secrets if one.file is not None]


def _absent_secret(loaded: LoadedProfile) -> str | None:
    """A secret's file that this machine lacks: rsyslogd rejects whatever refers to it."""
    return next((path for path in _secret_files(loaded) if not Path(path).is_file()), None)


def _secret_with_blank(loaded: LoadedProfile) -> str | None:
    """A secret's file with white space in it, which rsyslogd takes for a part of the password."""
    for path in _secret_files(loaded):
        if os.access(path, os.R_OK) and any(c.isspace() for c in Path(path).read_text("utf-8")):
            return path
    return None


def _rsyslogd(loaded: LoadedProfile, offline: bool, templates: Templates | None) -> Layer:
    name = "rsyslogd -N1"
    if offline:
        return Layer(name, None, "--offline")
    absent = _absent_secret(loaded)
    if absent is not None:
        return Layer(name, None, f"{absent}, which holds a secret, is not on this machine")
    blank = _secret_with_blank(loaded)
    if blank is not None:
        return Layer(name, False, f"{blank} holds white space, which rsyslogd refuses in a "
                     "password; a newline at the end counts: write it with printf %s")  # fmt: skip
    files = render(loaded.profile, templates)
    config = next(file.text for file in files if file.path == RSYSLOG)
    try:
        verdict = check(config, loaded.profile.secret_variables)
    except ProgramMissing as missing:
        return Layer(name, None, str(missing))
    return Layer(name, verdict.accepted, "; ".join(verdict.complaints))
