"""`rsyslog-tune verify`: hosts and engine beside a profile."""

from __future__ import annotations

import contextlib

from tuner.cli.console import print_result, say, working
from tuner.cli.hosts import engine_url, machines_of
from tuner.cli.profiles import form_of, load, templates_of
from tuner.cli.usage.hosts import VerifyArguments
from tuner.deploy.host_profile import host_profile
from tuner.deploy.queues import figures_note
from tuner.deploy.target import RemoteHost
from tuner.deploy.verify import engine_drift, host_drift
from tuner.engine.access import client_for
from tuner.errors import DifferencesFound
from tuner.schema.numerals import counted


def verify(options: VerifyArguments) -> None:
    """Carry out `rsyslog-tune verify`."""
    loaded = load(options.profile)
    site, form = templates_of(options.templates), form_of(loaded, options)
    machines = machines_of(options.host, options.inventory, options.profile)
    profiles = [host_profile(loaded, machine, site, form) for machine in machines]
    url = engine_url(loaded.profile, options, machines)
    names = ", ".join(machine.name for machine in machines)
    with working(f"asking {names}"):
        hosts = [(RemoteHost(wanted.machine, wanted.files), wanted) for wanted in profiles]
        drifts = [drift for host, wanted in hosts for drift in host_drift(host, wanted)]
        notes = [figures_note(host, wanted.profile) for host, wanted in hosts]
        if url is not None:
            with contextlib.closing(client_for(url, loaded.profile)) as client:
                drifts += engine_drift(loaded.profile, client, site)
    texts = [f"{drift.where}: {drift.what}\n{drift.diff}".rstrip() for drift in drifts]
    print_result(options.output, "verify", {"drift": drifts, "notes": notes}, "\n".join(texts))
    for note in notes:
        say(note)
    if drifts:
        raise DifferencesFound(f"{counted(len(drifts), 'difference')} from the profile")
    say(f"as in the profile: {names}{'' if url is None else ', engine'}")
