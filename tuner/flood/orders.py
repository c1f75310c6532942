"""The line protocol between a flood's handle and its process: orders in, statuses out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tuner.flood.pace import Runs, Schedule, schedule_of
from tuner.flood.spec import FloodProgress, FloodSpec, Punctuality
from tuner.flood.transport import Credentials, Transport


class Orphaned(Exception):
    """The other end of the line has closed it."""


@dataclass(frozen=True)
class Order:
    """May send up to `limit` messages in total: at most `per_second`, or by a schedule, or in
    runs.  Or stop."""

    limit: int = 0
    per_second: float | None = None
    stop: bool = False
    schedule: Schedule | None = None
    runs: Runs | None = None


@dataclass(frozen=True)
class SenderStatus:
    """A progress, how many orders were obeyed by then, and whether all that may go has gone."""

    progress: FloodProgress
    obeyed: int
    idle: bool
    done: bool


def line_of(item: FloodSpec | Order | SenderStatus) -> bytes:
    """Write an item as one line of JSON."""
    return json.dumps(asdict(item)).encode() + b"\n"


def spec_of(line: bytes) -> FloodSpec:
    """Read a specification line."""
    fields = json.loads(line)
    first, *beside = (_transport_of(one) for one in (fields["transport"], *fields["beside"]))
    return FloodSpec(**{**fields, "transport": first, "beside": tuple(beside)})


def _transport_of(fields: Mapping[str, Any]) -> Transport:
    given = fields["credentials"]
    credentials = None if given is None else Credentials(**given)
    return Transport(tuple(fields["targets"]), fields["kind"], credentials, fields["source"])


def order_of(line: bytes) -> Order:
    """Read an order line."""
    fields = json.loads(line)
    if fields["schedule"] is not None:
        fields["schedule"] = schedule_of(fields["schedule"])
    if fields["runs"] is not None:
        fields["runs"] = Runs(**fields["runs"])
    return Order(**fields)


def status_of(line: bytes) -> SenderStatus:
    """Read a status line."""
    fields = json.loads(line)
    progress = fields["progress"]
    if progress["punctuality"] is not None:
        progress["punctuality"] = Punctuality(**progress["punctuality"])
    return SenderStatus(**{**fields, "progress": FloodProgress(**progress)})


class Orders:
    """The lines that come in on a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._begun_line = b""

    def spec(self) -> FloodSpec:
        """Wait for the first line, the specification."""
        while not (lines := self._lines()):
            pass
        return spec_of(lines[0])

    def come(self) -> list[Order]:
        """Read the orders that are there, waiting for input; raises Orphaned at its end."""
        return [order_of(line) for line in self._lines()]

    def _lines(self) -> list[bytes]:
        chunk = os.read(self.descriptor, 65536)
        if not chunk:
            raise Orphaned
        *lines, self._begun_line = (self._begun_line + chunk).split(b"\n")
        return lines


def write_all(descriptor: int, line: bytes) -> None:
    """Write a whole line; raises Orphaned when nobody reads any more."""
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    except BrokenPipeError as error:
        raise Orphaned from error
