"""Rules about what a base sends to the engine: requests, names of indices, documents, their ids."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.refusals import name_refusal
from tuner.lint.kept_rule import AskedBase, Remark, of_base
from tuner.modules.omelasticsearch import DEFAULT_INDEX
from tuner.modules.refused_bulks import refuses_type, sends_type
from tuner.rule import Rank
from tuner.script.never_json import is_for_lines, never_json
from tuner.script.script import OFF, ScriptObject, ScriptPosition
from tuner.script.template import TemplatePiece, TemplateProperty, template_of

_BULK = 'type="omelasticsearch" searchType="" bulkmode="on"'
_ACTION = f"action({_BULK})"


@of_base(
    "RT408",
    why="F15: up to 8.2508 searchType is events unless it is set empty, and Elasticsearch 8 and "
    "OpenSearch 2 refuse the whole bulk: not a single event arrives.",
    source="rsyslog issue 4884; rsyslog plugins/omelasticsearch",
    bad=('action(type="omelasticsearch" bulkmode="on")',),
    good=(_ACTION,),
)
def refused_type(asked: AskedBase) -> Iterator[Remark]:
    """Bulks that the engine refuses for their `_type`."""
    release = asked.release
    engine, (major, _) = release.engine, release.engine_version
    for address, one in asked.engine_actions if refuses_type(engine, major) else ():
        kind, text = one.get("searchType"), one.text("searchType")
        is_known = kind is None or text is not None
        if is_known and sends_type(release.rsyslog_number, text, one.text("esVersion.major")):
            yield Remark(
                asked.place(address, "searchType"),
                f"{address}: rsyslog {release.rsyslog} sends _type, and {engine.value} {major} "
                'refuses every bulk with it, so all events are lost: write searchType="", or name '
                "the engine that you have in release",
            )


@of_base(
    "RT409",
    why="bulkmode is off unless it is set: a worker then waits for the engine's answer to every "
    "single event. What the engine refuses is an error of the action then; in a bulk it is "
    "one of the document, so set errorfile or retryfailures with it.",
    source="rsyslog's manual: omelasticsearch; about 700 events per second seen on 8.2302",
    bad=('action(type="omelasticsearch" searchType="")',),
    good=(_ACTION,),
)
def single_requests(asked: AskedBase) -> Iterator[Remark]:
    """A request for each event."""
    for address, one in asked.engine_actions:
        given = one.get("bulkmode")
        if given is None or (given.text or "on").lower() in OFF:
            yield Remark(
                asked.place(address, "bulkmode"),
                f"{address}: without bulkmode every event is a request of its own, a few hundred a "
                "second, and nothing that is searched makes up for it: write "
                f'bulkmode="on", or changes: {{{address}.bulkmode: "on"}}',
            )


_DATED = (
    'template(name="index" type="string" string="logs-%$year%.%$month%.%$day%")\n'
    f'action({_BULK} searchIndex="index" dynSearchIndex="on")'
)


@of_base(
    "RT410",
    why="An engine makes no index of a name with capitals, with a blank or one of "
    '\\ / * ? " < > | , # : in it, with _ - or + at its start, or of more than 255 bytes. It '
    "refuses every document for it, and rsyslog counts them as delivered.",
    source="Elasticsearch, MetadataCreateIndexService.validateIndexOrAliasName",
    bad=(
        f'action({_BULK} searchIndex="syslog-%$YEAR%")',
        f'action({_BULK} searchIndex="Logs")',
        'template(name="index" type="string" string="Logs-%$year%")\n'
        f'action({_BULK} searchIndex="index" dynSearchIndex="on")',
        'template(name="index" type="string" string="logs-%timereported:::date-rfc3339%")\n'
        f'action({_BULK} searchIndex="index" dynSearchIndex="on")',
    ),
    good=(
        _ACTION,
        f'action({_BULK} searchIndex="logs-2026.11")',
        _DATED,
        _DATED.replace("%$year%.%$month%.%$day%", "%timereported:1:10:date-rfc3339%"),
    ),
    rank=Rank.ALL_LOST,
)
def refused_name(asked: AskedBase) -> Iterator[Remark]:
    """Names that the engine refuses whatever the event."""
    for address, one in asked.engine_actions:
        name = _static_name(one)
        pieces = _index_pieces(asked, one)
        plainest = name if name is not None else _plainest(pieces)
        refusal = None if plainest is None else name_refusal(plainest)
        if refusal is not None:
            shown = f"Invalid index name [{plainest}], {refusal}"
            yield Remark(
                asked.place(address, "searchIndex"),
                f"{address}: the engine refuses every document ({shown}), and rsyslog counts them "
                f"as delivered: all events are lost; {_way_out(name)}",
            )


@of_base(
    "RT419",
    why="searchIndex takes no %properties% without dynSearchIndex: an engine makes an index of "
    "that very name where it has no capitals, and everything goes into it.",
    source="rsyslog's manual: omelasticsearch; seen on Elasticsearch 8.19",
    bad=(f'action({_BULK} searchIndex="logs-%$year%")',),
    good=(_ACTION, f'action({_BULK} searchIndex="logs-100%")', _DATED),
)
def literal_name(asked: AskedBase) -> Iterator[Remark]:
    """Names that were meant as templates, and are taken as they are."""
    for address, one in asked.engine_actions:
        name = _static_name(one)
        if name is not None and name.count("%") > 1 and name_refusal(name) is None:
            yield Remark(
                asked.place(address, "searchIndex"),
                f"{address}: all documents go into one index that is really called {name}: "
                f"{_way_out(name)}",
            )


def _way_out(name: str | None) -> str:
    if name is not None and "%" in name:
        return (
            "searchIndex takes no %properties%: write them in a template, and name that one in "
            'searchIndex, with dynSearchIndex="on"'
        )
    return "use small letters, digits, and . _ - within the name"


def _static_name(one: ScriptObject) -> str | None:
    """The name that is the same for every event; None where a template makes it, or it is known
    only when rsyslogd starts."""
    if one.is_on("dynSearchIndex"):
        return None
    given = one.get("searchIndex")
    return DEFAULT_INDEX if given is None else given.text


def _index_pieces(asked: AskedBase, one: ScriptObject) -> tuple[TemplatePiece, ...]:
    """What the name is made of where a template makes it."""
    found = asked.template(one.text("searchIndex")) if one.is_on("dynSearchIndex") else None
    return () if found is None else _pieces(found)


def _pieces(template: ScriptObject) -> tuple[TemplatePiece, ...]:
    read = template_of(template)
    return () if read is None else read.pieces


# What senders choose: words, which may have capitals, and texts, which may have anything.
_WORDS = frozenset(
    {"hostname", "source", "fromhost", "programname", "app-name", "msgid", "procid"}
)  # fmt: skip
_TEXTS = frozenset({"syslogtag", "msg", "rawmsg", "rawmsg-after-pri"})
_CLOCKS = frozenset({"timereported", "timestamp", "timegenerated"})
_DATES = {
    "rfc3339": "2026-11-28T10:20:30.123456+00:00", "mysql": "20261128102030",
    "pgsql": "2026-11-28 10:20:30", "unixtimestamp": "1795861230", "year": "2026", "month": "11",
    "day": "28", "hour": "10", "minute": "20", "second": "30", "wday": "6", "week": "48",
    "ordinal": "332", "subseconds": "123456", "tzoffshour": "00", "tzoffsmin": "00",
    "wdayname": "Sat", "utc": "",
}  # fmt: skip
_DATE = "Nov 28 10:20:30"


def _plainest(pieces: tuple[TemplatePiece, ...]) -> str | None:
    """The name for an event whose own values an index may be called; None for a template of another
    kind."""
    texts = [_plainest_text(one) for one in pieces]
    return "".join(texts) if texts else None


def _plainest_text(piece: TemplatePiece) -> str:
    if not isinstance(piece, TemplateProperty):
        return piece if isinstance(piece, str) else piece.text
    options, text = piece.options, "1"
    if piece.lowered in _CLOCKS:
        text = _DATES.get(options.get("dateformat", "").lower(), _DATE)
    if any(name.startswith(("regex.", "field.")) or name == "fixedwidth" for name in options):
        return "1"
    first, last = options.get("position.from", "1"), options.get("position.to", "0")
    if first.isdecimal() and last.isdecimal() and "position.relativetoend" not in options:
        text = text[max(0, int(first) - 1) : int(last) or None]
    case = options.get("caseconversion", "").lower()
    return text.lower() if case == "lower" else text.upper() if case == "upper" else text


_BY_PROGRAM = (
    'template(name="index" type="list") {{ constant(value="logs-") property(name="{0}"{1}) }}\n'
    f'action({_BULK} searchIndex="index" dynSearchIndex="on")'
)


@of_base(
    "RT411",
    why="A program such as CRON, or a host that is written with capitals, gives a name of an index "
    "that the engine refuses, and rsyslog counts the documents as delivered.",
    source="Elasticsearch, MetadataCreateIndexService.validateIndexOrAliasName",
    bad=(
        _BY_PROGRAM.format("programname", ""),
        _BY_PROGRAM.format("hostname", ""),
        _BY_PROGRAM.format("syslogtag", ' caseConversion="lower"'),
    ),
    good=(_BY_PROGRAM.format("programname", ' caseConversion="lower"'), _DATED, _ACTION),
)
def name_of_events(asked: AskedBase) -> Iterator[Remark]:
    """Names that some events make such that the engine refuses them."""
    for address, one in asked.engine_actions:
        pieces = _index_pieces(asked, one)
        plainest = _plainest(pieces)
        if plainest is None or name_refusal(plainest) is not None:
            continue
        words = _unfit(pieces, _WORDS)
        texts = _unfit(pieces, _TEXTS)
        if not (words or texts):
            continue
        what = f"{' or '.join(words)} has capitals" if words else ""
        what += " or whose " if words and texts else ""
        what += f"{' or '.join(texts)} has a blank, a colon, a capital or the like" if texts else ""
        way = 'caseConversion="lower" in the template, or :::lowercase, makes small letters'
        if texts:
            way = "take another property, such as programname in small letters"
        yield Remark(
            asked.place(address, "searchIndex"),
            f"{address}: an event whose {what} gives a name of an index that the engine refuses, "
            f"and is lost: {way}",
        )


def _unfit(pieces: tuple[TemplatePiece, ...], names: frozenset[str]) -> list[str]:
    """The properties of a name among these whose values may not stand in it."""
    found = (one for one in pieces if isinstance(one, TemplateProperty) and one.lowered in names)
    return list(
        dict.fromkeys(
            one.lowered
            for one in found
            if names is _TEXTS or one.options.get("caseconversion", "").lower() != "lower"
        )
    )


_HOST = 'property(name="hostname" format="jsonf" outname="host")'
_AROUND = 'constant(value="{{") {0} constant(value="{1}")'
_DOCUMENT = 'template(name="doc" type="list"{0}) {{ {1} }}\n' + f'action({_BULK} template="doc")'


@of_base(
    "RT412",
    why="The engine refuses what is no JSON object, or names a field twice, and rsyslog counts the "
    'documents as delivered. format="jsonf" writes the name of the field too: a name before it, '
    "by hand, is one too many.",
    source="rsyslog's manual: templates; seen on Elasticsearch 8.19",
    bad=(
        _DOCUMENT.format("", _AROUND.format(f'constant(value="\\"host\\":") {_HOST}', "}")),
        _DOCUMENT.format("", _AROUND.format(_HOST, "")),
        _DOCUMENT.format("", _AROUND.format(f'{_HOST} constant(value=",") {_HOST}', "}")),
        f'action({_BULK} template="RSYSLOG_FileFormat")',
    ),
    good=(
        _ACTION,
        _DOCUMENT.format("", _AROUND.format(_HOST, "}")),
        _DOCUMENT.format(' option.jsonf="on"', _HOST),
        _DOCUMENT.format("", 'property(name="$!all-json")'),
        'template(name="doc" type="string" string="{\\"m\\":\\"%msg:::json%\\"}")\n'
        f'action({_BULK} template="doc")',
    ),
    rank=Rank.ALL_LOST,
)
def no_json(asked: AskedBase) -> Iterator[Remark]:
    """Templates of which no event is a JSON object."""
    for address, one in asked.engine_actions:
        name = one.text("template") or ""
        found = asked.template(name)
        broken = None if found is None else never_json(found)
        said = None
        if found is None and is_for_lines(name):
            said = f"{name} writes lines of text"
        elif broken is not None:
            said = f"where each value is 1, it writes {broken[0][:120]}: {broken[1]}"
        if said is not None:
            yield Remark(
                asked.place(address, "template"),
                f"{address}: what its template writes is never a JSON object ({said}), so the "
                "engine refuses every document, and rsyslog counts them as delivered: all events "
                "are lost",
            )


# What many events have alike; several that come at once have the time alike, too.
_SHARED = frozenset(
    {
        "syslogtag", "programname", "app-name", "hostname", "source", "fromhost", "fromhost-ip",
        "procid", "msgid", "pri", "pri-text", "syslogfacility", "syslogfacility-text",
        "syslogseverity", "syslogseverity-text", "syslogpriority", "syslogpriority-text",
        "inputname", *_CLOCKS,
    }
)  # fmt: skip
_WITH_ID = (
    'template(name="id" type="string" string="{0}")\n'
    f'action({_BULK} bulkid="id" dynBulkId="on"{{1}})'
)


@of_base(
    "RT414",
    why="The engine keeps one document of each id: a later one takes the place of the one before, "
    'and with writeOperation="create" it is refused.',
    source="Elasticsearch, bulk API; rsyslog plugins/omelasticsearch",
    bad=(
        _WITH_ID.format("%syslogtag%", ""),
        _WITH_ID.format("%hostname%-%timereported:::date-rfc3339%", ' writeOperation="create"'),
        f'action({_BULK} bulkid="id")',
    ),
    good=(_WITH_ID.format("%uuid%", ""), _WITH_ID.format("%hostname%-%$!id%", ""), _ACTION),
)
def same_ids(asked: AskedBase) -> Iterator[Remark]:
    """Ids that several events share."""
    for address, one in asked.engine_actions:
        given = one.get("bulkid")
        if given is None or given.text is None:
            continue
        found = asked.template(given.text) if one.is_on("dynBulkId") else None
        names = [] if found is None else list(_shared(_pieces(found)))
        if one.is_on("dynBulkId") and not names:
            continue
        last = "first" if (one.text("writeOperation") or "").lower() == "create" else "last"
        who = f"events with the same {' and '.join(names)} have one id"
        way = "the property uuid in the template for bulkid, or no bulkid"
        if not names:
            who = f"all events have the same id, {given.text}"
            way = 'dynBulkId="on" with the name of a template in bulkid, or no bulkid'
        yield Remark(
            asked.place(address, "bulkid"),
            f"{address}: {who}, and of each id the engine keeps the {last} document alone: the "
            f"others are lost; use {way}",
        )


def _shared(pieces: tuple[TemplatePiece, ...]) -> Iterator[str]:
    """The properties of an id where all of them are such that events share."""
    names = [one.lowered for one in pieces if isinstance(one, TemplateProperty)]
    if all(name in _SHARED for name in names):
        yield from dict.fromkeys(names)


@of_base(
    "RT418",
    why="An engine makes an index from the template of which a pattern matches its name: settings "
    "of another template change nothing, so none of them is searched.",
    source="Elasticsearch, index templates",
    bad=(),
    good=(_ACTION,),
)
def unused_template(asked: AskedBase) -> Iterator[Remark]:
    """A template of the profile that is for none of the indices."""
    given, names = asked.kept.given, asked.kept.index_names
    if given is not None and names is not None and not any(map(given.is_for, names)):
        patterns, indices = ", ".join(given.patterns), ", ".join(sorted(names))
        yield Remark(
            ScriptPosition(given.file, 1, 1),
            f"the index template is for {patterns}, and none of the indices ({indices}) matches: "
            "its mappings and settings apply to nothing, so none of them is searched",
        )
