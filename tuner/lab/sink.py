"""The handle of the sink: our own `_bulk` endpoint, which counts exactly and stores nothing; and
the faults that it can be told to have, as a reader would write them: `status=429,after=5`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tuner.errors import BadUsage, JobFailed
from tuner.host.process import Child
from tuner.reading import table

# At a load of 20 on two cores 15 s were not enough.
START_TIMEOUT_S = 60.0


class Sink(Child):
    """A sink in a process of its own on loopback, for a `with` statement; port 0 takes a free one.

    Its process ends with the statement, and when we die.  It goes wrong in the ways of `faults`,
    and keeps the first `keep` documents as they came, but no more than 64 MiB of them.
    """

    def __init__(self, port: int = 0, faults: Sequence[Fault] = (), keep: int = 0) -> None:
        options = [word for fault in faults for word in ("--fault", str(fault))]
        self._options = [*options, "--keep", str(keep)]
        self._start(port)

    @property
    def url(self) -> str:
        """The address at which it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start_again(self) -> None:
        """Another process on the same port, whatever has become of the last."""
        self.stop()
        self._start(self.port)

    def _start(self, port: int) -> None:
        super().__init__("tuner.lab.sink_server", ["--port", str(port), *self._options])
        try:
            line = self.answer(START_TIMEOUT_S)
            if line is None:
                raise JobFailed(
                    f"the sink did not start within {START_TIMEOUT_S:g} s: this machine is very "
                    "busy"
                )
            if line == b"":
                raise JobFailed(f"the sink did not start: {self.complaint()}")
            self.port = int(json.loads(line)["port"])
        except BaseException:
            self.stop()
            raise


DEFAULT_AFTER = 5


class FaultKind(Enum):
    """What goes wrong, and whether the events of the request are stored all the same."""

    STATUS = "status"
    HTML = "html"
    EMPTY = "empty"
    ERRORS = "errors"
    ITEMS = "items"
    LIMIT = "limit"
    TRUNCATE = "truncate"
    RESET = "reset"
    RESET_BEFORE = "reset-before"
    DELAY = "delay"
    HANG = "hang"
    DROP_EVENT = "drop-event"
    DOUBLE_EVENT = "double-event"

    @property
    def meaning(self) -> str:
        """What it does, in a few words."""
        return str(table("lab/sink_faults.toml")[self.value]["meaning"])

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The least and the most of its value; None where it takes none."""
        facts = table("lab/sink_faults.toml")[self.value]
        return (float(facts["least"]), float(facts["most"])) if "least" in facts else None

    @property
    def is_of_an_event(self) -> bool:
        """Whether it hits one event by its sequence number, not a whole request."""
        return self in {FaultKind.DROP_EVENT, FaultKind.DOUBLE_EVENT}


@dataclass(frozen=True)
class Fault:
    """One fault: bulk requests number `after` (from 1) and on have it, `times` of them.

    `value` is the status, the seconds or the event's sequence number.  A fault of an event does
    not look at `after`: it hits the first `times` arrivals of the event.
    """

    kind: FaultKind
    value: float = 0.0
    after: int = DEFAULT_AFTER
    times: int = 1

    def __str__(self) -> str:
        value = f"={self.value:.12g}" if self.kind.bounds else ""
        after = "" if self.kind.is_of_an_event else f",after={self.after}"
        return f"{self.kind.value}{value}{after},times={self.times}"

    def applies_to(self, request: int) -> bool:
        """Whether the bulk request with this number has it."""
        return self.after <= request < self.after + self.times


def parse_fault(text: str) -> Fault:
    """Read a fault such as `status=429,after=5,times=1`; raises BadUsage."""
    parts = (part.partition("=") for part in text.split(","))
    (name, value), *options = ((name.strip(), value.strip()) for name, _, value in parts)
    try:
        kind = FaultKind(name)
    except ValueError:
        kinds = ", ".join(kind.value for kind in FaultKind)
        raise BadUsage(f"--fault {text}: {name!r} is not a fault: use one of {kinds}") from None
    counts = {"after": DEFAULT_AFTER, "times": 1}
    for option, number in options:
        if option not in counts or (option == "after" and kind.is_of_an_event):
            raise BadUsage(f"--fault {text}: {kind.value} takes no {option!r}")
        if not number.isdecimal() or int(number) < 1:
            raise BadUsage(f"--fault {text}: {option} wants a whole number from 1 on")
        counts[option] = int(number)
    return Fault(kind, _value(kind, value, text), counts["after"], counts["times"])


def _value(kind: FaultKind, value: str, text: str) -> float:
    if kind.bounds is None:
        if value:
            raise BadUsage(f"--fault {text}: {kind.value} takes no value")
        return 0.0
    least, most = kind.bounds
    try:
        number = float(value)
    except ValueError:
        number = least - 1
    whole = kind is FaultKind.DELAY or number.is_integer()
    if not (whole and least <= number <= most):
        unit = "seconds" if kind is FaultKind.DELAY else "a whole number"
        raise BadUsage(
            f"--fault {text}: {kind.value} wants {unit} from {least:.12g} to {most:.12g}"
        )
    return number
