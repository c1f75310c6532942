"""`rsyslog-tune apply` puts a profile on hosts and engine; `confirm` keeps and `recover` undoes an
unfinished apply; `verify` lists what differs from the profile."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.hosts import change_on, engine_url, machines_of, require_consent, require_none
from tuner.cli.options import duration_s
from tuner.cli.profiles import form_of, load, templates_of
from tuner.cli.usage import hosts as usage
from tuner.deploy import journal
from tuner.deploy.apply import Apply, ApplyOptions, HostOutcome, HostState, entrance_of
from tuner.deploy.host_profile import HostProfile, PlannedProfile, host_profile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.journal import Beginning, last_finished, left_intents, new_intents
from tuner.deploy.objects import EngineChange
from tuner.deploy.plan import (
    DeployPlan,
    engine_changes,
    hosts_before,
    objects_before,
    read_plan,
    require_same_engine,
    saved,
)
from tuner.deploy.target import RemoteHost
from tuner.deploy.verify import engine_drift, figures_note, host_drift
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.errors import BadUsage, DifferencesFound, JobFailed, Locked, Refused, TuneError
from tuner.lint.load import LoadedProfile, text_of
from tuner.render.artefacts import node_files
from tuner.render.templates import Templates
from tuner.schema.numerals import counted
from tuner.writing import write_whole

# The only options that a saved plan allows: it has the hosts, the engine and the files itself.
_BESIDE_PLAN = {
    "profile", "check", "yes", "serial", "confirm_within", "all_or_none", "event_within",
    "no_event", "take_over", "output",
}  # fmt: skip


def apply(options: usage.ApplyArguments) -> None:
    """Carry out `rsyslog-tune apply`."""
    profile, plan_out, refusals = options.profile, options.plan_out, list[TuneError]()
    plan = read_plan(text_of(profile), str(profile))
    if plan is None:
        loaded = load(profile)
        machines = machines_of(options.host, options.inventory, profile)
        site, form = templates_of(options.templates), form_of(loaded, options)
        hosts = tuple(host_profile(loaded, machine, site, form) for machine in machines)
        client = _client(loaded, options, machines, refusals)
        plan = _planned(loaded, hosts, client, site, options.take_over, refusals)
    else:
        if extra := options.given_beside(_BESIDE_PLAN):
            raise BadUsage(f"a saved plan says where and what: remove {', '.join(extra)}")
        client = None if plan.url is None else client_for(plan.url, plan.profile.loaded.profile)
        if client is not None:
            require_same_engine(plan, client)
    with contextlib.closing(client) if client is not None else contextlib.nullcontext():
        is_shown = options.check or plan_out is not None or not plan.diff
        if is_shown:
            _show(plan, options.check, options.output)
        require_none(refusals)
        if is_shown:
            _conclude(plan, plan_out)
            return
        within_s = 0 if options.no_event else duration_s(options.event_within)
        rules = replace(_rules(options), event_within_s=within_s, all_or_none=options.all_or_none)
        _carry_out(plan, client, options, rules)


def _client(
    loaded: LoadedProfile,
    options: usage.ApplyArguments,
    machines: tuple[InventoryHost, ...],
    refusals: list[TuneError],
) -> EngineClient | None:
    """A client for the engine that the options or the profile name; None if it is left out, or
    cannot be used from here, which is then added to `refusals`."""
    try:
        url = engine_url(loaded.profile, options, machines)
        return None if url is None else client_for(url, loaded.profile)
    except JobFailed as bad:
        why = "the engine is asked from here, and takes that; --skip-engine leaves it alone"
        refusals.append(JobFailed(f"{bad}: {why}"))
    except Refused as bad:
        refusals.append(bad)
    return None


def _planned(
    loaded: LoadedProfile,
    hosts: tuple[HostProfile, ...],
    client: EngineClient | None,
    site: Templates | None,
    take_over: bool,
    refusals: list[TuneError],
) -> DeployPlan:
    """Compare hosts and engine with the profile without changing them; what stands in the way of
    an apply is added to `refusals`."""
    with working(f"asking {', '.join(host.machine.name for host in hosts)}"):
        changes = tuple(change_on(host, take_over, refusals) for host in hosts)
        objects: tuple[EngineChange, ...] = ()
        if client is not None:
            try:
                objects, foreign = engine_changes(loaded.profile, client, site, take_over)
                refusals += map(Refused, foreign)
            except Refused as bad:
                refusals.append(bad)
    profile = PlannedProfile.of(loaded)
    return DeployPlan(profile, changes, None if client is None else client.url, objects)


def _show(plan: DeployPlan, with_diff: bool, output: OutputFormat) -> None:
    """Print what would change; as text only `with_diff`."""
    changes = [{"name": name, "diff": text} for name, text in plan.diffs]
    fields = {"differs": bool(plan.diff), "changes": changes}
    print_result(output, "apply-check", fields, plan.diff.rstrip() if with_diff else "")


def _conclude(plan: DeployPlan, plan_out: Path | None) -> None:
    """Write the plan to `plan_out`; without that raise DifferencesFound if it has changes."""
    if plan_out is not None:
        write_whole(plan_out, saved(plan), 0o600)
        say(f"rsyslog-tune apply {plan_out} does exactly this")
    differing = [name for name, diff in plan.diffs if diff]
    if not differing:
        say(f"nothing to do: {', '.join(plan.host_names)} as in the profile")
    elif plan_out is None:
        raise DifferencesFound(f"apply would change {', '.join(differing)}")


def _carry_out(
    plan: DeployPlan, client: EngineClient | None, options: usage.Changing, rules: ApplyOptions
) -> None:
    """Ask for consent, apply the plan under these `rules`, and report the outcome of each host."""
    _ask(plan, options)
    _report(plan, _applied(plan, client, rules), options.output)


def _rules(options: usage.Changing) -> ApplyOptions:
    within = options.confirm_within
    return ApplyOptions(options.serial, 0 if within is None else round(duration_s(within)))


def _ask(plan: DeployPlan, options: usage.Changing) -> None:
    """Show the changes and ask for consent, unless --yes gives it; raises Refused without it."""
    if options.yes:
        return
    names = ", ".join(change.machine.name for change in plan.hosts if change.diff) or "the engine"
    question = f"Put this back on {names}?" if plan.undoes else f"Apply this to {names}?"
    require_consent(plan.diff.rstrip(), question, "apply --diff", options.output)


def _applied(
    plan: DeployPlan, client: EngineClient | None, options: ApplyOptions
) -> tuple[HostOutcome, ...]:
    """Apply the plan, recording each step in a journal first; the outcome of each host.  Raises
    Locked if an earlier apply did not end."""
    is_event_sent = client is not None and options.event_within_s > 0
    if is_event_sent and entrance_of(plan.profile.loaded.profile) is None:
        say("no event is sent: that needs an input of plain TCP or UDP, and a field to find it by")
    with left_intents() as left:
        if left:
            raise Locked(
                f"{left[0].path} is of an apply that did not end: rsyslog-tune recover ends it, or "
                "rsyslog-tune confirm where it waits for that"
            )
    with new_intents() as intents:
        intents.note(Beginning(plan.profile, plan.url))
        return Apply(plan, client, intents, options, say).run()


def _report(plan: DeployPlan, outcomes: tuple[HostOutcome, ...], output: OutputFormat) -> None:
    """Print the outcome of each host and what is left to do by hand; raises the first failure."""
    node = () if plan.url is None or plan.undoes else node_files(plan.profile.loaded.profile)
    hosts = [
        {"name": host.name, "state": host.state.value, "reason": host.error and str(host.error)}
        for host in outcomes
    ]
    objects = [change.name for change in plan.objects]
    fields = {"hosts": hosts, "engine": objects, "needs_restart": list(node)}
    lines = [f"{host.state.value:<9}  {host.name}" for host in outcomes]
    print_result(output, "apply", fields, "\n".join(lines))
    if node:
        say(
            f"needs a restart of the engine's nodes, and is not applied: {', '.join(node)} "
            "(rsyslog-tune render -o writes them)"
        )
    failed = [host.error for host in outcomes if host.error is not None]
    if failed:
        raise failed[0]
    if any(host.state is HostState.WAITING for host in outcomes):
        say("rsyslog-tune confirm keeps it; without that the hosts restore themselves")


def confirm(options: usage.ConfirmArguments) -> None:
    """Carry out `rsyslog-tune confirm`."""
    with left_intents() as left:
        ended = journal.confirm(left)
    if not ended.applies:
        raise JobFailed("nothing waits to be confirmed")
    print_result(options.output, "confirm", {"confirmed": ended.applies}, "\n".join(ended.lines))
    ended.require_whole("confirmed")


def recover(options: usage.RecoverArguments) -> None:
    """Carry out `rsyslog-tune recover`."""
    machines: tuple[InventoryHost, ...] = ()
    if options.host or options.inventory is not None:
        machines = machines_of(options.host, options.inventory, None)
    if options.previous:
        _undo_finished(machines, options)
        return
    if options.yes or options.confirm_within is not None or options.serial != 1:
        raise BadUsage("--yes, --serial and --confirm-within need --previous")
    with left_intents() as left:
        ended = journal.recover(left, machines, say)
    nothing = "no unfinished apply was started from this machine"
    text = "\n".join(ended.lines) or (f"undone: {ended.applies}" if ended.applies else nothing)
    fields = {"undone": ended.applies, "hosts": dict(ended.hosts.values())}
    print_result(options.output, "recover", fields, text)
    ended.require_whole("as before")


def _undo_finished(machines: tuple[InventoryHost, ...], options: usage.RecoverArguments) -> None:
    """Apply what was there before the last finished apply."""
    beginning, client, puts, run = None, None, tuple[EngineChange, ...](), None
    if not machines:
        finished = last_finished()
        if finished is None:
            raise JobFailed(
                "no apply was finished from this machine: name hosts, --host or --inventory"
            )
        run, beginning, puts = finished.run, finished.beginning, finished.puts
        machines = tuple(touched.machine for touched in finished.touched)
        client = journal.engine_of(beginning) if beginning is not None and puts else None
    with contextlib.closing(client) if client is not None else contextlib.nullcontext():
        with working(f"asking {', '.join(host.name for host in machines) or 'the engine'}"):
            changes = tuple(hosts_before(machines, run, say))
            objects = () if client is None else objects_before(puts, client, say)
        url = None if client is None else client.url
        profile = PlannedProfile("", "") if beginning is None else beginning.profile
        plan = DeployPlan(profile, changes, url, objects, undoes=True)
        if not plan.diff:
            raise JobFailed("nothing can be put back")
        if beginning is None:
            say("the engine stays as it is: only the machine that applied can put that back")
        _carry_out(plan, client, options, _rules(options))


def verify(options: usage.VerifyArguments) -> None:
    """Carry out `rsyslog-tune verify`."""
    loaded = load(options.profile)
    site, form = templates_of(options.templates), form_of(loaded, options)
    machines = machines_of(options.host, options.inventory, options.profile)
    profiles = [host_profile(loaded, machine, site, form) for machine in machines]
    url = engine_url(loaded.profile, options, machines)
    names = ", ".join(machine.name for machine in machines)
    with working(f"asking {names}"):
        hosts = [(RemoteHost(profile.machine, profile.files), profile) for profile in profiles]
        drifts = [drift for host, profile in hosts for drift in host_drift(host, profile)]
        notes = [figures_note(host, profile.profile) for host, profile in hosts]
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
