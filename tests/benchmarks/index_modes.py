"""What each mode of an index costs, and what searches cost there.  Run by hand:

python -m tests.benchmarks.index_modes [--documents 1000000] [--rounds 15] [--production]

One engine has an index of each mode, with the mapping that the same profile is rendered to; with
--production the profile is examples/published/p1-production.yaml, and its index as written, with a
dynamic mapping, stands first.  They get the same documents in turns, in an order that is drawn for
each, and are searched so.  Ratios are those of a turn to the first index in the same turn: their
median, and the middle half.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.profile.examples import small
from tuner.engine.client import EngineClient, number_at
from tuner.engines.release import Release
from tuner.engines.settings import MODES
from tuner.engines.versions import distribution_for
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import render

TURNS, BULK = 20, 5000
_NDJSON = {"Content-Type": "application/x-ndjson"}
START_S = 1_767_225_600
HOSTS, PROGRAMS, USERS = 500, ("sshd", "cron", "kernel", "nginx", "postfix", "systemd"), 3000
TEXTS = (
    "Failed password for {user} from {address} port {number} ssh2",
    "Accepted publickey for {user} from {address} port {number} ssh2",
    "connect from unknown[{address}]",
    "Started Session {number} of user {user}.",
    "GET /index/{number} HTTP/1.1 200 from {address}",
    "out of memory: killed process {number} ({user})",
)
DOCUMENT = [
    {"property": "timereported", "name": "@timestamp", "type": "date",
     "uses": ["range", "aggregate", "retrieve"]},
    {"property": "hostname", "name": "host.name", "uses": ["term", "aggregate", "retrieve"]},
    {"property": "programname", "name": "process.name", "uses": ["term", "aggregate", "retrieve"]},
    {"property": "syslogseverity", "name": "severity", "type": "integer",
     "uses": ["term", "range", "aggregate", "retrieve"]},
    {"property": "msg", "name": "message", "uses": ["full_text", "phrase", "retrieve"]},
]  # fmt: skip


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


PRODUCTION = Path(__file__).parents[2] / "examples/published/p1-production.yaml"
_AS_WRITTEN = "as written"
_NAMES = ("debug", "info", "notice", "warning", "err", "crit", "alert", "emerg")


def own(stamp: str, host: str, program: str, severity: int, text: str) -> dict[str, object]:
    """A document of DOCUMENT's fields."""
    return {
        "@timestamp": stamp, "host": {"name": host}, "process": {"name": program},
        "severity": severity, "message": text,
    }  # fmt: skip


def of_production(
    stamp: str, host: str, program: str, severity: int, text: str
) -> dict[str, object]:
    """A document of the preset sematext."""
    return {
        "@timestamp": stamp, "host": host, "severity": _NAMES[severity], "facility": "daemon",
        "syslogtag": f"{program}:", "message": text,
    }  # fmt: skip


def profiles(*, is_production: bool) -> Mapping[str, Profile]:
    """The profile of each index, by its name."""
    if not is_production:
        changes: dict[str, object] = {
            "release": {"elasticsearch": "9.5"}, "outputs[logs].document": DOCUMENT,
        }  # fmt: skip
        settings = {"number_of_replicas": 0, "refresh_interval": "30s"}
        return {
            mode: small(
                {**changes, "outputs[logs].index": {
                    "name": "modes", "settings": {**settings, "mode": mode}}}
            )
            for mode in MODES
        }  # fmt: skip
    text = edit(PRODUCTION.read_text("utf-8"), {"release": {"elasticsearch": "9.5"}})
    index = "outputs[logs].index"
    made = {_AS_WRITTEN: text} | {
        mode: edit(text, {f"{index}.mapping": "explicit", f"{index}.settings.mode": mode})
        for mode in MODES
    }
    return {name: parse_profile(text, "production.yaml").profile for name, text in made.items()}


def documents(turn: int, count: int, made: Callable[..., dict[str, object]]) -> Iterator[str]:
    """Bulks of the documents of a turn."""
    drawn = random.Random(turn)
    lines: list[str] = []
    for number in range(turn * count, (turn + 1) * count):
        second = START_S + number // 100
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        text = drawn.choice(TEXTS).format(
            user=f"user{drawn.randrange(USERS)}",
            address=".".join(str(drawn.randrange(256)) for _ in range(4)),
            number=drawn.randrange(65536),
        )
        document = made(
            f"{stamp}.{number % 100:02}0Z", f"host{drawn.randrange(HOSTS)}",
            drawn.choice(PROGRAMS), drawn.randrange(8), text,
        )  # fmt: skip
        lines.append('{"create":{}}\n' + json.dumps(document) + "\n")
        if len(lines) == BULK:
            yield "".join(lines)
            lines.clear()
    if lines:
        yield "".join(lines)


def searches(
    drawn: random.Random, last_s: int, *, is_production: bool
) -> Mapping[str, dict[str, object]]:
    """One search of each kind that the profile's uses want, with values that no search before
    had."""
    host, user = f"host{drawn.randrange(HOSTS)}", f"user{drawn.randrange(USERS)}"
    start = START_S + drawn.randrange(max(1, last_s - START_S - 600))
    stamps = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in (start, start + 600))
    since, until = stamps
    times = {"range": {"@timestamp": {"gte": since, "lt": until}}}
    field = "host" if is_production else "host.name"
    by_host = {"terms": {"field": field, "size": 10}}
    every: dict[str, dict[str, object]] = {
        "term": {"query": {"term": {field: host}}},
        "word": {"query": {"match": {"message": user}}},
        "phrase": {"query": {"match_phrase": {"message": f"password for {user}"}}},
        "range of times": {"query": times},
        "range of numbers": {"query": {"range": {"severity": {"gte": drawn.randrange(1, 7)}}}},
        "aggregation": {"size": 0, "query": times, "aggs": {"hosts": by_host}},
        "aggregation of all": {"size": 0, "aggs": {"hosts": by_host}},
        "newest 100": {"size": 100, "sort": [{"@timestamp": "desc"}]},
    }
    unwanted = ("phrase", "range of numbers") if is_production else ()
    return {name: body for name, body in every.items() if name not in unwanted}


def group_cpu_s(group: int) -> float:
    """Seconds of CPU that the processes of a group have used."""
    used_s = 0.0
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group:
                times = process.cpu_times()
                used_s += times.user + times.system
    return used_s


class Modes:
    """An index of each profile in one engine."""

    def __init__(self, client: EngineClient, group: int, of_index: Mapping[str, Profile]) -> None:
        self._group, self.names = group, tuple(of_index)
        self._client, self._session = client, client.new_session()
        for name, profile in of_index.items():
            files = {file.path: file.text for file in render(profile)}
            template = json.loads(files["index-template.json"])["template"]
            client.request("PUT", f"/{_path(name)}", template)

    def cpu_ms(self) -> float:
        """CPU that the engine has used, in milliseconds."""
        return 1000 * group_cpu_s(self._group)

    def index(self, mode: str, bulks: Sequence[str]) -> float:
        """Give an index the documents of a turn; the engine's CPU, in milliseconds."""
        before = self.cpu_ms()
        for bulk in bulks:
            url = f"{self._client.url}/{_path(mode)}/_bulk?filter_path=errors"
            answer = self._session.post(url, bulk, headers=_NDJSON, timeout=600)
            assert answer.json() == {"errors": False}, answer.text
        self._client.request("POST", f"/{_path(mode)}/_refresh")
        return self.cpu_ms() - before

    def merge(self, mode: str) -> tuple[float, float]:
        """Merge an index to one segment: the engine's CPU in milliseconds, and the bytes on
        disk."""
        before = self.cpu_ms()
        self._client.request("POST", f"/{_path(mode)}/_flush")
        self._client.request("POST", f"/{_path(mode)}/_forcemerge?max_num_segments=1")
        self._client.request("POST", f"/{_path(mode)}/_refresh")
        answer = self._client.get(f"/{_path(mode)}/_stats/store")
        size = number_at(answer, "_all", "total", "store", "size_in_bytes")
        return self.cpu_ms() - before, float(size)

    def search(self, mode: str, body: Mapping[str, object]) -> tuple[float, int]:
        """How long a search takes, in milliseconds, and how many documents it finds."""
        if mode == _AS_WRITTEN:
            # Dynamic mapping has whole values in a field below.
            body = json.loads(json.dumps(body).replace('"host"', '"host.keyword"'))
        started = time.perf_counter()
        whole = {"track_total_hits": True, **body}
        path = f"/{_path(mode)}/_search?request_cache=false"
        answer = self._client.request("POST", path, whole)
        took_ms = (time.perf_counter() - started) * 1000
        return took_ms, number_at(answer, "hits", "total", "value")


def _path(name: str) -> str:
    return f"modes-{name.replace(' ', '-')}"


def ratios(
    names: Sequence[str], rounds: list[dict[str, float]], spell: Callable[[float], str]
) -> str:
    """A row of a table: the median of the first index, and the ratios of the others to it."""
    first, *others = names
    cells = [spell(statistics.median(values[first] for values in rounds))]
    for name in others:
        shares = sorted(values[name] / values[first] for values in rounds)
        low, middle, high = statistics.quantiles(shares, n=4) if len(shares) > 1 else shares * 3
        cells.append(
            f"{middle:.2f} [{low:.2f}, {high:.2f}]" if len(shares) > 1 else f"{middle:.2f}"
        )
    return " | ".join(cells)


def measured(modes: Modes, count: int, rounds: int, *, is_production: bool) -> Iterator[str]:
    """The rows of the table, as they are known."""
    made = of_production if is_production else own
    drawn, per_turn = random.Random(1), count // TURNS
    indexed: list[dict[str, float]] = []
    for turn in range(TURNS):
        order = drawn.sample(modes.names, len(modes.names))
        bulks = tuple(documents(turn, per_turn, made))
        indexed.append({mode: modes.index(mode, bulks) for mode in order})
    each = [{mode: 1000 * ms / per_turn for mode, ms in values.items()} for values in indexed]
    yield f"| engine CPU per document | {ratios(modes.names, each, '{:.1f} us'.format)} |"
    merged = {mode: modes.merge(mode) for mode in drawn.sample(modes.names, len(modes.names))}
    cpu = [{mode: 1000 * ms / count for mode, (ms, _) in merged.items()}]
    of_merge = ratios(modes.names, cpu, "{:.1f} us".format)
    yield f"| the same of the merge to one segment | {of_merge} |"
    size = [{mode: size / count for mode, (_, size) in merged.items()}]
    yield f"| bytes on disk per document | {ratios(modes.names, size, '{:.1f}'.format)} |"
    took: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds + 2):
        last_s = START_S + count // 100
        for name, body in searches(drawn, last_s, is_production=is_production).items():
            order = drawn.sample(modes.names, len(modes.names))
            answers = {mode: modes.search(mode, body) for mode in order}
            hits = {found for _, found in answers.values()}
            assert len(hits) == 1, (name, answers)
            took.setdefault(name, []).append({mode: ms for mode, (ms, _) in answers.items()})
    for name, times in took.items():
        yield f"| search: {name} | {ratios(modes.names, times[2:], '{:.1f} ms'.format)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--production", action="store_true")
    arguments = parser.parse_args()
    plan = NodePlan(distribution_for(Release(elasticsearch="9.5")), "2g")
    with tempfile.TemporaryDirectory() as folder, scratch(Path(folder)) as inner:
        nodes = Nodes(plan, nodes_here(inner / "engine"))
        try:
            client = nodes.client()
            say(f"load before: {os.getloadavg()[0]:.1f}")
            of_index = profiles(is_production=arguments.production)
            say(f"| | {' | '.join(of_index)} |\n|{'---|' * (len(of_index) + 1)}")
            modes = Modes(client, nodes.running[0].pid, of_index)
            for row in measured(
                modes, arguments.documents, arguments.rounds, is_production=arguments.production
            ):
                say(row)
            say(f"load after: {os.getloadavg()[0]:.1f}")
        finally:
            nodes.stop()


if __name__ == "__main__":
    main()
