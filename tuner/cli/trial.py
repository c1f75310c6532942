"""`rsyslog-tune trial`: a candidate against what runs, on production hosts, by their counters."""

from __future__ import annotations

import random
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.files import new_run_directory, writing_to
from tuner.cli.hosts import change_on, machines_of, require_consent, require_none
from tuner.cli.layout import print_blocks
from tuner.cli.options import duration_s
from tuner.cli.profiles import load
from tuner.cli.usage.hosts import TrialArguments
from tuner.deploy import journal
from tuner.deploy.block import Side
from tuner.deploy.duet import DuetHost, DuetTrial, duet_change, duet_of
from tuner.deploy.host_profile import HostProfile, PlannedProfile, host_profile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.journal import Beginning, Intents, left_intents, new_intents
from tuner.deploy.marks import Marks, marker_for
from tuner.deploy.plan import HostChange
from tuner.deploy.production_trial import AskEngine, EngineUse, ProductionTrial
from tuner.deploy.switchback import Switchback, TrialClaim, TrialDesign, pairs_within
from tuner.deploy.target import RemoteHost
from tuner.deploy.trial_file import TrialFile, lab_figure, read_trial
from tuner.deploy.trial_host import RemoteTrialHost, unfit_for_trial
from tuner.engine.access import client_for
from tuner.engine.client import EngineRefused
from tuner.engine.status import NodeSilent, bulk_work, node_counters
from tuner.errors import (
    BadUsage,
    GuardrailBreached,
    JobFailed,
    Locked,
    Refused,
    TuneError,
    Unreachable,
)
from tuner.flood.marker import Marker
from tuner.modules.input import LOOPBACK
from tuner.profile.base import KeptBase
from tuner.render.form import WHOLE
from tuner.report.trial import noise_line, plan_lines, trial_blocks, trial_json, trial_report
from tuner.schema.units import size_bytes
from tuner.writing import write_whole

_OF_A_DUET = frozenset(
    {
        "profile", "host", "inventory", "duet", "for_", "block", "burn_in", "lossy_restarts",
        "dry_run", "run_dir", "output", "yes",
    }
)  # fmt: skip
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")


class _Clock:
    """The time of this machine."""

    def now(self) -> float:
        return time.time()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True)
class QuietHours:
    """Times of the day in which no host is restarted, as minutes from midnight."""

    spans: tuple[tuple[int, int], ...]

    def wait_s(self, at: float, for_s: float) -> float:
        """How long to wait until so long a time is free of them; 0 where it is."""
        moved = at
        for _ in range(len(self.spans) * 2 + 1):
            ends = [
                end for begin, end in self._around(moved) if begin < moved + for_s and moved < end
            ]
            if not ends:
                return moved - at
            moved = max(ends)
        raise BadUsage(f"--not-at leaves no time of {for_s / 60:.0f} minutes")

    def _around(self, at: float) -> list[tuple[float, float]]:
        """When they are on the day before, on that day, and on the next."""
        midnight = datetime.fromtimestamp(at).replace(hour=0, minute=0, second=0, microsecond=0)
        days = [midnight + timedelta(days=days) for days in (-1, 0, 1)]
        return [
            (
                (day + timedelta(minutes=begin)).timestamp(),
                (day + timedelta(minutes=end + (1440 if end <= begin else 0))).timestamp(),
            )
            for day in days
            for begin, end in self.spans
        ]


def quiet_hours(texts: Sequence[str]) -> QuietHours:
    """Those of texts such as 08:00-09:00; raises BadUsage."""
    spans = []
    for text in texts:
        match = _HOURS.fullmatch(text.strip())
        if match is None:
            raise BadUsage(f"--not-at {text!r} is no time of the day: use 08:00-09:00")
        first, second, third, fourth = map(int, match.groups())
        spans.append((60 * first + second, 60 * third + fourth))
    return QuietHours(tuple(spans))


def trial(options: TrialArguments) -> None:
    """Carry out `rsyslog-tune trial`."""
    if options.stop is not None:
        _stop(options.stop, options.output)
        return
    if options.resume is not None:
        if given := options.given_beside({"resume", "output", "yes"}):
            raise BadUsage(f"--resume goes on as it was planned: remove {', '.join(given)}")
        with writing_to(options.resume, "a trial"):
            begun = read_trial(options.resume)
            loaded = begun.profile.loaded
            profiles = [host_profile(loaded, machine, None, WHOLE) for machine in begun.machines]
            changes = _changes(begun, profiles, lossy=True)
            _carry_out(begun, profiles, changes, options.resume, options.output)
        return
    if options.profile is None:
        raise BadUsage("name the profile to try, such as the best.yaml of a search")
    loaded = load(options.profile)
    machines = machines_of(options.host, options.inventory, options.profile)
    profiles = [host_profile(loaded, machine, None, WHOLE) for machine in machines]
    quiet_hours(options.not_at or ())
    if options.duet and (given := options.given_beside(_OF_A_DUET)):
        many = ", ".join(given)
        raise BadUsage(f"--duet runs both sides at once, with two restarts: remove {many}")
    if options.mark is not None and options.elasticsearch is None:
        raise BadUsage("--mark looks for its messages in an engine: add --elasticsearch URL")
    is_compared = options.elasticsearch is not None and options.mark is None
    if is_compared and len(machines) > 1 and not options.together:
        raise BadUsage(
            "--elasticsearch compares what the engine spends while all hosts have the same side: "
            "add --together, or name one host"
        )
    design = _design(options)
    names = tuple(machine.name for machine in machines)
    begun = TrialFile(
        PlannedProfile.of(loaded),
        machines,
        "",
        Switchback(design, names, lab=None if options.lab is None else lab_figure(options.lab)),
        tuple(options.not_at or ()),
        options.elasticsearch,
        options.mark,
    )
    changes = _changes(begun, profiles, lossy=options.lossy_restarts)
    lines = [*plan_lines(design, names, options.mark)]
    if options.dry_run:
        fields = {"design": design, "hosts": names, "plan": lines}
        print_result(options.output, "trial-plan", fields, "\n".join(lines))
        return
    if not options.yes:
        require_consent("\n".join(lines), "Begin?", "trial --dry-run", options.output)
    with new_run_directory(options.run_dir, f"trial-{loaded.profile.name}") as directory:
        _carry_out(begun, profiles, changes, directory, options.output)


def _design(options: TrialArguments) -> TrialDesign:
    """The trial that fits the time; raises BadUsage where nothing does."""
    design = TrialDesign(
        pairs=0,
        block_s=duration_s(options.block),
        burn_in_s=duration_s(options.burn_in),
        seed=random.SystemRandom().randrange(2**32) if options.seed is None else options.seed,
        is_together=options.together,
        is_duet=options.duet,
    )
    if design.burn_in_s * 2 > design.block_s:
        raise BadUsage(f"--burn-in {options.burn_in} is more than half of --block {options.block}")
    for_s = duration_s(options.for_)
    pairs = pairs_within(for_s, design, options.max_restarts)
    if pairs == 0:
        raise BadUsage(
            f"--for {options.for_} has no time for a pair after {design.alone} blocks of A alone: "
            "use more time, or shorter blocks (--block)"
        )
    return replace(design, pairs=pairs)


def _changes(
    begun: TrialFile, profiles: Sequence[HostProfile], *, lossy: bool
) -> tuple[HostChange, ...]:
    """What B, or the duet, changes on each host; raises Refused, with everything that is in the
    way."""
    design, refusals, changes = begun.record.design, list[TuneError](), list[HostChange]()
    with working(f"asking {', '.join(begun.record.hosts)}"):
        for run in profiles:
            reasons = list(unfit_for_trial(run, design.block_s, design.burn_in_s, lossy=lossy))
            refusals += map(Refused, reasons)
            if reasons:
                continue
            change = change_on(run, take_over=False, refusals=refusals)
            if begun.mark is not None:
                with _kept_back(refusals):
                    _marker(run.machine, _kept(run))
            if not change.diff:
                refusals.append(Refused(f"{run.machine.name} runs the candidate already"))
            elif design.is_duet:
                with _kept_back(refusals):
                    change = duet_change(change, duet_of(_kept(run)))
            changes.append(change)
    require_none(refusals)
    return tuple(changes)


@contextmanager
def _kept_back(refusals: list[TuneError]) -> Iterator[None]:
    """What refuses is added to the others."""
    try:
        yield
    except Refused as refused:
        refusals.append(refused)


def _carry_out(
    begun: TrialFile,
    profiles: Sequence[HostProfile],
    changes: Sequence[HostChange],
    directory: Path,
    output: OutputFormat,
) -> None:
    """Run it, or what is left of it, and say what it showed."""
    with left_intents() as left:
        if left:
            raise Locked(
                f"{left[0].path} is of an apply or a trial that did not end: rsyslog-tune recover "
                "ends it"
            )
    with new_intents() as intents:
        intents.note(Beginning(begun.profile, None))
        begun = replace(begun, run=intents.run)
        begun.write(directory)
        say(f"record: {directory}; rsyslog-tune trial --resume {directory} goes on with it")
        trial_hosts = tuple(
            _trial_host(run, change, intents, begun.record.design)
            for run, change in zip(profiles, changes, strict=True)
        )
        try:
            record = _conducted(begun, trial_hosts, directory)
        finally:
            # What is left of the journal is for hosts that could not be put back.
            if all(host.side is Side.A for host in trial_hosts):
                intents.remove()
    print_blocks(output, trial_json(record), trial_blocks(record))
    # Nothing else is drawn.
    from tuner.report.page import page

    write_whole(directory / "trial.html", page(trial_report(record)))
    say(f"page: {directory / 'trial.html'}")
    if record.claim is TrialClaim.FAILED:
        raise GuardrailBreached("the candidate broke the same guard twice; every host has A")
    if record.claim is TrialClaim.ENDED:
        raise JobFailed(f"the trial was ended: {record.ended}")


def _conducted(begun: TrialFile, hosts: tuple[RemoteTrialHost, ...], directory: Path) -> Switchback:
    """The record at the end, which is written after each step."""
    design, limit = begun.record.design, begun.profile.loaded.profile.guardrails.rss_bytes
    with _engine(begun) as engine, _marks(begun, hosts) as marks:

        def marked(record: Switchback) -> Switchback:
            """With what became of the marks of this session and of those before it."""
            now = () if marks is None else marks.figures()
            return replace(record, marks=(*begun.record.marks, *now))

        def note(record: Switchback) -> None:
            replace(begun, record=marked(record)).write(directory)
            alone = [block for block in record.blocks if block.pair is None]
            is_known = len(alone) == design.alone * len(record.hosts)
            if is_known and not (record.begun or record.ended or design.is_duet):
                say(noise_line(record))

        conducted = ProductionTrial(
            hosts, _Clock(), note, say,
            most_bytes=None if limit is None else size_bytes(limit),
            quiet=quiet_hours(begun.quiet).wait_s,
            engine=engine,
        )  # fmt: skip
        if design.is_duet:
            duets = tuple(host for host in hosts if isinstance(host, DuetHost))
            conducted = DuetTrial(**{**vars(conducted), "hosts": duets})
        record = conducted.run(begun.record)
        if marks is not None:
            marks.await_last()
        record = marked(record)
    replace(begun, record=record).write(directory)
    return record


def _trial_host(
    run: HostProfile, change: HostChange, intents: Intents, design: TrialDesign
) -> RemoteTrialHost:
    kept, target = _kept(run), RemoteHost(run.machine, run.files)
    if design.is_duet:
        return DuetHost(target, change, kept, intents, say, _Clock(), duet=duet_of(kept))
    return RemoteTrialHost(target, change, kept, intents, say, _Clock())


@contextmanager
def _engine(begun: TrialFile) -> Iterator[AskEngine]:
    """What asks the engine for what it has used; raises Unreachable where it does not
    answer at first."""
    url = begun.elasticsearch
    if url is None:
        yield lambda: None
        return
    with closing(client_for(url, begun.profile.loaded.profile)) as client:
        node_counters(client)

        def asked() -> EngineUse | None:
            try:
                cpu_ms, bulks = node_counters(client).cpu_ms, bulk_work(client)
                return EngineUse(cpu_ms / 1000, bulks.operations, bulks.took_ms / 1000)
            except (Unreachable, EngineRefused, NodeSilent) as silent:
                say(f"what the engine used in this block is not known: {silent}")
                return None

        yield asked


@contextmanager
def _marks(begun: TrialFile, hosts: Sequence[RemoteTrialHost]) -> Iterator[Marks | None]:
    """Marks to these hosts, where the trial has any and goes on; no more are sent afterwards."""
    if begun.mark is None or begun.elasticsearch is None or begun.record.is_over:
        yield None
        return
    profile = begun.profile.loaded.profile
    ways = [(host, _marker(host.target.machine, host.kept)) for host in hosts]
    patterns = sorted({host.kept.indices for host in hosts})
    with closing(client_for(begun.elasticsearch, profile)) as client:
        marks = Marks(client, ",".join(patterns), ways, secrets.token_hex(4), begun.mark)
        say("sending the first marks, and looking for them")
        try:
            marks.begin()
            yield marks
        finally:
            marks.close()


def _marker(machine: InventoryHost, kept: KeptBase) -> Marker:
    """A way for marks to a host; raises Refused where it has none, or they cannot be searched."""
    if not kept.index_patterns:
        raise Refused(f"{machine.name}: --mark needs an omelasticsearch, whose indices it searches")
    if not kept.indices:
        raise Refused(
            f"{machine.name}: --mark: events make the whole names of indices, so that nobody knows "
            "where to search"
        )
    address = urlsplit(machine.address).hostname or LOOPBACK
    return marker_for(machine.name, address, kept.written)


def _kept(run: HostProfile) -> KeptBase:
    if run.profile.base is None:
        raise RuntimeError("a trial needs a base, which was asked for before")
    return run.profile.base.kept


def _stop(directory: Path, output: OutputFormat) -> None:
    """Put A back on every host of a trial whose controller is gone."""
    begun = read_trial(directory)
    with writing_to(directory, "a trial"), left_intents() as left:
        mine = [intents for intents in left if intents.run == begun.run]
        ended = journal.recover(mine, begun.machines, say)
    text = "\n".join(ended.lines)
    print_result(output, "trial-stop", {"hosts": dict(ended.hosts.values())}, text)
    ended.require_whole("as before")
