"""The counters that rsyslog keeps of itself."""

from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.scalars import Name, NonNegative, Positive, Switch, WordPath
from tuner.schema.section import RsyslogSection, parameter

FORMATS_SINCE = {"prometheus": 2506, "zabbix": 2512}
"""The releases that brought formats: 2506 stands for 8.2506."""
PushLabel = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}=[^\x00-\x1f\x7f]{0,1000}$")]


class Impstats(RsyslogSection):
    """impstats: rsyslog's counters, every `interval` seconds, to a file or as events."""

    interval: Annotated[int, Field(ge=1, le=86400, strict=True)] = parameter(
        "Seconds between two sets of counters.",
        "If longer than Prometheus's scrape interval, its graphs have steps.",
        value=10,
        default="rsyslog's default is 300",
    )
    format: Literal["json", "json-elasticsearch", "cee", "legacy", "prometheus", "zabbix"] = (
        parameter(
            "How the counters are written; json-elasticsearch has ! for the dots in names, "
            "prometheus (8.2506) is its text format, zabbix (8.2512) one JSON object for all.",
            "In json some names are the beginning of others, as failed and failed.http: "
            "for an index take json-elasticsearch.",
            "cee is JSON after @cee:, which parse finds without an empty cookie.",
            "prometheus calls everything a counter, sizes of queues too, and what is "
            "appended to a file is no page that Prometheus reads: take the last round.",
            value="json",
            default="json; rsyslog's own default is legacy",
        )
    )
    facility: Annotated[int, Field(ge=0, le=23, strict=True)] | None = parameter(
        "The facility of the events, as a number.", default="5, syslog"
    )
    severity: Annotated[int, Field(ge=0, le=7, strict=True)] | None = parameter(
        "The severity of the events, as a number.", default="6, info"
    )
    bracketing: Switch | None = parameter(
        "Whether BEGIN and END stand around each set of counters."
    )
    stream: Name | None = parameter(
        "The stream that gets the counters with log.syslog; without one what names none."
    )
    log_file: WordPath | None = parameter(
        "The file that counters are appended to.",
        "Its folder must exist and rsyslog's user must be able to write there.",
        "rsyslog creates it for its own user alone (0600) and never truncates it: "
        "create it beforehand if others read it, and rotate it with logrotate; after "
        "a HUP rsyslog continues in the new file.",
    )
    log_file_overwrite: Switch | None = parameter(
        "Whether each set of counters replaces the one before in log.file.",
        since=2602,
        default="off",
    )
    push_url: Annotated[str, Field(pattern=r'^https?://[^\s@`"\\]{1,1000}$')] | None = parameter(
        "The Prometheus Remote Write endpoint that counters are sent to.",
        "Only an rsyslog that is built with it knows push.*: Debian's 8.2610 does not.",
        since=2602,
    )
    push_labels: Annotated[tuple[PushLabel, ...], Field(min_length=1)] | None = parameter(
        "Labels of every metric, each name=value.", since=2602
    )
    push_timeout_ms: Positive | None = parameter(
        "Milliseconds that a request may take.", since=2602, default="5000"
    )
    push_label_instance: Switch | None = parameter(
        "Whether metrics have a label instance, the name of the host.", since=2602, default="on"
    )
    push_label_origin: Switch | None = parameter(
        "Whether metrics have a label origin, the part of rsyslog.", since=2602, default="off"
    )
    push_label_name: Switch | None = parameter(
        "Whether metrics have a label name, the object that counts.", since=2602, default="off"
    )
    push_label_job: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,100}$")] | None = parameter(
        "The label job of metrics; empty means none.", since=2602, default="rsyslog"
    )
    push_tls_ca_file: WordPath | None = parameter(
        "The CA certificates for an endpoint with https.", since=2602, alias="push.tls.cafile"
    )
    push_tls_cert_file: WordPath | None = parameter(
        "rsyslog's own certificate for mutual TLS.", since=2602, alias="push.tls.certfile"
    )
    push_tls_key_file: WordPath | None = parameter(
        "The path of the private key of that certificate.", since=2602, alias="push.tls.keyfile"
    )
    push_tls_insecure_skip_verify: Switch | None = parameter(
        "Whether any certificate is accepted.",
        "Anyone on the network path can then read the counters.",
        since=2602,
        default="off",
    )
    push_batch_max_bytes: NonNegative | None = parameter(
        "About how many bytes a request may have; 0 means any number.", since=2602, default="0"
    )
    push_batch_max_series: NonNegative | None = parameter(
        "How many time series a request may have; 0 means any number.", since=2602, default="0"
    )
    log_syslog: Switch = parameter(
        "Whether the counters become events, tagged rsyslogd-pstats.",
        "They pass through the queues that they describe.",
        value=False,
        default="rsyslog's default is on",
    )
    reset_counters: Switch = parameter(
        "Whether counters start from 0 after each report.",
        "Prometheus wants counters that only grow; sizes and high marks are not reset in any case.",
        value=False,
    )
