"""Learning what traffic is like from messages of it.

Messages are grouped by Drain (He et al., "Drain: An Online Log Parsing Approach with Fixed Depth
Tree", ICWS 2017); what differs within a group becomes a blank, with its kind, lengths and variety.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from drain3.drain import Drain

from tuner.reading import table
from tuner.schema.scalars import priority_name
from tuner.traffic.records import CONTROL, LONGEST_TEXT, LogRecord
from tuner.traffic.sample import Blank, Choice, MessageTemplate, Part, TrafficSample, written
from tuner.traffic.words import StandIns

_T = TypeVar("_T")

MOST_MESSAGES = 20_000
MOST_TEMPLATES = 500
# Of more, so many runs of neighbours.
_RUNS = 40
_MOST_HOSTS = 200
_LONGEST_HOST = 255
_NOT_IN_HEADS = re.compile(r"[^!-~]")
_MOST_CHOICES = 8
# More values than this share of their number are taken for another one each time.
_FRESH = 0.5
# More different texts than this share of their number are taken for another one each time.
_NEW = 0.9
# So few digits between blanks say nothing of a source: 1.1 of HTTP, a status.
_PLAIN_DIGITS = 3
_QUANTILES = 4

_WHOLE = "|".join(
    f"(?P<{kind}>{pattern})" for kind, pattern in table("traffic/values.toml").items()
)
# What messages are compared by: values, what stands between blanks and brackets, and those.
_CHUNK = re.compile(
    _WHOLE + r"""|(?P<chunk>[^\s"'=,;()\[\]{}<>|&?\x00]+)|(?P<space>\s+)|(?P<other>.)""", re.DOTALL
)
# What a chunk consists of; letters and then digits, as eth0, are two pieces.
_MIXED = r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])(?![A-Za-z]+\d+(?![A-Za-z0-9]))[A-Za-z0-9]{2,}"
_PIECE = re.compile(
    rf"{_WHOLE}|(?P<mixed>{_MIXED})|(?P<digits>\d+)|(?P<word>[^\W\d_]+)|(?P<other>.)", re.DOTALL
)
# Between the structured data of a message and its text.
_BETWEEN = "\x00"


class _Token(NamedTuple):
    kind: str
    text: str
    blanks: str = ""
    """What stands before it."""

    @property
    def shape(self) -> str:
        """What it looks like to Drain: a value as its kind, all else as it is."""
        is_value = self.kind not in {"chunk", "other"} or any(map(str.isdigit, self.text))
        return f"{'_' if self.blanks else ''}{self.kind if is_value else self.text}"


def _chunks(text: str) -> list[_Token]:
    tokens, blanks = [], ""
    for match in _CHUNK.finditer(text):
        if match.lastgroup == "space":
            blanks = match[0]
        else:
            tokens.append(_Token(str(match.lastgroup), match[0], blanks))
            blanks = ""
    return tokens


def _pieces(token: _Token) -> tuple[_Token, ...]:
    if token.kind != "chunk":
        return (token,)
    return tuple(_Token(str(match.lastgroup), match[0]) for match in _PIECE.finditer(token.text))


class _Alike(NamedTuple):
    """Messages of one kind."""

    records: list[LogRecord]
    tokens: list[list[_Token]]


def learnt(
    records: Sequence[LogRecord], words_kept: Iterable[str], *, verbatim: bool
) -> TrafficSample:
    """What messages are like, at most 20,000 of them, in runs from all over.

    Words of the source that are no words of the trade nor in `words_kept` give way to others of
    the same length, unless it is to be `verbatim`; names of hosts and programs too.
    """
    picked = [_bounded(record) for record in _picked(records)]
    stand_ins = StandIns(words_kept, verbatim=verbatim)
    order = _grouped(picked)
    groups = {id(group): group for group in order}.values()
    largest = sorted(groups, key=lambda group: -len(group.records))[:MOST_TEMPLATES]
    templates = tuple(_template(group, stand_ins) for group in largest)
    hosts = Counter(record.host for record in picked if record.host).most_common(_MOST_HOSTS)
    seconds = Counter(int(record.second) for record in records if record.second is not None)
    lasts = max(seconds) - min(seconds) + 1 if seconds else 0
    return TrafficSample(
        messages=len(picked),
        mean_bytes=sum(len(record.text.encode()) for record in picked) / len(picked),
        format=_most(record.format for record in picked),
        stays=_stays(order),
        mean_per_second=round(seconds.total() / lasts, 3) if lasts else None,
        peak_per_second=max(seconds.values()) if lasts else None,
        hosts={stand_ins.host(name, number): times for number, (name, times) in enumerate(hosts, 1)}
        or None,
        templates=templates,
    )


def _picked(records: Sequence[LogRecord]) -> Sequence[LogRecord]:
    if len(records) <= MOST_MESSAGES:
        return records
    length, step = MOST_MESSAGES // _RUNS, len(records) // _RUNS
    return [record for run in range(_RUNS) for record in records[run * step : run * step + length]]


def _stays(order: Sequence[_Alike]) -> float:
    """How much more often than by chance a message is of the group of the one before it."""
    same = sum(group is following for group, following in pairwise(order)) / max(1, len(order) - 1)
    chance = sum((times / len(order)) ** 2 for times in Counter(map(id, order)).values())
    return round(max(0.0, (same - chance) / (1 - chance)), 2) if chance < 1 else 0.0


def _bounded(record: LogRecord) -> LogRecord:
    """Without control characters, as long as messages may be, and names of what heads may have."""
    return record._replace(
        text=CONTROL.sub(" ", record.text[:LONGEST_TEXT]).rstrip(),
        data=CONTROL.sub(" ", record.data),
        host=_NOT_IN_HEADS.sub("-", record.host[:_LONGEST_HOST]),
        program=_NOT_IN_HEADS.sub("-", record.program),
        msgid=_NOT_IN_HEADS.sub("-", record.msgid),
    )


def _grouped(records: Iterable[LogRecord]) -> list[_Alike]:
    """The group of each message: by program, and what Drain takes for one event."""
    order: list[_Alike] = []
    miners: dict[str, Drain] = {}
    groups: dict[tuple[str, str, int], _Alike] = defaultdict(lambda: _Alike([], []))
    for record in records:
        has_data = record.data != "-"
        tokens = _chunks(f"{record.data}{_BETWEEN}{record.text}" if has_data else record.text)
        miner = miners.setdefault(record.program, Drain(depth=5, sim_th=0.5, max_children=100))
        cluster, _ = miner.add_log_message(" ".join(token.shape for token in tokens))
        group = groups[record.program, record.msgid, cluster.cluster_id]
        group.records.append(record)
        group.tokens.append(tokens)
        order.append(group)
    return order


def _template(group: _Alike, stand_ins: StandIns) -> MessageTemplate:
    first = group.records[0]
    parts: list[Part] = []
    for column in zip(*group.tokens, strict=True):
        parts += [_most(token.blanks for token in column), *_parts(column, stand_ins)]
    priorities = [record.priority for record in group.records if record.priority is not None]
    different = len({record.text for record in group.records})
    data, between, text = written(_merged(parts)).partition(_BETWEEN)
    return MessageTemplate(
        times=len(group.records),
        variants=None if different > _NEW * len(group.records) else different,
        program=stand_ins.program(first.program)[:48],
        pid=2 * sum(record.pid for record in group.records) > len(group.records),
        priorities=dict(Counter(map(priority_name, priorities)).most_common()) or None,
        msgid=stand_ins.program(first.msgid)[:32],
        data=data if between else "-",
        text=text if between else data,
    )


def _merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return tuple(merged)


def _most(values: Iterable[_T]) -> _T:
    return Counter(values).most_common(1)[0][0]


def _parts(column: Sequence[_Token], stand_ins: StandIns) -> Iterator[Part]:
    """What stands at a place, piece by piece, in the outline that stands for its values."""
    split = [_pieces(token) for token in column]
    alike = _representative([(tuple(map(_outline, pieces)), pieces) for pieces in split])
    columns = list(zip(*alike, strict=True))
    same = "".join(
        pieces[0].text for pieces in columns if len({piece.text for piece in pieces}) == 1
    )
    is_plain = sum(map(str.isdigit, same)) <= _PLAIN_DIGITS
    for pieces in columns:
        yield _part(pieces, stand_ins, is_plain)


def _representative(
    split: Sequence[tuple[tuple[str, ...], tuple[_Token, ...]]],
) -> list[tuple[_Token, ...]]:
    """The values of one outline: of those that are half as frequent as the most frequent one, that
    whose values are about as long as all are in the mean."""
    by_outline: dict[tuple[str, ...], list[tuple[_Token, ...]]] = defaultdict(list)
    for outline, pieces in split:
        by_outline[outline].append(pieces)
    most = max(map(len, by_outline.values()))
    mean = _mean_length([pieces for _, pieces in split])
    frequent = [values for values in by_outline.values() if 2 * len(values) >= most]
    return min(frequent, key=lambda values: abs(_mean_length(values) - mean))


def _mean_length(values: Sequence[tuple[_Token, ...]]) -> float:
    return sum(len(piece.text) for pieces in values for piece in pieces) / len(values)


def _outline(token: _Token) -> str:
    return token.text if token.kind == "other" else token.kind


def _part(column: Sequence[_Token], stand_ins: StandIns, is_plain: bool) -> Part:
    """What stands at a place of a template: a constant, one of a few words, or a blank."""
    values = Counter(token.text for token in column)
    token = column[0]
    says_little = token.kind in {"word", "other"} or (
        is_plain if token.kind == "digits" else stand_ins.may_stay(token.text)
    )
    if len(values) == 1 and (says_little or stand_ins.verbatim):
        return stand_ins.text(token.text)
    few = len(values) <= min(_MOST_CHOICES, max(1, len(column) // 2))
    kinds = {token.kind for token in column}
    if few and kinds == {"word"} and all(map(stand_ins.may_stay, values)):
        return Choice(tuple(values.most_common()))
    return _blank(column, values)


def _blank(column: Sequence[_Token], values: Counter[str]) -> Blank:
    kind = _kind(column)
    seen = len(column)
    lengths: tuple[int, ...] = ()
    if kind in _OF_LENGTHS:
        ordered = sorted(len(token.text) for token in column)
        places = [(2 * quantile + 1) * seen // (2 * _QUANTILES) for quantile in range(_QUANTILES)]
        lengths = tuple(ordered[place] for place in places)
        lengths = lengths[:1] if len(set(lengths)) == 1 else lengths
    if seen > 1 and len(values) > _FRESH * seen:
        return Blank(kind, lengths)
    share = values.most_common(1)[0][1] / seen
    is_notable = len(values) > 1 and share > 2 / len(values)
    return Blank(kind, lengths, len(values), round(share, 2) if is_notable else 0.0)


_OF_LENGTHS = frozenset(
    {"word", "Word", "WORD", "digits", "hex", "HEX", "mixed", "text", "time", "clock"}
)


def _kind(column: Sequence[_Token]) -> str:
    """What all values of a place are, or what most of them can be written as."""
    texts = [token.text for token in column]
    kinds = {token.kind for token in column}
    if kinds <= {"mixed", "digits", "word"} and "mixed" in kinds:
        hex_digits = all(re.fullmatch(r"[0-9a-f]+", text) for text in texts)
        capitals = all(re.fullmatch(r"[0-9A-F]+", text) for text in texts)
        return "hex" if hex_digits else "HEX" if capitals else "mixed"
    if len(kinds) > 1 or kinds == {"other"}:
        return "text" if any(" " in text for text in texts) else "mixed"
    (kind,) = kinds
    if kind != "word":
        return kind
    if all(text.isupper() for text in texts):
        return "WORD"
    return "Word" if 2 * sum(text[:1].isupper() for text in texts) > len(texts) else "word"
