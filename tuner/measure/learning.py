"""What comes of each message, learnt before anything is scored: which documents, and which
actions none reaches."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.engine import status
from tuner.engine.client import EngineClient
from tuner.engine.delivery import Expectation
from tuner.engine.feed import kept_bulks
from tuner.engine.numbering import FIRST_OUTPUT, STAMPED
from tuner.engine.sampled import learnt_documents
from tuner.engines.refusals import document_refusal, name_refusal
from tuner.errors import JobFailed, Refused
from tuner.flood.flood import Flood
from tuner.flood.messages import pool_size, routes_of
from tuner.flood.pace import fixed
from tuner.flood.spec import FloodSpec
from tuner.flood.workload import flood_spec
from tuner.host.process import wait_until_quiet
from tuner.lab.bind import Bound
from tuner.lab.confined import TLS, parameters
from tuner.lab.copy import LabCopy, copied
from tuner.lab.lab import Lab, Learnt
from tuner.lab.receiver import Received
from tuner.lab.rsyslogd import LabDaemon, Rsyslogd, await_round, read, running
from tuner.lab.scratch import subfolder
from tuner.lab.sink import Sink
from tuner.lab.text import LabText
from tuner.measure.shares import in_order, missed, order_for, shares_of
from tuner.profile.model import Profile
from tuner.script.objects import Base
from tuner.script.printing import printed
from tuner.script.script import QUEUE, Block, ScriptObject, Statement, rewritten

# Messages per second: slow enough that no queue fills; and where senders can wait, when what one
# message gives need not be told from what others give.
_PER_SECOND, _FASTER = 4000.0, 20_000.0
_SENT_S = 60.0
_QUIET_S = 1.0
_POLL_S = 0.1
_PREFIX = "rsyslog-tune-learnt-"
_FORWARDING = ("omfwd", "omrelp")
_KEPT = 1_000_000
_SELDOM = 0.01
_NO_TEMPLATE = (
    "your mapping and index settings: base.template names no file, so the engine guesses the types "
    "of fields and has its own settings"
)
_OF_DOCUMENTS, _OF_ENTRANCE, _WAITING = map(parameters, ("documents", "entrance", "waiting"))
_COMPRESSION = ("compression.mode", "zipLevel")


def learnt(lab: Lab, profile: Profile, text: Base | None = None) -> Learnt:
    """What comes of the messages of a profile, whose configuration reads `text`, learnt once for
    all candidates: what they turn changes nothing of it.  Raises Refused where no message reaches
    an engine.

    Every message of the pool is sent twice, slowly, into our sink: filters, parsing, several
    outputs and whatever else a configuration does need no model then.
    """
    written = text or lab.bind(profile, "shape").text.written
    load = profile.workload
    key = (printed(_shape(written.block)), load.model_dump_json(), repr(load.learnt))
    expected = lab.learnt.get(key)
    if expected is None:
        expected = lab.learnt[key] = _learn(lab, profile)
    return expected


def _shape(block: Block) -> Block:
    """What of a configuration may say which documents come of a message: all but what a lab gives
    to it and what candidates turn.  Of what is not left out here it is only learnt again."""
    return rewritten(block, _shaped)


def _shaped(statement: Statement) -> Iterator[Statement]:
    if not isinstance(statement, ScriptObject):
        yield statement
    elif statement.type == "omelasticsearch":
        parameters = tuple(
            parameter for parameter in statement.parameters if parameter.key in _OF_DOCUMENTS
        )
        yield replace(statement, parameters=parameters)
    elif statement.kind in {"input", "module"}:
        yield statement.without_beginning(TLS).without(_OF_ENTRANCE)
    elif statement.kind != "main_queue":
        yield statement.without_beginning((QUEUE,))


def _learn(lab: Lab, profile: Profile) -> Learnt:
    """From two rounds of the pool: of messages of which the documents differ none is expected."""
    rounds = slow_pass(lab, profile)
    outputs = tuple(
        tuple(first if first == second else -1 for first, second in _rounds(times))
        for times in rounds.documents
    )
    messages = len(outputs[0])
    unsure = sum(any(output[message] < 0 for output in outputs) for message in range(messages))
    lost = [refusal for refusal in rounds.refused if refusal.is_all or lab.engine.stand_in is None]
    if lost:
        raise Refused(
            f"an engine refuses what comes of it: {'; '.join(map(str, lost))}: what is lost is "
            "not measured; rsyslog-tune validate says more, or send messages like yours "
            "(workload.sample, replay)"
        )
    if not unsure and rounds.lines and not any(map(any, outputs)):
        raise Refused(
            "documents come, but none tells which message it is of: that stands in the time of the "
            "head, which nothing read there. Look at parser and at workload.format"
        )
    if not any(times > 0 for output in outputs for times in output):
        raise Refused(
            f"what comes of {unsure} of {messages} messages differs from time to time (ids of what "
            "comes again, counters, the clock), and no other reaches an engine action"
            if unsure
            else f"none of {messages} messages reaches an engine action: filters want others "
            "(workload.sample, replay and format say what is sent)"
        )
    untested = [*rounds.untested, *(f"what an engine refuses: {text}" for text in rounds.refused)]
    if unsure:
        some = f"{unsure} of {messages} messages"
        untested.append(f"the documents of {some}, which differ from time to time")
    expectation, means = Expectation(outputs), tuple(map(_mean_of_unsure, rounds.documents))
    documents = learnt_documents(rounds.lines, rounds.run, expectation)
    made = Learnt(
        expectation, means, documents, tuple(untested), shares_of(expectation, means, rounds.names)
    )
    return _with_shares(made, profile, rounds) if profile.workload.shares else made


def _with_shares(made: Learnt, profile: Profile, rounds: SlowPass) -> Learnt:
    """What was learnt, with messages as frequent as the workload says that outputs get events."""
    numbers = profile.actions
    wanted = {
        profile.outputs[numbers[word]].name: part for word, part in profile.workload.shares.items()
    }
    order = order_for(made.expectation, rounds.names, wanted, rounds.routes)
    expectation = in_order(made.expectation, order)
    shares = shares_of(expectation, made.unsure, rounds.names)
    return replace(
        made,
        expectation=expectation,
        documents=made.documents.in_order(order),
        shares=shares,
        order=order,
        untested=(*made.untested, *missed(wanted, shares)),
    )


def _mean_of_unsure(numbers: list[int]) -> float:
    """The mean number of documents of the messages whose two rounds differ; 0 if none do."""
    means = [(first + second) / 2 for first, second in _rounds(numbers) if first != second]
    return statistics.fmean(means) if means else 0.0


def _rounds(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """The numbers of both rounds, by message."""
    half = len(numbers) // 2
    return zip(numbers[:half], numbers[half:], strict=True)


@dataclass(frozen=True)
class SlowPass:
    """How many documents of each output each message of two rounds of the pool gave, by the `names`
    of the outputs, what of the configuration they do not test, which documents an engine refuses,
    and the bulks of that run; `routes` are the ways that messages took into rsyslogd."""

    names: tuple[str, ...]
    documents: list[list[int]]
    untested: tuple[str, ...]
    refused: tuple[RefusedDocuments, ...]
    lines: bytes
    run: str
    routes: list[int]


def slow_pass(lab: Lab, profile: Profile) -> SlowPass:
    """Send two rounds of the pool, slowly, into our sink.  Raises JobFailed and Refused."""
    bound = lab.bind(profile, f"learning-{secrets.token_hex(2)}")
    text, spec = bound.text, flood_spec(bound.profile, secrets.token_hex(4))
    pool = pool_size(spec)
    spec = replace(spec, count=2 * pool)
    with Sink(keep=_KEPT) as sink:
        copy = copied(text, bound.site.in_place_of_engine(sink.url, _PREFIX))
        counting, actions = _counting(copy)
        with _sent(lab, bound, replace(copy, block=counting), spec, sink) as (client, daemon):
            documents = [_numbers(client, spec, output) for output in range(len(copy.outputs))]
            counted, lines = _counted(daemon.stats), kept_bulks(client)
            daemon.rsyslogd.stop()
            received = None if daemon.receiver is None else daemon.receiver.received()
    places = [*map(text.place, copy.outputs)]
    untested = (
        *unreached(text, actions, counted), *_missed(actions, counted, received),
        *seldom_reached(documents, places), *not_compared(documents, lines),
    )  # fmt: skip
    if not text.templates and lab.engine.stand_in is None:
        untested = (*untested, _NO_TEMPLATE)
    refused = tuple(refused_documents(lines, [*zip(copy.outputs, places, strict=True)]))
    names = tuple(text.output_names.get(address, address) for address in copy.outputs)
    routes = routes_of(spec, pool)
    return SlowPass(names, documents, untested, refused, lines, spec.stamped_run, routes)


def documents_of(lab: Lab, profile: Profile, name: str, count: int) -> bytes:
    """Action and document lines of the first `count` events of the pipeline of `profile`, or of as
    many as 64 MiB hold, under the index names of the trial `name` and with the same fields, the
    number of the event included.  Raises JobFailed and Refused."""
    bound, numbers = lab.bind(profile, name), lab.engine.tells_apart(profile)
    spec = flood_spec(bound.profile, secrets.token_hex(4), count)
    with Sink(keep=count) as sink:
        site = replace(bound.site, engine_urls=(sink.url,))
        copy = copied(bound.text, site, numbers=numbers)
        can_wait = all(source.flood_rank > 1 for source in bound.profile.inputs)
        pace = _FASTER if can_wait else _PER_SECOND
        with _sent(lab, bound, copy, spec, sink, pace) as (client, _):
            return kept_bulks(client)


@contextlib.contextmanager
def _sent(
    lab: Lab,
    bound: Bound,
    copy: LabCopy,
    spec: FloodSpec,
    sink: Sink,
    per_second: float = _PER_SECOND,
) -> Iterator[tuple[EngineClient, LabDaemon]]:
    """A flood sent at a pace through a copy of what is bound into a sink, once no more documents
    come: the connection to the sink, and rsyslogd, which still runs."""
    folder = subfolder(lab.folder, Path(bound.site.folder).name)
    try:
        with (
            contextlib.closing(EngineClient(sink.url)) as client,
            running(bound, copy, folder) as daemon,
        ):
            _flood(spec, client, daemon.rsyslogd, per_second)
            yield client, daemon
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _counting(copy: LabCopy) -> tuple[Block, list[ScriptObject]]:
    """The configuration with queues that wait for nothing and a name for each action by which
    rsyslogd counts it, and the actions in that order."""
    actions: list[ScriptObject] = []

    def named(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, ScriptObject):
            made = statement.without(_WAITING)
            if statement.kind == "action":
                actions.append(made)
                made = made.with_values({"name": _name(len(actions))})
            statement = made
        yield statement

    return rewritten(copy.block, named), actions


@dataclass(frozen=True)
class RefusedDocuments:
    """Documents of one action that an engine refuses for one reason, and of how many."""

    address: str
    place: str
    documents: int
    total: int
    reason: str

    @property
    def is_all(self) -> bool:
        """Whether nothing of the action arrives."""
        return self.documents == self.total

    @property
    def share(self) -> str:
        """How many of all."""
        some = f"{self.documents:,} of {self.total:,} documents"
        return "every document" if self.is_all else some

    def __str__(self) -> str:
        return f"{self.share} of {self.place}: {self.reason}"


def refused_documents(
    lines: bytes, actions: Sequence[tuple[str, str]]
) -> Iterator[RefusedDocuments]:
    """The documents that an engine refuses for the name of their index, which here begins with
    ours, or as no JSON; `lines` are those of bulks, of actions with these addresses and places."""
    wrong, documents = Counter[tuple[int, str]](), Counter[int]()
    names: dict[bytes, str | None] = {}
    pairs = lines.split(b"\n")
    for action, document in zip(pairs[0::2], pairs[1::2], strict=False):
        number = STAMPED.search(document)
        output = -1 if number is None else int(number[2]) - FIRST_OUTPUT
        if not 0 <= output < len(actions):
            continue
        documents[output] += 1
        if action not in names:
            names[action] = _name_refusal(action)
        refusal = names[action] or _document_refusal(document)
        if refusal is not None:
            wrong[output, refusal] += 1
    for output in sorted({output for output, _ in wrong}):
        reasons = {reason: times for (number, reason), times in wrong.items() if number == output}
        # Positions differ from document to document: the most frequent stands for all.
        first = max(reasons, key=lambda reason: reasons[reason])
        address, place = actions[output]
        yield RefusedDocuments(address, place, sum(reasons.values()), documents[output], first)


def _name_refusal(action: bytes) -> str | None:
    """Why an engine makes no index of the name in an action line, without what is ours of it."""
    try:
        ((_, details),) = json.loads(action).items()
        name = str(details.get("_index", "")).removeprefix(_PREFIX)
    except (ValueError, AttributeError):
        return None
    refusal = name_refusal(name)
    return None if refusal is None else f"Invalid index name [{name}], {refusal}"


def _document_refusal(document: bytes) -> str | None:
    refusal = document_refusal(document)
    return None if refusal is None else f"no JSON object, {refusal}"


def _name(number: int) -> str:
    return f"rsyslog-tune-{number}"


def _counted(stats: Path) -> Mapping[str, int]:
    """The events of each action by its name, after another round of rsyslogd's counters."""
    await_round(stats, time.time())
    rounds = read(stats)
    actions = rounds[-1].actions if rounds else {}
    return {name: action.processed for name, action in actions.items()}


def unreached(
    text: LabText, actions: Sequence[ScriptObject], counted: Mapping[str, int]
) -> Iterator[str]:
    """The actions that got no event, each with its place as it is written, by what rsyslogd
    counted; nothing where it counted none at all."""
    events = Counter[str]()
    for number, action in enumerate(actions, 1):
        address = text.changed.address_of(action)
        # A file that is included twice says the same twice.
        place = str(action.origin) if address is None else text.place(address)
        events[place] += counted.get(_name(number), 0)
    none = [place for place, times in events.items() if times == 0]
    if none and counted:
        yield f"{len(none)} of {len(events)} actions, which got no event: {', '.join(none)}"


def seldom_reached(documents: Sequence[Sequence[int]], places: Sequence[str]) -> Iterator[str]:
    """The places of actions into an engine that few messages reach."""
    few = [
        place
        for place, times_by_message in zip(places, documents, strict=True)
        if 0 < sum(times > 0 for times in times_by_message) < _SELDOM * len(times_by_message)
    ]
    if few:
        share = f"{_SELDOM:.0%} of the messages"
        yield f"load on actions that less than {share} reach: {', '.join(few)}"


def _missed(
    actions: Sequence[ScriptObject], counted: Mapping[str, int], received: Received | None
) -> Iterator[str]:
    """What was forwarded and did not come, where that can be told: what is compressed has no ends
    of messages."""
    numbered = enumerate(actions, 1)
    forwarding = {n: action for n, action in numbered if action.type.endswith(_FORWARDING)}
    squeezed = any(action.get(name) for action in forwarding.values() for name in _COMPRESSION)
    sent = sum(counted.get(_name(number), 0) for number in forwarding)
    if received is not None and not squeezed and received.messages < sent:
        yield f"forwarding: {received.messages} of {sent} messages came to the lab's receiver"


def _flood(spec: FloodSpec, client: EngineClient, rsyslogd: Rsyslogd, per_second: float) -> None:
    """Send every message of a flood, and wait until no more documents come."""
    count = spec.count or 0
    with Flood(spec) as flood:
        flood.follow(fixed(per_second), count)
        deadline_s = time.monotonic() + _SENT_S + count / per_second
        while flood.progress().sent < count and time.monotonic() < deadline_s:
            rsyslogd.check()
            time.sleep(_POLL_S)
        final = flood.finish()
    if final.error is not None or final.sent < count:
        why = final.error or "the rest did not go through in time"
        raise JobFailed(f"rsyslogd took {final.sent} of {count} messages: {why}")
    wait_until_quiet(lambda: status.count(client, "_all"), rsyslogd.check, _QUIET_S)


def not_compared(documents: Sequence[Sequence[int]], lines: bytes) -> Iterator[str]:
    """How many of the documents are not among those that the sink kept; nothing where all are."""
    came, stored = sum(map(sum, documents)), lines.count(b"\n") // 2
    if stored < came:
        yield (
            f"what {came - stored} of {came} documents hold: with messages as many and as large as "
            "these only the first are kept to compare with"
        )


def _numbers(client: EngineClient, spec: FloodSpec, output: int) -> list[int]:
    """How many documents of an output came of each message."""
    asked = f"run={spec.stamped_run}&output={output}&count={spec.count}"
    answer = client.get(f"/_sink/_all/arrived?{asked}")
    listed = answer["arrived"]
    return [int(times) for times in listed] if isinstance(listed, list) else []
