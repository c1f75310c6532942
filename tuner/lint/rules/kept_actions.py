"""Rules about the actions and inputs of a base: what applies to nothing, and what stops others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuner.lint.kept_rule import AskedBase, Remark, of_base
from tuner.rule import Rank
from tuner.script.script import OFF, Call, ScriptObject, ScriptPosition, every

if TYPE_CHECKING:
    from tuner.script.legacy import WithoutEffect
    from tuner.script.objects import Base

_BULK = 'type="omelasticsearch" searchType="" bulkmode="on"'
_DIRECTIVES = "$ActionQueueType LinkedList\n$ActionQueueFileName es\n$ActionResumeRetryCount -1\n"


@of_base(
    "RT413",
    why="Directives for the next action are for actions of the old form: an action() takes none of "
    "them, and uses them up.",
    source="rsyslog issue 1383; rsyslog action.c, addAction; seen on 8.2302",
    bad=(f"{_DIRECTIVES}*.* action({_BULK})", f"action({_BULK})\n{_DIRECTIVES}"),
    good=(
        f"{_DIRECTIVES}*.* @@192.0.2.1\n*.* action({_BULK})",
        f'action({_BULK} queue.type="LinkedList")',
    ),
)
def directives_for_nothing(asked: AskedBase) -> Iterator[Remark]:
    """`$ActionQueue...` and others before an action()."""
    groups: dict[ScriptPosition | None, list[WithoutEffect]] = {}
    for one in asked.kept.written.without_effect:
        groups.setdefault(None if one.action is None else one.action.origin, []).append(one)
    for action, ones in groups.items():
        why, way = "no action of the old form follows", "remove them"
        if action is not None:
            why = f"the action() in line {action.line} takes no directives, and uses them up"
            way = f"write {' '.join(one.instead for one in ones)} in it"
        first = f"${ones[0].directive.name}"
        what = f"{first} applies" if len(ones) == 1 else f"{first} and {len(ones) - 1} more apply"
        yield Remark(ones[0].directive.origin, f"{what} to nothing: {why}: {way}")


_FILE = 'action(type="omfile" file="/var/log/all.log")'
_ENDLESS = f'action({_BULK} action.resumeRetryCount="-1")'


@of_base(
    "RT415",
    why="An action without a queue of its own runs on a worker of the queue before it. Retried "
    "without end, it keeps that worker while its target is away, and no other action of the same "
    "ruleset gets an event.",
    source="rsyslog issue 4910; seen on 8.2302",
    bad=(f"{_ENDLESS}\n{_FILE}", f"{_FILE}\n{_ENDLESS}"),
    good=(
        f'action({_BULK} queue.type="LinkedList" action.resumeRetryCount="-1")\n{_FILE}',
        f"action({_BULK})\n{_FILE}",
        f'ruleset(name="es" queue.type="LinkedList") {{ {_ENDLESS} }}\ncall es\n{_FILE}',
        _ENDLESS,
    ),
)
def stops_others(asked: AskedBase) -> Iterator[Remark]:
    """Engine actions that keep the worker which others need."""
    of_one_worker = list(_of_one_worker(asked.kept.changed))
    for address, one in asked.engine_actions:
        if one.text("action.resumeRetryCount") != "-1" or _has_queue(one):
            continue
        mine = [group for group in of_one_worker if one.origin in group]
        others = dict.fromkeys(origin for group in mine for origin in group if origin != one.origin)
        if others:
            lines = ", ".join(str(origin.line) for origin in others)
            where = f"action in line {lines}" if len(others) == 1 else f"actions in lines {lines}"
            yield Remark(
                asked.place(address, "action.resumeRetryCount"),
                f"{address}: while the engine is away this action keeps the worker that runs it, "
                f"and what runs on the same one stops too, the {where}: "
                'give it a queue of its own (queue.type="LinkedList")',
            )


def _has_queue(one: ScriptObject) -> bool:
    return (one.text("queue.type") or "Direct").lower() != "direct"


def _of_one_worker(base: Base) -> Iterator[tuple[ScriptPosition, ...]]:
    """The outputs that run on the workers of each queue before rulesets, but for what only comes
    back from the engine."""
    rulesets = {one.key: one for _, one in base.of_kind("ruleset")}
    outside = tuple(one for one in base.block if one not in rulesets.values())
    blocks = {"": outside, **{key: one.body or () for key, one in rulesets.items()}}
    retried = {(one.text("retryRuleset") or "").lower() for _, one in base.of_kind("action")}
    for start in blocks.keys() - (retried - {""}):
        waiting, seen, found = [start], {start}, list[ScriptPosition]()
        while waiting:
            for one in every(blocks[waiting.pop()]):
                if isinstance(one, ScriptObject) and one.type.startswith("om"):
                    found.append(one.origin)
                called = str(one.target).lower() if isinstance(one, Call) else ""
                if called in rulesets and called not in seen and not rulesets[called].queue:
                    waiting.append(called)
                    seen.add(called)
        yield tuple(found)


_LINES = 'module(load="imfile")\ninput(type="imfile" file="/var/log/app.log" tag="app:"{0})'


@of_base(
    "RT416",
    why="imfile goes on at the place to which it has read. A file that is cut to nothing and "
    "written anew, as copytruncate of logrotate does, is not read again before it is longer than "
    "that: of 220 lines after it 99 were lost.",
    source="rsyslog plugins/imfile; seen on 8.2302",
    bad=(_LINES.format(""),),
    good=(_LINES.format(' reopenOnTruncate="on"'), f"action({_BULK})"),
    rank=Rank.ADVICE,
)
def cut_in_place(asked: AskedBase) -> Iterator[Remark]:
    """imfile without reopenOnTruncate; who rotates the file no configuration of rsyslog says."""
    for address, one in asked.kept.changed.of_kind("input"):
        given = one.get("reopenOnTruncate")
        if one.type == "imfile" and (given is None or (given.text or "on").lower() in OFF):
            yield Remark(
                asked.place(address, "file"),
                f"{address}: where logrotate cuts this file in place (copytruncate), lines after "
                'that are lost: set reopenOnTruncate="on"',
            )


_HTTP = 'module(load="omhttp")\naction(type="omhttp" server="127.0.0.1"{0})'


@of_base(
    "RT417",
    why="A status in httpIgnorableCodes counts as delivered, whatever else would be retried: "
    "omhttp neither sends the events again nor writes them to errorfile, and says nothing.",
    source="rsyslog contrib/omhttp/omhttp.c, checkResult",
    bad=(_HTTP.format(' httpIgnorableCodes=["400", "429"]'),),
    good=(_HTTP.format(""), _HTTP.format(' httpIgnorableCodes="409"'), f"action({_BULK})"),
)
def ignored_refusals(asked: AskedBase) -> Iterator[Remark]:
    """Statuses that omhttp takes for a success; 409 says that the event is there already."""
    for address, one in asked.kept.changed.of_kind("action"):
        given = one.get("httpIgnorableCodes") if one.type == "omhttp" else None
        codes = [] if given is None else [code for code in given.texts if code.strip() != "409"]
        if codes:
            yield Remark(
                asked.place(address, "httpIgnorableCodes"),
                f"{address}: events that the server answers with {', '.join(codes)} count as "
                "delivered: they are not sent again, not written to errorfile, and no message says "
                "so; take out what the server may answer for want of room or rights",
            )
