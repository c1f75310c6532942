"""What a benchmark of shippers asks of each."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tuner.engine.numbering import FIELD, MAPPING
from tuner.schema.numerals import counted

BATCHES, WORKERS = (1000, 4000), (1, 2, 4)
"""The grid in which each peer is taken at its best."""
INDEX: dict[str, object] = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "5s"},
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "@timestamp": {"type": "date"},
            **{key: {"type": "keyword"} for key in ("host", "program", "severity", "facility")},
            "message": {"type": "text"},
            FIELD: MAPPING,
        },
    },
}
"""The same index for all, in which nothing that a peer adds finds a place."""


@dataclass(frozen=True)
class Place:
    """Where a peer takes events and sends documents: its port, the engine's URL, the index, and a
    folder of its own."""

    port: int
    engine: str
    index: str
    folder: Path


@dataclass(frozen=True)
class Tuning:
    """Documents of a bulk request, and requests at a time."""

    batch: int
    workers: int

    def __str__(self) -> str:
        return f"batches of {self.batch:,}, {counted(self.workers, 'worker')}"


class Peer(Protocol):
    """A shipper, which takes RFC 5424 over TCP with a line end behind each message."""

    @property
    def name(self) -> str:
        """What it is called, with its release."""

    def configuration(self, at: Place, tuning: Tuning | None) -> str:
        """Its configuration, None: as its documentation shows it first."""

    def command(self, at: Place, configuration: Path) -> list[str]:
        """What starts it in the foreground."""


def started(peer: Peer, at: Place, tuning: Tuning | None) -> subprocess.Popen[bytes]:
    """Its process, in a group of its own; what it says goes to a file."""
    configuration = at.folder / "configuration"
    configuration.write_text(peer.configuration(at, tuning), encoding="utf-8")
    with (at.folder / "said").open("wb") as said:
        return subprocess.Popen(
            peer.command(at, configuration), stdout=said, stderr=said, cwd=at.folder,
            start_new_session=True,
        )  # fmt: skip
