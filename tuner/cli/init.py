"""`rsyslog-tune init`: a first profile, from what this machine has."""

from __future__ import annotations

from contextlib import suppress

from tuner.cli.console import print_result, say
from tuner.cli.profiles import name_for
from tuner.cli.usage.profiles import InitArguments
from tuner.errors import ProgramMissing
from tuner.host.programs import rsyslog_version
from tuner.host.usage import cores, memory_bytes
from tuner.lint.load import parse_profile
from tuner.profile.starter import LocalMachine, starter
from tuner.render.assets import asset_text
from tuner.writing import write_new


def init(options: InitArguments) -> None:
    """Carry out `rsyslog-tune init`."""
    release = None
    with suppress(ProgramMissing):
        release = rsyslog_version()
    machine = LocalMachine(release, cores(), memory_bytes())
    profile = options.profile
    text = starter(asset_text("templates", "starter.yaml"), name_for(profile), machine)
    parse_profile(text, str(profile))
    write_new({profile: text})
    print_result(options.output, "init", {"profile": str(profile)}, str(profile))
    schema = profile.parent / "profile.schema.json"
    if not schema.exists():
        say(f"for completion in your editor: rsyslog-tune schema > {schema}")
