"""Lint for documents that the engine refuses, and for the parameters of single documents."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rules.transport import remote_servers
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, error, loss, warning

_REASONS = frozenset({"*", "items", "items.*", "items.*.error"})
_NAMES = frozenset(
    {"programname", "app-name", "hostname", "fromhost-ip", "syslogtag", "msgid",
     "syslogfacility-text", "syslogseverity-text"}
)  # fmt: skip
_NEEDS = (
    ("erroronly", "errorfile"),
    ("interleaved", "errorfile"),
    ("dynPipelineName", "pipelineName"),
    ("skipPipelineIfEmpty", "pipelineName"),
)


@loss(
    "RT240",
    why="Without retryfailures every release of rsyslog drops the documents that the engine "
    "refuses inside a bulk. The ids that it sets also prevent duplicates after a proxy's 5xx "
    "page (F2).",
    source="rsyslog plugins/omelasticsearch; seen on 8.2302",
    bad={
        "release.rsyslog": "8.2606",
        "outputs[logs].servers": ["https://es.example:9200"],
        "outputs[logs].errorfile": "/var/log/rsyslog/errors.json",
    },
    good={"outputs[logs].retryfailures": {"file": "/var/log/rsyslog/rejected.json"}},
)
def _refusals_lost(profile: Profile) -> Iterator[Complaint]:
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number, output in profile.enumerated:
        if output.retryfailures is None and remote_servers(output):
            yield Complaint(
                ("outputs", number, "retryfailures"),
                "documents that the engine refuses one by one (403, 429, or 400, for instance "
                "for a host name that is not UTF-8) are lost, which the durable tier forbids: "
                "set retryfailures: {file: /var/log/rsyslog/rejected.json}",
            )


@error(
    "RT241",
    why="rsyslog decides by the error of each item which documents to retry.",
    source="rsyslog's manual, omelasticsearch: How Retries Are Handled",
    bad={
        "outputs[logs].retryfailures.file": "/var/log/rsyslog/rejected.json",
        "outputs[logs].filter_path": ["errors", "items.*.status"],
    },
    good={"outputs[logs].filter_path": ["errors", "items.*.status", "items.*.error"]},
)
def _reasons_filtered(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        kept = set(output.filter_path or ())
        if output.retryfailures is not None and kept and not kept & _REASONS:
            yield Complaint(
                ("outputs", number, "filter_path"),
                "retryfailures reads items.*.error of each reply to decide which documents to "
                "retry: add it",
            )


@error(
    "RT242",
    why="index overwrites a document of the same id, and a data stream refuses it.",
    source="Elasticsearch, bulk API",
    bad={
        "outputs[logs].retryfailures.file": "/var/log/rsyslog/rejected.json",
        "outputs[logs].writeoperation": "index",
    },
    good={"outputs[logs].writeoperation": "create"},
)
def _overwrites(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.writeoperation == "index" and output.creates:
            what = "retryfailures" if output.retryfailures is not None else "a data stream"
            yield Complaint(
                ("outputs", number, "writeoperation"),
                f"index would overwrite documents or be refused: {what} needs create, which is "
                "used if writeoperation is left out",
            )


@error(
    "RT243",
    why="rsyslogd refuses the action.",
    source="rsyslog plugins/omelasticsearch",
    bad={
        "release.rsyslog": "8.2512",
        "outputs[logs].auth": {"uid": "shipper", "pwd": {"env": "ES_PWD"}},
        "outputs[logs].apikey": {"env": "ES_KEY"},
    },
    good={"outputs[logs].apikey": None},
)
def _two_credentials(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.auth is not None and output.apikey is not None:
            yield Complaint(
                ("outputs", number, "apikey"),
                "rsyslog refuses an API key beside uid and pwd: remove one of apikey and auth",
            )


@warning(
    "RT244",
    why="Without a certificate check TLS protects against eavesdropping, but not against "
    "somebody who poses as the engine.",
    source="libcurl, CURLOPT_SSL_VERIFYPEER",
    bad={
        "outputs[logs].servers": ["https://127.0.0.1:9200"],
        "outputs[logs].tls.skipverifyhost": True,
    },
    good={"outputs[logs].tls.skipverifyhost": False},
    at="outputs[logs].tls",
)
def _trusts_anyone(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.tls is not None and (output.tls.allowunsignedcerts or output.tls.skipverifyhost):
            yield Complaint(
                ("outputs", number, "tls"),
                "whoever answers at that address gets the events and the password: remove "
                "allowunsignedcerts and skipverifyhost, and name the authority in cacert",
            )


@error(
    "RT245",
    why="rsyslog accepts the parameter and ignores it.",
    source="rsyslog plugins/omelasticsearch",
    bad={"outputs[logs].erroronly": True},
    good={"outputs[logs].errorfile": "/var/log/rsyslog/errors.json"},
    at="outputs[logs].erroronly",
)
def _without_effect(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        written = output.model_dump(by_alias=True, exclude_none=True)
        for key, needed in _NEEDS:
            if key in written and needed not in written:
                yield Complaint(
                    ("outputs", number, key), f"{key} has no effect without {needed}: add it"
                )


@error(
    "RT246",
    why="The name of the pipeline is read from a property of the event, and events have no such "
    "property.",
    source="rsyslog's manual, configuration/properties",
    bad={"outputs[logs].dynPipelineName": True, "outputs[logs].pipelineName": "syslog"},
    good={"outputs[logs].pipelineName": "programname"},
)
def _unknown_property(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.dyn_pipeline_name and output.pipeline_name not in {None, *_NAMES}:
            yield Complaint(
                ("outputs", number, "pipelineName"),
                "with dynPipelineName this names a property of the event: use one of "
                f"{', '.join(sorted(_NAMES))}",
            )
