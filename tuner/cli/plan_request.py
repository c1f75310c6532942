"""The options of `rsyslog-tune plan` as the request that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from typing import Any

from tuner.cli.plan_options import Machines, Promise, Stream
from tuner.errors import BadUsage
from tuner.plan.request import Request
from tuner.plan.scaling import Level
from tuner.schema.units import count, engine_bytes, seconds, share


@dataclass
class Reader:
    """Reads the texts of options, and collects what is wrong with them."""

    problems: list[str] = field(default_factory=list)

    def number(
        self,
        option: str,
        text: str | None,
        read: Callable[[str], float | None],
        wanted: str,
        fits: Callable[[float], bool] = lambda value: value > 0,
    ) -> float | None:
        """The number that `text` says; None when there is no text, or it is wrong."""
        if text is None:
            return None
        value = read(text.strip())
        if value is not None and math.isfinite(value) and fits(value):
            return value
        self.problems.append(f"{option} {text}: write {wanted}")
        return None

    def whole(self, option: str, text: str | None, least: int) -> int | None:
        """As `number`, for whole ones from `least` on."""
        wanted = f"a whole number, {least} or more"
        found = self.number(
            option, text, count, wanted, lambda value: value >= least and value == int(value)
        )
        return None if found is None else int(found)

    def levels(self, text: str | None) -> tuple[Level, ...]:
        """The levels of --scaling."""
        found = []
        for part in (text or "").split(",") if text else ():
            machines, _, eps = part.partition("=")
            number, rate = count(machines.strip()), count(eps.strip())
            if not number or not rate or number != int(number):
                self.problems.append(
                    f"--scaling {part}: write data nodes = events per second, such as 2=115k"
                )
                continue
            found.append(Level(int(number), rate))
        return tuple(found)

    def exclude(self, first: str, second: str, told: Mapping[str, str | None]) -> None:
        """Note that both were told."""
        if told[first] is not None and told[second] is not None:
            self.problems.append(f"{first} and {second} exclude one another: leave one out")

    def finish(self) -> None:
        """Raise BadUsage with everything that was wrong."""
        if self.problems:
            raise BadUsage("\n".join(self.problems))


def request_of(stream: Stream, promise: Promise, machines: Machines) -> Request:
    """The request that the options make; raises BadUsage with every problem at once."""
    reader = Reader()
    made = replace(
        _stream(reader, stream),
        **_promise(reader, promise),
        **_machines(reader, machines),
        levels=reader.levels(machines.scaling),
    )
    told = {
        f"--{one.name.replace('_', '-')}": getattr(machines, one.name) for one in fields(machines)
    }
    reader.exclude("--collector-eps", "--collector-cores", told)
    for first, second in combinations(("--node-eps", "--node-cores", "--scaling"), 2):
        reader.exclude(first, second, told)
    reader.finish()
    return made


def _stream(reader: Reader, said: Stream) -> Request:
    number = reader.number
    rate = number(
        "--rate",
        said.rate,
        count,
        "events per second such as 10000, 50k or 10M, from 1 to 1G",
        lambda one: 1 <= one <= 1e9,
    )
    return Request(
        rate=rate or 0.0,
        message_bytes=number("--message-bytes", said.message_bytes, count, "bytes, such as 244"),
        bytes_per_event=number(
            "--bytes-per-event", said.bytes_per_event, count, "bytes, such as 190"
        ),
        peak=number("--peak", said.peak, count, "a factor, 1 or more", lambda one: one >= 1),
        growth=number("--growth", said.growth, share, "a share such as 30%", lambda one: one >= 0),
        senders=reader.whole("--senders", said.senders, 1),
        gzip_ratio=number(
            "--gzip-ratio", said.gzip_ratio, count, "a factor, 1 or more", lambda one: one >= 1
        ),
    )


def _promise(reader: Reader, said: Promise) -> dict[str, Any]:
    number = reader.number
    return {
        "retention_s": number("--retention", said.retention, seconds, "a time such as 30d or 12h"),
        "outage_s": number("--outage", said.outage, seconds, "a time such as 15m or 4h"),
        "replicas": reader.whole("--replicas", said.replicas, 0),
        "headroom": number(
            "--headroom",
            said.headroom,
            share,
            "a share above 0% and below 100%: nothing is planned for full use",
            lambda one: 0 < one < 1,
        ),
    }


def _machines(reader: Reader, said: Machines) -> dict[str, Any]:
    number, rate, cores = reader.number, "a rate such as 60k", "how many, such as 8"
    size = "a size such as 8tb or 50gb, without a fraction"
    return {
        "collector_eps": number("--collector-eps", said.collector_eps, count, rate),
        "collector_cores": number("--collector-cores", said.collector_cores, count, cores),
        "node_eps": number("--node-eps", said.node_eps, count, rate),
        "node_cores": number("--node-cores", said.node_cores, count, cores),
        "node_disk_bytes": number("--node-disk", said.node_disk, engine_bytes, size),
        "shard_bytes": number("--shard-size", said.shard_size, engine_bytes, size),
    }
