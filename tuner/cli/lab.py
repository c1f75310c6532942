"""`rsyslog-tune lab`: a lab that runs until `lab down`."""

from __future__ import annotations

from contextlib import ExitStack

from tuner.cli.console import OutputFormat, print_result, result, working
from tuner.cli.profiles import load_or_default
from tuner.cli.traffic import flood_command
from tuner.cli.usage import hosts as usage
from tuner.engines.versions import distribution_for
from tuner.errors import JobFailed
from tuner.flood.workload import transports_for
from tuner.host.lock import measuring
from tuner.host.programs import rsyslog_version
from tuner.lab import standing
from tuner.lab.bind import require_bindable
from tuner.lab.copy import copied
from tuner.lab.distribution import fetch
from tuner.lab.engine import AttachedEngine
from tuner.lab.lab import lab_of
from tuner.lab.nodes import Nodes, nodes_here, plan_for
from tuner.lab.rsyslogd import start
from tuner.lab.scratch import subfolder
from tuner.measure.pipeline import install
from tuner.profile.model import Profile
from tuner.script.printing import printed


def up(options: usage.LabArguments.Up) -> None:
    """Carry out `rsyslog-tune lab up`."""
    profile = load_or_default(options.profile).profile
    require_bindable(profile, rsyslog_version())
    with measuring("rsyslog-tune lab up"):
        recorded = standing.read()
        if recorded is not None and recorded.alive:
            raise JobFailed(
                f"a lab is already running at {recorded.url}; end it with: rsyslog-tune lab down"
            )
        standing.end(recorded)
        with working("starting the lab"):
            started = _start(profile)
    _show(started, options.output)


def status(options: usage.LabArguments.Status) -> None:
    """Carry out `rsyslog-tune lab status`."""
    lab = standing.read()
    if lab is None or not lab.alive:
        raise JobFailed("no lab is running; start one with: rsyslog-tune lab up")
    _show(lab, options.output)


def down(_: usage.LabArguments.Down) -> None:
    """Carry out `rsyslog-tune lab down`; without a lab it does not need the measurement lock."""
    if not standing.folder().exists():
        result("no lab is running")
        return
    with measuring("rsyslog-tune lab down"):
        standing.end(standing.read())
    result("the lab is down")


def _start(profile: Profile) -> standing.Standing:
    """Start the engine, then an rsyslogd that sends to it, and record both; if a step fails, what
    was started is ended again."""
    fetch(distribution_for(profile.release))
    folder = standing.make_folder()
    with ExitStack() as undo:
        undo.callback(standing.end, None)
        hosts = nodes_here(folder / "engine", profile.lab.nodes)
        nodes = Nodes(plan_for(profile, hosts, dies_with_us=False), hosts)
        undo.callback(nodes.stop)
        lab = lab_of(AttachedEngine(nodes.client(), nodes.plan.heap), folder, standing.RUN_ID)
        fitted = lab.bind(profile, "lab")
        copy = copied(fitted.text, fitted.site, numbers=False)
        install(lab, copy)
        transport = transports_for(fitted.profile)[0]
        work = subfolder(folder, lab.trial_folder("lab").name)
        rsyslogd = start(fitted, printed(copy.block), work, dies_with_us=False)
        undo.callback(rsyslogd.stop)
        first, *others = nodes.running
        started = standing.Standing(
            url=first.url,
            version=nodes.plan.distribution.version,
            heap=nodes.plan.heap,
            syslog=str(transport),
            flood=flood_command(transport),
            index=f"{copy.site.index_prefix}{profile.measured.index.target}",
            engine=standing.process_of(first.pid),
            rsyslogd=standing.process_of(rsyslogd.pid),
            other_nodes=tuple(
                standing.StandingNode(node.url, standing.process_of(node.pid)) for node in others
            ),
        )
        standing.write(started)
        undo.pop_all()
    return started


def _show(lab: standing.Standing, output: OutputFormat) -> None:
    others = "".join(f"          {node.url} (pid {node.process.pid})\n" for node in lab.other_nodes)
    text = (
        f"engine    {lab.url} ({lab.version}, {lab.heap} heap, pid {lab.engine.pid})\n{others}"
        f"rsyslogd  {lab.syslog} (pid {lab.rsyslogd.pid})\n"
        f"index     {lab.index}\n"
        f"try       {lab.flood} --count 100000"
    )
    print_result(output, "lab", {"schema": 2, **vars(lab)}, text)
