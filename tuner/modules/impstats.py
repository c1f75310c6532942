"""The counters that rsyslog keeps of itself."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.in_profile import InProfile
from tuner.rule import Complaint, advice, error
from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import Name, NonNegative, Positive, Switch, WordPath
from tuner.schema.section import RsyslogSection

_FORMATS_SINCE = {"prometheus": 2506, "zabbix": 2512}
PushLabel = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}=[^\x00-\x1f\x7f]{0,1000}$")]


class Impstats(RsyslogSection):
    """impstats: rsyslog's counters, every `interval` seconds, to a file or as events."""

    interval: Annotated[
        int,
        Field(ge=1, le=86400, strict=True),
        Doc(
            "Seconds between two sets of counters.",
            default="rsyslog's default is 300",
            traps=(("If longer than Prometheus's scrape interval, its graphs have steps."),),
        ),
    ] = 10
    format: Annotated[
        Literal["json", "json-elasticsearch", "cee", "legacy", "prometheus", "zabbix"],
        Doc(
            "How the counters are written; json-elasticsearch has ! for the dots in names, "
            "prometheus (8.2506) is its text format, zabbix (8.2512) one JSON object for all.",
            default="json; rsyslog's own default is legacy",
            traps=(
                (
                    "In json some names are the beginning of others, as failed and failed.http: "
                    "for an index take json-elasticsearch."
                ),
                "cee is JSON after @cee:, which parse finds without an empty cookie.",
                (
                    "prometheus calls everything a counter, sizes of queues too, and what is "
                    "appended to a file is no page that Prometheus reads: take the last round."
                ),
            ),
        ),
    ] = "json"
    facility: Annotated[
        Annotated[int, Field(ge=0, le=23, strict=True)] | None,
        Doc("The facility of the events, as a number.", default="5, syslog"),
    ] = None
    severity: Annotated[
        Annotated[int, Field(ge=0, le=7, strict=True)] | None,
        Doc("The severity of the events, as a number.", default="6, info"),
    ] = None
    bracketing: Annotated[
        Switch | None, Doc("Whether BEGIN and END stand around each set of counters.")
    ] = None
    stream: Annotated[
        Name | None,
        Doc("The stream that gets the counters with log.syslog; without one what names none."),
    ] = None
    log_file: Annotated[
        WordPath | None,
        Doc(
            "The file that counters are appended to.",
            traps=(
                "Its folder must exist and rsyslog's user must be able to write there.",
                (
                    "rsyslog creates it for its own user alone (0600) and never truncates it: "
                    "create it beforehand if others read it, and rotate it with logrotate; after "
                    "a HUP rsyslog continues in the new file."
                ),
            ),
        ),
    ] = Field(None, alias="log.file")
    log_file_overwrite: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether each set of counters replaces the one before in log.file.", default="off"),
    ] = Field(None, alias="log.file.overwrite")
    push_url: Annotated[
        Annotated[str, Field(pattern=r'^https?://[^\s@`"\\]{1,1000}$')] | None,
        Since(2602),
        Doc(
            "The Prometheus Remote Write endpoint that counters are sent to.",
            traps=(
                "Only an rsyslog that is built with it knows push.*: Debian's 8.2610 does not.",
            ),
        ),
    ] = Field(None, alias="push.url")
    push_labels: Annotated[
        Annotated[tuple[PushLabel, ...], Field(min_length=1)] | None,
        Since(2602),
        Doc("Labels of every metric, each name=value."),
    ] = Field(None, alias="push.labels")
    push_timeout_ms: Annotated[
        Positive | None, Since(2602), Doc("Milliseconds that a request may take.", default="5000")
    ] = Field(None, alias="push.timeout.ms")
    push_label_instance: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether metrics have a label instance, the name of the host.", default="on"),
    ] = Field(None, alias="push.label.instance")
    push_label_origin: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether metrics have a label origin, the part of rsyslog.", default="off"),
    ] = Field(None, alias="push.label.origin")
    push_label_name: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether metrics have a label name, the object that counts.", default="off"),
    ] = Field(None, alias="push.label.name")
    push_label_job: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,100}$")] | None,
        Since(2602),
        Doc("The label job of metrics; empty means none.", default="rsyslog"),
    ] = Field(None, alias="push.label.job")
    push_tls_ca_file: Annotated[
        WordPath | None, Since(2602), Doc("The CA certificates for an endpoint with https.")
    ] = Field(None, alias="push.tls.cafile")
    push_tls_cert_file: Annotated[
        WordPath | None, Since(2602), Doc("rsyslog's own certificate for mutual TLS.")
    ] = Field(None, alias="push.tls.certfile")
    push_tls_key_file: Annotated[
        WordPath | None, Since(2602), Doc("The path of the private key of that certificate.")
    ] = Field(None, alias="push.tls.keyfile")
    push_tls_insecure_skip_verify: Annotated[
        Switch | None,
        Since(2602),
        Doc(
            "Whether any certificate is accepted.",
            default="off",
            traps=("Anyone on the network path can then read the counters.",),
        ),
    ] = Field(None, alias="push.tls.insecureSkipVerify")
    push_batch_max_bytes: Annotated[
        NonNegative | None,
        Since(2602),
        Doc("About how many bytes a request may have; 0 means any number.", default="0"),
    ] = Field(None, alias="push.batch.maxBytes")
    push_batch_max_series: Annotated[
        NonNegative | None,
        Since(2602),
        Doc("How many time series a request may have; 0 means any number.", default="0"),
    ] = Field(None, alias="push.batch.maxSeries")
    log_syslog: Annotated[
        Switch,
        Doc(
            "Whether the counters become events, tagged rsyslogd-pstats.",
            default="rsyslog's default is on",
            traps=("They pass through the queues that they describe.",),
        ),
    ] = Field(False, alias="log.syslog")
    reset_counters: Annotated[
        Switch,
        Doc(
            "Whether counters start from 0 after each report.",
            traps=(
                (
                    "Prometheus wants counters that only grow; sizes and high marks are not "
                    "reset in any case."
                ),
            ),
        ),
    ] = False


@error(
    "RT140",
    why="impstats counts, but its counters are written nowhere: wasted CPU time.",
    source="rsyslog plugins/impstats",
    bad={"impstats": {"interval": 10}},
    good={"impstats": {"interval": 10, "log.file": "/var/log/rsyslog/impstats.log"}},
)
def _goes_nowhere(asked: InProfile[Impstats]) -> Iterator[Complaint]:
    if asked.section.stream is not None and not asked.section.log_syslog:
        yield Complaint((), "the stream gets no counters: add log.syslog: on")
    elif not (asked.section.log_file or asked.section.log_syslog or asked.section.push_url):
        yield Complaint(
            (),
            "the counters are written nowhere: add log.file: /var/log/rsyslog/impstats.log, or "
            "log.syslog: on to have them among the events",
        )


@advice(
    "RT141",
    why="Counters that are events pass through the queues that they describe, and are missing "
    "when they are needed.",
    source="rsyslog's manual, impstats",
    bad={"impstats": {"log.syslog": True}},
    good={"impstats": {"log.file": "/var/log/rsyslog/impstats.log"}},
    at="impstats.log.syslog",
)
def _counts_itself(asked: InProfile[Impstats]) -> Iterator[Complaint]:
    if asked.section.log_syslog and asked.section.stream is None:
        yield Complaint(
            ("log.syslog",),
            "the counters become events: they are indexed and counted like the others, and wait or "
            "are lost with them when a queue is full: use log.file, or name a stream of their own",
        )


@advice(
    "RT142",
    why="Prometheus's rate() treats every drop of a counter as a restart, and adds what was "
    "counted before.",
    source="Prometheus' documentation, rate(); rsyslog's manual, impstats",
    bad={"impstats": {"log.file": "/var/log/rsyslog/impstats.log", "resetCounters": True}},
    good={"impstats.resetCounters": False},
)
def _starts_anew(asked: InProfile[Impstats]) -> Iterator[Complaint]:
    if asked.section.reset_counters:
        yield Complaint(
            ("resetCounters",),
            "counters that start from 0 each time give wrong rates in Prometheus, which treats "
            "every drop as a restart: remove it",
        )


@error(
    "RT143",
    why="rsyslogd refuses a format that it does not know, and writes no counters at all.",
    source="rsyslog plugins/impstats; its tags",
    bad={"impstats": {"log.file": "/var/log/rsyslog/impstats.log", "format": "prometheus"}},
    good={"impstats.format": "json"},
)
def _format_too_new(asked: InProfile[Impstats]) -> Iterator[Complaint]:
    first = _FORMATS_SINCE.get(asked.section.format, 0)
    if asked.release.rsyslog_number < first:
        yield Complaint(
            ("format",),
            f"impstats has the format {asked.section.format} since rsyslog 8.{first}, and "
            f"release.rsyslog is {asked.release.rsyslog}: use json, or raise the release once "
            "every host runs it",
        )
