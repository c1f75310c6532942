"""`rsyslog-tune diagnose --refused`: why an engine refused documents, from what rsyslog kept of
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

from tuner.cli.cases import seen_from
from tuner.cli.console import say, say_when_slow, working
from tuner.cli.layout import print_blocks
from tuner.cli.usage.hosts import DiagnoseArguments
from tuner.diagnose.files import lines_of
from tuner.diagnose.finding import EventEffect
from tuner.diagnose.refusal import read_refusals
from tuner.diagnose.refused import Refusals, RefusedGroup, grouped
from tuner.diagnose.refused_origin import RefusedOrigin, cases_of
from tuner.engine.client import EngineClient
from tuner.engine.installed import mapper_of
from tuner.errors import BadUsage, DifferencesFound, JobFailed
from tuner.modules.stats_rounds import Numbered
from tuner.profile.edit import written
from tuner.report.refused import (
    RefusedDiagnosis,
    WayOfGroup,
    mapping_of,
    refused_blocks,
    refused_json,
    verdict,
)
from tuner.schema.numerals import counted
from tuner.writing import require_new, require_writable, write_whole

# A line holds a bulk and its answer; the engine takes 100 MB at once.
LONGEST = 64 * 2**20


def diagnose_refused(
    files: Iterable[Path],
    options: DiagnoseArguments,
    origin: RefusedOrigin | None,
    least: EventEffect,
) -> None:
    """Carry out `rsyslog-tune diagnose --refused`; findings less grave than `least` are told and
    change no exit code."""
    if options.cases is not None:
        _require_cases(options.cases, origin)
    remarks: list[str] = []
    names = tuple(map(str, files))
    with say_when_slow("reading what was refused"):
        refused = grouped(read_refusals(_lines(map(Path, names), remarks)))
    is_read = refused.count or refused.twice or refused.stored
    if not is_read and (refused.cut or refused.unread or remarks):
        raise JobFailed(_nothing(names, refused, remarks))
    ways = tuple(_ways(refused, options.elasticsearch, origin))
    made = RefusedDiagnosis(names, refused, ways, tuple(remarks), options.show_documents)
    print_blocks(options.output, refused_json(made), refused_blocks(made))
    if options.cases is not None and origin is not None:
        _write_cases(options.cases, options, refused, origin)
    effects = [group.effect for group in refused.groups]
    if any(effect is not None and effect.rank <= least.rank for effect in effects):
        raise DifferencesFound(verdict(refused).rstrip("."))


def _lines(paths: Iterable[Path], remarks: list[str]) -> Iterator[Numbered]:
    return chain.from_iterable(lines_of(path, remarks.append, LONGEST) for path in paths)


def _nothing(names: tuple[str, ...], refused: Refusals, remarks: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    if not refused.cut and not refused.unread:
        return "; ".join(remarks)
    file, line = refused.first_unread[0]
    return (
        f"no refused document in {shown}: first unread line {file}:{line}; name what "
        "omelasticsearch or omhttp wrote to errorfile, what a retry ruleset wrote of $.omes, or "
        "the engine's log"
    )


def _ways(refused: Refusals, url: str | None, origin: RefusedOrigin | None) -> Iterator[WayOfGroup]:
    mapped = dict[int, str]()
    if url is not None:
        with working(f"asking {url}"):
            mapped = dict(_mapped(refused, url))
    for number, group in enumerate(refused.groups):
        kind, field = group.named.kind, group.named.field
        yield WayOfGroup(
            tuple(origin.places(group)) if origin is not None else (),
            mapping_of(field, kind.mapping) if kind.mapping and field else "",
            mapped.get(number, ""),
        )


def _mapped(refused: Refusals, url: str) -> Iterator[tuple[int, str]]:
    """What mapped the field of each group: an index template, or the first document."""
    with closing(EngineClient(url)) as client:
        for number, group in enumerate(refused.groups):
            if group.named.field and group.indices:
                yield number, _mapped_by(client, group)


def _mapped_by(client: EngineClient, group: RefusedGroup) -> str:
    index, field = group.indices[0], group.named.field
    kind = mapper_of(client, index, field)
    if kind is None:
        return f"no index template of {index} names {field}: the first document decided its type"
    return f"the index template of {index} maps {field} as {kind}"


def _require_cases(path: Path, origin: RefusedOrigin | None) -> None:
    if origin is None:
        raise BadUsage("--cases needs --conf or --profile, whose template made the documents")
    require_new(path)
    require_writable(path)


def _write_cases(
    path: Path, options: DiagnoseArguments, refused: Refusals, origin: RefusedOrigin
) -> None:
    """Write a case for each reason that a change to a template mends, and say how many there
    are."""
    cases = list(cases_of(refused.groups, origin))
    if not cases:
        say(
            f"{path}: not written: a case needs a reason that a template mends, and a document "
            "that shows the message"
        )
        return
    source = options.conf or options.profile or Path()
    kind = "profile" if options.conf is None else "conf"
    write_whole(path, written({kind: seen_from(path, source), "cases": cases}))
    left = len(refused.groups) - len(cases)
    beside = f"; {counted(left, 'reason')} not mended in a template" if left else ""
    verb = "fails" if len(cases) == 1 else "fail"
    say(f"{path}: {counted(len(cases), 'case')} that {verb} until it is mended{beside}")
