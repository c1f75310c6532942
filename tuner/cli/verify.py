"""`rsyslog-tune verify`: hosts and engine beside a profile."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.hosts import (
    engine_url,
    machines_of,
    profile_of_host,
)
from tuner.cli.profiles import load, templates_of
from tuner.deploy.queues import figures_note
from tuner.deploy.target import RemoteHost
from tuner.deploy.verify import engine_drift, host_drift
from tuner.engine.access import client_for
from tuner.errors import DifferencesFound
from tuner.schema.numerals import counted


def verify(
    profile: Path,
    host: list[str] | None,
    inventory: Path | None,
    fragment: bool,
    loaded_modules: list[str] | None,
    templates: Path | None,
    elasticsearch: str | None,
    skip_engine: bool,
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune verify`."""
    loaded = load(profile)
    site = templates_of(templates)
    machines = machines_of(host, inventory, profile)
    wanted = [profile_of_host(loaded, one, site, fragment, loaded_modules) for one in machines]
    url = engine_url(loaded.profile, elasticsearch, skip_engine, machines)
    names = ", ".join(one.name for one in machines)
    with working(f"asking {names}"):
        hosts = [(RemoteHost(one.machine, one.files), one) for one in wanted]
        found = [drift for at, one in hosts for drift in host_drift(at, one)]
        notes = [figures_note(at, one.profile) for at, one in hosts]
        if url is not None:
            with contextlib.closing(client_for(url, loaded.profile)) as client:
                found += engine_drift(loaded.profile, client, site)
    fields = {"drift": found, "notes": notes}
    texts = [f"{one.where}: {one.what}\n{one.diff}".rstrip() for one in found]
    print_result(output, "verify", fields, "\n".join(texts))
    for note in notes:
        say(note)
    if found:
        raise DifferencesFound(f"{counted(len(found), 'difference')} from the profile")
    say(f"as in the profile: {names}{'' if url is None else ', engine'}")
