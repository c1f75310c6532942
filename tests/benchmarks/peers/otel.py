"""The OpenTelemetry Collector with contrib's exporter for Elasticsearch, built from its modules.

The mirror has the exporter in version 0.150.0 alone, and contrib's receivers of that version not:
what takes lines over TCP is contrib's own (pkg/stanza), set up as its receiver tcplog sets it up.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.peer import Place, Tuning
from tuner.engine.numbering import FIELD, FIRST_OUTPUT, MICRO_DIGITS
from tuner.lab.distribution import cache_folder

_SOURCE = Path(__file__).parent / "otelcol"
_NUMBER = f"{FIRST_OUTPUT}{'0' * MICRO_DIGITS} + timestamp.UnixMicro() % 1{'0' * MICRO_DIGITS}"
# The exporter's own way to take the body as the document.
_BODY_IS_DOCUMENT = {
    "context": "scope",
    "statements": ['set(attributes["elastic.mapping.mode"], "bodymap")'],
}
_MOVED = {
    "appname": "program", "hostname": "host", "priority": "severity", "facility_text": "facility",
}  # fmt: skip
_LEFT = ("version", "timestamp", "proc_id", "msg_id", "structured_data")


@dataclass(frozen=True)
class Otel:
    """The collector of one version."""

    release: str = "0.150.0"

    @property
    def name(self) -> str:
        """Its name, with the release."""
        return f"OpenTelemetry Collector {self.release}"

    @property
    def program(self) -> Path:
        """Where it is built."""
        return cache_folder() / "peers" / f"otelcol-{self.release}"

    def configuration(self, at: Place, tuning: Tuning | None) -> str:
        """JSON, which is YAML.  Stock: the exporter's own queue and batches; tuned: a queue that
        lets senders wait."""
        exporter: dict[str, object] = {
            "endpoints": [at.engine], "logs_index": at.index,
        }  # fmt: skip
        if tuning is not None:
            exporter["sending_queue"] = {
                "enabled": True, "block_on_overflow": True, "sizer": "items",
                "num_consumers": tuning.workers, "queue_size": 50_000 + tuning.batch,
                "batch": {
                    "min_size": tuning.batch, "max_size": tuning.batch, "flush_timeout": "500ms",
                    "sizer": "items",
                },
            }  # fmt: skip
        data = {
            "receivers": {
                "tcplog": {"listen_address": f"127.0.0.1:{at.port}", "operators": _operators()}
            },
            "processors": {"transform": {"log_statements": [_BODY_IS_DOCUMENT]}},
            "exporters": {"elasticsearch": exporter},
            "service": {
                "telemetry": {"metrics": {"level": "none"}},
                "pipelines": {
                    "logs": {
                        "receivers": ["tcplog"],
                        "processors": ["transform"],
                        "exporters": ["elasticsearch"],
                    }
                },
            },
        }
        return json.dumps(data, indent=1)

    def command(self, at: Place, configuration: Path) -> list[str]:
        """The collector in the foreground."""
        return [str(self.program), f"--config=file:{configuration}"]

    def fetch(self) -> None:
        """Build it, once: some minutes."""
        if self.program.is_file():
            return
        self.program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["go", "build", "-o", str(self.program), "."], cwd=_SOURCE, check=True,
            env={**os.environ, "GOFLAGS": "-mod=readonly"},
        )  # fmt: skip


def _operators() -> list[dict[str, object]]:
    """What makes the same document of a message as the others do; severity is a number here."""
    stamp = 'timestamp.Format("2006-01-02T15:04:05.000000Z07:00")'
    moved = (
        dict[str, object]({"type": "move", "from": f"body.{old}", "to": f"body.{new}"})
        for old, new in _MOVED.items()
    )
    left = (
        dict[str, object]({"type": "remove", "field": f"body.{name}", "on_error": "send_quiet"})
        for name in _LEFT
    )
    return [
        {
            "type": "syslog_parser", "protocol": "rfc5424", "parse_to": "body",
            "timestamp": {"parse_from": "body.timestamp", "layout_type": "native"},
        },
        {"type": "add", "field": 'body["@timestamp"]', "value": f"EXPR({stamp})"},
        {"type": "add", "field": f"body.{FIELD}", "value": f"EXPR({_NUMBER})"},
        *moved,
        *left,
    ]  # fmt: skip
