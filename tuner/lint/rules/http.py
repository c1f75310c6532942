"""Lint for omhttp: what a server refuses, what arrives twice, what it cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuner.lint.sections import for_each, outputs_of
from tuner.modules.omhttp import PACKAGED, OmhttpOutput
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import action_queue, working_queue
from tuner.rule import Complaint, advice, error, loss, warning

# The formats that read each event as JSON, and leave out what is not JSON.
_OF_JSON = frozenset({"jsonarray", "kafkarest"})
_BATCH = 100


@error("RT290")
@for_each(outputs_of(OmhttpOutput), "document")
def _no_json(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.batch_format in _OF_JSON and output.document is None:
        yield (
            f"batch.format {output.batch_format} drops every event that is not JSON: add document"
        )


@loss("RT291")
@for_each(outputs_of(OmhttpOutput), "errorfile")
def _lost_on_refusal(output: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.guardrails.tier is Tier.DURABLE and output.errorfile is None:
        yield (
            "a batch that the server, or a proxy before it, answers with 3xx or 4xx (429 left "
            "aside) is dropped: set errorfile, which then holds what was dropped, and "
            "httpretrycodes for what passes, such as [401, 403]"
        )


@warning("RT292")
def _sent_in_parts(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        if not isinstance(output, OmhttpOutput):
            continue
        queue = action_queue(profile, number)
        taken = (working_queue(profile, number) if queue.is_direct else queue).batch
        if taken == 1:
            continue
        again = (
            "when one fails, what was accepted before it is sent again, and its events arrive twice"
        )
        if not output.batches:
            yield Complaint(
                ("outputs", number, "batch"),
                f"each event is a request of its own, {taken} to a batch of the queue: {again}; "
                f"set batch: on and batch.maxsize: {taken}",
            )
        elif (output.batch_maxsize or _BATCH) < taken:
            yield Complaint(
                ("outputs", number, "batch.maxsize"),
                f"the queue hands over {taken} events at a time, which make several requests: "
                f"{again}; use {taken} or more",
            )
        elif output.dynrestpath is not None:
            yield Complaint(
                ("outputs", number, "dynrestpath"),
                f"the events of a batch go to several paths, for_each a request: {again}; only "
                "queue.dequeueBatchSize: 1 prevents it",
            )


@loss("RT293")
@for_each(outputs_of(OmhttpOutput), "retry.ruleset")
def _retried_elsewhere(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if not output.retry or output.retry_ruleset is None:
        return
    drops = ", and what exceeds ratelimit.burst is dropped"
    yield (
        "a batch whose connection breaks arrives twice"
        f"{drops if output.ratelimit_interval != 0 else ''}: remove retry and retry.ruleset, "
        "the output's own queue waits for the server"
    )


@warning("RT294")
@for_each(outputs_of(OmhttpOutput))
def _no_port(output: OmhttpOutput, _: Profile) -> Iterator[Complaint]:
    for i, server in enumerate(output.addresses):
        has_port = output.serverport is not None or re.search(r":[0-9]+/?$", server)
        if server.startswith("http:") and not has_port:
            yield Complaint(
                ("server", i),
                "rsyslog goes to port 443 here, not to 80, the usual port of http: write the "
                "port that is meant, or serverport",
            )


@advice("RT295")
@for_each(outputs_of(OmhttpOutput), "type")
def _not_packaged(_: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.release.rsyslog_number < PACKAGED:
        yield (
            f"no Debian with rsyslog {profile.release.rsyslog} has omhttp, which comes as "
            f"rsyslog-http since 8.{PACKAGED}: name that release, or get the module from "
            "rsyslog's own repository"
        )


@loss("RT296")
@for_each(outputs_of(OmhttpOutput), "labels")
def _no_label(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.labels is not None and not any(one.constant for one in output.labels):
        yield (
            "Loki refuses a whole batch for one event without any label: add one that is "
            "always there, such as {constant: syslog, name: job}"
        )


@loss("RT297")
@for_each(outputs_of(OmhttpOutput), "httpignorablecodes")
def _ignored(output: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.guardrails.tier is Tier.DURABLE and output.httpignorablecodes is not None:
        yield (
            "what is answered so is lost without a trace: remove it; errorfile holds what was "
            "dropped"
        )
