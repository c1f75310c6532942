"""Rules about a base: what applies to nothing, what stops others, inputs that lose what they take,
and what is sent to the engine: requests, names of indices, documents, their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tuner.engines.refusals import name_refusal
from tuner.lint.sections import CheckedBase, Placed, Remark, engine_actions, objects_of
from tuner.modules.omelasticsearch import refuses_type, sends_type
from tuner.rule import Complaint, advice, all_lost, loss
from tuner.script.script import (
    OFF,
    ON,
    ScriptObject,
    ScriptPosition,
    module_name,
    not_loaded,
    objects_in,
)
from tuner.script.template import (
    Template,
    TemplateMember,
    TemplatePiece,
    TemplateProperty,
    is_for_lines,
    members_of,
    never_json,
    static_index,
    template_of,
)

if TYPE_CHECKING:
    from tuner.script.legacy import WithoutEffect


@loss("RT408").for_each(engine_actions, "searchType")
def refused_type(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Bulks that the engine refuses for their `_type`."""
    release = base.release
    engine, (major, _) = release.engine, release.engine_version
    kind, text = action.get("searchType"), action.text("searchType")
    is_known = kind is None or text is not None
    is_refused = refuses_type(engine, major) and is_known
    if is_refused and sends_type(release.rsyslog_number, text, action.text("esVersion.major")):
        yield (
            f"rsyslog {release.rsyslog} sends _type, and {engine.value} {major} refuses every bulk "
            'with it, so all events are lost: write searchType="", or name the engine that you '
            "have in release"
        )


@loss("RT409").for_each(engine_actions, "bulkmode")
def single_requests(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """A request for each event."""
    mode = action.get("bulkmode")
    if mode is None or (mode.text or "on").lower() in OFF:
        yield (
            "without bulkmode every event is a request of its own, a few hundred a second, and "
            'nothing that is searched makes up for it: write bulkmode="on", or changes: '
            f'{{{base.kept.changed.address_of(action)}.bulkmode: "on"}}'
        )


@all_lost("RT410").for_each(engine_actions, "searchIndex")
def refused_name(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Names that the engine refuses whatever the event."""
    name = static_index(action)
    plainest = name if name is not None else _plainest(_index_pieces(action, base))
    refusal = None if plainest is None else name_refusal(plainest)
    if refusal is not None:
        yield (
            f"the engine refuses every document (Invalid index name [{plainest}], {refusal}), and "
            f"rsyslog counts them as delivered: all events are lost; {_way_out(name)}"
        )


@loss("RT419").for_each(engine_actions, "searchIndex")
def literal_name(action: ScriptObject, _: CheckedBase) -> Iterator[str]:
    """Names that were meant as templates, and are taken as they are."""
    name = static_index(action)
    if name is not None and name.count("%") > 1 and name_refusal(name) is None:
        yield f"all documents go into one index that is really called {name}: {_way_out(name)}"


def _way_out(name: str | None) -> str:
    if name is not None and "%" in name:
        return (
            "searchIndex takes no %properties%: write them in a template, and name that one in "
            'searchIndex, with dynSearchIndex="on"'
        )
    return "use small letters, digits, and . _ - within the name"


def _index_pieces(action: ScriptObject, base: CheckedBase) -> tuple[TemplatePiece, ...]:
    """What the name is made of where a template makes it."""
    return _pieces(action, "searchIndex", base) if action.is_on("dynSearchIndex") else ()


def _pieces(action: ScriptObject, parameter: str, base: CheckedBase) -> tuple[TemplatePiece, ...]:
    """The pieces of the template that a parameter names."""
    template = _template(action, parameter, base)
    return () if template is None else template.pieces


def _template(action: ScriptObject, parameter: str, base: CheckedBase) -> Template | None:
    """The template that a parameter names; None where it cannot be read."""
    named = base.template(action.text(parameter))
    return None if named is None else template_of(named)


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
    return "".join(map(_plainest_text, pieces)) if pieces else None


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


@loss("RT411").for_each(engine_actions, "searchIndex")
def name_of_events(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Names that some events make such that the engine refuses them."""
    pieces = _index_pieces(action, base)
    plainest = _plainest(pieces)
    words, texts = _unfit(pieces, _WORDS), _unfit(pieces, _TEXTS)
    if plainest is None or name_refusal(plainest) is not None or not (words or texts):
        return
    values = [f"{' or '.join(words)} has capitals"] if words else []
    if texts:
        values.append(f"{' or '.join(texts)} has a blank, a colon, a capital or the like")
    way = 'caseConversion="lower" in the template, or :::lowercase, makes small letters'
    if texts:
        way = "take another property, such as programname in small letters"
    yield (
        f"an event whose {' or whose '.join(values)} gives a name of an index that the engine "
        f"refuses, and is lost: {way}"
    )


def _unfit(pieces: tuple[TemplatePiece, ...], names: frozenset[str]) -> list[str]:
    """The properties of a name among these whose values may not stand in it."""
    unfit = (
        piece.lowered
        for piece in pieces
        if isinstance(piece, TemplateProperty) and piece.lowered in names
        if names is _TEXTS or piece.options.get("caseconversion", "").lower() != "lower"
    )
    return list(dict.fromkeys(unfit))


@all_lost("RT412").for_each(engine_actions, "template")
def no_json(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Templates of which no event is a JSON object."""
    name = action.text("template") or ""
    template = base.template(name)
    fault = None if template is None else never_json(template)
    reason = None
    if template is None and is_for_lines(name):
        reason = f"{name} writes lines of text"
    elif fault is not None:
        reason = f"where each value is 1, it writes {fault[0][:120]}: {fault[1]}"
    if reason is not None:
        yield (
            f"what its template writes is never a JSON object ({reason}), so the engine refuses "
            "every document, and rsyslog counts them as delivered: all events are lost"
        )


_TIME = "@timestamp"
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?")
# What its digits are read as: date fields take milliseconds since 1970.
_AS_MILLISECONDS = {14: "the year 2612", 10: "January 1970"}


@advice("RT427").for_each(engine_actions, "template")
def time_of_documents(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Times that the engine takes and reads as others."""
    for member in _members(action, base):
        text = _plainest(member.pieces)
        if member.name != _TIME or text is None or _is_in_utc(member.pieces):
            continue
        reads = None
        if _WITHOUT_ZONE.fullmatch(text):
            reads = (
                "without a zone, which the engine reads as UTC: it is off by the zone of the host"
            )
        elif text.isdecimal() and len(text) in _AS_MILLISECONDS:
            reads = f"as {text}, milliseconds for the engine: {_AS_MILLISECONDS[len(text)]}"
        if reads is not None:
            yield (
                f'{_TIME} is written {reads}; write dateFormat="rfc3339", or name the format in '
                "the mapping"
            )


@advice("RT428").for_each(engine_actions, "searchIndex")
def day_of_index(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Names of indices with a day that begins at local midnight."""
    pieces = _index_pieces(action, base)
    days = [piece for piece in pieces if isinstance(piece, TemplateProperty) and _is_day(piece)]
    if days and not _is_in_utc(pieces):
        yield (
            f"the day in the index name is that of local time ({days[0].name}), and the days of "
            "@timestamp and of policies are UTC's: unless the host is on UTC, hours of each day "
            'are in the index of another; use date.inUTC="on", or $year-utc, $month-utc and '
            "$day-utc"
        )


@advice("RT429").for_each(engine_actions, "template")
def numbers_as_text(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Numbers in quotes."""
    numbers = [
        member.name
        for member in _members(action, base)
        if member.is_text and len(member.pieces) == 1
        and any(piece.lowered in _NUMBERS for piece in member.properties)
    ]  # fmt: skip
    if numbers:
        yield (
            f"{', '.join(numbers)}: a number in quotes, which dynamic mapping makes text with a "
            "keyword: ranges and means need a number; write it without quotes, or "
            'dataType="number" in a list template'
        )


@advice("RT430").for_each(engine_actions, "template")
def short_host_name(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """This host's name without its domain in the events that are its own."""
    sources = _own_sources(base)
    if not sources or _keeps_domain(base) or not _names_host(action, base):
        return
    yield (
        f"the events of this host ({', '.join(sources)}) carry its name cut at the first dot, and "
        "web1.paris.example and web1.london.example are one web1 in the index; unless the names "
        'of your hosts have no dot, write global(preserveFQDN="on")'
    )


_OF_THIS_HOST = ("imfile", "imjournal", "imklog", "imuxsock")
_HOSTS = frozenset({"hostname", "source", "$myhostname"})


def _own_sources(base: CheckedBase) -> list[str]:
    """The modules that take events of this host."""
    kept = base.kept.changed
    inputs = {script.type for _, script in kept.of_kind("input")}
    own = []
    for module, parameters in kept.module_parameters.items():
        socket = next((p for p in parameters if p.key == "syssock.use"), None)
        takes_socket = module == "imuxsock" and (socket is None or socket.is_on)
        takes_alone = module in {"imjournal", "imklog"}
        if module in _OF_THIS_HOST and (takes_socket or takes_alone or module in inputs):
            own.append(module)
    return own


def _keeps_domain(base: CheckedBase) -> bool:
    """Whether the name of this host is written, or kept whole."""
    shared = {parameter.key: parameter for parameter in base.kept.changed.shared}
    keeps = shared.get("preservefqdn")
    return "localhostname" in shared or (keeps is not None and keeps.is_on)


def _names_host(action: ScriptObject, base: CheckedBase) -> bool:
    """Whether the documents of an action name the host; those of rsyslog's own template do."""
    if action.get("template") is None:
        return True
    members = _members(action, base)
    return any(piece.lowered in _HOSTS for member in members for piece in member.properties)


_NUMBERS = frozenset({"syslogseverity", "syslogfacility", "syslogpriority", "pri"})
_LOCAL_DAYS = frozenset({"$day", "$now"})


def _is_day(piece: TemplateProperty) -> bool:
    """Whether it is the day of the month by the local clock."""
    if piece.lowered in _LOCAL_DAYS:
        return True
    text = _plainest_text(piece) if piece.lowered in _CLOCKS else ""
    return text == _DATES["day"] or re.search(r"\d{4}-?\d\d-?\d\d", text) is not None


def _is_in_utc(pieces: Iterable[TemplatePiece]) -> bool:
    options = (piece.options for piece in pieces if isinstance(piece, TemplateProperty))
    return any(
        option.get("date.inutc", "").lower() in ON or "utc" in option.get("dateformat", "").lower()
        for option in options
    )


def _members(action: ScriptObject, base: CheckedBase) -> Iterator[TemplateMember]:
    """The members of the documents that an action sends."""
    template = _template(action, "template", base)
    return iter(()) if template is None else members_of(template)


# What many events have alike; several that come at once have the time alike, too.
_SHARED = frozenset(
    {
        "syslogtag", "programname", "app-name", "hostname", "source", "fromhost", "fromhost-ip",
        "procid", "msgid", "pri", "pri-text", "syslogfacility", "syslogfacility-text",
        "syslogseverity", "syslogseverity-text", "syslogpriority", "syslogpriority-text",
        "inputname", *_CLOCKS,
    }
)  # fmt: skip


@loss("RT414").for_each(engine_actions, "bulkid")
def same_ids(action: ScriptObject, base: CheckedBase) -> Iterator[str]:
    """Ids that several events share."""
    bulk_id = action.text("bulkid")
    if bulk_id is None:
        return
    names: list[str] = []
    who = f"all events have the same id, {bulk_id}"
    way = 'dynBulkId="on" with the name of a template in bulkid, or no bulkid'
    if action.is_on("dynBulkId"):
        names = _shared(_pieces(action, "bulkid", base))
        who = f"events with the same {' and '.join(names)} have one id"
        way = "the property uuid in the template for bulkid, or no bulkid"
        if not names:
            return
    last = "first" if (action.text("writeOperation") or "").lower() == "create" else "last"
    yield (
        f"{who}, and of each id the engine keeps the {last} document alone: the others are lost; "
        f"use {way}"
    )


def _shared(pieces: tuple[TemplatePiece, ...]) -> list[str]:
    """The properties of an id where all of them are such that events share."""
    names = [piece.lowered for piece in pieces if isinstance(piece, TemplateProperty)]
    return list(dict.fromkeys(names)) if all(name in _SHARED for name in names) else []


@loss("RT413")
def directives_for_nothing(base: CheckedBase) -> Iterator[Remark]:
    """`$ActionQueue...` and others before an action()."""
    by_action: dict[ScriptPosition | None, list[WithoutEffect]] = {}
    for unused in base.kept.written.without_effect:
        origin = None if unused.action is None else unused.action.origin
        by_action.setdefault(origin, []).append(unused)
    for action, directives in by_action.items():
        why, way = "no action of the old form follows", "remove them"
        if action is not None:
            why = f"the action() in line {action.line} takes no directives, and uses them up"
            way = f"write {' '.join(unused.instead for unused in directives)} in it"
        first, others = directives[0].directive, len(directives) - 1
        fact = f"${first.name} and {others} more apply" if others else f"${first.name} applies"
        yield Remark(first.origin, f"{fact} to nothing: {why}: {way}")


@advice("RT416").for_each(objects_of("input", "imfile"), "file")
def cut_in_place(source: ScriptObject, _: CheckedBase) -> Iterator[str]:
    """imfile without reopenOnTruncate; who rotates the file no configuration of rsyslog says."""
    reopens = source.get("reopenOnTruncate")
    if reopens is None or (reopens.text or "on").lower() in OFF:
        yield (
            "where logrotate cuts this file in place (copytruncate), lines after that are lost: "
            'set reopenOnTruncate="on"'
        )


@loss("RT417").for_each(objects_of("action", "omhttp"), "httpIgnorableCodes")
def ignored_refusals(action: ScriptObject, _: CheckedBase) -> Iterator[str]:
    """Statuses that omhttp takes for a success; 409 says that the event is there already."""
    ignorable = action.get("httpIgnorableCodes")
    codes = [code for code in ignorable.texts if code.strip() != "409"] if ignorable else []
    if codes:
        yield (
            f"events that the server answers with {', '.join(codes)} count as delivered: they are "
            "not sent again, not written to errorfile, and no message says so; take out what the "
            "server may answer for want of room or rights"
        )


@loss("RT418")
def unused_template(base: CheckedBase) -> Iterator[Remark]:
    """A template of the profile that is for none of the indices."""
    template, names = base.kept.given, base.kept.index_names
    if template is not None and names is not None and not any(map(template.is_for, names)):
        patterns, indices = ", ".join(template.patterns), ", ".join(sorted(names))
        yield Remark(
            ScriptPosition(template.file, 1, 1),
            f"the index template is for {patterns}, and none of the indices ({indices}) matches: "
            "its mappings and settings apply to nothing, so none of them is searched",
        )


_LIMIT, _OF_OUTPUTS = "ratelimit.name", "action.ratelimit.name"


def _sources(base: CheckedBase) -> Iterator[Placed[ScriptObject]]:
    """Inputs, and modules that are inputs themselves."""
    objects = base.kept.changed.objects.items()
    return (((name,), item) for name, item in objects if item.kind in {"input", "module"})


@loss("RT420").for_each(_sources)
def closed_input(source: ScriptObject, base: CheckedBase) -> Iterator[Complaint]:
    """Inputs whose limit is not defined, or is one of outputs; the file that includes a drop-in may
    define it."""
    changed = base.kept.changed
    names = {limit.text("name") for _, limit in changed.of_kind("ratelimit")}
    of_outputs = {action.text(_OF_OUTPUTS) for _, action in changed.of_kind("action")}
    for parameter in source.parameters:
        name = parameter.text
        if not parameter.key.endswith(_LIMIT) or name is None or None in names:
            continue
        fault = f"an action has the limit {name} too" if name in of_outputs else None
        if name not in names and not not_loaded(changed.block):
            fault = f"no ratelimit() is called {name}"
        if fault is not None:
            yield Complaint(
                (parameter.name,),
                f"{fault}, so that rsyslogd starts without this input, and -N1 does not say so: "
                "all its events are lost; name a ratelimit() of inputs, with its capitals",
            )


@loss("RT426")
def no_places(base: CheckedBase) -> Iterator[Remark]:
    """imkubernetes, which forgets how far it has read."""
    for module in objects_in(base.kept.changed.block, "module"):
        if module_name(module) == "imkubernetes":
            yield Remark(
                module.origin,
                "imkubernetes keeps nowhere how far it has read: after a restart it sends all "
                'lines again, or with freshStartTail="on" loses those written meanwhile; read the '
                "files with imfile, and enrich events with mmkubernetes",
            )
