"""Lint for omhttp: what a server refuses, what arrives twice, what it cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuner.lint.each import each, outputs_of
from tuner.modules.omhttp import HTTP, PACKAGED, OmhttpOutput
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import action_queue, working_queue
from tuner.rule import Changes, Complaint, advice, error, loss, warning

# The formats that read each event as JSON, and leave out what is not JSON.
_OF_JSON = frozenset({"jsonarray", "kafkarest"})
_BATCH = 100
_NEW: Changes = {"release.rsyslog": f"8.{PACKAGED}"}


@error(
    "RT290",
    why="jsonarray and kafkarest read each event as JSON and leave out what is not JSON: all "
    "events are dropped, with nothing but a line in rsyslog's own log.",
    source="rsyslog contrib/omhttp; seen on 8.2610",
    bad={
        **_NEW,
        "outputs": [{**HTTP, "document": None, "batch.format": "jsonarray"}],
    },
    good={"outputs[up].document": "ecs"},
)
@each(outputs_of(OmhttpOutput), "document")
def _no_json(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.batch_format in _OF_JSON and output.document is None:
        yield (
            f"batch.format {output.batch_format} drops every event that is not JSON: add document"
        )


@loss(
    "RT291",
    why="omhttp drops what is answered with 3xx or 4xx, 429 left aside: a batch too large for a "
    "proxy, an expired password, a redirect to https. Seen: 500 of 500 events of two batches, each "
    "for 301, 400, 401, 403, 404, 408 and 413.",
    source="rsyslog contrib/omhttp, checkResult; seen on 8.2610",
    bad={**_NEW, "outputs": [{**HTTP, "errorfile": None}]},
    good={"outputs[up].errorfile": "/var/log/rsyslog/up-errors.json"},
)
@each(outputs_of(OmhttpOutput), "errorfile")
def _lost_on_refusal(output: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.guardrails.tier is Tier.DURABLE and output.errorfile is None:
        yield (
            "a batch that the server, or a proxy before it, answers with 3xx or 4xx (429 left "
            "aside) is dropped: set errorfile, which then holds what was dropped, and "
            "httpretrycodes for what passes, such as [401, 403]"
        )


@warning(
    "RT292",
    why="rsyslog sends the whole batch of the queue again when one request of it fails. Seen: "
    "dequeueBatchSize 250, batch.maxsize 100, the second request answered 503: 100 events arrived "
    "twice; without batch, the 100th: 99.",
    source="rsyslog contrib/omhttp, commitTransaction; seen on 8.2610",
    bad={**_NEW, "outputs": [{**HTTP, "batch.maxsize": 499}]},
    good={"outputs[up].batch.maxsize": 500},
)
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
                f"the events of a batch go to several paths, each a request: {again}; only "
                "queue.dequeueBatchSize: 1 prevents it",
            )


@loss(
    "RT293",
    why="A batch whose connection breaks goes to retry.ruleset and is sent by the output again "
    "(seen: 250 of 250 events twice); after 503, what exceeds ratelimit.burst is dropped (seen: "
    "150 of 250). Without it the output waits.",
    source="rsyslog contrib/omhttp, curlPost and checkResult; seen on 8.2610",
    bad={
        **_NEW,
        "outputs": [{**HTTP, "retry": True, "retry.ruleset": "again"}],
    },
    good={"outputs[up].retry.ruleset": None},
)
@each(outputs_of(OmhttpOutput), "retry.ruleset")
def _retried_elsewhere(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if not output.retry or output.retry_ruleset is None:
        return
    drops = ", and what exceeds ratelimit.burst is dropped"
    yield (
        "a batch whose connection breaks arrives twice"
        f"{drops if output.ratelimit_interval != 0 else ''}: remove retry and retry.ruleset, "
        "the output's own queue waits for the server"
    )


@warning(
    "RT294",
    why="omhttp adds port 443 to an address without one, whatever its scheme.",
    source="rsyslog contrib/omhttp, computeBaseUrl",
    bad={**_NEW, "outputs": [{**HTTP, "server": ["http://127.0.0.1"]}]},
    good={"outputs[up].server": ["http://127.0.0.1:80"]},
    at="outputs[up].server[0]",
)
@each(outputs_of(OmhttpOutput))
def _no_port(output: OmhttpOutput, _: Profile) -> Iterator[Complaint]:
    for i, server in enumerate(output.addresses):
        has_port = output.serverport is not None or re.search(r":[0-9]+/?$", server)
        if server.startswith("http:") and not has_port:
            yield Complaint(
                ("server", i),
                "rsyslog goes to port 443 here, not to 80, the usual port of http: write the "
                "port that is meant, or serverport",
            )


@advice(
    "RT295",
    why=f"Debian packages omhttp, as rsyslog-http, since rsyslog 8.{PACKAGED}: Debian 12 and 13 do "
    "not have it. Before 8.2510, by its source, it drops a batch after 5xx too.",
    source="Debian's changelog of rsyslog 8.2512.0-2",
    bad={"outputs": [HTTP]},
    good=_NEW,
    at="outputs[up].type",
)
@each(outputs_of(OmhttpOutput), "type")
def _not_packaged(_: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.release.rsyslog_number < PACKAGED:
        yield (
            f"no Debian with rsyslog {profile.release.rsyslog} has omhttp, which comes as "
            f"rsyslog-http since 8.{PACKAGED}: name that release, or get the module from "
            "rsyslog's own repository"
        )


@loss(
    "RT296",
    why="Loki answers 400 to a request with a stream that has no label, and omhttp drops the whole "
    "batch; a property can be empty, a constant never is.",
    source="Loki's documentation, POST /loki/api/v1/push; rsyslog contrib/omhttp",
    bad={
        **_NEW,
        "outputs": [
            {
                **HTTP,
                "document": None,
                "batch.format": "lokirest",
                "line": [{"property": "msg"}],
                "labels": [{"property": "hostname", "name": "host"}],
            }
        ],
    },
    good={"outputs[up].labels": [{"constant": "syslog", "name": "job"}]},
)
@each(outputs_of(OmhttpOutput), "labels")
def _no_label(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.labels is not None and not any(one.constant for one in output.labels):
        yield (
            "Loki refuses a whole batch for one event without any label: add one that is "
            "always there, such as {constant: syslog, name: job}"
        )


@loss(
    "RT297",
    why="What is answered with one of these statuses counts as delivered and stands in no "
    "errorfile (seen: 500 of 500 events of two batches answered 400).",
    source="rsyslog contrib/omhttp, checkResult; seen on 8.2610",
    bad={**_NEW, "outputs": [{**HTTP, "httpignorablecodes": [400]}]},
    good={"outputs[up].httpignorablecodes": None},
)
@each(outputs_of(OmhttpOutput), "httpignorablecodes")
def _ignored(output: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.guardrails.tier is Tier.DURABLE and output.httpignorablecodes is not None:
        yield (
            "what is answered so is lost without a trace: remove it; errorfile holds what was "
            "dropped"
        )
