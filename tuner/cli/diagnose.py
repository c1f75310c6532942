"""`rsyslog-tune diagnose`: what runs in production, from the counters it writes anyway."""

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
from tuner.diagnose.settings import Settings, of_base, of_profile
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
from tuner.script.objects import base_of
from tuner.writing import write_whole

if TYPE_CHECKING:
    from tuner.profile.model import Profile

_NAMED = 20
# The clock of a host may go ahead.
_A_DAY = timedelta(days=1)


_LEAST = {
    FailOn.LOST: EventEffect.LOST,
    FailOn.LATE: EventEffect.LATE,
    FailOn.ANY: EventEffect.AT_RISK,
}


def diagnose(options: DiagnoseArguments) -> None:
    """Carry out `rsyslog-tune diagnose`."""
    _require_sources(options)
    profile = None if options.profile is None else _profile(options.profile)
    diagnosis = _diagnosed(options, profile, _settings(profile, options.conf))
    if not diagnosis.hosts:
        raise JobFailed(_nothing(diagnosis))
    print_blocks(options.output, diagnosis_json(diagnosis), diagnosis_blocks(diagnosis))
    if options.page is not None:
        # Nothing else is drawn.
        from tuner.report.page import page as html

        write_whole(options.page, html(diagnosis_report(diagnosis)))
        say(f"page: {options.page}")
    if options.write_workload is not None:
        _write_workload(options.write_workload, diagnosis)
    gravest = worst(diagnosis.hosts)
    if gravest is not None and gravest.rank <= _LEAST[options.fail_on].rank:
        raise DifferencesFound(counted(len(diagnosis.findings), "finding"))


def _profile(path: Path) -> Profile:
    """A profile, which is also linted: what an impstats log alone needs nothing of."""
    from tuner.lint.load import load_profile

    return load_profile(path).profile


def _require_sources(options: DiagnoseArguments) -> None:
    """Raise BadUsage where the options do not go together."""
    host, index, files = options.host, options.index, options.files
    if options.profile is not None and options.conf is not None:
        raise BadUsage("--profile and --conf cannot be combined: name one of them")
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
    """What the counters say, with these settings and the login of this profile."""
    if options.host is not None:
        return _from_host(options.host, options, settings)
    if options.elasticsearch is not None and options.index is not None:
        return _from_index(options.elasticsearch, options.index, profile, settings)
    files = in_order(options.files or [])
    with say_when_slow("reading the counters"):
        return read(files, settings)


def _settings(profile: Profile | None, conf: Path | None) -> Settings:
    """The settings that were named."""
    if profile is not None:
        return of_profile(profile)
    if conf is None:
        return Settings()
    read_files = configuration(conf)
    require_read(read_files)
    for gap in read_files.refused:
        say(f"not read: {gap}")
    for gap in read_files.unset:
        say(str(gap))
    return of_base(base_of(read_files))


@dataclass
class _Tally:
    """What was not read so far."""

    counts: Counter[Unreadable] = field(default_factory=Counter)
    first: dict[Unreadable, list[tuple[str, int]]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def take(self, line: UnreadLine) -> None:
        """Count a line, and remember where the first are."""
        self.counts[line.why] += 1
        places = self.first.setdefault(line.why, [])
        if len(places) < _NAMED:
            places.append((line.file, line.number))

    def lines(self) -> tuple[UnreadLines, ...]:
        """All that was counted; lines of other programs are no trouble."""
        return tuple(
            UnreadLines(why, count, tuple(self.first[why]))
            for why, count in self.counts.items()
            if why is not Unreadable.OTHER
        )


def read(files: Sequence[Path], settings: Settings) -> FilesDiagnosis:
    """What the files say, in this order."""
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
    """What the documents of an index say."""
    # Files are read without an engine's client.
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
    """What a host's files of counters say, and its kernel, and its configuration of the settings,
    unless others are named."""
    # Hosts are reached by what others do not need.
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
        first = target.kernel_counts(ports)
        if for_s is None:
            logs = counters_logs(target.host, path, tally.remarks.append)
            names = tuple(f"{machine.name}:{log.path}" for log in logs)
            lines = lines_of_logs(target.host, logs, tally.remarks.append)
            kernel = first
        else:
            names = (f"{machine.name}:{path}",)
            lines = iter(tuple(grown(target.host, path, for_s, tally.remarks.append)))
            last = target.kernel_counts(ports)
            kernel = last if first is None or last is None else last.since(first)
        settings = settings if settings.queues else of_base(base)
        return _diagnosis(
            names, lines, datetime.now() + _A_DAY, tally, settings, kernel,
            is_since_start=for_s is None,
        )  # fmt: skip


def _write_workload(path: Path, diagnosis: FilesDiagnosis) -> None:
    """Put what came in into a profile; raises BadProfile where that does not fit it."""
    if len(diagnosis.hosts) > 1:
        names = ", ".join(host.course.host or "-" for host in diagnosis.hosts[:5])
        raise BadUsage(f"--write-workload: the files are of several hosts ({names}): name one's")
    if diagnosis.hosts[0].course.is_single:
        raise BadUsage("--write-workload: one round alone tells no rate: name a log of several")
    # As for a profile that is named.
    from tuner.lint.load import parse_profile, text_of
    from tuner.profile.edit import edit

    written = text_of(path)
    actions = parse_profile(written, str(path)).profile.actions
    changes = workload_changes(traffic_of(diagnosis.hosts[0]), actions)
    text = edit(written, changes)
    parse_profile(text, str(path))
    write_whole(path, text)
    say(f"wrote {path}: {', '.join(f'{key} {value}' for key, value in changes.items())}")


def _nothing(diagnosis: FilesDiagnosis) -> str:
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
