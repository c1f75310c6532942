"""`rsyslog-tune diagnose`: finds why a production rsyslogd loses or delays events, from the
counters that impstats writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.cli.console import say, say_when_slow, working
from tuner.cli.layout import print_blocks
from tuner.cli.options import duration_s
from tuner.cli.usage.hosts import DiagnoseArguments, FailOn
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import diagnose as diagnose_courses
from tuner.diagnose.diagnosis import traffic_of, workload_changes, worst
from tuner.diagnose.files import in_order, last_written, lines_of
from tuner.diagnose.finding import EventEffect
from tuner.diagnose.inputs import KernelCounts
from tuner.diagnose.settings import Settings, base_of_profile, of_base, of_profile
from tuner.errors import BadUsage, DifferencesFound, JobFailed
from tuner.modules.stats_rounds import Numbered, StatsRound, Unreadable, UnreadLine, read_rounds
from tuner.report.diagnosis import (
    FilesDiagnosis,
    UnreadLines,
    diagnosis_blocks,
    diagnosis_json,
    diagnosis_report,
)
from tuner.schema.numerals import counted
from tuner.script.configuration import configuration, require_read
from tuner.script.objects import Base, base_of
from tuner.writing import write_whole

if TYPE_CHECKING:
    from tuner.profile.model import Profile

# The number of unread lines, for each reason, whose places are reported.
_MOST_PLACES = 20
# The clock of another host may be ahead of ours.
_A_DAY = timedelta(days=1)

# The least grave effect of a finding that makes the command exit with 2.
_LEAST_GRAVE = {
    FailOn.LOST: EventEffect.LOST,
    FailOn.LATE: EventEffect.LATE,
    FailOn.ANY: EventEffect.AT_RISK,
}


def diagnose(options: DiagnoseArguments) -> None:
    """Carry out `rsyslog-tune diagnose`."""
    if options.profile is not None and options.conf is not None:
        raise BadUsage("--profile and --conf cannot be combined: name one of them")
    if options.refused:
        _diagnose_refused(options)
        return
    _require_sources(options)
    profile = None if options.profile is None else _profile(options.profile)
    diagnosis = _diagnosed(options, profile, _settings(profile, options.conf))
    if not diagnosis.hosts:
        raise JobFailed(_no_counters(diagnosis))
    print_blocks(options.output, diagnosis_json(diagnosis), diagnosis_blocks(diagnosis))
    if options.page is not None:
        # Imported here because only a page needs what it is drawn with.
        from tuner.report.page import page as html

        write_whole(options.page, html(diagnosis_report(diagnosis)))
        say(f"page: {options.page}")
    if options.write_workload is not None:
        _write_workload(options.write_workload, diagnosis)
    gravest = worst(diagnosis.hosts)
    if gravest is not None and gravest.rank <= _LEAST_GRAVE[options.fail_on].rank:
        raise DifferencesFound(counted(len(diagnosis.findings), "finding"))


def _diagnose_refused(options: DiagnoseArguments) -> None:
    """Diagnose refused documents; raises BadUsage for options of counters."""
    # Imported here because counters are read without it.
    from tuner.cli.refused import diagnose_refused
    from tuner.diagnose.refused_origin import RefusedOrigin

    of_counters = {
        "--host": options.host, "--for": options.duration, "--index": options.index,
        "--write-workload": options.write_workload, "--page": options.page,
    }  # fmt: skip
    wrong = [name for name, value in of_counters.items() if value is not None]
    if wrong:
        raise BadUsage(f"{', '.join(wrong)}: not with --refused, which reads no counters")
    if not options.files:
        raise BadUsage("--refused: name the errorfile of the action, or what a retry ruleset wrote")
    base = None if options.conf is None else _base(options.conf)
    if options.profile is not None:
        base = base_of_profile(_profile(options.profile))
    origin = None if base is None else RefusedOrigin(base)
    diagnose_refused(options.files, options, origin, _LEAST_GRAVE[options.fail_on])


def _profile(path: Path) -> Profile:
    """Load a profile.  The import is here because a log of impstats alone does not need it."""
    from tuner.lint.load import load_profile

    return load_profile(path).profile


def _require_sources(options: DiagnoseArguments) -> None:
    """Raise BadUsage if options do not fit together, or name no source of counters."""
    host, index, files = options.host, options.index, options.files
    if options.show_documents or options.cases is not None:
        raise BadUsage("--show-documents and --cases need --refused")
    if host is None and (options.inventory is not None or options.duration is not None):
        raise BadUsage("--inventory and --for need --host")
    if (options.elasticsearch is None) != (index is None):
        raise BadUsage("--elasticsearch and --index belong together: name both")
    if index is not None and (host is not None or files):
        raise BadUsage("--elasticsearch cannot be combined with files or --host")
    if index is None and host is None and not files:
        raise BadUsage("name the files that impstats wrote, a --host, or --elasticsearch")


def _diagnosed(
    options: DiagnoseArguments, profile: Profile | None, settings: Settings
) -> FilesDiagnosis:
    """The diagnosis of the counters that the options name; `profile` has the engine's login."""
    if options.host is not None:
        return _from_host(options.host, options, settings)
    if options.elasticsearch is not None and options.index is not None:
        return _from_index(options.elasticsearch, options.index, profile, settings)
    files = in_order(options.files or [])
    with say_when_slow("reading the counters"):
        return read(files, settings)


def _settings(profile: Profile | None, conf: Path | None) -> Settings:
    """The settings of the named profile or configuration; those of neither are empty."""
    if profile is not None:
        return of_profile(profile)
    return Settings() if conf is None else of_base(_base(conf))


def _base(conf: Path) -> Base:
    """The configuration of a file, with what could not be read said."""
    read_files = configuration(conf)
    require_read(read_files)
    for gap in read_files.refused:
        say(f"not read: {gap}")
    for gap in read_files.unset:
        say(str(gap))
    return base_of(read_files)


@dataclass
class _Tally:
    """The unread lines so far: their number and first places by reason, and remarks on files."""

    counts: Counter[Unreadable] = field(default_factory=Counter)
    first: dict[Unreadable, list[tuple[str, int]]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def take(self, line: UnreadLine) -> None:
        """Count a line, and keep its place if it is among the first."""
        self.counts[line.why] += 1
        places = self.first.setdefault(line.why, [])
        if len(places) < _MOST_PLACES:
            places.append((line.file, line.number))

    def lines(self) -> tuple[UnreadLines, ...]:
        """The unread lines by reason, without those of other programs, which are expected."""
        return tuple(
            UnreadLines(why, count, tuple(self.first[why]))
            for why, count in self.counts.items()
            if why is not Unreadable.OTHER
        )


def read(files: Sequence[Path], settings: Settings) -> FilesDiagnosis:
    """The diagnosis of the counters in these files, read in this order."""
    tally = _Tally()
    lines = chain.from_iterable(lines_of(path, tally.remarks.append) for path in files)
    latest = max(map(last_written, files))
    return _diagnosis(tuple(map(str, files)), lines, latest, tally, settings)


def _diagnosis(
    names: tuple[str, ...],
    lines: Iterable[Numbered],
    latest: datetime,
    tally: _Tally,
    settings: Settings,
    kernel: KernelCounts | None = None,
    *,
    is_since_start: bool = True,
) -> FilesDiagnosis:
    def rounds() -> Iterator[StatsRound]:
        for part in read_rounds(lines, latest):
            if isinstance(part, StatsRound):
                yield part
            else:
                tally.take(part)

    hosts = diagnose_courses(courses(rounds(), is_since_start), settings, kernel)
    return FilesDiagnosis(names, hosts, tally.lines(), tuple(tally.remarks))


def _from_index(url: str, name: str, profile: Profile | None, settings: Settings) -> FilesDiagnosis:
    """The diagnosis of the counters in the documents of an index."""
    # Imported here because files are read without a client of the engine.
    from tuner.engine.access import client_for
    from tuner.engine.client import EngineClient
    from tuner.engine.stats_index import stats_index, stats_lines

    tally, place = _Tally(), f"{url.rstrip('/')}/{name}"
    client = EngineClient(url) if profile is None else client_for(url, profile)
    with working(f"reading {place}"), closing(client):
        index = stats_index(client, name)
        if index.is_part:
            begin = index.begin.astimezone().strftime("%Y-%m-%d %H:%M")
            tally.remarks.append(
                f"{place}: read from {begin} on; a whole day has too many counters"
            )
        lines = stats_lines(client, index)
        return _diagnosis((place,), lines, datetime.now() + _A_DAY, tally, settings)


def _from_host(name: str, options: DiagnoseArguments, settings: Settings) -> FilesDiagnosis:
    """The diagnosis of a host's files of counters and its kernel's counts, with the settings of its
    configuration unless `settings` already has queues."""
    # Imported here because only --host needs these modules.
    from tuner.cli.hosts import machines_of
    from tuner.deploy.host_files import (
        HostFiles,
        counters_file,
        counters_logs,
        grown,
        lines_of_logs,
        udp_ports,
    )
    from tuner.deploy.target import RemoteHost

    files = options.files or []
    if len(files) > 1 or not all(path.is_absolute() for path in files):
        raise BadUsage("on a host, name one file by its whole path, or none")
    for_s = None if options.duration is None else duration_s(options.duration)
    machine = machines_of([name], options.inventory, None)[0]
    tally = _Tally()
    with working(f"reading the counters of {machine.name}"):
        target = RemoteHost(machine)
        read_files = configuration(Path(machine.paths.configuration), HostFiles(target.host))
        base = base_of(read_files)
        path = files[0] if files else Path(counters_file(base) or "")
        if not path.is_absolute():
            raise JobFailed(
                f"{machine.name}: its configuration has impstats write no file: load it with "
                "log.file, or name the file"
            )
        ports = udp_ports(base)
        before = target.kernel_counts(ports)
        if for_s is None:
            logs = counters_logs(target.host, path, tally.remarks.append)
            names = tuple(f"{machine.name}:{log.path}" for log in logs)
            lines = lines_of_logs(target.host, logs, tally.remarks.append)
            kernel = before
        else:
            names = (f"{machine.name}:{path}",)
            lines = iter(tuple(grown(target.host, path, for_s, tally.remarks.append)))
            after = target.kernel_counts(ports)
            kernel = after if before is None or after is None else after.since(before)
        settings = settings if settings.queues else of_base(base)
        return _diagnosis(
            names, lines, datetime.now() + _A_DAY, tally, settings, kernel,
            is_since_start=for_s is None,
        )  # fmt: skip


def _write_workload(path: Path, diagnosis: FilesDiagnosis) -> None:
    """Write the traffic of the diagnosed host into the workload of the profile at `path`; raises
    BadUsage, and BadProfile if the profile is bad or becomes so."""
    if len(diagnosis.hosts) > 1:
        names = ", ".join(host.course.host or "-" for host in diagnosis.hosts[:5])
        raise BadUsage(f"--write-workload: the files are of several hosts ({names}): name one's")
    if diagnosis.hosts[0].course.is_single:
        raise BadUsage("--write-workload: one round alone tells no rate: name a log of several")
    # Imported here because a log of impstats alone does not need it.
    from tuner.lint.load import parse_profile, text_of
    from tuner.profile.edit import edit

    before = text_of(path)
    actions = parse_profile(before, str(path)).profile.actions
    changes = workload_changes(traffic_of(diagnosis.hosts[0]), actions)
    after = edit(before, changes)
    parse_profile(after, str(path))
    write_whole(path, after)
    say(f"wrote {path}: {', '.join(f'{key} {value}' for key, value in changes.items())}")


def _no_counters(diagnosis: FilesDiagnosis) -> str:
    names = ", ".join(diagnosis.files[:3])
    why = "; ".join(
        f"{counted(lines.count, 'line')} {lines.why.value}, first "
        f"{lines.first[0][0]}:{lines.first[0][1]}"
        for lines in diagnosis.unread
    )
    return (
        f"no counters of impstats in {names}{': ' + why if why else ''}; load impstats "
        "with log.file, and name that file"
    )
