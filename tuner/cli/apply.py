"""`rsyslog-tune apply`: a profile on hosts and engine."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import typer

from tuner.cli.console import OutputFormat, print_result, result, say, working
from tuner.cli.hosts import (
    engine_url,
    machines_of,
    profile_of_host,
)
from tuner.cli.options import (
    duration_s,
)
from tuner.cli.profiles import load, templates_of
from tuner.deploy.apply import Apply, ApplyOptions, HostOutcome, HostState, entrance_of
from tuner.deploy.host_profile import HostProfile
from tuner.deploy.intents import Beginning, left_intents, new_intents
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.plan import (
    DeployPlan,
    EngineChange,
    HostChange,
    engine_changes,
    host_change,
    read_plan,
    require_same_engine,
    saved,
    unfit,
)
from tuner.deploy.target import RemoteHost
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.errors import BadUsage, DifferencesFound, JobFailed, Locked, Refused, TuneError
from tuner.lint.load import LoadedProfile, text_of
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import node_files
from tuner.render.templates import Templates
from tuner.writing import write_whole


def apply(
    profile: Path,
    host: list[str] | None,
    inventory: Path | None,
    fragment: bool,
    loaded_modules: list[str] | None,
    templates: Path | None,
    elasticsearch: str | None,
    skip_engine: bool,
    check: bool,
    plan_out: Path | None,
    yes: bool,
    serial: int,
    all_or_none: bool,
    confirm_within: str | None,
    event_within: str,
    no_event: bool,
    take_over: bool,
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune apply`."""
    plan, refused = read_plan(text_of(profile), str(profile)), list[TuneError]()
    if plan is None:
        loaded = load(profile)
        machines = machines_of(host, inventory, profile)
        site = templates_of(templates)
        hosts = tuple(
            profile_of_host(loaded, one, site, fragment, loaded_modules) for one in machines
        )
        client = _client(loaded.profile, elasticsearch, skip_engine, machines, refused)
        plan = _planned(loaded, hosts, client, site, take_over, refused)
    else:
        if host or inventory or fragment or templates or elasticsearch or skip_engine or plan_out:
            raise BadUsage(
                "a saved plan already says where and what: leave out --host, --inventory, "
                "--fragment, --templates, --elasticsearch, --skip-engine and --plan-out"
            )
        client = None if plan.url is None else client_for(plan.url, plan.loaded.profile)
        if client is not None:
            require_same_engine(plan, client)
    with contextlib.closing(client) if client is not None else contextlib.nullcontext():
        is_shown = check or plan_out is not None or not plan.diff
        if is_shown:
            _show(plan, check, output)
        if refused:
            raise _together(refused)
        if is_shown:
            _conclude(plan, plan_out)
            return
        ask(plan, yes, output)
        manner = ApplyOptions(
            serial=serial,
            confirm_within_s=seconds_to_confirm(confirm_within),
            event_within_s=0 if no_event else duration_s(event_within),
            all_or_none=all_or_none,
        )
        outcomes = done(plan, client, manner)
    report(plan, outcomes, output)


def _client(
    profile: Profile,
    url: str | None,
    is_skipped: bool,
    machines: tuple[InventoryHost, ...],
    refused: list[TuneError],
) -> EngineClient | None:
    """A client for the engine behind the hosts, as the options name it; None where it is left
    alone, or cannot be asked from here, which is added to what refuses the apply."""
    try:
        url = engine_url(profile, url, is_skipped, machines)
        return None if url is None else client_for(url, profile)
    except JobFailed as bad:
        why = "the engine is asked from here, and takes that; --skip-engine leaves it alone"
        refused.append(JobFailed(f"{bad}: {why}"))
    except Refused as bad:
        refused.append(bad)
    return None


def _together(refused: list[TuneError]) -> TuneError:
    """All that refuses an apply, in one message."""
    if len(refused) == 1:
        return refused[0]
    return Refused("\n".join(("several things are in the way:", *(f"- {one}" for one in refused))))


def _planned(
    loaded: LoadedProfile,
    hosts: tuple[HostProfile, ...],
    client: EngineClient | None,
    site: Templates | None,
    take_over: bool,
    refused: list[TuneError],
) -> DeployPlan:
    """Ask hosts and engine what they have; changes nothing, and adds what refuses it."""
    with working(f"asking {', '.join(one.machine.name for one in hosts)}"):
        changes = tuple(_host_change(one, take_over, refused) for one in hosts)
        objects: tuple[EngineChange, ...] = ()
        if client is not None:
            try:
                objects, foreign = engine_changes(loaded.profile, client, site, take_over)
                refused += map(Refused, foreign)
            except Refused as bad:
                refused.append(bad)
    text, layers, beside = loaded.text, loaded.layers, loaded.beside
    url = None if client is None else client.url
    return DeployPlan(str(loaded.path), text, layers, beside, changes, url, objects)


def _host_change(one: HostProfile, take_over: bool, refused: list[TuneError]) -> HostChange:
    target = RemoteHost(one.machine, one.files)
    facts = target.facts(sockets_of(one.profile))
    if facts.pending is not None:
        raise Locked(
            f"{one.machine.name} has an unfinished change by {facts.pending}: rsyslog-tune confirm "
            "or recover ends it"
        )
    refused += map(Refused, unfit(one, facts, take_over))
    return host_change(one, facts)


def _show(plan: DeployPlan, diff: bool, output: OutputFormat) -> None:
    """What would change."""
    changes = [(one.machine.name, one.diff) for one in plan.hosts]
    changes += [(one.name, one.diff) for one in plan.objects]
    each = [{"name": name, "diff": text} for name, text in changes]
    fields = {"differs": bool(plan.diff), "changes": each}
    print_result(output, "apply-check", fields, plan.diff.rstrip() if diff else "")


def _conclude(plan: DeployPlan, plan_out: Path | None) -> None:
    """Write a plan that is wanted, and say what is to do; nothing is not an error."""
    if plan_out is not None:
        write_whole(plan_out, saved(plan), 0o600)
        say(f"rsyslog-tune apply {plan_out} does exactly this")
    differing = [one.machine.name for one in plan.hosts if one.diff]
    differing += [one.name for one in plan.objects if one.diff]
    if not differing:
        say(f"nothing to do: {', '.join(one.machine.name for one in plan.hosts)} as in the profile")
    elif plan_out is None:
        raise DifferencesFound(f"apply would change {', '.join(differing)}")


def ask(plan: DeployPlan, yes: bool, output: OutputFormat) -> None:
    """Show what changes, and have somebody agree."""
    if not yes and output is OutputFormat.TEXT:
        result(plan.diff.rstrip())
    if yes:
        return
    if output is OutputFormat.JSON or not sys.stdin.isatty():
        raise Refused("no terminal to ask on: look at apply --diff, then use --yes")
    names = ", ".join(one.machine.name for one in plan.hosts if one.diff) or "the engine"
    question = f"Put this back on {names}?" if plan.undoes else f"Apply this to {names}?"
    if not typer.confirm(question, err=True):
        raise Refused("declined; nothing is changed")


def done(
    plan: DeployPlan, client: EngineClient | None, manner: ApplyOptions
) -> tuple[HostOutcome, ...]:
    """Do it, with a journal, and say what became of each host.  Raises Locked where an apply
    before did not end."""
    is_event_sent = client is not None and manner.event_within_s > 0
    if is_event_sent and entrance_of(plan.loaded.profile) is None:
        say("no event is sent: that needs an input of plain TCP or UDP, and a field to find it by")
    with left_intents() as left:
        if left:
            raise Locked(
                f"{left[0].path} is of an apply that did not end: rsyslog-tune recover ends it, or "
                "rsyslog-tune confirm where it waits for that"
            )
    with new_intents() as intents:
        names = ", ".join(one.machine.name for one in plan.hosts)
        intents.note(
            Beginning(
                f"{plan.profile} to {names}",
                plan.profile,
                plan.text,
                plan.layers,
                plan.url,
                plan.beside,
            )
        )
        return Apply(plan, client, intents, manner, say).run()


def seconds_to_confirm(option: str | None) -> int:
    """Those of --confirm-within, 0 without it."""
    return 0 if option is None else round(duration_s(option))


def report(plan: DeployPlan, outcomes: tuple[HostOutcome, ...], output: OutputFormat) -> None:
    """What became of each host, and what is left to do by hand."""
    node = () if plan.url is None or plan.undoes else node_files(plan.loaded.profile)
    each = [
        {"name": one.name, "state": one.state.value, "reason": one.error and str(one.error)}
        for one in outcomes
    ]
    objects = [one.name for one in plan.objects]
    fields = {"hosts": each, "engine": objects, "needs_restart": list(node)}
    lines = [f"{one.state.value:<9}  {one.name}" for one in outcomes]
    print_result(output, "apply", fields, "\n".join(lines))
    if node:
        say(
            f"needs a restart of the engine's nodes, and is not applied: {', '.join(node)} "
            "(rsyslog-tune render -o writes them)"
        )
    failed = [one.error for one in outcomes if one.error is not None]
    if failed:
        raise failed[0]
    if any(one.state is HostState.WAITING for one in outcomes):
        say("rsyslog-tune confirm keeps it; without that the hosts restore themselves")
