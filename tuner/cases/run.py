"""What a configuration makes of messages: it runs on a real rsyslogd in a lab and gets them one
after the other.  Of each a run tells what reached the sink and the files that stand for all other
places."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from tuner.cases.script import CaseScript
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept
from tuner.errors import JobFailed, ProgramMissing
from tuner.host.process import open_given, own_environment, wait_until
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.modules.input import LOOPBACK
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.script import Block
from tuner.validate.arrival import Arrival
from tuner.validate.comparable import LISTENERS
from tuner.validate.delivery import (
    arrivals,
    await_same,
    bytes_below,
    enter,
    entrance,
    opened,
    outside,
)
from tuner.validate.rsyslogd import check, packages_to_install

_KEPT = 100_000
_PATIENCE_S = 20.0
_QUIET_S = 0.15
_FINISH_S = 10.0


@dataclass(frozen=True)
class Sent:
    """A message as it is sent: by which input, and from which address."""

    input: str
    message: bytes
    sender: str = LOOPBACK


@dataclass(frozen=True)
class Came:
    """What came of a message by one output."""

    output: str
    arrival: Arrival


@dataclass(frozen=True)
class Surface:
    """What tests of a configuration can name: its inputs, each with the kind of its entry, and its
    outputs; and what is not tested."""

    inputs: Mapping[str, str]
    outputs: tuple[str, ...]
    gaps: tuple[Gap, ...]


def surface(block: Block) -> Surface:
    """What tests of a configuration can name."""
    script = CaseScript("http://127.0.0.1:9", "/lab", mark="-")
    script.text(block)
    # Messages come from other machines where they can.
    ways = sorted(script.ways.items(), key=lambda way: way[1].kind not in LISTENERS)
    return Surface(
        {name: one.kind for name, one in ways},
        tuple(script.outputs),
        tuple(script.gaps),
    )


def run(
    block: Block, messages: Sequence[Sent], time_zone: str | None = None
) -> tuple[tuple[Came, ...], ...]:
    """What came of each message, sent in this order to one rsyslogd, in that time zone or this
    machine's.  Raises JobFailed where rsyslogd does not take the configuration or a message, and
    ProgramMissing where it lacks a module."""
    with (
        scratch(Path(tempfile.gettempdir())) as folder,
        Sink(keep=_KEPT) as sink,
        ExitStack() as stack,
    ):
        here = subfolder(folder, "rsyslogd")
        script = CaseScript(sink.url, str(here), mark=f"#{secrets.token_hex(8)}#")
        text = script.text(block)
        _require_accepted(text)
        files = stack.enter_context(opened(script.entries))
        environment = own_environment() | ({} if time_zone is None else {"TZ": time_zone})
        rsyslogd = Rsyslogd(text, here, [entrance(one) for one in script.entries], environment)
        with closing(EngineClient(sink.url)) as client:
            try:
                for number, one in enumerate(messages):
                    _send(script, number, one, files, rsyslogd)
                written = Path(script.written)
                # Rulesets may have queues of their own.
                await_same(lambda: (bytes_below(written), kept(client)), _QUIET_S, _PATIENCE_S)
                rsyslogd.stop(_FINISH_S)
                came = [*_documents(kept(client)), *_lines(written)]
            finally:
                rsyslogd.stop()
    names = {number: name for name, number in script.outputs.items()}
    found: list[list[Came]] = [[] for _ in messages]
    for case, output, arrival in came:
        if case.isdecimal() and output in names:
            found[int(case)].append(Came(names[output], outside(arrival, script.read)))
    return tuple(map(tuple, found))


def _require_accepted(text: str) -> None:
    verdict = check(text)
    missing = packages_to_install(verdict.complaints)
    if missing or verdict.lacks_module:
        raise ProgramMissing("; ".join(missing or verdict.complaints))
    if not verdict.accepted:
        raise JobFailed("rsyslogd rejects the configuration: " + "; ".join(verdict.complaints))


def _send(
    script: CaseScript,
    number: int,
    one: Sent,
    files: Mapping[str, BinaryIO],
    rsyslogd: Rsyslogd,
) -> None:
    """Send a message between two of ours, and wait until rsyslogd has worked on the second."""
    after = f"{number}-"
    messages = (*script.message(str(number)), one.message, *script.message(after))
    try:
        enter(script.ways[one.input], files, messages, rsyslogd, one.sender)
    except OSError as error:
        rsyslogd.check()
        raise JobFailed(f"{one.input} takes no message: {error.strerror or error}") from None
    fence = Path(script.fence)

    def has_passed() -> bool:
        rsyslogd.check()
        return fence.is_file() and after.encode() in fence.read_bytes().split(b"\n")

    if not wait_until(has_passed, _PATIENCE_S, poll_s=0.002):
        raise JobFailed(
            f"{one.input} took a message, and within {_PATIENCE_S:g} s none came to its ruleset: "
            "parameters of the input, such as a rate limit, may drop it"
        )


def _documents(lines: bytes) -> Iterator[tuple[str, str, Arrival]]:
    """The documents in bulks, with their cases and outputs, which their indices say."""
    for one in arrivals(lines):
        case, number, index = one.index.split("/", 2)
        yield case[1:], number, replace(one, index=index)


def _lines(folder: Path) -> Iterator[tuple[str, str, Arrival]]:
    """The lines of files, with their cases and outputs, which their folders say."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        case, number, kind, *rest = path.relative_to(folder).parts
        place = "/" + "/".join(rest) if kind == "files" else rest[0].replace("|", "/")
        with open_given(path) as file:
            lines = file.read().removesuffix(b"\n").split(b"\n")
        for line in filter(None, lines) if kind == "sent" else lines:
            text = line.decode("utf-8", "replace")
            yield case[1:], number, Arrival(place, None, text, place=place)
