"""A trial in production, for people and for programs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tuner.deploy.block import Side
from tuner.deploy.switchback import LabFigure, Switchback, TrialBlock, TrialClaim, TrialDesign
from tuner.measure.switchback import AT_THE_END, FEWEST_PAIRS, SwitchbackRatio, pairs_for
from tuner.report.sections import (
    Colour,
    Columns,
    FirstScreen,
    Paragraph,
    PlainBlock,
    Plot,
    Report,
    ReportSection,
    Table,
    bullets,
)
from tuner.schema.numerals import counted, eps, mebibytes, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WANTED = 0.10


def plan_lines(
    design: TrialDesign, hosts: tuple[str, ...], mark: float | None = None
) -> Iterator[str]:
    """What a trial is going to do, a sentence each."""
    names = ", ".join(hosts)
    if design.is_duet:
        yield from _duet_plan(design, names, len(hosts))
        return
    yield (
        f"{counted(design.alone, 'block')} of A alone, then {counted(design.pairs, 'pair')} of A "
        f"and B, each block {seconds(design.block_s)}: {_hours(design.total_s)} in all on {names}"
    )
    yield (
        f"{counted(design.restarts, 'restart')} of rsyslogd on each host; the first "
        f"{seconds(design.burn_in_s)} of a block are not counted"
    )
    yield _BEFORE_A_RESTART
    if design.is_together and len(hosts) > 1:
        yield "all hosts have the same side at one time, and restart one after the other"
    yield (
        f"B comes with an armed way back: a host that hears nothing more has A again "
        f"{seconds(design.block_s + design.margin_s)} after B began"
    )
    yield (
        "a block of B ends at once, and A comes back, at any discard, failure, rejection, "
        "suspension or kernel drop beyond what A had at its worst, and at a queue above 50 % and "
        "above A's highest; twice the same, and B has failed"
    )
    if mark is not None:
        yield (
            f"{mark:g} messages a second go to each host, from the host and program rsyslog-tune; "
            "they stay in the indices"
        )
    if design.pairs < FEWEST_PAIRS:
        yield f"fewer than {FEWEST_PAIRS} pairs can show nothing: give it more time (--for)"


def _duet_plan(design: TrialDesign, names: str, hosts: int) -> Iterator[str]:
    yield (
        f"{counted(design.alone, 'block')} of A alone, then {counted(design.pairs, 'block')} in "
        f"which the action runs twice, as A and as B, each block {seconds(design.block_s)}: "
        f"{_hours(design.total_s)} in all on {names}"
    )
    yield (
        f"{counted(design.restarts, 'restart')} of rsyslogd on each host; while both run there are "
        "twice its connections and its queue's memory, and each event goes to one that is drawn, "
        "so that two events may be sent in another order than they came"
    )
    yield _BEFORE_A_RESTART
    yield (
        "the way back is armed for all of it: a host that hears nothing more has A alone again "
        f"{_hours(design.pairs * design.pair_s + hosts * design.margin_s)} after both began"
    )
    yield (
        "it ends at once, and A alone comes back, at any discard, failure, rejection, suspension "
        "or kernel drop beyond what A alone had at its worst, and at a queue above 50 % and above "
        "A's highest"
    )
    if design.pairs < FEWEST_PAIRS:
        few = f"fewer than {FEWEST_PAIRS} blocks of both can show nothing"
        yield f"{few}: give it more time (--for)"


_BEFORE_A_RESTART = (
    "no host is restarted while more waits in its queues, and is neither on disk nor saved, than "
    "comes in a second; a guard or the way back does not wait for that"
)


def _hours(for_s: float) -> str:
    hours, minutes = divmod(round(for_s / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else seconds(for_s)


def noise_line(record: Switchback) -> str:
    """What the blocks of A alone say of what the trial will show."""
    _, sigma = record.noise
    if math.isnan(sigma):
        return "the blocks of A alone say nothing of the noise: it is judged by the pairs alone"
    will = "nothing" if record.detects is None else f"{record.detects:.0%} and more"
    pairs = pairs_for(_WANTED, sigma)
    wanted = "more than 1,000 pairs" if pairs is None else counted(pairs, "pair")
    return (
        f"pairs of A differ by {sigma:.1%} (standard deviation): {record.design.pairs} pairs show "
        f"{will} in four trials of five; {_WANTED:.0%} takes {wanted}"
    )


def trial_blocks(record: Switchback) -> tuple[PlainBlock, ...]:
    """The claim, what it rests on, what B cost, and the blocks."""
    lines = [*_evidence(record)]
    return (Paragraph(_lead(record), is_lead=True), *bullets(lines), _table(record))


def _lead(record: Switchback) -> str:
    claim, ratio = record.claim, record.ratio
    if claim is TrialClaim.FAILED and record.failed is not None:
        breach = next(b for b in reversed(record.breaches) if b.guard is record.failed)
        return f"{claim.value}: {breach}"
    if claim is TrialClaim.ENDED:
        return f"{claim.value}: {record.ended}"
    if ratio is None:
        return f"{claim.value}: {counted(len(record.differences), 'whole pair')}"
    where = " in the action's threads" if record.design.is_duet else ""
    pairs = counted(ratio.pairs, "block" if record.design.is_duet else "pair")
    shown = f"{_change(ratio)}, {pairs}"
    if claim is TrialClaim.NOT_SHOWN:
        return f"{claim.value}: CPU per event{where} {shown}"
    return f"{claim.value}{where}: {shown}"


def _lab_line(record: Switchback) -> Iterator[str]:
    lab = record.lab
    if lab is None:
        return
    said = f"rsyslogd's CPU per event there {_change(lab)}"
    if record.ratio is None or record.lab_holds is None:
        yield f"the lab: {said}; the hosts show nothing to hold beside it"
        return
    yield f"{record.lab_holds.value}: {said}, here {_change(record.ratio)}"


def _change(ratio: SwitchbackRatio | LabFigure) -> str:
    low, high = (f"{100 * (end - 1):+.1f}" for end in (ratio.low, ratio.high))
    return f"{100 * (ratio.ratio - 1):+.1f} % [{low}, {high}]"


def _evidence(record: Switchback) -> Iterator[str]:
    ratio = record.ratio
    if ratio is not None:
        yield f"evidence: {_basis(record, ratio)}"
        if (
            record.claim in {TrialClaim.LESS, TrialClaim.MORE}
            and record.begun < record.design.pairs
        ):
            yield f"it ended after {record.begun} of {record.design.pairs} pairs: that was enough"
    yield from _lab_line(record)
    if record.claim is TrialClaim.FAILED and ratio is not None:
        yield f"until then: CPU per event {_change(ratio)}"
    for side in Side:
        blocks = [block.figures for block in _compared(record) if block.side is side]
        if blocks:
            rates = [block.per_second for block in blocks]
            yield (
                f"{side.value}: {counted(len(blocks), 'block')}, "
                f"{statistics.median(block.cpu_us for block in blocks):.2f} µs of CPU per event "
                f"(median), {eps(min(rates))} to {eps(max(rates))} events a second, at most "
                f"{max(block.queue_share for block in blocks):.0%} of a queue and "
                f"{mebibytes(max(block.memory_bytes for block in blocks))}, "
                f"{sum(block.discarded for block in blocks):,} events discarded"
            )
    yield from (f"B was ended: {breach}" for breach in record.breaches)
    yield from record.void
    yield from _engine_line(record)
    yield from _restart_line(record)
    yield from _mark_lines(record)
    others = "all other events" if record.marks else "events"
    yield f"{others} are counted by rsyslogd and not identified"


def _basis(record: Switchback, ratio: SwitchbackRatio) -> str:
    if ratio.is_early:
        return "an interval that holds whenever one looks (99 %)"
    student = f"Student's t at {1 - AT_THE_END:.1%}"
    if not record.design.is_duet:
        return f"{student} and the order that was drawn, p {ratio.p:.2g}; the load is taken off"
    return (
        f"{student} over blocks in which both ran, each with half of the events, and the CPU of "
        "their own threads (queues, memory and what was discarded are of rsyslogd as a whole); "
        "what one of them keeps all the time, such as its node of the engine, is not told apart "
        f"from it; p {ratio.p:.2g}"
    )


def _compared(record: Switchback) -> tuple[TrialBlock, ...]:
    """The blocks that have a place beside each other: of a duet those in which both ran, where it
    is the CPU of their own threads that is counted."""
    blocks = record.blocks
    return tuple(b for b in blocks if b.pair is not None or not record.design.is_duet)


def _engine_line(record: Switchback) -> Iterator[str]:
    """What the engine spent, whoever else it worked for."""
    ratio = record.engine_ratio
    if ratio is None:
        if record.engine:
            yield f"engine: fewer than {FEWEST_PAIRS} pairs, which show nothing of it"
        return
    for side in Side:
        blocks = [block for block in record.engine if block.side is side and block.events]
        median = statistics.median(1e6 * block.cpu_s / block.events for block in blocks)
        bulks, events = sum(b.bulks for b in blocks), sum(b.events for b in blocks)
        requests = (
            f", {events / bulks:,.0f} events a bulk request of a shard, which took "
            f"{1e6 * sum(b.bulk_s for b in blocks) / events:,.0f} ms for 1,000 events"
            if bulks
            else ""
        )
        yield f"engine with {side.value}: {median:.2f} µs of CPU per event (median){requests}"
    yield (
        f"engine: CPU per event {_change(ratio)}, {counted(ratio.pairs, 'pair')}, all that its "
        "nodes did; not what the claim is about"
    )


def _mark_lines(record: Switchback) -> Iterator[str]:
    """What became of the marks, the only events that were identified."""
    for marks in record.marks:
        parts = [f"{marks.sent:,} sent", f"{marks.lost:,} not found within a minute"]
        if marks.pending:
            parts.append(f"{marks.pending:,} still looked for when it ended")
        twice = "not counted again" if marks.doubled is None else f"{marks.doubled:,} there twice"
        parts.append(twice)
        if marks.median_s is not None:
            parts.append(
                f"found after {marks.median_s:.1f} s (median; 99 % within {marks.p99_s:.1f} s)"
            )
        if marks.refused:
            parts.append(f"{marks.refused:,} more were not taken")
        yield f"marks with {marks.side.value}: {', '.join(parts)}"


def _restart_line(record: Switchback) -> Iterator[str]:
    """What the restarts cost, as far as it is known."""
    if not record.restarts:
        begun = record.design.restarts if record.design.is_duet else 2 * record.begun
        yield f"{counted(begun, 'restart')} of rsyslogd on each host"
        return
    away_s = [restart.away_s for restart in record.restarts]
    lost = sum(restart.datagrams for restart in record.restarts)
    yield (
        f"{counted(len(away_s), 'restart')} of rsyslogd, which was away for "
        f"{statistics.median(away_s):.1f} s each time (median; at most {max(away_s):.1f} s): "
        f"{counted(lost, 'datagram')} found no socket on the hosts, and at most "
        f"{counted(max(restart.waiting for restart in record.restarts), 'event')} waited when one "
        "began in queues that it emptied"
    )


_HEADER = ("pair", "host", "side", "began", "events/s", "µs/event", "queue", "memory")


def _table(record: Switchback) -> Table:
    blocks = _compared(record)
    first = min((block.begin for block in blocks), default=0.0)
    return Table("Blocks", _HEADER, _rows(blocks, first))


def _rows(blocks: Sequence[TrialBlock], first: float) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            "alone" if block.pair is None else str(block.pair + 1), block.host, block.side.value,
            seconds(block.begin - first), eps(block.figures.per_second),
            f"{block.figures.cpu_us:.2f}", f"{block.figures.queue_share:.0%}",
            mebibytes(block.figures.memory_bytes),
        )
        for block in blocks
    )  # fmt: skip


def trial_report(record: Switchback) -> Report:
    """The same as one page, with a plot of the blocks over time for each host."""
    first = FirstScreen(
        title="A candidate where it runs",
        name="rsyslog-tune trial",
        verdict=_lead(record),
        remarks=(),
        is_improvement=record.claim is TrialClaim.LESS,
        cautions=(),
        about=f"A is what the hosts had, B the candidate; {', '.join(record.hosts)}",
    )
    plots = Columns(tuple((_plot(record, host),) for host in record.hosts))
    return Report(
        first,
        (
            ReportSection("evidence", "What it rests on", tuple(bullets(_evidence(record)))),
            ReportSection("blocks", "Blocks", (plots,)),
        ),
    )


_COLOURS = {Side.A: Colour.WRITTEN.value, Side.B: Colour.BEST.value}
_HEIGHT = 260


def _plot(record: Switchback, host: str) -> Plot:
    """The CPU per event of each block of a host, with the load behind."""
    blocks = [block for block in _compared(record) if block.host == host]
    first = min((block.begin for block in blocks), default=0.0)
    block_s = record.design.block_s

    def paint(figure: Figure) -> None:
        costs = figure.subplots()
        loads = costs.twinx()
        for block in blocks:
            begin = (block.begin - first) / 3600
            end = begin + block_s / 3600
            figures, colour = block.figures, _COLOURS[block.side]
            loads.fill_between(
                [begin, end], 0, figures.per_second, color=Colour.GRID.value, linewidth=0
            )
            costs.plot([begin, end], [figures.cpu_us] * 2, color=colour, linewidth=3)
        costs.set_zorder(loads.get_zorder() + 1)
        costs.patch.set_visible(False)
        costs.set_ylim(0, 1.15 * max((block.figures.cpu_us for block in blocks), default=1.0))
        loads.set_ylim(0, 1.6 * max((block.figures.per_second for block in blocks), default=1.0))
        loads.yaxis.set_major_formatter("{x:,.0f}")
        costs.set_xlabel("hours")
        names = zip(Side, ("A, what runs", "B, the candidate"), strict=True)
        for side, name in names:
            costs.plot([], [], color=_COLOURS[side], linewidth=3, label=name)
        costs.legend(loc="lower left", ncols=2, frameon=False)

    says = "µs of CPU per event (left) of each block; grey: events a second (right)"
    return Plot(f"blocks-{host}", host, says, _HEIGHT, paint, _HEADER, _rows(blocks, first))


def trial_json(record: Switchback) -> Mapping[str, object]:
    """The same as data."""
    return {
        "schema": 1,
        "kind": "trial",
        "claim": record.claim.value,
        "is_duet": record.design.is_duet,
        "ratio": record.ratio,
        "failed": None if record.failed is None else record.failed.value,
        "ended": record.ended,
        "lab": record.lab,
        "lab_holds": None if record.lab_holds is None else record.lab_holds.value,
        "blocks": record.blocks,
        "breaches": record.breaches,
        "restarts": record.restarts,
        "engine": record.engine,
        "marks": record.marks,
        "engine_ratio": record.engine_ratio,
        "pairs_begun": record.begun,
        "pairs_planned": record.design.pairs,
    }
