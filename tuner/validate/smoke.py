"""What `--smoke` asks: one event of a profile through a real rsyslogd into a real engine, found by
its content; of a base, which documents and names of indices an engine would refuse."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from tuner.engine.client import EngineClient, EngineRefused, at, number_at
from tuner.engines.index import MappingStyle
from tuner.errors import JobFailed, Problem, Refused, Severity, Unreachable
from tuner.flood.flood import Flood
from tuner.flood.spec import FloodSpec
from tuner.lab.lab import Lab
from tuner.lab.written import refusal_in
from tuner.measure.learning import RefusedDocuments, slow_pass
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.prepared import prepare
from tuner.measure.trial import failure_of
from tuner.modules.field import DocumentField, FieldType, merges
from tuner.profile.documents import fields_of, mapping_of
from tuner.profile.model import BaseFiles, Profile
from tuner.script.script import ScriptPosition
from tuner.validate.layers import DOCUMENTS, Layer


def mapping_differences(
    fields: tuple[DocumentField, ...], mapping: object, is_explicit: bool
) -> tuple[str, ...]:
    """The fields whose type in the index is not the one that the profile gives.

    With a mapping that the engine guessed, texts may be of any type.  An index that keeps columns
    has fields of objects under their dotted names.
    """
    described, wrong = mapping_of(fields), list[str]()
    for field in fields:
        if merges(field):
            continue
        place = ("properties", *field.name.replace(".", ".properties.").split("."), "type")
        flat = at(mapping, "properties", field.name, "type")
        ours, theirs = at(described, *place), at(mapping, *place) or flat
        guessed = {"double": {"float", "long"}}.get(str(ours), set())
        loose = not is_explicit and (field.type is FieldType.STRING or theirs in {None, *guessed})
        if ours != theirs and not loose:
            wrong.append(f"{field.name} should be mapped as {ours} and is {theirs}")
    return tuple(wrong)


NAME = "smoke"
_PATIENCE_S = 30.0
_POLL_S = 0.2
_FINISH_S = 10.0


def smoke_layer(lab: Lab, profile: Profile) -> Layer:
    """Send one event to the first input of the profile as bound to `lab`, and compare the document
    that the engine has of it with what rsyslogd made of the same message before, and the types of
    its fields with what the profile says.

    Raises Refused for a profile that a lab cannot run, Unreachable when the engine is gone.
    """
    load = profile.workload.model_copy(update={"connections": 1})
    alone = profile.model_copy(update={"workload": load})
    substitutions = lab.bind(alone, NAME).substitutions
    notes = tuple(f"changed for the lab: {change}" for change in substitutions)
    lab.check()
    try:
        with pipeline(prepare(lab, alone, NAME)) as pipe:
            count, wrong = _compared(pipe)
    except (JobFailed, Refused, Unreachable) as error:
        return Layer(NAME, False, failure_of(error, lab, NAME).reason, notes=notes)
    if wrong:
        return Layer(NAME, False, "; ".join(wrong), notes=notes)
    came = f"one event came through {lab.engine.name}"
    if count:
        return Layer(NAME, True, f"{came} as described, {count} fields", notes=notes)
    return Layer(NAME, True, f"{came}; mapping: none keeps nothing of it to compare", notes=notes)


def _compared(pipe: Pipeline) -> tuple[int, list[str]]:
    """How many fields were compared, and what is wrong with which."""
    bound = pipe.profile
    spec = replace(pipe.spec, count=1)
    count, wrong = 0, list[str]()
    _send(spec)
    for output in bound.indexed:
        pattern = f"{pipe.prepared.prefix}{output.index.pattern}"
        document = at(_awaited(pipe, pattern), "_source")
        mapping = output.index.mapping
        if mapping is MappingStyle.NONE:
            continue
        stored = document if isinstance(document, dict) else {}
        content = pipe.prepared.learnt.documents.content([stored], spec.stamped_run, senders=1)
        mistakes = [str(content)] if content.different else []
        fields = fields_of(output)
        for index in pipe.client.get(f"/{pattern}/_mapping").values():
            is_explicit = mapping is MappingStyle.EXPLICIT
            mistakes += mapping_differences(fields, at(index, "mappings"), is_explicit)
        count += len(fields)
        wrong += [f"outputs[{output.name}]: {text}" for text in mistakes]
    return count, wrong


def _send(spec: FloodSpec) -> None:
    with Flood(spec) as flood:
        flood.steer(1, None)
        flood.wait_until_idle(_FINISH_S)
        final = flood.finish(_FINISH_S)
    if final.error is not None or final.sent != 1:
        raise JobFailed(f"the event could not be sent: {final.error or 'nothing was accepted'}")


def _awaited(pipe: Pipeline, pattern: str) -> object:
    """The one hit in the indices of a pattern; raises JobFailed when it does not come, or when
    there are more."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        pipe.rsyslogd.check()
        answer = _found(pipe.client, pattern)
        count, hits = number_at(answer, "hits", "total", "value"), at(answer, "hits", "hits")
        if count > 1:
            raise JobFailed(f"one event was sent and {count} are in {pattern}")
        if isinstance(hits, list) and hits:
            return hits[0]
        refused = refusal_in(pipe.stats.parent)
        if refused is not None:
            raise JobFailed(f"the engine refused the event: {refused}")
        time.sleep(_POLL_S)
    why = pipe.rsyslogd.finish(_FINISH_S) or "rsyslogd did not say why"
    raise JobFailed(f"the event did not reach the engine within {_PATIENCE_S:g} s: {why}")


def _found(client: EngineClient, pattern: str) -> object:
    """What a search finds; nothing in an index that is being made, which answers 503."""
    try:
        client.request("POST", f"/{pattern}/_refresh")
        return client.get(f"/{pattern}/_search?size=2")
    except EngineRefused as refused:
        if refused.status not in {404, 503}:
            raise
        return None


NEVER_TAKEN, SOMETIMES = "RT511", "RT512"
# Rules that have said the same without asking.
_SAID = frozenset({"RT410", "RT411", "RT412"})


def documents_layer(
    lab: Lab, profile: Profile, base: BaseFiles, warnings: Iterable[Problem]
) -> Layer:
    """Send messages through the base into our sink, and judge what comes as an engine does; what a
    warning of lint says of an action already is not said again."""
    try:
        learnt_pass = slow_pass(lab, profile)
    except (JobFailed, Refused) as cannot:
        return Layer(DOCUMENTS, None, str(cannot))
    made = learnt_pass.lines.count(b"\n") // 2
    taken = made - sum(refusal.documents for refusal in learnt_pass.refused)
    messages = [warning.message for warning in warnings if warning.code in _SAID]
    problems = tuple(
        _problem(base.kept.written.objects[refusal.address].origin, refusal)
        for refusal in learnt_pass.refused
        if not any(message.startswith(f"{refusal.address}: ") for message in messages)
    )
    remark = f"an engine takes {taken:,} of the {made:,} that rsyslogd made"
    return Layer(DOCUMENTS, True, remark, problems)


def _problem(place: ScriptPosition, refusal: RefusedDocuments) -> Problem:
    """One action of which an engine refuses documents."""
    message = (
        f"{refusal.address}: sent through rsyslogd, {refusal.share} would be refused by the engine "
        f"({refusal.reason}), and rsyslog counts them as delivered: their events are lost"
    )
    code = NEVER_TAKEN if refusal.is_all else SOMETIMES
    return Problem(place.file, place.line, place.column, message, code, Severity.WARNING)
